"""How much memory and disk there is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from videorestore.errors import InputError, MediaWriteError
from videorestore.media.images import IMAGE_SUFFIXES
from videorestore.media.sizes import stated_size
from videorestore.run.identity import files_of

PARENT = 320 << 20
"""Bytes of the process that plans and hands out pieces, besides those that it makes itself."""

HOLDING = {-4: 0, -1: 2000 << 20, -2: 64 << 20}
USUAL = {-4: 1 << 16, -3: 32 << 20, -1: 64 << 20, -2: 128 << 10}
"""glibc's M_MMAP_MAX, M_TRIM_THRESHOLD and M_TOP_PAD: blocks that the system maps one by one and takes back when they are
freed, what stays at the end of the process's memory, which grows by the third; and what it comes to by itself, with
M_MMAP_THRESHOLD. (That size, from which on blocks are mapped, cannot be set beyond 32 MiB, and stacks of frames are larger.)"""


def hold_freed(hold: bool = True) -> None:
    """Let this process keep memory that it frees, for the next frames, instead of giving it back each time.

    The system clears every page that it hands out, which is up to a fifth of the time of a run. Nothing happens where the C
    library is not glibc.
    """
    with contextlib.suppress(OSError, AttributeError, ValueError, TypeError):
        if os.confstr("CS_GNU_LIBC_VERSION"):
            library = ctypes.CDLL(None)
            for name, value in (HOLDING if hold else USUAL).items():
                library.mallopt(name, value)
            if not hold:
                library.malloc_trim(0)


@contextlib.contextmanager
def holding_freed(hold: bool) -> Iterator[None]:
    """`hold_freed` for a while, if at all."""
    if not hold:
        yield
        return
    hold_freed()
    try:
        yield
    finally:
        hold_freed(False)


def available() -> int:
    """Free memory in bytes, as far as the system tells; half of all of it where it does not."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (ValueError, OSError):
        return 4 << 30


class Watch:
    """Looks at the memory of this process and all its descendants while a run lasts.

    The system's own account of children does not serve: it counts a new process as large as its parent, and knows
    of the largest only. Where there is no ``/proc``, nothing is seen and ``peak`` stays 0.

    Attributes
    ----------
    peak : int
        Largest sum of resident memory so far, in bytes.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        _watches.append(self)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._done.set()
        self._thread.join()
        _watches.remove(self)

    def _look(self) -> None:
        started = time.monotonic()
        while True:
            self.peak = max(self.peak, family_bytes(os.getpid()))
            # Every look costs some milliseconds: long runs change slowly.
            if self._done.wait(min(1.0, max(0.2, (time.monotonic() - started) / 50))):
                return


_watches: list[Watch] = []


def peak() -> int:
    """Largest sum of resident memory that the watch around this run has seen so far; 0 without one."""
    return _watches[-1].peak if _watches else 0


def family_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants in bytes; 0 where the system does not tell.

    A child that has not yet become another program still shows the memory of its parent, which is not counted twice.
    """
    try:
        total = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        tasks = os.listdir(f"/proc/{pid}/task")
        words = _words(pid)
    except (OSError, IndexError):
        return 0
    for task in tasks:
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            total += sum(family_bytes(int(child)) for child in children if _words(int(child)) != words)
    return total


def _words(pid: int) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


PICTURE = 24
"""Bytes that a pixel takes at least while its picture is decoded and looked at (21 measured on a GIF)."""


UNASKED = 4 << 30
"""Bytes that one picture may take where no limit was given: 16384 x 8640 fits, and a few bytes cannot ask for all there is."""


def budget(max_memory: int) -> int:
    """Bytes that a run may take: as asked, or half of what is free."""
    return max_memory if max_memory > 0 else available() // 2


def check_pictures(names: Sequence[str], max_memory: int) -> None:
    """Refuse pictures that are too large for the memory, by what their files say of themselves, before any is decoded."""
    room = max_memory if max_memory > 0 else min(budget(0), UNASKED)
    for name in names:
        whole = not os.path.isfile(name)
        for file in files_of(name):
            if file.suffix.lower() == ".npy" or (whole and file.suffix.lower() not in IMAGE_SUFFIXES):
                continue
            width, height = stated_size(file) or (0, 0)
            if PICTURE * width * height > room:
                raise InputError(
                    f"memory must suffice for the pictures, those of {file.name} are {width} x {height} and take "
                    f"{PICTURE * width * height / 1e6:.0f} MB of {room / 1e6:.0f} MB; allow more with --max-memory, or make them smaller."
                )


def check_disk(folder: Path, need: int) -> None:
    """Refuse a run that cannot end well."""
    free = shutil.disk_usage(folder).free
    if need > free:
        raise MediaWriteError(
            f"the disk of OUTPUT must have about {need / 1e6:.3g} MB free, got {free / 1e6:.3g} MB; "
            "free some space, choose another disk or a stronger compression."
        )
