"""Small made clips, and every verb on them: what `hashes.json` holds the results of."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np

import videorestore as vr
from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.plan import assemble

HASHES = Path(__file__).with_name("hashes.json")

HEIGHT, WIDTH, FRAMES = 48, 64, 16
GRID = 4
"""Frames are also kept as means over so many by so many blocks: what can be compared on another machine."""

LOSSLESS = ["--codec", "ffv1", "--progress", "none", "--seed", "1", "-y", "--json"]
MODELS = ("auto", "curve", "motion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One command on one made clip.

    Attributes
    ----------
    words : tuple of str
        Verb and options; the names of the made files stand in them as ``{clip}``, ``{mask}``.
    clip : str
        Name in `clips`.
    on_disk : bool
        Frames lie on disk and large pictures are done in parts, as where memory is short.
    """

    words: tuple[str, ...]
    clip: str
    on_disk: bool = False

    @property
    def name(self) -> str:
        """What it is called in the file of hashes."""
        return " ".join([*self.words, "on", self.clip, *(["from disk"] if self.on_disk else [])])


def texture(seed: int, height: int, width: int) -> np.ndarray:
    """A smooth random picture in 0..1, from sums of sines, so that no library's filter is in it."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    picture = np.zeros((height, width, 3))
    for _ in range(24):
        fy, fx = rng.uniform(-0.35, 0.35, 2)
        phase, size = rng.uniform(0, 2 * np.pi, 3), rng.uniform(0.2, 1, 3)
        picture += size * np.sin((fy * rows + fx * columns)[..., None] + phase)
    return 0.5 + 0.09 * picture


def scene() -> np.ndarray:
    """A camera that travels over a picture while a square crosses it: ``(n, h, w, 3)`` in 0..1."""
    canvas = texture(3, HEIGHT + FRAMES, WIDTH + 2 * FRAMES)
    frames = []
    for k in range(FRAMES):
        frame = canvas[k // 2 : k // 2 + HEIGHT, 2 * k : 2 * k + WIDTH].copy()
        frame[14:26, 4 + 3 * k : 14 + 3 * k] = (0.85, 0.3, 0.2)
        frames.append(frame)
    return np.clip(np.stack(frames), 0, 1)


def clips() -> dict[str, np.ndarray]:
    """Every made clip by name, as a file would hold it."""
    rng = np.random.default_rng(5)
    clean = scene()
    noisy = np.clip(clean + 12 / 255 * rng.standard_normal(clean.shape), 0, 1)
    still = (
        np.broadcast_to(clean[:1], clean.shape) * (1 + 0.05 * np.sin(np.arange(FRAMES)))[:, None, None, None]
    )
    steady = np.clip(still + 12 / 255 * rng.standard_normal(clean.shape), 0, 1)
    damaged = np.rint(255 * noisy).astype(np.uint8)
    damaged[6] = 0
    damaged[11, 10:22, 20:44] = 255
    return {
        "clean": np.rint(255 * clean).astype(np.uint8),
        "noisy": np.rint(255 * noisy).astype(np.uint8),
        "steady": np.rint(255 * steady).astype(np.uint8),
        "deep": np.rint(65535 * noisy).astype(np.uint16),
        "damaged": damaged,
        "shuffled": np.rint(255 * clean).astype(np.uint8)[np.random.default_rng(2).permutation(FRAMES)],
    }


def cases() -> list[Case]:
    """What is run."""
    found = [Case(words=("denoise", "--model", m), clip=c) for m in MODELS for c in ("noisy", "steady")]
    found += [Case(words=("denoise", "--quality", q), clip="noisy") for q in ("fast", "best")]
    found += [Case(words=("denoise", "--model", m), clip="noisy", on_disk=True) for m in MODELS[1:]]
    found += [Case(words=("denoise",), clip="deep"), Case(words=("denoise", "--jobs", "2"), clip="noisy")]
    for model in MODELS:
        found.append(Case(words=("fill", "--missing", "5-6", "--model", model), clip="clean"))
        found.append(Case(words=("inpaint", "--mask", "{mask}", "--model", model), clip="clean"))
        found.append(Case(words=("upsample", "--factor", "2", "--model", model), clip="clean"))
    found += [
        Case(words=("fill", "--insert", "2@7"), clip="clean"),
        Case(words=("inpaint", "--mask", "{mask}"), clip="deep"),
        Case(words=("inpaint", "--mask", "{mask}"), clip="clean", on_disk=True),
        Case(words=("upsample", "--fps", "40", "--jobs", "2"), clip="clean"),
        Case(words=("reorder",), clip="shuffled"),
        Case(words=("restore",), clip="damaged"),
        Case(words=("restore",), clip="damaged", on_disk=True),
        Case(words=("restore", "--factor", "3/2"), clip="damaged"),
        Case(words=("restore",), clip="clean"),
    ]
    return found


@contextmanager
def short_of_memory() -> Iterator[None]:
    """Pieces of six frames that lie on disk, pictures in parts, whatever the budget."""
    usual = assemble.motion_layout

    def small(*sizes: int, **wishes: Any) -> Any:
        return replace(usual(*sizes, **wishes), core=6, side=32, on_disk=True)

    with (
        mock.patch.object(assemble, "motion_layout", small),
        mock.patch("videorestore.make.window.SPOOL_FROM", 0),
    ):
        yield


def run(case: Case, folder: Path) -> np.ndarray:
    """Frames ``(n, h, w, c)`` that a command gives, decoded from the file that it wrote."""
    made = clips()[case.clip]
    source, mask, output = folder / "clip.npy", folder / "mask.png", folder / "out.mkv"
    if case.clip == "deep":
        output = folder / "out.npy"
    np.save(source, made)
    holes = np.zeros((HEIGHT, WIDTH), np.uint8)
    holes[12:24, 24:40] = 255
    cv2.imwrite(str(mask), holes)
    words = [word.format(mask=mask) for word in case.words]
    out, err = io.StringIO(), io.StringIO()
    world = Environment(stdout=out, stderr=err)
    line = [words[0], str(source), "-o", str(output), "--input-fps", "25", *words[1:], *LOSSLESS]
    with short_of_memory() if case.on_disk else nullcontext():
        status = main(line, world)
    assert status == 0, err.getvalue()
    assert json.loads(out.getvalue())["verb"] == words[0]
    return vr.read(str(output)).frames


def digest(frames: np.ndarray) -> str:
    """Of samples, type and shape."""
    facts = f"{frames.dtype}{frames.shape}".encode()
    return hashlib.sha256(facts + np.ascontiguousarray(frames).tobytes()).hexdigest()


def thumbnail(frames: np.ndarray) -> list[float]:
    """Means over blocks of all frames on the 0..255 scale, to a hundredth of a level."""
    scale = 255 / np.iinfo(frames.dtype).max
    rows, columns = frames.shape[1] // GRID, frames.shape[2] // GRID
    blocks = frames[:, : rows * GRID, : columns * GRID].reshape(
        -1, GRID, rows, GRID, columns, frames.shape[3]
    )
    return [round(float(v), 2) for v in (scale * blocks.mean(axis=(2, 4, 5))).mean(axis=0).ravel()]


def machine() -> dict[str, str]:
    """What the last bits depend on: the processor that code is compiled for, and the libraries that were compiled."""
    from llvmlite.binding import get_host_cpu_name

    packages = ("numpy", "scipy", "opencv-python", "numba", "av", "imageio-ffmpeg")
    return {"processor": get_host_cpu_name(), **{name: version(name) for name in packages}}
