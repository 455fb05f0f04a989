"""Every verb on mutated files, each in a process of its own with little memory and time.

Bad is: an error of the program itself, a traceback or a warning of Python's, a signal, a hang, an exit status that is none of ours, more memory
than was allowed; an error of several lines, an OUTPUT that does not go with the status, names of ours left behind, an input
that was written to. Everything else is an answer.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np

from videorestore.cli.environment import Environment
from videorestore.cli.main import own_stderr
from videorestore.cli.program import main
from videorestore.media.containers import WRITTEN
from videorestore.media.pipe import ffmpeg

MEMORY = 6 << 30
ALLOWED = 2 << 30
SECONDS, PATIENCE = 60, 600
"""Address space, resident memory, processor time and time of one command: other work may slow it down, not stop it."""

CONTAINERS = {
    "h264.mp4": ["-c:v", "libx264", "-c:a", "aac", "-movflags", "+faststart"],
    "h264.mkv": ["-c:v", "libx264", "-c:a", "libmp3lame"],
    "mpeg4.avi": ["-c:v", "mpeg4", "-c:a", "libmp3lame"],
    "vp9.webm": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-c:a", "libopus"],
    "hevc.mov": ["-c:v", "libx265", "-x265-params", "log-level=none", "-c:a", "aac"],
    "ffv1.mkv": ["-c:v", "ffv1", "-c:a", "flac"],
    "mpeg2.ts": ["-c:v", "mpeg2video", "-c:a", "mp2"],
    "anim.gif": ["-an"],
}

MORE = {
    "mpeg1.mpg": ["-c:v", "mpeg1video", "-c:a", "mp2"],
    "wmv2.wmv": ["-c:v", "wmv2", "-c:a", "wmav2"],
    "flv1.flv": ["-c:v", "flv", "-c:a", "libmp3lame", "-ar", "44100"],
    "fields.ts": ["-c:v", "libx264", "-flags", "+ilme+ildct", "-x264-params", "tff=1", "-c:a", "ac3"],
    "mjpeg.avi": ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le"],
    "prores.mov": ["-c:v", "prores_ks", "-c:a", "pcm_s16le"],
    "alpha.mov": ["-c:v", "png", "-pix_fmt", "rgba", "-c:a", "aac"],
    "theora.ogv": ["-c:v", "libtheora", "-c:a", "libvorbis"],
    "av1.mp4": ["-c:v", "libaom-av1", "-cpu-used", "8", "-c:a", "aac"],
    "bare.264": ["-an", "-c:v", "libx264"],
    "raw.y4m": ["-an", "-pix_fmt", "yuv420p"],
    "pages.tif": ["-an", "-frames:v", "1", "-pix_fmt", "rgb24"],
    "grey.png": ["-an", "-frames:v", "1", "-pix_fmt", "gray16be"],
    "photo.jpg": ["-an", "-frames:v", "1", "-pix_fmt", "yuvj420p"],
    "still.bmp": ["-an", "-frames:v", "1"],
}
"""Containers without sound, rarer ones, and single pictures."""

FINDINGS = (
    b'{"damage": [{"frame": 3, "kind": "dropout", "box": [4, 4, 9, 9]}], "duplicates": [5], "cuts": [4]}'
)
SETTINGS = b'quality = "fast"\n[fill]\nmissing = "2"\nmodel = "motion"\n'

COMMANDS = (
    "inspect FILE --json",
    "inspect FOLDER --report OUT.html",
    "preview FILE -o OUT.html",
    "restore FILE -o OUT.mkv",
    "restore FILE -o OUT.KIND --report OUT.html",
    "restore GOOD.mkv -o OUT.mkv --accept FINDINGS",
    "denoise FILE -o OUT.mp4 --sigma 5 --quality fast",
    "denoise FOLDER -o OUT/ --sigma 5 --quality fast",
    "fill FILE -o OUT.mkv --missing 2",
    "fill FILE -o OUT.KIND --missing 5 --range 1:9",
    "fill FOLDER -o OUT.tif --missing 1 --sd OUT.sd.npy",
    "fill GOOD.mkv -o OUT.mkv --config SETTINGS",
    "upsample FILE -o OUT.webm --factor 2 --range 0:4",
    "upsample FILE -o OUT.gif --fps WORDS",
    "deinterlace FILE -o OUT.mkv",
    "reorder FILE -o OUT/",
    "reorder FOLDER -o OUT.npy",
    "inpaint GOOD.mkv -o OUT.mkv --mask FILE",
    "inpaint GOOD.mkv -o OUT.mkv --mask FOLDER",
    "inpaint FILE -o OUT.mkv --mask auto --write-mask OUT.mask.mkv",
    "inpaint GOOD.mkv -o OUT.mkv --loose FOLDER",
    "compare GOOD.mkv FILE --json",
    "fill FILE -o OUT.npy --insert WORDS",
    "fill FILE -o OUT.npy --missing WORDS",
    "fill FILE -o OUT.npy --missing 1 --range WORDS",
)


def clips(folder: Path) -> dict[str, bytes]:
    """Small files of every kind."""
    made = {}
    for name, words in (CONTAINERS | MORE).items():
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


def harm(told: str, code: int, words: list[str], folder: Path, before: dict[str, bytes]) -> str:
    """What a command did beyond its answer that it must not do; empty where nothing."""
    if code in (1, 2, 3, 4) and len(told.strip().splitlines()) != 1:
        return f"{len(told.strip().splitlines())} lines of error"
    if any((folder / name).read_bytes() != content for name, content in before.items()):
        return "an input was written to"
    if "-o" in words and (folder / words[words.index("-o") + 1]).exists() != (code in (0, 5)):
        return f"status {code} and OUTPUT do not go together"
    left = [path.name for path in folder.iterdir() if path.suffix == ".part" or path.name.startswith(".")]
    return f"left behind: {left[0]}" if left else ""


def verdict(words: list[str], folder: Path) -> str:
    """Run one command in a process of its own; empty where its answer is one of ours."""
    before = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    told = folder / "told"
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        with told.open("w") as log:
            os.dup2(log.fileno(), 2)
        with own_stderr(sys.stderr) as err:
            sys.stderr = err
            warnings.simplefilter("default")
            world = Environment(stdout=io.StringIO(), stderr=err, cwd=str(folder))
            status = int(main(words, world))
        os._exit(status)
    late = time.monotonic() + PATIENCE
    while time.monotonic() < late:
        done, status, used = os.wait4(child, os.WNOHANG)
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
    if "this must not happen" in text or "Traceback" in text or "Warning: " in text:
        return text.strip().splitlines()[-1][:160]
    if used.ru_maxrss > ALLOWED >> 10:
        return f"{used.ru_maxrss >> 10} MB of memory"
    code = os.WEXITSTATUS(status)
    return harm(text, code, words, folder, before) if code in (0, 1, 2, 3, 4, 5) else f"status {code}"


def case(number: int, seed: int, good: dict[str, bytes], folder: Path) -> list[str]:
    """Lay out the files of one case; gives the words of its command."""
    rng = np.random.default_rng([seed, number])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "loose").mkdir(parents=True)
    name = sorted(good)[number % len(good)]
    (folder / name).write_bytes(mutated(good[name], rng))
    picture = str(rng.choice(["pages.tif", "grey.png", "photo.jpg", "still.bmp"]))
    for k in range(4):
        content = good[picture] if k else mutated(good[picture], rng)
        (folder / "loose" / f"{(3 * k + 2) % 4}{Path(picture).suffix}").write_bytes(content)
    (folder / "good.mkv").write_bytes(good["ffv1.mkv"])
    (folder / "findings.json").write_bytes(mutated(FINDINGS, rng))
    (folder / "settings.toml").write_bytes(mutated(SETTINGS, rng))
    kind = name.rpartition(".")[2]
    filled = {
        "FILE": name,
        "KIND": kind if f".{kind}" in WRITTEN else "mkv",
        "OUT": "out",
        "GOOD.mkv": "good.mkv",
        "FOLDER": "loose",
        "FINDINGS": "findings.json",
        "SETTINGS": "settings.toml",
        "WORDS": strange_words(rng),
    }
    words = []
    for word in COMMANDS[int(rng.integers(len(COMMANDS)))].split():
        for key, value in filled.items():
            word = word.replace(key, value)
        words.append(word)
    limits = (
        [] if words[0] in ("inspect", "compare", "preview") else ["--jobs", "1", "--max-memory", f"{ALLOWED}"]
    )
    return [*words, *limits, "--progress", "none", "-q"]


def fuzz(files: int, seed: int) -> int:
    """Run so many; returns how many were bad."""
    finds, answers = Path("fuzz-finds"), Counter[str]()
    for line in COMMANDS:
        # What every process needs is loaded once, before they fork.
        import_module(f"videorestore.verbs.{line.split()[0]}")
    import_module("videorestore.run.perform")
    with tempfile.TemporaryDirectory() as place:
        good = clips(Path(place))
        folder = Path(place) / "case"
        for number in range(files):
            words = case(number, seed, good, folder)
            found = verdict(words, folder)
            answers[found or "fine"] += 1
            if found:
                finds.mkdir(exist_ok=True)
                shutil.copytree(folder, finds / f"{seed}-{number}", dirs_exist_ok=True)
                print(f"{seed}-{number}: {' '.join(words)}: {found}", flush=True)
    for answer, times in answers.most_common():
        print(f"{times:6d} {answer}")
    return files - answers["fine"]


if __name__ == "__main__":
    asked = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__.split("\n")[0])
    asked.add_argument(
        "files", nargs="?", type=int, default=500, help="how many files are mutated (%(default)s)"
    )
    asked.add_argument("seed", nargs="?", type=int, default=0, help="of the mutations (%(default)s)")
    sys.exit(1 if fuzz(**vars(asked.parse_args())) else 0)
