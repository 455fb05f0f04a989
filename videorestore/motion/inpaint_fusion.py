"""Several guesses at a hole become one posterior: weights learnt from the known pixels around it.

All weights are local ridge regressions. A known pixel near the hole is predicted as if it were missing (its own
value, and those nearer than the hole is deep, are left out), so that the errors seen there are those to expect
inside, and the standard deviation is measured rather than assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.motion._kernels_inpaint import ridge_weights
from videorestore.spatial.kriging import krige
from videorestore.spatial.membrane import blur, gaussian_mean

BAND = 7
"""Known pixels so near to a hole teach what happens inside."""

_TEACH = 5.0  # sigma of the window in which guesses are compared with what is known
_MEND = 6.0  # the same for the share of kriging and of the spatial fill
_DEEP = (
    4.0  # sigma of the part of a hole whose usual depth is that of the known pixels that stand back from it
)
_MEAN = 3.0  # sigma of the local mean of a residual
_MOST_GUESSES = 8  # guesses that enter one regression
_FINEST = 0.05  # squared error in levels that is as good as none
_LARGEST = 24.0  # a residual beyond this is an occlusion, not a field to be kriged

Indices = tuple[NDArray[np.int64], NDArray[np.int64]]


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


def fuse(
    frame: FloatArray, known: Mask, guesses: list[Guess], spatial: FloatArray, spatial_sd: FloatArray
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

    Returns
    -------
    mean, variance : ndarray, shape (height, width, channels)
        The frame and zero where the pixels are known.
    """
    if not guesses:
        return np.where(known[..., None], frame, spatial), spatial_sd**2
    holes = ~known
    near = cv2.dilate(holes.astype(np.uint8), np.ones((2 * BAND + 1,) * 2, np.uint8)).astype(np.bool_)
    drift, doubt = _drift(frame, known, near, guesses)
    gap = _gap(known)
    residual = np.clip(frame - drift, -_LARGEST, _LARGEST)
    detail = _predict(residual, known, near, gap, neighbours=12, nugget=0.02)
    alone = _predict(frame, known, near, gap, neighbours=16, nugget=0.01)
    alone = np.where(known[..., None], alone, spatial) - drift
    return _mended(frame, known, near, drift, doubt, detail, alone, (spatial_sd**2).mean(axis=2))


def _drift(frame: FloatArray, known: Mask, near: Mask, guesses: list[Guess]) -> tuple[FloatArray, FloatArray]:
    """The best mixture of the guesses, and its own doubt ``(height, width)`` beyond what is seen around."""
    seen = known.astype(np.float32)
    errors = []
    for guess in guesses:
        off = guess.pixels - frame
        misfit = _product(off, off)
        weight = np.asarray(seen * guess.trust * (4 / (guess.variance + 4)), np.float32)
        errors.append(gaussian_mean(misfit, weight, _TEACH, fallback=guess.usual))
    least = np.min(errors, axis=0)
    # Where a guess is right to a fraction of a level, as in a still picture, fractions tell the guesses apart.
    floor = np.clip(least, _FINEST, 1)
    prior = np.stack(
        [
            guess.voices * np.maximum(guess.trust, 1e-4) / (error - 0.8 * least + guess.variance + floor)
            for guess, error in zip(guesses, errors)
        ]
    )
    prior /= prior.sum(axis=0)
    holes = ~known
    if len(guesses) > _MOST_GUESSES:
        shares = prior[:, holes].sum(axis=1)
        best = np.sort(np.argsort(-shares, kind="stable")[:_MOST_GUESSES])
        guesses = [guesses[i] for i in best]
        errors = [errors[i] for i in best]
        prior = prior[best] / prior[best].sum(axis=0)
    start = sum(share[..., None] * guess.pixels for share, guess in zip(prior, guesses))
    start = np.asarray(start, np.float32)
    at: Indices = np.nonzero(near)  # type: ignore[assignment]
    steps = [guess.pixels - start for guess in guesses]
    wanted = np.where(known[..., None], frame - start, np.float32(0))
    window = _Window(seen, at, _TEACH)
    typical = np.mean(errors, axis=0)[at]
    gram, load = [], []
    for i, guess in enumerate(guesses):
        load.append(window.mean(_product(steps[i], wanted)))
        for j in range(i + 1):
            gram.append(window.mean(_product(steps[i], steps[j])))
        trust = np.maximum(guess.trust[at], 0.02)
        around = window.mean(guess.variance)
        own = np.maximum(guess.variance[at] - around, 0)
        own += (errors[i][at] + guess.variance[at]) * (1 / trust - 1)
        gram[-1] = gram[-1] + 2 * floor[at] + 0.05 * typical + own
    weights = np.empty((len(guesses), len(at[0])), np.float32)
    ridge_weights(np.stack(gram).astype(np.float32), np.stack(load).astype(np.float32), weights)
    drift = start.copy()
    for weight, step in zip(weights, steps):
        drift[at] += weight[:, None] * step[at]
    apart = [guess.pixels - drift for guess in guesses]
    spread = sum(
        share * (_product(off, off) + guess.variance) for share, guess, off in zip(prior, guesses, apart)
    )
    usual = gaussian_mean(np.asarray(spread, np.float32), seen, _MEND)
    return drift, np.asarray(np.maximum(spread - usual, 0), np.float32)


def _gap(known: Mask) -> FloatArray:
    """How far a known pixel must stand back to feel like a missing one nearby; zero at missing ones."""
    holes = (~known).astype(np.uint8)
    depth = np.asarray(cv2.distanceTransform(holes, cv2.DIST_L2, 5), np.float32)
    around = gaussian_mean(depth, holes.astype(np.float32), _DEEP, fallback=1.0)
    return np.where(known, np.maximum(around, 1), 0).astype(np.float32)


def _predict(
    field: FloatArray, known: Mask, near: Mask, gap: FloatArray, *, neighbours: int, nugget: float
) -> FloatArray:
    """Local mean plus kriging of the rest near the holes; known pixels without their own value."""
    seen = known.astype(np.float32)
    held = np.where(known[..., None], field, np.float32(0))
    own = _centre(_MEAN)
    total, weight = blur(held, _MEAN), blur(seen, _MEAN)[..., None]
    floor = np.float32(1e-3)
    mean = total / (weight + floor)
    without = (total - own * held) / (weight - own * seen[..., None] + floor)
    rest = np.where(known[..., None], field - mean, np.float32(0))
    detail, _ = krige(rest, known, targets=near, gap=gap, neighbours=neighbours, nugget=nugget)
    return np.where(known[..., None], without, mean) + np.where(near[..., None], detail, np.float32(0))


def _mended(
    frame: FloatArray, known: Mask, near: Mask, drift: FloatArray, doubt: FloatArray,
    detail: FloatArray, alone: FloatArray, alone_variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Drift plus shares of its kriged residual and of the spatial fill, with the variance seen around."""
    teaching = (known & near).astype(np.float32)
    at: Indices = np.nonzero(near)  # type: ignore[assignment]
    window = _Window(teaching, at, _MEND)
    wanted = np.where(known[..., None], frame - drift, np.float32(0))
    gram = [
        window.mean(_product(detail, detail)) * 1.02 + 2,
        window.mean(_product(detail, alone)),
        window.mean(_product(alone, alone)) * 1.02 + 2,
    ]
    load = [window.mean(_product(detail, wanted)), window.mean(_product(alone, wanted))]
    # Known pixels stand back from what they learn from as far as is usual in the part of the hole next to them. Where
    # a missing one is farther from all that is known, the spatial fill is worse, by as much as its own variance says.
    beside = window.mean(_product(alone - wanted, alone - wanted))
    usual = window.mean(gaussian_mean(alone_variance, (~known).astype(np.float32), _DEEP))
    farther = np.maximum(alone_variance[at] / (usual + np.float32(1e-3)) - 1, 0)
    gram[2] = gram[2] + np.where(known[at], 0, beside * farther)
    shares = np.empty((2, len(at[0])), np.float32)
    ridge_weights(np.stack(gram).astype(np.float32), np.stack(load).astype(np.float32), shares)
    shares = np.clip(shares, 0, 1)
    shares /= np.maximum(shares.sum(axis=0), 1)
    mixed = drift.copy()
    mixed[at] += shares[0][:, None] * detail[at] + shares[1][:, None] * alone[at]
    error = np.where((known & near)[..., None], frame - mixed, np.float32(0))
    variance = gaussian_mean(error * error, teaching, _MEND, fallback=25.0) + np.float32(0.1)
    variance = variance + doubt[..., None]
    mean = np.where(known[..., None], frame, mixed)
    return mean.astype(np.float32), np.where(known[..., None], 0, variance).astype(np.float32)


def _product(one: FloatArray, two: FloatArray) -> FloatArray:
    """Mean over the channels of the product ``(height, width)``: a reduction of so short an axis takes ten times as long."""
    total = one[..., 0] * two[..., 0]
    for c in range(1, one.shape[2]):
        total += one[..., c] * two[..., c]
    total /= np.float32(one.shape[2])
    return np.asarray(total, np.float32)


class _Window:
    """Gaussian means at some pixels over the taught ones, each without its own value."""

    def __init__(self, weight: FloatArray, at: Indices, sigma: float) -> None:
        self.weight, self.at, self.sigma = weight, at, sigma
        self.own = weight[at] * _centre(sigma)
        self.total = blur(weight, sigma)[at] - self.own + np.float32(1e-3)

    def mean(self, image: FloatArray) -> FloatArray:
        """Values ``(m,)`` of the mean of an image ``(height, width)``."""
        around = blur(image * self.weight, self.sigma)[self.at] - self.own * image[self.at]
        return np.asarray(around / self.total, np.float32)


def _centre(sigma: float) -> np.float32:
    """Weight of the middle of the Gaussian window of `blur`."""
    taps = cv2.getGaussianKernel(2 * int(np.ceil(3 * sigma)) + 1, sigma)
    return np.float32(taps.max() ** 2)
