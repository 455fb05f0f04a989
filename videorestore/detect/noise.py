"""How noisy a clip is: from differences of motion-compensated blocks, where the picture itself cancels.

Blocks are compared in the cosine domain. High frequencies carry little picture; blocks that are flat at low
frequencies are preferred, so that aliased texture does not count as noise. Noise that went through a lossy codec
is told by its smooth chroma or its missing high frequencies, and is measured at middle frequencies, between frames
farther apart, because skipped blocks repeat the noise of the frame before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.motion.flow import fast_flow
from videorestore.spatial.noise import LUMA, LUMA_GAIN, Noise, clipping_table, is_monochrome
from videorestore.spatial.planes import LUMA_CHROMA, to_planes
from videorestore.spatial.subsampled import find_grid

__all__ = ["Noise", "estimate_noise"]

Corners = NDArray[np.int64]

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
_N_HIGH, _N_HIGHEST, _N_MIDDLE = int(_HIGH.sum()), int(_HIGHEST.sum()), int(_MIDDLE.sum())


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


def _places(frame: FloatArray, others: list[FloatArray]) -> tuple[Corners, list[Corners]]:
    """Corners ``(k, 2)`` of blocks of a luma and of their counterparts in other lumas, by whole pixels."""
    h, w = frame.shape
    own, *rest = (
        np.clip(np.rint(cv2.GaussianBlur(p, (0, 0), 1.5)), 0, 255).astype(np.uint8) for p in (frame, *others)
    )
    y, x = np.meshgrid(
        np.arange(0, h - _BLOCK + 1, _BLOCK), np.arange(0, w - _BLOCK + 1, _BLOCK), indexing="ij"
    )
    corners = np.stack([y.ravel(), x.ravel()], axis=1)
    if len(corners) > _MOST_BLOCKS:
        corners = corners[np.linspace(0, len(corners) - 1, _MOST_BLOCKS).astype(np.int64)]
    middle = corners + _BLOCK // 2
    inside = np.ones(len(corners), bool)
    moved = []
    for other in rest:
        flow = fast_flow(own, other)
        place = corners + np.rint(flow[middle[:, 0], middle[:, 1], ::-1]).astype(np.int64)
        inside &= (place >= 0).all(1) & (place[:, 0] <= h - _BLOCK) & (place[:, 1] <= w - _BLOCK)
        moved.append(place)
    if len(moved) == 2:
        # A block that repeats one of the two and not the other would seem to have less noise.
        own_blocks = _cut(frame, corners[inside])
        one, two = (
            np.square(own_blocks - _cut(p, at[inside])).mean(axis=(1, 2)) for p, at in zip(others, moved)
        )
        inside[inside] = np.minimum(one, two) >= 0.15 * np.maximum(one, two)
    return corners[inside], [place[inside] for place in moved]


def _cut(plane: FloatArray, corners: NDArray[np.int64]) -> FloatArray:
    rows = corners[:, 0, None, None] + np.arange(_BLOCK)[:, None]
    columns = corners[:, 1, None, None] + np.arange(_BLOCK)
    return np.asarray(plane[rows, columns])


def _measure(plane: FloatArray, others: list[FloatArray], places: tuple[Corners, list[Corners]]) -> _Blocks:
    """Blocks against the mean of their counterparts.

    With one counterpart before and one after, what motion by parts of a pixel leaves behind cancels to first order.
    """
    a = _cut(plane, places[0])
    b = np.mean([_cut(p, at) for p, at in zip(others, places[1])], axis=0)
    own = np.square(_DCT @ a @ _DCT.T)
    difference = np.square(_DCT @ (a - b) @ _DCT.T) / (1 + 1 / len(others))
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


def _spread(blocks: _Blocks, gain: float) -> dict[float, float]:
    """Standard deviation by several quantiles of the flattest blocks; all are the same for white noise."""
    values = _joined(_flattest(blocks)).high
    return {q: float(np.sqrt(_quantile_variance(values, _N_HIGH, q)) / gain) for q in (0.05, 0.3, 0.5, 0.8)}


def _unclipped_variance(level: float, variance: float) -> float:
    """Variance before clipping to 0..255 of noise that has this mean and variance after it."""
    if variance < 1e-3:
        return variance
    sd = np.sqrt(variance)
    for _ in range(8):
        _, mean, clipped = clipping_table(sd * sd, 0.0)
        ratio = float(np.interp(level, mean, clipped)) / (sd * sd)
        step = np.sqrt(variance / max(ratio, 0.05))
        if abs(step - sd) < 1e-3 * sd:
            break
        sd = step
    return float(sd * sd)


def _neighbours(frames: FloatArray, distance: int, most: int) -> list[tuple[int, list[int]]]:
    """Frames spread over the clip, each with the frame before and after at a distance; repeats are passed over."""
    n = len(frames)
    if n <= distance:
        return []
    wanted = range(distance, n - distance) if n > 2 * distance else range(n - distance)
    starts = np.unique(np.linspace(wanted[0], wanted[-1], min(most, len(wanted))).astype(int))
    found = []
    for t in (int(s) for s in starts):
        others = []
        for direction in (-1, 1):
            places = (t + direction * k for k in range(distance, distance + 4))
            fresh = (k for k in places if 0 <= k < n and float(np.mean(np.abs(frames[t] - frames[k]))) > 0.02)
            others += [k for k in [next(fresh, -1)] if k >= 0]
        if others:
            found.append((t, others))
    return found


def _compare(clip: FloatArray, distance: int, most: int) -> dict[str, _Blocks]:
    """Blocks of every channel ("0", "1", ...), of the luma, and of red less blue at the same places."""
    c = clip.shape[-1]
    found: dict[str, list[_Blocks]] = {}
    for t, others in _neighbours(clip, distance, most):
        lumas = [_luma(clip[k]) for k in (t, *others)]
        places = _places(lumas[0], lumas[1:])
        if not len(places[0]):
            continue
        planes = {"luma": lumas} | {str(q): [clip[k, ..., q] for k in (t, *others)] for q in range(c)}
        if c == 3:
            planes["chroma"] = [clip[k, ..., 0] - clip[k, ..., 2] for k in (t, *others)]
        for name, (own, *rest) in planes.items():
            found.setdefault(name, []).append(_measure(own, rest, places))
    return {name: _joined(parts) for name, parts in found.items()}


def estimate_noise(frames: ArrayLike, *, most: int = 6) -> Noise:
    """Standard deviation of the noise, blind, and how it grows with brightness.

    Parameters
    ----------
    frames : array, shape (n, h, w, c)
        Consecutive working frames of one shot, 0..255. About ten suffice; repeated ones are passed over.
    most : int
        Frames that are compared with their neighbours.

    Returns
    -------
    Noise
        Of a clean clip ``clean`` is true and ``sd`` near 0.
    """
    clip = np.asarray(frames, dtype=np.float32)
    if clip.ndim != 4 or 0 in clip.shape:
        raise InputError(f"frames must have shape (n, h, w, c), got {clip.shape}; pass consecutive frames.")
    n, h, w, c = clip.shape
    if is_monochrome(clip):
        found = estimate_noise((clip @ LUMA)[..., None], most=most)
        return replace(found, per_channel=found.per_channel * 3, monochrome=True)
    if h < _BLOCK or w < _BLOCK or n < 2:
        return _from_one_frame(clip)
    blocks = _compare(clip, 1, most)
    if "luma" not in blocks or len(blocks["luma"].level) < 4:
        return _from_one_frame(clip[:1])
    gain = LUMA_GAIN if c == 3 else 1.0
    flat = _joined(_flattest(blocks["luma"]))
    high = _spread(blocks["luma"], gain)
    if c == 3:
        chroma = to_planes(clip[n // 2], basis=LUMA_CHROMA)[1:]
        if find_grid(chroma, high[0.3]) is not None:
            return _coded(clip, high, c, blocks["luma"], most)
        sd_chroma = _from_differences(blocks, high[0.5])
        if sd_chroma > max(0.8, 0.2 * high[0.3]):
            return _white([blocks[str(q)] for q in range(3)], sd_chroma)
        return _coded(clip, high, c, blocks["luma"], most)
    tilted = _quantile_variance(flat.highest, _N_HIGHEST) < 0.5 * _quantile_variance(flat.middle, _N_MIDDLE)
    if tilted and high[0.3] > 0.3:
        return _coded(clip, high, c, blocks["luma"], most)
    return _white([blocks["0"]], None)


def _from_differences(blocks: dict[str, _Blocks], about: float) -> float:
    """Standard deviation per channel by red less blue, where neither of the two is clipped.

    Most chroma was stored at half the resolution or is smooth by nature: no texture is in its high frequencies.
    """
    margin = min(2.2 * about, 90.0)
    red, blue, chroma = blocks["0"].level, blocks["2"].level, blocks["chroma"]
    central = (np.minimum(red, blue) > margin) & (np.maximum(red, blue) < 255 - margin)
    if central.sum() >= 30:
        chroma = chroma.take(central)
    flat = chroma.take(chroma.structure <= np.quantile(chroma.structure, _FLAT))
    return float(np.sqrt(_quantile_variance(flat.high, _N_HIGH) / 2))


def _luma(frame: FloatArray) -> FloatArray:
    return np.ascontiguousarray(frame @ LUMA if frame.shape[-1] == 3 else frame[..., 0])


def _white(channels: list[_Blocks], sd_chroma: float | None) -> Noise:
    """Every channel by itself; a line of the variance against the brightness where it is there.

    Where the differences of the channels are quieter than the channels, texture or older noise is in the luma: its
    spread over the blocks tells, and then the differences have the last word.
    """
    levels, variances, per_channel, tails = [], [], [], []
    for blocks in channels:
        own_levels, own = [], []
        for part in _flattest(blocks):
            variance = _quantile_variance(part.high, _N_HIGH)
            tails.append(
                _quantile_variance(part.high, _N_HIGH, 0.6)
                / max(_quantile_variance(part.high, _N_HIGH, 0.1), 1e-9)
            )
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
    x, v = np.concatenate(levels), np.concatenate(variances)
    # Blocks of one brightness differ in their noise by chance only; texture has a tail.
    textured = bool(np.median(tails) > 1.3)
    sloped = not textured and _line(x, v)[1] != 0
    if sd_chroma is not None:
        excess = float(np.median(v)) - sd_chroma**2
        moderate = not sloped and sd_chroma < 35 and 0.05 < excess / sd_chroma**2 < 0.4
        if excess > 0 and (excess < 1.3**2 or textured or moderate):
            share = sd_chroma**2 / (sd_chroma**2 + excess)
            v *= share
            per_channel = [p * float(np.sqrt(share)) for p in per_channel]
    centre = float(np.median(v))
    sd = float(np.sqrt(centre))
    offset, slope = (centre, 0.0) if textured else _line(x, v)
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
    rest = 1.4826 * float(np.median(np.abs(v - offset - slope * x)))
    if low * high <= 0 or change < 0.3 * centre or change < 5 * rest:
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


def _coded(clip: FloatArray, high: dict[float, float], c: int, near: _Blocks, most: int) -> Noise:
    """Noise after a codec, by the luma.

    A weak codec leaves white noise: all blocks agree. A strong one freezes it in some blocks and takes its high
    frequencies everywhere; then the middle frequencies of frames farther apart show most of it, and the blocks
    that are fresh still agree with each other, while texture has a long tail.
    """
    gain = LUMA_GAIN if c == 3 else 1.0
    compared = _compare(clip, 3, most)
    far = compared.get("luma", near)
    flat = _joined(_flattest(near))
    lightly = _quantile_variance(flat.highest, _N_HIGHEST) > 0.6 * _quantile_variance(flat.high, _N_HIGH)
    everywhere = far
    if lightly:
        # White or nearly so: then the flattest blocks, dark and bright ones, have less of it because it was clipped.
        near, far = (_central(b, high[0.5]) for b in (near, far))
        high = _spread(near, gain)
    far_high = _spread(far, gain)
    middle = [
        float(np.sqrt(_quantile_variance(_joined(_flattest(b)).middle, _N_MIDDLE, 0.5)) / gain)
        for b in (near, far)
    ]
    # Either most blocks have the same noise at all frequencies, or even the quietest have nearly as much of it, or
    # the highest frequencies are still there: then hardly any block can be frozen.
    agree = (high[0.5] < 1.12 * high[0.3] and middle[0] < 1.35 * high[0.5]) or high[0.3] < 1.3 * high[0.05]
    partly = not agree and lightly and high[0.3] > 3.0
    agree = agree or partly
    fresh = far_high[0.5] < 1.7 * far_high[0.3] and far_high[0.8] < 2.4 * far_high[0.5]
    if not agree and fresh and far_high[0.3] > 3.0:
        if middle[1] > 1.6 * middle[0] and high[0.3] > 0.5 * far_high[0.3]:
            # Motion is in the far differences, and not all is frozen in the near ones.
            sd = min(middle[1], high[0.3] + high[0.5])
        else:
            # The more the codec took of the high frequencies, the more blocks are frozen and seem to have less.
            taken = min(middle[1] / far_high[0.5], 1.6)
            sd = far_high[0.5] * taken * float(np.clip(0.2 + 0.8 * taken, 1.0, 1.2))
        low, top = 0.7 * sd, 1.3 * sd
    else:
        sd = high[0.3] if agree else min(high[0.3], 2 * high[0.05])
        if partly:
            # Some frozen blocks in the near differences, some motion in the far ones.
            sd = float(np.sqrt(sd * max(far_high[0.3], sd)))
        if lightly and agree:
            # Texture that moves fast is least in the highest frequencies; the noise has lost little there.
            highest = max(_quantile_variance(_joined(_flattest(b)).highest, _N_HIGHEST) for b in (near, far))
            sd = min(sd, 1.05 * float(np.sqrt(highest)) / gain)
        low, top = 0.93 * sd - 0.2 if agree else 0.95 * high[0.05], 1.07 * sd + 0.2
    sd = float(sd)
    return Noise(
        sd=sd,
        low=max(float(low), 0.0),
        high=float(top),
        offset=sd * sd,
        slope=0.0,
        per_channel=(sd,) * c,
        trustworthy=bool(agree or fresh),
        clipped=_coded_clipped(everywhere, [compared[str(q)].level for q in range(c) if compared], sd, gain),
        codec=True,
    )


def _central(blocks: _Blocks, sd: float) -> _Blocks:
    """Those away from 0 and 255, where noise is hardly clipped, unless they are few."""
    central = np.abs(blocks.level - 127.5) < 127.5 - min(1.5 * sd, 90.0)
    return blocks.take(central) if central.sum() >= max(30, 0.2 * len(central)) else blocks


def _coded_clipped(luma: _Blocks, levels: list[NDArray[np.float64]], sd: float, gain: float) -> bool:
    """The same question as :func:`_was_clipped`, after a codec: yes unless something speaks against it.

    The mean of clipped noise stays 0.4 sd away from 0 and 255, whatever a codec makes of the noise itself. Blocks
    nearer to them, in any channel (``levels``), were never noisy: bars, or blacks that were cut after the noise.
    """
    if sd < 4:
        return False
    for level in levels:
        margin = np.minimum(level, 255 - level)
        if (margin < 0.25 * sd).sum() > max(2, 0.15 * (margin < sd).sum()):
            return False
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(luma.level, mean, variance / (sd * sd))
    zone = (share > 0.1) & (share < 0.7)
    if zone.sum() < 10:
        return True
    ratio = luma.middle[zone] / (share[zone] * (sd * gain) ** 2)
    return bool(np.median(ratio) < 1.5)


def _from_one_frame(clip: FloatArray) -> Noise:
    """A frame by itself: an upper bound by its diagonal second differences, not to be trusted."""
    h, w = clip.shape[1:3]
    if h < 3 or w < 3:
        return Noise(sd=0.0, trustworthy=False)
    second = (
        clip[:, :-2, :-2]
        + clip[:, 2:, :-2]
        + clip[:, :-2, 2:]
        + clip[:, 2:, 2:]
        - 2 * (clip[:, :-2, 1:-1] + clip[:, 2:, 1:-1] + clip[:, 1:-1, :-2] + clip[:, 1:-1, 2:])
        + 4 * clip[:, 1:-1, 1:-1]
    )
    per_channel = tuple(
        float(np.median(np.abs(second[..., k])) / 0.6745 / 6.0) for k in range(clip.shape[-1])
    )
    sd = float(np.median(per_channel))
    return Noise(
        sd=sd, low=0.0, high=sd, offset=sd * sd, per_channel=per_channel, trustworthy=False, clipped=True
    )
