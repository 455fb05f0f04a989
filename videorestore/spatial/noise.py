"""The noise of a clip as a value: how large, how it grows with the signal, what clipping at 0 and 255 does to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.spatial.quantiles import normal_cdf

Table = NDArray[np.float64]

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
LUMA_GAIN = float(np.sqrt(np.sum(np.square(LUMA, dtype=np.float64))))
"""Standard deviation of the luma of unit white noise in red, green and blue."""

CODED_CHROMA: NDArray[np.float64] = 2 * np.exp(-0.1 * np.add.outer(np.arange(8), np.arange(8))).ravel()
"""Variance of coded chroma noise by frequency, as assumed, over that of independent samples: the higher the frequency, the
more of it is quantised away (measured)."""

MONOCHROME = 1.0
"""Largest standard deviation of a difference of two channels in a black and white clip: rounding and a codec's error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Gaussian noise with variance ``offset + slope * signal``, on the 0..255 scale.

    Attributes
    ----------
    sd : float
        Standard deviation at the brightness that is usual in the clip; 0 where no noise was found.
    low, high : float
        95 % interval of ``sd``.
    offset, slope : float
        Of the variance against the signal (0..255).
    per_channel : tuple of float
        Standard deviation of each channel by itself.
    trustworthy : bool
        False where too little of the clip could be measured, or structure could not be told from noise.
    clipped : bool
        The noise was added before the clip was cut at 0 and 255, so that dark and bright places are biased.
    codec : bool
        The noise went through a lossy codec: chroma is smooth, flat blocks are frozen.
    monochrome : bool
        The clip is black and white though it is stored in colour: all channels carry the same noise.
    assumed : float or None
        Standard deviation that removing the noise had best assume, where that is not ``sd``: a codec hides a part of
        the noise, and adds errors of its own.
    assumed_width : float
        Width of the 95 % interval of ``assumed``, which holds what the codec took of the picture.
    shape : tuple of float
        Variance of the luma's noise at the 8x8 frequencies of cosine blocks, row by row, over its mean; empty where it
        is white. Tapes and analogue captures smooth their noise.
    chroma : tuple of float
        Variance of the noise of the chroma at half the resolution, by frequency; empty where it follows from the luma's.
    levels : tuple of (brightness, factor)
        By how much the variance at a brightness exceeds the usual one, rising in brightness, linear in between; empty where
        it does not. Cameras lift the noise of dark places.
    course : tuple of (frame, factor)
        By how much the standard deviation of a frame exceeds ``sd``, rising in frames, linear in between; empty where it
        stays the same. The gain of a camera follows the light.
    fields : tuple of float
        By how much the standard deviation of the top and of the bottom fields exceeds ``sd``; empty where they are alike. Of the two
        heads of a tape one may be worn.
    """

    sd: float
    low: float = 0.0
    high: float = 0.0
    offset: float = 0.0
    slope: float = 0.0
    per_channel: tuple[float, ...] = ()
    trustworthy: bool = True
    clipped: bool = False
    codec: bool = False
    monochrome: bool = False
    assumed: float | None = None
    assumed_width: float = 0.0
    shape: tuple[float, ...] = ()
    chroma: tuple[float, ...] = ()
    levels: tuple[tuple[float, float], ...] = ()
    course: tuple[tuple[float, float], ...] = ()
    fields: tuple[float, ...] = ()

    @property
    def level(self) -> float:
        """Standard deviation to remove."""
        return self.sd if self.assumed is None else self.assumed

    @property
    def clean(self) -> bool:
        """There is no noise, or not surely any: better left alone."""
        return not self.trustworthy or self.low < 1.5

    @property
    def varies(self) -> bool:
        """Its variance depends on the signal."""
        return self.slope != 0 or bool(self.levels) or (self.clipped and self.offset > 0)

    def factor(self, signal: FloatArray) -> FloatArray:
        """By how much the variance of pixels ``(h, w, c)`` exceeds the usual one at their brightness, ``(h, w)``."""
        brightness, factors = np.transpose(self.levels or ((0.0, 1.0),))
        luma = signal @ LUMA if signal.shape[-1] == 3 else signal[..., 0]
        return np.asarray(np.interp(luma, brightness, factors), np.float32)

    def of_frames(self, numbers: Sequence[int]) -> Noise:
        """The noise of some frames by themselves, which count from 0 then."""
        if not self.course:
            return self
        factors = np.interp(numbers, *np.transpose(self.course))
        return replace(self, course=tuple((float(k), float(f)) for k, f in enumerate(factors)))

    def at(self, frame: int) -> Noise:
        """The noise of one frame."""
        if not self.course:
            return self
        return replace(self.scaled(float(np.interp(frame, *np.transpose(self.course)))), course=())

    def of_field(self, parity: int) -> Noise:
        """The noise of the fields of one parity."""
        return replace(self.scaled(self.fields[parity]), fields=()) if self.fields else self

    @classmethod
    def white(cls, sd: float, *, clipped: bool = True) -> Noise:
        """Noise of one standard deviation everywhere, as a user states it."""
        return cls(sd=sd, low=sd, high=sd, offset=sd * sd, clipped=clipped)

    def stated(self, sigma: float | None) -> Noise:
        """This noise, brought to the level that a user states; None states nothing."""
        if sigma is None:
            return self
        if self.sd > 0 and sigma > 0:
            return replace(self.scaled(sigma / self.sd), assumed=None, trustworthy=True, course=())
        return Noise.white(sigma)

    def scaled(self, factor: float) -> Noise:
        """The same noise with its standard deviation multiplied."""
        f = float(factor)
        return replace(
            self,
            sd=self.sd * f,
            low=self.low * f,
            high=self.high * f,
            offset=self.offset * f * f,
            slope=self.slope * f * f,
            per_channel=tuple(v * f for v in self.per_channel),
            assumed=None if self.assumed is None else self.assumed * f,
            assumed_width=self.assumed_width * f,
            chroma=tuple(v * f * f for v in self.chroma),
        )

    def to_remove(self) -> Noise:
        """The same noise with ``level`` for its standard deviation, as a denoiser takes it."""
        if self.assumed is None:
            return self
        level = self.assumed
        return replace(
            self,
            sd=level,
            low=max(level - 0.5 * self.assumed_width, 0.0),
            high=level + 0.5 * self.assumed_width,
            offset=level * level,
            slope=0.0,
            per_channel=(level,) * len(self.per_channel),
            assumed=None,
        )

    @property
    def chroma_sd(self) -> float:
        """Standard deviation of the chroma at half the resolution, where it has a level of its own; else 0."""
        return float(np.sqrt(np.mean(self.chroma))) if self.chroma else 0.0

    @property
    def chroma_share(self) -> float:
        """Variance of the chroma at half the resolution over that of a sample, where it has a level of its own."""
        return float(np.mean(self.chroma)) / self.level**2 if self.level > 0 else 0.0

    @property
    def spot_sd(self) -> float:
        """Standard deviation of white noise that makes spots as strong as this noise does: means over 3x3 pixels tell."""
        if not self.shape and not self.chroma:
            return self.sd
        from videorestore.spatial.dct import WHITE, share_in_mean

        share = share_in_mean(np.asarray(self.shape or WHITE, np.float32), (3, 3))
        # Chroma at half the resolution is as strong in such a mean as in a sample.
        return 3.0 * float(np.sqrt(share * self.sd**2 + self.chroma_sd**2))

    def variance(self, signal: FloatArray) -> FloatArray:
        """Variance of a sample whose mean, as observed, is ``signal``; less near 0 and 255 where it is clipped."""
        if self.offset <= 0 and self.slope == 0:
            return np.zeros_like(signal, dtype=np.float32)
        if self.levels:
            wide = np.broadcast_to(self.factor(signal)[..., None], signal.shape)
            return np.asarray(wide * np.float32(self.offset), np.float32)
        if not self.clipped:
            if self.slope == 0:
                return np.full_like(signal, self.offset, dtype=np.float32)
            return np.asarray(_raw(self.offset, self.slope, np.asarray(signal, np.float32)), dtype=np.float32)
        _, mean, variance = clipping_table(self.offset, self.slope)
        return _look_up(signal, mean, variance)

    def unclip(self, mean: FloatArray) -> FloatArray:
        """The signal in 0..255 whose clipped noisy samples have this mean."""
        if not self.clipped or (self.offset <= 0 and self.slope == 0):
            return np.asarray(mean, dtype=np.float32)
        signal, observed, _ = clipping_table(self.offset, self.slope)
        return _look_up(mean, observed, np.clip(signal, 0.0, 255.0))

    def unclip_planes(self, luma: FloatArray, chroma: FloatArray, basis: NDArray[np.float64]) -> None:
        """`unclip` the channels of a picture that is given in the planes of a ``basis``, in place.

        ``luma`` (h, w), ``chroma`` (2, h / 2, w / 2).
        """
        from videorestore.spatial._kernels_noise import look_up_channels

        table = self.unclip(_EVEN.astype(np.float32))
        kept = _EVEN[np.abs(table - _EVEN) < _UNCHANGED]
        ends = np.array([kept[0], kept[-1]] if len(kept) else [np.inf, -np.inf], np.float32)
        mixing = np.stack([np.linalg.inv(basis), basis]).astype(np.float32)
        look_up_channels(luma, chroma, mixing, table, float(_EVEN[0]), float(np.ptp(_EVEN)), ends)


def is_monochrome(frames: FloatArray) -> bool:
    """Whether RGB frames ``(n, h, w, 3)`` are black and white, perhaps tinted: then their colour hardly varies."""
    if frames.shape[-1] != 3:
        return False
    for frame in frames:
        for difference in (frame[..., 0] - frame[..., 1], frame[..., 2] - frame[..., 1]):
            if float(np.std(difference)) > MONOCHROME:
                return False
    return True


def _raw(offset: float, slope: float, signal: NDArray[np.floating]) -> NDArray[np.floating]:
    floor = max(offset, 0.0) * 0.1 + max(offset + 255.0 * slope, 0.0) * 0.02 + 1e-6
    return np.asarray(np.maximum(offset + slope * np.clip(signal, 0.0, 255.0), floor))


@lru_cache(maxsize=16)
def clipping_table(offset: float, slope: float) -> tuple[Table, Table, Table]:
    """Signal, and mean and variance of its noisy samples clipped to 0..255 (closed form of a clipped normal)."""
    edge = 4.0 * float(np.sqrt(max(offset, offset + 255.0 * slope, 1e-6)))
    signal = np.concatenate(
        [
            np.linspace(-edge, 0.0, 400, endpoint=False),
            np.linspace(0.0, 255.0, 1021),
            np.linspace(255.0, 255.0 + edge, 401)[1:],
        ]
    )
    sd = np.sqrt(_raw(offset, slope, signal))
    low, high = (0.0 - signal) / sd, (255.0 - signal) / sd
    below, above = normal_cdf(low), normal_cdf(-high)
    inside = 1.0 - below - above
    d_low, d_high = (np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) for z in (low, high))
    mean = 255.0 * above + signal * inside + sd * (d_low - d_high)
    second = (
        255.0**2 * above
        + (signal**2 + sd**2) * inside
        + 2 * signal * sd * (d_low - d_high)
        + sd**2 * (low * d_low - high * d_high)
    )
    tables = signal, np.maximum.accumulate(mean), np.maximum(second - mean**2, 0.0)
    for table in tables:
        # All who ask share them.
        table.flags.writeable = False
    return tables


_EVEN = np.linspace(-16.0, 271.0, 4096)
"""Values of tables that are even, so that they are quick to read."""

_UNCHANGED = 0.01
"""Levels by which a value may change that is left as it is."""


def _look_up(values: FloatArray, grid: Table, results: Table) -> FloatArray:
    """Piecewise linear ``results`` at ``values``, by an even table so that it is quick."""
    from videorestore.spatial._kernels_noise import look_up

    table = np.interp(_EVEN, grid, results).astype(np.float32)
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    out = np.empty_like(flat)
    look_up(flat, table, float(_EVEN[0]), float(np.ptp(_EVEN)), out)
    return out.reshape(np.shape(values))
