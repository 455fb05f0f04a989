"""Which encoder, which pixel format, which arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from videorestore.clip import ClipInfo, PixelFormat
from videorestore.colour import assumed_matrix
from videorestore.errors import InputError
from videorestore.media.containers import Container, codecs_of
from videorestore.media.encoders import Encoder, encoder_of, formats_of, packets_of
from videorestore.media.pixels import ffmpeg_name, layout_of, pipeable

HDR = ("smpte2084", "arib-std-b67")
"""Transfer functions of high dynamic range: PQ and HLG."""

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


@dataclass(frozen=True, slots=True)
class Likeness:
    """How pictures are coded so that those of the source can stand between them.

    Attributes
    ----------
    words : tuple of str
        What the encoder is told.
    starts : frozenset of int
        Frames of the source at which a group of ours begins.
    """

    words: tuple[str, ...]
    starts: frozenset[int]


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
    own : Likeness or None
        Where groups of the source's pictures will stand between ours.
    """

    codec: str | None = None
    crf: float | None = None
    pix_fmt: str | None = None
    encoder_args: str = ""
    overwrite: bool = False
    own: Likeness | None = None


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
    packs : int
        Raw bytes over encoded ones, on the safe side.
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
    packs: int = 1
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def check_codec(container: Container, options: SinkOptions) -> None:
    """Refuse a codec or pixel format that cannot work, before any frame is made."""
    if not options.codec:
        return
    encoder = encoder_of(options.codec)
    _check_pix_fmt(encoder, options.pix_fmt)
    if packets_of(encoder) not in codecs_of(container):
        raise InputError(
            f"codec must be one that a {container.name} file can hold, got {options.codec!r}; use .mkv."
        )


def _check_pix_fmt(encoder: Encoder, name: str | None) -> None:
    formats = formats_of(encoder)
    if name and formats and name not in formats:
        raise InputError(
            f"pix_fmt must be one of {encoder.name}'s ({', '.join(formats[:12])}, ...), got {name!r}; "
            "choose one of these or another codec."
        )


def choose_encoder(
    container: Container, info: ClipInfo, height: int, width: int, options: SinkOptions
) -> Encoder:
    """The encoder that was asked for, or the container's that keeps most of samples of this kind and size."""
    if options.codec:
        return encoder_of(options.codec)
    rows = [encoder_of(name) for name in container.encoders]
    if info.transfer in HDR:
        # Players take HDR for what it is in HEVC alone.
        rows = [row for row in rows if row.codec == "hevc" and row.takes(height, width)] or rows
    return min(rows, key=lambda row: row.losses(info.format, height, width))


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


def choose_pix_fmt(encoder: Encoder, pixel: PixelFormat, height: int, width: int) -> str:
    """The pixel format of the encoder that keeps most of the source's samples at this size."""
    odd = width % 2 or height % 2
    if encoder.name == "libx264" and pixel.model == "grey" and pixel.depth == 8 and not odd:
        # Decoders show monochrome H.264 as 4:2:0 anyway, and many players refuse it.
        return "yuv420p"
    best: tuple[tuple[int, ...], str] | None = None
    for name in formats_of(encoder):
        layout = layout_of(name)
        if layout is None or name.startswith("yuvj") or layout.kind == "semi":
            continue
        sx, sy = layout.format.subsampling
        if encoder.even and ((width % 2 and sx) or (height % 2 and sy)):
            continue
        score = _distance(pixel, layout.format)
        if best is None or score < best[0]:
            best = score, name
    if best is None:
        return ffmpeg_name(replace(pixel, depth=min(pixel.depth, 16)))
    return best[1]


def plan_encoding(
    container: Container, info: ClipInfo, height: int, width: int, fps: Fraction | None, options: SinkOptions
) -> Encoding:
    """Decide everything that FFmpeg must be told.

    Parameters
    ----------
    container : Container
    info : ClipInfo
    height, width : int
    fps : Fraction or None
        Mean rate of the output.
    options : SinkOptions
    """
    pixel = info.format
    piped = pipeable(pixel)
    plain = _for_all_players(container, info, height, width, options)
    encoder = encoder_of("libx264") if plain else choose_encoder(container, info, height, width, options)
    _check_pix_fmt(encoder, options.pix_fmt)
    target = options.pix_fmt or ("yuv420p" if plain else choose_pix_fmt(encoder, piped, height, width))
    layout = layout_of(target)
    reached = layout.format if layout else piped
    least = ""
    if min(height, width) < encoder.smallest:
        least = f"from {encoder.smallest} pixels a side on"
    elif reached.depth > 8 and width < encoder.narrowest:
        least = f"of more than 8 bit from {encoder.narrowest} pixels in width on"
    if least:
        raise InputError(
            f"{encoder.name} takes frames {least}, got {width} x {height}; choose another --codec, or .npy or a folder."
        )
    losses = []
    if pixel.alpha and not reached.alpha:
        losses.append(f"alpha: {encoder.name} in {target} has none; use .webm, or .mkv with the codec ffv1")
    if plain:
        notes = _plain_notes(container, pixel)
    else:
        notes = [] if options.pix_fmt else _format_notes(encoder, pixel, reached, height, width, target)
    hdr = info.extra.get("mastering_display"), info.extra.get("content_light")
    arguments = encoder.arguments(
        reached,
        (height, width),
        crf=options.crf,
        extra=options.encoder_args,
        fields=info.extra.get("field_order", ""),
        hdr=hdr,
    )
    if info.chroma_location not in ("unspecified", "") and reached.subsampling != (0, 0):
        arguments += ["-chroma_sample_location", info.chroma_location]
    arguments = [*_range_words(info, piped, reached), *arguments]
    arguments += options.own.words if options.own is not None else ()
    same = reached.depth >= piped.depth and reached.model == piped.model
    return Encoding(
        encoder=encoder.name,
        piped=piped,
        pix_fmt=target,
        rate=_nominal(fps),
        filters=_filters(info, piped, reached, target, height),
        arguments=tuple(arguments),
        lossless=encoder.lossless and same and reached.subsampling == piped.subsampling and not losses,
        packs=encoder.packs,
        notes=(*notes, *_untold(container, encoder, info, height)),
        losses=tuple(losses),
    )


def _untold(container: Container, encoder: Encoder, info: ClipInfo, height: int) -> list[str]:
    """Facts about colour that the file will not tell."""
    notes = []
    pixel, assumed = info.format, assumed_matrix(height)
    known = pixel.model == "yuv" and info.matrix_known
    if known and not container.colour_tags and pixel.matrix != assumed:
        notes.append(
            f"{container.name} stores no colour tags: players will take {assumed} for {pixel.matrix}"
        )
    if not encoder.hdr and (info.extra.get("mastering_display") or info.extra.get("content_light")):
        notes.append(f"the HDR mastering data are not written with {encoder.name}; h264 and hevc keep them")
    return notes


def _for_all_players(
    container: Container, info: ClipInfo, height: int, width: int, options: SinkOptions
) -> bool:
    """Whether pictures, an array or a GIF become 8-bit 4:2:0, which all players and phones show.

    A video keeps its own kind, and so does what has an odd size or, where the file can hold it, transparency.
    """
    pixel = info.format
    video = "stream" in info.extra and info.extra.get("codec") != "gif"
    holds_alpha = any(encoder_of(name).alpha_depth for name in container.encoders)
    kept = video or pixel.model == "yuv" or (pixel.alpha and holds_alpha) or info.transfer in HDR
    asked = options.codec or options.pix_fmt
    return container.pictures_as_420 and not (kept or asked or height % 2 or width % 2)


def _plain_notes(container: Container, pixel: PixelFormat) -> list[str]:
    if pixel.model != "rgb" and pixel.depth <= 8:
        return []
    return [
        f"pictures become 8-bit yuv420p in {container.suffixes[0]}, which every player shows; "
        "--pix-fmt yuv444p keeps more colour"
    ]


def _format_notes(
    encoder: Encoder, pixel: PixelFormat, reached: PixelFormat, height: int, width: int, target: str
) -> list[str]:
    notes = []
    odd = width % 2 or height % 2
    if odd and pixel.model == "yuv" and reached.subsampling != pixel.subsampling:
        notes.append(
            f"{encoder.name} takes an odd size only as {target}: the chroma samples are repeated, nothing is lost"
        )
    elif reached.model == "yuv" and pixel.model != "yuv" and target != "yuv420p":
        notes.append(f"{pixel.model} pixels are written as {target}; some players want --pix-fmt yuv420p")
    elif sum(reached.subsampling) > sum(pixel.subsampling):
        notes.append(f"{encoder.name} has less chroma than the source; written as {target}")
    if reached.depth < min(pixel.depth, 16):
        kind = "float" if pixel.depth == 32 else f"{pixel.depth} bit"
        notes.append(
            f"{encoder.name} ends at {reached.depth} bit: {kind} samples are rounded; ffv1 or .npy keeps them"
        )
    return notes


def _nominal(fps: Fraction | None) -> Fraction:
    """A rate that every encoder accepts; only rate control and headers see it."""
    rate = fps if fps and fps > 0 else Fraction(25)
    rate = min(max(rate, Fraction(1, 4)), Fraction(480)).limit_denominator(1001)
    return rate if rate.numerator <= 65535 else Fraction(round(rate))


def _range_words(info: ClipInfo, piped: PixelFormat, reached: PixelFormat) -> list[str]:
    """The range that the encoder is told: later FFmpegs bring the samples to the usual one where nothing says otherwise."""
    if reached.model == "rgb" or (piped.model == "yuv" and not info.extra.get("range_known", True)):
        return []
    return ["-color_range", "pc" if piped.full_range and piped.model != "rgb" else "tv"]


def _filters(info: ClipInfo, piped: PixelFormat, reached: PixelFormat, target: str, height: int) -> str:
    """Labels for the frames, and a conversion only where the encoder needs another format."""
    chain = []
    labels = []
    side = "pc" if piped.full_range else "tv"
    if piped.model == "yuv" and info.matrix_known:
        labels.append(f"colorspace={piped.matrix}")
    if piped.model == "grey" or (piped.model == "yuv" and info.extra.get("range_known", True)):
        labels.append(f"range={side}")
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
            scale += [f"out_color_matrix={assumed_matrix(height)}", "out_range=tv"]
        elif piped.model == "yuv" and reached.model != "yuv":
            scale += [f"in_range={side}", f"in_color_matrix={_SCALE_NAMES.get(piped.matrix, 'bt709')}"]
        elif piped.model != "rgb":
            # Both sides have the same matrix: samples are only spread or shifted.
            scale += [f"in_range={side}", f"out_range={side}"]
        chain.append("scale=" + ":".join(scale))
    chain.append(f"format={target}")
    if piped.model != "yuv" and reached.model == "yuv":
        studio = ":range=tv" if piped.model == "rgb" else ""
        chain.append(f"setparams=colorspace={assumed_matrix(height)}{studio}")
    return ",".join(chain)
