"""One run: plan, make the pieces, put them together, say what was done."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from fractions import Fraction
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
from videorestore.run.outcome import Outcome, doubts, opened_source, record_of_run

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
                job = Job(
                    verb=verb,
                    plan=plan,
                    source=source if isinstance(source, str) else "",
                    output=output,
                    options=options,
                    progress=progress,
                    started=started,
                )
                outcome = run_on_file(job) if job.source else _array_to_file(job, source)
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
        pictures: list[Samples] = []
        sds: list[FloatArray] = []
        notes: list[dict[str, Any]] = []
        for piece in work.pieces:
            for made in work.make(opened, piece):
                notes.append(piecework.note_of(made, len(pictures)))
                pictures.append(colour.to_rgb(made.frame))
                sds.append(piecework.sd_picture(made))
                progress(verb, len(pictures), work.shape.n_frames)
        times, durations = (tuple(Fraction(n[key]) for n in notes) for key in ("time", "duration"))
        clip = Clip(frames=np.stack(pictures), times=times, durations=durations, info=work.shape.info)
    record = record_of_run(verb, work, notes, started)
    return Outcome(record=record, losses=(*work.losses, *doubts(notes)), clip=clip, sd=np.stack(sds))


def _array_to_file(job: Job, source: Any) -> Outcome:
    """An array or a clip in memory: it is written down first, so that there is one way of doing things."""
    check_output(job.output, job.sink, None)
    beside = Path(job.output).absolute().parent
    with tempfile.TemporaryDirectory(dir=beside, prefix=".videorestore-") as folder:
        if isinstance(source, np.ndarray):
            path = f"{folder}/input.npy"
            np.save(path, source)
        else:
            path = f"{folder}/input.mkv"
            write(source, path, SinkOptions(codec="ffv1"))
        outcome = run_on_file(replace(job, source=path))
    outcome.record.pop("input", None)
    return outcome
