"""What ``restore`` does to clips with nothing wrong: every sample that it changes is harm.

    python scripts/bench_parts/harm.py [--quick] [NAME ...]

Parts of the development clips, and scenes that are rendered (see `harm_scenes`), a hundred in all, are restored with
the defaults. Noise that is there may be removed; where that happened, ``denoise="off"`` is run too, so that every
detector answers for its false alarms by itself. Frames that are mended, filled, inserted or brought to another
brightness count, and denoised ones where there is no noise to speak of.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts import harm_scenes  # noqa: E402

import videorestore as vr  # noqa: E402
from videorestore.clip import Clip, ClipInfo, PixelFormat  # noqa: E402
from videorestore.media import SinkOptions, write  # noqa: E402
from videorestore.media.pipe import ffmpeg  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
LENGTH = 16
CROPPED = "crop='min(iw,256)':'min(ih,208)'"
REDUCED = "scale=208:-2:flags=area"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a clip: from a frame on, every so many frames, cropped or reduced."""

    path: str
    start: int = 0
    every: int = 1
    how: str = CROPPED
    times: bool = False

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{Path(self.path).stem} {self.start}{'' if self.every == 1 else f'/{self.every}'}"

    def make(self, folder: Path) -> Path:
        """The stretch as a file without further loss."""
        made = folder / "part.mkv"
        stop = self.start + LENGTH * self.every
        picked = f"select='gte(n,{self.start})*lt(n,{stop})*not(mod(n-{self.start},{self.every}))'"
        even = "" if self.times else ",setpts=N/25/TB"
        command = [
            ffmpeg(),
            "-v",
            "error",
            "-y",
            "-i",
            str(DATA / self.path),
            "-vf",
            f"{picked},{self.how}{even}",
        ]
        subprocess.run(
            [*command, "-an", "-sn", "-fps_mode", "passthrough", "-c:v", "ffv1", str(made)], check=True
        )
        return made


PARTS = (
    *(Part(path=f"natural/{name}", start=start, every=every, how=how)
      for name, places in (
          ("bigbuckbunny_720p.mp4", (10, 80)), ("bus_qcif_raw.y4m", (4, 20)), ("davis_car-turn.mp4", (5, 30)),
          ("escalator.avi", (20, 90)), ("foreman_cif_vp9.webm", (4, 20)), ("highway.mpg", (100, 900)),
          ("intel_car-detection.mp4", (60, 200)), ("intel_one-by-one-person.mp4", (150, 700)),
          ("superres_car_raw.avi", (3, 20)), ("traffic_48x48_raw.avi", (3, 15)), ("tennis_sif.mp4", (4, 100)),
          ("intel_asl_book.mkv", (10, 50)), ("foreman_cif_CI1_FT_B.264", (150, 220)))
      for start, every, how in ((places[0], 1, CROPPED), (places[1], 2, REDUCED))),
    *(Part(path=f"inpaint/{name}_orig.mp4", start=start, every=every, how=how)
      for name in ("dogs_jump", "schoolgirls") for start, every, how in ((4, 1, CROPPED), (20, 2, REDUCED))),
    Part(path="odd/rot180_vfr_fire2.mp4", how=REDUCED, times=True),
    Part(path="odd/rot180_vfr_fire2.mp4", start=4),
    Part(path="odd/exo_video_desks.3gp", start=5, times=True),
    Part(path="odd/exo_video_desks.3gp", start=60),
    Part(path="odd/imageio_test.webm", start=10),
    Part(path="odd/imageio_test.webm", start=40, every=3, how=REDUCED),
    Part(path="odd/torchcodec_nasa_13013.mp4", start=100),
    Part(path="odd/torchcodec_nasa_13013.mp4", start=230),
    Part(path="odd/moviepy_video_with_failing_audio.mp4", start=40),
    Part(path="odd/moviepy_video_with_failing_audio.mp4", start=150, every=3, how=REDUCED),
    Part(path="odd/moviepy_no_duration.webm", start=5, how=REDUCED),
    Part(path="odd/torchcodec_av1_video.mkv", start=20),
    Part(path="odd/torchcodec_h264_10bits.mp4", start=5),
)  # fmt: skip

COILS = (1, 4, 5, 14)
COIL_STEPS = (1, 3)


def parts() -> Iterator[tuple[str, Any]]:
    """Names, and files or clips."""
    for part in PARTS:
        if (DATA / part.path).exists():
            yield part.name, part
    hall = DATA / "natural" / "hall_monitor"
    if hall.is_dir():
        yield "hall_monitor", hall
    for number in COILS if (DATA / "manifold").is_dir() else ():
        step = COIL_STEPS[number % 2]
        files = [DATA / "manifold" / "coil20" / f"obj{number}__{k * step}.png" for k in range(LENGTH)]
        yield f"coil {number}", clip(np.concatenate([vr.read(f).frames for f in files]))
    if (DATA / "manifold").is_dir():
        yield "mouse heart", DATA / "manifold" / "mouse_cine8.gif"
    for scene in harm_scenes.SCENES:
        for seed in (1, 2):
            yield f"{scene.__name__} {seed}", clip(scene(np.random.default_rng(seed)), rough=seed == 2)


def clip(frames: Any, rough: bool = False) -> Clip:
    """Frames with times; ``rough`` ones as a phone stamps them, up to a quarter of a step off, or one step too long."""
    n = len(frames)
    step = Fraction(1, 30)
    times = [k * step for k in range(n)]
    if rough:
        rng = np.random.default_rng(n)
        late = np.cumsum(rng.uniform(size=n) < 0.12)
        times = [
            t + int(extra) * step + step * int(rng.integers(-25, 26)) / 100
            for t, extra in zip(times, late, strict=True)
        ]
        times = [t - times[0] for t in times]
    durations = [b - a for a, b in zip(times[:-1], times[1:], strict=True)] + [step]
    model = "grey" if frames.shape[3] == 1 else "rgb"
    info = ClipInfo(format=PixelFormat(model=model), fps=Fraction(30), vfr=rough)
    return Clip(
        frames=np.asarray(frames, np.uint8), times=tuple(times), durations=tuple(durations), info=info
    )


def harmed(record: dict[str, Any], noisy: bool) -> dict[str, int]:
    """What was done that should not have been, and how often."""
    origins = Counter(frame["origin"] for frame in record["frames"])
    done = {name: origins[name] for name in ("mended", "filled", "interpolated") if origins[name]}
    done |= {"places": len(record["damage"])} if record.get("damage") else {}
    lit = sum(bool(frame.get("deflickered")) for frame in record["frames"])
    done |= {"deflickered": lit} if lit else {}
    return done | ({"denoised": origins["denoised"]} if origins["denoised"] and not noisy else {})


def main(quick: bool = False, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Restore every clip and count what changed.

    Parameters
    ----------
    quick : bool
        Every fifth clip.
    only : tuple of str
        Clips whose name begins with one of these.

    Returns
    -------
    dict
        Table "changed" with the clips that were harmed, their number, that of all clips, and the CPU time.
    """
    rows: list[dict[str, Any]] = []
    count = 0
    before = _cpu()
    for number, (name, what) in enumerate(parts()):
        if (quick and number % 5) or (only and not name.startswith(only)):
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            path = what.make(Path(folder)) if isinstance(what, Part) else what
            if isinstance(what, Clip):
                path = Path(folder) / "clip.mkv"
                write(what, str(path), SinkOptions(codec="ffv1"))
            rendered = isinstance(what, Clip)
            record = vr.restore(path).record
            done = harmed(record, noisy=not rendered)
            if any(frame["origin"] == "denoised" for frame in record["frames"]):
                done |= harmed(vr.restore(path, denoise="off").record, noisy=False)
        if done:
            rows.append({"clip": name, **{k: done.get(k, 0) for k in KINDS}})
        print(f"{name}: {done or 'unchanged'}", file=sys.stderr, flush=True)
    return {
        "clips": count,
        "harmed": len(rows),
        "CPU s": round(_cpu() - before, 1),
        "changed": rows or "none",
    }


KINDS = ("places", "mended", "filled", "interpolated", "deflickered", "denoised")


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


if __name__ == "__main__":
    names = tuple(a for a in sys.argv[1:] if not a.startswith("-"))
    print(json.dumps(main(quick="--quick" in sys.argv, only=names), indent=1))
