"""Verbs that write a film: words, examples and options. A new one is declared here and planned in a file of its own name."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from videorestore.errors import InputError
from videorestore.request.common import (
    Common,
    Mending,
    Switch,
    fields_option,
    noise_options,
)
from videorestore.request.declare import TABLE, option, verb
from videorestore.request.kinds import (
    File,
    Number,
    Whole,
    frames,
    insertions,
    rate,
    ratio,
    words,
)
from videorestore.request.values import Insertion, Span

_WRITES = "INPUT -o OUTPUT"
_STEP = words("auto", "off")


@verb(
    "restore",
    summary="find what is wrong and mend it: missing frames, damage, noise, in one pass",
    description="Inspect the clip, then fill what is missing, mend what is damaged and remove the noise that is there.\n"
    "A clip with nothing wrong comes out as it is. The record says for every frame what was done.",
    synopsis=_WRITES,
    examples=(
        ("videorestore restore film.mp4 -o film.mkv --report film.html", "restore, with a page to look at"),
        ("videorestore restore film.mp4 -o out.mkv --dry-run", "only say what would be done"),
        ("videorestore restore phone.mov -o smooth.mp4 --fps 60 --mend off", "also raise the rate"),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions(Mending):
    """Each step can be switched; ``factor`` or ``fps`` also raises the frame rate."""

    denoise: Switch = option(
        "auto",
        words("auto", "on", "off"),
        "remove noise; auto (default): only where it is surely there, with a standard deviation of 3 or more",
        group="steps",
    )
    fill: Literal["auto", "off"] = option(
        "auto", _STEP, "make frames anew that are missing, black, corrupt or frozen", group="steps"
    )
    mend: Literal["auto", "off"] = option(
        "auto", _STEP, "make damaged pixels anew: dust, scratches, dropouts", group="steps"
    )
    head_switching: Literal["keep", "fill", "crop"] = option(
        "keep",
        words("keep", "fill", "crop"),
        "the torn lines at the bottom of a tape's picture: keep (default) leaves them, fill mirrors the lines above, crop cuts them off",
        group="steps",
    )
    deinterlace: Literal["auto", "off", "field", "frame"] = option(
        "auto",
        words("auto", "off", "field", "frame"),
        "interlaced video: make a frame of every field (auto, field), or one of the two fields of a frame (frame); pulldown is "
        "undone; off leaves both as they are",
        group="steps",
    )
    deflicker: Literal["auto", "on", "off"] = option(
        "auto",
        words("auto", "on", "off"),
        "even out brightness that flickers; auto (default): only in films that are black and white or dirty",
        group="steps",
    )
    accept: str | None = option(
        None,
        File(metavar="FILE.json"),
        "mend what this list names and nothing else; inspect --json writes such a list, to be edited",
        group="review",
        path="read",
    )
    reject: str | None = option(
        None,
        File(metavar="FILE.json"),
        "leave what this list names as it is",
        group="review",
        path="read",
    )
    least_probability: float | None = option(
        None,
        Number(low=0, high=1, metavar="P"),
        "mend places that are damage with at least this probability, 0 to 1 (default: by how dirty the film is)",
        group="review",
    )
    factor: Fraction | None = option(
        None, ratio(), "also raise the frame rate to K times as many frames, any rational >= 1", group="steps"
    )
    fps: Fraction | None = option(
        None, rate(), "also raise the frame rate to this: 60, 60000/1001", group="steps"
    )
    sigma: float | None = noise_options()[0]
    strength: float = noise_options()[1]
    keep_grain: float = noise_options()[2]

    def __post_init__(self) -> None:
        if self.accept is not None and (self.reject is not None or self.least_probability is not None):
            raise InputError(
                "--accept says all that is done, got --reject or --least-probability besides; give one of them."
            )
        if self.factor is not None and self.fps is not None:
            raise InputError("restore takes --factor or --fps, got both; give one of them.")
        _check_rate(self.factor)

    def raised(self, own: Fraction | None) -> Fraction | None:
        """Frames a second of the result."""
        return self.fps or (own and own * (self.factor or 1))


@verb(
    "denoise",
    summary="remove noise; how strong it is is measured unless given",
    description="Remove noise: every pixel becomes what it most likely was, given the frames around. Times and duration stay.",
    synopsis=_WRITES,
    examples=(
        ("videorestore denoise night.mp4 -o night.clean.mp4", "how strong the noise is is measured"),
        (
            "videorestore denoise in.mkv -o out.mkv --sigma 20 --codec ffv1",
            "known noise, lossless result",
        ),
        ("videorestore denoise scan/ -o clean/ --input-fps 18", "a folder of images"),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DenoiseOptions(Common):
    """``sigma`` is None for auto, else a standard deviation on the 0..255 scale."""

    sigma: float | None = noise_options()[0]
    strength: float = noise_options()[1]
    keep_grain: float = noise_options()[2]
    deinterlace: Literal["off"] = fields_option()


@verb(
    "fill",
    summary="make whole missing frames anew",
    description="Make whole frames anew that are missing or worthless. All other frames stay as they are.",
    synopsis=_WRITES,
    examples=(
        ("videorestore fill tape.mkv -o tape.filled.mkv", "find the bad frames and fill them"),
        ("videorestore fill in.mkv -o out.mkv --missing 7,50-54", "these frames are worthless"),
        ("videorestore fill in.mkv -o out.mkv --insert 5@50,?@120", "frames are absent after 50 and 120"),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class FillOptions(Common):
    """``missing`` is None for auto, else frame numbers and stretches of time; ``insert`` lists absent frames."""

    missing: tuple[int | Span, ...] | None = option(
        None,
        frames(),
        "frames that exist but are worthless: 7 or 50-54 or 7,50-54 or 12.5s-13s; auto (default) finds black, garbage, "
        "corrupt and frozen ones and gaps in numbering or times",
        group="missing frames",
    )
    insert: tuple[Insertion, ...] = option(
        (),
        insertions(),
        "frames that are absent: 5@50 is five new ones after frame 50 (or 5@2.5s); ?@50 lets the program count",
        group="missing frames",
    )
    max_sd: float | None = option(
        None,
        Number(low=0, high=255, metavar="S"),
        "leave a frame as it is where the made one would have a mean standard deviation above S",
        group="missing frames",
    )
    deinterlace: Literal["off"] = fields_option()

    @staticmethod
    def concluded(given: dict[str, Any]) -> dict[str, Any]:
        """Who names the absent frames does not ask for a search of the others."""
        return {"missing": (), **given} if given.get("insert") else given


@verb(
    "inpaint",
    summary="make missing pixels anew; complete loose frames and find their place",
    description="Make missing pixels anew. Pixels and frames that are not masked are not changed.",
    synopsis=_WRITES,
    examples=(
        ("videorestore inpaint in.mkv -o out.mkv --mask logo.png", "white is missing, in every frame"),
        ("videorestore inpaint film.mp4 -o clean.mkv --mask auto", "find dust and scratches, mend them"),
        (
            "videorestore inpaint turn/ -o whole/ --loose found/ --placement mh",
            "place torn frames, and complete them",
        ),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class InpaintOptions(Mending):
    """``mask`` is a path, "auto", or None where NaN marks the missing pixels; ``loose`` is a folder."""

    mask: Any = option(
        None,
        File(metavar="FILE|auto", words=("auto",), arrays=True),
        "image, folder or video, white where missing; one image serves all frames; auto finds the damage; "
        "NaN in a .npy needs none",
        group="missing pixels",
        path="read",
    )
    loose: str | None = option(
        None,
        File(metavar="FOLDER", folder=True),
        "frames without known place (PNG with alpha 0 where missing, or NAME.mask.png beside NAME.png); "
        "each is completed and put in its place in time",
        group="missing pixels",
        path="read",
    )
    placement: Literal["map", "mh"] = option(
        "map",
        words("map", "mh"),
        "put a loose frame at its most probable place (map, default), or average over its probable places (mh)",
        group="missing pixels",
    )
    deinterlace: Literal["off"] = fields_option()


@verb(
    "upsample",
    summary="raise the frame rate",
    description="Raise the frame rate: new frames between the old ones, which stay as they are.\n"
    "A whole factor K gives (n - 1) K + 1 frames; the duration stays.",
    synopsis=f"{_WRITES} (--factor K | --fps R)",
    examples=(
        ("videorestore upsample in.mp4 -o smooth.mp4 --factor 2", "twice as many frames"),
        ("videorestore upsample in.mp4 -o out.mp4 --fps 60000/1001", "an exact rate"),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class UpsampleOptions(Common):
    """Either ``factor`` or ``fps``."""

    factor: Fraction | None = option(
        None, ratio(), "K times as many frames, any rational >= 1", group="frame rate (one of the two)"
    )
    fps: Fraction | None = option(
        None, rate(), "this frame rate: 60, 60000/1001", group="frame rate (one of the two)"
    )
    denoise: Literal["on", "off"] = option(
        "off",
        words("on", "off"),
        "also remove noise; off (default) keeps the original frames as they are",
        group="steps",
    )

    def __post_init__(self) -> None:
        if (self.factor is None) == (self.fps is None):
            found = "neither" if self.fps is None else "both"
            raise InputError(f"upsample needs either --factor or --fps, got {found}; give one of them.")
        _check_rate(self.factor)

    def raised(self, own: Fraction | None) -> Fraction | None:
        """Frames a second of the result."""
        return self.fps or (own and own * (self.factor or 1))


@verb(
    "deinterlace",
    summary="make whole frames of interlaced video; pulldown is undone",
    description="Make a whole frame of every field of interlaced video. The lines that a field has stay as they are; the others are\n"
    "made from the lines and fields around, along motion. Film with pulldown comes back as its own frames, and shots that\n"
    "are not interlaced stay as they are: each shot is judged by its pixels.",
    synopsis=_WRITES,
    examples=(
        ("videorestore deinterlace tape.avi -o tape.mkv", "25 frames of two fields give 50 frames"),
        ("videorestore deinterlace dvd.vob -o film.mkv --rate frame", "as many frames as before"),
        (
            "videorestore deinterlace dv.mov -o out.mkv --order bff",
            "the bottom field is first, whatever it looks like",
        ),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DeinterlaceOptions(Common):
    """``order`` other than "auto" takes every frame for two fields."""

    order: Literal["auto", "tff", "bff"] = option(
        "auto",
        words("auto", "tff", "bff"),
        "which field is first, top or bottom; auto (default) judges each shot by its pixels",
        group="fields",
    )
    rate: Literal["field", "frame"] = option(
        "field",
        words("field", "frame"),
        "a frame for every field (default), or one for every frame",
        group="fields",
    )


@verb(
    "reorder",
    summary="put shuffled frames into order",
    description="Put shuffled frames into order. Frames for which no place is found are named and left out.",
    synopsis=_WRITES,
    examples=(
        ("videorestore reorder shuffled/ -o ordered.mkv --first 12", "frame 12 is at the start"),
        ("videorestore reorder shuffled.mp4 -o ordered/ --json", "the order as JSON too"),
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderOptions(Common):
    """``first`` is the frame that stands at the start; None takes the orientation as it comes."""

    first: int | None = option(
        None,
        Whole(low=0, high=10**9, metavar="N"),
        "the start is the end nearer to frame N (pictures alone do not tell forwards from backwards)",
        group="order",
    )


VERBS = TABLE.keys()
"""Every verb that works."""


def _check_rate(factor: Fraction | None) -> None:
    if factor is not None and factor < 1:
        raise InputError(f"--factor must be at least 1, got {factor}; the frame rate is only raised.")
