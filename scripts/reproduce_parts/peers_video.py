"""Peers of the video experiments; run by a Python that has GPy and bm3d, on arrays in a .npz file.

python peers_video.py gplvm|bm3d IN.npz OUT.npy
"""

from __future__ import annotations

import sys

import numpy as np


def gplvm(frames: np.ndarray, loose: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Loose frames completed by a one-dimensional Bayesian GP-LVM that starts in the true order.

    The pixels are projected on the leading principal components (99.9 % of the variance) first: the model is the
    same for all of them and the cost falls tenfold. A loose frame is placed by its squared error on a dense grid.
    """
    import GPy

    n = len(frames)
    mean = frames.mean(axis=0)
    left, size, right = np.linalg.svd(frames - mean, full_matrices=False)
    kept = int(np.searchsorted(np.cumsum(size**2) / np.sum(size**2), 0.999)) + 1
    scores = left[:, :kept] * size[:kept]
    start = np.linspace(-1.7, 1.7, n)[:, None]
    model = GPy.models.BayesianGPLVM(
        scores, 1, X=start, X_variance=np.full((n, 1), 1e-4), num_inducing=50, kernel=GPy.kern.RBF(1)
    )
    model.kern.lengthscale = 0.2
    model.likelihood.variance = 0.01 * scores.var()
    model.optimize("bfgs", messages=False, max_iters=330)
    place = np.asarray(model.X.mean)[:, 0]
    grid = np.linspace(place.min(), place.max(), 2001)[:, None]
    curve = model.predict(grid)[0] @ right[:kept] + mean
    out = np.array(loose)
    for k in range(len(loose)):
        seen = ~masks[k]
        error = np.square(curve[:, seen] - loose[k][seen]).sum(axis=1)
        out[k] = curve[int(np.argmin(error))]
    return out


def main(job: str, source: str, target: str) -> None:
    data = np.load(source)
    if job == "gplvm":
        np.save(target, gplvm(data["frames"].astype(float), data["loose"].astype(float), data["masks"]))
    else:
        import bm3d

        sd = float(data["sd"])
        np.save(target, np.stack([bm3d.bm3d(frame, sd) for frame in data["frames"].astype(float)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
