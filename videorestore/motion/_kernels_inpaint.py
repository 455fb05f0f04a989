"""Compiled cores of pixel inpainting. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import kernel, parallel_kernel
from videorestore.spatial._kernels_kriging import solve_lanes
from videorestore.spatial._lanes import LANES

Doubles = NDArray[np.float64]


BIN = 4
"""Pixels along the side of a bin in which what known pixels teach is added up."""


@kernel
def _between(coarse: FloatArray, y: int, x: int, found: FloatArray) -> None:
    """Values (m,), which are written, of bins (h / BIN, w / BIN, m) at a pixel, straight between the middles of four."""
    high, wide, size = coarse.shape
    v = (y + np.float32(0.5)) / BIN - np.float32(0.5)
    u = (x + np.float32(0.5)) / BIN - np.float32(0.5)
    top = int(np.floor(v))
    left = int(np.floor(u))
    down = np.float32(v - top)
    right = np.float32(u - left)
    y0 = max(top, 0)
    y1 = min(top + 1, high - 1)
    x0 = max(left, 0)
    x1 = min(left + 1, wide - 1)
    a = (1 - down) * (1 - right)
    b = (1 - down) * right
    c = down * (1 - right)
    d = down * right
    for i in range(size):
        found[i] = (
            a * coarse[y0, x0, i] + b * coarse[y0, x1, i] + c * coarse[y1, x0, i] + d * coarse[y1, x1, i]
        )


@kernel
def _read(image: FloatArray, y: np.float32, x: np.float32, found: FloatArray) -> None:
    """Values (c,), which are written, of an image (h, w, c) at a place, straight between four pixels."""
    height, width, size = image.shape
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    top, left = int(y), int(x)
    below, beside = min(top + 1, height - 1), min(left + 1, width - 1)
    down, right = y - np.float32(top), x - np.float32(left)
    for c in range(size):
        upper = image[top, left, c] + right * (image[top, beside, c] - image[top, left, c])
        lower = image[below, left, c] + right * (image[below, beside, c] - image[below, left, c])
        found[c] = upper + down * (lower - upper)


@parallel_kernel(lambda flow, facts, at, *_: at.shape[0], grain=32)
def walk(
    start: int, stop: int, flow: FloatArray, facts: FloatArray, at: FloatArray, way: FloatArray, fade: np.float32,
    trust: FloatArray, doubt: FloatArray, seen: FloatArray,
) -> None:  # fmt: skip
    """One step to the next frame, for all pixels of a box.

    flow (H, W, 3): vectors to that frame, and trust in them; facts (H, W, 2) of it: variance, and 1 where it was seen. at
    (h, w, 2): places, column first, and way (h, w): trust in them so far, both go on. trust and doubt (h, w) of what is read
    there are written, and seen (h, w), how well the pixel has been seen so far, is added to.
    """
    height, width = facts.shape[:2]
    step = np.empty(3, np.float32)
    fact = np.empty(2, np.float32)
    for row in range(start, stop):
        for column in range(at.shape[1]):
            _read(flow, at[row, column, 1], at[row, column, 0], step)
            x = at[row, column, 0] + step[0]
            y = at[row, column, 1] + step[1]
            at[row, column, 0] = x
            at[row, column, 1] = y
            way[row, column] *= step[2]
            here = way[row, column] * fade
            if x < 0 or y < 0 or x > width - 1 or y > height - 1:
                here = np.float32(0.0)
            _read(facts, y, x, fact)
            trust[row, column] = here
            doubt[row, column] = fact[0]
            seen[row, column] += here * fact[1]


@parallel_kernel(lambda pixels, frame, known, trust, variance, sums: sums.shape[0], grain=8)
def misfits(
    start: int, stop: int, pixels: FloatArray, frame: FloatArray, known: Mask, trust: FloatArray,
    variance: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """How far guesses are off known pixels.

    pixels (g, h, w, c), frame (h, w, c), known (h, w), trust and variance (g, h, w); sums (h / BIN, w / BIN, 2 g) is
    written: squared errors by their weights, then weights.
    """
    count, height, width, channels = pixels.shape
    share = np.float32(1.0 / (BIN * BIN))
    even = np.float32(1.0) / np.float32(channels)
    for row in range(start, stop):
        for column in range(sums.shape[1]):
            for i in range(2 * count):
                sums[row, column, i] = 0.0
            for y in range(row * BIN, min((row + 1) * BIN, height)):
                for x in range(column * BIN, min((column + 1) * BIN, width)):
                    if not known[y, x]:
                        continue
                    for i in range(count):
                        total = np.float32(0.0)
                        for c in range(channels):
                            off = pixels[i, y, x, c] - frame[y, x, c]
                            total += off * off
                        weight = share * trust[i, y, x] * (4 / (variance[i, y, x] + 4))
                        sums[row, column, i] += weight * total * even
                        sums[row, column, count + i] += weight


@parallel_kernel(lambda wide, *_: wide.shape[0], grain=32)
def shares(
    start: int, stop: int, wide: Mask, coarse: FloatArray, usual: FloatArray, voices: FloatArray, variance: FloatArray,
    finest: float, errors: FloatArray, prior: FloatArray,
) -> None:  # fmt: skip
    """Errors (g, h, w) to expect of guesses and what they count for before anything is fitted, both are written.

    wide (h, w): where they are asked for; coarse (h / BIN, w / BIN, 2 g): means of what `misfits` gives; usual (g,): error where nothing is known;
    voices (g, h, w): that speak for a guess, trust included; variance (g, h, w); finest: error that is as good as none.
    """
    count, _, width = voices.shape
    here = np.empty(2 * count, np.float32)
    floor = np.float32(1e-3)
    for y in range(start, stop):
        for x in range(width):
            if not wide[y, x]:
                continue
            _between(coarse, y, x, here)
            least = np.float32(np.inf)
            for i in range(count):
                error = (here[i] + floor * usual[i]) / (here[count + i] + floor)
                errors[i, y, x] = error
                least = min(least, error)
            fine = min(max(least, np.float32(finest)), np.float32(1.0))
            total = np.float32(0.0)
            for i in range(count):
                off = errors[i, y, x] - np.float32(0.8) * least + variance[i, y, x] + fine
                prior[i, y, x] = voices[i, y, x] / off
                total += prior[i, y, x]
            for i in range(count):
                prior[i, y, x] /= total


@parallel_kernel(
    lambda wide, best, pixels, frame, known, variance, prior, origin, sums: sums.shape[0], grain=8
)
def teach(
    start: int, stop: int, wide: Mask, best: NDArray[np.int64], pixels: FloatArray, frame: FloatArray, known: Mask,
    variance: FloatArray, prior: FloatArray, origin: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """What known pixels say of a regression on guesses about their mean.

    wide (h, w): where they are asked, best (g,): numbers of the guesses among pixels (n, h, w, c) and their variance (n, h, w),
    frame (h, w, c), known (h, w), prior (g, h, w).
    Written are origin (h, w, c), the mean, and sums (h / BIN, w / BIN, g (g + 1) / 2 + 2 g + 1): a lower triangle of products, row by row, products with
    what is wanted, variances, and the share of pixels that are known.
    """
    count = best.shape[0]
    _, height, width, channels = pixels.shape
    share = np.float32(1.0 / (BIN * BIN))
    even = share / np.float32(channels)
    size = count * (count + 1) // 2
    step = np.empty((count, channels), np.float32)
    for row in range(start, stop):
        for column in range(sums.shape[1]):
            for i in range(size + 2 * count + 1):
                sums[row, column, i] = 0.0
            for y in range(row * BIN, min((row + 1) * BIN, height)):
                for x in range(column * BIN, min((column + 1) * BIN, width)):
                    if not wide[y, x]:
                        for c in range(channels):
                            origin[y, x, c] = 0.0
                        continue
                    for c in range(channels):
                        total = np.float32(0.0)
                        for i in range(count):
                            total += prior[i, y, x] * pixels[best[i], y, x, c]
                        origin[y, x, c] = total
                    if not known[y, x]:
                        continue
                    for i in range(count):
                        for c in range(channels):
                            step[i, c] = pixels[best[i], y, x, c] - origin[y, x, c]
                    at = 0
                    for i in range(count):
                        for j in range(i + 1):
                            total = np.float32(0.0)
                            for c in range(channels):
                                total += step[i, c] * step[j, c]
                            sums[row, column, at] += total * even
                            at += 1
                    for i in range(count):
                        total = np.float32(0.0)
                        for c in range(channels):
                            total += step[i, c] * (frame[y, x, c] - origin[y, x, c])
                        sums[row, column, size + i] += total * even
                        sums[row, column, size + count + i] += variance[best[i], y, x] * share
                    sums[row, column, size + 2 * count] += share


@parallel_kernel(lambda rows, *_: -(-rows.shape[0] // LANES), grain=64)
def regress(
    start: int, stop: int, rows: NDArray[np.int64], columns: NDArray[np.int64], coarse: FloatArray,
    best: NDArray[np.int64], pixels: FloatArray, frame: FloatArray, known: Mask, trust: FloatArray, variance: FloatArray,
    errors: FloatArray, prior: FloatArray, own: FloatArray, finest: float, drift: FloatArray, spread: FloatArray,
) -> None:  # fmt: skip
    """The ridge regression on guesses at the listed pixels, each without its own value, `LANES` pixels at once.

    coarse: means of what `teach` gives; best (g,): numbers of the guesses among all of them; own (BIN,): along one axis, what a pixel itself counts for in such a mean, by its
    place in its bin; errors as `shares` gives them; drift (h, w, c) holds the origin and is replaced; spread (h, w) of the
    guesses about it is written.
    """
    count, channels = best.shape[0], pixels.shape[3]
    size = count * (count + 1) // 2
    here = np.empty(size + 2 * count + 1, np.float32)
    gram = np.empty((count * count, LANES), np.float32)
    weight = np.empty((count, LANES), np.float32)
    step = np.empty((count, channels), np.float32)
    wanted = np.zeros(channels, np.float32)
    even = np.float32(1.0) / np.float32(channels)
    for batch in range(start, stop):
        first = batch * LANES
        used = min(LANES, rows.shape[0] - first)
        for lane in range(LANES):
            p = first + min(lane, used - 1)
            y, x = rows[p], columns[p]
            _between(coarse, y, x, here)
            self = own[y % BIN] * own[x % BIN] if known[y, x] else np.float32(0.0)
            over = np.float32(1.0) / (here[size + 2 * count] - self + np.float32(1e-3))
            least = np.float32(np.inf)
            typical = np.float32(0.0)
            for i in range(count):
                least = min(least, errors[best[i], y, x])
                typical += errors[best[i], y, x] / count
                for c in range(channels):
                    step[i, c] = pixels[best[i], y, x, c] - drift[y, x, c]
            for c in range(channels):
                wanted[c] = frame[y, x, c] - drift[y, x, c]
            fine = min(max(least, np.float32(finest)), np.float32(1.0))
            at = 0
            for i in range(count):
                load = np.float32(0.0)
                for c in range(channels):
                    load += step[i, c] * wanted[c]
                weight[i, lane] = (here[size + i] - self * load * even) * over
                for j in range(i + 1):
                    total = here[at]
                    if self > 0:
                        for c in range(channels):
                            total -= self * even * step[i, c] * step[j, c]
                    gram[i * count + j, lane] = total * over
                    at += 1
                doubt = variance[best[i], y, x]
                around = (here[size + count + i] - self * doubt) * over
                sure = max(trust[best[i], y, x], np.float32(0.02))
                ridge = max(doubt - around, np.float32(0.0)) + (errors[best[i], y, x] + doubt) * (
                    1 / sure - 1
                )
                gram[i * count + i, lane] += 2 * fine + np.float32(0.05) * typical + ridge
        solve_lanes(gram, weight, count)
        for lane in range(used):
            y, x = rows[first + lane], columns[first + lane]
            for c in range(channels):
                total = np.float32(0.0)
                for i in range(count):
                    total += weight[i, lane] * (pixels[best[i], y, x, c] - drift[y, x, c])
                drift[y, x, c] += total
            total = np.float32(0.0)
            for i in range(count):
                off = np.float32(0.0)
                for c in range(channels):
                    apart = pixels[best[i], y, x, c] - drift[y, x, c]
                    off += apart * apart
                total += prior[i, y, x] * (off * even + variance[best[i], y, x])
            spread[y, x] = total


@parallel_kernel(lambda rows, *_: rows.shape[0], grain=1024)
def mingle(
    start: int, stop: int, rows: NDArray[np.int64], columns: NDArray[np.int64], coarse: FloatArray,
    known: Mask, detail: FloatArray, alone: FloatArray, wanted: FloatArray, farther: FloatArray,
    own: FloatArray, mixed: FloatArray,
) -> None:  # fmt: skip
    """Shares of two corrections, fitted around each of the listed pixels without its own value.

    coarse (h / BIN, w / BIN, 7): means over what teaches of detail^2, detail alone, alone^2, detail wanted, alone wanted,
    (alone - wanted)^2 and of its share; detail, alone and wanted (h, w, c); farther (m,): by how much more ``alone`` is off
    where it is missing; mixed (h, w, c) is added to.
    """
    channels = detail.shape[2]
    here = np.empty(7, np.float32)
    even = np.float32(1.0) / np.float32(channels)
    for p in range(start, stop):
        y = rows[p]
        x = columns[p]
        _between(coarse, y, x, here)
        if known[y, x]:
            self = own[y % BIN] * own[x % BIN]
            for c in range(channels):
                d = detail[y, x, c]
                a = alone[y, x, c]
                w = wanted[y, x, c]
                here[0] -= self * d * d * even
                here[1] -= self * d * a * even
                here[2] -= self * a * a * even
                here[3] -= self * d * w * even
                here[4] -= self * a * w * even
                here[5] -= self * (a - w) * (a - w) * even
            here[6] -= self
        over = np.float32(1.0) / (here[6] + np.float32(1e-3))
        first = here[0] * over * np.float32(1.02) + 2
        cross = here[1] * over
        second = here[2] * over * np.float32(1.02) + 2
        if not known[y, x]:
            second += here[5] * over * farther[p]
        flat = max(first * second - cross * cross, np.float32(1e-9))
        one = (second * here[3] - cross * here[4]) * over / flat
        two = (first * here[4] - cross * here[3]) * over / flat
        one = min(max(one, np.float32(0.0)), np.float32(1.0))
        two = min(max(two, np.float32(0.0)), np.float32(1.0))
        most = max(one + two, np.float32(1.0))
        for c in range(channels):
            mixed[y, x, c] += (one * detail[y, x, c] + two * alone[y, x, c]) / most
