"""Compiling ahead: the first run on a machine compiles the denoiser's kernels beside its look through the clip.

Compiled kernels are kept on disk, so this happens once; it takes about as long as the look itself.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal


@contextlib.contextmanager
def compiled_ahead(wanted: bool) -> Iterator[None]:
    """While the block runs another process compiles what the denoiser needs, unless it is there already."""
    process = _start() if wanted and not _compiled() else None
    try:
        yield
    finally:
        if process is not None:
            # Kernels are stored one by one, whole: what it has not finished is compiled where it is needed.
            process.kill()
            process.wait()


def _compiled() -> bool:
    """Whether a kernel that is compiled last is on the disk; of an older version it may be, and is then replaced."""
    from videorestore.spatial._kernels_patches import restore_frame

    try:
        folder = Path(restore_frame.stats.cache_path)  # type: ignore[attr-defined]
        return any(folder.glob(f"*{restore_frame.__name__}*.nbi"))
    except (AttributeError, OSError):
        # No cache, or no compiler at all.
        return True


def _start() -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return None


def denoise_grains(quality: Literal["fast", "default"]) -> None:
    """Denoise a few grains of noise: all that denoising needs is then loaded, or compiled and stored."""
    import numpy as np

    from videorestore.motion.denoise import denoise
    from videorestore.spatial.noise import Noise

    grain = np.random.default_rng(0).normal(128, 10, (3, 48, 48, 3)).astype(np.float32)
    denoise(grain, Noise(sd=10.0), quality=quality)


def main() -> None:
    """Compile the denoiser, in a process that ends with its parent."""
    from videorestore.run.workers import limit_threads, serve

    serve()
    limit_threads(1)
    denoise_grains("default")


if __name__ == "__main__":
    main()
