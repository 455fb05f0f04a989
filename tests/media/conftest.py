"""Clips that several tests of the media room use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.media.makers import Make, picture
from videorestore.media.pipe import ffmpeg


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """``make("name.mkv", "-f", "lavfi", ...)`` runs FFmpeg once per name and gives the file."""
    folder = tmp_path_factory.mktemp("clips")
    made: dict[str, tuple[str, ...]] = {}

    def run(name: str, *arguments: str) -> Path:
        path = folder / name
        assert made.setdefault(name, arguments) == arguments, f"two clips are called {name}"
        if not path.exists():
            command = [ffmpeg(), "-v", "error", "-nostdin", "-y", *arguments, f"file:{path}"]
            subprocess.run(command, check=True, cwd=folder, timeout=60)
        return path

    return run


@pytest.fixture(scope="session")
def plain(make: Make) -> Path:
    """Ten frames of H.264 with B-frames in MP4."""
    return make("plain.mp4", *picture(), "-c:v", "libx264", "-pix_fmt", "yuv420p")
