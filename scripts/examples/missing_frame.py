"""A frame of which only the left half is seen, from an unknown moment: where it belongs, and what it may look like.

Metropolis-Hastings samples of its place carry over into the standard deviation of every missing pixel.

    python scripts/examples/missing_frame.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import videorestore as vr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import scenes

LOOSE = 31
NOISE = 4.0


def main() -> tuple[float, float]:
    """Place and complete; returns the error of the place in frames and the coverage of the missing (noisy) pixels."""
    rng = np.random.default_rng(0)
    frames = scenes.shockwave(60, 40)
    noisy = frames + rng.normal(0, NOISE, frames.shape)
    others = np.delete(np.arange(60), LOOSE)
    model = vr.ElectroGP(init=np.arange(59), hyper="shared", random_state=0).fit(
        noisy[others].reshape(59, -1)
    )

    loose = noisy[LOOSE].copy()
    loose[:, 20:] = np.nan
    chain = model.sample_placement(loose.ravel(), 2000, random_state=1)
    x = np.asarray(chain.x)
    place = float(np.interp(x.mean(), *order(model.embedding_, others)))
    mean, sd = model.impute(loose.reshape(1, -1), method="mh", return_std=True)
    hidden = np.isnan(loose).ravel()
    error = np.abs(mean[0] - noisy[LOOSE].ravel())[hidden]
    share = float(np.mean(error < 1.96 * sd[0][hidden]))
    print(f"x = {x.mean():.4f} +- {x.std():.4f}, acceptance {chain.acceptance:.2f}")
    print(f"it belongs at frame {place:.2f} (truth {LOOSE})")
    print(f"missing pixels: mean error {error.mean():.2f}, {share:.1%} of them within 1.96 sd")
    return abs(place - LOOSE), share


def order(x: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Latent positions and the frames they stand for, both sorted by position."""
    rank = np.argsort(x)
    return x[rank], frames[rank]


if __name__ == "__main__":
    main()
