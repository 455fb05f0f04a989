"""How much memory and disk there is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from videorestore.errors import MediaWriteError
from videorestore.tasks.work import OutputShape

PARENT = 320 << 20
"""Bytes of the process that plans and hands out pieces, while others make them."""


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


def budget(max_memory: int) -> int:
    """Bytes that a run may take: as asked, or half of what is free."""
    return max_memory if max_memory > 0 else available() // 2


def raw_bytes(shape: OutputShape) -> int:
    """Bytes of the output without compression."""
    form = shape.info.format
    samples = sum(h * w for h, w in form.plane_shapes(shape.height, shape.width))
    return samples * form.dtype.itemsize * shape.n_frames


def disk_need(shape: OutputShape, output: str, codec: str | None, sd: bool) -> int:
    """Bytes on disk while the run lasts: the pieces and the file joined from them.

    Lossless video takes about half of the raw size, lossy video at our quality about an eighth.
    """
    raw = raw_bytes(shape)
    lossless = codec in {"ffv1", "prores", "rawvideo"} or Path(output).suffix in {
        "",
        ".npy",
        ".tif",
        ".tiff",
        ".gif",
    }
    whole = raw if Path(output).suffix in {".npy", ".tif", ".tiff"} else raw // 2 if lossless else raw // 8
    maps = shape.n_frames * shape.height * shape.width * shape.info.format.colours * 4 if sd else 0
    return 2 * (whole + maps)


def check_disk(folder: Path, need: int) -> None:
    """Refuse a run that cannot end well."""
    free = shutil.disk_usage(folder).free
    if need > free:
        raise MediaWriteError(
            f"the disk of OUTPUT must have about {need / 1e6:.0f} MB free, got {free / 1e6:.0f} MB; "
            "free some space, choose another disk or a stronger compression."
        )
