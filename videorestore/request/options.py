"""Options of every verb, named like the command line's; values, not flags, travel through the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from videorestore.errors import InputError

Model = Literal["auto", "curve", "motion"]
Quality = Literal["fast", "default", "best"]
Switch = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """Frames that are absent: ``count`` new ones after frame ``after``; None lets the program decide.

    ``after`` may be a time in seconds from the start: the frame that is shown then.
    """

    after: int | Fraction
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of frames or of times; None is an open end."""

    start: int | Fraction | None = None
    stop: int | Fraction | None = None
    in_seconds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every writing verb takes.

    Attributes
    ----------
    model : {"auto", "curve", "motion"}
    span : Span or None
        ``--range``: the output holds just these frames.
    sd, report : str or None
        Files for the sd maps and the page.
    overwrite : bool
        ``-y``.
    jobs : int
        Worker processes; 0 takes all cores.
    cluster : str or None
        Address of a Dask scheduler.
    max_memory : int
        Bytes; 0 is half of what is free.
    resume : bool
    codec, crf, pix_fmt, encoder_args
        Encoding.
    seed : int
    dry_run : bool
    stream : int or None
        Which video stream, where there are several.
    input_fps : Fraction or None
        Frame rate of a folder or an array, which have none.
    """

    model: Model = "auto"
    quality: Quality = "default"
    span: Span | None = None
    sd: str | None = None
    report: str | None = None
    overwrite: bool = False
    jobs: int = 0
    cluster: str | None = None
    max_memory: int = 0
    resume: bool = True
    codec: str | None = None
    crf: int | None = None
    pix_fmt: str | None = None
    encoder_args: str = ""
    seed: int = 0
    dry_run: bool = False
    stream: int | None = None
    input_fps: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DenoiseOptions(Common):
    """``sigma`` is None for auto, else a standard deviation on the 0..255 scale."""

    sigma: float | None = None
    strength: float = 1.0

    def __post_init__(self) -> None:
        if self.sigma is not None and not 0 <= self.sigma <= 255:
            raise InputError(
                f"--sigma must lie in 0..255 or be auto, got {self.sigma:g}; give the noise sd of 8-bit pixels."
            )
        if not 0 <= self.strength <= 10:
            raise InputError(f"--strength must lie in 0..10, got {self.strength:g}; 1 is the posterior mean.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FillOptions(Common):
    """``missing`` is None for auto, else frame numbers and stretches of time; ``insert`` lists absent frames."""

    missing: tuple[int | Span, ...] | None = None
    insert: tuple[Insertion, ...] = ()
    max_sd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InpaintOptions(Common):
    """``mask`` is a path, "auto", or None where NaN marks the missing pixels; ``loose`` is a folder."""

    mask: Any = None
    loose: str | None = None
    placement: Literal["map", "mh"] = "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsampleOptions(Common):
    """Either ``factor`` or ``fps``."""

    factor: Fraction | None = None
    fps: Fraction | None = None
    denoise: Literal["on", "off"] = "off"

    def __post_init__(self) -> None:
        if (self.factor is None) == (self.fps is None):
            raise InputError(
                "upsample needs either --factor or --fps, got both or neither; give one of them."
            )
        if self.factor is not None and self.factor < 1:
            raise InputError(
                f"--factor must be at least 1, got {self.factor}; upsample only raises the frame rate."
            )
        if self.fps is not None and self.fps <= 0:
            raise InputError(f"--fps must be positive, got {self.fps}; give a rate like 60 or 60000/1001.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderOptions(Common):
    """``first`` is the frame that stands at the start; None takes the orientation as it comes."""

    first: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions(Common):
    """Each step can be switched; ``factor`` or ``fps`` also raises the frame rate."""

    denoise: Switch = "auto"
    fill: Literal["auto", "off"] = "auto"
    mend: Literal["auto", "off"] = "auto"
    sigma: float | None = None
    strength: float = 1.0
    factor: Fraction | None = None
    fps: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """Nothing is written but the page."""

    span: Span | None = None
    report: str | None = None
    overwrite: bool = False
    stream: int | None = None
    input_fps: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """``other`` is the second clip."""

    other: Any = None
    report: str | None = None
    overwrite: bool = False


OPTIONS: dict[str, Callable[..., Any]] = {
    "restore": RestoreOptions,
    "denoise": DenoiseOptions,
    "fill": FillOptions,
    "inpaint": InpaintOptions,
    "upsample": UpsampleOptions,
    "reorder": ReorderOptions,
    "inspect": InspectOptions,
    "compare": CompareOptions,
}
