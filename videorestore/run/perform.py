"""One run: plan, make the pieces, put them together, say what was done."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import colour
from videorestore.clip import Clip, FloatArray, Samples
from videorestore.errors import InputError
from videorestore.make.work import Progress, silent
from videorestore.media import SinkOptions, check_output, write
from videorestore.request import Common
from videorestore.request.declare import declared, paths
from videorestore.run import memory, piecework, workers
from videorestore.run.film import Job, Plan, run_on_file
from videorestore.run.needs import share, tight
from videorestore.run.outcome import Outcome, builder_for, doubts, findings_of, opened_source, sink_options_of

__all__ = ["Outcome", "perform"]


def perform(verb: str, source: Any, output: str | None, options: Any, progress: Progress = silent) -> Outcome:
    """Do a job.

    Parameters
    ----------
    verb : str
    source : str, Clip or ndarray
    output : str or None
        None gives the result back in memory.
    options : dataclass of `videorestore.request.options`
    progress : callable

    Returns
    -------
    Outcome
    """
    started = time.monotonic()
    if isinstance(source, str):
        names = [source, *(name for _, name in paths(options, "read"))]
        memory.check_pictures(names, getattr(options, "max_memory", 0))
    if verb in {"inspect", "compare"}:
        report = import_module(f"videorestore.verbs.{verb}").report
        record, losses = report(source, options, progress)
        outcome = Outcome(record=record, losses=tuple(losses))
    elif verb == "preview":
        if output is None:
            raise InputError("preview writes a page, OUTPUT must be given; name a file that ends in .html.")
        record, losses = import_module("videorestore.verbs.preview").report(source, output, options, progress)
        outcome = Outcome(record=record, losses=tuple(losses))
    else:
        plan: Plan = import_module(f"videorestore.verbs.{verb}").plan
        # One job is one core: without a number all threads of all libraries help.
        with (
            memory.Watch() as watch,
            workers.threads(1 if options.jobs == 1 else 0),
            memory.holding_freed(not tight(options)),
        ):
            if output is None:
                _check_files(options)
                outcome = _in_memory(verb, plan, source, options, progress, started)
            else:
                job = partial(
                    Job,
                    verb=verb,
                    plan=plan,
                    output=output,
                    options=options,
                    progress=progress,
                    started=started,
                )
                outcome = (
                    run_on_file(job(source=source))
                    if isinstance(source, str)
                    else _array_to_file(job, source, output, options)
                )
        # What stands on a page stands everywhere.
        if watch.peak and not (output and getattr(options, "report", None)):
            outcome.record["peak_memory_mb"] = round(watch.peak / 1e6)
    return outcome


def _check_files(options: Common) -> None:
    """Refuse files beside an OUTPUT that is not there: the result in memory has its own sd and record."""
    for name, _ in paths(options, "written"):
        flag = declared(options)[name].flags[-1]
        raise InputError(
            f"{flag} is written beside an OUTPUT, got none; name an OUTPUT, or leave {flag} out."
        )


def _in_memory(
    verb: str, plan: Plan, source: Any, options: Common, progress: Progress, started: float
) -> Outcome:
    with opened_source(source, options) as opened:
        work = plan(opened, options, share(options), progress)
        builder = builder_for(verb, work, started)
        pictures: list[Samples] = []
        sds: list[FloatArray] = []
        times: list[Fraction] = []
        durations: list[Fraction] = []
        doubtful: list[int] = []
        damage: list[dict[str, Any]] = []
        for piece in work.pieces:
            for made in work.make(opened, piece, progress):
                note = piecework.note_of(made, len(pictures))
                builder.add_fact(note["fact"], made.frame.time, made.frame.duration)
                damage += note["damage"]
                if made.doubtful:
                    doubtful.append(len(pictures))
                pictures.append(colour.to_rgb(made.frame))
                sds.append(piecework.sd_picture(made))
                times.append(made.frame.time)
                durations.append(made.frame.duration)
                progress(verb, len(pictures), work.shape.n_frames)
        clip = Clip(
            frames=np.stack(pictures), times=tuple(times), durations=tuple(durations), info=work.shape.info
        )
    record = builder.build(findings_of(work, damage))
    return Outcome(record=record, losses=(*work.losses, *doubts(doubtful)), clip=clip, sd=np.stack(sds))


def _array_to_file(job: Callable[..., Job], source: Any, output: str, options: Common) -> Outcome:
    """An array or a clip in memory: it is written down first, so that there is one way of doing things."""
    check_output(output, sink_options_of(options), None)
    with tempfile.TemporaryDirectory(dir=Path(output).absolute().parent, prefix=".videorestore-") as folder:
        path = (
            str(Path(folder) / "input.npy")
            if isinstance(source, np.ndarray)
            else str(Path(folder) / "input.mkv")
        )
        if isinstance(source, np.ndarray):
            np.save(path, source)
        else:
            write(source, path, SinkOptions(codec="ffv1"))
        outcome = run_on_file(job(source=path))
    outcome.record.pop("input", None)
    return outcome
