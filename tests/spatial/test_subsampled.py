"""Chroma at half the resolution: there and back, and where its samples start."""

from __future__ import annotations

import numpy as np
import pytest

from videorestore.clip import Frame, PixelFormat
from videorestore.colour import working
from videorestore.spatial._kernels_noise import look_up
from videorestore.spatial.planes import LUMA_CHROMA, to_planes
from videorestore.spatial.subsampled import doubled, find_grid, gather, recombined, scatter, widened


def coarse(seed: int = 0, shape: tuple[int, ...] = (2, 12, 15)) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-50, 50, shape).astype(np.float32)


def test_the_mean_of_every_sample_stays() -> None:
    small = coarse()
    np.testing.assert_allclose(gather(scatter(small)), small, atol=1e-4)
    ramp = np.broadcast_to(np.arange(8, dtype=np.float32), (6, 8))
    np.testing.assert_allclose(np.diff(scatter(ramp), axis=1)[:, 2:-2], 0.5, atol=1e-6)


def test_planes_are_recombined_as_at_the_full_resolution() -> None:
    luma, chroma = coarse(1, (8, 10)), coarse(2, (2, 4, 5))
    weights = np.random.default_rng(3).uniform(-1, 1, (3, 4)).astype(np.float32)
    whole = np.concatenate([luma[None], scatter(chroma), np.ones((1, 8, 10), np.float32)])
    expected = np.tensordot(weights, whole, 1)
    found = recombined(luma, chroma, weights)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], gather(expected[1:]), rtol=1e-4, atol=1e-4)
    weights[0, 1:3] = 0
    np.testing.assert_allclose(
        recombined(luma, chroma, weights)[0], weights[0, 0] * luma + weights[0, 3], rtol=1e-5
    )


def test_blocks_become_four_pixels() -> None:
    maps = coarse(4, (2, 3, 4))
    np.testing.assert_array_equal(doubled(maps), maps.repeat(2, axis=1).repeat(2, axis=2))
    np.testing.assert_array_equal(
        widened(coarse(5, (3, 4, 3))), coarse(5, (3, 4, 3)).repeat(2, axis=0).repeat(2, axis=1)
    )


@pytest.mark.parametrize("start", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_samples_are_found_in_a_part_of_a_picture(start: tuple[int, int]) -> None:
    fine = scatter(coarse())
    assert find_grid(fine[:, start[0] :, start[1] :], 1.0) == start


def test_full_resolution_is_not_taken_for_half() -> None:
    assert find_grid(coarse(1, (2, 24, 30)), 1.0) is None
    assert find_grid(coarse().repeat(2, axis=1).repeat(2, axis=2), 1.0) == (0, 0)
    assert find_grid(np.zeros((2, 24, 30), np.float32), 1.0) == (0, 0)
    assert find_grid(np.zeros((2, 8, 30), np.float32), 1.0) is None


@pytest.mark.parametrize("matrix", ["smpte170m", "bt709", "bt2020nc"])
def test_native_samples_of_any_matrix_come_out(matrix: str) -> None:
    """Chroma of one matrix is a mixture of the chroma of another: luma does not enter."""
    from fractions import Fraction

    rng = np.random.default_rng(2)
    kind = PixelFormat(model="yuv", subsampling=(1, 1), matrix=matrix, full_range=False)
    planes = tuple(rng.integers(60, 180, s, dtype=np.uint8) for s in ((32, 40), (16, 20), (16, 20)))
    frame = Frame(planes=planes, format=kind, index=0, time=Fraction(0), duration=Fraction(1))
    chroma = to_planes(working(frame), basis=LUMA_CHROMA)[1:]
    assert find_grid(chroma, 0.0) == (0, 0)
    native = np.stack([p.astype(np.float64).ravel() - 128 for p in planes[1:]])
    found = gather(chroma).reshape(2, -1)
    mixture = np.linalg.lstsq(native.T, found.T.astype(np.float64), rcond=None)[0]
    np.testing.assert_allclose(native.T @ mixture, found.T, atol=1e-2)


@pytest.mark.kernel
def test_table_is_numpys_interpolation() -> None:
    table = np.cos(np.linspace(0, 3, 17)).astype(np.float32)
    values = np.linspace(-8, 12, 41).astype(np.float32)
    out = np.empty_like(values)
    look_up(values, table, -5.0, 14.0, out)
    np.testing.assert_allclose(out, np.interp(values, np.linspace(-5, 9, 17), table), atol=1e-5)
