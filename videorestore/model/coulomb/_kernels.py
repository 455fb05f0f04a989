"""Loops of the Coulomb process, compiled. They check nothing; their callers do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Array = NDArray[np.float64]


@parallel_kernel(lambda sine, *_: sine.size, grain=128)
def repulsion(start: int, stop: int, sine: Array, cosine: Array, logs: Array, cots: Array) -> None:
    """Per point, sum over the others of log|2 sin(a_i - a_j)| and of cot(a_i - a_j).

    ``sine``, ``cosine`` (n,) of the angles ``a = pi x``; ``logs``, ``cots`` (n,) are filled. Products of
    sines spare a trigonometric call per pair; four factors share one logarithm.
    """
    n = sine.size
    for i in range(start, stop):
        si, ci = sine[i], cosine[i]
        log_sum = 0.0
        cot_sum = 0.0
        product = 1.0
        held = 0
        for j in range(n):
            if j != i:
                s = si * cosine[j] - ci * sine[j]
                if si == sine[j] and ci == cosine[j]:
                    # A fused product leaves a rounding error where the difference is nothing.
                    s = 0.0
                c = ci * cosine[j] + si * sine[j]
                product *= abs(2.0 * s)
                cot_sum += c / s if s != 0.0 else np.inf
                held += 1
                if held == 4:
                    log_sum += np.log(product) if product > 0.0 else -np.inf
                    product = 1.0
                    held = 0
        logs[i] = log_sum + (np.log(product) if product > 0.0 else -np.inf)
        cots[i] = cot_sum


@kernel
def log_sine_sum(at: float, points: Array, count: int) -> float:
    """Sum over the first ``count`` points of log|sin(pi (at - point))|."""
    total = 0.0
    product = 1.0
    held = 0
    for j in range(count):
        product *= abs(np.sin(np.pi * (at - points[j])))
        held += 1
        if held == 4:
            total += np.log(product) if product > 0.0 else -np.inf
            product = 1.0
            held = 0
    return float(total + (np.log(product) if product > 0.0 else -np.inf))


@parallel_kernel(lambda at, *_: at.size, grain=64)
def log_sines(start: int, stop: int, at: Array, points: Array, out: Array) -> None:
    """:func:`log_sine_sum` over all points, for each of ``at`` (m,)."""
    for i in range(start, stop):
        out[i] = log_sine_sum(at[i], points, points.size)


@kernel
def mode_between(points: Array, count: int, left: float, right: float) -> float:
    """Where the sum of log sines is largest between two neighbouring points: zero of a decreasing slope."""
    low, high = left, right
    for _ in range(60):
        middle = 0.5 * (low + high)
        slope = 0.0
        for j in range(count):
            slope += 1.0 / np.tan(np.pi * (middle - points[j]))
        if slope > 0.0:
            low = middle
        else:
            high = middle
        if high - low < 1e-9 * (right - left):
            break
    return 0.5 * (low + high)


@kernel
def reject_between(
    points: Array, count: int, left: float, right: float, r: float, rng: np.random.Generator
) -> float:
    """One draw between two neighbours: uniform proposals against the mode."""
    top = log_sine_sum(mode_between(points, count, left, right), points, count)
    while True:
        at = left + (right - left) * rng.random()
        value = log_sine_sum(at, points, count)
        if np.log(rng.random()) < 2.0 * r * (value - top):
            return at % 1.0


@kernel
def draw_between(
    points: Array, left: float, right: float, r: float, size: int, rng: np.random.Generator
) -> Array:
    """``size`` independent draws between two neighbours."""
    out = np.empty(size)
    for i in range(size):
        out[i] = reject_between(points, points.size, left, right, r, rng)
    return out


@kernel
def sequential(x: Array, r: float, node: Array, log_weight: Array, rng: np.random.Generator) -> None:
    """Fill ``x`` (n,) from its second entry on, each point given those before.

    Old intervals keep their quadrature nodes: a new point only adds its own factor there, so a draw costs
    O(i) instead of O(i^2). ``log_weight`` holds log weight - 2 r log(1 - node^2).
    """
    n, m = x.size, node.size
    left, right = np.empty(n), np.empty(n)
    logs = np.empty((n, m))
    mass = np.empty(n)
    left[0], right[0] = x[0], x[0] + 1.0
    fresh = np.zeros(n, dtype=np.int64)
    n_fresh = 1
    for i in range(1, n):
        # i points known, i intervals; those in ``fresh`` are new and need all factors.
        for f in range(n_fresh):
            k = fresh[f]
            for q in range(m):
                at = left[k] + 0.5 * (node[q] + 1.0) * (right[k] - left[k])
                logs[k, q] = log_sine_sum(at, x, i)
        top = -np.inf
        for k in range(i):
            peak = -np.inf
            for q in range(m):
                peak = max(peak, 2.0 * r * logs[k, q] + log_weight[q])
            total = 0.0
            for q in range(m):
                total += np.exp(2.0 * r * logs[k, q] + log_weight[q] - peak)
            mass[k] = peak + np.log(total) + np.log(right[k] - left[k])
            top = max(top, mass[k])
        total = 0.0
        for k in range(i):
            total += np.exp(mass[k] - top)
        target = rng.random() * total
        chosen = i - 1
        for k in range(i):
            target -= np.exp(mass[k] - top)
            if target < 0.0:
                chosen = k
                break
        x[i] = reject_between(x, i, left[chosen], right[chosen], r, rng)
        split = x[i]
        if split < left[chosen]:
            split += 1.0
        left[i], right[i] = split, right[chosen]
        right[chosen] = split
        for k in range(i):
            if k != chosen:
                for q in range(m):
                    at = left[k] + 0.5 * (node[q] + 1.0) * (right[k] - left[k])
                    logs[k, q] += np.log(abs(np.sin(np.pi * (at - x[i]))))
        fresh[0], fresh[1] = chosen, i
        n_fresh = 2


@kernel
def phase(theta: float, real: Array, imag: Array) -> tuple[float, float]:
    """Prufer phase at ``theta`` and its slope; it gains 2 pi n over a turn (Killip and Stoiciu 2009).

    The phase psi obeys psi += theta - 2 arg(1 - gamma e^(i psi)). Each factor has a positive real part, so
    the argument of a product of two is the sum of their principal arguments.
    """
    zr, zi = np.cos(theta), np.sin(theta)
    br, bi = zr, zi
    psi = theta * (real.size + 1)
    slope = 1.0
    hr, hi = 1.0, 0.0
    for k in range(real.size):
        wr = 1.0 - (real[k] * br - imag[k] * bi)
        wi = -(real[k] * bi + imag[k] * br)
        size = wr * wr + wi * wi
        slope = 1.0 + slope * (1.0 - real[k] * real[k] - imag[k] * imag[k]) / size
        # e^(i psi) times z times conj(w) / w.
        cr, ci = (wr * wr - wi * wi) / size, -2.0 * wr * wi / size
        tr, ti = br * zr - bi * zi, br * zi + bi * zr
        br, bi = tr * cr - ti * ci, tr * ci + ti * cr
        hr, hi = hr * wr - hi * wi, hr * wi + hi * wr
        if k % 2 == 1:
            psi -= 2.0 * np.arctan2(hi, hr)
            hr, hi = 1.0, 0.0
            norm = 1.0 / np.sqrt(br * br + bi * bi)
            br *= norm
            bi *= norm
    return psi - 2.0 * np.arctan2(hi, hr), slope


@parallel_kernel(lambda real, imag, end, out: out.size, grain=16)
def phases(start: int, stop: int, real: Array, imag: Array, end: float, out: Array) -> None:
    """The n angles in one turn at which the phase is ``end`` modulo 2 pi: Newton steps, kept in a bracket."""
    n = out.size
    base = phase(0.0, real, imag)[0]
    first = np.ceil((base - end) / (2.0 * np.pi))
    for i in range(start, stop):
        goal = end + 2.0 * np.pi * (first + i)
        low, high = 0.0, 2.0 * np.pi
        at = (i + 0.5) * 2.0 * np.pi / n
        for _ in range(80):
            value, slope = phase(at, real, imag)
            if value < goal:
                low = at
            else:
                high = at
            step = (goal - value) / slope
            fresh = at + step
            if not low < fresh < high:
                fresh = 0.5 * (low + high)
            if abs(fresh - at) < 1e-14:
                break
            at = fresh
        out[i] = at
