"""Trajectories: where a pixel is at a time between frames, as a Gaussian process in time.

The place of a pixel is known, up to the error of the flow, in up to four frames. Universal kriging with a linear
drift and the covariance ``|h|^3`` passes through them for any spacing of the times; two places alone give uniform
motion. How far the curved path is taken instead of the straight one is decided place by place: what bends less
than the errors of the flow can explain is shrunk towards straight motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.motion.flow import Flow, FlowCache
from videorestore.motion.warp import Floats, compose, warp

_FLOW_SD = 0.1  # error of a flow vector in pixels where nothing speaks against it
_MISS_SD = 0.7  # the same per pixel of forward-backward inconsistency
_HIDDEN = 2.0  # inconsistency in pixels that speaks for a pixel being hidden
_KNOWN = 0.5  # inconsistency in pixels up to which the motion from the frame before is taken for sure
_BEND_BOX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Pixels of one frame on their way to another.

    Attributes
    ----------
    flow : Flow
        From the frame to the other one.
    whole : (h, w, 2) float32
        The way to the other frame, as the flow has it; as the pixel came where it is hidden there.
    displacement : (h, w, 2) float32
        From the pixels of the frame to their places at the time asked for.
    doubt : (h, w) float32
        Standard deviation in pixels of that place, from the choice between a straight and a curved path.
    unrest : (h, w) float32
        How far the frame itself differs, in levels over 7 x 7 pixels, from what its two neighbours in time foretell.
    """

    flow: Flow
    whole: Floats
    displacement: Floats
    doubt: Floats
    unrest: Floats


def kriging_weights(times: NDArray[np.float64], target: float) -> NDArray[np.float64]:
    """Weights ``(n,)`` of values at ``times`` (n,) for the value at ``target``.

    Universal kriging, linear drift, generalised covariance ``|h|^3``: the natural cubic spline, and the straight
    line for n = 2.
    """
    count = len(times)
    # Kriging is invariant under shift and scale of time; near 0..1 the system is well conditioned.
    scale = float(times.max() - times.min())
    at = (times - times.min()) / scale
    to = (target - float(times.min())) / scale
    system = np.zeros((count + 2, count + 2))
    system[:count, :count] = np.abs(at[:, None] - at[None, :]) ** 3
    system[:count, count] = system[count, :count] = 1.0
    system[:count, count + 1] = system[count + 1, :count] = at
    right = np.concatenate([np.abs(at - to) ** 3, [1.0, to]])
    return np.asarray(np.linalg.solve(system, right)[:count])


def track(
    cache: FlowCache, times: NDArray[np.float64], start: int, end: int, target: float, *, curved: bool = True
) -> Track:
    """Follow the pixels of frame ``start`` towards the neighbouring frame ``end``, up to a time between them.

    Parameters
    ----------
    cache : FlowCache
    times : (n,) float64
        Times of the frames of the cache.
    start, end : int
        Neighbours in the window, in either order.
    target : float
        The time asked for.
    curved : bool
        Use the frames beyond, where they exist.
    """
    way = end - start
    flow = cache.flow(start, end)
    share = (target - times[start]) / (times[end] - times[start])
    before, beyond = start - way, end + way
    numbers, misses = [start, end], [flow.consistency]
    if curved and 0 <= before < len(times):
        behind = cache.flow(start, before)
        steps = (times[end] - times[start]) / (times[start] - times[before])
        whole = _past_hidden(flow, behind, float(steps))
        places = [whole, behind.vectors]
        numbers.append(before)
        misses.append(behind.consistency)
        unrest = _unrest(cache, start, (before, behind), (end, flow), float(steps))
    else:
        unrest = flow.residual
        whole = flow.vectors
        places = [whole]
    if curved and 0 <= beyond < len(times):
        ahead = cache.flow(end, beyond)
        numbers.append(beyond)
        places.append(compose(whole, ahead.vectors))
        misses.append(flow.consistency + warp(ahead.consistency, whole, method="linear"))
    straight = whole * np.float32(share)
    variance = np.zeros(straight.shape[:2], np.float32)
    if len(numbers) == 2:
        return Track(flow=flow, whole=whole, displacement=straight, doubt=variance, unrest=unrest)
    weights = kriging_weights(times[numbers], target)[1:]
    weights[0] -= share
    bend = np.zeros_like(straight)
    for weight, place, miss in zip(weights, places, misses, strict=True):
        bend += np.float32(weight) * place
        error = np.square(_MISS_SD * np.minimum(miss, 20.0))
        variance += np.float32(weight**2) * (error + np.float32(_FLOW_SD**2))
    kept = bend_kept(bend, variance)
    displacement = straight + kept[..., None] * bend
    doubt = np.sqrt(
        kept * variance + (kept * (1.0 - kept)) * (np.square(bend[..., 0]) + np.square(bend[..., 1]))
    )
    return Track(
        flow=flow, whole=whole, displacement=displacement, doubt=doubt.astype(np.float32), unrest=unrest
    )


def _past_hidden(flow: Flow, behind: Flow, steps: float) -> Floats:
    """The way ``(h, w, 2)`` to the other frame, for pixels hidden there by going on as they came.

    What is hidden in the other frame has no match in it, but mostly one in the frame before.
    """
    hidden = -np.expm1(-np.square(flow.consistency / np.float32(_HIDDEN)))
    known = np.exp(-np.square(behind.consistency / np.float32(_KNOWN)))
    onward = behind.vectors * np.float32(-steps)
    return np.asarray(flow.vectors + (hidden * known)[..., None] * (onward - flow.vectors))


def _unrest(
    cache: FlowCache, index: int, before: tuple[int, Flow], after: tuple[int, Flow], steps: float
) -> Floats:
    """7 x 7 mean ``(h, w)`` of how far a frame is from the mean of its neighbours, each read along its flow."""
    near, far = (warp(cache.luma(k), flow.vectors, method="linear") for k, flow in (before, after))
    share = np.float32(steps / (1.0 + steps))
    difference = np.abs(cache.luma(index) - (share * near + (1 - share) * far))
    return np.asarray(cv2.blur(difference, (7, 7), borderType=cv2.BORDER_REFLECT), dtype=np.float32)


def bend_kept(bend: Floats, variance: Floats) -> Floats:
    """Share ``(h, w)`` of a bend ``(h, w, 2)`` that is kept, given its error ``variance`` (h, w) per axis.

    The Wiener factor signal / (signal + error), the signal estimated around each place from what the errors
    leave unexplained.
    """
    trust = 1.0 / variance
    trust_mean = _around(trust)
    power = _around((np.square(bend[..., 0]) + np.square(bend[..., 1])) * trust) / trust_mean
    signal = np.maximum(power - 2.0 / trust_mean, 0.0)
    return np.asarray(signal / (signal + 2.0 * variance), dtype=np.float32)


def _around(values: Floats) -> Floats:
    box = (_BEND_BOX, _BEND_BOX)
    return np.asarray(cv2.blur(np.ascontiguousarray(values), box, borderType=cv2.BORDER_REFLECT))
