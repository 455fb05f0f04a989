"""A file becomes a file: checked, planned, made in pieces that can be resumed, joined."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import __version__, pulse
from videorestore.errors import MediaReadError, OutputExistsError, VideoRestoreError
from videorestore.make.work import Progress, Work
from videorestore.media import SinkOptions, check_output, join_segments
from videorestore.media.companions import Others
from videorestore.media.outputs import OutputShape
from videorestore.media.segments import encoding_for, try_encoding
from videorestore.media.source import FrameIndex, Source
from videorestore.plan.layout import least_bytes
from videorestore.plan.look import helped_by
from videorestore.plan.sample import Sample, sampled
from videorestore.request import Common
from videorestore.request.common import Mending
from videorestore.run import memory, piecework, workers
from videorestore.run.coded import copied_groups, name_recoded, sink_like, unchanged
from videorestore.run.identity import describe, input_prints
from videorestore.run.maps import join_masks, join_sd, mask_maps, sd_maps
from videorestore.run.needs import check_memory, disk_need, early, estimate, processes, share, tight
from videorestore.run.outcome import Outcome, doubts, opened_source, record_of_run, sink_options_of
from videorestore.run.piecework import PICTURES
from videorestore.run.speed import cpu_seconds
from videorestore.run.store import TRIES, WorkFolder
from videorestore.run.tally import Tally, with_starts

Plan = Callable[[Source, Any, int, Progress], Work]


GO_ON = "the same command goes on from here"

DENOISING = "denoise", "restore"
"""Verbs that most likely need the denoiser's kernels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One file to be made of another.

    Attributes
    ----------
    verb : str
    plan : callable
        Plans the work of the verb.
    source, output : str
    options : Common
    progress : callable
    started : float
        On the monotonic clock.
    """

    verb: str
    plan: Plan
    source: str
    output: str
    options: Common
    progress: Progress
    started: float

    @property
    def sink(self) -> SinkOptions:
        """How OUTPUT is encoded."""
        return sink_options_of(self.options)

    @property
    def description(self) -> dict[str, Any]:
        """What the run is: the same again gives the same pixels."""
        return describe(self.verb, self.source, self.options, __version__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A job that is to be done.

    Attributes
    ----------
    job : Job
    work : Work
    folder : WorkFolder
        Of its pieces.
    description : dict
        Of the run.
    facts : dict
        Of the source.
    index : FrameIndex
        Of the source.
    sink : SinkOptions
        How OUTPUT is encoded, as decided.
    seconds : float
        CPU time that the plan took this process.
    """

    job: Job
    work: Work
    folder: WorkFolder
    description: dict[str, Any]
    facts: dict[str, Any]
    index: FrameIndex
    sink: SinkOptions
    seconds: float


def run_on_file(job: Job) -> Outcome:
    """Check, plan, make, join; whatever happens, the next run of this process may have the folder."""
    folder = WorkFolder(job.output)
    try:
        return _run(job, folder)
    finally:
        folder.release()


def _run(job: Job, folder: WorkFolder) -> Outcome:
    options = job.options
    if not options.dry_run:
        check_output(job.output, job.sink, job.source)
    with opened_source(job.source, options) as opened:
        _check(job, opened)
        if options.dry_run:
            begun = cpu_seconds()
            sample = sampled(opened, options, share(options))
            work = job.plan(sample or opened, options, share(options), job.progress)
            check_memory(work.piece_bytes, work.shape.height, work.shape.width, options)
            return _dry(job, work, sample, cpu_seconds() - begun)
        description = job.description
        begun = cpu_seconds()
        work, stored = _planned(job, opened, folder, description)
        planned = Planned(
            job=job,
            work=work,
            folder=folder,
            description=description,
            facts=opened.facts(),
            index=stored or opened.index(),
            sink=sink_like(opened, job.output, job.sink, work),
            seconds=cpu_seconds() - begun,
        )
        try:
            # A run that goes on has its index in the work folder, not in the source that was just opened.
            count = _make_all(planned, None if stored else opened)
        except Exception as error:
            _check_unchanged(planned)
            _say_how_to_go_on(error, planned)
            raise
    _check_unchanged(planned)
    try:
        return _joined(planned, count)
    except (VideoRestoreError, OSError) as error:
        _say_how_to_go_on(error, planned)
        raise


def _say_how_to_go_on(error: Exception, planned: Planned) -> None:
    """What was made before something failed is not lost."""
    done = sum(planned.folder.done(piece.index) for piece in planned.work.pieces)
    if done and GO_ON not in str(error):
        error.add_note(f"({done} of {len(planned.work.pieces)} pieces are kept: {GO_ON})")


def _check(job: Job, opened: Source) -> None:
    """What an encoder refuses, or a cluster that does not answer, is told before any work."""
    options = job.options
    shape = OutputShape.of(opened, 0)
    check_memory(least_bytes(opened.height, opened.width), opened.height, opened.width, options)
    raised = replace(shape, fps=options.raised(shape.fps))
    encoding_for(job.output, raised, job.sink)
    try_encoding(job.output, raised, job.sink)
    read = None if options.dry_run else job.source
    if options.sd is not None:
        sd_maps(options.sd, shape, job.sink).check(read)
    if (masks := _mask_name(options)) is not None:
        mask_maps(masks, shape, job.sink).check(read)
    if options.cluster is not None:
        from videorestore.run import cluster

        cluster.check_cluster(options.cluster)


def _planned(
    job: Job, opened: Source, folder: WorkFolder, description: dict[str, Any]
) -> tuple[Work, FrameIndex | None]:
    """The plan of an interrupted run with the index of its source, or a new one."""
    options = job.options
    state = folder.open(description, resume=options.resume)
    if state == "other":
        job.progress("other options or input than the interrupted run: starting anew", 0, 0)
    if state == "resumed":
        if folder.planned():
            return folder.load_plan()
        folder.clear()
    quality = options.quality if job.verb in DENOISING else None
    try:
        with (
            workers.Crew(early(opened, options), not tight(options)) as crew,
            workers.threads(1 if crew.others else 0),
            helped_by(crew.in_order) if crew.others else contextlib.nullcontext(),
        ):
            if options.cluster is None:
                crew.warm(quality)
            work = job.plan(opened, options, share(options), job.progress)
        check_memory(work.piece_bytes, work.shape.height, work.shape.width, options)
        jobs = processes(work, options, len(work.pieces))
        memory.check_disk(folder.path, disk_need(work, job.output, options, jobs))
    except VideoRestoreError:
        folder.remove()
        raise
    folder.save_plan(work, opened.index())
    return work, None


def _assignment(planned: Planned) -> piecework.Assignment:
    job, options = planned.job, planned.job.options
    return piecework.Assignment(
        path=job.source,
        output=job.output,
        sink=planned.sink,
        sd=options.sd is not None,
        masks=_mask_name(options) is not None,
        previews=options.report is not None,
        stream=options.stream,
        fps=options.input_fps,
        mask=planned.work.mask_file,
    )


def _mask_name(options: Common) -> str | None:
    """Where masks of what was mended go, of a verb that mends."""
    return options.write_mask if isinstance(options, Mending) else None


def _joined(planned: Planned, count: int) -> Outcome:
    """Pieces become OUTPUT, with its record, sd and page."""
    job, work, folder, sink = planned.job, planned.work, planned.folder, planned.sink
    options = job.options
    notes = [note for p in work.pieces for note in folder.load_facts(p.index)]
    plain = options.stream is None and options.input_fps is None
    same = plain and unchanged(job.source, job.output, job.sink, work, notes, planned.facts)
    groups = copied_groups(job.source, job.output, planned.index, sink, work, notes, planned.facts)
    frames = work.shape.n_frames

    def tell(share: float) -> None:
        job.progress("putting the pieces together", share * frames, frames)

    tell(0.0)
    if options.sd is not None:
        join_sd([folder.sd_path(p.index) for p in work.pieces], options.sd, work.shape, job.sink)
    if (masks := _mask_name(options)) is not None:
        join_masks([folder.masks_path(p.index) for p in work.pieces], masks, work, job.sink)
    try:
        with pulse.listening(tell):
            lost, remarks = join_segments(
                [str(folder.segment(p.index)) for p in work.pieces],
                job.output,
                work.shape,
                sink,
                others=Others(path=work.shape.info.path, span=work.span),
                folder=str(folder.path),
                copied=job.source if same else groups,
                # Its sound, or the file itself, has been read since the last look.
                before=lambda: _check_unchanged(planned),
            )
    except OutputExistsError:
        # The result has found another name.
        folder.remove()
        raise
    coded = () if same else name_recoded(job.output, sink, work, notes, groups.copied if groups else ())
    losses = (*work.losses, *lost, *doubts(notes))
    record = record_of_run(job.verb, work, notes, job.started, workers=count)
    record["input"], record["output"] = job.source, job.output
    record["estimate"] = estimate(work, job.output, options, count, planned=planned.seconds)
    if remarks or coded:
        record["notes"] = [*remarks, *coded]
    losses = (*losses, *_paged(options, record, notes, [folder.previews_path(p.index) for p in work.pieces]))
    if losses:
        record["losses"] = list(losses)
    folder.remove()
    return Outcome(record=record, losses=losses)


def _paged(
    options: Common, record: dict[str, Any], notes: list[dict[str, Any]], previews: list[Path]
) -> tuple[str, ...]:
    """Write the page that was asked for; what went wrong with it, because the film is there already."""
    if options.report is None:
        return ()
    from videorestore.report.page import PageBuilder

    record["peak_memory_mb"] = round(memory.peak() / 1e6) or record.get("peak_memory_mb")
    try:
        builder = PageBuilder()
        for archive in previews:
            with np.load(archive) as pictures:
                for k in sorted(int(name[6:]) for name in pictures.files if name.startswith("after_")):
                    after, before, sd, *loupe = (pictures.get(f"{name}_{k}") for name in PICTURES)
                    origin = notes[k]["fact"]["origin"]
                    builder.add_picture(
                        k, after=after, before=before, sd=sd, origin=origin, loupe=tuple(loupe)
                    )
        builder.write(options.report, record, overwrite=options.overwrite)
    except (VideoRestoreError, OSError, ValueError, ArithmeticError) as error:
        return (f"the page {options.report} was not written: {error}",)
    return ()


def _check_unchanged(planned: Planned) -> None:
    """Refuse pieces of which some may be of the old content of the input and some of a new one."""
    try:
        same = input_prints(planned.job.source, planned.job.options) == planned.description["inputs"]
    except OSError:
        same = False
    if not same:
        planned.folder.remove()
        raise MediaReadError("the input must stay as it is during a run, it was changed; run again.")


def _make_all(planned: Planned, source: Source | None) -> int:
    """Make the pieces that are not there yet, or not as they were written. Returns how many processes worked at once."""
    jobs = 1
    for _ in range(TRIES):
        todo = [p.index for p in planned.work.pieces if not planned.folder.done(p.index)]
        if not todo:
            return jobs
        jobs = _make_these(todo, planned, source)
    if all(planned.folder.done(p.index) for p in planned.work.pieces):
        return jobs
    raise VideoRestoreError(
        f"what is written must read back the same, pieces did not {TRIES} times; check the disk of OUTPUT."
    )


def _make_these(todo: list[int], planned: Planned, source: Source | None) -> int:
    work, folder, options = planned.work, planned.folder, planned.job.options
    assignment = _assignment(planned)
    counts, costs = work.output_counts(), work.piece_seconds()
    jobs = processes(work, options, len(todo))
    hold = not (tight(options) or work.holds_shots)
    if not hold:
        memory.hold_freed(False)
    crew = workers.Crew(0 if options.cluster is not None else jobs, hold)

    def here(assignment: piecework.Assignment, number: int) -> int:
        if source is None:
            return piecework.make_piece(assignment, number)
        return piecework.store_piece(assignment, work, source, number)

    # Long pieces first: what is left for the end, when somebody has nothing more to do, is short.
    longest = sorted(todo, key=lambda k: -costs[k])
    if options.cluster is not None:
        from videorestore.run import cluster

        stream = cluster.make_pieces(assignment, todo, folder, options.cluster)
    else:
        stream = crew.as_done(piecework.make_piece, [(assignment, k) for k in longest], here)
    hands = 1 if options.cluster is not None else jobs
    costs = with_starts(costs, longest, hands)
    tally = Tally(work.verb, counts, costs, longest, hands, folder, planned.job.progress)
    with crew, workers.threads(1 if crew.others else 0), tally:
        for _ in stream:
            tally.tell()
    return jobs


def _dry(job: Job, work: Work, sample: Sample | None, planned: float) -> Outcome:
    seen = sample.share if sample else 1.0
    jobs = processes(work, job.options, round(len(work.pieces) / seen), seen=seen)
    record = record_of_run(job.verb, work, (), job.started) | {
        "dry_run": True,
        "n_frames": work.shape.n_frames,
        "pieces": len(work.pieces),
        "estimate": estimate(work, job.output, job.options, jobs, planned=planned, seen=seen),
    }
    if sample is not None:
        # Numbers of frames and counts are those of the sample.
        for key in "cuts", "dropped", "inserted", "noise", "pieces":
            record.pop(key, None)
        record["looked_at"] = len(sample.index())
        record["n_frames"] = round(work.shape.n_frames / seen)
    return Outcome(record=record, losses=work.losses)
