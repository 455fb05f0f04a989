"""Missing pixels: the posterior given the same places at other times and the pixels around."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.errors import InputError
from videorestore.motion._kernels_still import settle
from videorestore.motion.inpaint_scene import REACH, Scene

__all__ = ["REACH", "inpaint"]

_TILE = 336  # larger frames are done in parts of about this size
_MARGIN = 48  # what a part sees around itself
_LOOKS = 4  # frames on either side that tell whether a place stands still to the bit
_FEWEST = 3  # of them that must show it
_SAME, _NEAR = 1e-3, 2.0  # levels by which these may differ, and by which what was made may be off
_RAMP = 16  # over which neighbouring parts fade into each other


def inpaint(
    frames: FloatArray,
    masks: Mask,
    *,
    start: int = 0,
    stop: int | None = None,
    beside: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Regenerate missing pixels from the other frames and from their surroundings.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        One shot on the 0..255 scale. What stands under the mask is never read and may be NaN.
    masks : ndarray of bool, shape (n, height, width)
        True where a pixel is missing.
    start, stop : int
        Only these frames are made. A frame depends on at most `REACH` frames on either side, so a stretch with that
        surrounding gives the same pixels as the whole clip.
    beside : tuple of ndarray, optional
        What another model says of every frame without having seen it, ``(n, height, width, channels)``, and the variance of
        that ``(n, height, width)``: one more guess, weighed in every place by how it fits the known pixels around.

    Returns
    -------
    frames : ndarray of float32, shape (stop - start, height, width, channels)
        Pixels outside the mask are those of the input, bit for bit.
    sd : ndarray of float32, shape (stop - start, height, width, channels)
        Posterior standard deviation, zero outside the mask.
    """
    masks = np.asarray(masks, np.bool_)
    n, height, width = _checked(frames, masks)
    stop = n if stop is None else stop
    if not 0 <= start <= stop <= n:
        raise InputError(
            f"start and stop must lie in 0..{n} in this order, got {start}, {stop}; change them."
        )
    made = np.array(frames[start:stop], np.float32)
    sd = np.zeros_like(made)
    wanted = masks[start:stop]
    if not wanted.any():
        return made, sd
    first, last = max(0, start - REACH), min(n, stop + REACH)
    total = np.zeros(wanted.shape, np.float32)
    value = np.zeros_like(made)
    variance = np.zeros_like(made)
    for outer, inner, ramp in pulse.counted(list(_parts(height, width))):
        share = ramp * wanted[:, inner[0], inner[1]]
        todo = np.nonzero(share.any(axis=(1, 2)))[0]
        if not len(todo):
            continue
        part = (slice(first, last), *outer)
        other = None if beside is None else (beside[0][part], beside[1][part])
        scene = Scene(frames[part], masks[part], other)
        cut = tuple(slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer))
        for k in pulse.counted(todo.tolist()):
            mean, spread = scene.result(k + start - first)
            scene.forget(k + start - first + 1)
            weight = share[k][..., None]
            value[k, inner[0], inner[1]] += weight * mean[cut[0], cut[1]]
            variance[k, inner[0], inner[1]] += weight * spread[cut[0], cut[1]]
            total[k, inner[0], inner[1]] += share[k]
    made[wanted] = value[wanted] / total[wanted][:, None]
    sd[wanted] = np.sqrt(variance[wanted] / total[wanted][:, None])
    for k in np.nonzero(wanted.any(axis=(1, 2)))[0].tolist():
        # Slides, drawings and screens stand still to the bit, and what is a fraction off there can be seen to be made.
        settle(frames, masks, start + k, _LOOKS, _FEWEST, _SAME, _NEAR, made[k])
    return made, sd


def _checked(frames: FloatArray, masks: Mask) -> tuple[int, int, int]:
    """Number, height and width of frames that fit their masks."""
    if frames.ndim != 4 or masks.shape != frames.shape[:3]:
        raise InputError(
            f"masks must have the number, height and width of the frames {frames.shape}, got {masks.shape}; "
            "crop or resize the masks."
        )
    return frames.shape[0], frames.shape[1], frames.shape[2]


def _parts(height: int, width: int) -> Iterator[tuple[tuple[slice, slice], tuple[slice, slice], FloatArray]]:
    """What each part sees, what it makes, and its share in every pixel that it makes."""
    for seen_y, made_y, ramp_y in _spans(height):
        for seen_x, made_x, ramp_x in _spans(width):
            yield (seen_y, seen_x), (made_y, made_x), np.outer(ramp_y, ramp_x).astype(np.float32)


def tile_pixels(height: int, width: int) -> int:
    """Pixels of the largest part that is seen at once."""
    tall, wide = (max(int(seen.stop - seen.start) for seen, _, _ in _spans(size)) for size in (height, width))
    return tall * wide


def _spans(size: int) -> Iterator[tuple[slice, slice, FloatArray]]:
    count = max(1, round(size / _TILE))
    edges = [round(i * size / count) for i in range(count + 1)]
    half = _RAMP // 2
    for low, high in zip(edges[:-1], edges[1:]):
        made = slice(max(0, low - half), min(size, high + half))
        place = np.arange(made.start, made.stop) + 0.5
        rise = np.ones(len(place)) if low == 0 else (place - (low - half)) / _RAMP
        fall = np.ones(len(place)) if high == size else (high + half - place) / _RAMP
        ramp = np.clip(np.minimum(rise, fall), 0, 1).astype(np.float32)
        yield slice(max(0, low - _MARGIN), min(size, high + _MARGIN)), made, ramp
