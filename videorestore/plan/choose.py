"""``--model auto``: whether the curve is worth asking beside motion, shot by shot: by hidden frames, or by the noise.

Where it is asked, both are weighed in every place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.make.engines import CurveEngine, MotionEngine, NewFrames, Seconds
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import Source
from videorestore.plan.look import shared_out, small_picture
from videorestore.plan.risk import FEWEST, WORTH, Say, different, hears_motion_alone, say_of_curve
from videorestore.plan.scan import Scan, chosen, read_some
from videorestore.request import Common, Quality
from videorestore.spatial.noise import Noise
from videorestore.spatial.stein import Divergence

Indices = NDArray[np.int64]
Purpose = Literal["denoise", "interpolate", "inpaint"]

TRIAL_FRAMES = 25
TRIAL_SIDE = 192
TRIAL_SHOTS = 8
HIDE_EVERY = 4
NOISY_FRAMES, NOISY_SIDE = 40, 96
"""Frames from the middle of a shot, and pixels of a side from the middle of these, on which the noise is removed for trial."""

WORTH_BETWEEN = 0.1
"""Share of motion's error that the curve must take away on hidden frames to be asked for frames between all frames: these
have neighbours at half the distance, from which motion gains more, and there asking is most of the work."""

FAR = 2.0
"""By this factor the bound of the curve must exceed the squared error of motion not to be fitted at all."""

FIRST = 2
"""Hidden frames that are enough where the bound is as far from motion in each of them."""

BOUND_REACH = 4
"""Frames on each side of a hidden one whose best mixture bounds what any curve could make of it."""

SHORTEST = 6
"""A shot with fewer good frames has no room for a trial, nor for a curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What motion, the curve, and both ("mixed") reached on hidden frames of one shot; sums, so that shots can be added up.

    ``bounded`` says that the curve's error is the least it could have reached: it was not tried, and ``inside`` does not
    know it.
    """

    hidden: int
    bounded: bool = False
    squares: Mapping[str, float]
    inside: Mapping[str, float]
    values: int

    def model(self, worth: float) -> str:
        """Both, where they leave so much less of motion's squared error, else motion alone."""
        both = self.squares.get("mixed", np.inf)
        return "mixed" if both < (1 - worth) * self.squares["motion"] else "motion"

    def psnr(self, model: str) -> float:
        """PSNR in dB over all hidden values."""
        return psnr(self.squares[model] / self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model of every shot ("curve", "motion", or "mixed" of both in every place), and why.

    ``divergences`` are known where noise is removed by both (see `videorestore.plan.risk`).
    """

    models: tuple[str, ...]
    divergences: tuple[Divergence | None, ...] = ()
    findings: dict[str, Any] = field(default_factory=dict)


def choose(
    source: Source,
    found: Scan,
    options: Common,
    job: Purpose,
    noises: tuple[Noise, ...],
    progress: Progress = silent,
    *,
    steps: Steps | None = None,
    between: bool = False,
) -> Choice:
    """Choose a model for every shot; motion, untried, where nothing is done that one would be asked for.

    Parameters
    ----------
    job : {"denoise", "interpolate", "inpaint"}
        What it is chosen for.
    noises : tuple of Noise
        Of every shot.
    steps : Steps, optional
        What will be done; without it, something in every shot.
    between : bool
        New frames are made between all frames.
    """
    bad = found.void | (steps.missing if steps else frozenset())
    good = [[i for i in range(a, b) if i not in bad] for a, b in found.shots]
    lengths = [len(g) for g in good]
    fixed: str | None = None if options.model == "auto" else options.model
    if fixed == "curve" and sum(lengths) < FEWEST:
        raise InputError(
            f"a curve needs at least {FEWEST} good frames, got {sum(lengths)}; use --model auto."
        )
    needed = list(range(len(lengths)))
    if steps is not None and source.info.format.depth != 32:  # pixels may be missing from any array of floats
        needed = shots_worked_on(steps, found.shots)
    tested = _tested({k: lengths[k] for k in needed}, 1 if fixed else TRIAL_SHOTS)
    # Where noise is removed, hidden frames would favour whoever smooths more.
    asked = [k for k in tested if job != "denoise" or noises[k].sd <= 0]
    noisy = [] if fixed else [k for k in tested if k not in asked]
    trials, says = _tried(source, found, options, good, asked, noisy, noises, progress)
    worth = WORTH_BETWEEN if between else WORTH
    picks = {k: fixed or t.model(worth) for k, t in trials.items()} | {
        k: say.model for k, say in says.items()
    }
    models = _fixed(fixed, lengths) if fixed else _models(picks, set(says), lengths, needed)
    test = summary_of(trials, picks) if trials else {}
    if says:
        test["curve_denoise_gain"] = round(float(np.mean([say.gain for say in says.values()])), 4)
    divergences = tuple(says[k].divergence if k in says else None for k in range(len(found.shots)))
    return Choice(models=models, divergences=divergences, findings=_findings(found.shots, models, test))


def _fixed(model: str, lengths: list[int]) -> tuple[str, ...]:
    """The model that was asked for, but motion in shots that are too short for a curve."""
    return tuple("motion" if model == "curve" and length < FEWEST else model for length in lengths)


def _tried(
    source: Source,
    found: Scan,
    options: Common,
    good: list[list[int]],
    asked: list[int],
    noisy: list[int],
    noises: tuple[Noise, ...],
    progress: Progress,
) -> tuple[dict[int, Trial], dict[int, Say]]:
    """Shots ``asked`` on hidden frames, ``noisy`` ones on their noise; all at once where others help."""
    known = {k: Say() for k in noisy if hears_motion_alone(noises[k])}
    noisy = [k for k in noisy if k not in known]

    def experiments() -> Iterator[tuple[Any, ...]]:
        for k in asked:
            yield (
                score_hidden,
                *hidden_frames(source, found, good[k]),
                noises[k],
                options.model,
                options.quality,
            )
        for k in noisy:
            yield say_of_curve, noisy_frames(source, good[k]), noises[k].to_remove(), options.quality

    results: list[Any] = []
    total = len(asked) + len(noisy)

    def tell(share: float) -> None:
        progress("trying the models", min(len(results) + share, total), total)

    with pulse.listening(tell) if total else nullcontext():
        for result in shared_out(_called, experiments()):
            results.append(result)
            tell(0.0)
    return dict(zip(asked, results)), known | dict(zip(noisy, results[len(asked) :]))


def shots_worked_on(steps: Steps, shots: Sequence[Shot]) -> list[int]:
    """Numbers of the shots in which noise is removed, frames are made, or more than a few pixels are."""
    if steps.masks is not None and steps.masks.seconds(1)[1] > 0:
        return list(range(len(shots)))
    noisy = {k for k, noise in enumerate(steps.noises) if noise is not None}
    starts = [start for start, _ in shots]
    made = {bisect_right(starts, slot.after) - 1 for slot in steps.slots if steps.makes(slot)}
    return sorted(noisy | made)


def _tested(lengths: dict[int, int], most: int) -> list[int]:
    """The longest shots, of those that are long enough."""
    order = sorted(lengths, key=lambda k: -lengths[k])
    return [k for k in order if lengths[k] >= SHORTEST][:most]


def _models(
    picks: dict[int, str], own: set[int], lengths: list[int], needed: Sequence[int]
) -> tuple[str, ...]:
    """The model of every shot: as tried, else the usual one where it is long enough; ``own`` speak for themselves.

    Where none is ``needed`` it is motion.
    """
    likely = [pick for k, pick in picks.items() if k not in own]
    usual = max(sorted(set(likely)), key=likely.count) if likely else "motion"
    like_most = {k for k in needed if lengths[k] >= SHORTEST}
    return tuple(picks.get(k, usual if k in like_most else "motion") for k in range(len(lengths)))


def _findings(shots: tuple[Shot, ...], models: tuple[str, ...], test: dict[str, Any]) -> dict[str, Any]:
    """What the record says of the choice."""
    names = sorted(set(models)) if models else ["motion"]
    findings: dict[str, Any] = {"model": names[0] if len(names) == 1 else "mixed"}
    if len(names) > 1:
        findings["models"] = [{"start": a, "stop": b, "model": m} for (a, b), m in zip(shots, models)]
    return findings | ({"self_test": test} if test else {})


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def noisy_frames(source: Source, good: list[int]) -> FloatArray:
    """A part ``(n, h, w, c)`` of a shot."""
    return np.nan_to_num(read_some(source, _inmost(good, NOISY_FRAMES), side=NOISY_SIDE), nan=128.0)


def _inmost(good: list[int], count: int) -> list[int]:
    """So many numbers from the middle of a list."""
    low = max(0, len(good) // 2 - count // 2)
    return good[low : low + count]


def summary_of(trials: Mapping[int, Trial], picks: Mapping[int, str]) -> dict[str, Any]:
    """The self-test of all shots together, by what was picked for them."""
    values = sum(t.values for t in trials.values())
    squares = sum(t.squares[picks[k]] for k, t in trials.items())
    inside = sum(t.inside[picks[k]] for k, t in trials.items())
    summary: dict[str, Any] = {
        "hidden": sum(t.hidden for t in trials.values()),
        "psnr": round(psnr(squares / values), 2),
        "coverage95": round(inside / values, 4),
    }
    for name in ("curve", "motion", "linear"):
        total = sum(t.squares.get(name, np.inf) for t in trials.values())
        if np.isfinite(total):
            summary[f"{name}_psnr"] = round(psnr(total / values), 2)
    if any(t.bounded for t in trials.values()):
        summary["curve_psnr_is_bound"] = True
    return summary


def psnr(error: float) -> float:
    """In dB, of a mean squared error."""
    return 10 * float(np.log10(255.0**2 / max(error, 1e-4)))


def hidden_frames(source: Source, found: Scan, good: list[int]) -> tuple[FloatArray, Seconds]:
    """A stretch of small pictures of a shot, and their times."""
    numbers = _inmost(good, TRIAL_FRAMES)
    frames = np.stack([small_picture(frame, TRIAL_SIDE) for frame in chosen(source, numbers)])
    return frames, np.array([float(found.index.times[i]) for i in numbers])


def score_hidden(
    frames: FloatArray, clock: Seconds, noise: Noise, model: str = "auto", quality: Quality = "default"
) -> Trial:
    """Hide every fourth of these frames and let one of the models make it, or ("auto") both.

    A hidden frame carries noise that nobody can predict, so the noise is part of the interval.
    A curve whose bound (see `mixture_error`) is far above the error of motion is not fitted.
    """
    hidden = np.arange(2, len(frames) - 2, HIDE_EVERY)
    kept = np.setdiff1d(np.arange(len(frames)), hidden)
    frames = np.nan_to_num(frames, nan=128.0)
    base, truth = frames[kept], frames[hidden]
    squares: dict[str, float] = {}
    inside: dict[str, float] = {}

    def reached(name: str, made: NewFrames) -> NewFrames:
        error = np.abs(made.frames - truth)
        squares[name] = float(np.sum(error * error, dtype=np.float64))
        close = error <= 1.96 * np.sqrt(made.sd * made.sd + noise.sd**2) + 0.5
        inside[name] = float(np.sum(close))
        return made

    bounded = False
    if model != "curve":
        motion = MotionEngine(quality).interpolator(base, clock[kept])
        moved = motion.at(clock[hidden[:FIRST]])
        first = np.square(moved.frames - truth[:FIRST]).sum(axis=(1, 2, 3), dtype=np.float64)
        if model == "auto" and len(hidden) > FIRST:
            leasts = [mixture_error(base, truth[k : k + 1], kept, hidden[k : k + 1]) for k in range(FIRST)]
            bounded = bool((leasts >= FAR * first).all())
        if bounded:
            hidden, truth = hidden[:FIRST], truth[:FIRST]
        else:
            others = motion.at(clock[hidden[FIRST:]])
            moved = NewFrames(
                frames=np.concatenate([moved.frames, others.frames]), sd=np.concatenate([moved.sd, others.sd])
            )
        moved = reached("motion", moved)
    if model == "auto":
        least = mixture_error(base, truth, kept, hidden)
        bounded = bounded or least >= FAR * squares["motion"] or different(base) < FEWEST
        if bounded:
            squares["curve"] = least
    if model != "motion" and not bounded:
        grain = noise.sd if noise.trustworthy else 0.0
        drawn = reached("curve", CurveEngine(grain).interpolator(base, clock[kept]).at(clock[hidden]))
        if model == "auto":
            from videorestore.curve.fill import weigh

            both = weigh(moved.frames, moved.sd, drawn.frames, np.square(drawn.sd))
            reached("mixed", NewFrames(frames=both[0], sd=both[1]))
    before, after = frames[hidden - 1], frames[hidden + 1]
    share = ((clock[hidden] - clock[hidden - 1]) / (clock[hidden + 1] - clock[hidden - 1])).astype(np.float32)
    blend = before + share[:, None, None, None] * (after - before)
    squares["linear"] = float(np.sum(np.square(blend - truth), dtype=np.float64))
    return Trial(hidden=len(hidden), squares=squares, inside=inside, values=truth.size, bounded=bounded)


def mixture_error(base: FloatArray, truth: FloatArray, kept: Indices, hidden: Indices) -> float:
    """Squared error that is left of hidden frames after the best mixture, in hindsight, of the frames around each.

    The posterior mean on a curve is such a mixture, made without seeing the hidden frame: it cannot do better.

    Parameters
    ----------
    base, truth : (n, h, w, c) and (m, h, w, c) float32
        Frames that are known, and those that are hidden.
    kept, hidden : (n,) and (m,) int
        Their numbers.
    """
    total = 0.0
    for true, number in zip(truth, hidden):
        near = base[np.abs(kept - number) <= BOUND_REACH].reshape(-1, true.size)
        mean = near.mean(axis=0)
        steps, wanted = (near[1:] - mean).astype(np.float64), (true.ravel() - mean).astype(np.float64)
        gram = steps @ steps.T
        gram[np.diag_indices(len(gram))] += 1e-6 * np.trace(gram) + 1e-9
        load = steps @ wanted
        total += float(wanted @ wanted - load @ np.linalg.solve(gram, load))
    return max(total, 0.0)
