"""The frames of a shot as the search for damage sees them: not too large, smoothed where they are noisy.

Motion between two of them is sought once, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.motion.flow import Floats, View, fast_flow, pair
from videorestore.motion.warp import warp
from videorestore.spatial.membrane import blur

LARGEST = 450_000
"""Pixels of a picture in which damage is sought as it is; larger ones are reduced. Pictures of television have 415,000."""

GLANCED, SMALL = 2, 64_000
"""Pixels of these along the side of a block of which one is made for a first glance, where there are more than so many."""

SMOOTH = 0.8
"""Sigma by which noisy frames are smoothed: spots are wider than grains."""

NOISY = 4.0
"""Noise from which on they are."""

_LEFT = 0.36  # of white noise that `SMOOTH` leaves
_LIGHT, _WIDE = 12.0, 20.0  # levels by which the light may differ over areas of this sigma
_EVEN = 0.04  # relative contrast that needs no correction
_TOLD = 5_000  # pixels that tell the median of a picture


def reduction(height: int, width: int) -> int:
    """Pixels along the side of a block of which one is made, so that at most `LARGEST` are left."""
    return max(1, int(np.ceil(np.sqrt(height * width / LARGEST))))


def reduced(frame: FloatArray, factor: int) -> FloatArray:
    """Means of blocks; those at the lower and right border may be smaller ones."""
    if factor == 1:
        return np.asarray(frame, np.float32)
    below, beside = (-side % factor for side in frame.shape[:2])
    whole = cv2.copyMakeBorder(np.asarray(frame, np.float32), 0, below, 0, beside, cv2.BORDER_REPLICATE)
    size = (whole.shape[1] // factor, whole.shape[0] // factor)
    small = cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32).reshape(*size[::-1], frame.shape[2])


def changes(frames: FloatArray) -> list[float]:
    """How much every frame ``(n, height, width, channels)`` differs from the one before, where it differs most."""
    return [_difference(a, b) for a, b in zip(frames[:-1], frames[1:])]


@dataclass(frozen=True, slots=True)
class Moments:
    """The frames by which one is judged.

    Attributes
    ----------
    one, two : int
        Frames whose motion is used, earlier first.
    t : float
        The time in question: 0 at the first, 1 at the second.
    beside : tuple of int
        Those of them next to the frame in question: one, at the ends of a shot.
    """

    one: int
    two: int
    t: float
    beside: tuple[int, ...]


class Sight:
    """What is seen of a shot.

    Parameters
    ----------
    frames : (n, h, w, c) array, or the like on disk
        On the 0..255 scale.
    noise_sd : float
    factor : int, optional
        See `reduction`; where ``frames`` are a part of larger ones, theirs.
    glance : bool
        A first look, at a tenth of the cost: the frames are smaller still, and their motion is sought with less care.

    Attributes
    ----------
    frames : (n, h / factor, w / factor, c) float32
    whole, whole_noise_sd
        What was given.
    noise_sd : float
        What is left of the noise in ``frames``.
    smoothed : bool
        They were noisy all the same, and are smoothed.
    steps : list of float
        See `changes`.
    """

    def __init__(
        self, frames: Any, noise_sd: float, factor: int | None = None, *, glance: bool = False
    ) -> None:
        self.whole = frames
        self.factor = reduction(*frames.shape[1:3]) if factor is None else factor
        if glance and frames.shape[1] * frames.shape[2] > SMALL * self.factor**2:
            self.factor *= GLANCED
        self._glance = glance
        self.whole_noise_sd = noise_sd
        self.noise_sd = noise_sd / self.factor
        self.smoothed = self.noise_sd > NOISY
        plain = isinstance(frames, np.ndarray) and self.factor == 1
        small = (
            np.asarray(frames, np.float32) if plain else np.stack([reduced(f, self.factor) for f in frames])
        )
        self.steps = changes(small)
        if self.smoothed:
            self.noise_sd *= _LEFT
            small = np.stack([blur(f, SMOOTH) for f in small])
        self.frames: FloatArray = small
        self._views: dict[int, View] = {}
        self._flows: dict[tuple[int, int], Floats] = {}

    def flow(self, start: int, end: int) -> Floats:
        """The way ``(height, width, 2)`` from one frame to another."""
        if (start, end) not in self._flows:
            views = self._view(start), self._view(end)
            if self._glance:
                lumas = views[0].luma, views[1].luma
                both = fast_flow(*lumas), fast_flow(*lumas[::-1])
            else:
                # Large motion is looked for where the frame in question cannot be asked.
                careful = pair(*views, fine=False, seeded=abs(end - start) > 1, thorough=True)
                both = careful[0].vectors, careful[1].vectors
            self._flows[start, end], self._flows[end, start] = both
        return self._flows[start, end]

    def forget(self, before: int) -> None:
        """Drop what is known of the motion of earlier frames."""
        self._views = {k: view for k, view in self._views.items() if k >= before}
        self._flows = {key: flow for key, flow in self._flows.items() if min(key) >= before}

    def moments(self, k: int, reach: int) -> Moments | None:
        """The nearest frames on both sides of k that do not merely repeat it, within ``reach``; None where there are too few."""
        first, last = max(0, k - reach), min(len(self.frames), k + reach + 1)
        found = _moments(self.steps[first : last - 1], k - first)
        if found is None:
            return None
        return Moments(first + found.one, first + found.two, found.t, tuple(first + i for i in found.beside))

    def ways(self, moments: Moments) -> tuple[FloatArray, FloatArray]:
        """Where the pixels of the time in question are in the two frames, by their own motion."""
        t = np.float32(moments.t)
        ahead, back = (self.flow(*ends) for ends in ((moments.one, moments.two), (moments.two, moments.one)))
        to_one, to_two = -t * ahead, -(1 - t) * back
        for _ in range(3):
            to_one = -t * warp(ahead, to_one, method="linear")
            to_two = -(1 - t) * warp(back, to_two, method="linear")
        return to_one, to_two

    def _view(self, k: int) -> View:
        if k not in self._views:
            self._views[k] = View(self.frames[k])
        return self._views[k]


def _moments(steps: Sequence[float], k: int) -> Moments | None:
    usual = float(np.median(steps)) if steps else 0.0
    fresh = [step > min(0.3 * usual, 4.0) or usual == 0 for step in steps]
    shown = [k]
    for j in range(k - 1, -1, -1):
        if fresh[j]:
            shown.insert(0, j)
    at = len(shown) - 1
    for j in range(k + 1, len(steps) + 1):
        if fresh[j - 1]:
            shown.append(j)
    if 0 < at < len(shown) - 1:
        one, two = shown[at - 1], shown[at + 1]
        return Moments(one, two, 0.5, (one, two))
    elif len(shown) < 3:
        return None
    elif at == 0:
        one, two, t, sides = shown[1], shown[2], -1.0, (shown[1],)
    else:
        one, two, t, sides = shown[at - 2], shown[at - 1], 2.0, (shown[at - 1],)
    return Moments(one, two, t, sides)


def _difference(one: FloatArray, two: FloatArray) -> float:
    """Mean difference of the 5 % of 16 x 16 blocks that differ most."""
    image = np.abs(np.asarray(one, np.float32) - two)
    size = (max(1, image.shape[1] // 16), max(1, image.shape[0] // 16))
    blocks = cv2.resize(image, size, interpolation=cv2.INTER_AREA).reshape(size[0] * size[1], -1)
    ordered = np.sort(blocks.mean(axis=1))
    return float(ordered[-max(1, len(ordered) // 20) :].mean())


def lit_like(frame: FloatArray, other: FloatArray) -> FloatArray:
    """The other frame in the light of this one: what differs over wide areas is flicker, not damage."""
    shift = median(frame - other)
    gain = _gain(frame, other, shift)
    if abs(gain - 1) > _EVEN:
        middle = median(other)
        other = middle + np.float32(gain) * (other - middle)
        shift = median(frame - other)
    other = other + shift
    rest = np.clip(frame[::2, ::2] - other[::2, ::2], -_LIGHT, _LIGHT)
    other += _wide_blur(rest, frame.shape)
    return np.asarray(other, np.float32)


def median(image: FloatArray) -> FloatArray:
    """Of every channel, by pixels at even distances."""
    pace = max(1, int(np.sqrt(image.shape[0] * image.shape[1] / _TOLD)))
    some = image[::pace, ::pace]
    return np.asarray(np.median(some.reshape(-1, some.shape[2]), axis=0), np.float32)


def _wide_blur(image: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Gauss of every second pixel of a picture of this shape, of a sigma so wide that it is done on means of 4 x 4."""
    height, width, channels = shape
    size = (max(1, width // 4), max(1, height // 4))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA).reshape(*size[::-1], channels)
    large = cv2.resize(blur(small, _WIDE / 4), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large, np.float32).reshape(shape)


def _gain(frame: FloatArray, other: FloatArray, shift: FloatArray) -> float:
    """Contrast of a frame relative to the other one, brighter by ``shift``, by small averages."""
    height, width, channels = frame.shape
    size = (max(1, width // 8), max(1, height // 8))
    one, two = (
        cv2.resize(f, size, interpolation=cv2.INTER_AREA).reshape(*size[::-1], channels).mean(axis=2)
        for f in (frame, other)
    )
    two = two + shift.mean()
    near = np.abs(one - two) < 3 * np.median(np.abs(one - two)) + 1
    one, two = one[near] - one[near].mean(), two[near] - two[near].mean()
    variance = float((two * two).mean()) if two.size else 0.0
    return float(np.clip(((one * two).mean() + 50) / (variance + 50), 0.7, 1.4)) if two.size else 1.0
