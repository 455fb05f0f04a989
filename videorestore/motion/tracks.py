"""Trajectories: where a pixel is at a time between frames, as a Gaussian process in time.

The place of a pixel is known, up to the error of the flow, in up to four frames. Universal kriging with a linear
drift and the covariance ``|h|^3`` passes through them for any spacing of the times; two places alone give uniform
motion. How far the curved path is taken instead of the straight one is decided place by place: what bends less
than the errors of the flow can explain is shrunk towards straight motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.motion._kernels_paths import FLOW_SD, MISS_SD, bend_paths, past_hidden, shrink_bend
from videorestore.motion.flow import Flow, FlowCache
from videorestore.motion.warp import Floats

_BEND_BOX = (15, 15)
_SPARSE = 6  # every sixth pixel, both ways, tells what a whole frame does; in large frames
_ENOUGH = 3000  # about as many
_SURE = 0.5  # error variance of a flow, in square pixels, up to which it is asked about shaking


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Pixels of one frame on their way to another.

    Attributes
    ----------
    flow : Flow
        From the frame to the other one.
    whole : (h, w, 2) float32
        The way to the other frame, as the flow has it; as the pixel came where it is hidden there.
    known : (h, w) float32
        How far it is the latter, 0..1: the flow's own faults do not count there.
    displacement : (h, w, 2) float32
        From the pixels of the frame to their places at the time asked for.
    doubt : (h, w) float32
        Standard deviation in pixels of that place, from the choice between a straight and a curved path.
    unrest : (h, w) float32
        How far the frame itself differs, in levels over 7 x 7 pixels, from what its two neighbours in time foretell.
    """

    flow: Flow
    whole: Floats
    known: Floats
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
    behind = cache.flow(start, before) if curved and 0 <= before < len(times) else None
    ahead = cache.flow(end, beyond) if curved and 0 <= beyond < len(times) else None
    known = np.zeros_like(flow.residual)
    if behind is None:
        whole, restless = flow.vectors, flow.residual
    else:
        steps = float((times[end] - times[start]) / (times[start] - times[before]))
        whole = np.empty_like(flow.vectors)
        past_hidden(
            flow.vectors,
            flow.consistency,
            behind.vectors,
            behind.consistency,
            np.float32(steps),
            whole,
            known,
        )
        restless = cache.unrest(start, before, end, steps / (1.0 + steps))
    if behind is None and ahead is None:
        straight = whole * np.float32(share)
        doubt = np.zeros_like(flow.residual)
        return Track(flow=flow, whole=whole, known=known, displacement=straight, doubt=doubt, unrest=restless)
    seen = (
        times[start],
        times[end],
        times[before] if behind is not None else None,
        times[beyond] if ahead is not None else None,
    )
    weights, rest = bend_weights(*seen, target), unforeseen(*seen, target)
    shake = 0.0
    if behind is not None and ahead is not None:
        four = np.array([times[before], times[start], times[end], times[beyond]])
        shake = shaking(whole, flow.consistency, (behind, ahead), four)
        shake *= 1.0 + (1.0 - share) ** 2 + share**2
    flows = behind or flow, ahead or flow
    displacement, doubt = bent(whole, flow.consistency, flows, weights, share, rest=rest, shake=shake)
    return Track(flow=flow, whole=whole, known=known, displacement=displacement, doubt=doubt, unrest=restless)


def bend_weights(
    start: float, end: float, before: float | None, beyond: float | None, target: float
) -> NDArray[np.float64]:
    """How the places of a pixel make the bend of its path.

    Parameters
    ----------
    start, end : float
        Times of the two frames between which the target lies.
    before, beyond : float or None
        Times of the frame before ``start`` and of the one beyond ``end``, where there is one.
    target : float

    Returns
    -------
    (3,) float64
        Weights of the places in the frames ``end``, ``before`` and ``beyond``, taken from the place in ``start``, for
        the way from the straight to the curved path at the time asked for.
    """
    numbers = [t for t in (start, end, before, beyond) if t is not None]
    kriged = kriging_weights(np.array(numbers), target)
    weights = np.zeros(3)
    weights[0] = kriged[1] - (target - start) / (end - start)
    if before is not None:
        weights[1] = kriged[2]
    if beyond is not None:
        weights[2] = kriged[-1]
    return weights


def unforeseen(start: float, end: float, before: float | None, beyond: float | None, target: float) -> float:
    """Variance of a place around the path through the known places, over the variance of the bend of that path.

    Both follow from the process of which the path is the posterior mean: motion that bends much where it is seen
    bends as much where it is not. Parameters as in `bend_weights`.
    """
    times = np.array([t for t in (start, end, before, beyond) if t is not None] + [target])
    covariance = np.abs((times[:, None] - times[None, :]) / (end - start)) ** 3
    share = (target - start) / (end - start)
    kriged = np.append(kriging_weights(times[:-1], target), -1.0)
    straight = np.zeros(len(times))
    straight[:2], straight[-1] = (1.0 - share, share), -1.0
    bend = kriged - straight
    return float((kriged @ covariance @ kriged) / max(bend @ covariance @ bend, 1e-12))


def shaking(whole: Floats, miss: Floats, flows: tuple[Flow, Flow], times: NDArray[np.float64]) -> float:
    """Variance per axis, in square pixels, by which places leave a smooth path anew in every frame.

    A hand-held camera, the weave of a film, and flames do. Two changes of velocity along a path are alike where the
    motion is smooth, as far as the process of the path lets them, and opposite where it shakes.

    Parameters
    ----------
    whole, miss, flows
        As in `bent`, both flows known.
    times : (4,) float64
        Of the frame before, the two frames between which the target lies, and the one beyond.
    """
    behind, ahead = flows
    first, middle, last = np.diff(times)
    height, width = miss.shape
    pace = _pace(height, width)
    rows, columns = np.mgrid[0:height:pace, 0:width:pace]
    way = whole[::pace, ::pace]
    to_x = np.clip(np.rint(columns + way[..., 0]), 0, width - 1).astype(np.intp)
    to_y = np.clip(np.rint(rows + way[..., 1]), 0, height - 1).astype(np.intp)
    came, goes = behind.vectors[::pace, ::pace] / first, ahead.vectors[to_y, to_x] / last
    error = np.square(FLOW_SD) + np.square(MISS_SD * miss[::pace, ::pace])
    sure = error <= max(_SURE, float(np.median(error)))

    def typical(vectors: NDArray[np.float64]) -> float:
        return float(np.median(np.square(vectors).sum(axis=2)[sure])) / 2.0

    noise = float(np.median(error[sure]))
    both, turn = typical(goes + came), typical(goes - came - 2.0 * way / middle)
    both -= noise * (first**-2 + last**-2)
    turn -= noise * (first**-2 + last**-2 + 4.0 * middle**-2)
    return jitter(both, turn, times)


def flickering(
    frames: Sequence[Floats], flows: tuple[Floats, Floats, Floats], times: NDArray[np.float64]
) -> float:
    """Variance, in square levels, by which four frames ``(h, w, c)`` at ``times`` (4,) change their brightness anew.

    The counterpart of `shaking` for the brightness of whole frames: old film and exposure that hunts. ``flows``, each
    ``(h, w, 2)``, lead from the second frame to the first and to the third, and from the third to the fourth.
    """
    steps = [-_step(frames[1], frames[0], flows[0]), _step(frames[1], frames[2], flows[1])]
    steps.append(_step(frames[2], frames[3], flows[2]))
    before, after = np.diff(np.array(steps) / np.diff(times))
    return jitter((after + before) ** 2, (after - before) ** 2, times)


def _step(here: Floats, there: Floats, flow: Floats) -> float:
    """How much brighter one frame is than another, along the flow."""
    height, width = here.shape[:2]
    pace = _pace(height, width)
    rows, columns = np.mgrid[0:height:pace, 0:width:pace]
    way = flow[::pace, ::pace]
    to_x = np.clip(np.rint(columns + way[..., 0]), 0, width - 1).astype(np.intp)
    to_y = np.clip(np.rint(rows + way[..., 1]), 0, height - 1).astype(np.intp)
    return float(np.median(there[to_y, to_x] - here[::pace, ::pace]))


def _pace(height: int, width: int) -> int:
    """Pixels from one that is asked about the whole frame to the next."""
    return max(_SPARSE, round(math.sqrt(height * width / _ENOUGH)))


def jitter(both: float, turn: float, times: NDArray[np.float64]) -> float:
    """Variance of what is added anew to each of four values along a smooth course.

    Parameters
    ----------
    both, turn : float
        Mean squares of the sum of the two changes of velocity at the inner times, and of their difference.
    times : (4,) float64
    """
    first, middle, last = np.diff(times)
    before = np.array([1.0 / first, -1.0 / first - 1.0 / middle, 1.0 / middle, 0.0])
    after = np.array([0.0, 1.0 / middle, -1.0 / middle - 1.0 / last, 1.0 / last])
    smooth = np.abs(times[:, None] - times[None, :]) ** 3
    plus, minus = after + before, after - before
    ratio = float((minus @ smooth @ minus) / (plus @ smooth @ plus))
    scale = float(minus @ minus - ratio * (plus @ plus))
    return max((turn - ratio * max(both, 0.0)) / scale, 0.0) if scale > 0 else 0.0


def bent(
    whole: Floats,
    miss: Floats,
    flows: tuple[Flow, Flow],
    weights: NDArray[np.float64],
    share: float,
    *,
    rest: float = 0.0,
    shake: float = 0.0,
) -> tuple[Floats, Floats]:
    """Displacement ``(h, w, 2)`` on a path that bends as far as can be believed, and the sd ``(h, w)`` of the place.

    Parameters
    ----------
    whole : (h, w, 2) float32
        The way to the other frame.
    miss : (h, w) float32
        Inconsistency of the flow there.
    flows : two Flow
        To the frame before, and from the other frame to the one beyond it.
    weights : (3,) float64
        See `bend_weights`.
    share : float
        Place in time between the frames, 0..1.
    rest : float
        See `unforeseen`.
    shake : float
        Variance per axis of the place because of `shaking`.
    """
    behind, ahead = flows
    bend, variance = np.empty_like(whole), np.empty_like(miss)
    judged = np.empty((*miss.shape, 2), np.float32)
    bend_paths(
        whole, miss, behind.vectors, behind.consistency, ahead.vectors, ahead.consistency,
        weights.astype(np.float32), bend, variance, judged,
    )  # fmt: skip
    around = cv2.blur(judged, _BEND_BOX, borderType=cv2.BORDER_REFLECT)
    displacement, doubt = np.empty_like(whole), np.empty_like(miss)
    shrink_bend(
        whole,
        bend,
        variance,
        around,
        np.float32(share),
        np.float32(rest),
        np.float32(shake),
        displacement,
        doubt,
    )
    return displacement, doubt
