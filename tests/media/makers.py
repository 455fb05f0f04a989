"""Small clips made with FFmpeg, and FFmpeg's own view of a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from videorestore.clip import ClipInfo, Frame, PixelFormat
from videorestore.media import OutputShape, SinkOptions, Source, open_sink, open_source
from videorestore.media.pipe import ffmpeg

Make = Callable[..., Path]


def picture(size: str = "64x48", rate: str = "25", seconds: str = "0.4") -> list[str]:
    """FFmpeg's arguments for a moving test picture, odd sizes included."""
    width, height = map(int, size.split("x"))
    source = f"testsrc2=s={width + width % 2}x{height + height % 2}:r={rate}:d={seconds}"
    if width % 2 or height % 2:
        source += f",format=gbrp,crop={width}:{height}:0:0:exact=1"
    return ["-f", "lavfi", "-i", source]


def tone(seconds: str = "0.4", frequency: int = 440) -> list[str]:
    """FFmpeg's arguments for a sine."""
    return ["-f", "lavfi", "-i", f"sine=f={frequency}:r=44100:d={seconds}"]


def decoded_by_ffmpeg(path: Path, pix_fmt: str) -> np.ndarray:
    """Bytes of the first video stream, as FFmpeg alone decodes, rotates and (exactly) converts them."""
    exact = "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp+neighbor"
    command = [ffmpeg(), "-v", "error", "-i", f"file:{path}", "-fps_mode", "passthrough", "-vf", exact]
    command += ["-f", "rawvideo", "-pix_fmt", pix_fmt, "-"]
    return np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.uint8)


def random_frame(pixel: PixelFormat, height: int, width: int, number: int = 0) -> Frame:
    """A frame of noise, the same for the same number."""
    rng = np.random.default_rng(number)
    planes = []
    for shape in pixel.plane_shapes(height, width):
        if pixel.depth == 32:
            planes.append(rng.random(shape, np.float32))
        else:
            planes.append(rng.integers(0, 1 << pixel.depth, shape).astype(pixel.dtype))
    time = Fraction(number, 25)
    return Frame(planes=tuple(planes), format=pixel, index=number, time=time, duration=Fraction(1, 25))


def same_planes(one: Frame, other: Frame) -> bool:
    """Whether two frames have the same samples."""
    return len(one.planes) == len(other.planes) and all(
        np.array_equal(a, b) for a, b in zip(one.planes, other.planes)
    )


def packets(path: Path, kind: str) -> list[list[bytes]]:
    """Payloads of every stream of a type."""
    with av.open(f"file:{path}") as container:
        chosen = [s for s in container.streams if s.type == kind]
        found: dict[int, list[bytes]] = {s.index: [] for s in chosen}
        for packet in container.demux(*chosen):
            if packet.size:
                found[packet.stream_index].append(bytes(packet))
    return list(found.values())


def leftovers(folder: Path) -> list[str]:
    """Names of what lies in a folder."""
    return sorted(p.name for p in folder.iterdir())


def shape_of(pixel: PixelFormat, n: int = 3, height: int = 18, width: int = 22, **facts) -> OutputShape:
    """A small clip at 25 frames a second, as a sink wants it described."""
    info = ClipInfo(format=pixel, fps=Fraction(25), **facts)
    return OutputShape(info=info, height=height, width=width, n_frames=n, fps=Fraction(25))


@dataclass(frozen=True)
class Copied:
    """What became of a source that was written back."""

    n_frames: int
    losses: tuple[str, ...]
    notes: tuple[str, ...]


def copy_through(
    source: Source | Path | str, output: Path | str, options: SinkOptions | None = None
) -> Copied:
    """Read and write with no step between."""
    if not isinstance(source, Source):
        with open_source(source) as opened:
            return copy_through(opened, output, options)
    # Pictures need their number first, for names and headers.
    still = os.fspath(output).endswith((".npy", ".tif", "/"))
    shape = OutputShape.of(source, len(source.index()) if still else 0)
    count = 0
    with open_sink(output, shape, options, streams_from=source.path) as sink:
        for frame in source.frames():
            sink.write(frame)
            count += 1
    index = source.index()
    told = tuple(m for m in index.messages if m not in index.losses)
    return Copied(count, (*index.losses, *sink.losses), (*told, *sink.notes))
