"""Options that several verbs share, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from videorestore.request.declare import option
from videorestore.request.kinds import File, Flag, Number, Text, Times, Whole, memory, rate, span, words
from videorestore.request.values import Span

Model = Literal["auto", "curve", "motion"]
Quality = Literal["fast", "default", "best"]
Switch = Literal["auto", "on", "off"]

NUMBER_AUTO = Number(low=0, high=255, metavar="auto|NUMBER", words=("auto",))
STRENGTH = Number(low=0, high=10, metavar="FACTOR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How the input is opened, and whether what is there may be overwritten."""

    stream: int | None = option(
        None,
        Whole(low=0, high=10_000, metavar="N"),
        "which stream of the file, where it has several",
        group="input",
    )
    input_fps: Fraction | None = option(
        None, rate(), "frame rate of a folder or an array, which have none (default: 25)", group="input"
    )
    overwrite: bool = option(
        False,
        Flag(),
        "overwrite what is there already; without it that is refused",
        group="output",
        short="-y",
        pixels=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Opening):
    """Which part of the input is read; the page."""

    span: Span | None = option(
        None,
        span(),
        "only the frames A up to but not including B, or times: 12.5s:20s",
        group="input",
        keyword="range",
    )
    report: str | None = option(
        None,
        File(metavar="FILE.html"),
        "a self-contained page that shows what was found and done",
        group="output",
        path="written",
        pixels=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Common(Reading):
    """What every writing verb takes; ``jobs`` and ``max_memory`` are 0 where the machine decides."""

    model: Model = option(
        "auto",
        words("auto", "curve", "motion"),
        "what is made is learnt from where pixels move to (motion), or from all frames at the same place (curve: one electroGP "
        "over the shot); auto (default): by motion, and by the curve too where a trial says that it helps",
        group="model",
    )
    quality: Quality = option(
        "default",
        words("fast", "default", "best"),
        "fast takes a third to a half of the time of default; best a fifth more, for up to 0.2 dB where little moves",
        group="model",
    )
    seed: int = option(
        0,
        Whole(low=0, high=2**32 - 1, metavar="N"),
        "the same input, options and seed give the same pixels, whatever --jobs (default: 0)",
        group="model",
    )
    sd: str | None = option(
        None,
        File(metavar="FILE"),
        "also write how sure every pixel is: its standard deviation on the 0..255 scale (.npy or a video)",
        group="output",
        path="written",
    )
    dry_run: bool = option(
        False,
        Flag(),
        "say what would be done, with estimated time, memory and disk",
        group="output",
        pixels=False,
    )
    codec: str | None = option(
        None,
        Text(metavar="NAME"),
        "h264 (default), h265, vp9, av1, prores, ffv1 (lossless, with .mkv)",
        group="encoding",
    )
    crf: float | None = option(
        None,
        Number(low=0, high=63, metavar="Q"),
        "quality of the encoder, lower is better (default: 16)",
        group="encoding",
    )
    pix_fmt: str | None = option(
        None,
        Text(metavar="FORMAT"),
        "pixel format by ffmpeg's name (default: the source's)",
        group="encoding",
    )
    encoder_args: str = option(
        "", Text(metavar="'...'"), "more arguments for ffmpeg's encoder, in one string", group="encoding"
    )
    jobs: int = option(
        0,
        Whole(low=1, high=4096, metavar="N"),
        "worker processes (default: one for each core)",
        group="scale",
        pixels=False,
    )
    cluster: str | None = option(
        None,
        Text(metavar="ADDRESS"),
        "work on the machines of this Dask scheduler, host:port (needs pip install videorestore[cluster])",
        group="scale",
        pixels=False,
    )
    max_memory: int = option(
        0,
        memory(),
        "most memory that may be taken (default: half of what is free)",
        group="scale",
        pixels=False,
    )
    resume: bool = option(
        True,
        Flag(opposite="--fresh"),
        "go on from an interrupted run of the same command (default); --fresh forgets it and starts anew",
        group="scale",
        pixels=False,
    )

    def raised(self, own: Fraction | None) -> Fraction | None:
        """Frames a second of the result, as far as they are known before the clip is looked at."""
        return own


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Files with options."""

    config: str | None = option(
        None,
        File(metavar="FILE.toml"),
        "take options from this file; those of the command line come first",
        group="settings",
    )
    write_config: str | None = option(
        None,
        File(metavar="FILE.toml"),
        "write the options given here into a new file for --config, and do nothing else",
        group="settings",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What the user of the command line hears, and where."""

    json: bool = option(False, Flag(), "one JSON object on stdout: the result record", group="telling")
    progress: str = option(
        "auto",
        words("auto", "plain", "json", "none"),
        "on stderr; auto is a bar on a terminal and plain lines elsewhere",
        group="telling",
    )
    quiet: bool = option(
        False, Flag(), "no progress, no summary; errors and losses only", group="telling", short="-q"
    )
    verbose: int = option(0, Times(), "say more", group="telling", short="-v")
    traceback: bool = option(False, Flag(), "show where an error came from", group="telling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending(Common):
    """What verbs take besides that regenerate pixels."""

    write_mask: str | None = option(
        None,
        File(metavar="FILE"),
        "also write where pixels were mended, white on black, a picture for each frame; edited, it can be given to inpaint --mask",
        group="output",
        path="written",
    )


def fields_option() -> Any:
    """What becomes of interlaced video where only `restore` makes whole frames of it."""
    return option(
        "off",
        words("off"),
        "interlaced video stays interlaced (off, the only choice here): its fields are worked on one by one; restore "
        "and deinterlace make whole frames",
        group="fields",
    )


def noise_options() -> tuple[Any, Any, Any]:
    """How much noise there is, and how much of it goes: ``sigma``, ``strength``, ``keep_grain``."""
    return (
        option(
            None,
            NUMBER_AUTO,
            "standard deviation of the noise on the 0..255 scale; auto (default) measures it",
            group="noise",
        ),
        option(
            1.0,
            STRENGTH,
            "take the noise for FACTOR times as strong as it was measured: 1 (default) is nearest to the truth, less leaves "
            "texture and noise, more makes smoother",
            group="noise",
        ),
        option(
            0.0,
            Number(low=0, high=1, metavar="SHARE"),
            "give back this share of the noise that was removed, 0 (default) to 1, so that film keeps its grain",
            group="noise",
        ),
    )
