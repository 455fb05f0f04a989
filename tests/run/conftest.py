from fractions import Fraction

import numpy as np
import pytest

from tests.run.jobs import run
from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import SinkOptions, read, write


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """Ninety small frames of a texture that drifts to and fro."""
    rng = np.random.default_rng(0)
    canvas = np.kron(rng.integers(40, 220, (24, 40, 3)), np.ones((4, 4, 1)))
    path = 30 + 30 * np.sin(np.arange(90) / 12)
    frames = np.stack([canvas[int(k) // 2 : int(k) // 2 + 48, int(k) : int(k) + 64] for k in path]).astype(
        np.uint8
    )
    times = tuple(Fraction(k, 25) for k in range(90))
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    path = tmp_path_factory.mktemp("resume") / "in.mkv"
    write(
        Clip(frames=frames, times=times, durations=(Fraction(1, 25),) * 90, info=info),
        path,
        SinkOptions(codec="ffv1"),
    )
    return path


@pytest.fixture(scope="session")
def undisturbed(clip, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "out.mkv"
    record = run(clip, output, "--jobs", "1")
    assert [f["origin"] for f in record["frames"][:3]] == ["kept", "interpolated", "kept"]
    assert not output.with_name("out.mkv.work").exists()
    return np.asarray(read(output).frames)
