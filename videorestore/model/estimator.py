"""The electroGP as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from videorestore.errors import InputError
from videorestore.model.band import Band, uncertainty_band
from videorestore.model.gram import CHUNK, Stream, columns_of
from videorestore.model.imputation import check_method, complete
from videorestore.model.integrated.fit import FEW_DIMENSIONS, fit_marginal
from videorestore.model.integrated.posterior import MarginalPosterior
from videorestore.model.joint.fit import CurveFit, Options, fit_curve
from videorestore.model.placement import Chain, Placement, gather
from videorestore.model.posterior import CurvePosterior, Weights
from videorestore.model.threads import one_thread

Array = NDArray[np.float64]
Block = NDArray[Any]


class ElectroGP(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A smooth curve through high-dimensional data, with uncertainty.

    Each pixel is a Gaussian process of one latent position, the positions repel each other (a Coulomb
    process), and the joint posterior mode of positions and hyper-parameters is found with the pixels seen
    only through Gram matrices, so that an iteration costs the same at any resolution.

    Parameters
    ----------
    r : float
        Repulsion between positions; 0 is the plain GP-LVM with a uniform prior.
    kernel : {"se", "matern32", "matern52", "auto"}
        ``auto`` takes the one with the best leave-one-out log score.
    init : {"auto", "order", "eigenmaps", "isomap", "lle", "pca", "chain"} or ndarray (n_frames,)
        Where to start; the order of the start is kept. ``order``: the frames as they come. Numbers are
        positions. ``auto`` tries all and keeps the one with the best density of held-out frames.
    hyper : {"pixel", "group", "shared"}
        ``pixel``: each pixel has its own signal and noise variance, and the alpha and the noise ratio of
        the group that suits it (with at most ``n_groups`` pixels, its very own); positions follow the new
        weights only if frames predict each other about as well as before. ``group``: all of a group
        alike. ``shared``: one set for all pixels.
    periodic : bool
        The curve is closed.
    random_state : int, RandomState or None
        For sampling; the fit itself is deterministic.
    optimizer : {"lbfgs", "scg"}
    max_iter : int
        Steps of the joint search; later rounds take up to a fifth of it.
    tolerance : float
        Relative gain at which a search ends.
    n_groups, refits : int
        Groups of pixels at most, and rounds of grouping and fitting again.
    n_neighbors : int
        For the starts.
    noise_var : float or ndarray (n_pixels,), optional
        Known noise variance; estimated by default.
    noise_floor : float
        Smallest noise variance, as a share of the signal's; keeps the posterior bounded.
    learn_x : bool
        False keeps the positions of ``init`` and learns only the hyper-parameters.
    marginal : {"auto", True, False}
        Integrate the positions out after the fit, where dimensions are few (``auto``: fewer than 20) and
        the positions stay uncertain.
    callback : callable, optional
        ``(stage, iteration, value)``, for progress.

    Attributes
    ----------
    embedding_ : ndarray (n_frames,)
        Position of each frame in (0, 1); equal frames share theirs. The first frame comes before the last
        (on a closed curve the first opens the circle and the next one stands in its first half).
    alpha_, phi_, noise_var_ : ndarray (n_pixels,)
        Inverse squared length, signal variance, noise variance of each pixel; 0 variances where a pixel
        never changes.
    mean_ : ndarray (n_pixels,)
    log_posterior_ : float
    log_score_ : float
        Leave-one-out log predictive density per value at the fitted positions.
    evidence_ : dict
        Log score of each kernel tried.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    Missing values (NaN) in ``fit``: up to 8 different patterns of missing frames among the pixels enter
    the likelihood exactly, each on the frames in which it is seen. Beyond, an EM step fills what is
    missing with its conditional mean and adds the conditional covariance, before each round of grouping.
    """

    def __init__(
        self,
        r: float = 1.0,
        kernel: str = "se",
        init: str | ArrayLike = "auto",
        hyper: str = "pixel",
        periodic: bool = False,
        random_state: Any = None,
        *,
        optimizer: str = "lbfgs",
        max_iter: int = 200,
        tolerance: float = 1e-7,
        n_groups: int = 8,
        refits: int = 2,
        n_neighbors: int = 8,
        noise_var: float | ArrayLike | None = None,
        noise_floor: float = 1e-5,
        learn_x: bool = True,
        marginal: bool | str = "auto",
        callback: Callable[[str, int, float], None] | None = None,
    ) -> None:
        self.r = r
        self.kernel = kernel
        self.init = init
        self.hyper = hyper
        self.periodic = periodic
        self.random_state = random_state
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.n_groups = n_groups
        self.refits = refits
        self.n_neighbors = n_neighbors
        self.noise_var = noise_var
        self.noise_floor = noise_floor
        self.learn_x = learn_x
        self.marginal = marginal
        self.callback = callback

    _training: Block | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # -- fit ---------------------------------------------------------------------------------------

    def fit(self, Y: ArrayLike, y: None = None) -> ElectroGP:
        """Fit the curve to frames ``Y`` (n_frames, n_pixels), NaN = missing. ``y`` is ignored."""
        frames = self._frames(Y, reset=True)
        # Sums of few pixels are exact enough only in double precision.
        if frames.shape[1] <= CHUNK // 2:
            frames = frames.astype(np.float64)
        self._training = frames
        if not self._fit_marginal(frames):
            self._fit_stream(columns_of(frames), frames.shape[0])
        return self

    def fit_stream(self, chunks: Callable[[], Iterable[Block]], n_frames: int) -> ElectroGP:
        """Fit the curve to pixels that stream by.

        Parameters
        ----------
        chunks : callable
            Starts the blocks (n_frames, k) again from the first pixel; float32 (or float64), NaN = missing.
            Where nothing is missing it is called three times with ``hyper="pixel"`` and ``"group"`` (facts, then
            groups twice), once with ``"shared"``.
        n_frames : int

        Returns
        -------
        self
            The pixels are not kept: predict with :meth:`posterior_weights`, place with :meth:`place_stream`.
        """
        self._fit_stream(chunks, n_frames)
        self._training = None
        self.n_features_in_ = self.mean_.size
        return self

    def _fit_stream(self, chunks: Stream, n: int) -> None:
        noise = self.noise_var
        with one_thread():
            fit = fit_curve(chunks, n, self._options(noise))
        self._adopt(fit)

    def _options(self, noise: Any) -> Options:
        known = None if noise is None else (float(noise) if np.ndim(noise) == 0 else np.asarray(noise, float))
        return Options(
            r=float(self.r),
            kernel=self.kernel,
            init=self.init if isinstance(self.init, str) else np.asarray(self.init, dtype=np.float64),
            hyper=self.hyper,
            periodic=bool(self.periodic),
            optimizer=self.optimizer,
            max_iter=int(self.max_iter),
            tolerance=float(self.tolerance),
            n_groups=int(self.n_groups),
            refits=int(self.refits),
            n_neighbors=int(self.n_neighbors),
            noise_var=known,
            noise_floor=float(self.noise_floor),
            learn_x=bool(self.learn_x),
            callback=self.callback,
        )

    def _adopt(self, fit: CurveFit) -> None:
        """Take over what a fit has learnt."""
        self.fit_ = fit
        self.embedding_ = fit.x
        self.alpha_ = fit.alpha[np.maximum(fit.label, 0)]
        self.phi_ = fit.phi
        self.noise_var_ = fit.noise_var
        self.mean_ = fit.mean
        self.label_ = fit.label
        self.log_posterior_ = fit.log_posterior
        self.log_score_ = fit.log_score
        self.evidence_ = dict(fit.evidence)
        self.kernel_ = fit.kernel.name
        self.init_ = fit.start
        self.n_iter_ = fit.n_iter
        self._posterior: CurvePosterior = CurvePosterior(fit)

    def _fit_marginal(self, frames: Block) -> bool:
        """Fit with the positions integrated out where dimensions are few; False where the mode is enough."""
        noise: Any = self.noise_var
        if self.marginal not in ("auto", True, False):
            raise InputError(f"marginal must be 'auto', True or False, got {self.marginal!r}")
        few = self.marginal is True or (self.marginal == "auto" and frames.shape[1] < FEW_DIMENSIONS)
        if not few or not self.learn_x or np.ndim(noise) > 0:
            return False
        with one_thread():
            found = fit_marginal(frames, self._options(noise))
        if found is None:
            return False
        self.marginal_, fit = found
        self._adopt(fit)
        self._posterior = MarginalPosterior(self.marginal_, fit)
        return True

    # -- the curve ---------------------------------------------------------------------------------

    def posterior_weights(self, x: ArrayLike) -> Weights:
        """Posterior at positions ``x`` (m,) as weights for streamed pixels: see :class:`Weights`."""
        check_is_fitted(self, "fit_")
        return self._posterior.weights(np.asarray(x, dtype=np.float64))

    def inverse_transform(self, x: ArrayLike, return_std: bool = False, *, noise: bool = False) -> Any:
        """Mean of the curve at positions ``x`` (m,): (m, n_pixels); with sd of the curve if asked.

        ``noise=True`` gives the sd of a new noisy frame instead.
        """
        frames = self._trained()
        with one_thread():
            mean, sd = self.posterior_weights(np.ravel(x)).apply(frames, sd=return_std, noise=noise)
        return (mean, sd) if return_std else mean

    def curve(self, n_points: int = 500) -> tuple[Array, Block]:
        """Grid of positions (n_points,) over the span of the data and the mean curve there."""
        frames = self._trained()
        grid = np.linspace(*self._posterior.span, n_points)
        return grid, self.posterior_weights(grid).mean(frames)

    def band(
        self,
        eta: float = 0.95,
        *,
        n_points: int = 500,
        n_samples: int = 100,
        n_repeats: int = 20,
        random_state: Any = None,
    ) -> Band:
        """Radius of the tube around the mean curve that holds a share ``eta`` of new points.

        Returns
        -------
        band : Band
            Unpacks into ``radius, grid (n_points,), curve (n_points, n_pixels)``.
        """
        frames = self._trained()
        if not 0 < eta < 1:
            raise InputError(f"eta must be between 0 and 1, got {eta}")
        return uncertainty_band(
            self._posterior,
            frames,
            eta=eta,
            n_points=n_points,
            n_samples=n_samples,
            n_repeats=n_repeats,
            rng=self._rng(random_state),
        )

    def sample(self, x: ArrayLike, random_state: Any = None, *, noise: bool = True) -> Array:
        """One draw (m, n_pixels) from the posterior predictive at ``x`` (m,), jointly over x."""
        frames = self._trained()
        return self._posterior.sample(
            np.ravel(np.asarray(x, float)), frames, self._rng(random_state), noise=noise
        )

    def leave_one_out(self) -> tuple[Block, Block]:
        """Each training frame predicted from the others at its position: mean and sd, noise included."""
        frames = self._trained()
        mean, sd = self._posterior.leave_one_out(frames)
        back = np.searchsorted(self._posterior.x[np.argsort(self._posterior.x)], self.embedding_)
        index = np.argsort(self._posterior.x)[back]
        return mean[index], sd[index]

    # -- placement ---------------------------------------------------------------------------------

    def place(self, Z: ArrayLike) -> list[Placement]:
        """Posterior of the position of each frame in ``Z`` (m, n_pixels), NaN = not seen."""
        frames = self._trained()
        return self.place_stream(columns_of(frames), self._frames(Z, reset=False))

    def place_stream(self, chunks: Callable[[], Iterable[Block]], frames: Block) -> list[Placement]:
        """The same against training pixels that stream by in the blocks of the fit."""
        check_is_fitted(self, "fit_")
        with one_thread():
            if isinstance(self._posterior, MarginalPosterior):
                return [self._posterior.place(frame) for frame in frames]
            return [Placement(self._posterior, seen) for seen in gather(self._posterior, chunks, frames)]

    def transform(self, Z: ArrayLike) -> Array:
        """Most probable position (m, n_components) of each frame in ``Z`` (m, n_pixels), NaN = not seen."""
        return np.array([[placement.mode()] for placement in self.place(Z)])

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

    def _trained(self) -> Block:
        check_is_fitted(self, "fit_")
        if self._training is None:
            raise InputError(
                "the pixels were streamed and not kept; use posterior_weights(x).apply(block) and place_stream"
            )
        return np.asarray(self._training)

    def _rng(self, random_state: Any) -> np.random.Generator:
        state = check_random_state(self.random_state if random_state is None else random_state)
        return np.random.default_rng(state.randint(0, 2**31 - 1))
