"""The Wiener filter on overlapped blocks, against the same written plainly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dctn, idctn

from videorestore.curve.blocks import Blocks, cosines, wiener

pytestmark = pytest.mark.kernel


def plain(noisy, pilot, noise, blocks, starts):
    """One block after the other; ``starts(length, side, step)``."""
    depth = min(blocks.depth, noisy.shape[0])
    size = min(blocks.size, *noisy.shape[2:])
    shape = (depth, size, size)
    window = np.einsum("t,y,x->tyx", *(np.kaiser(side, blocks.beta) for side in shape))
    total, mass, spread = np.zeros((3, *noisy.shape))
    steps = (min(blocks.stride, depth), min(blocks.step, size), min(blocks.step, size))
    lengths = (noisy.shape[0], *noisy.shape[2:])
    corners = np.meshgrid(*(starts(*part) for part in zip(lengths, shape, steps, strict=True)))
    for corner in np.stack(corners, axis=-1).reshape(-1, 3):
        time, rows, columns = (slice(a, a + side) for a, side in zip(corner, shape, strict=True))
        for k in range(noisy.shape[1]):
            box = time, k, rows, columns
            prior = np.square(dctn(pilot[box], norm="ortho"))
            variance = noise[box].mean()
            gain = prior / (prior + variance)
            gain[0, 0, 0] = 1
            weight = window / (1 + np.square(gain).sum())
            total[box] += weight * idctn(gain * dctn(noisy[box], norm="ortho"), norm="ortho")
            mass[box] += weight
            spread[box] += weight * variance * gain.mean()
    return total / mass, spread / mass


def begins(length, side, step):
    return sorted({*range(0, length - side + 1, step), length - side})


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [
        ((4, 1, 4, 4), Blocks(size=4, depth=4, step=4, stride=4)),
        ((11, 3, 9, 13), Blocks(size=8, depth=6, step=3, stride=4)),
        ((7, 2, 5, 21), Blocks(size=7, depth=9, step=2, stride=5)),
        ((3, 1, 17, 6), Blocks(size=4, depth=2, step=3, stride=1)),
    ],
)
def test_wiener_is_what_it_is_block_by_block(shape, blocks):
    rng = np.random.default_rng(1)
    noisy, pilot = rng.standard_normal((2, *shape)).astype(np.float32) * 20
    noise = rng.uniform(50, 500, shape).astype(np.float32)
    for made, told in zip(
        wiener(noisy, pilot, noise, blocks=blocks), plain(noisy, pilot, noise, blocks, begins), strict=True
    ):
        np.testing.assert_allclose(made, told, rtol=2e-4, atol=2e-3)


def test_wiener_is_exact_on_a_perfect_pilot():
    rng = np.random.default_rng(0)
    clean = np.cumsum(rng.standard_normal((9, 1, 13, 11)), axis=2).astype(np.float32)
    mean, variance = wiener(
        clean, clean, np.full(clean.shape, 1e-8, np.float32), blocks=Blocks(step=2, stride=4)
    )
    assert np.allclose(mean, clean, atol=1e-3)
    assert (variance >= 0).all()
    matrix = cosines(8)
    assert np.allclose(matrix @ matrix.T, np.eye(8), atol=1e-6)
