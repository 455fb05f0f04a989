"""Whether the lines of a frame were taken at one time or at two: fields, their order, and pulldown.

A frame holds a top field (even lines) and a bottom field (odd lines). Four weaves are compared for every frame and the
next: its own fields, its bottom field with the next top field, its top field with the next bottom field, the next one's own.
The farther apart in time two fields are, the more their weave combs where things move. How the four differ, but for scale, is
a direction, and every way to store pictures as fields predicts it: progressive frames, interlaced video of either order,
pictures woven one field late, film with 3:2 pulldown. So does which of the two fields changes more: pulldown shows one of
them twice. Both are weighed by their likelihood, along a Markov chain over the rhythm of the film, which an edit may break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.combs import Doubles, centred
from videorestore.spatial.quantiles import normal_cdf

Kind = Literal["progressive", "interlaced", "telecined", "unknown"]
Order = Literal["tff", "bff"]
Times = NDArray[np.int64]

SPREAD = np.radians(12.0)
"""How far the direction of a frame may lie from the predicted one when nothing is noisy (sd); tuned on fields made of eleven
development clips, as are `ALIKE` and `GROWTH`."""

LEAN = 0.15
"""How far the share of the change that one field has may lie from the predicted one when nothing is noisy (sd)."""

STRAY = 0.02
"""Share of frames whose direction means nothing: flashes, dissolves, repeated pictures."""

ALIKE = 0.8
"""How much of an independent witness a frame is: its neighbours show the same motion."""

BREAK, SPLICE = 0.005, 0.12
"""Share of frames behind which an edit breaks the rhythm of a pulldown: to judge whether there is one, and to follow it where
there surely is. Where many edits are thought likely, any pictures that are shown again and again pass for a rhythm that breaks
all the time. Of 2075 pictures of eight clips between ten edits each all but 3 come back, and 8 of the frames made mix two
pictures, most of them single frames between two edits; without edits all 976 come back."""

MANY = 2
"""Periods of the rhythm that are gone where an edit takes many frames."""

GROWTH = (1.5, 1.0, 0.25)
"""Powers of the time between two fields that the energy of their comb grows with: slow, usual and fast motion."""

SURE = 0.9
"""Probability from which on a shot is called by a kind; below, it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to store pictures as fields.

    Attributes
    ----------
    kind : Kind
    order : Order or None
    pulldown : {"3:2", "2:2"} or None
    tops, bottoms : tuple of int
        Time of the pictures that the fields of the frames of one period show.
    period : int
        Frames after which the rhythm repeats.
    step : int
        Time between a frame and the one a period later.
    prior : float
    """

    kind: Kind
    order: Order | None = None
    pulldown: str | None = None
    tops: tuple[int, ...]
    bottoms: tuple[int, ...]
    step: int
    prior: float

    @property
    def period(self) -> int:
        """Frames after which the rhythm repeats."""
        return len(self.tops)

    def _apart(self, here: NDArray[np.int64], there: NDArray[np.int64]) -> tuple[Times, Times]:
        """Time between fields of frames by their numbers from the start of a rhythm; see `distances`."""
        top, bottom = (
            [np.array(shown)[n % self.period] + n // self.period * self.step for n in (here, there)]
            for shown in (self.tops, self.bottoms)
        )
        weaves = (top[0] - bottom[0], bottom[0] - top[1], top[0] - bottom[1], top[1] - bottom[1])
        changes = np.stack([top[1] - top[0], bottom[1] - bottom[0]], axis=-1)
        return np.abs(np.stack(weaves, axis=-1)), changes

    def distances(self) -> tuple[Times, Times]:
        """Time between fields of successive frames.

        Returns
        -------
        weaves : (period, 4)
            Own fields, bottom with next top, top with next bottom, the next one's own.
        changes : (period, 2)
            Both tops, both bottoms.
        """
        here = np.arange(self.period)
        return self._apart(here, here + 1)

    def over_edits(self) -> tuple[Times, Times]:
        """The same for all phases before and behind an edit, ``(period, period, 2, 4 or 2)``: as few frames gone as may be, many."""
        phases = np.arange(self.period)
        here = np.broadcast_to(phases[:, None], (self.period, self.period))
        near = here + 2 + (phases[None] - here - 2) % self.period
        both = [self._apart(here, near + gone * self.period) for gone in (0, MANY)]
        return np.stack([w for w, _ in both], axis=2), np.stack([c for _, c in both], axis=2)


_FILM = ((0, 1, 1, 2, 3), (0, 1, 2, 3, 3))
"""Pictures that the first and the second fields of five frames show under 3:2 pulldown."""

WAYS: tuple[Way, ...] = (
    Way(kind="progressive", tops=(0,), bottoms=(0,), step=2, prior=0.7),
    Way(kind="interlaced", order="tff", tops=(0,), bottoms=(1,), step=2, prior=0.1),
    Way(kind="interlaced", order="bff", tops=(1,), bottoms=(0,), step=2, prior=0.1),
    Way(kind="telecined", order="tff", pulldown="2:2", tops=(0,), bottoms=(2,), step=2, prior=0.02),
    Way(kind="telecined", order="bff", pulldown="2:2", tops=(2,), bottoms=(0,), step=2, prior=0.02),
    Way(kind="telecined", order="tff", pulldown="3:2", tops=_FILM[0], bottoms=_FILM[1], step=4, prior=0.03),
    Way(kind="telecined", order="bff", pulldown="3:2", tops=_FILM[1], bottoms=_FILM[0], step=4, prior=0.03),
)
"""What is possible. Priors: of clips that people hand in, most are progressive; a wrong guess costs more than a missed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the fields of some frames are.

    Attributes
    ----------
    kind : Kind
        "unknown" where nothing moves enough to tell.
    order : Order or None
        Of an unknown kind: which is likelier, if it is interlaced.
    pulldown : {"3:2", "2:2"} or None
    probability : float
        Of kind and order; of an unknown kind that of the likeliest one.
    phases : tuple of int
        Where telecined: place of every frame in the rhythm of its pulldown.
    edits : tuple of int
        Places in ``phases`` of the frames before which the film was cut.
    leans : Kind
        Where unknown: the kind that is likely all the same, or "unknown".
    """

    kind: Kind
    order: Order | None = None
    pulldown: str | None = None
    probability: float = 1.0
    phases: tuple[int, ...] = ()
    edits: tuple[int, ...] = ()
    leans: Kind = "unknown"

    @property
    def way(self) -> Way:
        """The way that it names."""
        return next(
            w for w in WAYS if (w.kind, w.order, w.pulldown) == (self.kind, self.order, self.pulldown)
        )


def _with_shared(seen: Doubles) -> Doubles:
    """What is seen with the error that all frames of a shot may share in the sd of each: many frames do not lessen it."""
    seen = seen.copy()
    for one in (4, 7):
        seen[:, one] = np.hypot(seen[:, one], np.sqrt(len(seen)) * seen[:, one + 1])
    return seen


def _log_direction(seen: Doubles, weaves: Times, growth: float) -> Doubles:
    """Log likelihood ratio ``(n, ...)`` of frames ``(n, SEEN)`` by times between woven fields ``(..., 4)``, against no rule."""
    combs = centred(np.where(weaves > 0, weaves.astype(np.float64) ** growth, 0.0))
    strength = np.sqrt(np.square(seen[:, :4]).sum(axis=1))
    spread = np.square(SPREAD) + np.square(seen[:, 4] / np.maximum(strength, 1e-9))
    cosine = np.tensordot(
        seen[:, :4] / np.maximum(strength, 1e-9)[:, None],
        combs / np.sqrt(np.square(combs).sum(axis=-1, keepdims=True)),
        (1, -1),
    )
    # The density of von Mises and Fisher over that of the sphere.
    focus = (1.0 / spread).reshape(-1, *(1,) * (combs.ndim - 1))
    ratio = -2.0 * focus / np.expm1(-2.0 * focus) * np.exp(focus * (cosine - 1.0))
    return np.asarray(ALIKE * np.log((1.0 - STRAY) * ratio + STRAY))


def _log_lean(seen: Doubles, changes: Times, growth: float) -> Doubles:
    """Log likelihood ratio ``(n, ...)`` of frames ``(n, SEEN)`` by times between fields of a parity ``(..., 2)``."""
    grown = np.where(changes > 0, changes.astype(np.float64) ** growth, 0.0)
    leans = (grown[..., 0] - grown[..., 1]) / grown.sum(axis=-1)
    shape = (-1, *(1,) * leans.ndim)
    sd = np.hypot(LEAN, seen[:, 7]).reshape(shape)
    low, at, high = ((edge - leans) / sd for edge in (-1.0, seen[:, 6].reshape(shape), 1.0))
    # A normal density between -1 and 1 over the even one.
    ratio = (
        2.0 * np.exp(-0.5 * np.square(at)) / np.sqrt(2.0 * np.pi) / sd / (normal_cdf(high) - normal_cdf(low))
    )
    return np.asarray(ALIKE * np.log((1.0 - STRAY) * ratio + STRAY))


def _steps(seen: Doubles, way: Way, growth: float, edited: float) -> tuple[Doubles, NDArray[np.bool_]]:
    """Log probability ``(n, period, period)`` of each phase after each, with what is seen of both frames; which are edits, of which
    there is an ``edited`` share."""
    goes_on, cut = (
        _log_direction(seen, weaves, growth) + _log_lean(seen, changes, growth)
        for weaves, changes in (way.distances(), way.over_edits())
    )
    if way.period == 1:
        return goes_on[:, :, None], np.zeros((len(seen), 1, 1), np.bool_)
    steps = np.log(edited / way.period / 2) + np.logaddexp.reduce(cut, axis=3)
    edits = np.ones(steps.shape, np.bool_)
    here = np.arange(way.period)
    after = (here + 1) % way.period
    edits[:, here, after] = steps[:, here, after] > np.log(1.0 - edited) + goes_on
    steps[:, here, after] = np.maximum(steps[:, here, after], np.log(1.0 - edited) + goes_on)
    return steps, edits


def _along(steps: Doubles) -> float:
    """Log evidence of a rhythm by its `_steps`."""
    if steps.shape[1] == 1:
        return float(steps.sum())
    state = np.full(steps.shape[1], -np.log(steps.shape[1]))
    for step in steps:
        state = np.logaddexp.reduce(state[:, None] + step, axis=0)
    return float(np.logaddexp.reduce(state))


def evidence(seen: Doubles, way: Way) -> float:
    """Log evidence of a way for the frames of a shot ``(n, SEEN)``, its rhythm unknown and possibly broken."""
    logs = [_along(_steps(seen, way, growth, BREAK)[0]) for growth in GROWTH]
    return float(np.logaddexp.reduce(logs) - np.log(len(GROWTH)))


def judge_shot(seen: Doubles) -> Verdict:
    """What the fields of a shot are, by the directions ``(n, SEEN)`` of its frames."""
    likelihood = np.array([evidence(_with_shared(seen), way) for way in WAYS])
    priors = np.array([way.prior for way in WAYS])
    # What is usual does not make sure: a progressive clip must be so even if it were no more usual than an interlaced one.
    odds, wary = (
        np.exp(logs - np.logaddexp.reduce(logs))
        for logs in (likelihood + np.log(priors), likelihood + np.log(np.minimum(priors, WAYS[1].prior)))
    )
    best = int(np.argmax(odds))
    way = WAYS[best]
    kind: Kind = way.kind if min(odds[best], wary[best]) >= SURE else "unknown"
    if kind == "unknown":
        leans: Kind = way.kind if odds[best] >= SURE else "unknown"
        order = max(WAYS[1:3], key=lambda way: likelihood[WAYS.index(way)]).order
        return Verdict(kind="unknown", order=order, probability=float(odds[best]), leans=leans)
    phases, edits = rhythm(seen, way) if kind == "telecined" else ((), ())
    return Verdict(
        kind=kind,
        order=way.order,
        pulldown=way.pulldown,
        probability=float(odds[best]),
        phases=phases,
        edits=edits,
    )


def rhythm(seen: Doubles, way: Way) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Likeliest phases of the frames of a shot, one more than of ``seen``, and before which of them it was cut: Viterbi's path."""
    if way.period == 1:
        return (0,) * (len(seen) + 1), ()
    steps, edits = max(
        (_steps(seen, way, growth, SPLICE) for growth in GROWTH), key=lambda found: _along(found[0])
    )
    state = np.zeros(way.period)
    back = []
    for step in steps:
        reached = state[:, None] + step
        back.append(reached.argmax(axis=0))
        state = reached.max(axis=0)
    phases = [int(np.argmax(state))]
    for came in reversed(back):
        phases.append(int(came[phases[-1]]))
    phases.reverse()
    cut = [n + 1 for n, (one, two) in enumerate(zip(phases, phases[1:])) if edits[n, one, two]]
    return tuple(phases), tuple(cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What the fields of a clip are, shot by shot.

    Attributes
    ----------
    shots : tuple of ((start, stop), Verdict)
    """

    shots: tuple[tuple[tuple[int, int], Verdict], ...] = ()

    @property
    def whole(self) -> Verdict:
        """The verdict that most frames of known kind have; progressive, at even odds, where none is known."""
        lengths: dict[tuple[Kind, Order | None, str | None], list[float]] = {}
        for (start, stop), verdict in self.shots:
            if verdict.kind != "unknown":
                entry = lengths.setdefault((verdict.kind, verdict.order, verdict.pulldown), [0.0, 0.0])
                entry[0] += stop - start
                entry[1] += (stop - start) * verdict.probability
        if not lengths:
            return Verdict(kind="progressive", probability=0.5)
        (kind, order, pulldown), (frames, weighed) = max(lengths.items(), key=lambda item: item[1][0])
        return Verdict(kind=kind, order=order, pulldown=pulldown, probability=weighed / frames)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of the shots that are known."""
        return frozenset(verdict.kind for _, verdict in self.shots if verdict.kind != "unknown")

    @property
    def progressive(self) -> bool:
        """Nothing but progressive frames was found."""
        return self.kinds <= {"progressive"}

    def settled(self) -> tuple[tuple[tuple[int, int], Verdict], ...]:
        """The shots, those of unknown kind taken for what the whole clip is, unless they seem progressive."""
        whole, left = self.whole, Verdict(kind="progressive", probability=0.5)
        own = {"unknown": whole, "interlaced": whole, "telecined": whole, "progressive": left}
        return tuple((span, own[v.leans] if v.kind == "unknown" else v) for span, v in self.shots)

    def record(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        whole = self.whole
        kind = whole.kind if len(self.kinds) < 2 else "mixed"
        return {
            "kind": kind,
            **_plain(whole),
            "shots": [{"start": a, "stop": b, "kind": v.kind, **_plain(v)} for (a, b), v in self.shots],
        }


def _plain(verdict: Verdict) -> dict[str, object]:
    entry: dict[str, object] = {"probability": round(verdict.probability, 4)}
    if verdict.order is not None and verdict.kind != "unknown":
        entry["order"] = verdict.order
    if verdict.pulldown is not None:
        entry["pulldown"] = verdict.pulldown
    return entry


def judge_shots(seen: Doubles, shots: Sequence[tuple[int, int]], first: int = 0) -> Fields:
    """Verdicts of all shots by the directions ``(n - 1, SEEN)`` of frames ``first`` and on with their next ones."""
    return Fields(shots=tuple(((a, b), judge_shot(seen[a - first : b - 1 - first])) for a, b in shots))
