"""Pieces that verbs put their options together from: kinds of values, and groups of options that several share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from videorestore.errors import InputError
from videorestore.request import notation


class Choice:
    """One of a few words; completion reads ``words``."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, text: str) -> str:
        if text not in self.words:
            raise argparse.ArgumentTypeError(
                f"must be one of {', '.join(self.words)}, got {text!r}; choose one of them"
            )
        return text


class Value:
    """A spelling of `videorestore.request.notation`, with words that stand for ``None``."""

    def __init__(self, parse: Callable[[str], Any], *, auto: bool = False) -> None:
        self.parse = parse
        self.words = ("auto",) if auto else ()

    def __call__(self, text: str) -> Any:
        if text in self.words:
            return None
        try:
            return self.parse(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


class Name(str):
    """A file name; completion offers files."""


class Folder(str):
    """A folder; completion offers folders."""


def number(low: float, high: float) -> Callable[[str], float]:
    """A number within bounds."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise InputError(f"must be a number from {low:g} to {high:g}, got {text!r}; give one in between.")
        return value

    return parse


def count(low: int, high: int) -> Callable[[str], int]:
    """A whole number within bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 18 and low <= int(text) <= high):
            raise InputError(
                f"must be a whole number from {low} to {high}, got {text!r}; give one in between."
            )
        return int(text)

    return parse


def add_input(parser: argparse.ArgumentParser, metavar: str = "INPUT") -> None:
    """The name of the input."""
    parser.add_argument(
        "input", metavar=metavar, type=Name, help="video file, GIF, folder of images, multi-page TIFF or .npy"
    )


def add_reading(group: Any) -> None:
    """Which part of the input is read, and how."""
    group.add_argument(
        "--range",
        dest="span",
        metavar="A:B",
        type=Value(notation.parse_span),
        help="only the frames A up to but not including B, or times: 12.5s:20s, 00:01:00:00:02:00",
    )
    group.add_argument(
        "--stream",
        metavar="N",
        type=Value(count(0, 10_000)),
        help="which stream of the file, where it has several",
    )
    group.add_argument(
        "--input-fps",
        metavar="R",
        type=Value(notation.parse_rate),
        help="frame rate of a folder or an array, which have none (25)",
    )


def add_telling(parser: argparse.ArgumentParser) -> None:
    """What the user hears."""
    group = parser.add_argument_group("telling")
    group.add_argument("--json", action="store_true", help="one JSON object on stdout: the result record")
    group.add_argument(
        "--progress",
        type=Choice("auto", "plain", "json", "none"),
        metavar="auto|plain|json|none",
        help="on stderr; auto is a bar on a terminal and plain lines elsewhere",
    )
    group.add_argument(
        "-q", "--quiet", action="store_true", help="no progress, no summary; errors and losses only"
    )
    group.add_argument("-v", "--verbose", action="count", help="say more")
    group.add_argument("--traceback", action="store_true", help="show where an error came from")


def add_page(group: Any) -> None:
    """The page."""
    group.add_argument(
        "--report",
        metavar="FILE.html",
        type=Name,
        help="a self-contained page that shows what was found and done",
    )


def add_writing(parser: argparse.ArgumentParser) -> None:
    """Options of every writing verb."""
    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        type=Choice("auto", "curve", "motion"),
        metavar="auto|curve|motion",
        help="curve: one electroGP over the clip, pixels stay in place; motion: along motion-compensated "
        "tracks; auto (default) tries both on frames that it hides from itself",
    )
    model.add_argument(
        "--quality",
        type=Choice("fast", "default", "best"),
        metavar="fast|default|best",
        help="time against quality",
    )
    model.add_argument(
        "--seed",
        metavar="N",
        type=Value(count(0, 2**32 - 1)),
        help="same input, options and seed give the same pixels, whatever --jobs (0)",
    )
    reading = parser.add_argument_group("input")
    add_reading(reading)
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        metavar="OUTPUT",
        type=Name,
        help="by its name: .mp4 .mkv .mov .webm .avi .gif, folder/ (PNG), .tif, .npy",
    )
    output.add_argument(
        "-y", "--overwrite", action="store_true", help="overwrite; an existing OUTPUT is refused otherwise"
    )
    output.add_argument(
        "--sd",
        metavar="FILE",
        type=Name,
        help="also write the posterior standard deviation of every pixel (0..255; .npy or a video)",
    )
    add_page(output)
    output.add_argument(
        "--dry-run", action="store_true", help="say what would be done, with estimated time, memory and disk"
    )
    encoding = parser.add_argument_group("encoding")
    encoding.add_argument(
        "--codec", metavar="NAME", help="h264 (default), h265, vp9, av1, prores, ffv1 (lossless, with .mkv)"
    )
    encoding.add_argument(
        "--crf", metavar="Q", type=Value(number(0, 63)), help="quality of the encoder, lower is better (16)"
    )
    encoding.add_argument("--pix-fmt", metavar="FORMAT", help="pixel format by ffmpeg's name (the source's)")
    encoding.add_argument(
        "--encoder-args", metavar="'...'", help="more arguments for ffmpeg's encoder, in one string"
    )
    scale = parser.add_argument_group("scale")
    scale.add_argument(
        "--jobs", metavar="N", type=Value(count(0, 4096)), help="worker processes (one for each core)"
    )
    scale.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler, host:port (pip install videorestore[cluster])"
    )
    scale.add_argument(
        "--max-memory",
        metavar="4G",
        type=Value(notation.parse_memory),
        help="upper bound (half of what is free)",
    )
    again = scale.add_mutually_exclusive_group()
    again.add_argument(
        "--resume",
        dest="resume",
        action="store_const",
        const=True,
        help="go on from an interrupted run of the same command (default)",
    )
    again.add_argument(
        "--fresh", dest="resume", action="store_const", const=False, help="forget it and start anew"
    )
    add_telling(parser)


def add_rate(group: Any, purpose: str) -> None:
    """How much the frame rate is raised; ``purpose`` begins the sentence."""
    group.add_argument(
        "--factor",
        metavar="K",
        type=Value(notation.parse_ratio),
        help=f"{purpose} K times as many frames, any rational >= 1",
    )
    group.add_argument(
        "--fps",
        metavar="R",
        type=Value(notation.parse_rate),
        help=f"{purpose} this frame rate: 60, 60000/1001",
    )


def add_noise(group: Any) -> None:
    """How much noise there is, and how much of it goes."""
    group.add_argument(
        "--sigma",
        metavar="auto|NUMBER",
        type=Value(number(0, 255), auto=True),
        help="standard deviation of the noise on the 0..255 scale; auto (default) estimates it",
    )
    group.add_argument(
        "--strength", metavar="FACTOR", type=Value(number(0, 10)), help="1 (default) is the posterior mean"
    )
