"""Every encoder that is told more than its name, a row each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from videorestore.clip import PixelFormat
from videorestore.errors import InputError
from videorestore.media.encoder_words import encoder_words
from videorestore.media.pipe import ffmpeg

DEFAULT_CRF = 16
Joining = Literal["", "plain", "numbered", "in band"]
"""How packets of an encoder stand beside those of another file: not at all; as they are; with parameter sets that have
numbers of their own in the header; with parameter sets before every key picture."""
PARAMETER_SET = 31
"""Number of our own parameter sets of H.264: the last there is, so that the source's keep theirs."""
_DEEPEST_ASKED = 12
"""Bits a sample for which another encoder is taken; no lossy one has more."""


def _nothing(reached: PixelFormat, height: int, width: int) -> tuple[str, ...]:
    return ()


def _prores_profile(reached: PixelFormat, height: int, width: int) -> tuple[str, ...]:
    profile = "4" if reached.subsampling == (0, 0) else "3"
    return ("-profile:v", profile, "-alpha_bits", "16" if reached.alpha else "0")


def _ffv1_slices(reached: PixelFormat, height: int, width: int) -> tuple[str, ...]:
    if min(height, width) >= 32 and height % 2 == 0 and width % 2 == 0:
        return ("-slices", "4")
    # With several slices FFmpeg loses the last chroma line of an odd height, and it makes several of large frames, but for
    # level 1, which knows none.
    return ("-slices", "1") if width <= 352 and height <= 288 else ("-level", "1", "-slicecrc", "0")


def _vpx_alpha(reached: PixelFormat, height: int, width: int) -> tuple[str, ...]:
    return ("-auto-alt-ref", "0") if reached.alpha else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """What an encoder takes and what it is told.

    Attributes
    ----------
    name : str
        FFmpeg's.
    codec : str
        What its packets are called; its name where empty.
    aliases : tuple of str
        What people call it.
    depth, alpha_depth : int
        Most bits a sample, without and with alpha; 0 where it has no alpha.
    simple : bool
        It holds 4:2:0 in studio range and nothing else.
    even : bool
        It refuses an odd width or height where chroma is subsampled along it.
    smallest, narrowest : int
        Least width and height, and least width, in pixels.
    fields : bool
        It codes the fields of interlaced frames apart.
    lossless : bool
    packs : int
        Raw bytes over written ones at our quality where grain stays, on the safe side.
    quality : str
        How quality is told: by ``-crf``, always or only where asked for, by ``-q:v``, or not at all.
    words : str
        What it is always told. Numbers of threads are fixed: the bits do not depend on the machine.
    flags : str
        Closed groups of pictures can be joined.
    parameters : tuple of str
        Option that carries parameters of its own, and those that it always gets; none where empty.
    hdr : tuple of str
        Parameters for the mastering display and the light level; none where empty.
    joining : Joining
        How groups of pictures that it makes are put between those of a source in the same codec.
    own : str
        What it is told where they will be.
    more : callable
        What depends on pixel format, height and width.
    """

    name: str
    codec: str = ""
    aliases: tuple[str, ...] = ()
    depth: int = 8
    alpha_depth: int = 0
    simple: bool = False
    even: bool = False
    smallest: int = 1
    narrowest: int = 1
    fields: bool = False
    lossless: bool = False
    packs: int = 5
    quality: Literal["crf", "asked", "q", "none"] = "asked"
    words: str = ""
    flags: str = ""
    parameters: tuple[str, ...] = ()
    hdr: tuple[str, ...] = ()
    joining: Joining = ""
    own: str = ""
    more: Callable[[PixelFormat, int, int], tuple[str, ...]] = _nothing

    def takes(self, height: int, width: int) -> bool:
        """Whether frames of this size are not too small for it."""
        return min(height, width) >= self.smallest and width >= self.narrowest

    def losses(self, pixel: PixelFormat, height: int, width: int) -> tuple[int, ...]:
        """What it would lose of samples of this kind and size, the worst first; smaller is better."""
        depth = self.alpha_depth if pixel.alpha and self.alpha_depth else self.depth
        plain = pixel.model == "yuv" and pixel.subsampling == (1, 1) and not pixel.full_range
        return (
            int(not self.takes(height, width)),
            int(pixel.alpha and not self.alpha_depth),
            int(self.simple and not plain),
            max(0, min(pixel.depth, _DEEPEST_ASKED) - depth),
        )

    def arguments(
        self,
        reached: PixelFormat,
        size: tuple[int, int],
        *,
        crf: float | None,
        extra: str,
        fields: str,
        hdr: tuple[str | None, str | None],
    ) -> list[str]:
        """What FFmpeg is told after the encoder's name.

        Parameters
        ----------
        reached : PixelFormat
            Of the encoded samples.
        size : tuple of int
            Height, width.
        crf : float or None
            Quality asked for.
        extra : str
            The user's own arguments.
        fields : str
            "tff" or "bff" where the frames are interlaced, else "progressive" or nothing.
        hdr : tuple of str or None
            Mastering display, light level.
        """
        words = []
        apart = self.fields and fields in ("tff", "bff")
        flags = self.flags + ("+ildct+ilme" if apart else "")
        if flags:
            words += ["-flags", flags]
        if self.quality == "crf" or (self.quality == "asked" and crf is not None):
            words += ["-crf", str(DEFAULT_CRF if crf is None else crf)]
        elif self.quality == "q":
            words += ["-q:v", "2" if crf is None else str(max(1, round(crf / 5)))]
        words += self.words.split()
        words += self.more(reached, *size)
        if self.parameters:
            said = [f"{name}={value}" for name, value in zip(self.hdr, hdr) if value]
            # x264 flags all fields as top first unless it is told.
            said += [f"{fields}=1"] if apart else []
            parameters = ":".join([*self.parameters[1:], *said])
            words += [self.parameters[0], parameters] if parameters else []
        return words + encoder_words(extra, self.name, _help(self.name))


def _x264(name: str, aliases: tuple[str, ...] = (), *, video: bool = True) -> Encoder:
    return Encoder(
        name=name,
        codec="h264",
        aliases=aliases,
        depth=10,
        even=video,
        fields=video,
        quality="crf",
        words="-preset medium -threads 4",
        flags="+cgop",
        parameters=("-x264-params",),
        hdr=("mastering-display", "cll"),
        joining="numbered" if video else "",
        own=f"-x264opts sps-id={PARAMETER_SET}",
    )


ENCODERS = (
    _x264("libx264", ("h264", "x264", "avc")),
    _x264("libx264rgb", video=False),
    Encoder(
        name="libx265",
        codec="hevc",
        aliases=("x265", "h265", "hevc"),
        depth=12,
        even=True,
        smallest=16,
        narrowest=64,  # the bundled one breaks down at some widths of 33 to 49 with more than 8 bit
        quality="crf",
        words="-preset medium",
        parameters=("-x265-params", "log-level=error:open-gop=0:frame-threads=2:pools=4"),
        hdr=("master-display", "max-cll"),
        joining="in band",
        own="-forced-idr 1",
    ),
    Encoder(
        name="libvpx-vp9",
        codec="vp9",
        aliases=("vp9",),
        joining="plain",
        depth=12,
        alpha_depth=8,
        quality="crf",
        words="-b:v 0 -deadline good -cpu-used 3 -threads 4 -row-mt 1",
        more=_vpx_alpha,
    ),
    Encoder(
        name="libvpx",
        codec="vp8",
        aliases=("vp8",),
        joining="plain",
        alpha_depth=8,
        quality="crf",
        words="-b:v 0 -deadline good -cpu-used 3 -threads 4",
        more=_vpx_alpha,
    ),
    Encoder(
        name="libaom-av1",
        codec="av1",
        aliases=("av1", "aom"),
        depth=12,
        quality="crf",
        words="-b:v 0 -cpu-used 6 -row-mt 1 -threads 4",
    ),
    Encoder(name="libsvtav1", codec="av1", aliases=("svtav1",), depth=10, quality="crf"),
    Encoder(
        name="prores_ks",
        codec="prores",
        aliases=("prores",),
        joining="plain",
        depth=10,
        alpha_depth=10,
        even=True,
        fields=True,
        packs=2,
        quality="none",
        words="-vendor apl0",
        more=_prores_profile,
    ),
    Encoder(name="prores_aw", codec="prores", depth=10, alpha_depth=10, packs=2),
    Encoder(
        name="ffv1",
        depth=16,
        alpha_depth=16,
        lossless=True,
        packs=2,
        quality="none",
        words="-level 3 -g 1 -slicecrc 1 -threads 4",
        more=_ffv1_slices,
    ),
    Encoder(name="mpeg4", simple=True, even=True, fields=True, quality="q", joining="in band"),
    Encoder(name="libxvid", codec="mpeg4", aliases=("xvid",), simple=True, even=True, quality="q"),
    Encoder(name="mpeg2video", fields=True, quality="q", joining="plain"),
    Encoder(
        name="mjpeg", aliases=("jpeg",), even=True, quality="q", joining="plain", own="-strict unofficial"
    ),
    Encoder(name="dvvideo", aliases=("dv",), quality="none", joining="plain"),
    Encoder(name="libtheora", codec="theora"),
    *(
        Encoder(name=name, lossless=True, packs=2, quality="none")
        for name in ("huffyuv", "ffvhuff", "utvideo", "png", "magicyuv", "qtrle")
    ),
    Encoder(name="rawvideo", lossless=True, packs=1, quality="none"),
)
_BY_NAME = {word: row for row in ENCODERS for word in (row.name, *row.aliases)}


def encoder_of(name: str) -> Encoder:
    """The encoder of this name, FFmpeg's or a common one; one without a row is told its quality where asked."""
    return _BY_NAME.get(name.lower()) or Encoder(name=name.lower())


def encoder_for(codec: str) -> Encoder | None:
    """The first encoder with a row that makes packets of this kind."""
    return next((row for row in ENCODERS if packets_of(row) == codec), None)


def packets_of(encoder: Encoder) -> str:
    """FFmpeg's name of what an encoder makes."""
    return encoder.codec or encoder.name


@lru_cache(maxsize=64)
def _help(name: str) -> str:
    """What FFmpeg says of an encoder; an error where it does not exist."""
    done = subprocess.run(
        [ffmpeg(), "-hide_banner", "-h", f"encoder={name}"], capture_output=True, check=False, timeout=60
    )
    text = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    if f"Encoder {name} " not in text:
        raise InputError(
            f"codec must be a video encoder of FFmpeg, got {name!r}; try h264, hevc, vp9, av1 or ffv1."
        )
    return text


def formats_of(encoder: Encoder) -> tuple[str, ...]:
    """Pixel formats of an encoder; empty where it names none, an error where it does not exist."""
    found = re.search(r"Supported pixel formats: (.*)", _help(encoder.name))
    return tuple(found.group(1).split()) if found else ()
