"""A turntable loop: 24 pictures of a disc become 96, and the last leads back to the first.

python scripts/examples/turntable.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import videorestore as vr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import scenes

TAKEN, WANTED = 24, 96


def main() -> tuple[float, float]:
    """Fit a closed curve; returns the mean squared error of the new pictures and that of a cross-fade."""
    truth = scenes.disc(WANTED, 32)
    every = WANTED // TAKEN
    pictures = truth[::every].reshape(TAKEN, -1)
    model = vr.ElectroGP(periodic=True, init=np.arange(TAKEN), hyper="shared", random_state=0).fit(pictures)
    x = np.unwrap(model.embedding_, period=1.0)
    closed = np.append(x, x[0] + np.sign(x[1] - x[0]))
    dense = np.interp(np.arange(WANTED) / every, np.arange(TAKEN + 1), closed) % 1.0
    loop = model.inverse_transform(dense).reshape(truth.shape)

    new = np.arange(WANTED) % every != 0
    before, after = np.arange(WANTED) // every, (np.arange(WANTED) // every + 1) % TAKEN
    share = (np.arange(WANTED) % every / every)[:, None]
    fade = ((1 - share) * pictures[before] + share * pictures[after]).reshape(truth.shape)
    ours, theirs = (float(np.mean((made[new] - truth[new]) ** 2)) for made in (loop, fade))
    print(f"{TAKEN} pictures -> {WANTED}: mean squared error {ours:.1f}, cross-fade {theirs:.1f}")
    return ours, theirs


if __name__ == "__main__":
    main()
