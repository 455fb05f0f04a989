"""Which encoder, which pixel format, which arguments."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from videorestore.clip import ClipInfo, PixelFormat
from videorestore.colour import assumed_matrix
from videorestore.errors import InputError
from videorestore.media.encoder_words import encoder_words
from videorestore.media.pipe import ffmpeg
from videorestore.media.pixels import ffmpeg_name, layout_of, pipeable

DEFAULT_CRF = 16
_SMALLEST_HEVC = 16
TRANSPORT = frozenset(
    ("h264", "hevc", "mpeg2video", "mpeg1video", "aac", "ac3", "eac3", "mp2", "mp3", "dvb_subtitle")
)
"""What a transport stream holds; its muxer does not tell."""
HDR = ("smpte2084", "arib-std-b67")
"""Transfer functions of high dynamic range: PQ and HLG."""

_NAMES = {
    "h264": "libx264",
    "x264": "libx264",
    "avc": "libx264",
    "x265": "libx265",
    "h265": "libx265",
    "hevc": "libx265",
    "vp9": "libvpx-vp9",
    "vp8": "libvpx",
    "av1": "libaom-av1",
    "aom": "libaom-av1",
    "svtav1": "libsvtav1",
    "prores": "prores_ks",
    "xvid": "libxvid",
    "jpeg": "mjpeg",
}
# What an encoder's packets are called where its own name does not say.
_CODECS = {
    "libx264": "h264",
    "libx264rgb": "h264",
    "libx265": "hevc",
    "libvpx-vp9": "vp9",
    "libvpx": "vp8",
    "libaom-av1": "av1",
    "libsvtav1": "av1",
    "prores_ks": "prores",
    "prores_aw": "prores",
    "libxvid": "mpeg4",
    "libtheora": "theora",
}
# The scaler has names of its own for the matrices.
_SCALE_NAMES = {
    "bt709": "bt709",
    "fcc": "fcc",
    "bt470bg": "bt470",
    "smpte170m": "smpte170m",
    "smpte240m": "smpte240m",
    "bt2020nc": "bt2020",
    "bt2020c": "bt2020",
}
# Encoders that refuse an odd width or height where chroma is subsampled along it.
_EVEN_ONLY = ("libx264", "libx265", "prores_ks", "libxvid", "mpeg4", "mjpeg")
# Encoders that code the fields of interlaced frames apart.
_INTERLACED = ("libx264", "mpeg2video", "mpeg4", "prores_ks")
_LOSSLESS = ("ffv1", "huffyuv", "ffvhuff", "utvideo", "png", "rawvideo", "magicyuv", "qtrle")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """How a result is encoded.

    Attributes
    ----------
    codec : str or None
        FFmpeg's encoder or a common name (h264, x265, vp9, av1, prores, ffv1); None chooses by the output's name.
    crf : int or None
        Quality of the encoders that have it; 16 by default.
    pix_fmt : str or None
        FFmpeg's pixel format; None keeps the source's as far as the encoder can.
    encoder_args : str
        Further arguments for FFmpeg, as on its command line.
    overwrite : bool
    """

    codec: str | None = None
    crf: float | None = None
    pix_fmt: str | None = None
    encoder_args: str = ""
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """A decided encoding.

    Attributes
    ----------
    encoder : str
    piped : PixelFormat
        Format in which frames go through the pipe.
    pix_fmt : str
    rate : Fraction
        Nominal rate that the encoder is told.
    filters : str
    arguments : tuple of str
    lossless : bool
        Encoder and pixel format keep every sample.
    notes, losses : tuple of str
        What a user should know; what could not be kept.
    """

    encoder: str
    piped: PixelFormat
    pix_fmt: str
    rate: Fraction
    filters: str
    arguments: tuple[str, ...]
    lossless: bool = False
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def _help(encoder: str) -> str:
    """What FFmpeg says of an encoder; an error where it does not exist."""
    done = subprocess.run(
        [ffmpeg(), "-hide_banner", "-h", f"encoder={encoder}"], capture_output=True, check=False, timeout=60
    )
    text = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    if f"Encoder {encoder} " not in text:
        raise InputError(
            f"codec must be a video encoder of FFmpeg, got {encoder!r}; try h264, hevc, vp9, av1 or ffv1."
        )
    return text


def encoder_formats(encoder: str) -> tuple[str, ...]:
    """Pixel formats of an encoder; empty where it names none, an error where it does not exist."""
    found = re.search(r"Supported pixel formats: (.*)", _help(encoder))
    return tuple(found.group(1).split()) if found else ()


@lru_cache(maxsize=16)
def container_codecs(container: str) -> frozenset[str]:
    """Codecs that a container takes, as far as results can be read back from it."""
    import av

    with av.open(os.devnull, "w", format=container) as output:
        codecs = set(output.supported_codecs)
    # AVI has no presentation times: codecs that reorder frames come back wrong.
    if container == "avi":
        codecs -= {"h264", "hevc", "av1"}
    return TRANSPORT if container == "mpegts" else frozenset(codecs)


def check_codec(container: str, options: SinkOptions) -> None:
    """Refuse a codec or pixel format that cannot work, before any frame is made."""
    if not options.codec:
        return
    encoder = choose_encoder("", PixelFormat(model="rgb"), 0, 0, options)
    formats = encoder_formats(encoder)
    codec = _CODECS.get(encoder, encoder)
    if codec not in container_codecs(container):
        raise InputError(
            f"codec must be one that a {container} file can hold, got {options.codec!r}; use .mkv."
        )
    if options.pix_fmt and formats and options.pix_fmt not in formats:
        raise _wrong_pix_fmt(encoder, formats, options.pix_fmt)


def _wrong_pix_fmt(encoder: str, formats: tuple[str, ...], name: str) -> InputError:
    return InputError(
        f"pix_fmt must be one of {encoder}'s ({', '.join(formats[:12])}, ...), got {name!r}; "
        "choose one of these or another codec."
    )


def choose_encoder(suffix: str, pixel: PixelFormat, height: int, width: int, options: SinkOptions) -> str:
    """The encoder for an output suffix (".mp4", ...), a source format and a size."""
    if options.codec:
        name = options.codec.lower()
        return _NAMES.get(name, name)
    if suffix == ".webm":
        return "libvpx-vp9"
    if suffix == ".avi":
        # AVI has no presentation times, which H.264 needs; what MPEG-4 cannot hold is kept without loss.
        simple = pixel.model == "yuv" and pixel.depth == 8 and pixel.subsampling == (1, 1) and not pixel.alpha
        return "mpeg4" if simple and not pixel.full_range else "ffv1"
    if pixel.alpha and suffix == ".mov":
        return "prores_ks"
    if pixel.alpha and suffix == ".mkv":
        return "libvpx-vp9" if pixel.depth == 8 else "ffv1"
    if pixel.depth > 10 and suffix in (".mp4", ".mkv", ".mov") and min(height, width) >= _SMALLEST_HEVC:
        # H.264 ends at 10 bit.
        return "libx265"
    return "libx264"


def _distance(wanted: PixelFormat, offered: PixelFormat) -> tuple[int, ...]:
    """How much is lost (first numbers), then how much is wasted, when samples move between formats."""
    lost_depth = max(0, min(wanted.depth, 16) - offered.depth)
    wide_depth = max(0, offered.depth - min(wanted.depth, 16))
    pairs = list(zip(wanted.subsampling, offered.subsampling))
    lost_chroma = 0 if wanted.model == "grey" else sum(max(0, o - w) for w, o in pairs)
    if wanted.model != "grey" and offered.model == "grey":
        lost_chroma = 9
    fine_chroma = sum(max(0, w - o) for w, o in pairs)
    if wanted.model == "grey" and offered.model == "yuv":
        fine_chroma = 2 - sum(offered.subsampling)
    return (
        int(wanted.alpha and not offered.alpha),
        lost_chroma,
        lost_depth,
        int(wanted.model != offered.model),
        wide_depth,
        fine_chroma,
        int(offered.alpha and not wanted.alpha),
    )


def choose_pix_fmt(encoder: str, pixel: PixelFormat, height: int, width: int) -> str:
    """The pixel format of the encoder that keeps most of the source's samples at this size."""
    if encoder == "libx264" and pixel.model == "grey" and pixel.depth == 8 and not (width % 2 or height % 2):
        # Decoders show monochrome H.264 as 4:2:0 anyway, and many players refuse it.
        return "yuv420p"
    best: tuple[tuple[int, ...], str] | None = None
    for name in encoder_formats(encoder):
        layout = layout_of(name)
        if layout is None or name.startswith("yuvj") or layout.kind == "semi":
            continue
        sx, sy = layout.format.subsampling
        if encoder in _EVEN_ONLY and ((width % 2 and sx) or (height % 2 and sy)):
            continue
        score = _distance(pixel, layout.format)
        if best is None or score < best[0]:
            best = score, name
    if best is None:
        return ffmpeg_name(replace(pixel, depth=min(pixel.depth, 16)))
    return best[1]


def plan_encoding(
    suffix: str, info: ClipInfo, height: int, width: int, fps: Fraction | None, options: SinkOptions
) -> Encoding:
    """Decide everything that FFmpeg must be told.

    Parameters
    ----------
    suffix : str
        Of the output, lower case, with the dot.
    info : ClipInfo
    height, width : int
    fps : Fraction or None
        Mean rate of the output.
    options : SinkOptions
    """
    pixel = info.format
    if info.transfer in HDR and not options.codec and suffix in (".mp4", ".mkv", ".mov"):
        # Players take HDR for what it is in HEVC alone.
        options = replace(options, codec="hevc" if min(height, width) >= _SMALLEST_HEVC else None)
    plain = _for_all_players(suffix, info, height, width, options)
    encoder = "libx264" if plain else choose_encoder(suffix, pixel, height, width, options)
    formats = encoder_formats(encoder)
    notes: list[str] = []
    losses: list[str] = []
    if options.pix_fmt:
        if formats and options.pix_fmt not in formats:
            raise _wrong_pix_fmt(encoder, formats, options.pix_fmt)
        target = options.pix_fmt
    else:
        target = "yuv420p" if plain else choose_pix_fmt(encoder, pipeable(pixel), height, width)
    piped = pipeable(pixel)
    layout = layout_of(target)
    reached = layout.format if layout else piped
    if plain and (pixel.model == "rgb" or pixel.depth > 8):
        notes.append(
            f"pictures become 8-bit yuv420p in {suffix}, which every player shows; --pix-fmt yuv444p keeps more colour"
        )
    elif not options.pix_fmt:
        notes += _format_notes(encoder, pixel, reached, height, width, target)
    if pixel.alpha and not reached.alpha:
        losses.append(f"alpha: {encoder} in {target} has none; use .webm, or .mkv with the codec ffv1")
    if (
        suffix == ".avi"
        and pixel.model == "yuv"
        and info.matrix_known
        and pixel.matrix != assumed_matrix(height)
    ):
        notes.append(
            f"avi stores no colour tags: players will take {assumed_matrix(height)} for {pixel.matrix}"
        )
    rate = _nominal(fps)
    filters = _filters(info, piped, reached, target, height, width)
    mastering, light = info.extra.get("mastering_display"), info.extra.get("content_light")
    arguments = _arguments(encoder, reached, options, height, width, _hdr(encoder, mastering, light))
    if info.extra.get("field_order") in ("tff", "bff") and encoder in _INTERLACED:
        own_flags = "+cgop" if "+cgop" in arguments else ""
        arguments = ["-flags", f"{own_flags}+ildct+ilme"] + [
            word for k, word in enumerate(arguments) if not own_flags or k not in _flag_places(arguments)
        ]
    if (mastering or light) and encoder not in ("libx264", "libx265"):
        notes.append(f"the HDR mastering data are not written with {encoder}; h264 and hevc keep them")
    if info.chroma_location not in ("unspecified", "") and reached.subsampling != (0, 0):
        arguments += ["-chroma_sample_location", info.chroma_location]
    same = reached.depth >= piped.depth and reached.model == piped.model
    lossless = encoder in _LOSSLESS and same and reached.subsampling == piped.subsampling and not losses
    return Encoding(
        encoder=encoder,
        piped=piped,
        pix_fmt=target,
        rate=rate,
        filters=filters,
        arguments=tuple(arguments),
        lossless=lossless,
        notes=tuple(notes),
        losses=tuple(losses),
    )


def _flag_places(arguments: list[str]) -> tuple[int, int]:
    """Where our own ``-flags +cgop`` stands."""
    place = arguments.index("+cgop")
    return place - 1, place


def _for_all_players(suffix: str, info: ClipInfo, height: int, width: int, options: SinkOptions) -> bool:
    """Whether pictures, an array or a GIF become 8-bit 4:2:0, which all players and phones show.

    A video keeps its own kind, and so does what has an odd size or, where the file can hold it, transparency.
    """
    pixel = info.format
    video = "stream" in info.extra and info.extra.get("codec") != "gif"
    kept = video or pixel.model == "yuv" or (pixel.alpha and suffix == ".mov")
    asked = options.codec or options.pix_fmt
    return suffix in (".mp4", ".m4v", ".mov") and not (kept or asked or height % 2 or width % 2)


def _format_notes(
    encoder: str, pixel: PixelFormat, reached: PixelFormat, height: int, width: int, target: str
) -> list[str]:
    notes = []
    odd = width % 2 or height % 2
    if odd and pixel.model == "yuv" and reached.subsampling != pixel.subsampling:
        notes.append(
            f"{encoder} takes an odd size only as {target}: the chroma samples are repeated, nothing is lost"
        )
    elif reached.model == "yuv" and pixel.model != "yuv" and target != "yuv420p":
        notes.append(f"{pixel.model} pixels are written as {target}; some players want --pix-fmt yuv420p")
    elif sum(reached.subsampling) > sum(pixel.subsampling):
        notes.append(f"{encoder} has less chroma than the source; written as {target}")
    if reached.depth < min(pixel.depth, 16):
        kind = "float" if pixel.depth == 32 else f"{pixel.depth} bit"
        notes.append(
            f"{encoder} ends at {reached.depth} bit: {kind} samples are rounded; ffv1 or .npy keeps them"
        )
    return notes


def _nominal(fps: Fraction | None) -> Fraction:
    """A rate that every encoder accepts; only rate control and headers see it."""
    rate = fps if fps and fps > 0 else Fraction(25)
    rate = min(max(rate, Fraction(1, 4)), Fraction(480)).limit_denominator(1001)
    return rate if rate.numerator <= 65535 else Fraction(round(rate))


def _filters(
    info: ClipInfo, piped: PixelFormat, reached: PixelFormat, target: str, height: int, width: int
) -> str:
    """Labels for the frames, and a conversion only where the encoder needs another format."""
    chain = []
    labels = []
    range_known = info.extra.get("range_known", True)
    if piped.model == "yuv":
        if info.matrix_known:
            labels.append(f"colorspace={piped.matrix}")
        if range_known:
            labels.append(f"range={'pc' if piped.full_range else 'tv'}")
    elif piped.model == "grey":
        labels.append(f"range={'pc' if piped.full_range else 'tv'}")
    if info.primaries != "unknown":
        labels.append(f"color_primaries={info.primaries}")
    if info.transfer != "unknown":
        labels.append(f"color_trc={info.transfer}")
    order = info.extra.get("field_order")
    if order is not None:
        labels.append(f"field_mode={'prog' if order == 'progressive' else order}")
    if labels:
        chain.append("setparams=" + ":".join(labels))
    chain.append(f"setsar={info.sar.numerator}/{info.sar.denominator}:max=65535")
    if target != ffmpeg_name(piped):
        # Repeating chroma keeps its samples; all other conversions interpolate.
        finer = piped.model == reached.model == "yuv" and sum(reached.subsampling) < sum(piped.subsampling)
        flags = "neighbor" if finer else "bicubic"
        scale = [f"flags={flags}+accurate_rnd+full_chroma_int+full_chroma_inp+bitexact"]
        if piped.model == "rgb" and reached.model == "yuv":
            matrix = assumed_matrix(height)
            scale += [f"out_color_matrix={matrix}", "out_range=tv"]
        elif piped.model == "yuv":
            side = "pc" if piped.full_range else "tv"
            scale += [f"in_range={side}"]
            if reached.model == "yuv":
                # Both sides have the same matrix: samples are only spread or shifted.
                scale += [f"out_range={side}"]
            else:
                scale += [f"in_color_matrix={_SCALE_NAMES.get(piped.matrix, 'bt709')}"]
        elif piped.model == "grey":
            side = "pc" if piped.full_range else "tv"
            scale += [f"in_range={side}", f"out_range={side}"]
        chain.append("scale=" + ":".join(scale))
    chain.append(f"format={target}")
    if piped.model == "rgb" and reached.model == "yuv":
        chain.append(f"setparams=colorspace={assumed_matrix(height)}:range=tv")
    elif piped.model == "grey" and reached.model == "yuv":
        chain.append(f"setparams=colorspace={assumed_matrix(height)}")
    return ",".join(chain)


def _hdr(encoder: str, mastering: str | None, light: str | None) -> str:
    """Static HDR metadata as parameters of x264 and x265."""
    names = ("master-display", "max-cll") if encoder == "libx265" else ("mastering-display", "cll")
    return ":".join(f"{name}={value}" for name, value in zip(names, (mastering, light)) if value)


def _arguments(
    encoder: str, reached: PixelFormat, options: SinkOptions, height: int, width: int, hdr: str
) -> list[str]:
    crf = str(DEFAULT_CRF if options.crf is None else options.crf)
    own: list[str] = []
    if encoder in ("libx264", "libx264rgb"):
        # A fixed number of threads: the bits do not depend on the machine. Closed groups can be joined.
        own = ["-crf", crf, "-preset", "medium", "-threads", "4", "-flags", "+cgop"]
        own += ["-x264-params", hdr] if hdr else []
    elif encoder == "libx265":
        parameters = "log-level=error:open-gop=0:frame-threads=2:pools=4" + (f":{hdr}" if hdr else "")
        own = ["-crf", crf, "-preset", "medium", "-x265-params", parameters]
    elif encoder in ("libvpx-vp9", "libvpx"):
        own = ["-crf", crf, "-b:v", "0", "-deadline", "good", "-cpu-used", "3", "-threads", "4"]
        own += ["-row-mt", "1"] if encoder == "libvpx-vp9" else []
        if reached.alpha:
            own += ["-auto-alt-ref", "0"]
    elif encoder == "libaom-av1":
        own = ["-crf", crf, "-b:v", "0", "-cpu-used", "6", "-row-mt", "1", "-threads", "4"]
    elif encoder == "libsvtav1":
        own = ["-crf", crf]
    elif encoder == "prores_ks":
        profile = "4" if reached.subsampling == (0, 0) else "3"
        own = ["-profile:v", profile, "-vendor", "apl0", "-alpha_bits", "16" if reached.alpha else "0"]
    elif encoder == "ffv1":
        # With several slices FFmpeg loses the last chroma line of an odd height.
        slices = 4 if min(height, width) >= 32 and height % 2 == 0 and width % 2 == 0 else 1
        own = ["-level", "3", "-g", "1", "-slices", str(slices), "-slicecrc", "1", "-threads", "4"]
    elif encoder in ("mpeg4", "libxvid", "mpeg2video", "mjpeg"):
        own = ["-q:v", "2"]
        if options.crf is not None:
            own = ["-q:v", str(max(1, round(options.crf / 5)))]
    elif options.crf is not None and encoder not in _LOSSLESS:
        own = ["-crf", crf]
    return own + encoder_words(options.encoder_args, encoder, _help(encoder))
