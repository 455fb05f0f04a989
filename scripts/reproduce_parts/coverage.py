"""How honest the model is: shares of the truth within what should hold 95 %, from 2 to 100,000 dimensions.

    scripts/reproduce coverage [--quick] [--seeds 10] [--first-seed 0] [--dimensions 2,8,50,400,100000] [--frames 100]

In two dimensions the curve is the paper's spiral, beyond a draw of a Gaussian process for each dimension; positions
are thrown evenly. ``equal`` noise is half of the signal (a fifth in 8 dimensions), ``unequal`` differs between dimensions (sd of its log 0.7).
Columns, each the share over seeds and what is counted in them, with the sd between seeds over the root of their number:

- band: fresh noisy frames within ``band(0.95)``.
- curve: clean values at right angles to the curve within 1.96 sd of the mean curve.
- pixels: hidden values of half-seen noisy frames within 1.96 sd of ``impute``; in two dimensions within the middle
  95 % of the mixture over positions, since the other arms of the spiral are possible, too.
- x: positions of fresh noisy frames within the middle 95 % of ``place``; true is the point of the mean curve nearest to the
  clean frame. (Where the model places a clean frame is no measure: to it one without noise is no frame at all, and with
  100,000 dimensions it goes where the curve claims the least variance.)
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from reproduce_parts.simulated_curves import NOISE, distance, on_curve

Array = NDArray[Any]

LENGTH = 0.15
"""Of the Gaussian process that the curve is a draw of, in units of the whole curve."""
SHARE, MANY = 0.5, 50
"""Sd of the noise over that of the signal, from so many dimensions on; with fewer it falls with the root of their
number, so that arms of the curve stay apart."""
SPREAD = 0.7
"""Sd of the log of the noise's sd between dimensions, where it is not equal."""
FRESH = 60
"""Frames that are placed and completed."""
FEATURES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A curve, where frames were thrown on it, and how noisy each dimension is.

    ``weights`` (FEATURES, d) of random harmonics; None is the spiral.
    """

    weights: Array | None
    omega: Array
    shift: Array
    sd: Array

    def clean(self, u: Array) -> Array:
        """Clean frames (m, d) at ``u`` (m,)."""
        if self.weights is None:
            return on_curve("spiral", u)
        waves = np.cos(u[:, None] * self.omega + self.shift) * np.sqrt(2.0 / FEATURES)
        return (waves @ self.weights).astype(self.sd.dtype)

    def noisy(self, u: Array, rng: np.random.Generator) -> Array:
        """Frames (m, d) at ``u`` (m,) with noise."""
        clean = self.clean(u)
        return clean + self.sd * rng.standard_normal(clean.shape).astype(self.sd.dtype)


def plant(d: int, unequal: bool, rng: np.random.Generator) -> Planted:
    """A random curve in ``d`` dimensions."""
    kind = np.float32 if d > 1000 else np.float64
    level = NOISE["spiral"] if d == 2 else SHARE * min(1.0, np.sqrt(d / MANY))
    sd = level * (np.exp(SPREAD * rng.standard_normal(d)) if unequal else np.ones(d))
    weights = None if d == 2 else rng.standard_normal((FEATURES, d))
    omega, shift = rng.standard_normal(FEATURES) / LENGTH, rng.uniform(0, 2 * np.pi, FEATURES)
    return Planted(weights=weights, omega=omega, shift=shift, sd=sd.astype(kind))


def measure(d: int, unequal: bool, seed: int, n: int) -> dict[str, float]:
    """Coverages of one fit."""
    from videorestore.model import ElectroGP

    rng = np.random.default_rng([d, unequal, seed])
    planted = plant(d, unequal, rng)
    u = rng.uniform(size=n)
    frames = planted.noisy(u, rng)
    start = time.process_time()
    model = ElectroGP(n_neighbors=8).fit(frames)
    seconds = time.process_time() - start
    inside = np.quantile(u, [0.02, 0.98])
    at = rng.uniform(*inside, size=FRESH)
    fresh = planted.noisy(at, rng)
    out = {"pixels": pixels(model, fresh, rng), "x": positions(model, planted, fresh, at)}
    out["curve"] = curve(model, planted, u)
    if d <= 50:
        band = model.band(random_state=seed)
        many = planted.noisy(rng.uniform(size=2000), rng)
        out["band"] = float((distance(many, np.asarray(band.curve)) <= band.radius).mean())
    out["cpu_s"] = seconds
    return out


def pixels(model: Any, fresh: Array, rng: np.random.Generator) -> float:
    """Share of hidden values within 1.96 sd of their imputed ones."""
    hidden = rng.uniform(size=fresh.shape) < 0.5
    hidden[hidden.all(axis=1), 0] = False
    if fresh.shape[1] == 2:
        return _mixed(model, np.where(hidden, np.nan, fresh), fresh)
    mean, sd = model.impute(np.where(hidden, np.nan, fresh), return_std=True)
    return float((np.abs(mean - fresh) <= 1.96 * sd)[hidden].mean())


def _mixed(model: Any, partial: Array, fresh: Array) -> float:
    """The same where one value of two is hidden: it may lie on any arm of the spiral, so a mixture is looked at."""
    v = (np.arange(200) + 0.5) / 200
    covered = []
    for placement, part, whole in zip(model.place(partial), partial, fresh):
        mean, sd = model.inverse_transform(placement.quantiles(v)[0], return_std=True, noise=True)
        before = ndtr((whole - mean) / sd).mean(axis=0)[np.isnan(part)]
        covered.append((before > 0.025) & (before < 0.975))
    return float(np.concatenate(covered).mean())


def positions(model: Any, planted: Planted, fresh: Array, at: Array) -> float:
    """Share of true positions within the middle 95 % of their posterior."""
    clean = nearest(model, planted.clean(at))
    ends = [p.quantiles(np.array([0.025, 0.975]))[0] for p in model.place(fresh)]
    return float(np.mean([low <= x <= high for x, (low, high) in zip(clean, ends)]))


def nearest(model: Any, clean: Array) -> Array:
    """Positions (m,) on the mean curve nearest to frames (m, d), in sds of the noise: on a grid, then finer twice."""
    weight = 1.0 / np.sqrt(model.noise_var_)
    span = model.curve(2)[0]

    def distances(x: Array, frame: Array) -> Array:
        return np.asarray(np.square((model.inverse_transform(x) - frame) * weight).sum(axis=1))

    grid = np.linspace(*span, 401)
    mean = model.inverse_transform(grid) * weight
    far = np.square(mean).sum(axis=1) - 2.0 * (clean * weight) @ mean.T
    out = []
    for frame, row in zip(clean, far):
        x, k = grid, int(row.argmin())
        for _ in range(2):
            x = np.linspace(x[max(k - 1, 0)], x[min(k + 1, x.size - 1)], 41)
            k = int(distances(x, frame).argmin())
        out.append(x[k])
    return np.array(out)


def curve(model: Any, planted: Planted, u: Array) -> float:
    """Share of clean values within 1.96 sd of the mean curve, across it."""
    inside = np.linspace(*np.quantile(u, [0.02, 0.98]), 200)
    truth = planted.clean(inside)
    x = nearest(model, truth) if truth.shape[1] > 50 else np.array([p.mode() for p in model.place(truth)])
    if truth.shape[1] > 50:
        # One dimension of many lies along the curve: it does not matter.
        mean, sd = model.inverse_transform(x, return_std=True)
        return float((np.abs(mean - truth) <= 1.96 * sd).mean())
    along = np.gradient(truth, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    draws = np.stack([model.sample(x, noise=False, random_state=k) for k in range(200)])
    error = truth - model.inverse_transform(x)
    moved = draws - draws.mean(axis=0)
    covered = []
    for j in range(truth.shape[1]):
        across = np.eye(truth.shape[1])[j] - along[:, j, None] * along
        # A dimension along which the curve runs has nothing across it.
        use = np.linalg.norm(across, axis=1) > 0.3
        sd = (moved * across).sum(axis=2).std(axis=0)
        covered.append(np.abs((error * across).sum(axis=1))[use] <= 1.96 * sd[use])
    return float(np.concatenate(covered).mean())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/reproduce coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, up to 50 dimensions")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--dimensions", default="2,8,50,400,100000")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--out", help="not used: there are no figures")
    parsed = parser.parse_args(arguments)
    dimensions = [int(d) for d in parsed.dimensions.split(",")]
    seeds = 2 if parsed.quick else parsed.seeds
    print("| dimensions | noise | band | curve | pixels | x | CPU s |\n|---|---|---|---|---|---|---|")
    for d in [d for d in dimensions if not parsed.quick or d <= 50]:
        for unequal in (False, True):
            first = parsed.first_seed
            rows = []
            for seed in range(first, first + seeds):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows.append(measure(d, unequal, seed, parsed.frames))
            cells = []
            for name in ("band", "curve", "pixels", "x"):
                found = np.array([row[name] for row in rows if name in row])
                text = f"{found.mean():.3f} ± {found.std() / np.sqrt(found.size):.3f}" if found.size else ""
                cells.append(text)
            kind = "unequal" if unequal else "equal"
            cpu = np.median([row["cpu_s"] for row in rows])
            print(f"| {d} | {kind} | {' | '.join(cells)} | {cpu:.1f} |", flush=True)
    return 0
