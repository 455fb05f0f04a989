"""What each verb takes: one declaration per verb, with the words and examples of its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from videorestore.errors import InputError
from videorestore.tasks import notation

Declare = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb as the user sees it.

    Attributes
    ----------
    summary, description : str
    synopsis : str
        The names that it takes.
    examples : tuple of (command, meaning)
    declare : callable
        Adds the options to a parser. Defaults are left out: they belong to the options' dataclasses.
    writes : bool
        It makes an OUTPUT.
    """

    summary: str
    description: str
    synopsis: str
    examples: tuple[tuple[str, str], ...]
    declare: Declare
    writes: bool = True


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
    """A spelling of `videorestore.tasks.notation`, with words that stand for ``None``."""

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
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise InputError(
                f"must be a whole number from {low} to {high}, got {text!r}; give one in between."
            )
        return int(text)

    return parse


def _input(parser: argparse.ArgumentParser, metavar: str = "INPUT") -> None:
    parser.add_argument(
        "input", metavar=metavar, type=Name, help="video file, GIF, folder of images, multi-page TIFF or .npy"
    )


def _reading(group: Any) -> None:
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


def _telling(parser: argparse.ArgumentParser) -> None:
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


def _page(group: Any) -> None:
    group.add_argument(
        "--report",
        metavar="FILE.html",
        type=Name,
        help="a self-contained page that shows what was found and done",
    )


def _writing(parser: argparse.ArgumentParser) -> None:
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
    _reading(reading)
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
    _page(output)
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
    _telling(parser)


def _rate(group: Any, purpose: str) -> None:
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


def _noise(group: Any) -> None:
    group.add_argument(
        "--sigma",
        metavar="auto|NUMBER",
        type=Value(number(0, 255), auto=True),
        help="standard deviation of the noise on the 0..255 scale; auto (default) estimates it",
    )
    group.add_argument(
        "--strength", metavar="FACTOR", type=Value(number(0, 10)), help="1 (default) is the posterior mean"
    )


def _restore(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    steps = parser.add_argument_group("steps")
    for name, words, meaning in (
        ("--denoise", ("auto", "on", "off"), "remove noise; auto where the self-test gains by it"),
        ("--fill", ("auto", "off"), "regenerate frames that are missing, black, corrupt or frozen"),
        ("--mend", ("auto", "off"), "regenerate damaged pixels: dust, scratches, dropouts"),
    ):
        steps.add_argument(name, type=Choice(*words), metavar="|".join(words), help=meaning)
    _noise(steps)
    _rate(steps, "also raise the frame rate to")
    _writing(parser)


def _denoise(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    _noise(parser.add_argument_group("noise"))
    _writing(parser)


def _fill(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    group = parser.add_argument_group("missing frames")
    group.add_argument(
        "--missing",
        metavar="auto|LIST",
        type=Value(notation.parse_frames, auto=True),
        help="frames that exist but are worthless: 7 or 50-54 or 7,50-54; auto (default) finds black, garbage, "
        "corrupt and frozen ones and gaps in numbering or times",
    )
    group.add_argument(
        "--insert",
        metavar="LIST",
        type=Value(notation.parse_insertions),
        help="frames that are absent: 5@50 is five new ones after frame 50; ?@50 lets the program count",
    )
    group.add_argument(
        "--max-sd",
        metavar="S",
        type=Value(number(0, 255)),
        help="refuse a fill whose standard deviation is above S",
    )
    _writing(parser)


def _inpaint(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    group = parser.add_argument_group("missing pixels")
    group.add_argument(
        "--mask",
        metavar="FILE|auto",
        type=Name,
        help="image, folder or video, white where missing; one image serves all frames; auto finds the damage; "
        "NaN in a .npy needs none",
    )
    group.add_argument(
        "--loose",
        metavar="FOLDER",
        type=Folder,
        help="frames without known place (PNG with alpha 0 where missing, or NAME.mask.png beside NAME.png); "
        "each is completed and put in its place in time",
    )
    group.add_argument(
        "--placement",
        type=Choice("map", "mh"),
        metavar="map|mh",
        help="place by the posterior's mode (default) or by Metropolis-Hastings",
    )
    _writing(parser)


def _upsample(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    group = parser.add_argument_group("frame rate (one of the two)")
    _rate(group, "make")
    group.add_argument(
        "--denoise",
        type=Choice("on", "off"),
        metavar="on|off",
        help="off (default): the original frames stay as they are",
    )
    _writing(parser)


def _reorder(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    group = parser.add_argument_group("order")
    group.add_argument(
        "--first",
        metavar="N",
        type=Value(notation.parse_frame),
        help="which frame stands at the start; order is known only up to reversal",
    )
    _writing(parser)


def _inspect(parser: argparse.ArgumentParser) -> None:
    _input(parser)
    _reading(parser.add_argument_group("input"))
    output = parser.add_argument_group("output")
    _page(output)
    output.add_argument("-y", "--overwrite", action="store_true", help="overwrite the page")
    _telling(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    _input(parser, "A")
    parser.add_argument("other", metavar="B", type=Name, help="the clip that it is compared with")
    output = parser.add_argument_group("output")
    _page(output)
    output.add_argument("-y", "--overwrite", action="store_true", help="overwrite the page")
    _telling(parser)


_WRITES = "INPUT -o OUTPUT"

TABLE: dict[str, Verb] = {
    "restore": Verb(
        summary="find what is wrong and mend it: missing frames, damage, noise, in one pass",
        description="Inspect the clip, then fill what is missing, mend what is damaged and remove the noise that is there.\n"
        "A clip with nothing wrong comes out as it is. The record says for every frame what was done.",
        synopsis=_WRITES,
        examples=(
            (
                "videorestore restore film.mp4 -o film.restored.mkv --report film.html",
                "restore, with a page to look at",
            ),
            ("videorestore restore film.mp4 -o out.mkv --dry-run", "only say what would be done"),
            (
                "videorestore restore phone.mov -o smooth.mp4 --fps 60 --mend off",
                "denoise, fill and raise the rate",
            ),
        ),
        declare=_restore,
    ),
    "denoise": Verb(
        summary="remove noise; the level is estimated unless given",
        description="Remove noise: the posterior mean of every pixel given all frames. Times and duration stay.",
        synopsis=_WRITES,
        examples=(
            ("videorestore denoise night.mp4 -o night.clean.mp4", "the noise level is estimated"),
            (
                "videorestore denoise in.mkv -o out.mkv --sigma 20 --codec ffv1",
                "known noise, lossless result",
            ),
            ("videorestore denoise scan/ -o clean/ --input-fps 18 --quality best", "a folder of images"),
        ),
        declare=_denoise,
    ),
    "fill": Verb(
        summary="regenerate whole missing frames",
        description="Regenerate whole frames that are missing or worthless. All other frames stay as they are.",
        synopsis=_WRITES,
        examples=(
            ("videorestore fill tape.mkv -o tape.filled.mkv", "find the bad frames and fill them"),
            ("videorestore fill in.mkv -o out.mkv --missing 7,50-54", "these frames are worthless"),
            ("videorestore fill in.mkv -o out.mkv --insert 5@50,?@120", "frames are absent after 50 and 120"),
        ),
        declare=_fill,
    ),
    "inpaint": Verb(
        summary="regenerate missing pixels, complete and place loose frames",
        description="Regenerate missing pixels. Pixels and frames that are not masked are not changed.",
        synopsis=_WRITES,
        examples=(
            ("videorestore inpaint in.mkv -o out.mkv --mask logo.png", "white is missing, in every frame"),
            (
                "videorestore inpaint film.mp4 -o clean.mkv --mask auto",
                "find dust and scratches, and mend them",
            ),
            (
                "videorestore inpaint turn/ -o whole/ --loose found/ --placement mh",
                "place torn frames, and complete them",
            ),
        ),
        declare=_inpaint,
    ),
    "upsample": Verb(
        summary="raise the frame rate",
        description="Raise the frame rate: new frames between the old ones, which stay as they are.\n"
        "A whole factor K gives (n - 1) K + 1 frames; the duration stays.",
        synopsis=f"{_WRITES} (--factor K | --fps R)",
        examples=(
            ("videorestore upsample in.mp4 -o slow.mp4 --factor 2", "twice as many frames"),
            ("videorestore upsample in.mp4 -o out.mp4 --fps 60000/1001", "an exact rate"),
        ),
        declare=_upsample,
    ),
    "reorder": Verb(
        summary="put shuffled frames into order",
        description="Put shuffled frames into order. Frames that belong to no place are named, not guessed.",
        synopsis=_WRITES,
        examples=(
            ("videorestore reorder shuffled/ -o ordered.mkv --first 12", "frame 12 is at the start"),
            ("videorestore reorder shuffled.mp4 -o ordered/ --json", "the order as JSON too"),
        ),
        declare=_reorder,
    ),
    "inspect": Verb(
        summary="say what is there and what is wrong; changes nothing",
        description="Say what is in the file and what is wrong with it: noise, cuts, duplicate, black, corrupt and dropped\n"
        "frames, damaged regions, flicker. Nothing is changed.",
        synopsis="INPUT",
        examples=(
            ("videorestore inspect film.mp4", "a summary, with what to run"),
            ("videorestore inspect film.mp4 --json | jq .corrupt", "for scripts"),
            ("videorestore inspect film.mp4 --report film.html", "a page to look at"),
        ),
        declare=_inspect,
        writes=False,
    ),
    "compare": Verb(
        summary="PSNR and SSIM of two clips, frame by frame, aligned by time",
        description="Compare two clips frame by frame, aligned by time: PSNR (RGB) and SSIM (luma).",
        synopsis="A B",
        examples=(
            ("videorestore compare original.mkv restored.mkv", "overall and the worst frames"),
            (
                "videorestore compare a.mkv b.mkv --json --report difference.html",
                "figures of every frame, and a page",
            ),
        ),
        declare=_compare,
        writes=False,
    ),
}
