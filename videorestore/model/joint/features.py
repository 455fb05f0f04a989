"""The covariance in the span of few harmonics, for curves that are smooth on the scale of many frames.

On a circle a stationary covariance is a cosine series. An open curve lies on a circle that is longer by
the reach of the kernel, so that its ends do not feel each other. What is cut off counts as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from videorestore.model.covariance import Kernel
from videorestore.model.groups import Array, Group, Indices

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

    def tail(self, alpha: float) -> float:
        """Variance that the harmonics leave out."""
        return max(1.0 - float(self.spectrum(alpha)[0].sum()), 0.0)

    def _basis(self, x: Array, alpha: float) -> tuple[Array, Array, Array, float, float]:
        """Features (n, 2 count + 1), their slopes in x, log-derivatives of their scales, tail and its slope."""
        variance, slope = self.spectrum(alpha)
        omega = 2 * np.pi * np.arange(self.count + 1) / self.period
        angle = x[:, None] * omega
        root = np.sqrt(variance)
        c, s = np.cos(angle) * root, np.sin(angle[:, 1:]) * root[1:]
        basis = np.concatenate([c, s], axis=1)
        moved = np.concatenate(
            [-np.sin(angle) * (omega * root), np.cos(angle[:, 1:]) * (omega * root)[1:]], axis=1
        )
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
                if group.shape != a:
                    continue
                noise = float(ratio[g]) + rest
                terms = [_Terms.of(basis, part.gram, part.size, part.rows, noise) for part in group.parts]
                quadratic = sum(t.quadratic for t in terms)
                count = sum(t.count for t in terms)
                phi = (
                    max(quadratic / count, 1e-300) if group.noise_var is None else group.noise_var / ratio[g]
                )
                logdet = sum(t.logdet for t in terms)
                value += 0.5 * (logdet + count * np.log(2 * np.pi * phi) + quadratic / phi)
                in_noise = 0.0
                for part, t in zip(group.parts, terms):
                    gradient, trace = t.gradient(phi)
                    in_noise += trace
                    in_basis[slice(None) if part.rows is None else part.rows] += 2.0 * gradient
                in_hyper[shapes + g] = in_noise
                in_hyper[a] += in_noise * in_rest
                if group.noise_var is not None:
                    in_hyper[shapes + g] += 0.5 * (quadratic / phi - count) / ratio[g]
            in_x += np.einsum("ij,ij->i", in_basis, moved)
            in_hyper[a] += float(np.einsum("ij,ij->j", in_basis, basis) @ scale)
        return value, in_x, in_hyper

    def phi(self, groups: Sequence[Group], x: Array, alpha: Array, ratio: Array) -> Array:
        """Signal variance (groups,)."""
        out = np.empty(len(groups))
        for g, group in enumerate(groups):
            if group.noise_var is not None:
                out[g] = group.noise_var / ratio[g]
                continue
            basis, _, _, rest, _ = self._basis(x, float(alpha[group.shape]))
            noise = float(ratio[g]) + rest
            terms = [_Terms.of(basis, p.gram, p.size, p.rows, noise) for p in group.parts]
            out[g] = sum(t.quadratic for t in terms) / sum(t.count for t in terms)
        return out

    def leave_one_out(self, basis_of: tuple[Array, float], gram: Array, ratio: float) -> tuple[Array, Array]:
        """Diagonals (n,) of M and of M G M, M the inverse covariance; ``basis_of`` features and tail."""
        basis, rest = basis_of
        t = _Terms.of(basis, gram, 1.0, None, ratio + rest)
        own = (1.0 - np.einsum("ij,ij->i", t.solved, basis)) / t.noise
        cross = np.einsum("ij,ij->i", t.product, t.solved)
        outer = np.einsum("ij,ij->i", t.solved @ t.inner, t.solved)
        return own, (np.diagonal(gram) - 2.0 * cross + outer) / t.noise**2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """Woodbury pieces of one part: with A = B B' + noise I and C = noise I + B'B, A^-1 B = B C^-1."""

    basis: Array
    solved: Array
    product: Array
    inner: Array
    square: Array
    factor: Array
    size: float
    noise: float
    trace: float
    logdet: float
    quadratic: float
    count: float

    @classmethod
    def of(cls, basis: Array, gram: Array, size: float, rows: Indices | None, noise: float) -> _Terms:
        b = basis if rows is None else basis[rows]
        n, m = b.shape
        square = b.T @ b
        core = square.copy()
        core.flat[:: m + 1] += noise
        factor = cho_factor(core, lower=True)
        solved = cho_solve(factor, b.T).T
        product = gram @ b
        inner = b.T @ product
        logdet = 2.0 * float(np.log(np.diagonal(factor[0])).sum()) + (n - m) * np.log(noise)
        trace = float(np.trace(gram))
        quadratic = (trace - float(np.vdot(solved, product))) / noise
        return cls(
            basis=b,
            solved=solved,
            product=product,
            inner=inner,
            square=square,
            factor=factor[0],
            size=size,
            noise=noise,
            trace=trace,
            logdet=size * logdet,
            quadratic=quadratic,
            count=size * n,
        )

    def gradient(self, phi: float) -> tuple[Array, float]:
        """(dF/dE) B (n, m) and trace of dF/dE, with dF/dE = (size M - M G M / phi) / 2."""
        n = self.basis.shape[0]
        moved = cho_solve((self.factor, True), self.product.T).T
        # M G M B = (I - B C^-1 B') G B C^-1 / noise.
        reduced = cho_solve((self.factor, True), cho_solve((self.factor, True), self.inner).T).T
        mgmb = (moved - self.basis @ reduced) / self.noise
        ratio = cho_solve((self.factor, True), self.square)
        trace_m = (n - float(np.trace(ratio))) / self.noise
        first = float(np.vdot(self.solved, self.product))
        second = float(np.vdot(reduced, self.square))
        trace_mgm = (self.trace - 2.0 * first + second) / self.noise**2
        return 0.5 * (self.size * self.solved - mgmb / phi), 0.5 * (self.size * trace_m - trace_mgm / phi)


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
