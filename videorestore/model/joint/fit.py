"""Fit of the electroGP: start, hyper-parameters given the start, joint posterior mode, groups of pixels.

The steps of section 3.1 of the paper, with the pixels seen only through Gram matrices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError, NumericalError
from videorestore.model.covariance import KERNELS, Array, kernel_named
from videorestore.model.gram import Stream, first_pass
from videorestore.model.joint.centred import Belief, Pixels
from videorestore.model.joint.evidence import held_out_evidence, log_score, share_of
from videorestore.model.joint.group import Group
from videorestore.model.joint.mode import Mode, optimise
from videorestore.model.joint.objective import Posterior, spread_between
from videorestore.model.joint.pixels import sort_pixels
from videorestore.model.options import Options
from videorestore.model.outcome import CurveFit
from videorestore.model.starts import METHODS, order_from, orient, ranks, same_order, scaled_positions

Indices = NDArray[np.intp]

FEW = 8
"""Pixels up to which each has its own hyper-parameters in the joint mode."""
TEMPERINGS = 2
"""Times that the repulsion is weighed and the mode found with it."""
EM_ROUNDS, EM_REST = 20, 0.01
"""Times at most that missing values are filled and the curve fitted again, before pixels are grouped, and relative change
of the hyper-parameters at which that ends."""
RUN = 3
"""Neighbouring frames that are left out together to choose the kernel: a single one is told by its neighbours whatever
the kernel says of frames farther away, by which a hole is measured."""
MOST_FOR_WAYS = 2000
"""Frames up to which starts are tried that need the shortest ways between all pairs."""


def fit_curve(stream: Stream, n: int, options: Options) -> CurveFit:
    """Fit a curve to ``n`` frames whose pixels come as a stream of blocks (n, k), NaN = missing."""
    return _Fit(stream, n, options).run()


class _Fit:
    """One fit; keeps what its steps share.

    ``label`` (d,) is the group of each pixel, -1 where it never changes, ``phi`` (d,) what it was divided by before it
    entered its group's Gram matrix.
    """

    def __init__(self, stream: Stream, n: int, options: Options) -> None:
        options.check(n)
        self.options = options
        noise = options.noise_var
        scale = None if noise is None else np.sqrt(noise)
        self.scale: float | Array | None = float(scale) if scale is not None and not scale.ndim else scale
        self.noise = None if noise is None else 1.0
        facts = first_pass(stream, n, self.scale)
        facts.check()
        _, first, index = np.unique(facts.codes, return_index=True, return_inverse=True)
        rows = np.sort(first)
        self.index: Indices = np.argsort(np.argsort(first))[index.reshape(-1)]
        if rows.size < 3:
            raise InputError(f"a curve needs at least 3 different frames, got {rows.size}; add frames")
        self.facts = facts
        self.pixels = Pixels(stream=stream, n=n, facts=facts, rows=rows, scale=self.scale)
        self.u = rows.size
        self.label: Indices = np.where(facts.active, 0, -1).astype(np.intp)
        self.phi: Array | None = None

    def run(self) -> CurveFit:
        options, rows = self.options, self.pixels.rows
        at = np.ix_(rows, rows)
        every = Group(gram=self.facts.gram[at], size=float(self.facts.active.sum()), noise_var=self.noise)
        first = kernel_named(next(iter(KERNELS)) if options.kernel == "auto" else options.kernel)
        posterior = Posterior(
            groups=[every],
            n=self.u,
            kernel=first,
            r=options.base_r,
            periodic=options.periodic,
            noise_floor=options.noise_floor,
            between=None if options.numbers is None else spread_between(options.numbers[rows]),
        )
        name, x = self._start(posterior, self.facts.distance[at])
        mode = self._tempered(self._optimise("shared", Mode.at(posterior, x)))
        if not self.facts.complete:
            mode = self._complete(mode)
        tried = {first.name: mode}
        if options.kernel == "auto":
            for other, kernel in KERNELS.items():
                if other != first.name:
                    start = Mode.at(replace(mode.posterior, kernel=kernel), mode.x)
                    tried[other] = self._tempered(self._optimise(other, replace(start, n_iter=mode.n_iter)))
        evidence = {kernel: log_score(one, RUN) for kernel, one in tried.items()}
        mode = tried[max(evidence, key=lambda k: evidence[k])]
        if options.hyper != "shared":
            mode = self._single(mode) if self.facts.active.sum() <= FEW else self._own(mode)
        return self._finish(name, evidence, mode)

    # -- the steps ---------------------------------------------------------------------------------

    def _start(self, posterior: Posterior, distance: Array) -> tuple[str, Array]:
        """Order to start from, as positions (u,) of the frames that count."""
        options = self.options
        init, periodic = options.init, options.periodic
        if not isinstance(init, str):
            return "given", scaled_positions(init[self.pixels.rows])
        if not options.anywhere:
            return init, ranks(np.argsort(order_from(init, distance, options.n_neighbors, periodic)))
        orders: dict[str, Indices] = {}
        for method in ("order", *METHODS):
            if method in ("isomap", "chain") and self.u > MOST_FOR_WAYS:
                continue
            order = order_from(method, distance, options.n_neighbors, periodic)
            if not any(same_order(order, other, periodic) for other in orders.values()):
                orders[method] = order
        scores = {}
        for method, order in orders.items() if len(orders) > 1 else ():
            scores[method] = held_out_evidence(posterior.groups[0], order, posterior, options)
            self._tell("start:" + method, 0, scores[method])
        best = max(orders, key=lambda m: scores.get(m, 0.0))
        return best, ranks(np.argsort(orders[best]))

    def _optimise(self, stage: str, mode: Mode, *, max_iter: int | None = None, warm: bool = False) -> Mode:
        return optimise(
            mode, self.options, max_iter=max_iter, warm=warm, tell=lambda i, v: self._tell(stage, i, v)
        )

    def _tempered(self, mode: Mode) -> Mode:
        """Repulsion in proportion to the likelihood that it is weighed against, and the mode with it.

        Pixels that go together make the likelihood too sure of itself. To take it to the power of the share of
        pixels that count is to divide the repulsion by it.
        """
        options = self.options
        for _ in range(TEMPERINGS if options.learn_x and options.temper and options.base_r > 0 else 0):
            weighed = replace(mode.posterior, r=options.base_r / share_of(mode))
            mode = self._optimise("repulsion", replace(mode, posterior=weighed), warm=True)
        return mode

    def _complete(self, mode: Mode) -> Mode:
        """EM: fill missing values from the present fit, fit again."""
        for stage in range(EM_ROUNDS):
            self._believe(mode)
            before = np.append(mode.alpha, mode.ratio)
            mode = replace(mode, posterior=replace(mode.posterior, groups=self._groups(1)))
            mode = self._optimise(f"fill {stage + 1}", mode, max_iter=30, warm=True)
            if np.abs(np.log(np.append(mode.alpha, mode.ratio) / before)).max() < EM_REST:
                break
        self._believe(mode)
        return mode

    def _believe(self, mode: Mode) -> None:
        """Keep what the present fit says about missing values."""
        if not self.facts.complete:
            inverse = np.stack([mode.inverse(g) for g in range(mode.ratio.size)])
            phi = mode.phi()[np.maximum(self.label, 0)] * (1.0 if self.phi is None else self.phi)
            self.pixels = replace(self.pixels, belief=Belief(label=self.label, phi=phi, inverse=inverse))

    def _groups(self, count: int) -> list[Group]:
        """Gram matrices of the present groups of pixels, each with its own alpha."""
        grams, sizes = self.pixels.grams(lambda _, columns: (self.label[columns], None), count)
        return [
            Group(gram=grams[g], size=float(sizes[g]), shape=g, noise_var=self.noise) for g in range(count)
        ]

    def _single(self, mode: Mode) -> Mode:
        """Few pixels: each has its own alpha, phi and noise in the joint mode, as the paper has it."""
        active = self.facts.active
        count = int(active.sum())
        self.label = np.where(active, np.cumsum(active) - 1, -1).astype(np.intp)
        own = replace(mode.posterior, groups=self._groups(count))
        alpha, ratio = np.full(count, mode.alpha[0]), np.full(count, mode.ratio[0])
        return self._optimise("pixel", replace(mode, posterior=own, alpha=alpha, ratio=ratio), warm=True)

    def _own(self, mode: Mode) -> Mode:
        """Many pixels: each has its own phi, and the alpha and noise ratio that suit it, at the positions of all."""
        found = sort_pixels(self.pixels, mode.posterior, mode.x, float(mode.alpha[0]), noise_var=self.noise)
        self.label, self.phi = found.label, found.phi if self.noise is None else None
        posterior = replace(mode.posterior, groups=found.groups)
        return replace(mode, posterior=posterior, alpha=found.alpha, ratio=found.ratio)

    def _finish(self, name: str, evidence: dict[str, float], mode: Mode) -> CurveFit:
        active, scale, posterior = self.facts.active, self.scale, mode.posterior
        value, _, _ = posterior.evaluate(mode.x, mode.alpha, mode.ratio)
        # Pixels were divided by these before: per value the density is so much lower.
        divided = np.ones(active.size)
        if self.phi is not None:
            divided[active] = np.sqrt(self.phi[active])
        if scale is not None:
            divided = divided * scale
        spread = float((self.pixels.seen * np.log(divided))[active].sum())
        label = np.maximum(self.label, 0)
        phi = np.where(active, mode.phi()[label] * np.square(divided), 0.0)
        noise = phi * mode.ratio[label] if scale is None else np.full(phi.size, np.square(scale))
        if not np.isfinite(value):
            raise NumericalError("the fit has no finite posterior; rescale the data or raise noise_floor")
        return CurveFit(
            x=orient(mode.x[self.index], self.options.periodic),
            rows=self.pixels.rows,
            index=self.index,
            kernel=posterior.kernel,
            periodic=posterior.periodic,
            r=posterior.r,
            alpha=mode.alpha[[g.shape for g in posterior.groups]],
            ratio=mode.ratio,
            label=self.label.astype(np.int16),
            phi=phi,
            noise_var=noise,
            mean=self.facts.mean * (1.0 if scale is None else scale),
            log_posterior=-value - spread,
            log_score=log_score(mode) - spread / posterior.values,
            n_iter=mode.n_iter,
            start=name,
            evidence=evidence,
        )

    def _tell(self, stage: str, iteration: int, value: float) -> None:
        if self.options.callback is not None:
            self.options.callback(stage, iteration, value)
