"""Posterior means over groups of similar patches: a Gaussian process whose covariance is that of the group.

For every reference patch the most similar ones are found in its frame and along its track in the frames around.
Their covariance, taken from a cleaner guide, is the prior; the noisy patches are the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from videorestore.clip import FloatArray
from videorestore.compiled import in_threads
from videorestore.spatial._kernels_patches import MARGIN, restore_frame
from videorestore.spatial._lanes import PATCH

_LEAST_VARIANCE = np.float32(0.25)
"""Noise below half a level of 255 counts as that: the Gram matrices of less are singular in single precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """How groups are formed.

    Attributes
    ----------
    size : int
        Patches in a group.
    own : int
        At least so many of them are of the frame itself. Only these are restored.
    reach : int
        Frames on each side that are searched.
    radius : int
        Of the search window, in the frame itself and around the tracked place in the others. Farther patches of the frame
        itself are worse than none (0 to .18 dB on nine clips, sigma 10 to 50).
    alone : int
        Of the window in a frame that has no others.
    step : int
        Distance of the reference patches; every other one is skipped where earlier groups cover it.
    cover : int
        A pixel covered by so many patches counts as covered.
    """

    size: int = 48
    own: int = 12
    reach: int = 6
    radius: int = 3
    alone: int = 7
    step: int = 7
    cover: int = 1


def restore_patches(
    noisy: FloatArray,
    guide: FloatArray,
    variance: FloatArray,
    forward: Sequence[FloatArray],
    backward: Sequence[FloatArray],
    *,
    start: int,
    stop: int,
    groups: Groups,
) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and variance of the planes of ``noisy[start:stop]``.

    Parameters
    ----------
    noisy, guide, variance : ndarray, shape (n, c, h, w)
        Data, a cleaner version of it, and the variance of the data's noise. ``h`` and ``w`` are at least 8.
    forward, backward : n - 1 ndarrays, shape (h / 2, w / 2, 2)
        Motion from each frame to the next, and from the next back to it, of blocks of 2 x 2 pixels and in such blocks.

    Returns
    -------
    mean, variance : ndarray, shape (stop - start, c, h, w)
        Each frame depends on the frames within ``groups.reach`` of it only.
    """
    _, c, h, w = noisy.shape
    variance = np.maximum(variance, _LEAST_VARIANCE)
    blocks = -1, -(-h // 2), -(-w // 2), 2
    there, back = (np.array(flows, np.float32).reshape(blocks) for flows in (forward, backward))
    luma = np.pad(guide[:, 0], ((0, 0), (0, 0), (0, MARGIN)), mode="edge")
    edge = np.kaiser(PATCH, 2.0)
    mean = np.empty((stop - start, c, h, w), np.float32)
    spread = np.empty_like(mean)
    window = np.outer(edge, edge).astype(np.float32)

    def restore(t: int) -> None:
        restore_frame(
            noisy,
            guide,
            variance,
            luma,
            there,
            back,
            t,
            groups.reach,
            groups.size,
            groups.own,
            groups.radius if len(noisy) > 1 else groups.alone,
            groups.radius,
            groups.step,
            groups.cover,
            window,
            mean[t - start],
            spread[t - start],
        )

    in_threads(restore, range(start, stop), counted=True)
    return mean, spread
