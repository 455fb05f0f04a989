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

_FLOW_SD = 0.15  # error of a flow vector in pixels where nothing speaks against it
_BEND_BOX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Pixels of one frame on their way to another.

    Attributes
    ----------
    flow : Flow
        From the frame to the other one.
    displacement : (h, w, 2) float32
        From the pixels of the frame to their places at the time asked for.
    doubt : (h, w) float32
        Standard deviation in pixels of that place, from the choice between a straight and a curved path.
    """

    flow: Flow
    displacement: Floats
    doubt: Floats


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
    straight = flow.vectors * np.float32(share)
    still = np.zeros(straight.shape[:2], np.float32)
    numbers, places, misses = [start, end], [flow.vectors], [flow.consistency]
    before, beyond = start - way, end + way
    if curved and 0 <= before < len(times):
        behind = cache.flow(start, before)
        numbers.append(before)
        places.append(behind.vectors)
        misses.append(behind.consistency)
    if curved and 0 <= beyond < len(times):
        ahead = cache.flow(end, beyond)
        numbers.append(beyond)
        places.append(compose(flow.vectors, ahead.vectors))
        misses.append(flow.consistency + warp(ahead.consistency, flow.vectors, method="linear"))
    if len(numbers) == 2:
        return Track(flow=flow, displacement=straight, doubt=still)
    weights = kriging_weights(times[numbers], target)[1:]
    weights[0] -= share
    bend = np.zeros_like(straight)
    variance = still.copy()
    for weight, place, miss in zip(weights, places, misses, strict=True):
        bend += np.float32(weight) * place
        variance += np.float32(weight**2) * (_FLOW_SD**2 + np.square(np.minimum(miss, 20.0)))
    kept = bend_kept(bend, variance)
    displacement = straight + kept[..., None] * bend
    doubt = np.sqrt(kept * variance + (kept * (1.0 - kept)) * np.square(bend).sum(axis=2))
    return Track(flow=flow, displacement=displacement, doubt=doubt.astype(np.float32))


def bend_kept(bend: Floats, variance: Floats) -> Floats:
    """Share ``(h, w)`` of a bend ``(h, w, 2)`` that is kept, given its error ``variance`` (h, w) per axis.

    The Wiener factor signal / (signal + error), the signal estimated around each place from what the errors
    leave unexplained.
    """
    trust = 1.0 / variance
    trust_mean = _around(trust)
    power = _around(np.square(bend).sum(axis=2) * trust) / trust_mean
    signal = np.maximum(power - 2.0 / trust_mean, 0.0)
    return np.asarray(signal / (signal + 2.0 * variance), dtype=np.float32)


def _around(values: Floats) -> Floats:
    box = (_BEND_BOX, _BEND_BOX)
    return np.asarray(cv2.blur(np.ascontiguousarray(values), box, borderType=cv2.BORDER_REFLECT))
