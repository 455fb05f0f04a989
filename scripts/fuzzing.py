"""Every verb on mutated files, each in a process of its own with little memory and time.

Bad is: an error of the program itself, a traceback, a signal, a hang, an exit status that is none of ours. Everything
else is an answer.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np

from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.media.pipe import ffmpeg

MEMORY = 6 << 30
SECONDS, PATIENCE = 60, 600
"""Address space, processor time and time that one command may take: other work may slow it down, not stop it."""

CONTAINERS = {
    "h264.mp4": ["-c:v", "libx264", "-c:a", "aac", "-movflags", "+faststart"],
    "h264.mkv": ["-c:v", "libx264", "-c:a", "libmp3lame"],
    "mpeg4.avi": ["-c:v", "mpeg4", "-c:a", "libmp3lame"],
    "vp9.webm": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-c:a", "libopus"],
    "hevc.mov": ["-c:v", "libx265", "-x265-params", "log-level=none", "-c:a", "aac"],
    "ffv1.mkv": ["-c:v", "ffv1", "-c:a", "flac"],
    "mpeg2.ts": ["-c:v", "mpeg2video", "-c:a", "mp2"],
    "anim.gif": ["-an"],
    "pages.tif": ["-an", "-frames:v", "1", "-pix_fmt", "rgb24"],
}

COMMANDS = (
    "inspect FILE --json",
    "restore FILE -o OUT.mkv",
    "denoise FILE -o OUT.mp4 --sigma 5 --quality fast",
    "fill FILE -o OUT.mkv --missing 2",
    "fill FILE -o OUT.KIND --missing 5 --range 1:9",
    "upsample FILE -o OUT.webm --factor 2 --range 0:4",
    "deinterlace FILE -o OUT.mkv",
    "reorder FILE -o OUT/",
    "inpaint GOOD.mkv -o OUT.mkv --mask FILE",
    "inpaint GOOD.mkv -o OUT.mkv --loose FOLDER",
    "compare GOOD.mkv FILE --json",
    "fill FILE -o OUT.npy --insert WORDS",
    "fill FILE -o OUT.npy --missing WORDS",
)


def clips(folder: Path) -> dict[str, bytes]:
    """Small files of every kind."""
    made = {}
    for name, words in CONTAINERS.items():
        source = ["-f", "lavfi", "-i", "testsrc=size=48x32:rate=25:duration=0.4"]
        sound = [] if "-an" in words else ["-f", "lavfi", "-i", "sine=duration=0.4"]
        path = folder / name
        subprocess.run([ffmpeg(), "-v", "error", "-y", *source, *sound, *words, str(path)], check=True)
        made[name] = path.read_bytes()
    np.save(folder / "a.npy", np.random.default_rng(0).random((6, 24, 32), np.float32))
    made["a.npy"] = (folder / "a.npy").read_bytes()
    return made


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, with flipped bits, with strange bytes, or with a part of itself elsewhere."""
    broken = bytearray(data)
    way = int(rng.integers(5))
    if way == 0:
        return bytes(broken[: int(rng.integers(1, len(broken)))])
    if way == 1:
        for place in rng.integers(0, len(broken), int(rng.integers(1, 40))):
            broken[place] ^= 1 << int(rng.integers(8))
    elif way == 2:
        start = int(rng.integers(len(broken)))
        broken[start : start + int(rng.integers(1, 400))] = rng.bytes(int(rng.integers(1, 400)))
    elif way == 3:
        for place in rng.integers(0, min(len(broken), 1500), 4):
            broken[place] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))]))
    else:
        start, goal = (int(k) for k in rng.integers(0, len(broken), 2))
        broken[goal:goal] = broken[start : start + 300]
    return bytes(broken)


def strange_words(rng: np.random.Generator) -> str:
    """Lists of frames as nobody writes them."""
    return "".join(rng.choice(list("0123456789-,@?:s. e"), int(rng.integers(1, 9))))


def verdict(words: list[str], folder: Path) -> str:
    """Run one command in a process of its own; empty where its answer is one of ours."""
    told = folder / "told"
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        log = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 2)
        with told.open("a") as err:
            world = Environment(stdout=io.StringIO(), stderr=err, cwd=str(folder))
            status = int(main(words, world))
        os._exit(status)
    late = time.monotonic() + PATIENCE
    while time.monotonic() < late:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "hang"
    text = told.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    if "this must not happen" in text or "Traceback" in text:
        return text.strip().splitlines()[-1][:160]
    code = os.WEXITSTATUS(status)
    return "" if code in (0, 1, 2, 3, 5) else f"status {code}"


def fuzz(count: int, seed: int) -> int:
    """Run so many; returns how many were bad."""
    finds, answers = Path("fuzz-finds"), Counter[str]()
    for line in COMMANDS:
        # What every process needs is loaded once, before they fork.
        import_module(f"videorestore.verbs.{line.split()[0]}")
    import_module("videorestore.run.perform")
    with tempfile.TemporaryDirectory() as place:
        good = clips(Path(place))
        names = sorted(good)
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            folder = Path(place) / "case"
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "loose").mkdir(parents=True)
            name = names[number % len(names)]
            (folder / name).write_bytes(mutated(good[name], rng))
            (folder / "loose" / "a.png").write_bytes(mutated(good["pages.tif"], rng))
            (folder / "good.mkv").write_bytes(good["ffv1.mkv"])
            line = COMMANDS[int(rng.integers(len(COMMANDS)))]
            filled = {
                "FILE": name,
                "KIND": name.rpartition(".")[2],
                "OUT": "out",
                "GOOD.mkv": "good.mkv",
                "FOLDER": "loose",
                "WORDS": strange_words(rng),
            }
            words = []
            for word in line.split():
                for key, value in filled.items():
                    word = word.replace(key, value)
                words.append(word)
            more = [] if words[0] in ("inspect", "compare") else ["--jobs", "1", "--max-memory", "2G"]
            found = verdict([*words, *more, "--progress", "none", "-q"], folder)
            answers[found or "fine"] += 1
            if found:
                finds.mkdir(exist_ok=True)
                shutil.copytree(folder, finds / f"{seed}-{number}", dirs_exist_ok=True)
                print(f"{seed}-{number}: {' '.join(words)}: {found}", flush=True)
    for answer, times in answers.most_common():
        print(f"{times:6d} {answer}")
    return count - answers["fine"]


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(1 if fuzz(*(numbers + [500, 0][len(numbers) :])) else 0)
