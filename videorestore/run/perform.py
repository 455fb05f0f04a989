"""One run: plan, make the pieces, put them together, say what was done."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import __version__, colour
from videorestore.clip import Clip, FloatArray, Samples
from videorestore.errors import InputError, MediaReadError, OutputExistsError, VideoRestoreError
from videorestore.make.cost import STARTING
from videorestore.make.masks import FileMasks
from videorestore.make.pipeline import Restoration
from videorestore.make.work import Progress, Work, silent
from videorestore.media import (
    SinkOptions,
    check_output,
    join_segments,
    open_sink,
    open_source,
    write,
)
from videorestore.media.outputs import OutputShape
from videorestore.media.segments import encoding_for
from videorestore.media.source import Source
from videorestore.plan.look import helped_by
from videorestore.plan.scan import expected_frames
from videorestore.report.record import RecordBuilder
from videorestore.request import Common
from videorestore.request.declare import paths
from videorestore.run import cluster, memory, piecework, workers
from videorestore.run.ahead import compiled_ahead
from videorestore.run.coded import name_recoded, unchanged
from videorestore.run.identity import describe, input_prints
from videorestore.run.page import write_page
from videorestore.run.sdmaps import check_sd, join_sd
from videorestore.run.store import TRIES, WorkFolder
from videorestore.run.tally import Tally

Plan = Callable[[Source, Any, int, Progress], Work]

WORTH_WORKERS = 2 << 20
WORTH_PIXELS = 8_000_000
"""Bytes of an input, and pixels of all its frames, below which workers are not started ahead."""

WORTH_PROCESS = 6.0
ENCODING = 0.3
"""CPU seconds of work for each process, below which its start costs more than it helps: threads do better. Of these, what
the encoder takes at least for a megapixel."""

DENOISING = "denoise", "restore"
"""Verbs that most likely need the denoiser's kernels."""

EASY_MEMORY = 4 << 30
"""With less memory than this the plan decides first how many workers there may be, and what is freed is given back."""

ROOMY = 1 << 30
"""Bytes for each of two workers, below which one that has all of the memory does better."""

PIECE_MEMORY = 4 << 30
"""Bytes that one piece may take where the user names no limit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    record : dict
    losses : tuple of str
        What could not be done or was lost; not empty means exit status 5.
    clip : Clip or None
        The result, where no OUTPUT was named.
    sd : ndarray or None, shape (n, h, w, c)
    """

    record: dict[str, Any]
    losses: tuple[str, ...] = ()
    clip: Clip | None = None
    sd: FloatArray | None = None


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
            memory.holding_freed(not _tight(options)),
        ):
            if output is None:
                outcome = _in_memory(verb, plan, source, options, progress, started)
            elif not isinstance(source, str):
                outcome = _array_to_file(verb, plan, source, output, options, progress, started)
            else:
                outcome = _file_to_file(verb, plan, source, output, options, progress, started)
        # What stands on a page stands everywhere.
        if watch.peak and not (output and getattr(options, "report", None)):
            outcome.record["peak_memory_mb"] = round(watch.peak / 1e6)
    return outcome


def _open(source: Any, options: Common) -> Source:
    return open_source(source, stream=options.stream, fps=options.input_fps)


def _builder(verb: str, work: Work, started: float) -> RecordBuilder:
    shape = work.shape
    return RecordBuilder(
        version=__version__,
        verb=verb,
        width=shape.width,
        height=shape.height,
        fps=shape.fps,
        vfr=shape.info.vfr,
        started=started,
    )


def _sink_options(options: Common) -> SinkOptions:
    return SinkOptions(
        codec=options.codec,
        crf=options.crf,
        pix_fmt=options.pix_fmt,
        encoder_args=options.encoder_args,
        overwrite=options.overwrite,
    )


def _in_memory(
    verb: str, plan: Plan, source: Any, options: Common, progress: Progress, started: float
) -> Outcome:
    with _open(source, options) as opened:
        work = plan(opened, options, _share(options), progress)
        builder = _builder(verb, work, started)
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
    record = builder.build(_findings(work, damage))
    return Outcome(record=record, losses=(*work.losses, *_doubts(doubtful)), clip=clip, sd=np.stack(sds))


def _array_to_file(
    verb: str, plan: Plan, source: Any, output: str, options: Common, progress: Progress, started: float
) -> Outcome:
    """An array or a clip in memory: it is written down first, so that there is one way of doing things."""
    check_output(output, _sink_options(options), None)
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
        outcome = _file_to_file(verb, plan, path, output, options, progress, started)
    outcome.record.pop("input", None)
    return outcome


def _file_to_file(
    verb: str, plan: Plan, source: str, output: str, options: Common, progress: Progress, started: float
) -> Outcome:
    sink_options = _sink_options(options)
    if not options.dry_run:
        check_output(output, sink_options, source)
    with _open(source, options) as opened:
        # A codec that does not exist, or a cluster that does not answer, is told before any work.
        shape = OutputShape(
            info=opened.info, height=opened.height, width=opened.width, n_frames=0, fps=opened.info.fps
        )
        encoding_for(output, shape, sink_options)
        if options.sd is not None:
            check_sd(options.sd, shape, sink_options, None if options.dry_run else source)
        if options.cluster is not None:
            cluster.check_cluster(options.cluster)
        if options.dry_run:
            work = plan(opened, options, _share(options), progress)
            check_memory(work, options)
            return _dry(verb, work, output, options, started)
        facts = opened.facts()
        folder = WorkFolder(output)
        description = describe(verb, source, options, __version__)
        state = folder.open(description, resume=options.resume)
        if state == "other":
            progress("other options or input than the interrupted run: starting anew", 0, 0)
        resumed = state == "resumed" and folder.planned()
        if state == "resumed" and not resumed:
            folder.clear()
        if resumed:
            work, _ = folder.load_plan()
        else:
            try:
                with (
                    compiled_ahead(verb in DENOISING and options.jobs != 1 and not _tight(options)),
                    workers.Crew(_early(opened, options), not _tight(options)) as crew,
                    workers.threads(1 if crew.others else 0),
                    helped_by(crew.in_order),
                ):
                    if options.cluster is None:
                        crew.warm(denoiser=verb in DENOISING)
                    work = plan(opened, options, _share(options), progress)
                check_memory(work, options)
                jobs = _processes(work, options, len(work.pieces))
                memory.check_disk(folder.path, _disk_need(work, output, options, jobs))
            except VideoRestoreError:
                folder.remove()
                raise
            folder.save_plan(work, opened.index())
        assignment = piecework.Assignment(
            path=source,
            output=output,
            sink=sink_options,
            sd=options.sd is not None,
            previews=options.report is not None,
            stream=options.stream,
            fps=options.input_fps,
            mask=_mask_file(work),
        )
        # A run that goes on has its index in the work folder, not in the source that was just opened.
        known = None if resumed else opened
        try:
            count = _make_all(assignment, work, folder, known, options, progress)
        except Exception:
            _check_unchanged(source, options, description, folder)
            raise
    _check_unchanged(source, options, description, folder)
    notes = [note for p in work.pieces for note in folder.load_facts(p.index)]
    plain = options.stream is None and options.input_fps is None
    same = plain and unchanged(source, output, sink_options, work, notes, facts)
    coded = () if same else name_recoded(output, sink_options, work, notes)
    builder = _builder(verb, work, started)
    for note in notes:
        builder.add_fact(note["fact"], Fraction(note["time"]), Fraction(note["duration"]))
    progress("putting the pieces together", 0, 0)
    if options.sd is not None:
        join_sd(
            [folder.sd_path(p.index) for p in work.pieces], options.sd, work.shape, sink_options, open_sink
        )
    try:
        lost, remarks = join_segments(
            [str(folder.segment(p.index)) for p in work.pieces],
            output,
            work.shape,
            sink_options,
            streams_from=work.shape.info.path,
            span=work.span,
            folder=str(folder.path),
            copied=source if same else None,
        )
        remarks = (*remarks, *coded)
    except OutputExistsError:
        # The result has found another name.
        folder.remove()
        raise
    losses = (*work.losses, *lost, *_doubts([n["fact"]["index"] for n in notes if n["doubtful"]]))
    damage = [entry for n in notes for entry in n["damage"]]
    record = builder.build(_findings(work, damage), workers=count)
    record["input"], record["output"] = source, output
    record["estimate"] = _estimate(work, output, options, count)
    if remarks:
        record["notes"] = list(remarks)
    if losses:
        record["losses"] = list(losses)
    if options.report is not None:
        record["peak_memory_mb"] = round(memory.peak() / 1e6) or record.get("peak_memory_mb")
        previews = [folder.previews_path(p.index) for p in work.pieces]
        try:
            write_page(options.report, record, notes, previews, overwrite=options.overwrite)
        except (VideoRestoreError, OSError, ValueError, ArithmeticError) as error:
            # The film is there already.
            losses = (*losses, f"the page {options.report} was not written: {error}")
            record["losses"] = list(losses)
    folder.remove()
    return Outcome(record=record, losses=losses)


def _check_unchanged(source: str, options: Common, description: dict[str, Any], folder: WorkFolder) -> None:
    """Refuse pieces of which some may be of the old content of the input and some of a new one."""
    try:
        same = input_prints(source, options) == description["inputs"]
    except OSError:
        same = False
    if not same:
        folder.remove()
        raise MediaReadError("the input must stay as it is during a run, it was changed; run again.")


def _mask_file(work: Work) -> str | None:
    """The file or folder that masks are read from on the way, if there is one."""
    masks = work.steps.masks if isinstance(work, Restoration) else None
    return masks.path if isinstance(masks, FileMasks) else None


def _findings(work: Work, damage: list[dict[str, Any]]) -> dict[str, Any]:
    findings = dict(work.findings)
    if damage:
        findings["damage"] = damage
    return findings


def _share(options: Common) -> int:
    """Memory for one piece. It decides where pieces are cut, so it depends neither on the machine nor on --jobs.

    Of what the user allows two workers get their share, beside the process that hands out the work.
    """
    if options.max_memory <= 0:
        return PIECE_MEMORY
    shared = (options.max_memory - memory.PARENT) // 2
    return shared if shared >= ROOMY else options.max_memory


def _processes(work: Work, options: Common, pieces: int) -> int:
    """How many processes may work at once: as asked or as are worth their start, and as memory allows."""
    encoding = ENCODING * work.shape.n_frames * work.shape.height * work.shape.width / 1e6
    effort = max(work.seconds() - STARTING, encoding)
    asked = options.jobs or min(workers.cores(), int(effort / WORTH_PROCESS))
    # One of them is this process itself, which holds the plan besides.
    room = memory.budget(options.max_memory) - memory.PARENT
    fitting = room // max(1, work.piece_bytes)
    return int(max(1, min(asked, pieces, fitting)))


def _early(source: Source, options: Common) -> int:
    """How many workers to start before the plan is known: none for small clips, which one process may do alone.

    With a cluster they only help to look through the clip.
    """
    path = source.info.path or ""
    small = os.path.isfile(path) and os.path.getsize(path) < WORTH_WORKERS
    count = len(os.listdir(path)) if os.path.isdir(path) else expected_frames(source)
    pixels = count * source.height * source.width
    if small or 0 < pixels < WORTH_PIXELS or _tight(options):
        return 0
    return options.jobs or workers.cores()


def _tight(options: Common) -> bool:
    return 0 < options.max_memory < EASY_MEMORY


def _memory_need(work: Work, jobs: int) -> int:
    """Bytes that all processes of a run need at once."""
    return jobs * work.piece_bytes + (memory.PARENT if jobs > 1 else 0)


def _disk_need(work: Work, output: str, options: Common, jobs: int) -> int:
    """Bytes on the disk of OUTPUT while the run lasts."""
    encoded = memory.disk_need(work.shape, output, options.codec, options.sd is not None)
    return encoded + jobs * int(getattr(work, "piece_disk", 0))


def check_memory(work: Work, options: Common) -> None:
    """Refuse a limit that one piece already exceeds, before any work."""
    if 0 < options.max_memory < work.piece_bytes:
        least = -(-work.piece_bytes // 10**7) * 10
        raise InputError(
            f"--max-memory must be at least about {least}M for this job on frames of {work.shape.width} x "
            f"{work.shape.height}, got {options.max_memory / 1e6:.0f}M; allow more, or make the frames smaller first."
        )


def _make_all(
    assignment: piecework.Assignment,
    work: Work,
    folder: WorkFolder,
    source: Source | None,
    options: Common,
    progress: Progress,
) -> int:
    """Make the pieces that are not there yet, or not as they were written. Returns how many processes worked at once."""
    jobs = 1
    for _ in range(TRIES):
        todo = [p.index for p in work.pieces if not folder.done(p.index)]
        if not todo:
            return jobs
        jobs = _make_these(todo, assignment, work, folder, source, options, progress)
    if all(folder.done(p.index) for p in work.pieces):
        return jobs
    raise VideoRestoreError(
        f"what is written must read back the same, pieces did not {TRIES} times; check the disk of OUTPUT."
    )


def _make_these(
    todo: list[int],
    assignment: piecework.Assignment,
    work: Work,
    folder: WorkFolder,
    source: Source | None,
    options: Common,
    progress: Progress,
) -> int:
    counts = work.output_counts()
    jobs = _processes(work, options, len(todo))
    # A curve holds a whole shot: it needs room more than speed.
    hold = not _tight(options) and "curve" not in getattr(work, "models", ())
    if not hold:
        memory.hold_freed(False)
    crew = workers.Crew(0 if options.cluster is not None else jobs, hold)

    def here(assignment: piecework.Assignment, number: int) -> int:
        if source is None:
            return piecework.make_piece(assignment, number)
        return piecework.store_piece(assignment, work, source, number)

    if options.cluster is not None:
        stream = cluster.spread(assignment, todo, folder, options.cluster)
    else:
        stream = crew.as_done(piecework.make_piece, [(assignment, k) for k in todo], here)
    tally = Tally(work.verb, counts, todo, folder, progress)
    with crew, workers.threads(1 if crew.others else 0), tally:
        for _ in stream:
            tally.tell()
    return jobs


def _doubts(indices: list[int]) -> tuple[str, ...]:
    if not indices:
        return ()
    shown = ", ".join(map(str, indices[:12])) + (", ..." if len(indices) > 12 else "")
    return (f"{len(indices)} frames of the output are guesses that little supports: {shown}",)


def _estimate(work: Work, output: str, options: Common, jobs: int) -> dict[str, float]:
    """Time, memory and disk of a run, before it."""
    return {
        "disk_mb": round(_disk_need(work, output, options, jobs) / 1e6, 1),
        "memory_mb": round(_memory_need(work, jobs) / 1e6),
        "time_s": round(work.seconds() / jobs, 1),
    }


def _dry(verb: str, work: Work, output: str, options: Common, started: float) -> Outcome:
    jobs = _processes(work, options, len(work.pieces))
    findings = {
        **work.findings,
        "dry_run": True,
        "n_frames": work.shape.n_frames,
        "pieces": len(work.pieces),
        "estimate": _estimate(work, output, options, jobs),
    }
    return Outcome(record=_builder(verb, work, started).build(findings), losses=work.losses)
