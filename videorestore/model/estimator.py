"""The electroGP as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from videorestore.errors import InputError
from videorestore.model.band import Band, uncertainty_band
from videorestore.model.gram import CHUNK, columns_of
from videorestore.model.integrated.fit import fit_marginal
from videorestore.model.integrated.posterior import MarginalPosterior
from videorestore.model.joint.fit import fit_curve
from videorestore.model.line.fit import fit_line, in_line
from videorestore.model.options import Options
from videorestore.model.placing import Placing
from videorestore.model.posterior import CurvePosterior, Weights, positions
from videorestore.model.sheet.fit import choose_dimension, fit_sheet
from videorestore.model.sheet.posterior import SheetPosterior
from videorestore.model.threads import one_thread

Array = NDArray[np.float64]
Block = NDArray[Any]


class ElectroGP(Placing):
    """A smooth curve through high-dimensional data, with uncertainty.

    Each pixel is a Gaussian process of one latent position, the positions repel each other (a Coulomb
    process), and the joint posterior mode of positions and hyper-parameters is found with the pixels seen
    only through Gram matrices, so that an iteration costs the same at any resolution.

    Parameters
    ----------
    r : float or "auto"
        Repulsion between positions; 0 is the plain GP-LVM with a uniform prior. ``auto``: at their mode a share of the
        likelihood (see ``temper``); where positions are integrated out as much as the evidence asks for, see Notes.
    kernel : {"se", "matern32", "matern52", "auto"}
        ``auto`` takes the one that predicts runs of three frames best from the others. More than 2500 frames in known order are fitted
        in state-space form, with ``hyper="shared"``; there ``se`` and ``auto`` become ``matern52``, see ``kernel_``.
    init : {"auto", "order", "eigenmaps", "isomap", "lle", "pca", "chain"} or ndarray (n_frames,)
        Where to start; the order of the start is kept. ``order``: the frames as they come. Numbers are
        positions. ``auto`` tries all and keeps the one with the best density of held-out frames.
    hyper : {"pixel", "shared"}
        ``pixel``: each pixel has its own signal variance, and the alpha and the noise ratio of a grid that suit it, at the
        positions that all pixels agree on; up to 8 pixels have their very own, in the joint mode. ``shared``: one set for all
        pixels.
    periodic : bool
        The curve is closed.
    n_components : {1, 2, 3, "auto"}
        Dimension of the positions: 1 is a curve. Beyond, positions lie in a square or cube under the multivariate
        Corp, at their joint mode with shared hyper-parameters. ``auto`` asks the evidence: how frames lie among their
        nearest ones, without the noise.
    random_state : int, RandomState or None
        For sampling; the fit itself is deterministic.
    recipe : {"default", "paper"}
        ``paper``: its literal model and method, the joint mode under Corp(1) as in eq. (2), from LLE, by scaled
        conjugate gradients, where no other r, init or optimizer is given.
    noise : {"normal", "student"}
        ``student``: heavy tails, for data with outliers.
    temper : bool
        At the mode, divide the repulsion by the share of pixels that tell something of their own: what pixels say
        together counts once. False is eq. (2) as it stands, whose repulsion thousands of pixels outvote.
    optimizer : {"lbfgs", "scg"}
    max_iter : int
        Steps of the joint search; later rounds take up to a fifth of it.
    tolerance : float
        Relative gain at which a search ends.
    n_neighbors : int
        For the starts.
    noise_var : float or ndarray (n_pixels,), optional
        Known noise variance; estimated by default.
    noise_floor : float
        Smallest noise variance, as a share of the signal's; keeps the posterior bounded.
    learn_x : bool
        False keeps the positions of ``init`` and learns only the hyper-parameters.
    marginal : {"auto", True, False}
        Integrate the positions out after the fit, where they stay uncertain.
    callback : callable, optional
        ``(stage, iteration, value)``, for progress.

    Attributes
    ----------
    embedding_ : ndarray (n_frames,), or (n_frames, n_components) beyond one
        Position of each frame in (0, 1); equal frames share theirs. The first frame comes before the last
        (on a closed curve the first opens the circle and the next one stands in its first half).
    alpha_, phi_, noise_var_ : ndarray (n_pixels,)
        Inverse squared length, signal variance, noise variance of each pixel; 0 variances where a pixel
        never changes. Beyond one dimension ``alpha_`` is (n_pixels, n_components).
    mean_ : ndarray (n_pixels,)
    log_posterior_ : float
        Of positions and hyper-parameters, values that were missing as they were filled; where positions are integrated
        out the log evidence.
    log_score_ : float
        Leave-one-out log predictive density per value at the fitted positions.
    evidence_ : dict
        Log score of each kernel tried.
    r_ : float
        Repulsion that was used; ``corp_active_`` if it is above 0.
    collapsed_, ambiguous_ : bool
        The curve is a point within the noise; another curve, or noise alone, is about as probable. Both warn.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    Where repulsion pays: closed curves, which fall together without it; holes in a film at even speed, which keep their
    width; points that lie evenly, or crowd in the middle. Points thrown independently along an open curve refute an even
    spacing: there the evidence takes 0, and the fit is that of ``r=0``.

    A hole comes back with its width as long as frames on both sides of it go together. Across 60 degrees of a turning
    texture with noise they do not any more, and repulsion alone would have the hole closed: 8 frames come back at
    0.7 of their width.

    Missing values (NaN) in ``fit``: where positions are integrated out they enter the likelihood as what they are. At
    the mode EM fills them with their conditional mean and adds the conditional covariance, before each round.
    """

    def __init__(
        self,
        r: float | str = "auto",
        kernel: str = "se",
        init: str | ArrayLike = "auto",
        hyper: str = "pixel",
        periodic: bool = False,
        n_components: int | str = 1,
        random_state: Any = None,
        *,
        recipe: str = "default",
        noise: str = "normal",
        temper: bool = True,
        optimizer: str = "lbfgs",
        max_iter: int = 200,
        tolerance: float = 1e-7,
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
        self.n_components = n_components
        self.random_state = random_state
        self.recipe = recipe
        self.noise = noise
        self.temper = temper
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.n_neighbors = n_neighbors
        self.noise_var = noise_var
        self.noise_floor = noise_floor
        self.learn_x = learn_x
        self.marginal = marginal
        self.callback = callback

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
        self.__dict__.pop("marginal_", None)
        options, p = Options.of(self), self.n_components
        if not (p == "auto" or (isinstance(p, (int, np.integer)) and p in (1, 2, 3))):
            raise InputError(f"n_components must be 1, 2, 3 or 'auto', got {p!r}")
        with one_thread():
            p = choose_dimension(frames) if isinstance(p, str) else int(p)
            if p > 1:
                self._adopt(SheetPosterior(fit_sheet(frames, options, p)))
            elif in_line(frames, options):
                self._adopt(fit_line(frames, options))
            else:
                self._fit_curve(frames, options)
        warn_of(self)
        return self

    def _adopt(self, posterior: CurvePosterior) -> None:
        """Take over what a fit has learnt."""
        self._posterior, fit = posterior, posterior.fit
        self.fit_ = fit
        self.n_components_ = 1 if fit.x.ndim == 1 else fit.x.shape[1]
        self.embedding_ = fit.x
        self.alpha_ = fit.alpha[np.maximum(fit.label, 0)]
        self.phi_, self.noise_var_, self.mean_ = fit.phi, fit.noise_var, fit.mean
        self.label_ = fit.label
        self.log_posterior_, self.log_score_, self.n_iter_ = fit.log_posterior, fit.log_score, fit.n_iter
        self.evidence_ = dict(fit.evidence)
        self.kernel_, self.init_ = fit.kernel.name, fit.start
        self.r_, self.corp_active_ = fit.r, bool(fit.r > 0)
        self.collapsed_ = self.ambiguous_ = False

    def _fit_curve(self, frames: Block, options: Options) -> None:
        """Fit a curve with the positions integrated out, or at their mode where that is enough."""
        if self.marginal not in ("auto", True, False):
            raise InputError(f"marginal must be 'auto', True or False, got {self.marginal!r}")
        robust = options.noise == "student"
        each = isinstance(options.noise_var, np.ndarray)
        found: MarginalPosterior | Options = options
        if not (self.marginal is False or self.recipe == "paper" or not options.learn_x or each):
            found = fit_marginal(frames, options, always=robust or self.marginal is True)
        elif robust:
            raise InputError(
                "noise 'student' needs positions that are learnt and integrated out and one noise variance for "
                "all pixels; leave out marginal, learn_x and noise_var"
            )
        if isinstance(found, Options):
            self._adopt(CurvePosterior(fit_curve(columns_of(frames), len(frames), found)))
        elif found.marginal.collapsed and self.marginal == "auto" and not robust:
            # Whoever asks for a curve has reason to expect one: the mode may find it where noise explains as much.
            self._adopt(CurvePosterior(fit_curve(columns_of(frames), len(frames), options)))
            noise_sd = np.sqrt(self.noise_var_.sum())
            self.collapsed_ = bool(np.linalg.norm(np.ptp(self.curve()[1], axis=0)) < noise_sd)
            self.ambiguous_ = not self.collapsed_
        else:
            self.marginal_ = found.marginal
            self._adopt(found)
            self.collapsed_, self.ambiguous_ = found.marginal.collapsed, found.marginal.ambiguous

    # -- the curve ---------------------------------------------------------------------------------

    def posterior_weights(self, x: ArrayLike) -> Weights:
        """Posterior at positions ``x``, (m,) or (m, n_components), as weights for streamed pixels: see :class:`Weights`."""
        check_is_fitted(self, "fit_")
        return self._posterior.weights(np.asarray(x, dtype=np.float64))

    def inverse_transform(self, x: ArrayLike, return_std: bool = False, *, noise: bool = False) -> Any:
        """Mean of the curve at positions ``x``, (m,) or (m, n_components): (m, n_pixels); with its sd if asked.

        ``noise=True`` gives the sd of a new noisy frame instead.
        """
        frames = self._trained()
        mean, sd = self.posterior_weights(x).apply(frames, sd=return_std, noise=noise)
        return (mean, sd) if return_std else mean

    def curve(self, n_points: int = 500) -> tuple[Array, Block]:
        """Grid of positions (n_points,) over the span of the data and the mean curve there."""
        frames = self._trained()
        self._only_curves("curve")
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
        self._only_curves("band")
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
        """One draw (m, n_pixels) from the posterior predictive at ``x``, (m,) or (m, n_components), jointly over x."""
        frames = self._trained()
        at = positions(np.asarray(x), self.embedding_.shape[1:])
        return self._posterior.sample(at, frames, self._rng(random_state), noise=noise)


def warn_of(model: ElectroGP) -> None:
    """Say where a fit is not to be relied on."""
    if model.collapsed_:
        text = "the curve collapsed to a point: noise explains the data as well; give more data, or known noise_var"
    elif model.ambiguous_:
        text = "another curve, or noise alone, is about as probable; give more data, or init"
    else:
        return
    warnings.warn(text, ConvergenceWarning, stacklevel=3)
