"""Time and memory against length and size, limits kept, two workers, estimates, and runs that are killed.

    python scripts/bench_parts/scale.py [--quick] [PART ...]

Synthetic clips (a moving test picture with noise) go through the command line in processes of their own. Memory is
the largest sum of resident memory over all processes of a run, encoders included, looked at every 20 ms (pages that
several processes share count for each of them); time is wall clock, CPU time is that of all processes.
The gain of two workers means something on two idle cores only.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from bench_parts.scale_costs import costs_of  # noqa: E402
from bench_parts.scale_peers import peers  # noqa: E402

MB = 1e6
FAST = ("--model", "motion", "--quality", "fast")


def make_clip(path: Path, width: int, height: int, frames: int) -> Path:
    """A moving test picture with noise, encoded so that decoding costs what it costs in real files."""
    source = f"testsrc2=size={width}x{height}:rate=25,noise=alls=12:allf=t"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-f", "lavfi", "-i", source]
    command += ["-frames:v", str(frames), "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"]
    subprocess.run([*command, "-pix_fmt", "yuv420p", str(path)], check=True)
    return path


def family(pid: int) -> list[int]:
    """A process and all its descendants, but for those that have not yet become another program.

    These show the memory of their parent as their own for a moment.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found = [pid]
    for task in tasks:
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{child}/cmdline").read_bytes() != words:
                        found += family(int(child))
    return found


def resident(pid: int) -> int:
    """Resident memory of a process in bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def folder_bytes(folder: Path) -> int:
    """Bytes that the files of a folder take, those without a name not counted."""
    total = 0
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


class Watch(threading.Thread):
    """Looks at a process family while it lives."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        super().__init__(daemon=True)
        self.process, self.folder = process, folder
        self.peak = self.disk = 0
        self.ends: dict[int, float] = {}

    def run(self) -> None:
        start = folder_bytes(self.folder)
        while self.process.poll() is None:
            self.peak = max(self.peak, sum(resident(p) for p in family(self.process.pid)))
            self.disk = max(self.disk, folder_bytes(self.folder) - start)
            time.sleep(0.02)


def command_line(verb: str, clip: Path, output: Path, options: Sequence[str]) -> list[str]:
    """The words of a run."""
    words = [sys.executable, "-m", "videorestore", verb, str(clip)]
    words += [] if verb == "inspect" else ["-o", str(output), "-y"]
    return [*words, *options, "--json", "--progress", "none"]


def run(verb: str, clip: Path, *options: str) -> dict[str, Any]:
    """One run: seconds, CPU seconds, peak memory and disk, frames that were changed, and its record without frames."""
    with tempfile.TemporaryDirectory(dir=clip.parent) as folder:
        output = Path(folder) / "out.mkv"
        before = os.times()
        started = time.monotonic()
        process = subprocess.Popen(
            command_line(verb, clip, output, options),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        watch = Watch(process, Path(folder))
        watch.start()
        text, errors = process.communicate()
        elapsed = time.monotonic() - started
        watch.join()
        after = os.times()
    if process.returncode not in (0, 5):
        raise RuntimeError(errors.strip())
    record = json.loads(text)
    frames = record.pop("frames", [])
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "seconds": round(elapsed, 2),
        "cpu_s": round(cpu, 2),
        "peak_mb": round(watch.peak / MB),
        "disk_mb": round(watch.disk / MB, 1),
        "changed": sum(f["origin"] not in ("kept", "recoded") for f in frames),
        "record": record,
    }


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """What is shown of a run."""
    return {k: result[k] for k in ("seconds", "cpu_s", "peak_mb")}


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope of the straight line through logarithms."""
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 3)


def growth_in_frames(folder: Path, quick: bool) -> dict[str, Any]:
    """Memory and time against length, at a small size."""
    rows = []
    for n in (200, 400, 1200) if quick else (200, 400, 1600, 4000):
        result = run("denoise", make_clip(folder / "n.mkv", 64, 48, n), *FAST, "--max-memory", "2G")
        rows.append({"frames": n, **figures(result)})
    x = [r["frames"] for r in rows]
    by_length = {r["frames"]: r["peak_mb"] for r in rows}
    return {
        "rows": rows,
        "time_exponent": exponent(x, [r["seconds"] for r in rows]),
        "cpu_exponent": exponent(x, [r["cpu_s"] for r in rows]),
        "cpu_exponent_of_the_longest": exponent(x[-2:], [r["cpu_s"] for r in rows[-2:]]),
        "memory_exponent": exponent(x, [r["peak_mb"] for r in rows]),
        "memory_longest_to_400": round(by_length[x[-1]] / by_length[400], 3),
    }


def growth_in_size(folder: Path, quick: bool) -> dict[str, Any]:
    """Memory and time against the size of the frames, without a limit."""
    sizes = ((426, 240), (640, 360)) if quick else ((426, 240), (640, 360), (1280, 720), (1920, 1080))
    rows = []
    for width, height in sizes:
        clip = make_clip(folder / "s.mkv", width, height, 8)
        result = run("denoise", clip, *FAST)
        rows.append({"size": f"{width}x{height}", "megapixels": width * height / 1e6, **figures(result)})
    x = [r["megapixels"] for r in rows]
    return {
        "rows": rows,
        "cpu_exponent": exponent(x, [r["cpu_s"] for r in rows]),
        "memory_exponent": exponent(x, [r["peak_mb"] for r in rows]),
    }


def limits(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Peak memory against ``--max-memory``."""
    cases: list[tuple[str, int, int, int, tuple[str, ...], int]] = [
        ("denoise", 160, 120, 120, FAST, 460),
        ("denoise", 1920, 1080, 8, FAST, 1500),
    ]
    if not quick:
        cases += [
            ("denoise", 3840, 2160, 3, FAST, 3000),
            ("restore", 1280, 720, 6, FAST, 1700),
            ("upsample", 1920, 1080, 4, ("--factor", "2", *FAST), 4000),
            ("denoise", 640, 480, 200, ("--model", "curve"), 1000),
        ]
    rows = []
    for verb, width, height, frames, options, limit in cases:
        clip = make_clip(folder / "l.mkv", width, height, frames)
        result = run(verb, clip, *options, "--max-memory", f"{limit}M")
        rows.append(
            {
                "verb": " ".join((verb, *options)),
                "size": f"{width}x{height}",
                "frames": frames,
                "limit_mb": limit,
                **figures(result),
                "changed_frames": result["changed"],
                "kept": result["peak_mb"] <= limit,
                "said": "; ".join(n for n in result["record"].get("notes", []) if "max-memory" in n),
            }
        )
    return rows


def two_workers(folder: Path, quick: bool) -> dict[str, Any]:
    """What a second worker gains; the rest is what Amdahl leaves.

    One worker has its encoder on the other core; with one core for both it has what one of two workers has.
    """
    clip = make_clip(folder / "w.mkv", 480, 360, 96 if quick else 192)
    results: dict[str, Any] = {}
    for quality in ("fast", "default"):
        options = ("--model", "motion", "--quality", quality)
        stolen = stolen_s()
        one, two = (run("denoise", clip, *options, "--jobs", str(jobs)) for jobs in (1, 2))
        with one_core():
            alone = run("denoise", clip, *options, "--jobs", "1")
        gain = one["seconds"] / two["seconds"]
        results[quality] = {
            "rows": [{"jobs": 1, **figures(one)}, {"jobs": 2, **figures(two)}],
            "gain": round(gain, 2),
            "gain over one core": round(alone["seconds"] / two["seconds"], 2),
            "serial_share_by_amdahl": round(2 / gain - 1, 3),
            "cpu_of_two_to_one": round(two["cpu_s"] / one["cpu_s"], 3),
            "stolen_s": round(stolen_s() - stolen, 1),
        }
    return results


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """This process and those it starts on a single core, where the system lets itself be told."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def stolen_s() -> float:
    """Seconds of all cores that a virtual machine was denied so far: a gain that was measured beside many is void."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def estimates(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """What ``--dry-run`` says against what came: ratios of estimate to reality."""
    cases = [
        ("denoise", 320, 240, 96, FAST),
        ("upsample", 320, 240, 48, ("--factor", "2", "--model", "motion")),
        ("denoise", 160, 120, 80, ("--model", "curve", "--codec", "ffv1")),
    ]
    rows = []
    for verb, width, height, frames, options in cases[: 2 if quick else 3]:
        clip = make_clip(folder / "e.mkv", width, height, frames)
        said = run(verb, clip, *options, "--jobs", "2", "--dry-run")["record"]["estimate"]
        result = run(verb, clip, *options, "--jobs", "2")
        rows.append(
            {
                "verb": " ".join((verb, *options)),
                "size": f"{width}x{height}",
                "time_ratio": round(said["time_s"] / result["seconds"], 2),
                "cpu_ratio": round(2 * said["time_s"] / result["cpu_s"], 2),
                "memory_ratio": round(said["memory_mb"] / result["peak_mb"], 2),
                "disk_ratio": round(said["disk_mb"] / max(result["disk_mb"], 0.1), 2),
            }
        )
    return rows


def flip(path: Path, moments: random.Random) -> bool:
    """Flip a bit of a file; whether it was still there."""
    with contextlib.suppress(OSError):
        content = bytearray(path.read_bytes())
        content[moments.randrange(len(content))] ^= 1 << moments.randrange(8)
        path.write_bytes(content)
        return True
    return False


def begun(words: list[str], forked: bool) -> int:
    """Start a command in a group of its own, from the shell or forked off this process; gives its number."""
    if not forked:
        return subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ).pid
    from videorestore.cli.environment import Environment
    from videorestore.cli.program import main

    child = os.fork()
    if child == 0:
        os.setsid()
        with open(os.devnull, "w") as nobody:
            os._exit(int(main(words[3:], Environment(stdout=nobody, stderr=nobody))))
    return child


KILLED, FROM_SHELL = 200, 10
"""Runs that are killed; and every so many is one of several processes started as by a shell. The others begin within this
process, where all is loaded: most of what so small a run takes."""

PIECES = 3


def killed(folder: Path, quick: bool) -> dict[str, Any]:
    """``kill -9`` at random moments, resumed: the pixels must be those of an undisturbed run, or the user is told.

    Every other time the whole family is killed, else only the process that the user sees; two times of three a bit is
    flipped in what the run left. A moment is a number of finished pieces and some time beyond, so that it does not
    depend on how busy the machine is.
    """
    from videorestore.media import read

    for name in ("videorestore.verbs.denoise", "videorestore.run.perform"):
        importlib.import_module(name)
    clip = make_clip(folder / "k.mkv", 32, 24, 48 * PIECES)

    def start(output: Path, forked: bool) -> int:
        options = (*FAST, "--sigma", "5", "--codec", "ffv1", "--jobs", "1" if forked else "2")
        return begun(command_line("denoise", clip, output, options), forked)

    def status_of(process: int) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    whole, started = folder / "whole.mkv", time.monotonic()
    if status_of(start(whole, True)):
        raise RuntimeError("the undisturbed run failed")
    length = time.monotonic() - started
    expected = np.asarray(read(whole).frames)
    moments = random.Random(5)
    found = dict.fromkeys(("with_finished_pieces", "bits_flipped", "equal", "refused", "other"), 0)
    count = 3 if quick else KILLED
    for trial in range(count):
        forked = trial % FROM_SHELL > 0
        output = folder / f"killed{trial}.mkv"
        process, work = start(output, forked), output.with_name(output.name + ".work")
        wanted, until = moments.randrange(PIECES), time.monotonic() + 60 + 20 * length
        while len(list(work.glob("0*.json"))) < wanted and not output.exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, length / (PIECES if wanted else 2)))
        os.killpg(process, signal.SIGKILL) if trial % 2 == 0 else os.kill(process, signal.SIGKILL)
        status_of(process)
        found["with_finished_pieces"] += any(work.glob("0*.json"))
        left = sorted(path for path in work.glob("*") if path.stat().st_size)
        if trial % 3 and left:
            # Whoever was not killed with the others may still write.
            found["bits_flipped"] += flip(moments.choice(left), moments)
        status = status_of(start(output, forked))
        # One that was killed behind its end has its file already; asked again, it must not touch it (status 4).
        whole_by_now = output.exists() and status in (0, 4)
        same = whole_by_now and np.array_equal(np.asarray(read(output).frames), expected)
        outcome = "equal" if same else "refused" if status and not output.exists() else "other"
        found[outcome] += 1
        if not same:
            print(f"trial {trial}: status {status}, {outcome}", file=sys.stderr, flush=True)
        shutil.rmtree(work, ignore_errors=True)
        output.unlink(missing_ok=True)
    return {"killed": count, **found, "undisturbed_s": round(length, 1)}


def long_clips(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Many frames of next to no size: what grows with their number alone."""
    rows = []
    clip_of = {
        n: make_clip(folder / f"long{n}.mkv", 48, 36, n) for n in ((250, 1000) if quick else (400, 1600))
    }
    for verb, options in (
        ("inspect", ()),
        ("denoise", FAST),
        ("restore", FAST),
    ):
        for n, clip in clip_of.items():
            result = run(verb, clip, *options)
            rows.append(
                {"verb": verb, "frames": n, **figures(result), "ms_per_frame": 1e3 * result["cpu_s"] / n}
            )
    return rows


def costs(folder: Path, quick: bool) -> dict[str, float]:
    """CPU seconds of every stage for a megapixel of one frame."""
    large = make_clip(folder / "large.mkv", 1920, 1080, 8 if quick else 16)
    return costs_of(large, make_clip(folder / "small.mkv", 480, 360, 24), quick)


PARTS = {
    "growth_in_frames": growth_in_frames,
    "growth_in_size": growth_in_size,
    "limits": limits,
    "two_workers": two_workers,
    "estimates": estimates,
    "killed": killed,
    "long_clips": long_clips,
    "costs": costs,
    "peers": peers,
}


def main(quick: bool = False, only: Sequence[str] = ()) -> dict[str, Any]:
    """Measure all parts, or some of them by name."""
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are compiled before anything is measured.
        run("denoise", make_clip(Path(folder) / "warm.mkv", 96, 64, 24), *FAST)
        for name, part in PARTS.items():
            if only and name not in only:
                continue
            place = Path(folder) / name
            place.mkdir()
            started = time.monotonic()
            result[name] = part(place, quick)
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            shutil.rmtree(place, ignore_errors=True)
    return result


if __name__ == "__main__":
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    print(json.dumps(main("--quick" in sys.argv, names), indent=1))
