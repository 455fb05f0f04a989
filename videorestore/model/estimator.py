"""The electroGP as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.errors import InputError
from videorestore.model.band import Band, uncertainty_band
from videorestore.model.gram import CHUNK, Stream, columns_of
from videorestore.model.integrated.fit import fit_marginal
from videorestore.model.integrated.posterior import MarginalPosterior
from videorestore.model.joint.fit import CurveFit, fit_curve
from videorestore.model.line.fit import fit_line, in_line
from videorestore.model.outcome import Options
from videorestore.model.placing import Placing
from videorestore.model.posterior import CurvePosterior, Weights
from videorestore.model.settings import check_components, options_of, warn_of
from videorestore.model.sheet.fit import Sheet, fit_sheet
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
        ``auto`` takes the one with the best leave-one-out log score. More than 2500 frames in known order are fitted
        in state-space form, with ``hyper="shared"``; there ``se`` and ``auto`` become ``matern52``, see ``kernel_``.
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
    n_components : {1, 2, 3, "auto"}
        Dimension of the positions: 1 is a curve. Beyond, positions lie in a square or cube under the multivariate
        Corp, at their joint mode with shared hyper-parameters. ``auto`` asks the evidence: of neighbourhoods where frames
        have at most 64 values, else of held-out frames.
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
        never changes.
    mean_ : ndarray (n_pixels,)
    log_posterior_ : float
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

    A hole comes back with its width as long as frames on both sides of it go together. Across 45 to 70 degrees of a turning
    texture they do not any more: holes of 8 frames then come back at 0.64 to 0.9 of their width. A clean
    texture has a correlation with a longer tail than ``se``, which the score of single frames may prefer:
    ``kernel="matern52"`` keeps the width there (0.97 to 1.11 where ``se`` has 0.71 to 0.9).

    Missing values (NaN) in ``fit``: up to 8 different patterns of missing frames among the pixels enter
    the likelihood exactly, each on the frames in which it is seen. Beyond, an EM step fills what is
    missing with its conditional mean and adds the conditional covariance, before each round of grouping.
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
        self.n_components = n_components
        self.random_state = random_state
        self.recipe = recipe
        self.noise = noise
        self.temper = temper
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
    sheet_: Sheet

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
        for earlier in ("marginal_", "sheet_"):
            self.__dict__.pop(earlier, None)
        if check_components(self.n_components) != 1:
            self._fit_sheet(frames)
            if self.n_components_ > 1:
                return self
        options = options_of(self)
        if in_line(frames, options):
            self._fit_line(frames, options)
        elif not self._fit_marginal(frames):
            self._fit_stream(columns_of(frames), frames.shape[0])
        return self

    def _fit_line(self, frames: Block, options: Options) -> None:
        """Fit a long film in known order, in state-space form."""
        with one_thread():
            fit, posterior = fit_line(frames, options)
        self._adopt(fit)
        self._posterior = posterior

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
        with one_thread():
            fit = fit_curve(chunks, n, options_of(self))
        self._adopt(fit)

    def _adopt(self, fit: CurveFit) -> None:
        """Take over what a fit has learnt."""
        self.fit_ = fit
        self.n_components_ = 1
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
        self.r_ = fit.r
        self.corp_active_ = bool(fit.r > 0)
        self.collapsed_ = self.ambiguous_ = False
        self.init_ = fit.start
        self.n_iter_ = fit.n_iter
        self._posterior: CurvePosterior = CurvePosterior(fit)

    def _fit_sheet(self, frames: Block) -> None:
        """Fit positions of more than one dimension; ``auto`` may find that one is enough."""
        with one_thread():
            sheet = fit_sheet(frames, options_of(self), check_components(self.n_components))
        self.n_components_ = sheet.x.shape[1]
        if self.n_components_ == 1:
            return
        self.sheet_ = sheet
        self.fit_ = sheet
        self.embedding_, self.mean_, self.kernel_ = sheet.x, sheet.mean, sheet.kernel.name
        self.alpha_ = sheet.alpha
        self.phi_ = np.full(sheet.mean.size, sheet.phi)
        self.noise_var_ = np.full(sheet.mean.size, sheet.phi * sheet.ratio)
        self.log_posterior_, self.log_score_, self.n_iter_ = (
            sheet.log_posterior,
            sheet.log_score,
            sheet.n_iter,
        )
        self.r_, self.corp_active_ = sheet.r, bool(sheet.r > 0)
        self.collapsed_ = self.ambiguous_ = False

    def _fit_marginal(self, frames: Block) -> bool:
        """Fit with the positions integrated out where dimensions are few; False where the mode is enough."""
        noise: Any = self.noise_var
        if self.marginal not in ("auto", True, False):
            raise InputError(f"marginal must be 'auto', True or False, got {self.marginal!r}")
        robust = self.noise == "student"
        if self.marginal is False or self.recipe == "paper" or not self.learn_x or np.ndim(noise) > 0:
            if robust:
                raise InputError(
                    "noise 'student' needs positions that are learnt and integrated out and one noise variance for "
                    "all pixels; leave out marginal, learn_x and noise_var"
                )
            return False
        with one_thread():
            found = fit_marginal(frames, options_of(self), always=robust or self.marginal is True)
        if found is None:
            return False
        self.marginal_, fit = found
        if self.marginal_.collapsed and self.marginal == "auto" and not robust:
            # Whoever asks for a curve has reason to expect one: the mode may find it where noise explains as much.
            self._fit_stream(columns_of(frames), frames.shape[0])
            noise_sd = np.sqrt(self.noise_var_.sum())
            self.collapsed_ = bool(np.linalg.norm(np.ptp(self.curve()[1], axis=0)) < noise_sd)
            self.ambiguous_ = not self.collapsed_
            del self.marginal_
        else:
            self._adopt(fit)
            self._posterior = MarginalPosterior(self.marginal_, fit)
            self.collapsed_, self.ambiguous_ = self.marginal_.collapsed, self.marginal_.ambiguous
        warn_of(self)
        return True

    # -- the curve ---------------------------------------------------------------------------------

    def posterior_weights(self, x: ArrayLike) -> Weights:
        """Posterior at positions ``x`` (m,) as weights for streamed pixels: see :class:`Weights`."""
        self._only_curves("posterior_weights")
        return self._posterior.weights(np.asarray(x, dtype=np.float64))

    def inverse_transform(self, x: ArrayLike, return_std: bool = False, *, noise: bool = False) -> Any:
        """Mean of the curve at positions ``x``, (m,) or (m, n_components): (m, n_pixels); with its sd if asked.

        ``noise=True`` gives the sd of a new noisy frame instead.
        """
        frames = self._trained()
        if not self._curved:
            at = np.asarray(x, dtype=np.float64).reshape(-1, self.n_components_)
            mean, sd = self.sheet_.predict(frames, at, noise)
            return (mean, sd) if return_std else mean
        with one_thread():
            mean, sd = self.posterior_weights(np.ravel(x)).apply(frames, sd=return_std, noise=noise)
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
        """One draw (m, n_pixels) from the posterior predictive at ``x`` (m,), jointly over x."""
        frames = self._trained()
        self._only_curves("sample")
        return self._posterior.sample(
            np.ravel(np.asarray(x, float)), frames, self._rng(random_state), noise=noise
        )

    def leave_one_out(self) -> tuple[Block, Block]:
        """Each training frame predicted from the others at its position: mean and sd, noise included."""
        frames = self._trained()
        self._only_curves("leave_one_out")
        mean, sd = self._posterior.leave_one_out(frames)
        back = np.searchsorted(self._posterior.x[np.argsort(self._posterior.x)], self.embedding_)
        index = np.argsort(self._posterior.x)[back]
        return mean[index], sd[index]
