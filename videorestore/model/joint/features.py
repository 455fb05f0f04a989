"""The covariance in the span of few harmonics, for curves that are smooth on the scale of many frames.

On a circle a stationary covariance is a cosine series. An open curve lies on a circle that is longer by
the reach of the kernel, so that its ends do not feel each other. What is cut off counts as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from videorestore.model.covariance import Array, Kernel
from videorestore.model.joint.group import Group

SAMPLES = 8192
TAIL = 0.005
"""Share of the noise variance that the harmonics left out may have; it comes out as so much less noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fourier:
    """Harmonics 0..count of a circle of circumference ``period``; ``periodic`` if the curve itself is closed."""

    kernel: Kernel
    period: float
    count: int
    periodic: bool

    def spectrum(self, alpha: float) -> tuple[Array, Array]:
        """Variances (count + 1,) of the harmonics and their derivatives in alpha."""
        k = np.arange(self.count + 1)
        double = np.where(k == 0, 1.0, 2.0)
        if self.periodic:
            square = np.square(np.sin(np.pi * np.arange(SAMPLES) / SAMPLES) / np.pi)
            value = np.fft.rfft(self.kernel.value(alpha * square)).real[: k.size] / SAMPLES
            slope = np.fft.rfft(self.kernel.slope(alpha * square) * square).real[: k.size] / SAMPLES
            return np.maximum(value * double, 1e-300), slope * double
        log_value, log_slope = self.kernel.log_spectrum(np.square(2 * np.pi * k / self.period), alpha)
        value = np.maximum(np.exp(log_value) * double / self.period, 1e-300)
        return value, value * log_slope / alpha

    def _basis(self, x: Array, alpha: float) -> tuple[Array, Array, Array, float, float]:
        """Features (n, 2 count + 1), their slopes in x, log-derivatives of their scales, tail and its slope."""
        variance, slope = self.spectrum(alpha)
        omega = 2 * np.pi * np.arange(self.count + 1) / self.period
        angle = x[:, None] * omega
        root = np.sqrt(variance)
        cosine, sine = np.cos(angle) * root, np.sin(angle) * root
        basis = np.concatenate([cosine, sine[:, 1:]], axis=1)
        moved = np.concatenate([-sine * omega, (cosine * omega)[:, 1:]], axis=1)
        scale = 0.5 * slope / variance
        rest = 1.0 - float(variance.sum())
        in_rest = -float(slope.sum()) if rest > 0 else 0.0
        return basis, moved, np.concatenate([scale, scale[1:]]), max(rest, 0.0), in_rest

    def loss(
        self, groups: Sequence[Group], x: Array, alpha: Array, ratio: Array
    ) -> tuple[float, Array, Array]:
        """Negative log likelihood and its gradients in x (n,) and in (alpha, ratio)."""
        shapes = alpha.size
        value = 0.0
        in_x = np.zeros(x.size)
        in_hyper = np.zeros(shapes + ratio.size)
        for a in range(shapes):
            basis, moved, scale, rest, in_rest = self._basis(x, float(alpha[a]))
            in_basis = np.zeros_like(basis)
            for g, group in enumerate(groups):
                if group.shape == a:
                    loss, gradient, in_noise, in_ratio = _likelihood(basis, group, float(ratio[g]), rest)
                    value += loss
                    in_basis += 2.0 * gradient
                    in_hyper[shapes + g] = in_noise + in_ratio
                    in_hyper[a] += in_noise * in_rest
            in_x += np.einsum("ij,ij->i", in_basis, moved)
            in_hyper[a] += float(np.einsum("ij,ij->j", in_basis, basis) @ scale)
        return value, in_x, in_hyper


def _likelihood(b: Array, group: Group, ratio: float, rest: float) -> tuple[float, Array, float, float]:
    """Negative log likelihood of a group with E = B B', ``rest`` beside it as noise, by Woodbury's identity.

    With M = (B B' + noise I)^-1 and C = noise I + B'B there is M B = B C^-1. Also (dF/dE) B (n, m), the derivative
    in the noise, trace of dF/dE = (size M - M G M / phi) / 2, and what comes to it in a known noise's ratio.
    """
    (n, m), noise = b.shape, ratio + rest
    square = b.T @ b
    core = square.copy()
    core.flat[:: m + 1] += noise
    factor = cho_factor(core, lower=True)
    solved = cho_solve(factor, b.T).T
    product = group.gram @ b
    explained, trace = float(np.vdot(solved, product)), float(np.trace(group.gram))
    logdet = 2.0 * float(np.log(np.diagonal(factor[0])).sum()) + (n - m) * np.log(noise)
    quadratic, count = (trace - explained) / noise, group.size * n
    phi = group.phi(quadratic, count, ratio)
    loss = 0.5 * (group.size * logdet + count * np.log(2 * np.pi * phi) + quadratic / phi)
    # M G M B = (I - B C^-1 B') G B C^-1 / noise.
    reduced = cho_solve(factor, cho_solve(factor, b.T @ product).T).T
    mgmb = (cho_solve(factor, product.T).T - b @ reduced) / noise
    trace_m = (n - float(np.trace(cho_solve(factor, square)))) / noise
    trace_mgm = (trace - 2.0 * explained + float(np.vdot(reduced, square))) / noise**2
    in_noise = 0.5 * (group.size * trace_m - trace_mgm / phi)
    return (
        loss,
        0.5 * (group.size * solved - mgmb / phi),
        in_noise,
        group.in_known_ratio(quadratic, count, ratio),
    )


def plan(
    kernel: Kernel, periodic: bool, alpha: tuple[float, float], ratio: float, limit: int
) -> Fourier | None:
    """Harmonics that serve every alpha between the two given, or None if more than ``limit`` features."""
    low, high = alpha
    period = 1.0 if periodic else 1.0 + kernel.reach / np.sqrt(2 * low)
    allowed = float(np.clip(TAIL * ratio, 1e-7, 3e-3))
    most = min((limit - 1) // 2, SAMPLES // 4)
    if most < 1:
        return None
    widest = Fourier(kernel=kernel, period=float(period), count=most, periodic=periodic)
    left = 1.0 - np.cumsum(widest.spectrum(high)[0])
    enough = np.flatnonzero(left <= allowed)
    if enough.size == 0:
        return None
    return Fourier(kernel=kernel, period=float(period), count=max(int(enough[0]), 2), periodic=periodic)
