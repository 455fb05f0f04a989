"""The half of the estimator that looks at new frames: where they belong, what they miss, how probable they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from videorestore.errors import InputError
from videorestore.model.gram import columns_of
from videorestore.model.imputation import check_method, complete
from videorestore.model.placement import Chain, Placement
from videorestore.model.posterior import CurvePosterior
from videorestore.model.threads import one_thread

Array = NDArray[np.float64]
Block = NDArray[Any]


class Placing(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What a fitted model says about frames; see :class:`videorestore.model.estimator.ElectroGP`."""

    _training: Block
    _posterior: CurvePosterior
    fit_: Any
    n_components_: int
    random_state: Any

    def place(self, Z: ArrayLike) -> list[Placement]:
        """Posterior of the position of each frame in ``Z`` (m, n_pixels), NaN = not seen."""
        frames = self._trained()
        return self._posterior.place(columns_of(frames), self._frames(Z, reset=False))

    def transform(self, Z: ArrayLike) -> Array:
        """Most probable position (m, n_components) of each frame in ``Z`` (m, n_pixels), NaN = not seen."""
        return np.array([np.atleast_1d(placement.mode()) for placement in self.place(Z)])

    def sample_placement(
        self, z: ArrayLike, n_samples: int = 1000, random_state: Any = None, *, proposal: str = "grid"
    ) -> Chain:
        """Metropolis-Hastings draws of the position of one frame ``z`` (n_pixels,), NaN = not seen.

        Parameters
        ----------
        z : ndarray (n_pixels,)
        n_samples : int
        random_state : int, RandomState or None
        proposal : {"grid", "piecewise", "uniform"}
            The posterior's own density on a grid; the paper's, piecewise uniform between training positions;
            uniform on the span of the curve.

        Returns
        -------
        chain : Chain
            ``x`` (n_samples,), ``acceptance``, ``effective`` sample size; as an array it is its draws.
        """
        frame = np.asarray(z)
        if frame.ndim == 1:
            frame = frame[None, :]
        self._only_curves("sample_placement")
        (placement,) = self.place(frame)
        return placement.sample(int(n_samples), self._rng(random_state), proposal)

    def impute(
        self,
        Z: ArrayLike,
        method: str = "exact",
        return_std: bool = False,
        *,
        n_samples: int = 500,
        random_state: Any = None,
    ) -> Any:
        """Complete partly seen frames.

        Parameters
        ----------
        Z : ndarray (m, n_pixels)
            NaN = missing; seen values are kept.
        method : {"exact", "map", "mh", "em"}
            Averaged over the exact posterior of the position; at the most probable position; averaged over
            Metropolis-Hastings draws of the position; EM: the most probable value of each pixel, with the
            position as augmented data.
        return_std : bool
            Also the sd of the missing values, noise included (for ``exact`` and ``mh`` also that of the position), 0
            where seen.

        Returns
        -------
        mean : ndarray (m, n_pixels), and sd alike if asked
        """
        check_method(method)
        frames = self._trained()
        partial = self._frames(Z, reset=False)
        rng = self._rng(random_state)
        out = np.array(partial, dtype=np.result_type(partial.dtype, np.float32))
        spread = np.zeros_like(out)
        with one_thread():
            for i, placement in enumerate(self.place(partial)):
                missing = np.flatnonzero(np.isnan(partial[i]))
                if missing.size:
                    out[i, missing], spread[i, missing] = complete(
                        self._posterior, placement, frames, missing, method, n_samples, rng
                    )
        return (out, spread) if return_std else out

    def score(self, Y: ArrayLike, y: None = None) -> float:
        """Mean log density per value of frames ``Y``, their positions integrated out; higher is better."""
        frames = self._frames(Y, reset=False)
        seen = (~np.isnan(frames)).sum()
        return float(sum(placement.log_evidence for placement in self.place(frames)) / max(int(seen), 1))

    # -- checks ------------------------------------------------------------------------------------

    def _frames(self, Y: ArrayLike, *, reset: bool) -> Block:
        """Validated frames, float32 or float64, own copy."""
        if isinstance(Y, np.ndarray) and Y.dtype.kind in "ub":
            Y = Y.astype(np.float32)
        try:
            frames = validate_data(
                self,
                Y,
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                copy=reset,
                ensure_min_samples=3 if reset else 1,
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        return np.asarray(frames)

    def _only_curves(self, what: str) -> None:
        check_is_fitted(self, "fit_")
        if self.n_components_ > 1:
            raise InputError(
                f"{what} is for curves, n_components is {self.n_components_}; use transform, inverse_transform, impute"
            )

    def _trained(self) -> Block:
        check_is_fitted(self, "fit_")
        return np.asarray(self._training)

    def _rng(self, random_state: Any) -> np.random.Generator:
        state = check_random_state(self.random_state if random_state is None else random_state)
        return np.random.default_rng(state.randint(0, 2**31 - 1))
