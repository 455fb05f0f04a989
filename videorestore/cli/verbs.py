"""What each verb takes: one declaration per verb, with the words and examples of its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from videorestore.cli.arguments import (
    Choice,
    Folder,
    Name,
    Value,
    add_input,
    add_noise,
    add_page,
    add_rate,
    add_reading,
    add_telling,
    add_writing,
    number,
)
from videorestore.request import notation

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


def _restore(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    steps = parser.add_argument_group("steps")
    for name, words, meaning in (
        ("--denoise", ("auto", "on", "off"), "remove noise; auto where the self-test gains by it"),
        ("--fill", ("auto", "off"), "regenerate frames that are missing, black, corrupt or frozen"),
        ("--mend", ("auto", "off"), "regenerate damaged pixels: dust, scratches, dropouts"),
    ):
        steps.add_argument(name, type=Choice(*words), metavar="|".join(words), help=meaning)
    add_noise(steps)
    add_rate(steps, "also raise the frame rate to")
    add_writing(parser)


def _denoise(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_noise(parser.add_argument_group("noise"))
    add_writing(parser)


def _fill(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("missing frames")
    group.add_argument(
        "--missing",
        metavar="auto|LIST",
        type=Value(notation.parse_frames, auto=True),
        help="frames that exist but are worthless: 7 or 50-54 or 7,50-54 or 12.5s-13s; auto (default) finds black, garbage, "
        "corrupt and frozen ones and gaps in numbering or times",
    )
    group.add_argument(
        "--insert",
        metavar="LIST",
        type=Value(notation.parse_insertions),
        help="frames that are absent: 5@50 is five new ones after frame 50 (or 5@2.5s); ?@50 lets the program count",
    )
    group.add_argument(
        "--max-sd",
        metavar="S",
        type=Value(number(0, 255)),
        help="refuse a fill whose standard deviation is above S",
    )
    add_writing(parser)


def _inpaint(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
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
    add_writing(parser)


def _upsample(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("frame rate (one of the two)")
    add_rate(group, "make")
    group.add_argument(
        "--denoise",
        type=Choice("on", "off"),
        metavar="on|off",
        help="off (default): the original frames stay as they are",
    )
    add_writing(parser)


def _reorder(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("order")
    group.add_argument(
        "--first",
        metavar="N",
        type=Value(notation.parse_frame),
        help="which frame stands at the start; order is known only up to reversal",
    )
    add_writing(parser)


def _inspect(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_reading(parser.add_argument_group("input"))
    output = parser.add_argument_group("output")
    add_page(output)
    output.add_argument("-y", "--overwrite", action="store_true", help="overwrite the page")
    add_telling(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "A")
    parser.add_argument("other", metavar="B", type=Name, help="the clip that it is compared with")
    output = parser.add_argument_group("output")
    add_page(output)
    output.add_argument("-y", "--overwrite", action="store_true", help="overwrite the page")
    add_telling(parser)


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
