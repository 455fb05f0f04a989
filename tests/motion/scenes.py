"""Planted motion: a smooth random texture that can be looked at from any place."""

import numpy as np


def texture(seed=0, waves=60, channels=3, finest=0.9):
    """A function (x, y) -> (h, w, channels) of sinusoids, smooth, on about 0..255."""
    rng = np.random.default_rng(seed)
    direction = rng.uniform(-finest, finest, (waves, 2))
    phase = rng.uniform(0, 2 * np.pi, (waves, channels))
    height = rng.normal(0, 1, (waves, channels)) / np.sqrt(waves)

    def at(x, y):
        angle = x[..., None] * direction[:, 0] + y[..., None] * direction[:, 1]
        value = np.einsum("hwkc,kc->hwc", np.cos(angle[..., None] + phase), height)
        return (127.5 + 55.0 * value).astype(np.float32)

    return at


def translating(places, shape=(48, 64), **options):
    """Frames ``(n, h, w, c)`` of a texture that has moved by ``places`` (n, 2), x first."""
    look = texture(**options)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float64)
    return np.stack([look(x - dx, y - dy) for dx, dy in places])


def psnr(result, truth, border=0):
    """PSNR in dB without a border."""
    inner = (slice(border, -border or None), slice(border, -border or None))
    error = (result[inner].astype(np.float64) - truth[inner]) ** 2
    return float(10 * np.log10(255.0**2 / max(error.mean(), 1e-12)))
