"""Blocks of a clip against their motion-compensated counterparts: what differs is noise, where the picture cancels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.motion.flow import fast_flow
from videorestore.spatial.noise import LUMA
from videorestore.spatial.quantiles import chi_square_quantile

Corners = NDArray[np.int64]

BLOCK = 8
_MOST_BLOCKS = 3000
_BINS = 12
FLAT = 0.35
"""Share of the blocks of a brightness bin, the flattest ones, that are measured."""

_SHARE = 0.3
"""Quantile of the squares by which a variance is told; what moves or is textured lies above it."""

ALIASED, FOLDED = 0.8, 0.21
"""Sd of the differences along lines over that across them below which fields have aliases (.87 to 1.04 on six clips with noise of sd 3 to
25, .42 to .76 on one with aliases); and the share of what is more across lines that is found along them too (of that clip without noise)."""

_FREQUENCY = np.add.outer(np.arange(BLOCK), np.arange(BLOCK))
_HIGH = _FREQUENCY >= 5
_HIGHEST = _FREQUENCY >= 9
_MIDDLE = (_FREQUENCY >= 2) & (_FREQUENCY <= 4)
_LOW = (_FREQUENCY >= 1) & (_FREQUENCY <= 4)
N_HIGH, N_HIGHEST, N_MIDDLE = int(_HIGH.sum()), int(_HIGHEST.sum()), int(_MIDDLE.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
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

    def take(self, keep: NDArray[np.bool_]) -> Blocks:
        return Blocks(*(getattr(self, name)[keep] for name in self.__slots__))

    def raised(self, factor: NDArray[np.float64]) -> Blocks:
        """With the mean squares of the differences multiplied, block by block."""
        return replace(
            self, high=self.high * factor, highest=self.highest * factor, middle=self.middle * factor
        )


def _cosines() -> NDArray[np.float32]:
    k, i = np.mgrid[0:BLOCK, 0:BLOCK]
    matrix = np.cos(np.pi * (2 * i + 1) * k / (2 * BLOCK)) * np.sqrt(2 / BLOCK)
    matrix[0] /= np.sqrt(2)
    return np.asarray(matrix, dtype=np.float32)


COSINES = _cosines()
"""Rows of the orthonormal cosine transform of eight samples."""


def _places(frame: FloatArray, others: list[FloatArray]) -> tuple[Corners, list[Corners]]:
    """Corners ``(k, 2)`` of blocks of a luma and of their counterparts in other lumas, by whole pixels."""
    h, w = frame.shape
    own, *rest = (
        np.clip(np.rint(cv2.GaussianBlur(p, (0, 0), 1.5)), 0, 255).astype(np.uint8) for p in (frame, *others)
    )
    y, x = np.meshgrid(np.arange(0, h - BLOCK + 1, BLOCK), np.arange(0, w - BLOCK + 1, BLOCK), indexing="ij")
    corners = np.stack([y.ravel(), x.ravel()], axis=1)
    if len(corners) > _MOST_BLOCKS:
        corners = corners[np.linspace(0, len(corners) - 1, _MOST_BLOCKS).astype(np.int64)]
    middle = corners + BLOCK // 2
    inside = np.ones(len(corners), bool)
    moved = []
    for other in rest:
        flow = fast_flow(own, other)
        place = corners + np.rint(flow[middle[:, 0], middle[:, 1], ::-1]).astype(np.int64)
        inside &= (place >= 0).all(1) & (place[:, 0] <= h - BLOCK) & (place[:, 1] <= w - BLOCK)
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
    rows = corners[:, 0, None, None] + np.arange(BLOCK)[:, None]
    columns = corners[:, 1, None, None] + np.arange(BLOCK)
    return np.asarray(plane[rows, columns])


def _measure(plane: FloatArray, others: list[FloatArray], places: tuple[Corners, list[Corners]]) -> Blocks:
    """Blocks against the mean of their counterparts.

    With one counterpart before and one after, what motion by parts of a pixel leaves behind cancels to first order.
    """
    a = _cut(plane, places[0])
    b = np.mean([_cut(p, at) for p, at in zip(others, places[1])], axis=0)
    own = np.square(COSINES @ a @ COSINES.T)
    difference = np.square(COSINES @ (a - b) @ COSINES.T) / (1 + 1 / len(others))
    together = np.square(COSINES @ (a + b) @ COSINES.T) / 4
    return Blocks(
        level=((a + b) / 2).mean(axis=(1, 2), dtype=np.float64),
        high=difference[:, _HIGH].mean(axis=1, dtype=np.float64),
        highest=difference[:, _HIGHEST].mean(axis=1, dtype=np.float64),
        middle=difference[:, _MIDDLE].mean(axis=1, dtype=np.float64),
        still_middle=own[:, _MIDDLE].mean(axis=1, dtype=np.float64),
        structure=together[:, _LOW].mean(axis=1, dtype=np.float64),
    )


def joined(parts: list[Blocks]) -> Blocks:
    return Blocks(*(np.concatenate([getattr(p, name) for p in parts]) for name in Blocks.__slots__))


def flattest(blocks: Blocks) -> list[Blocks]:
    """The flattest blocks of each of up to twelve brightness bins with equal counts, dark to bright."""
    order = np.argsort(blocks.level, kind="stable")
    bins = min(_BINS, max(1, len(order) // 30))
    result = []
    for part in np.array_split(order, bins):
        count = max(1, round(FLAT * len(part)))
        flat = part[np.argsort(blocks.structure[part], kind="stable")[:count]]
        keep = np.zeros(len(order), bool)
        keep[flat] = True
        result.append(blocks.take(keep))
    return result


def quantile_variance(values: NDArray[np.float64], freedom: int, share: float = _SHARE) -> float:
    """Variance of Gaussian coefficients from a low quantile of their mean squares over ``freedom`` of them."""
    return float(np.quantile(values, share) / (chi_square_quantile(freedom, share) / freedom))


def spreads(blocks: Blocks, gain: float) -> dict[float, float]:
    """Standard deviation by several quantiles of the flattest blocks; all are the same for white noise."""
    values = joined(flattest(blocks)).high
    return {q: float(np.sqrt(quantile_variance(values, N_HIGH, q)) / gain) for q in (0.05, 0.3, 0.5, 0.8)}


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


def compare(clip: FloatArray, distance: int, most: int) -> dict[str, Blocks]:
    """Blocks of every channel ("0", "1", ...), of the luma, and of red less blue at the same places."""
    c = clip.shape[-1]
    found: dict[str, list[Blocks]] = {}
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
    return {name: joined(parts) for name, parts in found.items()}


def _luma(frame: FloatArray) -> FloatArray:
    return np.ascontiguousarray(frame @ LUMA if frame.shape[-1] == 3 else frame[..., 0])


def spectrum(planes: FloatArray, guide: FloatArray, most: int) -> NDArray[np.float64]:
    """Variance ``(64,)`` of the noise of planes ``(n, h, w)`` by the frequencies of cosine blocks, row by row.

    ``guide`` (n, h, w) tells the motion. What changes slowly over a block may be light: its mean is taken to have the noise
    of the lowest frequencies beside it.
    """
    found, structure = [], []
    for t, others in _neighbours(planes[..., None], 1, most):
        places = _places(guide[t], [guide[k] for k in others])
        if not len(places[0]):
            continue
        a = _cut(planes[t], places[0])
        b = np.mean([_cut(planes[k], at) for k, at in zip(others, places[1])], axis=0)
        found.append(np.square(COSINES @ (a - b) @ COSINES.T) / (1 + 1 / len(others)))
        structure.append(np.square(COSINES @ (a + b) @ COSINES.T)[:, _LOW].mean(axis=1))
    if not found:
        return np.zeros(BLOCK * BLOCK)
    energy = np.concatenate(structure)
    flat = np.concatenate(found)[energy <= np.quantile(energy, FLAT)].reshape(-1, BLOCK * BLOCK)
    own = np.quantile(flat, _SHARE, axis=0) / chi_square_quantile(1, _SHARE)
    own[0] = 0.5 * (own[1] + own[BLOCK])
    return np.asarray(own, np.float64)


def share_of_noise(fields: FloatArray, most: int = 6) -> float:
    """Sd of the noise of fields ``(n, h, w, c)`` over that of all that differs between them, 0 to 1.

    A field has every second line: what is finer folds back and changes from field to field as noise does, but across lines more than
    along them, where noise does not care.
    """
    lumas = np.stack([_luma(field) for field in fields])
    if min(lumas.shape[1:]) < BLOCK:
        return 1.0
    found = spectrum(lumas, lumas, most).reshape(BLOCK, BLOCK)
    along, across = found[:2, 5:].mean(), found[5:, :2].mean()
    if along >= ALIASED**2 * across:
        return 1.0
    noise = along - FOLDED * (across - along)
    return float(np.sqrt(np.clip(noise / found[_HIGH.reshape(BLOCK, BLOCK)].mean(), 0.0, 1.0)))
