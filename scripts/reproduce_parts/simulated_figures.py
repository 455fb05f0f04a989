"""Figures of sections 2 and 3 of the paper and of its appendix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from reproduce_parts.simulated_curves import CLOSED, TITLES, Array, evenly, sample, truth

BLACK, GREY, RED, BLUE = "#111111", "#9a9a9a", "#c0392b", "#2c6fbb"


def draw_all(out: Path, peers: list[dict[str, Any]], seed: int = 0) -> list[Path]:
    """Write every figure into ``out``, data of ``seed``; returns their paths."""
    return [
        corp(out / "simulations-corp.png"),
        panels(out / "simulations.png", ("gaussian", "parabola", "spiral"), peers, seed),
        zoom(out / "simulations-zoom.png", seed),
        panels(out / "simulations-more.png", ("sine", "arc", "uneven", "hairpin"), peers, seed),
        panels(out / "simulations-closed.png", ("eight", "circle", "helix"), peers, seed),
    ]


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path


def corp(path: Path) -> Path:
    """Realisations of the Coulomb process over n and r, five rows in each facet."""
    from videorestore.model import CoulombProcess

    sizes, strengths = (10, 30, 100), (0.1, 1.0, 10.0)
    figure, axes = plt.subplots(3, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
    for i, n in enumerate(sizes):
        for j, r in enumerate(strengths):
            ax = axes[i, j]
            for row in range(5):
                x = np.asarray(CoulombProcess(r=r).sample(n, random_state=100 * i + 10 * j + row))
                ax.plot(x.ravel(), np.full(n, row), "|", color=BLACK, ms=8, mew=0.8)
            ax.set(title=f"n = {n}, r = {r:g}", ylim=(-0.7, 4.7), xlim=(0, 1), yticks=[])
    return _save(figure, path)


def _tube(ax: Any, curve: Array, radius: float) -> None:
    """Shade what lies within ``radius`` of a curve."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    angle = np.linspace(0, 2 * np.pi, 40)
    ball = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # One colour without transparency, so that the balls melt into one shape.
    for centre in curve:
        ax.add_patch(PathPatch(Outline(centre + ball), facecolor="#dbe6f2", edgecolor="none", zorder=0))


def panels(path: Path, cases: tuple[str, ...], peers: list[dict[str, Any]], seed: int) -> Path:
    """Data, mean curve and 95 % band, the truth and GPy's curves, one panel for each case."""
    from videorestore.model import ElectroGP

    figure, axes = plt.subplots(1, len(cases), figsize=(4.2 * len(cases), 4.2), layout="constrained")
    for ax, case in zip(axes, cases):
        data = sample(case, seed)
        band = ElectroGP(periodic=case in CLOSED).fit(data.points).band(random_state=0)
        # More than two dimensions are seen from where they spread most.
        look = np.linalg.svd(truth(case) - truth(case).mean(axis=0), full_matrices=False)[2][:2].T
        look = look if look.shape[0] > 2 else np.eye(2)
        points, curve = data.points @ look, np.asarray(band.curve) @ look
        _tube(ax, evenly(curve, 400), band.radius)
        first = True
        for row in peers:
            if row["case"] != case or "curve" not in row:
                continue
            if row["method"] == "gp-lvm":
                for drawn in np.asarray(row["draws"]):
                    ax.plot(
                        *(drawn @ look).T,
                        "--",
                        color=GREY,
                        lw=0.8,
                        label="GPy GP-LVM, draws" if first else None,
                    )
                    first = False
            elif row["method"] == "bayesian gp-lvm":
                ax.plot(*(np.asarray(row["curve"]) @ look).T, color=RED, lw=1.2, label="GPy Bayesian GP-LVM")
        ax.plot(*(truth(case) @ look).T, ":", color=BLUE, lw=1.5, label="truth")
        ax.plot(*curve.T, color=BLACK, lw=1.6, label="electroGP")
        ax.plot(*points.T, "^", color=BLACK, ms=3, alpha=0.6)
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.15 * (high - low).max()
        ax.set(title=TITLES[case], aspect="equal", xlim=(low[0] - room, high[0] + room))
        ax.set(ylim=(low[1] - room, high[1] + room), xlabel="y1", ylabel="y2")
    axes[0].legend(fontsize=7, loc="upper left")
    return _save(figure, path)


def zoom(path: Path, seed: int) -> Path:
    """Part of the spiral, and the posterior of (x, y2) with and without repulsion."""
    from videorestore.model import ElectroGP

    data = sample("spiral", seed)
    models = {
        "electroGP": ElectroGP().fit(data.points),
        "GP-LVM, r = 0, mode of x": ElectroGP(r=0.0, marginal=False).fit(data.points),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.2), layout="constrained")
    for (label, model), colour in zip(models.items(), (BLACK, RED)):
        _, curve = model.curve(800)
        axes[0].plot(*np.asarray(curve).T, color=colour, lw=1.4, label=label)
    axes[0].plot(*data.points.T, "^", color=BLACK, ms=4, alpha=0.6)
    axes[0].plot(*truth("spiral").T, ":", color=BLUE, lw=1.2, label="truth")
    axes[0].set(
        xlim=(-0.45, 0.45), ylim=(-0.45, 0.45), aspect="equal", title="zoom", xlabel="y1", ylabel="y2"
    )
    axes[0].legend(fontsize=7, loc="upper left")
    level = np.linspace(-1.15, 1.15, 240)
    for ax, (label, model) in zip(axes[1:], models.items()):
        x = np.linspace(0, 1, 300)
        mean, sd = model.inverse_transform(x, return_std=True, noise=True)
        mean, sd = np.asarray(mean)[:, 1], np.maximum(np.asarray(sd)[:, 1], 1e-3)
        density = np.exp(-0.5 * np.square((level[:, None] - mean) / sd))
        ax.imshow(density, extent=(0, 1, -1.15, 1.15), origin="lower", aspect="auto", cmap="Greys", vmax=1.6)
        ax.plot(x, mean, color=BLACK, lw=1.2)
        ax.plot(model.embedding_, data.points[:, 1], "^", color=RED, ms=3, alpha=0.7)
        ax.set(title=f"(x, y2): {label}", xlabel="x", ylabel="y2", xlim=(0, 1), ylim=(-1.15, 1.15))
    return _save(figure, path)
