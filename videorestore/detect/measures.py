"""Numbers of every frame and of every step between frames, taken in one pass over small pictures."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.motion.flow import fast_flow, medium_flow
from videorestore.motion.warp import warp

LAGS = 6
"""Frames are compared with up to so many frames before them."""

GRID = (12, 16)
"""Rows and columns of the block means that are kept of every frame."""

_WIDE = 240  # longer side of the pictures in which motion is sought
_SMALL = 80  # longer side of the pictures that are compared over several frames
_BLOCK = 8
_SUSPECT = 5.0  # from this motion-compensated difference on, more distant frames are compared too
CUT = 9.0  # motion-compensated difference below which no step is a cut; from it on more distant frames are compared
_MOVES = 0.35  # pixels; what moves less is taken to stand still
_WORSE = 1.1  # residual of a step whose flow may need help, in units of those of the steps before and after
_POINTS = 24  # tracked points along the longer side
_FEWEST = 12  # tracks that say something
_SPARSE = 2  # every second pixel, both ways, tells how the light of the whole picture changes

Doubles = NDArray[np.float64]
Both = tuple[FloatArray, FloatArray]

_STEPS = ("step", "busiest", "residual", "across", "histogram")
_QUIETEST = 0.1  # share of the blocks whose grain is taken for that of all
_DIAGONAL = np.outer([1, -2, 1], [1, -2, 1]).astype(np.float32) / 6
"""Second differences both ways: of white noise they keep the standard deviation, of smooth pictures nothing."""

_SILENT = (float("nan"), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """One row per frame; row k of a step is that from frame k - 1 to k, NaN where there is none.

    Attributes
    ----------
    level, contrast : ndarray, shape (n,)
        Mean, and standard deviation of the means of 8 x 8 blocks, 0..255.
    grain : ndarray, shape (n,)
        Standard deviation of the noise that the quietest blocks allow for, at the size at which motion is sought.
    step : ndarray, shape (n,)
        Mean absolute difference of the luma.
    busiest : ndarray, shape (n,)
        The same over the 5 % of blocks that differ most: small moving things show.
    residual : ndarray, shape (n,)
        Mean absolute difference after motion compensation, by the direction that explains more.
    across : ndarray, shape (n,)
        The least such residual between k-2 and k or k+1, and between k-1 and k+1; NaN where the step is no cut anyway.
    histogram : ndarray, shape (n,)
        Distance of the two histograms of brightness, 0..1.
    plain, fitted : ndarray, shape (n, LAGS)
        Mean absolute difference from the frame 1, 2, ... before, as it is, and after a change of gain and offset.
    compensated : ndarray, shape (n, LAGS)
        ``residual`` from the frame 1, 2, ... before; NaN beyond the first where the step is unsuspicious.
    blocks, detail : ndarray, shape (n, GRID)
        Mean and standard deviation of coarse blocks.
    ratio, agreement : ndarray, shape (n,)
        Length of a step in units of the mean of the steps before and after along the same tracks; share of the
        moving tracks that say so.
    """

    level: Doubles
    contrast: Doubles
    grain: Doubles
    step: Doubles
    busiest: Doubles
    residual: Doubles
    across: Doubles
    histogram: Doubles
    plain: Doubles
    fitted: Doubles
    compensated: Doubles
    blocks: NDArray[np.float32]
    detail: NDArray[np.float32]
    ratio: Doubles
    agreement: Doubles

    def __len__(self) -> int:
        return len(self.level)


def measure(pictures: Iterable[FloatArray]) -> Measures:
    """Measure a stream of small pictures.

    Parameters
    ----------
    pictures : iterable of ndarray, shape (height, width) or (height, width, channels)
        Luma or RGB on the 0..255 scale; about 320 pixels along the longer side are enough. Read once, in order;
        only a handful is held at a time.
    """
    rows: dict[str, list[float]] = {name: [] for name in ("level", "contrast", "grain", *_STEPS)}
    tracks: dict[str, list[float]] = {name: [] for name in ("ratio", "agreement")}
    plain, fitted, compensated = [], [], []
    coarse: list[tuple[FloatArray, FloatArray]] = []
    views: deque[NDArray[np.uint8]] = deque(maxlen=LAGS)
    small: deque[FloatArray] = deque(maxlen=LAGS + 1)
    wide: deque[NDArray[np.uint8]] = deque(maxlen=5)
    flows: deque[Both | None] = deque(maxlen=4)
    last: FloatArray | None = None
    counts = last_counts = np.zeros(0)
    for picture in pictures:
        luma = _luma(picture)
        last_counts, counts = counts, _histogram(luma)
        tiny = _resized(luma, _SMALL)
        view = np.clip(np.rint(_resized(luma, _WIDE)), 0, 255).astype(np.uint8)
        rows["level"].append(float(luma.mean()))
        rows["contrast"].append(float(_blocks(luma).std()))
        rows["grain"].append(_grain(view))
        coarse.append(_coarse(luma))
        before = list(small)[: -LAGS - 1 : -1]
        plain.append(_filled([float(np.abs(tiny - earlier).mean()) for earlier in before]))
        fitted.append(_filled([_after_gain(tiny, earlier) for earlier in before]))
        small.append(tiny)
        for name in _STEPS:
            rows[name].append(np.nan)
        compensated.append(_filled([]))
        if last is not None:
            difference = np.abs(luma - last) if luma.shape == last.shape else np.abs(tiny - small[-2])
            rows["step"][-1] = float(difference.mean())
            rows["busiest"][-1] = _top(_blocks(difference))
            rows["histogram"][-1] = float(0.5 * np.abs(counts - last_counts).sum())
            ahead, back = fast_flow(wide[-1], view), fast_flow(view, wide[-1])
            rows["residual"][-1] = _residual(wide[-1], view, ahead, back)
            flows.append((ahead, back))
            earlier_views = list(views)[-2::-1] if rows["residual"][-1] > _SUSPECT else []
            farther = [_residual(v, view, fast_flow(v, view), fast_flow(view, v)) for v in earlier_views]
            compensated[-1] = _filled([rows["residual"][-1], *farther])
        else:
            flows.append(None)
        wide.append(view)
        views.append(view)
        if len(rows["residual"]) >= 2 and rows["residual"][-2] > CUT:
            rows["across"][-2] = _across(list(wide), compensated[-2:])
        found, better = _tracked(list(flows), list(wide), rows["residual"][-3:])
        if better is not None:
            flows[-2] = better
        for name, number in zip(tracks, found):
            tracks[name].append(number)
        last = luma
    n = len(rows["level"])
    # The step that the last three flows speak of is the one before the newest.
    late = {name: np.array([*values[1:], np.nan][:n], float) for name, values in tracks.items()}
    return Measures(
        **{name: np.array(values, float) for name, values in rows.items()},
        plain=np.array(plain, float).reshape(n, LAGS),
        fitted=np.array(fitted, float).reshape(n, LAGS),
        compensated=np.array(compensated, float).reshape(n, LAGS),
        blocks=np.array([mean for mean, _ in coarse], np.float32).reshape(n, *GRID),
        detail=np.array([deviation for _, deviation in coarse], np.float32).reshape(n, *GRID),
        **late,
    )


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last number of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(first), int(stop) - 1) for first, stop in zip(edges[::2], edges[1::2])]


def _coarse(luma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of coarse blocks."""
    mean, square = (cv2.resize(v, GRID[::-1], interpolation=cv2.INTER_AREA) for v in (luma, luma * luma))
    deviation = np.sqrt(np.maximum(square - mean * mean, 0))
    return mean.astype(np.float32), deviation.astype(np.float32)


def _filled(lags: list[float]) -> list[float]:
    """One value for each of `LAGS` frames before; NaN where there is none."""
    return lags + [np.nan] * (LAGS - len(lags))


def _luma(picture: FloatArray) -> FloatArray:
    picture = np.asarray(picture, np.float32)
    if picture.ndim == 3 and picture.shape[2] >= 3:
        return np.asarray(picture[..., :3] @ np.array([0.299, 0.587, 0.114], np.float32), np.float32)
    return picture[..., 0] if picture.ndim == 3 else picture


def _resized(luma: FloatArray, side: int) -> FloatArray:
    height, width = luma.shape
    scale = side / max(height, width)
    if scale >= 1:
        return luma
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), np.float32)


def _blocks(image: FloatArray) -> FloatArray:
    """Means ``(rows, columns)`` of 8 x 8 blocks; what is smaller than a block is one."""
    height, width = image.shape
    size = (max(1, width // _BLOCK), max(1, height // _BLOCK))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.float32)


def _grain(view: NDArray[np.uint8]) -> float:
    rough = np.abs(cv2.filter2D(view, cv2.CV_32F, _DIAGONAL))
    return float(np.quantile(_blocks(rough), _QUIETEST) * np.sqrt(np.pi / 2))


def _top(values: FloatArray) -> float:
    flat = np.sort(values.ravel())
    return float(flat[-max(1, len(flat) // 20) :].mean())


def _after_gain(now: FloatArray, before: FloatArray) -> float:
    """Mean absolute difference after the best gain (0.7 to 1.5) and offset; a flash is explained by it."""
    if now.shape != before.shape:
        return float("nan")
    a, b = before - before.mean(), now - now.mean()
    gain = float((a * b).mean() / max(float((a * a).mean()), 1e-6))
    return float(np.abs(b - min(max(gain, 0.7), 1.5) * a).mean())


def _histogram(luma: FloatArray) -> Doubles:
    """Shares ``(32,)`` of the pixels by brightness."""
    levels = np.clip(luma, 0, 255).astype(np.uint8) >> 3
    return np.bincount(levels.ravel(), minlength=32) / luma.size


def _residual(one: NDArray[np.uint8], two: NDArray[np.uint8], ahead: FloatArray, back: FloatArray) -> float:
    # A change of light over the whole picture is no change of content.
    there = one - warp(two, ahead, method="linear")
    home = two - warp(one, back, method="linear")
    return min(float(np.abs(miss - np.median(miss[::_SPARSE, ::_SPARSE])).mean()) for miss in (there, home))


def _across(views: list[NDArray[np.uint8]], known: list[list[float]]) -> float:
    """Least residual between the frames on the two sides of the step before the newest frame.

    ``known`` are the ``compensated`` ones of the last two frames; what is among them is not sought again.
    """
    if len(views) < 4:
        return float("nan")
    found = [known[0][1], known[1][1], known[1][2]]
    for k, (one, two) in enumerate(((-4, -2), (-3, -1), (-4, -1))):
        if np.isnan(found[k]):
            a, b = views[one], views[two]
            found[k] = _residual(a, b, fast_flow(a, b), fast_flow(b, a))
    return float(min(found))


def _tracked(
    flows: list[Both | None], views: list[NDArray[np.uint8]], residuals: list[float]
) -> tuple[tuple[float, float], Both | None]:
    """Length of the middle of the last three steps relative to its neighbours; its flows, if they were mended.

    ``residuals`` are those of the three steps: a flow that leaves no more than its neighbours needs no help.
    """
    if len(flows) < 3 or any(flow is None for flow in flows[-3:]):
        return _SILENT, None
    (_, before), (middle, back), (after, _) = flows[-3:]  # type: ignore[misc]
    found = _lengths(before, middle, back, after)
    worse = 2 * residuals[1] > _WORSE * (residuals[0] + residuals[2])
    if found[1] > 0.7 or not worse or not _moving(before):
        return found, None
    # A step of two frames may be beyond the reach of the flow: help it with twice the steps around.
    one, two = views[-3], views[-2]
    helped = medium_flow(one, two, start=-2 * before), medium_flow(two, one, start=-2 * after)
    if _residual(one, two, *helped) < 0.95 * _residual(one, two, middle, back):
        again = _lengths(before, *helped, after)
        if again[1] > found[1]:
            return again, helped
    return found, None


def _points(flow: FloatArray) -> tuple[NDArray[np.int_], ...]:
    """Where a flow ``(h, w, 2)`` is read."""
    height, width = flow.shape[:2]
    pace = max(height, width) / _POINTS
    # Of a frame that is wide and very low, one line.
    rows, columns = (np.arange(min(pace, side) / 2, side, pace).astype(int) for side in (height, width))
    return np.ix_(rows, columns)


def _moving(before: FloatArray) -> bool:
    """Whether so many tracks moved in the step before that `_lengths` can say something, whatever came then.

    A steady track of some length has at least 0.7 of it, less 0.1 pixels, in each of the steps around.
    """
    least = 0.7 * _MOVES - 0.1
    return bool((np.linalg.norm(before[_points(before)], axis=-1) > least).sum() >= _FEWEST)


def _lengths(
    before: FloatArray, middle: FloatArray, back: FloatArray, after: FloatArray
) -> tuple[float, float]:
    """Ratio and agreement of the middle step; see `Measures`."""
    where = _points(middle)
    first = -before[where]
    second = middle[where]
    to = np.stack(np.broadcast_arrays(where[1], where[0]), axis=-1).astype(np.float32) + second
    third, home = (
        cv2.remap(f, to, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE) for f in (after, back)
    )
    missed = np.linalg.norm(second + home, axis=-1)
    mean = (first + third) / 2
    length = np.linalg.norm(mean, axis=-1)
    # Tracks that turn, stop or are lost say nothing.
    steady = np.linalg.norm(third - first, axis=-1) < 0.6 * length + 0.2
    good = steady & (missed < 1.0) & (length > _MOVES)
    if good.sum() < _FEWEST:
        return _SILENT
    first, second, mean, length = first[good], second[good], mean[good], length[good]
    projected, squared = (second * mean).sum(axis=-1), length**2
    ratio = float(np.median(projected / squared))
    for _ in range(3):
        miss = np.linalg.norm(second - ratio * mean, axis=-1) / (0.15 + 0.15 * length)
        weight = 1 / (1 + miss**2)
        ratio = float((weight * projected).sum() / (weight * squared).sum())
    close = np.linalg.norm(second - ratio * mean, axis=-1) < 0.15 + 0.25 * abs(ratio) * length
    return ratio, float(close.mean())
