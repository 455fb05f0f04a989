"""What a user may tell an encoder: options with values. Nothing among them names a file."""

from __future__ import annotations

import re
import shlex

from videorestore.errors import InputError

_GENERAL = (
    "b bf bt bufsize b_qfactor b_qoffset chroma_sample_location cmp color_primaries color_range color_trc colorspace "
    "compression_level crf dark_mask dia_size flags flags2 g global_quality i_qfactor i_qoffset keyint_min level "
    "lumi_mask maxrate mbcmp mbd mblmax mblmin me_range minrate preset profile q qblur qcomp qdiff qmax qmin qscale "
    "refs sc_threshold slices strict subcmp subq thread_type threads trellis tune"
)
"""Options that FFmpeg offers for every video encoder, beside those that an encoder names as its own."""

_FILES = re.compile(
    r"(?<!pro)file|path|stats|pass|csv|log|dump|recon|save|load|table|info$|scaling-list|cqm|rpu|opencl|output|vmaf"
)
"""Names of options, and of parameters inside ``-x264-params`` and the like, by which files are read or written."""

_OPTION = re.compile(r"-([A-Za-z0-9][A-Za-z0-9_-]*)(?::v(?::0)?)?$")


def encoder_words(text: str, encoder: str, help_text: str) -> list[str]:
    """The words of ``--encoder-args``, if they are options of the encoder with their values.

    Parameters
    ----------
    text : str
        As on a command line.
    encoder : str
    help_text : str
        What FFmpeg says of the encoder; it lists the encoder's own options.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"encoder_args must be words as on a command line, got {text!r} ({error}); check the quotes."
        ) from error
    known = {*_GENERAL.split()} | set(re.findall(r"^ +-(\S+) ", help_text, re.MULTILINE))
    for k in range(0, len(words), 2):
        option = _OPTION.match(words[k])
        if option is None or option[1] not in known or _FILES.search(option[1].replace("_", "-")):
            raise InputError(
                f"encoder_args must be options of {encoder} that name no file, each with its value, got {words[k]!r}; "
                f"see: ffmpeg -h encoder={encoder}."
            )
        if k + 1 == len(words):
            raise InputError(f"encoder_args must give every option its value, {words[k]!r} has none; add it.")
        if option[1].endswith(("params", "opts", "parameters")):
            _check_parameters(words[k], words[k + 1])
    return words


def _check_parameters(option: str, value: str) -> None:
    """Look through ``key=value:key=value``."""
    keys = [pair.partition("=")[0].strip().lower().replace("_", "-") for pair in re.split("[:,]", value)]
    if re.search(r"['\"\\]", value) or any(_FILES.search(key) for key in keys):
        raise InputError(
            f"encoder_args must name no file, got {value!r} for {option}; leave out what reads or writes one."
        )
