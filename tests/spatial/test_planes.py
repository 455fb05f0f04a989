"""Planes and pixels: the compiled ways against the obvious ones."""

from __future__ import annotations

import numpy as np
import pytest

from videorestore.spatial._kernels_planes import refine, to_bytes
from videorestore.spatial.planes import interleaved, plane_mean, to_planes

pytestmark = pytest.mark.kernel


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1, 200, shape).astype(np.float32)


def refined(plane: np.ndarray, axis: int) -> np.ndarray:
    """One axis at twice the resolution: each sample less and plus an eighth of the difference of its neighbours."""
    rows = np.moveaxis(plane, axis, 0)
    around = np.concatenate([rows[:1], rows, rows[-1:]])
    slope = (around[2:] - around[:-2]) / 8
    return np.moveaxis(np.stack([rows - slope, rows + slope], axis=1).reshape(-1, rows.shape[1]), 0, axis)


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (4, 1), (6, 7)])
def test_refined_planes_are_linear_within_each_sample(size: tuple[int, int]) -> None:
    plane = values(0, *size)
    out = np.empty((2 * size[0], 2 * size[1]), np.float32)
    refine(plane, out)
    np.testing.assert_allclose(out, refined(refined(plane, 0), 1), rtol=1e-5)


def test_bytes_are_rounded_and_kept_within_their_range() -> None:
    plane = np.array([[-3, 0.24, 0.26, 60.2], [127.4, 127.6, 130, 400]], np.float32)
    out = np.empty(plane.shape, np.uint8)
    to_bytes(plane, 2.0, out)
    np.testing.assert_array_equal(out, [[0, 0, 1, 120], [255, 255, 255, 255]])


@pytest.mark.parametrize("channels", [1, 3])
def test_planes_and_images_are_the_same_samples(channels: int) -> None:
    images = values(4, 2, 6, 7, channels)
    planes = to_planes(images, basis=None)
    np.testing.assert_array_equal(planes, np.moveaxis(images, -1, -3))
    np.testing.assert_array_equal(interleaved(planes), images)
    np.testing.assert_allclose(plane_mean(planes), images.mean(axis=-1), rtol=1e-6)
