"""Whether the lines of a frame were taken at one time or at two: fields, their order, and pulldown.

A frame holds a top field (even lines) and a bottom field (odd lines). Every way to store pictures as fields says how far apart in
time the four fields of a frame and the next are: progressive frames, interlaced video of either order, pictures woven one field
late, film with 3:2 pulldown. The farther apart, the more two fields differ where things move; from that follows how their changes
and their comb go together (`combs.direction`), but for how fast that grows, for noise, and for combs that a codec took away. One
likelihood has all of these. It is asked of the whole shot, class by class of motion, and for pulldown of every frame: there it is
weighed along a Markov chain over the rhythm of the film, which an edit may break, against frames in no order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.combs import LOOK, SCATTER, STRENGTHS, Doubles
from videorestore.detect.ways import WAYS, Kind, Numbers, Order, Times, Way

MISFIT, UNEVEN = 0.12, 0.08
"""How far what is seen of a class may lie from what is predicted when nothing is noisy (sd): relative to its motion, and how both
fields change together besides, of which codecs take some. Both, and what follows, by fields made of twelve clips."""

STRAY, ROOM = 0.02, 50.0
"""Share of classes and frames that mean nothing: flashes, dissolves, repeated pictures; and the volume that they spread over."""

AGAIN = 2.0
"""Neighbouring frames that show the same."""

SHARES = np.linspace(0.0, 1.0, 11)
"""Shares of the change of a class that may be motion, of what is not surely so; the rest is noise. None is likelier than another."""

SHOWN = (0.4, 0.6, 0.8, 1.0)
"""Shares of what moves that both fields may show alike; the rest is detail finer than the lines of a field. None is likelier."""

LOUD, CODEC = 2.0, 40.0
"""Change of a class beyond which it is surely motion: times that of quiet blocks, as noise may be so much stronger in other places,
and levels squared that a codec adds where things move."""

GROWTH = ((2.0, 1.5), (1.6, 1.0), (1.3, 0.5), (1.0, 1.0), (0.8, 0.2))
"""Powers of the time between two fields that their difference may grow with, where little changes and where much does: what moves
far looks no less alike than what moves farther."""

CODED = np.geomspace(1.0, 1000.0, 7)
"""Change (levels squared) of which a codec may have taken half of the comb, so that it looks progressive. Of x264 at crf 20 and
MPEG-2 at 6 Mbit/s it is about 5; each is likelier than a stronger one by their ratio."""

WEIGHT = 0.5
"""How much of an independent witness of the rhythm a frame is: its neighbours show the same motion."""

BREAK, SPLICE = 0.005, 0.12
"""Share of frames behind which an edit breaks the rhythm of a pulldown: to judge whether there is one, and to follow it where
there surely is. Where many edits are thought likely, any pictures that are shown again and again pass for a rhythm that breaks
all the time."""

PACES = (0.3, 1.0, 3.0)
"""How fast the film may go on behind the first of its steps that a frame and the next show: motion is uneven."""

EITHER = 0.5
"""Share of the frames that change which would look the same as pictures and as fields, from which on nothing is said."""

RARE = 0.03
"""Prior to which those of more usual ways are cut, to see whether a kind is sure without them."""

SURE = 0.95
"""Probability from which on a shot is called by a kind; below, it is unknown."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """What is not known of a shot besides the way: how differences grow with time (see `GROWTH`), what a codec took (`CODED`), how
    much of what moves both fields show (`SHOWN`)."""

    growth: tuple[float, float]
    coded: float
    shown: float


def predicted(
    weaves: Times, changes: Times, change: Doubles, growth: tuple[float, float]
) -> tuple[Doubles, Doubles]:
    """What `direction` would show without noise ``(n, ..., 4)`` of looks whose blocks ``change`` so much, and how much of a change
    that is ``(n, ...)``; not yet divided by it.

    ``weaves`` (..., 4) and ``changes`` (..., 2) are the times between fields, see `Way.distances`.
    """
    low, high = growth
    place = np.clip(np.log(change / STRENGTHS[0]) / np.log(STRENGTHS[-1] / STRENGTHS[0]), 0.0, 1.0)
    power = (low + (high - low) * place).reshape(-1, *(1,) * weaves.ndim)
    own, forth, across, later = np.moveaxis(np.abs(weaves) ** power, -1, 0)
    top, bottom = np.moveaxis(np.abs(changes) ** power, -1, 0)
    parts = (forth + across - own - later, across - forth, later - own, top - bottom)
    return 0.5 * np.stack(parts, axis=-1), 0.5 * (top + bottom)


def log_density(looks: Doubles, parts: Doubles, coded: Doubles, shown: Doubles, noise: float) -> Doubles:
    """Log density ``(m, n)`` of looks ``(n, LOOK)`` where ``parts`` (n, 4) are predicted for a change of 1 without noise, for
    several `CODED` and `SHOWN` ``(m,)``; the noise is ``noise`` at most."""
    seen, change = looks[:, 2:6], looks[:, 1]
    variance = np.repeat((looks[:, 6] + MISFIT**2 * np.square(seen[:, :2]).sum(axis=1))[:, None], 4, axis=1)
    variance[:, 0] += UNEVEN**2
    # Where a comb was taken away both fields change as one, be it noise or motion.
    taken = (coded[:, None] / (coded[:, None] + change))[..., None]
    rest = seen - taken * np.array([1.0, 0.0, 0.0, 0.0])
    shares = shown[:, None, None] * (1.0 - np.minimum(noise / change, 1.0)[:, None] * (1.0 - SHARES))
    left = rest[:, :, None] - shares[..., None] * ((1.0 - taken) * parts)[:, :, None]
    logs = -0.5 * (np.square(left) / variance[:, None]).sum(axis=3)
    fits = (
        np.logaddexp.reduce(logs, axis=2)
        - np.log(len(SHARES))
        - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
    )
    return np.asarray(np.logaddexp(np.log(1.0 - STRAY) + fits, np.log(STRAY / ROOM)))


def _of_classes(seen: Doubles) -> Doubles:
    """Looks ``(n, m, LOOK)`` at the classes of blocks in the frames of a shot ``(n, SEEN)``."""
    return seen[:, : LOOK * len(STRENGTHS)].reshape(len(seen), len(STRENGTHS), LOOK)


def _looks(seen: Doubles) -> tuple[Doubles, Numbers]:
    """All looks ``(m, LOOK)`` at blocks of a class in the frames of a shot ``(n, SEEN)``, and of which frame each is."""
    every = _of_classes(seen)
    frames, classes = np.nonzero(every[:, :, 0] > 0)
    return every[frames, classes], frames


def most_noise(seen: Doubles) -> float:
    """Change of a block that may be noise, at most, in a shot ``(n, SEEN)``."""
    return LOUD * float(np.median(seen[:, -2])) + CODEC if len(seen) else CODEC


def whole_shot(seen: Doubles) -> Doubles:
    """Looks ``(k, LOOK)`` at each class of blocks over all frames of a shot ``(n, SEEN)``."""
    found = []
    for looks in np.swapaxes(_of_classes(seen), 0, 1):
        looks = looks[looks[:, 0] > 0]
        if not len(looks):
            continue
        changed = looks[:, 0] * looks[:, 1]
        weights = changed / changed.sum()
        mean = weights @ looks[:, 2:6]
        unlike = np.square(looks[:, 2:6] - mean).mean(axis=1) + np.square(0.5 * SCATTER)
        count = looks[:, 0].sum()
        found.append((count, changed.sum() / count, *mean, AGAIN * (np.square(weights) @ unlike)))
    return np.array(found).reshape(-1, LOOK)


def evidence(shot: Doubles, way: Way, noise: float) -> tuple[float, Motion]:
    """Log evidence of a way for a `whole_shot` ``(k, LOOK)``, whatever its phase, and the motion that fits best; see `most_noise`."""
    weaves, changes = way.distances()
    coded, shown = (np.array(column) for column in zip(*product(CODED, SHOWN)))
    found = []
    for growth in GROWTH:
        parts, change = predicted(weaves, changes, shot[:, 1], growth)
        usual = parts.sum(axis=1) / change.sum(axis=1)[:, None]
        found.append(log_density(shot, usual, coded, shown, noise).sum(axis=1) - np.log(coded))
    logs = np.array(found)
    best, of_coded = np.unravel_index(int(np.argmax(logs)), logs.shape)
    motion = Motion(growth=GROWTH[best], coded=float(coded[of_coded]), shown=float(shown[of_coded]))
    return float(np.logaddexp.reduce(logs.ravel()) - np.log(len(GROWTH) * (1.0 / coded).sum())), motion


def _of_frames(seen: Doubles, weaves: Times, changes: Times, motion: Motion) -> Doubles:
    """Log density ``(n, m)`` of the frames of a shot ``(n, SEEN)`` for each of some times between fields ``(m, 4)``, ``(m, 2)``."""
    looks, frames = _looks(seen)
    noise = most_noise(seen)
    logs = np.zeros((len(seen), len(weaves)))
    for k in range(len(weaves)):
        parts, change = predicted(weaves[k], changes[k], looks[:, 1], motion.growth)
        parts = parts / np.maximum(change, 1e-9)[:, None]
        (density,) = log_density(looks, parts, np.array([motion.coded]), np.array([motion.shown]), noise)
        logs[:, k] = np.bincount(frames, density, minlength=len(seen))
    return logs


def in_rhythm(seen: Doubles, way: Way, motion: Motion) -> float:
    """Log evidence of a rhythm, possibly broken, for the frames of a shot ``(n, SEEN)``, over that of frames in no order."""
    if way.period == 1:
        return 0.0
    logs = _of_frames(seen, *_KINDS_OF_PAIRS, motion)
    goes_on = logs[:, _places_of(way)] - (np.logaddexp.reduce(logs, axis=1) - np.log(logs.shape[1]))[:, None]
    state = np.full(way.period, -np.log(way.period))
    for step in goes_on:
        broken = np.logaddexp.reduce(state) + np.log(BREAK / way.period)
        state = np.logaddexp(np.roll(state + step, 1) + np.log(1.0 - BREAK), broken)
    return WEIGHT * float(np.logaddexp.reduce(state))


def _kinds_of_pairs() -> tuple[Times, Times]:
    """All times between fields that any of the `WAYS` has, ``(m, 4)`` and ``(m, 2)``."""
    every = np.concatenate([np.concatenate(way.distances(), axis=1) for way in WAYS])
    unlike = np.unique(every, axis=0)
    return unlike[:, :4], unlike[:, 4:]


_KINDS_OF_PAIRS = _kinds_of_pairs()


def _places_of(way: Way) -> list[int]:
    """Where each phase of a way stands in `_KINDS_OF_PAIRS`."""
    kinds = np.concatenate(_KINDS_OF_PAIRS, axis=1)
    return [
        int(np.flatnonzero((kinds == pair).all(axis=1))[0])
        for pair in np.concatenate(way.distances(), axis=1)
    ]


def judge_shot(seen: Doubles) -> Verdict:
    """What the fields of a shot are, by the directions ``(n, SEEN)`` of its frames."""
    shown = seen[seen.any(axis=1), -1]
    if len(shown) and shown.mean() > EITHER:
        seen = np.zeros_like(seen)
    shot = whole_shot(seen)
    found = [evidence(shot, way, most_noise(seen)) for way in WAYS]
    likelihood = np.array([log + in_rhythm(seen, way, motion) for way, (log, motion) in zip(WAYS, found)])
    # What is usual does not make sure: a kind must be so even if all were as usual as the rarest.
    priors = np.array([way.prior for way in WAYS])
    odds, wary = (
        np.exp(logs - np.logaddexp.reduce(logs))
        for logs in (likelihood + np.log(priors), likelihood + np.log(np.minimum(priors, RARE)))
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


def _at_any_pace(seen: Doubles, apart: Callable[[float], tuple[Times, Times]], motion: Motion) -> Doubles:
    """Log density of the frames of a shot for times between fields ``(..., 4)``, ``(..., 2)``, the film's steps being uneven."""
    logs = []
    for pace in PACES:
        weaves, changes = apart(pace)
        of_frames = _of_frames(seen, weaves.reshape(-1, 4), changes.reshape(-1, 2), motion)
        logs.append(of_frames.reshape(-1, *weaves.shape[:-1]))
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(PACES)))


def _steps(seen: Doubles, way: Way, motion: Motion) -> tuple[Doubles, NDArray[np.bool_]]:
    """Log probability ``(n, period, period)`` of each phase after each, with what is seen of both frames; which are edits."""
    goes_on = np.log(1.0 - SPLICE) + _at_any_pace(seen, way.distances, motion)
    cut = _at_any_pace(seen, way.over_edits, motion)
    steps = np.log(SPLICE / way.period / 2) + np.logaddexp.reduce(cut, axis=3)
    edits = np.ones(steps.shape, np.bool_)
    here = np.arange(way.period)
    after = (here + 1) % way.period
    edits[:, here, after] = steps[:, here, after] > goes_on
    steps[:, here, after] = np.maximum(steps[:, here, after], goes_on)
    return steps, edits


def rhythm(seen: Doubles, way: Way) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Likeliest phases of the frames of a shot, one more than of ``seen``, and before which of them it was cut: Viterbi's path."""
    steps, edits = _steps(seen, way, evidence(whole_shot(seen), way, most_noise(seen))[1])
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

    def seems(self, kind: Kind) -> bool:
        """Whether a shot of which nothing is sure is likely of a kind all the same."""
        return any(verdict.leans == kind for _, verdict in self.shots)

    def settled(self) -> tuple[tuple[tuple[int, int], Verdict], ...]:
        """The shots, those of unknown kind taken for what the whole clip is, unless they seem progressive; for interlaced where
        nothing is known and they seem so: who asks has seen combs."""
        left = Verdict(kind="progressive", probability=0.5)

        def taken(length: int, verdict: Verdict) -> Verdict:
            if verdict.kind != "unknown":
                return verdict
            if self.kinds and verdict.leans != "progressive":
                whole = self.whole
                # A rhythm of one frame has no other phase.
                known = whole.kind == "telecined" and whole.way.period == 1
                return replace(whole, phases=(0,) * length) if known else whole
            return replace(verdict, kind="interlaced") if verdict.leans == "interlaced" else left

        return tuple(((a, b), taken(b - a, verdict)) for (a, b), verdict in self.shots)

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
