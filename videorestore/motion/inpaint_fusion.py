"""Several guesses at a hole become one posterior: weights learnt from the known pixels around it.

All weights are local ridge regressions. A known pixel near the hole is predicted as if it were missing (its own
value, and those nearer than the hole is deep, are left out), so that the errors seen there are those to expect
inside, and the standard deviation is measured rather than assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.motion._kernels_inpaint import BIN, mingle, misfits, regress, shares, teach
from videorestore.spatial.kriging import Neighbours, neighbours_of
from videorestore.spatial.membrane import blur, gaussian_mean

BAND = 7
"""Known pixels so near to a hole teach what happens inside."""

WINDOW = 12
"""Pixels around a hole that its windows reach: nothing else is looked at."""

_TEACH = 5.0  # sigma of the window in which guesses are compared with what is known
_MEND = 6.0  # the same for the share of kriging and of the spatial fill
_DEEP = (
    4.0  # sigma of the part of a hole whose usual depth is that of the known pixels that stand back from it
)
_MEAN = 3.0  # sigma of the local mean of a residual
_MOST = 6, 8  # guesses that enter one regression, in the first pass and in the second
_FINEST = 0.05  # squared error in levels that is as good as none
_LARGEST = 24.0  # a residual beyond this is an occlusion, not a field to be kriged

_KNOWN = 16  # known pixels that kriging learns from
_NUGGET = 0.01  # of it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guess:
    """What another moment says about a frame.

    Attributes
    ----------
    pixels : ndarray, shape (height, width, channels)
        A guess at the whole frame, known pixels included.
    trust : ndarray, shape (height, width)
        0 to 1: is this the same thing at all.
    variance : ndarray, shape (height, width)
        Variance of the pixels it was read from; zero if they were seen, large if they were guessed themselves.
    usual : float
        Squared error to expect where nothing is known around to judge it by.
    voices : float or ndarray, shape (height, width)
        Guesses that this one counts for: those that share one motion are wrong together.
    """

    pixels: FloatArray
    trust: FloatArray
    variance: FloatArray
    usual: float
    voices: FloatArray | float = 1.0

    def cut(self, box: tuple[slice, slice]) -> Guess:
        """A part of it; its ``voices`` must be one number."""
        pixels, trust, variance = (
            np.ascontiguousarray(part[box]) for part in (self.pixels, self.trust, self.variance)
        )
        return replace(self, pixels=pixels, trust=trust, variance=variance)


class Around:
    """What the holes of a frame have beside them; it depends on where they are alone.

    Attributes
    ----------
    known, near : (h, w) bool
        Known pixels, and all that are in a hole or no farther from one than `BAND`.
    wide : (h, w) bool
        All that lie within the windows of these; nothing else is looked at.
    teaching : (h, w) bool
        Every second of the known pixels near a hole: they tell what kriging is worth, and half of them will do.
    neighbours : Neighbours
        From which these, and all that is missing, are kriged.
    """

    def __init__(self, known: Mask) -> None:
        holes = (~known).astype(np.uint8)
        self.known = known
        self.near: Mask = cv2.dilate(holes, np.ones((2 * BAND + 1,) * 2, np.uint8)).astype(np.bool_)
        self.wide: Mask = cv2.dilate(holes, np.ones((2 * WINDOW + 1,) * 2, np.uint8)).astype(np.bool_)
        even = np.add.outer(np.arange(known.shape[0]), np.arange(known.shape[1])) % 2 == 0
        self.teaching: Mask = known & self.near & even
        self.neighbours: Neighbours = neighbours_of(
            known, ~known | self.teaching, _gap(known), neighbours=_KNOWN, nugget=_NUGGET
        )

    def predicted(self, field: FloatArray, kriged: bool) -> FloatArray:
        """Local mean plus kriging of the rest ``(h, w, c)`` near the holes; known pixels without their own value."""
        seen = self.known.astype(np.float32)
        held = np.where(self.known[..., None], field, np.float32(0))
        own = _centre(_MEAN)
        total, weight = blur(held, _MEAN), blur(seen, _MEAN)[..., None]
        floor = np.float32(1e-3)
        mean = total / (weight + floor)
        without = (total - own * held) / (weight - own * seen[..., None] + floor)
        made = np.where(self.known[..., None], without, mean)
        return self.neighbours.put(made, field - mean) if kriged else made


def fuse(
    frame: FloatArray,
    known: Mask,
    guesses: list[Guess],
    spatial: FloatArray,
    spatial_sd: FloatArray,
    around: Around | None = None,
    *,
    kriged: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and variance of the holes of one frame.

    Parameters
    ----------
    frame : ndarray, shape (height, width, channels)
        Zero in the holes.
    known : ndarray of bool, shape (height, width)
    guesses : list of Guess
        From other frames; may be empty.
    spatial, spatial_sd : ndarray, shape (height, width, channels)
        The fill from this frame alone.
    around : Around, optional
        Where it is at hand.
    kriged : bool
        Otherwise a residual is told by its local mean alone: enough to find motion by, and better than its details.

    Returns
    -------
    mean, variance : ndarray, shape (height, width, channels)
        The frame and zero where the pixels are known.
    """
    if not guesses:
        return np.where(known[..., None], frame, spatial), spatial_sd**2
    around = Around(known) if around is None else around
    drift, doubt = _drift(frame, around, guesses, _MOST[kriged])
    residual = np.clip(frame - drift, -_LARGEST, _LARGEST)
    detail = around.predicted(residual, kriged)
    alone = np.where(known[..., None], around.predicted(frame, kriged), spatial) - drift
    return _mended(frame, around, drift, doubt, detail, alone, over_channels(spatial_sd * spatial_sd))


def _drift(
    frame: FloatArray, around: Around, guesses: list[Guess], most: int
) -> tuple[FloatArray, FloatArray]:
    """The best mixture of the guesses, at ``most`` so many, and its own doubt ``(height, width)`` beyond what is seen around."""
    known, near = around.known, around.near
    pixels = np.stack([guess.pixels for guess in guesses])
    trust = np.stack([guess.trust for guess in guesses])
    variance = np.stack([guess.variance for guess in guesses])
    voices = np.stack([guess.voices * np.maximum(guess.trust, 1e-4) for guess in guesses]).astype(np.float32)
    usual = np.array([guess.usual for guess in guesses], np.float32)
    sums = _bins(known.shape, 2 * len(guesses))
    misfits(pixels, frame, known & around.wide, trust, variance, sums)
    errors, prior = np.zeros_like(trust), np.zeros_like(trust)
    # Where a guess is right to a fraction of a level, as in a still picture, fractions tell the guesses apart.
    shares(around.wide, _spread(sums, _TEACH), usual, voices, variance, _FINEST, errors, prior)
    best = np.arange(len(guesses))
    if len(guesses) > most:
        holes = (~known).astype(np.uint8)
        told = [-cv2.mean(share, holes)[0] for share in prior]
        best = np.sort(np.argsort(told, kind="stable")[:most])
        prior = prior[best]
        prior /= np.maximum(prior.sum(axis=0), np.float32(1e-9))
    count = len(best)
    drift = np.empty(frame.shape, np.float32)
    spread = np.zeros(known.shape, np.float32)
    sums = _bins(known.shape, count * (count + 1) // 2 + 2 * count + 1)
    teach(around.wide, best, pixels, frame, known, variance, prior, drift, sums)
    rows, columns = np.nonzero(near)
    regress(
        rows, columns, _spread(sums, _TEACH), best, pixels, frame, known, trust, variance, errors, prior,
        _own(_TEACH), _FINEST, drift, spread,
    )  # fmt: skip
    usually = _wide_mean(spread, known & near, _MEND)
    return drift, np.maximum(spread - usually, 0)


def _gap(known: Mask) -> FloatArray:
    """How far a known pixel must stand back to feel like a missing one nearby; zero at missing ones."""
    holes = (~known).astype(np.uint8)
    depth = np.asarray(cv2.distanceTransform(holes, cv2.DIST_L2, 5), np.float32)
    around = gaussian_mean(depth, holes.astype(np.float32), _DEEP, fallback=1.0)
    return np.where(known, np.maximum(around, 1), 0).astype(np.float32)


def _mended(
    frame: FloatArray, around: Around, drift: FloatArray, doubt: FloatArray,
    detail: FloatArray, alone: FloatArray, alone_variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Drift plus shares of its kriged residual and of the spatial fill, with the variance seen around."""
    known, teaching = around.known, around.teaching
    wanted = np.where(known[..., None], frame - drift, np.float32(0))
    taught = teaching.astype(np.float32)
    pairs = ((detail, detail), (detail, alone), (alone, alone), (detail, wanted), (alone, wanted))
    fields = [over_channels(a * b) * taught for a, b in pairs]
    fields += [over_channels((alone - wanted) ** 2) * taught, taught]
    # Known pixels stand back from what they learn from as far as is usual in the part of the hole next to them. Where
    # a missing one is farther from all that is known, the spatial fill is worse, by as much as its own variance says.
    usual = _wide_mean(_wide_mean(alone_variance, ~known, _DEEP), teaching, _MEND)
    wished = ~known | teaching
    rows, columns = np.nonzero(wished)
    farther = np.maximum(alone_variance[wished] / (usual[wished] + np.float32(1e-3)) - 1, 0)
    mixed = drift.copy()
    mingle(
        rows, columns, _spread(np.dstack([_binned(field) for field in fields]), _MEND), known, detail, alone,
        wanted, farther, _own(_MEND), mixed,
    )  # fmt: skip
    error = np.where(teaching[..., None], frame - mixed, np.float32(0))
    variance = _wide_mean(error * error, teaching, _MEND, fallback=25.0) + np.float32(0.1)
    variance = variance + doubt[..., None]
    mean = np.where(known[..., None], frame, mixed)
    return mean.astype(np.float32), np.where(known[..., None], 0, variance).astype(np.float32)


def over_channels(image: FloatArray) -> FloatArray:
    """Mean ``(height, width)`` over the channels; NumPy takes ten times as long for so few."""
    channels = image.shape[2]
    return np.asarray(cv2.transform(image, np.full((1, channels), 1 / channels, np.float32)), np.float32)


def _bins(shape: tuple[int, ...], fields: int) -> FloatArray:
    """Room for the bins of so many fields ``(h / BIN, w / BIN, fields)``."""
    return np.empty((-(-shape[0] // BIN), -(-shape[1] // BIN), fields), np.float32)


def _binned(image: FloatArray) -> FloatArray:
    """Means over bins ``(h / BIN, w / BIN[, c])`` of an image; what is beyond its border counts as zero."""
    below, beside = (-side % BIN for side in image.shape[:2])
    whole = cv2.copyMakeBorder(image, 0, below, 0, beside, cv2.BORDER_CONSTANT, value=(0.0, 0.0, 0.0, 0.0))
    size = whole.shape[1] // BIN, whole.shape[0] // BIN
    small = cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32).reshape(*size[::-1], *image.shape[2:])


def _taps(sigma: float) -> FloatArray:
    """A Gauss of the bins which makes one of ``sigma`` pixels, together with what bins and straight lines between do."""
    left = np.sqrt(sigma**2 - (BIN**2 - 1) / 12 - BIN**2 / 6) / BIN
    return np.asarray(cv2.getGaussianKernel(2 * int(np.ceil(3 * left)) + 1, left), np.float32)


def _spread(bins: FloatArray, sigma: float) -> FloatArray:
    """Gaussian means ``(h / BIN, w / BIN[, c])`` of bins."""
    taps = _taps(sigma)
    made = cv2.sepFilter2D(np.ascontiguousarray(bins), -1, taps, taps, borderType=cv2.BORDER_REFLECT)
    return np.asarray(made, np.float32).reshape(bins.shape)


def _own(sigma: float) -> FloatArray:
    """What a pixel counts for in the mean at its own place ``(BIN,)``, along one axis, by its place in its bin."""
    taps = _taps(sigma)[:, 0]
    middle = taps[len(taps) // 2]
    beside = taps[len(taps) // 2 + 1]
    away = np.abs((np.arange(BIN) + 0.5) / BIN - 0.5)
    return np.asarray(((1 - away) * middle + away * beside) / BIN, np.float32)


def _wide_mean(image: FloatArray, where: Mask, sigma: float, fallback: float = 0.0) -> FloatArray:
    """As `gaussian_mean` of an image ``(h, w[, c])`` over some of its pixels, by bins."""
    weight = where.astype(np.float32).reshape(where.shape + (1,) * (image.ndim - 2))
    floor = np.float32(1e-3)
    top = _spread(_binned(np.asarray(image * weight, np.float32)), sigma)
    below = _spread(_binned(weight), sigma)
    means = (top + floor * np.float32(fallback)) / (below.reshape(top.shape[:2] + weight.shape[2:]) + floor)
    size = means.shape[1] * BIN, means.shape[0] * BIN
    large = cv2.resize(means, size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(large[: where.shape[0], : where.shape[1]], np.float32).reshape(image.shape)


def _centre(sigma: float) -> np.float32:
    """Weight of the middle of the Gaussian window of `blur`."""
    taps = cv2.getGaussianKernel(2 * int(np.ceil(3 * sigma)) + 1, sigma)
    return np.float32(taps.max() ** 2)
