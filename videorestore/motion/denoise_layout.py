"""A clip as the planes that are denoised: luma and chroma, each with the variance and the spectrum of its noise, and back."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike

from videorestore.clip import FloatArray
from videorestore.spatial.dct import WHITE
from videorestore.spatial.noise import CODED_CHROMA, Noise
from videorestore.spatial.planes import (
    LUMA_CHROMA,
    OPPONENT,
    Basis,
    from_planes,
    interleaved,
    to_planes,
    variance_from_planes,
    variance_to_planes,
)
from videorestore.spatial.subsampled import doubled, find_grid, gather, scatter, widened

_AROUND = (7, 7)
_AROUND_HALF = (3, 3)
"""Pixels over which brightness is averaged before it tells the noise; and of a picture at half the resolution."""

_SMALLEST = 16
"""Pixels of a side that hold a patch and its surroundings."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """A clip as planes ``(n, c, h, w)`` with the variances of their noise, and where in them its pixels lie.

    ``chroma`` (n, 2, h / 2, w / 2) is apart where the file keeps it at half the resolution, or its noise is smooth; then
    c = 1. ``shape`` and ``chroma_shape`` (64,) are the variances of the noise by frequency, over their means; ``growth`` (n,)
    is the variance of every frame's noise over the usual one.
    """

    planes: FloatArray
    variance: FloatArray
    basis: Basis
    rows: slice
    columns: slice
    shape: FloatArray
    chroma_shape: FloatArray
    growth: FloatArray
    chroma: FloatArray | None = None
    chroma_variance: FloatArray | None = None

    @classmethod
    def of(cls, clip: FloatArray, noise: Noise) -> Layout:
        """Small frames are mirrored to a size that holds a patch and its surroundings."""
        n, h, w, c = clip.shape
        basis = LUMA_CHROMA if noise.codec or noise.chroma else OPPONENT
        grid = None
        if noise.codec and c == 3:
            middle = to_planes(clip[n // 2], basis=basis)
            grid = find_grid(middle[1:], noise.sd)
        if noise.chroma and c == 3:
            # Smooth noise hides what half the resolution does not show.
            grid = grid or (0, 0)
        top, left = grid or (0, 0)
        down, right = (
            max(-(side + before) % 2, _SMALLEST - side - before) for side, before in ((h, top), (w, left))
        )
        if top or left or down > 0 or right > 0:
            sides = ((0, 0), (top, max(down, 0)), (left, max(right, 0)), (0, 0))
            clip = np.pad(clip, sides, mode="symmetric")
        rows, columns = slice(top, top + h), slice(left, left + w)
        planes = np.empty((n, 1 if grid else c, *clip.shape[1:3]), np.float32)
        variance = np.empty_like(planes)
        chroma = chroma_variance = None
        if grid:
            half = (n, 2, clip.shape[1] // 2, clip.shape[2] // 2)
            chroma, chroma_variance = np.empty(half, np.float32), np.empty(half, np.float32)
        growth = np.ones(n, np.float32)
        for t in range(n):
            current = noise.at(t)
            growth[t] = (current.sd / noise.sd) ** 2
            own, spread = to_planes(clip[t], basis=basis), _variances(clip[t], current, basis)
            planes[t], variance[t] = own[: planes.shape[1]], spread[: planes.shape[1]]
            if chroma is not None and chroma_variance is not None:
                chroma[t] = gather(own[1:])
                # The mean of four samples; a codec keeps the low frequencies.
                share = noise.chroma_share if noise.chroma else 0.25
                chroma_variance[t] = gather(spread[1:]) * np.float32(share)
        return cls(
            planes=planes,
            variance=variance,
            basis=basis,
            rows=rows,
            columns=columns,
            chroma=chroma,
            chroma_variance=chroma_variance,
            growth=growth,
            shape=_shape(noise.shape or WHITE),
            chroma_shape=_chroma_shape(noise),
        )

    @classmethod
    def of_samples(cls, luma: FloatArray, chroma: FloatArray, noise: Noise) -> Layout:
        """Of luma ``(n, h, w)`` and chroma (n, 2, h / 2, w / 2) in `LUMA_CHROMA`."""
        n, h, w = luma.shape
        variance, chroma_variance = np.empty((n, 1, h, w), np.float32), np.empty_like(chroma)
        share = noise.chroma_share if noise.chroma else 0.25
        for t, own in enumerate(luma):
            current = noise.at(t)
            if current.varies:
                small = np.concatenate([gather(own[None]), chroma[t]])
                spread = _variances(from_planes(small, basis=LUMA_CHROMA), current, LUMA_CHROMA, _AROUND_HALF)
                variance[t] = doubled(spread[:1])
                chroma_variance[t] = spread[1:] * np.float32(share)
            else:
                variance[t], chroma_variance[t] = current.offset, current.offset * share
        return cls(
            planes=luma[:, None],
            variance=variance,
            basis=LUMA_CHROMA,
            rows=slice(0, h),
            columns=slice(0, w),
            chroma=chroma,
            chroma_variance=chroma_variance,
            growth=np.array([(noise.at(t).sd / noise.sd) ** 2 for t in range(n)], np.float32),
            shape=_shape(noise.shape or WHITE),
            chroma_shape=_chroma_shape(noise),
        )

    @property
    def scale(self) -> float:
        """Factor from the first plane to brightness on the 0..255 scale."""
        colour = self.chroma is not None or self.planes.shape[1] == 3
        return float(1 / self.basis[0].sum()) if colour else 1.0

    def image(
        self, mean: FloatArray, luma: FloatArray, colour: FloatArray, chroma: FloatArray | None, lost: float
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and sd of the pixels.

        They come from the planes, the variances ``luma`` and ``colour`` of their blocks of 2 x 2 (none for grey), the mean of
        the chroma where it is apart, and a variance that every channel has beside.
        """
        at = (slice(None), slice(None), self.rows, self.columns)
        if chroma is None and mean.shape[1] == 1:
            spread = doubled(np.sqrt(luma + np.float32(lost)))
            return interleaved(mean[at]), interleaved(spread[at])
        sd = channel_sd(luma, colour, self.basis, lost)
        h, w = self.rows.stop - self.rows.start, self.columns.stop - self.columns.start
        pixels, spread = (np.empty((len(mean), h, w, 3), np.float32) for _ in range(2))
        for t, own in enumerate(mean):
            if chroma is not None:
                own = np.concatenate([own, scatter(chroma[t])])
            pixels[t] = from_planes(own, basis=self.basis)[at[2:]]
            spread[t] = widened(sd[t])[at[2:]]
        return pixels, spread


def _shape(variances: ArrayLike) -> FloatArray:
    """Variances ``(64,)`` over their mean."""
    values = np.asarray(variances, np.float32)
    return np.asarray(values / values.mean())


def _chroma_shape(noise: Noise) -> FloatArray:
    return _shape(noise.chroma) if noise.chroma else np.asarray(CODED_CHROMA, np.float32)


def channel_sd(luma: FloatArray, chroma: FloatArray, basis: Basis, extra: float) -> FloatArray:
    """Sd of three channels ``(n, h, w, 3)`` from the variances of planes ``(n, 1, h, w)`` and ``(n, 2, h, w)``, and one of every channel."""
    variance = variance_from_planes(np.concatenate([luma, chroma], axis=1), basis=basis)
    return np.asarray(np.sqrt(variance + np.float32(extra)))


def _variances(
    picture: FloatArray, noise: Noise, basis: Basis, around: tuple[int, int] = _AROUND
) -> FloatArray:
    """Variance ``(c, h, w)`` of the noise in the planes of a picture ``(h, w, c)``, by its smoothed brightness."""
    blurred = cv2.blur(picture, around, borderType=cv2.BORDER_REFLECT) if noise.varies else picture
    return variance_to_planes(noise.variance(blurred.reshape(picture.shape)), basis=basis)
