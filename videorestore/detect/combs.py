"""How the two fields of a frame and of the next differ where things move: what tells when their lines were taken.

Of a frame and the next, four fields: tops ``T0, T1``, bottoms ``B0, B1``, all read at every line. What tells is how the changes
``T1 - T0`` and ``B1 - B0`` go together, and how both go with the comb, ``T - B`` in the mean of the two frames. Played backwards,
a progressive clip has the same comb and the opposite changes: they are unrelated. Fields that come later are nearer to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import Frame, Samples
from videorestore.compiled import parallel_kernel

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

NARROW = 4
"""Columns of which the mean is taken: combs are wide, noise is not."""

TORN = 0.03
"""Share of the lines that the switching of heads may tear: 6 to 12 of 576 are usual."""

LINES, ACROSS = 16, 4
"""Lines and (narrow) columns of the blocks that are compared: a codec's macroblock."""

COLUMNS = 60
"""Most blocks across a picture that are looked at, evenly spread: their number decides, not their size."""

STRENGTHS = np.array([2.5, 6.0, 15.0, 40.0, 100.0, 250.0, 630.0, 1600.0])
"""Change of a block (levels squared, mean of both fields) from which on it belongs to a class: what a codec does to weak combs
it does not do to strong ones. Below the first all is rounding."""

LOOK = 7
"""Numbers that are noted of a class: see `direction`."""

SEEN = LOOK * len(STRENGTHS) + 2
"""Numbers that are noted of a frame and the next: the looks at all classes, how much quiet blocks change, and 1 where the pixels
are the same either way, as pictures and as fields."""

QUIET = 0.25
"""Share of the blocks that count as quiet: what they change by is noise, or motion of all that is in the picture."""

NOTHING = np.zeros(SEEN)
"""What is noted where nothing can be seen: no blocks in any class."""

CLUSTER = 4.0
"""Neighbouring blocks that speak as one."""

SCATTER, FEW = 0.3, 3.0
"""What blocks differ by (sd, relative to the change) before they are looked at, and how many of them that counts for."""

PAIRED = 0.1
"""Steps within pairs of lines over those between pairs, below which the lines are pairs: shown twice. Of fields that move up or
down one kind of step is larger, too, but as much only near the speed at which they are the same pixels as lines shown twice."""

SCROLLED = 0.04
"""Share of the change that is left after a shift by two lines, below which a picture scrolls: pictures at this speed and fields
that show a line a field are the same. Of a camera that moves so, 0.07 is left."""


@parallel_kernel(lambda first, *_: first.shape[0] // LINES, grain=2)
def field_moments(
    start: int, stop: int, first: Floats, second: Floats, lefts: NDArray[np.int64], moments: Floats
) -> None:
    """Mean products, in every block, of the change of the top field, that of the bottom field, and the comb; each without its mean.

    Parameters
    ----------
    first, second : (h, w) float32
    lefts : (m,) int64
        First columns of the blocks.
    moments : (h // 16, m, 5) float32, written
        Top by top, bottom by bottom, top by bottom, top by comb, bottom by comb.
    """
    height = first.shape[0]
    for row in range(start, stop):
        for m in range(lefts.shape[0]):
            sums = np.zeros(3)
            products = np.zeros(5)
            count = 0
            for y in range(max(row * LINES, 2), min((row + 1) * LINES, height - 2)):
                for x in range(lefts[m], lefts[m] + ACROSS):
                    here = (first[y - 2, x] + np.float32(4.0) * first[y, x] + first[y + 2, x]) / np.float32(
                        6.0
                    )
                    beside = (first[y - 1, x] + first[y + 1, x]) * np.float32(0.5)
                    later = (
                        second[y - 2, x] + np.float32(4.0) * second[y, x] + second[y + 2, x]
                    ) / np.float32(6.0)
                    after = (second[y - 1, x] + second[y + 1, x]) * np.float32(0.5)
                    top, bottom = later - here, after - beside
                    comb = np.float32(0.5) * (here + later - beside - after)
                    if y % 2:
                        top, bottom, comb = bottom, top, -comb
                    sums[0] += top
                    sums[1] += bottom
                    sums[2] += comb
                    products[0] += top * top
                    products[1] += bottom * bottom
                    products[2] += top * bottom
                    products[3] += top * comb
                    products[4] += bottom * comb
                    count += 1
            if count == 0:
                continue
            t, b, c = sums[0] / count, sums[1] / count, sums[2] / count
            moments[row, m, 0] = products[0] / count - t * t
            moments[row, m, 1] = products[1] / count - b * b
            moments[row, m, 2] = products[2] / count - t * b
            moments[row, m, 3] = products[3] / count - t * c
            moments[row, m, 4] = products[4] / count - b * c


def narrow_luma(frame: Frame) -> Floats:
    """The plane that shows most of a picture, on the 0..255 scale, means of `NARROW` columns ``(h, w // NARROW)``.

    The lowest lines are left out: a tape has torn ones there, which are new in every field.
    """
    plane: Samples = frame.planes[1 if frame.format.model == "rgb" else 0]
    scale = 255.0 if frame.format.depth == 32 else 1.0 / (1 << (frame.format.depth - 8))
    found = np.ascontiguousarray(plane[: len(plane) - 2 * round(TORN * len(plane) / 2)], np.float32)
    return narrowed(np.nan_to_num(found) * np.float32(scale) if scale != 1.0 else found)


def narrowed(picture: Floats) -> Floats:
    """Means ``(h, w // NARROW)`` of columns of a picture ``(h, w)``."""
    height, width = picture.shape[0], picture.shape[1] // NARROW
    if width == 0:
        return np.zeros((height, 0), np.float32)
    whole = np.ascontiguousarray(picture[:, : width * NARROW], np.float32)
    return np.asarray(cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA), np.float32)


def direction(first: Floats, second: Floats) -> Doubles:
    """How the fields of two successive frames ``(h, w)``, `narrowed`, differ where they change little, more, and much.

    Returns
    -------
    ndarray, shape (SEEN,)
        For every class of `STRENGTHS`: number of blocks, mean change, and by that change how both fields change together, how
        later the bottom one is, how the comb grows, how much more the top one changes; the variance of these four. Then what
        `QUIET` blocks change by at most, and whether lines are shown twice or scroll by two. `NOTHING` where the frames are too
        small.
    """
    height, width = first.shape
    if height < 2 * LINES or width < ACROSS or first.shape != second.shape:
        return NOTHING
    count = min(COLUMNS, width // ACROSS)
    lefts = np.linspace(0, width - ACROSS, count).astype(np.int64)
    moments = np.zeros((height // LINES, count, 5), np.float32)
    field_moments(first, second, lefts, moments)
    either = _in_pairs(first) or _scrolls(first, second)
    of_blocks = moments.reshape(-1, 5).astype(np.float64)
    quiet = float(np.quantile(0.5 * (of_blocks[:, 0] + of_blocks[:, 1]), QUIET))
    return np.append(summary(of_blocks), (quiet, float(either)))


def summary(moments: Doubles) -> Doubles:
    """Looks at all classes, one after the other, by the moments ``(m, 5)`` of their blocks, see `field_moments`."""
    top, bottom, both, by_top, by_bottom = moments.T
    change = 0.5 * (top + bottom)
    parts = np.stack([both, -(by_top + by_bottom), by_top - by_bottom, 0.5 * (top - bottom)], axis=1)
    classes = np.searchsorted(STRENGTHS, change, side="right")
    seen = np.zeros((len(STRENGTHS), LOOK))
    for k in np.unique(classes[classes > 0]):
        of_class = classes == k
        n, total = int(of_class.sum()), float(change[of_class].sum())
        mean = parts[of_class].sum(axis=0) / total
        unlike = np.square(parts[of_class] / change[of_class, None] - mean).mean(axis=1).sum()
        variance = (unlike + FEW * SCATTER**2) / (n + FEW) * CLUSTER / n
        seen[k - 1] = n, total / n, *mean, variance
    return seen.ravel()


def _in_pairs(picture: Floats) -> bool:
    """Whether lines are shown twice, as where a smaller picture was made larger: its two fields are one."""
    steps = np.square(np.diff(picture, axis=0)).sum(axis=1, dtype=np.float64)
    within, between = sorted((float(steps[0::2].sum()), float(steps[1::2].sum())))
    return within < PAIRED * between


def _scrolls(first: Floats, second: Floats) -> bool:
    """Whether the second picture is the first one, two lines higher or lower."""
    change, up, down = (
        float(np.square(a - second[2:-2]).sum(dtype=np.float64)) for a in (first[2:-2], first[4:], first[:-4])
    )
    return min(up, down) < SCROLLED * change


def narrow_directions(frames: Sequence[Floats]) -> Doubles:
    """`direction` of every frame with the next ``(n - 1, SEEN)``."""
    return np.array([direction(a, b) for a, b in zip(frames[:-1], frames[1:])]).reshape(-1, SEEN)
