"""The estimator on the paper's spiral: a curve through points, with a band that covers 95 % of new ones.

python scripts/examples/spiral.py
"""

from __future__ import annotations

import numpy as np

import videorestore as vr


def spiral(n: int, seed: int) -> np.ndarray:
    """Points about a spiral, uniform in arc length, shape (n, 2)."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.5 * np.pi, 4 * np.pi, 4000)
    line = (angle / (4 * np.pi))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = rng.uniform(0, length[-1], n)
    on_line = np.column_stack([np.interp(at, length, line[:, k]) for k in (0, 1)])
    return on_line + rng.normal(0, 0.025, (n, 2))


def covered(points: np.ndarray, line: np.ndarray, radius: float) -> float:
    """Share of the points that lie within ``radius`` of a dense line."""
    distance = np.linalg.norm(points[:, None] - line[None], axis=2).min(axis=1)
    return float(np.mean(distance <= radius))


def main() -> float:
    """Fit, and check the band on points that the fit has not seen; returns the share covered."""
    model = vr.ElectroGP(random_state=0).fit(spiral(300, seed=1))
    radius, _, line = model.band(0.95)
    share = covered(spiral(3000, seed=2), line, radius)
    print(f"latent positions: {model.embedding_.min():.3f} to {model.embedding_.max():.3f}")
    print(f"noise sd: {np.sqrt(model.noise_var_).round(4)} (planted 0.025)")
    print(f"the 95 % band has radius {radius:.4f} and covers {share:.1%} of 3000 new points")
    return share


if __name__ == "__main__":
    main()
