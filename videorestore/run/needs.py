"""What a run needs: how many processes are worth their start, and what memory and disk they take."""

from __future__ import annotations

import os
import sys

from videorestore.errors import InputError
from videorestore.make.cost import STARTING
from videorestore.make.work import Work
from videorestore.media.encode import SinkOptions
from videorestore.media.outputs import kind_of
from videorestore.media.pixels import packed_size
from videorestore.media.segments import encoding_for
from videorestore.media.source import Source
from videorestore.plan.scan import expected_frames
from videorestore.request import Common
from videorestore.run import memory, workers
from videorestore.run.speed import slowness
from videorestore.run.tally import FIRST, span

WORTH_WORKERS = 2 << 20
WORTH_PIXELS = 8_000_000
"""Bytes of an input, and pixels of all its frames, below which workers are not started ahead."""

WORTH_PROCESS = 6.0
"""CPU seconds of work for each process, below which its start costs more than it helps: threads do better."""

THREADED = 0.6
"""A single process is quicker by its threads, as this power of the cores (by 1.4 with two of them on a dirty film, 1.6 with new frames)."""

EASY_MEMORY = 4 << 30
"""With less memory than this the plan decides first how many workers there may be, and what is freed is given back."""

ROOMY = 1 << 30
"""Bytes for each of two workers, below which one that has all of the memory does better."""

PIECE_MEMORY = 4 << 30
"""Bytes that one piece may take where the user names no limit."""


LOSSLESS_PACKS, CLEAN_PACKS = 2, 35
"""Raw bytes over written ones, at most of a lossless codec, and of a lossy one where noise was removed (37 and 48 measured)."""

UNPACKED = ("npy", "tiff")
"""Outputs that hold their samples as they are."""


def share(options: Common) -> int:
    """Memory for one piece. It decides where pieces are cut, so it depends neither on the machine nor on --jobs.

    Of what the user allows two workers get their share, beside the process that hands out the work.
    """
    if options.max_memory <= 0:
        return PIECE_MEMORY
    shared = (options.max_memory - memory.PARENT) // 2
    return shared if shared >= ROOMY else options.max_memory


def processes(work: Work, options: Common, pieces: int, *, seen: float = 1.0) -> int:
    """How many processes may work at once: as asked or as are worth their start, and as memory allows.

    ``seen``: of the frames, the share that was planned.
    """
    asked = options.jobs or min(workers.cores(), int(sum(work.piece_seconds()) / seen / WORTH_PROCESS))
    # One of them is this process itself, which holds the plan besides.
    room = memory.budget(options.max_memory) - memory.PARENT
    fitting = room // max(1, work.piece_bytes)
    return int(max(1, min(asked, pieces, fitting)))


def early(source: Source, options: Common) -> int:
    """How many workers to start before the plan is known: none for small clips, which one process may do alone.

    With a cluster they only help to look through the clip.
    """
    path = source.info.path or ""
    small = os.path.isfile(path) and os.path.getsize(path) < WORTH_WORKERS
    count = len(os.listdir(path)) if os.path.isdir(path) else expected_frames(source)
    pixels = count * source.height * source.width
    if small or 0 < pixels < WORTH_PIXELS or tight(options):
        return 0
    return options.jobs or workers.cores()


def tight(options: Common) -> bool:
    return 0 < options.max_memory < EASY_MEMORY


def memory_need(work: Work, jobs: int) -> int:
    """Bytes that all processes of a run most likely need at once: with the largest pieces at hand."""
    largest = sorted(work.likely_bytes or (work.piece_bytes,), reverse=True)
    return sum(largest[min(k, len(largest) - 1)] for k in range(jobs))


def disk_need(
    work: Work, output: str, options: Common, jobs: int, *, likely: bool = False, seen: float = 1.0
) -> int:
    """Bytes on the disk of OUTPUT while the run lasts: the pieces, the file joined from them, what workers spool.

    At most, or as is ``likely``: without its noise a picture packs well, and with it about as well as it did in the source.
    ``seen``: of the frames, the share that was planned.
    """
    shape = work.shape
    packs = (
        1
        if kind_of(output).name in UNPACKED
        else encoding_for(output, shape, SinkOptions(codec=options.codec)).packs
    )
    maps = shape.n_frames * shape.height * shape.width * shape.info.format.colours * 4 if options.sd else 0
    raw = packed_size(shape.info.format, shape.height, shape.width) * shape.n_frames
    written = raw // packs
    if likely and packs > LOSSLESS_PACKS:
        written = min(written, raw // CLEAN_PACKS if work.cleans else round(_as_in_source(work) * seen))
    spooled = (likely and work.likely_disk) or work.piece_disk
    return round(2 * (written + maps) / seen) + jobs * spooled


def _as_in_source(work: Work) -> int:
    """Bytes of as many frames as the output has, if each takes what it took in the source."""
    path = work.shape.info.path or ""
    if not work.source_times or not os.path.isfile(path):
        return sys.maxsize
    return os.path.getsize(path) * work.shape.n_frames // len(work.source_times)


def check_memory(need: int, height: int, width: int, options: Common) -> None:
    """Refuse a limit below what is needed at the least for frames of this size."""
    if 0 < options.max_memory < need:
        least = -(-need // (10 << 20)) * 10
        raise InputError(
            f"--max-memory must be at least about {least}M for this job on frames of {width} x {height}, "
            f"got {options.max_memory / (1 << 20):.0f}M; allow more, or make the frames smaller first."
        )


def estimate(
    work: Work, output: str, options: Common, jobs: int, *, planned: float, seen: float = 1.0
) -> dict[str, float]:
    """Time, memory and disk of a run, before it.

    ``planned``: CPU seconds that the plan took; a run makes the same plan. ``seen``: of its frames, the share that was planned.
    """
    costs = work.piece_seconds()
    making = max(span(costs, jobs), sum(costs) / seen / jobs) + (FIRST - 1) * max(costs, default=0.0)
    if jobs == 1 and options.jobs != 1:
        making /= workers.cores() ** THREADED
    looking = work.looking_seconds() * (1 / seen - 1) / jobs
    return {
        "disk_mb": round(disk_need(work, output, options, jobs, likely=True, seen=seen) / 1e6, 1),
        "memory_mb": round(memory_need(work, jobs) / 1e6),
        "time_s": round(planned + (STARTING + looking + making) * slowness(), 1),
    }
