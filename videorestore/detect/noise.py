"""How noisy a clip is: from differences of motion-compensated blocks, where the picture itself cancels.

Blocks are compared in the cosine domain. High frequencies carry little picture; blocks that are flat at low
frequencies are preferred, so that aliased texture does not count as noise. Noise that went through a lossy codec
is told by its smooth chroma or its missing high frequencies, and is measured at middle frequencies, between frames
farther apart, because skipped blocks repeat the noise of the frame before.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.motion.flow import fast_flow
from videorestore.spatial.noise import LUMA, LUMA_GAIN, Noise, clipping_table

__all__ = ["Noise", "estimate_noise"]

_BLOCK = 8
_MOST_BLOCKS = 3000
_BINS = 12
_FLAT = 0.35
"""Share of the blocks of a brightness bin, the flattest ones, that are measured."""

_FREQUENCY = np.add.outer(np.arange(_BLOCK), np.arange(_BLOCK))
_HIGH = _FREQUENCY >= 5
_HIGHEST = _FREQUENCY >= 9
_MIDDLE = (_FREQUENCY >= 2) & (_FREQUENCY <= 4)
_LOW = (_FREQUENCY >= 1) & (_FREQUENCY <= 4)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """What is known of the blocks of some frame pairs; each array has one row per block.

    ``level``: mean of the block, ``high``, ``highest``, ``middle``: mean squares of half the difference in these
    bands, ``still_middle``: of the block itself, ``structure``: energy of the pair's mean at low frequencies.
    """

    level: NDArray[np.float64]
    high: NDArray[np.float64]
    highest: NDArray[np.float64]
    middle: NDArray[np.float64]
    still_middle: NDArray[np.float64]
    structure: NDArray[np.float64]

    def take(self, keep: NDArray[np.bool_]) -> _Blocks:
        return _Blocks(*(getattr(self, name)[keep] for name in self.__slots__))


def _cosines() -> NDArray[np.float32]:
    k, i = np.mgrid[0:_BLOCK, 0:_BLOCK]
    matrix = np.cos(np.pi * (2 * i + 1) * k / (2 * _BLOCK)) * np.sqrt(2 / _BLOCK)
    matrix[0] /= np.sqrt(2)
    return np.asarray(matrix, dtype=np.float32)


_DCT = _cosines()


def _places(a: FloatArray, b: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Corners ``(k, 2)`` of blocks in luma ``a`` and of their counterparts in ``b``, by whole pixels."""
    h, w = a.shape
    bytes_a, bytes_b = (
        np.clip(np.rint(cv2.GaussianBlur(p, (0, 0), 1.5)), 0, 255).astype(np.uint8) for p in (a, b)
    )
    flow = fast_flow(bytes_a, bytes_b)
    y, x = np.meshgrid(np.arange(0, h - _BLOCK + 1, _BLOCK), np.arange(0, w - _BLOCK + 1, _BLOCK), indexing="ij")
    corners = np.stack([y.ravel(), x.ravel()], axis=1)
    if len(corners) > _MOST_BLOCKS:
        corners = corners[np.linspace(0, len(corners) - 1, _MOST_BLOCKS).astype(np.int64)]
    middle = corners + _BLOCK // 2
    moved = corners + np.rint(flow[middle[:, 0], middle[:, 1], ::-1]).astype(np.int64)
    inside = (moved >= 0).all(1) & (moved[:, 0] <= h - _BLOCK) & (moved[:, 1] <= w - _BLOCK)
    return corners[inside], moved[inside]


def _cut(plane: FloatArray, corners: NDArray[np.int64]) -> FloatArray:
    rows = corners[:, 0, None, None] + np.arange(_BLOCK)[:, None]
    columns = corners[:, 1, None, None] + np.arange(_BLOCK)
    return plane[rows, columns]


def _measure(plane_a: FloatArray, plane_b: FloatArray, at_a: NDArray[np.int64], at_b: NDArray[np.int64]) -> _Blocks:
    a, b = _cut(plane_a, at_a), _cut(plane_b, at_b)
    own = np.square(_DCT @ a @ _DCT.T)
    difference = np.square(_DCT @ (a - b) @ _DCT.T) / 2
    together = np.square(_DCT @ (a + b) @ _DCT.T) / 4
    return _Blocks(
        level=((a + b) / 2).mean(axis=(1, 2), dtype=np.float64),
        high=difference[:, _HIGH].mean(axis=1, dtype=np.float64),
        highest=difference[:, _HIGHEST].mean(axis=1, dtype=np.float64),
        middle=difference[:, _MIDDLE].mean(axis=1, dtype=np.float64),
        still_middle=own[:, _MIDDLE].mean(axis=1, dtype=np.float64),
        structure=together[:, _LOW].mean(axis=1, dtype=np.float64),
    )


def _joined(parts: list[_Blocks]) -> _Blocks:
    return _Blocks(*(np.concatenate([getattr(p, name) for p in parts]) for name in _Blocks.__slots__))


def _flattest(blocks: _Blocks) -> list[_Blocks]:
    """The flattest blocks of each of up to twelve brightness bins with equal counts, dark to bright."""
    order = np.argsort(blocks.level, kind="stable")
    bins = min(_BINS, max(1, len(order) // 30))
    result = []
    for part in np.array_split(order, bins):
        count = max(1, round(_FLAT * len(part)))
        flat = part[np.argsort(blocks.structure[part], kind="stable")[:count]]
        keep = np.zeros(len(order), bool)
        keep[flat] = True
        result.append(blocks.take(keep))
    return result


def _quantile_variance(values: NDArray[np.float64], freedom: int, share: float = 0.3) -> float:
    """Variance of Gaussian coefficients from a low quantile of their mean squares over ``freedom`` of them."""
    from scipy.stats import chi2

    return float(np.quantile(values, share) / (chi2.ppf(share, freedom) / freedom))


def _unclipped_variance(level: float, variance: float) -> float:
    """Variance before clipping to 0..255 of noise that has this mean and variance after it."""
    sd = np.sqrt(max(variance, 1e-12))
    for _ in range(8):
        _, mean, clipped = clipping_table(sd * sd, 0.0)
        ratio = float(np.interp(level, mean, clipped)) / (sd * sd)
        step = np.sqrt(variance / max(ratio, 0.05))
        if abs(step - sd) < 1e-3 * sd:
            break
        sd = step
    return float(sd * sd)


def _pairs(frames: FloatArray, distance: int, most: int) -> list[tuple[int, int]]:
    """Frame pairs spread over the clip; repeated frames are passed over."""
    n = len(frames)
    if n <= distance:
        return []
    starts = np.unique(np.linspace(0, n - 1 - distance, min(most, n - distance)).astype(int))
    pairs = []
    for s in starts:
        for e in range(s + distance, min(s + distance + 4, n)):
            if float(np.mean(np.abs(frames[s] - frames[e]))) > 0.02:
                pairs.append((int(s), int(e)))
                break
    return pairs


def estimate_noise(frames: ArrayLike, *, most_pairs: int = 8) -> Noise:
    """Standard deviation of the noise, blind, and how it grows with brightness.

    Parameters
    ----------
    frames : array, shape (n, h, w, c)
        Consecutive working frames of one shot, 0..255. About ten spread over the shot suffice.
    most_pairs : int
        Frame pairs that are compared.

    Returns
    -------
    Noise
        ``sd`` is near 0 for a clean clip and its ``low`` end below 1.5.
    """
    clip = np.asarray(frames, dtype=np.float32)
    if clip.ndim != 4 or 0 in clip.shape:
        raise InputError(f"frames must have shape (n, h, w, c), got {clip.shape}; pass consecutive frames.")
    n, h, w, c = clip.shape
    if h < _BLOCK or w < _BLOCK or n < 2:
        return _from_one_frame(clip)
    pairs = _pairs(clip, 1, most_pairs)
    if not pairs:
        return _from_one_frame(clip[:1])
    names = [*range(c), "luma"] if c == 3 else [0, "luma"]
    found: dict[int | str, list[_Blocks]] = {name: [] for name in [*names, "chroma"]}
    for s, e in pairs:
        luma_a, luma_b = _luma(clip[s]), _luma(clip[e])
        at_a, at_b = _places(luma_a, luma_b)
        for name in names:
            if name == "luma":
                found[name].append(_measure(luma_a, luma_b, at_a, at_b))
            else:
                found[name].append(_measure(clip[s, ..., name], clip[e, ..., name], at_a, at_b))
        if c == 3:
            red, blue = (clip[k, ..., 0] - clip[k, ..., 2] for k in (s, e))
            found["chroma"].append(_measure(red, blue, at_a, at_b))
    blocks = {name: _joined(parts) for name, parts in found.items() if parts}
    luma = blocks["luma"]
    if len(luma.level) < 4:
        return _from_one_frame(clip[:1])
    flat = _joined(_flattest(luma))
    high = _quantile_variance(flat.high, int(_HIGH.sum()))
    if _looks_coded(blocks, high, c):
        return _coded(clip, flat, high, c, most_pairs)
    return _white([blocks[k] for k in range(min(c, 3))], c)


def _luma(frame: FloatArray) -> FloatArray:
    return np.ascontiguousarray(frame @ LUMA if frame.shape[-1] == 3 else frame[..., 0])


def _looks_coded(blocks: dict[int | str, _Blocks], high: float, c: int) -> bool:
    """Chroma without high frequencies, or luma with fewer and fewer towards the highest."""
    luma = _joined(_flattest(blocks["luma"]))
    if c == 3:
        chroma = _joined(_flattest(blocks["chroma"]))
        # White noise of the three channels: R - B has variance 2, luma LUMA_GAIN^2.
        if np.median(chroma.high) < 0.25 * (2 / LUMA_GAIN**2) * np.median(luma.high):
            return True
    return bool(np.median(luma.highest) < 0.5 * np.median(luma.middle) and np.median(luma.high) < high * 4)


def _white(channels: list[_Blocks], c: int) -> Noise:
    """Every channel by itself; a line of the variance against the brightness where it is there."""
    freedom = int(_HIGH.sum())
    levels, variances, weights, per_channel = [], [], [], []
    for blocks in channels:
        own_levels, own = [], []
        for part in _flattest(blocks):
            variance = _quantile_variance(part.high, freedom)
            level = float(part.level.mean())
            own_levels.append(level)
            own.append(_unclipped_variance(level, variance))
        own_levels_, own_ = np.array(own_levels), np.array(own)
        sd = np.sqrt(np.median(own_))
        good = (own_levels_ > 1.0 * sd) & (own_levels_ < 255 - 1.0 * sd)
        if good.sum() < min(3, len(own_)):
            good = np.abs(own_levels_ - 127.5) <= np.sort(np.abs(own_levels_ - 127.5))[min(2, len(own_) - 1)]
        per_channel.append(float(np.sqrt(np.median(own_[good]))))
        levels.append(own_levels_[good])
        variances.append(own_[good])
        weights.append(np.full(int(good.sum()), len(blocks.level) / len(own_)))
    x, v = np.concatenate(levels), np.concatenate(variances)
    centre = float(np.median(v))
    sd = float(np.sqrt(centre))
    offset, slope = _line(x, v)
    # Scatter of the bins: it holds sampling error and what texture left behind.
    scatter = 1.4826 * float(np.median(np.abs(v - offset - slope * x))) / np.sqrt(len(v)) * 1.25
    half = 1.96 * scatter / max(2 * sd, 1e-6) + 0.03 * sd + 0.2
    clipped = _was_clipped(channels, offset, slope)
    return Noise(
        sd=sd,
        low=max(sd - half, 0.0),
        high=sd + half,
        offset=offset,
        slope=slope,
        per_channel=tuple(per_channel),
        trustworthy=bool(len(x) >= 3 and scatter < 0.2 * centre + 0.5),
        clipped=clipped,
        codec=False,
    )


def _line(x: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[float, float]:
    """Offset and slope of the variance by the median of pairwise slopes; no slope unless it is clear."""
    from scipy.stats import theilslopes

    centre = float(np.median(v))
    if len(x) < 6 or np.ptp(x) < 40:
        return centre, 0.0
    slope, offset, low, high = (float(q) for q in theilslopes(v, x, alpha=0.99))
    change = abs(slope) * float(np.ptp(x))
    if low * high <= 0 or change < 0.3 * centre:
        return centre, 0.0
    return offset, slope


def _was_clipped(channels: list[_Blocks], offset: float, slope: float) -> bool:
    """Whether the variance near 0 and 255 shrinks as that of clipped noise does."""
    signal, mean, variance = clipping_table(max(offset, 1e-6), slope)
    raw = np.maximum(offset + slope * np.clip(signal, 0, 255), 1e-6)
    ratios = []
    for blocks in channels:
        share = np.interp(blocks.level, mean, variance / raw)
        zone = (share > 0.1) & (share < 0.7)
        expected = np.interp(blocks.level[zone], mean, variance)
        ratios.append(blocks.high[zone] / expected)
    ratio = np.concatenate(ratios)
    if len(ratio) < 5:
        return True
    return bool(0.4 < np.median(ratio) < 1.6)


def _coded(clip: FloatArray, flat: _Blocks, high: float, c: int, most_pairs: int) -> Noise:
    """Noise after a codec: middle frequencies of the luma, of frames far enough apart not to share it."""
    freedom = int(_MIDDLE.sum())
    parts: list[_Blocks] = []
    for distance in (4, 2, 1):
        for s, e in _pairs(clip, distance, most_pairs):
            a, b = _luma(clip[s]), _luma(clip[e])
            at_a, at_b = _places(a, b)
            if len(at_a):
                parts.append(_measure(a, b, at_a, at_b))
        if parts:
            break
    if not parts:
        return _from_one_frame(clip[:1])
    luma = _joined(parts)
    estimates = []
    for part in _flattest(luma):
        moving = _quantile_variance(part.middle, freedom)
        still = _quantile_variance(part.still_middle, freedom)
        estimates.append((float(part.level.mean()), min(still, 2.5 * moving)))
    x = np.array([e[0] for e in estimates])
    v = np.array([e[1] for e in estimates])
    good = (x > 24) & (x < 231)
    if good.sum() < min(3, len(x)):
        good = np.ones(len(x), bool)
    centre = float(np.median(v[good]))
    gain = LUMA_GAIN if c == 3 else 1.0
    sd = float(np.sqrt(max(centre, high))) / gain
    spread = 1.4826 * float(np.median(np.abs(v[good] - centre))) / max(2 * np.sqrt(max(centre, 1e-6)), 1e-6) / gain
    half = 1.96 * 1.25 * spread / np.sqrt(max(int(good.sum()), 1)) + 0.1 * sd + 0.3
    return Noise(
        sd=sd,
        low=max(sd - half, 0.0),
        high=sd + half,
        offset=sd * sd,
        slope=0.0,
        per_channel=(sd,) * c,
        trustworthy=bool(sd > 0 and spread < 0.5 * sd),
        clipped=_coded_clipped(luma, sd, gain),
        codec=True,
    )


def _coded_clipped(luma: _Blocks, sd: float, gain: float) -> bool:
    """The same question as :func:`_was_clipped`, after a codec: yes only where there is evidence."""
    if sd < 4:
        return False
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(luma.level, mean, variance / (sd * sd))
    zone = (share > 0.1) & (share < 0.7)
    if zone.sum() < 10:
        return False
    ratio = luma.middle[zone] / (share[zone] * (sd * gain) ** 2)
    return bool(0.3 < np.median(ratio) < 1.5)


def _from_one_frame(clip: FloatArray) -> Noise:
    """A frame by itself: an upper bound by its diagonal second differences, not to be trusted."""
    h, w = clip.shape[1:3]
    if h < 3 or w < 3:
        return Noise(sd=0.0, trustworthy=False)
    second = (
        clip[:, :-2, :-2] + clip[:, 2:, :-2] + clip[:, :-2, 2:] + clip[:, 2:, 2:]
        - 2 * (clip[:, :-2, 1:-1] + clip[:, 2:, 1:-1] + clip[:, 1:-1, :-2] + clip[:, 1:-1, 2:])
        + 4 * clip[:, 1:-1, 1:-1]
    )
    per_channel = tuple(float(np.median(np.abs(second[..., k])) / 0.6745 / 6.0) for k in range(clip.shape[-1]))
    sd = float(np.median(per_channel))
    return Noise(
        sd=sd, low=0.0, high=sd, offset=sd * sd, per_channel=per_channel, trustworthy=False, clipped=True
    )
