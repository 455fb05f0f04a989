"""The clips that benchmarks run on: whole ones where they are short, else the first sixty frames or a later part.

Parts marked as held out are stretches of clips that no setting was chosen on: the later part of a clip whose beginning
may have been looked at, or a clip that was only opened by the benchmark. They are read here and nowhere else.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LONG = 60
"""Frames of a part, where the clip has so many."""
SUFFIXES = (".y4m", ".mp4", ".mkv", ".avi", ".webm", ".mpg", ".mov", ".264")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a clip; ``files`` with more than one name are shots joined, each cut to the smallest size."""

    name: str
    files: tuple[str, ...]
    first: int = 0
    count: int = LONG
    held_out: bool = False
    quick: bool = False

    def read(self, *, most: int | None = None, limit: tuple[int, int] | None = None) -> Pixels:
        """Frames ``(n, height, width, 3)``; of a joined part each shot has its share of them.

        Parameters
        ----------
        most : int, optional
            Fewer frames than the part has.
        limit : tuple of int, optional
            The largest height and width; more is cut off around the middle.
        """
        count = min(self.count, most or self.count)
        shots = [read(_found(f), count // len(self.files), self.first) for f in self.files]
        smallest = np.min([shot.shape[1:3] for shot in shots], axis=0)
        h, w = np.minimum(smallest, limit) if limit else smallest
        return np.concatenate([_middle(shot, int(h), int(w)) for shot in shots])


PARTS = (
    Part("bus", ("bus_qcif_raw.y4m",), quick=True),
    Part("foreman", ("foreman_cif_vp9.webm",), quick=True),
    Part("tennis", ("tennis_sif.mp4",)),
    Part("car-turn, 360p", ("davis_car-turn.mp4",)),
    Part("highway", ("highway.mpg",), first=100),
    Part("hall, still camera", ("hall_monitor",)),
    Part("street, 432p, still camera", ("intel_car-detection.mp4",)),
    Part("traffic, still camera", ("traffic_48x48_raw.avi",)),
    Part("drawn film, 720p", ("bigbuckbunny_720p.mp4",)),
    Part("two shots", ("foreman_cif_CI1_FT_B.264", "tennis_sif.mp4")),
    Part("tennis, end", ("tennis_sif.mp4",), first=90, held_out=True, quick=True),
    Part("foreman, end", ("foreman_cif_CI1_FT_B.264",), first=220, held_out=True),
    Part("highway, later", ("highway.mpg",), first=1000, held_out=True, quick=True),
    Part("corridor, 432p, still camera", ("intel_one-by-one-person.mp4",), first=900, held_out=True),
    Part("drawn film, end, 720p", ("bigbuckbunny_720p.mp4",), first=72, held_out=True),
    Part("dogs", ("../inpaint/dogs_jump_orig.mp4",)),
)  # fmt: skip


def parts(quick: bool, clips: Path | None) -> Iterator[Part]:
    """The development clips, a few of them, or the first frames of those in a folder."""
    if clips is not None:
        for path in sorted(clips.iterdir()):
            if path.is_dir() or path.suffix in SUFFIXES:
                yield Part(path.stem, (str(path),), held_out=True)
        return
    yield from (
        part for part in PARTS if (part.quick or not quick) and all(_found(f).exists() for f in part.files)
    )


def _found(name: str) -> Path:
    return DATA / "natural" / name


def read(path: Path, count: int, first: int = 0) -> Pixels:
    """Some frames ``(n, height, width, 3)`` of a video or of a folder of images."""
    if path.is_dir():
        names = sorted(path.glob("*.png"))[first : first + count]
        return np.stack([cv2.imread(str(p))[..., ::-1] for p in names])
    frames = []
    with av.open(str(path)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number >= first:
                frames.append(frame.to_ndarray(format="rgb24"))
            if len(frames) == count:
                break
    return np.stack(frames)


def _middle(frames: Pixels, height: int, width: int) -> Pixels:
    top, left = (frames.shape[1] - height) // 2, (frames.shape[2] - width) // 2
    return np.ascontiguousarray(frames[:, top : top + height, left : left + width])


def add_noise(truth: Pixels, sigma: float, seed: int = 0) -> Pixels:
    """White Gaussian noise, rounded and clipped to 8 bit."""
    noise = np.random.default_rng(seed).standard_normal(truth.shape, dtype=np.float32)
    return np.clip(np.rint(truth + np.float32(sigma) * noise), 0, 255).astype(np.uint8)


TAPE_LUMA, TAPE_CHROMA = 8.0, 14.0
"""Standard deviations of the noise of a tape, 0..255."""


def add_tape_noise(truth: Pixels, seed: int = 0) -> Pixels:
    """Noise as of a tape: a little smooth in the luma, stronger and smooth along the lines in the chroma."""
    rng = np.random.default_rng(seed)
    noisy = []
    for frame in truth:
        planes = cv2.cvtColor(frame, cv2.COLOR_RGB2YCrCb).astype(np.float32)
        for k, (sd, across, down) in enumerate(
            ((TAPE_LUMA, 0.6, 0.6), (TAPE_CHROMA, 4.0, 1.0), (TAPE_CHROMA, 4.0, 1.0))
        ):
            grain = cv2.GaussianBlur(
                rng.standard_normal(planes.shape[:2]), (0, 0), sigmaX=across, sigmaY=down
            )
            planes[..., k] += sd * grain / grain.std()
        bytes_ = np.clip(np.rint(planes), 0, 255).astype(np.uint8)
        noisy.append(cv2.cvtColor(bytes_, cv2.COLOR_YCrCb2RGB))
    return np.stack(noisy)


def add_night_noise(truth: Pixels, seed: int = 0) -> Pixels:
    """Noise as of a camera at night: of photons and of reading, on a linear scale, raised in the dark by the gamma."""
    rng = np.random.default_rng(seed)
    linear = 150.0 * (truth / 255.0) ** 2.2
    seen = rng.poisson(linear) + rng.normal(0.0, 3.0, linear.shape)
    return np.rint(255.0 * np.clip(seen / 150.0, 0.0, 1.0) ** (1 / 2.2)).astype(np.uint8)


def write(
    frames: Pixels, path: Path, *, rate: str = "25", crf: int | None = None, samples: str | None = None
) -> None:
    """A file of RGB frames: lossless, in other ``samples`` where these are named, or 4:2:0 through x264."""
    h, w = frames.shape[1:3]
    even = ["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p"]
    kept = ["-pix_fmt", samples] if samples else []
    code = ["-c:v", "ffv1", *kept] if crf is None else [*even, "-c:v", "libx264", "-crf", str(crf)]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-r", rate, "-i", "-"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *given, *code, str(path)]
    subprocess.run(command, input=frames.tobytes(), check=True)
