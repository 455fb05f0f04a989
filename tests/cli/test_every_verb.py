"""Every verb on clips of every small kind: a result or one clear line, never an error of the program itself."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.run.test_plan_file import same
from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.run import plan_file

N, HEIGHT, WIDTH = 8, 24, 32


def drift(dtype: type = np.uint8, channels: int = 1) -> np.ndarray:
    """A texture that travels by a pixel a frame, with some noise."""
    rng = np.random.default_rng(5)
    canvas = np.kron(rng.uniform(60, 190, (6, 12, channels)), np.ones((4, 4, 1)))
    frames = np.stack([canvas[:, k : k + WIDTH] for k in range(N)]) + rng.normal(0, 6, (N, HEIGHT, WIDTH, 1))
    if dtype == np.float32:
        return (frames / 255).astype(np.float32)
    return frames.astype(dtype)


def clips() -> dict[str, np.ndarray]:
    """Arrays by name."""
    holes = drift(np.float32)
    holes[:, 6:10, 6:12] = np.nan
    spoilt = drift()
    spoilt[3] = 0
    spoilt[5] = spoilt[4]
    cut = drift(channels=3)
    cut[4:] = 255 - cut[4:]
    return {
        "one": drift()[:1],
        "two": drift()[:2],
        "three": drift(channels=3)[:3],
        "flat": np.full((N, HEIGHT, WIDTH, 3), 90, np.uint8),
        "black": np.zeros((N, HEIGHT, WIDTH), np.uint8),
        "tiny": drift()[:, :5, :7],
        "deep": (drift().astype(np.uint16) << 8),
        "holes": holes,
        "spoilt": spoilt,
        "cut": cut,
    }


COMMANDS = [
    "restore", "restore --factor 2", "denoise --sigma 5 --quality fast", "fill --missing auto", "fill --missing 0",
    "fill --missing LAST", "fill --insert 1@0", "fill --insert ?@0", "inpaint --mask auto", "upsample --factor 2",
    "upsample --fps 60", "deinterlace", "reorder", "inspect", "compare",
]  # fmt: skip


@pytest.mark.parametrize("name", clips())
def test_no_error_of_the_program_can_be_reached(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = plan_file.pack

    def packed(value: object) -> bytes:
        content = pack(value)
        assert same(plan_file.unpack(content), value)
        return content

    monkeypatch.setattr(plan_file, "pack", packed)
    array = clips()[name]
    np.save(tmp_path / "in.npy", array)
    for number, words in enumerate(COMMANDS):
        verb, *options = words.replace("LAST", str(len(array) - 1)).split()
        command = [verb, "in.npy", *(["in.npy"] if verb == "compare" else []), *options, "--json"]
        if verb not in ("inspect", "compare"):
            command += ["-o", f"{number}.npy", "--jobs", "1"]
        out, err = io.StringIO(), io.StringIO()
        world = Environment(stdout=out, stderr=err, stderr_is_terminal=False, cwd=str(tmp_path), variables={})
        status = main([*command, "--progress", "none"], world)
        assert status in (0, 2, 5), (command, err.getvalue())
        assert "this must not happen" not in err.getvalue(), command
        if status != 2:
            assert json.loads(out.getvalue())["verb"] == verb
        else:
            assert err.getvalue().startswith("error: ") and err.getvalue().count("\n") == 1, command
