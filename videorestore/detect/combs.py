"""How much the weaves of a frame with the next one comb, and which of their fields changes more: what tells fields apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import Frame, Samples
from videorestore.compiled import kernel, parallel_kernel

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

SEEN = 9
"""Numbers that are noted of a frame and the next: see `direction`."""

NOTHING = np.array([0.0, 0.0, 0.0, 0.0, 1e6, 1e6, 0.0, 1e6, 1e6])
"""What is noted where nothing can be seen: sd without bounds."""

PAIRED = 0.5
"""Steps within pairs of lines over those between pairs, below which the lines are pairs; of fields and of pictures both are
alike (0.9 to 1.1)."""

SCROLLED = 0.25
"""Share of the change that is left after a shift by one line, below which a picture scrolls: its fields then fit the next
frame's other ones, as those of film woven one field late do."""

BLOCK = 16
"""Lines and columns of the blocks that are compared: a codec's macroblock."""

COLUMNS = 24
"""Most blocks across a picture that are looked at, evenly spread: their number decides, not their size."""

CLUSTER = 6.0
"""Neighbouring blocks that speak as one."""

CODED = 50.0
"""Change (levels squared, both fields together) that a codec may add to a block or take from it, however much it looks like
motion: sd 5 of a sample. Weaker combs are quantised away, and what is left looks progressive. Of 672 shots of 16 clips, made in
seven ways, noisy and coded, none is wrong with 50; with 20 and 30 those that show asphalt were."""

QUIET, SHAKEN, MOST = 0.1, 6.0, 1000.0
"""What changes beside motion, at most: that of the block at this quantile, times this, and that of noise of sd 16 in both
fields of two frames. More than that is motion, be it too fast to look like it: 300 for the last made four film shots wrong."""

BY_CHANCE = 0.02
"""Share of a change that looks like motion by chance: two gradients fitted to the hundred or so independent samples of a field
in a block."""

UNLIKE = 1.0
"""How unlike may be what combs by motion and what by all else, relative to the change (sd): no more than the change itself."""


@kernel
def explained(sums: Doubles) -> tuple[float, float]:
    """Variance of a change, and how much of it two gradients explain, by the sums ``(10,)`` of all three, of their products, and
    their number."""
    n = sums[9]
    d, g, v = sums[0] / n, sums[1] / n, sums[2] / n
    change = max(sums[3] / n - d * d, 0.0)
    dg, dv = sums[4] / n - d * g, sums[5] / n - d * v
    gg, gv, vv = sums[6] / n - g * g, sums[7] / n - g * v, sums[8] / n - v * v
    # Gradients of rounding are none.
    ridge = 1e-3 * (gg + vv) + 1e-3
    gg, vv = gg + ridge, vv + ridge
    moved = (vv * dg * dg - 2.0 * gv * dg * dv + gg * dv * dv) / (gg * vv - gv * gv)
    return change, min(max(moved, 0.0), change)


@parallel_kernel(lambda first, *_: first.shape[0] // BLOCK, grain=2)
def comb_energy(
    start: int, stop: int, first: Floats, second: Floats, lefts: NDArray[np.int64], energy: Floats
) -> None:
    """Energy of the comb in every block of the weaves of two frames, what changes in their fields, and how much of it moves.

    Parameters
    ----------
    first, second : (h, w) float32
    lefts : (m,) int64
        First columns of the blocks.
    energy : (h // 16, m, 8) float32, written
        Mean square of the highest vertical frequency: own fields of the first frame; its odd lines with the second's
        even ones; its even lines with the second's odd ones; the second's own. Variance of the difference of even lines, and
        of odd ones; how much of each the gradients of the field explain, as where it moves.
    """
    height, width = first.shape
    for row in range(start, stop):
        for m in range(lefts.shape[0]):
            own = one = other = next_own = np.float32(0.0)
            sums = np.zeros((2, 10))
            for y in range(max(row * BLOCK, 2), min((row + 1) * BLOCK, height - 2)):
                of_field = np.zeros(9, np.float32)
                for x in range(lefts[m], lefts[m] + BLOCK):
                    kept = first[y - 2, x] + np.float32(4.0) * first[y, x] + first[y + 2, x]
                    beside = np.float32(3.0) * (first[y - 1, x] + first[y + 1, x])
                    later = second[y - 2, x] + np.float32(4.0) * second[y, x] + second[y + 2, x]
                    after = np.float32(3.0) * (second[y - 1, x] + second[y + 1, x])
                    a, b, c, e = kept - beside, kept - after, later - beside, later - after
                    own, next_own = own + a * a, next_own + e * e
                    if y % 2:
                        one, other = one + b * b, other + c * c
                    else:
                        one, other = one + c * c, other + b * b
                    left, right = max(x - 1, 0), min(x + 1, width - 1)
                    d = second[y, x] - first[y, x]
                    g = first[y, right] + second[y, right] - first[y, left] - second[y, left]
                    v = first[y + 2, x] + second[y + 2, x] - first[y - 2, x] - second[y - 2, x]
                    of_field[0] += d
                    of_field[1] += g
                    of_field[2] += v
                    of_field[3] += d * d
                    of_field[4] += d * g
                    of_field[5] += d * v
                    of_field[6] += g * g
                    of_field[7] += g * v
                    of_field[8] += v * v
                for i in range(9):
                    sums[y % 2, i] += of_field[i]
                sums[y % 2, 9] += BLOCK
            count = sums[0, 9] + sums[1, 9]
            if count == 0:
                continue
            share = np.float32(1.0 / (36.0 * count))
            energy[row, m, 0] = own * share
            energy[row, m, 1] = one * share
            energy[row, m, 2] = other * share
            energy[row, m, 3] = next_own * share
            for parity in range(2):
                changed, moved = explained(sums[parity])
                energy[row, m, 4 + parity] = changed
                energy[row, m, 6 + parity] = moved


def luma_plane(frame: Frame) -> Floats:
    """The plane ``(h, w)`` that shows most of a picture, on the 0..255 scale."""
    plane: Samples = frame.planes[1 if frame.format.model == "rgb" else 0]
    scale = 255.0 if frame.format.depth == 32 else 1.0 / (1 << (frame.format.depth - 8))
    found = np.ascontiguousarray(plane, np.float32)
    return np.nan_to_num(found) * np.float32(scale) if scale != 1.0 else found


def direction(first: Floats, second: Floats) -> Doubles:
    """Which weave of two successive frames ``(h, w)`` combs most and least, and which of their fields changes more.

    Returns
    -------
    ndarray, shape (SEEN,)
        What each of the four weaves combs above their mean, relative to the change, where all of that is motion; its sd, by
        what differs from frame to frame and by what may be alike in all. Difference of the changes of even and odd lines over
        their sum, there too, and its two sds. `NOTHING` where the frames are too small, their lines come in pairs, or they scroll.
    """
    height, width = first.shape
    if (
        height < 2 * BLOCK
        or width < BLOCK
        or first.shape != second.shape
        or _in_pairs(first)
        or _scrolls(first, second)
    ):
        return NOTHING
    count = min(COLUMNS, width // BLOCK)
    lefts = np.linspace(0, width - BLOCK, count).astype(np.int64)
    energy = np.zeros((height // BLOCK, count, 8), np.float32)
    comb_energy(first, second, lefts, energy)
    return summary(energy.reshape(-1, 8).astype(np.float64))


def summary(blocks: Doubles) -> Doubles:
    """What is noted of two frames by the energies ``(m, 8)`` of their blocks, see `comb_energy`."""
    change = blocks[:, 4:6].sum(axis=1)
    unlike_motion = np.minimum(change, (change - blocks[:, 6:].sum(axis=1)) / (1.0 - BY_CHANCE))
    # What changes in all places alike is noise, or a codec's, which shakes both fields of a frame as if it were progressive.
    shaken = np.minimum(unlike_motion, min(SHAKEN * float(np.quantile(unlike_motion, QUIET)), MOST))
    change = np.maximum(change, 1e-3)
    moving, weights = np.maximum(change - shaken - CODED, 0.0) / change, np.square(change / (change + CODED))
    combs, lean = (
        centred(blocks[:, :4]) / change[:, None],
        (blocks[:, 4:5] - blocks[:, 5:6]) / change[:, None],
    )
    return np.concatenate([_in_motion(combs, moving, weights), _in_motion(lean, moving, weights)])


def _in_pairs(picture: Floats) -> bool:
    """Whether lines are shown twice, as where a smaller picture was made larger: its two fields are one."""
    steps = np.square(np.diff(picture[:, ::4], axis=0)).sum(axis=1, dtype=np.float64)
    within, between = sorted((float(steps[0::2].sum()), float(steps[1::2].sum())))
    return within < PAIRED * between


def _scrolls(first: Floats, second: Floats) -> bool:
    """Whether the second picture is the first one, a line higher or lower."""
    one, two = first[:, ::4], second[:, ::4]
    change, up, down = (
        float(np.square(a - b).sum(dtype=np.float64))
        for a, b in ((one[1:-1], two[1:-1]), (one[2:], two[1:-1]), (one[:-2], two[1:-1]))
    )
    return min(up, down) < SCROLLED * change


def _in_motion(values: Doubles, moving: Doubles, weights: Doubles) -> Doubles:
    """Values ``(m, k)`` of blocks where all is motion, and two sds ``(k + 2,)``: the line through them by the share that is
    ``moving``, at its end. The sds are those by the blocks, and by how little of a block is known to move."""
    total = weights.sum() + 1e-9
    independent = total**2 / (np.square(weights).sum() + 1e-12) / CLUSTER
    rests = 1.0 - moving
    mean, usual = weights @ values / total, weights @ rests / total
    apart = rests - usual
    width = weights @ np.square(apart) / total
    together = (weights * apart) @ (values - mean) / total
    left = values - mean - apart[:, None] * together / (width + 1e-12)
    # Noise that is alike in all places, as a codec's, has one direction: its whole sd counts.
    scatter = float(np.linalg.eigvalsh((weights[:, None] * left).T @ left / total)[-1]) + 1e-9
    told = independent * width / scatter
    precision = told + 1.0 / UNLIKE**2
    by_blocks = scatter / independent + usual**2 * told / precision**2
    slope = independent / scatter * together / precision
    return np.array([*(mean - usual * slope), np.sqrt(by_blocks), usual / UNLIKE / precision])


def centred(values: Doubles) -> Doubles:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def directions(frames: Sequence[Floats]) -> Doubles:
    """`direction` of every frame with the next ``(n - 1, SEEN)``."""
    return np.array([direction(a, b) for a, b in zip(frames[:-1], frames[1:])]).reshape(-1, SEEN)
