"""Fit of the electroGP: start, hyper-parameters given the start, joint posterior mode, groups of pixels.

The steps of section 3.1 of the paper, with the pixels seen only through Gram matrices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError, NumericalError
from videorestore.model.checks import check_facts, check_options
from videorestore.model.covariance import KERNELS, Kernel, covariance, kernel_named
from videorestore.model.gram import Stream, first_pass
from videorestore.model.joint.centred import Belief, Pixels
from videorestore.model.joint.evidence import base_r, effective_share, held_out_evidence, log_score
from videorestore.model.joint.mode import optimise, start_hyper
from videorestore.model.joint.objective import Group, Part, Posterior, inverse_and_logdet, permuted
from videorestore.model.joint.pixels import SPREAD
from videorestore.model.joint.regroup import Sorting, group_pixels, sort_pixels
from videorestore.model.outcome import CurveFit, Options
from videorestore.model.starts import METHODS, order_from, orient, ranks, same_order

__all__ = ["CurveFit", "Options", "fit_curve"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SLACK = 1.02
"""Positions fitted to loud pixels follow their noise a little, which lowers the error in sample."""
TEMPERINGS = 2
"""Times that the repulsion is weighed and the mode found with it."""
EM_ROUNDS = 5
"""Times that missing values are filled and the curve fitted again, before pixels are grouped."""


def fit_curve(stream: Stream, n: int, options: Options) -> CurveFit:
    """Fit a curve to ``n`` frames whose pixels come as a stream of blocks (n, k), NaN = missing."""
    return _Fit(stream, n, options).run()


class _Fit:
    """One fit; keeps what its steps share."""

    def __init__(self, stream: Stream, n: int, options: Options) -> None:
        check_options(options, n)
        self.options = options
        self.n = n
        noise = options.noise_var
        scale: float | Array | None = None
        if noise is not None:
            scale = np.sqrt(noise) if isinstance(noise, np.ndarray) else float(np.sqrt(noise))
        self.noise = None if noise is None else 1.0
        facts = first_pass(stream, n, scale)
        check_facts(facts, n)
        _, first, index = np.unique(facts.codes, return_index=True, return_inverse=True)
        rows = np.sort(first)
        place = np.argsort(np.argsort(first))
        self.index: Indices = place[index.reshape(-1)]
        self.rows = rows
        if rows.size < 3:
            raise InputError(f"a curve needs at least 3 different frames, got {rows.size}; add frames")
        self.facts = facts
        self.pixels = Pixels(stream=stream, n=n, facts=facts, rows=rows, scale=scale)
        self.u = rows.size
        self.distance = facts.distance[np.ix_(rows, rows)]
        self.iterations = 0

    # -- the steps ---------------------------------------------------------------------------------

    def run(self) -> CurveFit:
        options = self.options
        shared = self._shared_groups()
        first = kernel_named(next(iter(KERNELS)) if options.kernel == "auto" else options.kernel)
        name, x = self._start(shared, first)
        posterior = self._posterior(shared, first)
        x, alpha, ratio = self._optimise("shared", posterior, x, None, None)
        posterior, x, alpha, ratio = self._tempered(posterior, x, alpha, ratio)
        if not self.facts.complete:
            posterior, x, alpha, ratio = self._complete(posterior, x, alpha, ratio)
        evidence: dict[str, float] = {first.name: log_score(posterior, x, alpha, ratio)}
        if options.kernel == "auto":
            tried: dict[str, tuple[Posterior, Array, Array, Array]] = {
                first.name: (posterior, x, alpha, ratio)
            }
            for name_of, kernel in KERNELS.items():
                if name_of == first.name:
                    continue
                other = replace(posterior, kernel=kernel)
                tried[name_of] = self._tempered(other, *self._optimise(name_of, other, x, None, None))
                evidence[name_of] = log_score(*tried[name_of])
            best = max(KERNELS, key=lambda k: evidence[k])
            posterior, x, alpha, ratio = tried[best]
        if options.hyper == "shared":
            return self._finish(name, evidence, posterior, x, alpha, ratio, None)
        if self.facts.active.sum() <= options.n_groups:
            posterior, x, alpha, ratio, label = self._single(posterior, x, alpha, ratio)
            return self._finish(name, evidence, posterior, x, alpha, ratio, label)
        return self._regroup(name, evidence, posterior, x, alpha, ratio)

    def _posterior(self, groups: list[Group], kernel: Kernel) -> Posterior:
        o = self.options
        return Posterior(
            groups=groups,
            n=self.u,
            kernel=kernel,
            r=base_r(o),
            periodic=o.periodic,
            noise_floor=o.noise_floor,
        )

    def _tempered(
        self, posterior: Posterior, x: Array, alpha: Array, ratio: Array
    ) -> tuple[Posterior, Array, Array, Array]:
        """Repulsion in proportion to the likelihood that it is weighed against, and the mode with it.

        Pixels that go together make the likelihood too sure of itself. To take it to the power of the share of
        pixels that count is to divide the repulsion by it.
        """
        options = self.options
        if not options.temper or not options.learn_x or base_r(options) == 0:
            return posterior, x, alpha, ratio
        for _ in range(TEMPERINGS):
            share = effective_share(posterior, x, alpha, ratio)
            posterior = replace(posterior, r=base_r(options) / share)
            x, alpha, ratio = self._optimise("repulsion", posterior, x, alpha, ratio)
        return posterior, x, alpha, ratio

    def _shared_groups(self) -> list[Group]:
        """One group of all pixels that change."""
        if self.facts.complete or not self.facts.patterns:
            gram = self.facts.gram[np.ix_(self.rows, self.rows)]
            part = Part(gram=gram, size=float(self.facts.active.sum()))
            return [Group(parts=(part,), noise_var=self.noise)]
        return self._groups(self._one_label(), 1)

    def _one_label(self) -> Indices:
        return np.where(self.facts.active, 0, -1).astype(np.intp)

    def _complete(
        self, posterior: Posterior, x: Array, alpha: Array, ratio: Array
    ) -> tuple[Posterior, Array, Array, Array]:
        """Fill missing values from the present fit; where patterns are many, EM: fit and fill again."""
        label = self._one_label()
        self._believe(posterior, x, alpha, ratio, label, None)
        if self.facts.patterns:
            return posterior, x, alpha, ratio
        for stage in range(EM_ROUNDS):
            posterior = replace(posterior, groups=self._groups(label, 1))
            x, alpha, ratio = self._optimise(f"fill {stage + 1}", posterior, x, alpha, ratio, 30)
            self._believe(posterior, x, alpha, ratio, label, None)
        return posterior, x, alpha, ratio

    def _believe(
        self, posterior: Posterior, x: Array, alpha: Array, ratio: Array, label: Indices, phi: Array | None
    ) -> None:
        """Keep what the present fit says about missing values."""
        if self.facts.complete:
            return
        inverse = np.empty((ratio.size, self.u, self.u))
        for g, group in enumerate(posterior.groups):
            e = covariance(posterior.kernel, x, x, float(alpha[group.shape]), posterior.periodic)
            e.flat[:: self.u + 1] += ratio[g]
            found, _ = inverse_and_logdet(e)
            if found is None:
                raise NumericalError("the covariance of the frames is singular; raise noise_floor")
            inverse[g] = found
        own = posterior.profile_phi(x, alpha, ratio)[np.maximum(label, 0)] * (1.0 if phi is None else phi)
        self.pixels = replace(self.pixels, belief=Belief(label=label, phi=own, inverse=inverse))

    def _groups(self, label: Indices, count: int) -> list[Group]:
        """Gram matrices of ``count`` groups of pixels, each with its own alpha."""
        parts = group_pixels(self.pixels, lambda _, columns: (label[columns], None), count)
        return [Group(parts=tuple(p), shape=g, noise_var=self.noise) for g, p in enumerate(parts)]

    def _start(self, shared: list[Group], kernel: Kernel) -> tuple[str, Array]:
        """Order to start from, as positions (u,) of the frames that count."""
        options = self.options
        init = options.init
        if not isinstance(init, str):
            given = np.asarray(init, dtype=np.float64)[self.rows]
            width = float(np.ptp(given))
            if np.unique(given).size < self.u or width <= 0:
                raise InputError("init positions must differ between different frames; give distinct numbers")
            return "given", 0.5 / self.u + (given - given.min()) / width * (1 - 1.0 / self.u)
        if init != "auto":
            order = order_from(init, self.distance, options.n_neighbors, options.periodic)
            return init, ranks(order)
        orders: dict[str, Indices] = {}
        for method in ("order", *METHODS):
            if method in ("isomap", "chain") and self.u > 2000:
                continue
            order = order_from(method, self.distance, options.n_neighbors, options.periodic)
            if not any(same_order(order, other, options.periodic) for other in orders.values()):
                orders[method] = order
        if len(orders) == 1:
            return "order", ranks(orders["order"])
        gram = self.facts.gram[np.ix_(self.rows, self.rows)]
        scores = {}
        for method, order in orders.items():
            scores[method] = held_out_evidence(
                gram, float(self.facts.active.sum()), order, replace(options, kernel=kernel.name), self.noise
            )
            self._tell("start:" + method, 0, scores[method])
        best = max(orders, key=lambda m: scores[m])
        return best, ranks(orders[best])

    def _optimise(
        self,
        stage: str,
        posterior: Posterior,
        x: Array,
        alpha: Array | None,
        ratio: Array | None,
        max_iter: int | None = None,
        move: bool = True,
    ) -> tuple[Array, Array, Array]:
        """Hyper-parameters given x (step 2), then all together (step 3); positions need not be sorted."""
        order = np.argsort(x, kind="stable")
        ordered = permuted(posterior, order)
        warm = alpha is not None
        if alpha is None or ratio is None:
            alpha, ratio = start_hyper(ordered, x[order])
        moved, alpha, ratio, taken = optimise(
            ordered,
            x[order],
            alpha,
            ratio,
            self.options if move else replace(self.options, learn_x=False),
            max_iter=max_iter,
            warm=warm,
            tell=lambda i, v: self._tell(stage, i, v),
        )
        self.iterations += taken
        out = np.empty(self.u)
        out[order] = moved
        return out, alpha, ratio

    def _single(
        self, posterior: Posterior, x: Array, alpha: Array, ratio: Array
    ) -> tuple[Posterior, Array, Array, Array, Indices]:
        """Few pixels: each has its own alpha, phi and noise in the joint mode, as the paper has it."""
        active = self.facts.active
        label = np.where(active, np.cumsum(active) - 1, -1).astype(np.intp)
        count = int(active.sum())
        groups = self._groups(label, count)
        own = replace(posterior, groups=groups)
        x, alphas, ratio = self._optimise("pixel", own, x, np.full(count, alpha[0]), np.full(count, ratio[0]))
        return own, x, alphas, ratio, label

    def _regroup(
        self,
        name: str,
        evidence: dict[str, float],
        posterior: Posterior,
        x: Array,
        alpha: Array,
        ratio: Array,
    ) -> CurveFit:
        """Many pixels: sort them into groups at the present positions, fit again, repeat."""
        options = self.options
        offered = alpha[0] * np.array([1 / SPREAD, 1.0, SPREAD])
        limit = min(options.n_groups, max(2, int(options.n_groups * 600 / self.u)))
        scaled = options.hyper == "pixel" and self.noise is None
        if self.noise is None:
            # A signal shorter than a gap cannot be told from noise; a group is believed to have one only if all have.
            shortest = max(0.5 * self.u**2, SPREAD * float(alpha[0]))
            posterior = replace(posterior, top_alpha=shortest)
        rounds = max(options.refits, 1)
        for stage in range(rounds):
            found = self._sort(posterior, x, offered, limit, scaled)
            posterior = replace(posterior, groups=found.groups)
            classes, label, phi = found.classes, found.label, found.phi if scaled else None
            name_of_stage = f"regroup {stage + 1}"
            alpha, ratio = self._optimise(
                name_of_stage, posterior, x, classes.alpha, classes.ratio, move=False
            )[1:]
            moved = (
                self._optimise(name_of_stage, posterior, x, alpha, ratio, options.max_iter // 5)
                if options.learn_x
                else (x, alpha, ratio)
            )
            # Weighted by its own noise, a faint pixel counts as much as a strong one, and what faint pixels
            # have in common (light, a shadow) may bend the positions: moved only if frames predict each other
            # about as well as before.
            before = self._error(posterior, x, alpha, ratio, label)
            better = self._error(posterior, *moved, label) <= SLACK * before
            if better:
                x, alpha, ratio = moved
            offered = alpha
            self._believe(posterior, x, alpha, ratio, label, phi)
            if not better and self.facts.complete and stage < rounds - 1:
                # The positions stay, and so would the groups.
                break
        return self._finish(name, evidence, posterior, x, alpha, ratio, label, phi)

    def _sort(self, posterior: Posterior, x: Array, offered: Array, limit: int, scaled: bool) -> Sorting:
        return sort_pixels(
            self.pixels,
            posterior,
            x,
            offered,
            limit=limit,
            seen=self._seen_frames(),
            noise_var=self.noise,
            scaled=scaled,
        )

    def _error(self, posterior: Posterior, x: Array, alpha: Array, ratio: Array, label: Indices) -> float:
        """Mean squared leave-one-out error over the sample of pixels, closed form."""
        sample, columns = self.pixels.sample()
        total = 0.0
        for g, group in enumerate(posterior.groups):
            part = sample[:, label[columns] == g]
            if part.shape[1]:
                e = covariance(posterior.kernel, x, x, float(alpha[group.shape]), posterior.periodic)
                e.flat[:: self.u + 1] += ratio[g]
                inverse, _ = inverse_and_logdet(e)
                if inverse is None:
                    return np.inf
                total += float(np.square(inverse @ part / np.diagonal(inverse)[:, None]).sum())
        return total / sample.size

    def _finish(
        self,
        name: str,
        evidence: dict[str, float],
        posterior: Posterior,
        x: Array,
        alpha: Array,
        ratio: Array,
        label: Indices | None,
        scaled: Array | None = None,
    ) -> CurveFit:
        options = self.options
        active = self.facts.active
        if label is None:
            label = np.where(active, 0, -1).astype(np.intp)
        profile = posterior.profile_phi(x, alpha, ratio)
        shapes = np.array([g.shape for g in posterior.groups])
        value, _, _ = posterior.evaluate(x, alpha, ratio)
        safe = np.maximum(label, 0)
        phi = profile[safe] * (1.0 if scaled is None else scaled)
        noise = phi * ratio[safe]
        log_posterior = -value
        score = log_score(posterior, x, alpha, ratio)
        seen = self._seen_frames()
        if scaled is not None:
            spread = 0.5 * float((seen[active] * np.log(scaled[active])).sum())
            log_posterior -= spread
            score -= spread / posterior.values
        phi, noise = np.where(active, phi, 0.0), np.where(active, noise, 0.0)
        scale = self.pixels.scale
        if scale is not None:
            square = np.square(scale)
            phi, noise = phi * square, np.full(phi.size, 1.0) * square
            spread = float((seen * np.log(scale))[active].sum())
            log_posterior -= spread
            score -= spread / posterior.values
        if not np.isfinite(log_posterior):
            raise NumericalError("the fit has no finite posterior; rescale the data or raise noise_floor")
        return CurveFit(
            x=orient(x[self.index], self.options.periodic),
            rows=self.rows,
            kernel=posterior.kernel,
            periodic=options.periodic,
            r=posterior.r,
            alpha=alpha[shapes],
            ratio=ratio,
            label=label.astype(np.int16),
            phi=phi,
            noise_var=noise,
            mean=self.facts.mean * (1.0 if scale is None else scale),
            log_posterior=float(log_posterior),
            log_score=score,
            n_iter=self.iterations,
            start=name,
            evidence=evidence,
        )

    # -- small things --------------------------------------------------------------------------------

    def _seen_frames(self) -> Array:
        """Distinct frames in which each pixel is seen (d,)."""
        if self.facts.complete:
            return np.full(self.facts.mean.size, float(self.u))
        return np.minimum(self.facts.seen, self.u).astype(np.float64)

    def _tell(self, stage: str, iteration: int, value: float) -> None:
        if self.options.callback is not None:
            self.options.callback(stage, iteration, value)
