"""Verbs that only look: words, examples and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from videorestore.request.common import STRENGTH, Opening, Quality, Reading
from videorestore.request.declare import option, verb
from videorestore.request.kinds import File, Flag, frames, several, words
from videorestore.request.values import Span


@verb(
    "preview",
    summary="try several settings on a few places, on a page to look at before the whole is run",
    description="Remove noise at a few places of the clip with several settings, and show them side by side in their true size.",
    synopsis="INPUT -o PAGE.html",
    examples=(
        ("videorestore preview film.mp4 -o look.html", "fast and default beside what is there"),
        (
            "videorestore preview film.mp4 -o look.html --at 12.5s,40s --strength .5,1,1.5",
            "these places, three strengths",
        ),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(Opening):
    """``at`` is None where the program chooses the places."""

    at: tuple[int | Span, ...] | None = option(
        None,
        frames(),
        "frames or times to show, 12.5s,40s or 7,50; auto (default) takes three",
        group="preview",
    )
    quality: tuple[Quality, ...] = option(
        ("fast", "default"),
        several(words("fast", "default", "best"), "fast,default,best"),
        "which qualities to show (default: fast,default)",
        group="preview",
    )
    strength: tuple[float, ...] = option(
        (1.0,), several(STRENGTH, "1,..."), "which strengths to show (default: 1)", group="preview"
    )


@verb(
    "inspect",
    summary="say what is there and what is wrong; changes nothing",
    description="Say what is in the file and what is wrong with it: noise, cuts, repeated, black, corrupt and dropped\n"
    "frames, damaged places, flicker. Nothing is changed.",
    synopsis="INPUT",
    examples=(
        ("videorestore inspect film.mp4", "a summary, with what to run"),
        ("videorestore inspect film.mp4 --json | jq .corrupt", "for scripts"),
        ("videorestore inspect film.mp4 --report film.html", "a page to look at"),
    ),
    writes=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions(Reading):
    """Nothing is written but the page."""


@verb(
    "compare",
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
    writes=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """``other`` is the second clip."""

    other: Any = option(
        None, File(metavar="B", arrays=True), "the clip that it is compared with", path="read"
    )
    report: str | None = option(
        None,
        File(metavar="FILE.html"),
        "a self-contained page that shows the figures",
        group="output",
        path="written",
        pixels=False,
    )
    overwrite: bool = option(False, Flag(), "overwrite the page", group="output", short="-y", pixels=False)
