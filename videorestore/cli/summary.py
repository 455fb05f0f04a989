"""A record in words, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from videorestore.cli.console import spell
from videorestore.report.words import HARDLY_SEEN, counted, most_noise, no_noise, noise_doubt, noise_level
from videorestore.request.notation import frames_in_words

Record = dict[str, Any]

NOBODY_KNOWS = 0.5
"""Probability with which a clip is called progressive where no shot tells what it is."""

_ORIGINS = ("kept", "recoded", "denoised", "mended", "filled", "interpolated")


def summary(verb: str, record: Record, *, verbose: int = 0) -> str:
    """What a user wants to know of a result, ending with a newline.

    Parameters
    ----------
    verb : str
    record : dict
        The result record.
    verbose : int
        0 for the main facts, more for all.
    """
    if record.get("dry_run"):
        lines = _plan(record)
    else:
        tellers: dict[str, Callable[[Record, int], list[str]]] = {
            "inspect": _inspect,
            "compare": _compare,
            "preview": _preview,
        }
        lines = tellers.get(verb, _written)(record, verbose)
    return "\n".join(lines) + "\n"


def rate_in_words(fps: str | None) -> str:
    """A rate for people: ``25 fps``, ``29.97 fps``."""
    if fps is None:
        return "no frame rate"
    return f"{float(Fraction(fps)):.5g} fps"


def _written(record: Record, verbose: int) -> list[str]:
    frames = record.get("frames", [])
    counts = Counter(fact.get("origin") for fact in frames)
    size = f"{record.get('width')} x {record.get('height')}"
    vfr = " (variable)" if record.get("vfr") else ""
    lines = [
        f"{record.get('output')}: {len(frames)} frames, {record.get('duration_s', 0):.3f} s, "
        f"{rate_in_words(record.get('fps'))}{vfr}, {size}"
    ]
    made = ", ".join(f"{counts[origin]} {origin}" for origin in _ORIGINS if counts[origin])
    if made:
        lines.append(f"  frames     {made}")
    lines += [f"  {'plan':<10} {step}" for step in record.get("plan", [])]
    lines += [f"  {label:<10} {text}" for label, text in _how(record)]
    lines += [f"  {'note':<10} {note}" for note in record.get("notes", [])]
    if verbose:
        for fact in frames:
            for note in fact.get("notes", []):
                lines.append(f"  frame {fact['index']}: {note}")
    lines.append(
        f"  took       {spell(record.get('elapsed_s', 0))}"
        + (f", {record['peak_memory_mb']} MB at most" if "peak_memory_mb" in record else "")
    )
    return lines


def _how(record: Record) -> list[tuple[str, str]]:
    """What the task found and chose, as (label, text)."""
    found: list[tuple[str, str]] = []
    if "model" in record:
        found.append(("model", str(record["model"])))
    if "noise_sd" in record:
        level = f"sd {noise_level(record)} of 255{noise_doubt(record)}"
        found.append(("noise", "none to be seen" if no_noise(record) else level))
    test = record.get("self_test")
    if test:
        parts = []
        if "psnr" in test:
            parts.append(f"{test['psnr']:.1f} dB on {counted(test.get('hidden', 0), 'hidden frame')}")
        if "coverage95" in test:
            parts.append(f"{test['coverage95']:.1%} within the 95 % interval")
        if "curve_psnr" in test and "motion_psnr" in test:
            parts.append(f"curve {test['curve_psnr']:.1f} dB, motion {test['motion_psnr']:.1f} dB")
        if parts:
            found.append(("self-test", ", ".join(parts)))
    for entry in record.get("inserted", []):
        sure = f" (probability {entry['probability']:.2f})" if "probability" in entry else ""
        if not entry.get("told", True):
            sure = (
                f" (how many are absent cannot be told; the least that is plausible{sure.replace(' (', ', ')}"
            )
        found.append(("inserted", f"{entry['count']} after frame {entry['after']}{sure}"))
    for entry in record.get("placed", []):
        found.append(("placed", f"{entry['name']} at {entry['index']}"))
    if record.get("refused"):
        found.append(("refused", ", ".join(map(str, record["refused"]))))
    if record.get("cuts"):
        found.append(("cuts", "at " + frames_in_words(record["cuts"])))
    if record.get("damage"):
        found.append(("damage", f"{len(record['damage'])} places"))
    return found


def _plan(record: Record) -> list[str]:
    seen = record.get("looked_at")
    judged = f", judged by {seen} of about {record['n_frames']} frames (inspect looks at all)" if seen else ""
    lines = [f"what would be done{judged}:"]
    lines += [f"  {step}" for step in record.get("plan", [])]
    if "n_frames" in record:
        pieces = f", in {record['pieces']} pieces" if record.get("pieces", 1) > 1 else ""
        lines.append(f"  result     {record['n_frames']} frames, {rate_in_words(record.get('fps'))}{pieces}")
    lines += [f"  {label:<10} {text}" for label, text in _how(record)]
    estimate = record.get("estimate", {})
    if "time_s" in estimate:
        lines.append(f"  time       about {spell(estimate['time_s'])}")
    if "memory_mb" in estimate:
        lines.append(f"  memory     up to {estimate['memory_mb']:.0f} MB")
    if "disk_mb" in estimate:
        lines.append(f"  disk       about {estimate['disk_mb']:.0f} MB")
    return lines


def _preview(record: Record, verbose: int) -> list[str]:
    places = ", ".join(
        f"frame {place['frame']} (noise sd {place['noise_sd']:.3g})" for place in record["places"]
    )
    return [
        f"{record.get('output')}: {counted(len(record['settings']), 'setting')} side by side at {places}",
        f"  took       {spell(record.get('elapsed_s', 0))}",
    ]


def _compare(record: Record, verbose: int) -> list[str]:
    frames = record["frames"]
    lines = [
        f"PSNR {record['psnr']:.2f} dB (RGB), SSIM {record['ssim']:.4f} (luma), {len(frames)} pairs of frames"
    ]
    if record.get("identical"):
        lines[0] += ", all equal"
    for key, name in (("only_a", "A"), ("only_b", "B")):
        if record.get(key):
            lines.append(f"  only in {name}: {len(record[key])} frames ({frames_in_words(record[key])})")
    lines += [f"  {note}" for note in record.get("notes", [])]
    shown = frames if verbose else sorted(frames, key=lambda fact: float(fact["psnr"]))[:5]
    if not record.get("identical"):
        lines.append("  frame      time    PSNR    SSIM" + ("" if verbose else "   (the worst)"))
        lines += [
            f"  {f['index']:>5}  {f['time_s']:>8.3f}  {f['psnr']:>6.2f}  {f['ssim']:.4f}" for f in shown
        ]
    return lines


def _inspect(record: Record, verbose: int) -> list[str]:
    lines = [f"{record.get('input')}"]
    lines += [f"  {label:<10} {text}" for label, text in _facts(record)]
    wrong = record.get("summary", [])
    lines += ["", "what is wrong" if wrong else "nothing wrong was found"]
    for entry in wrong:
        sure = f" ({entry['sure']})" if entry.get("sure") else ""
        lines.append(f"  {entry['what']}{sure}")
        if entry.get("run"):
            lines.append(f"      {entry['run']}")
    return lines


def _facts(record: Record) -> list[tuple[str, str]]:
    vfr = ", variable" if record.get("vfr") else ""
    number = counted(record.get("n_frames", 0), "frame")
    facts = [
        (
            "frames",
            f"{number} decoded, {record.get('duration_s', 0):.3f} s, {rate_in_words(record.get('fps'))}{vfr}",
        ),
        ("picture", _picture(record)),
    ]
    colour = _colour(record)
    if colour:
        facts.append(("colour", colour))
    if record.get("container"):
        facts.append(("file", str(record["container"])))
    streams = record.get("streams") or []
    several = sum(stream.get("type") == "video" for stream in streams) > 1
    for stream in streams:
        chosen = several and stream.get("index") == record.get("stream")
        facts.append(
            (str(stream.get("type", "stream")), _stream(stream) + (" (this one is read)" if chosen else ""))
        )
    chapters = record.get("chapters")
    if chapters:
        facts.append(("chapters", str(chapters)))
    if record.get("cuts"):
        facts.append(("cuts", f"{len(record['cuts'])}, new shots begin at {frames_in_words(record['cuts'])}"))
    fields = record.get("fields") or {}
    if fields.get("kind") not in (None, "progressive") or record.get("interlaced"):
        facts.append(("fields", _fields(fields)))
    if record.get("noise_sd") is not None and (noise := most_noise(record)) < HARDLY_SEEN:
        seen = f"sd {noise:.2g} of 255 at most, hardly seen"
        facts.append(("noise", "none to be seen" if no_noise(record) else seen))
    curve = record.get("curve") or {}
    if "score" in curve:
        facts.append(
            (
                "curve",
                f"hidden frames are foretold to {curve['psnr']:.1f} dB by one curve (score {curve['score']:.2f} of 1): "
                + _curve_in_words(float(curve["score"])),
            )
        )
    fades = record.get("fades")
    if fades:
        facts.append(("fades", ", ".join(f"frames {a} to {b}" for a, b in fades)))
    if record.get("cadence"):
        facts.append(("rhythm", f"frames repeat with period {record['cadence']}: the film's own, no fault"))
    facts += [("note", str(message)) for message in record.get("messages", [])[:8]]
    return facts


def _fields(fields: Record) -> str:
    """What the lines of the frames are: pictures, or fields of two times."""
    words = {
        "progressive": "every frame is one picture",
        "interlaced": "interlaced: every frame holds two fields of different times",
        "telecined": "film in fields: the film's own frames can be had back",
        "mixed": "some shots are interlaced, others are not",
    }
    order = {"tff": ", top field first", "bff": ", bottom field first"}.get(str(fields.get("order")), "")
    pulldown = f", pulldown {fields['pulldown']}" if fields.get("pulldown") else ""
    if fields.get("kind") == "progressive" and fields.get("probability", 0.0) <= NOBODY_KNOWS:
        return "cannot be told from the pixels: nothing moves enough"
    sure = f" (probability {fields.get('probability', 0.0):.2f})"
    return words.get(str(fields.get("kind")), "not looked at") + order + pulldown + sure


def _curve_in_words(score: float) -> str:
    if score > 0.9:
        return "--model curve suits the clip"
    return "it suits in part" if score > 0.6 else "the clip moves too freely for it"


def _picture(record: Record) -> str:
    parts = [f"{record.get('width')} x {record.get('height')}"]
    if record.get("depth"):
        parts.append("float" if record["depth"] == 32 else f"{record['depth']} bit")
    if record.get("pix_fmt"):
        parts.append(str(record["pix_fmt"]))
    if record.get("alpha"):
        parts.append("with alpha")
    if record.get("rotation"):
        parts.append(f"turned by {record['rotation']} degrees in the file, upright here")
    if record.get("sar") not in (None, "1:1", "1/1"):
        parts.append(f"sample aspect ratio {record['sar']}")
    if record.get("interlaced"):
        parts.append("flagged as interlaced")
    return ", ".join(parts)


def _colour(record: Record) -> str:
    named = [
        f"{name} {record[name]}"
        for name in ("matrix", "primaries", "transfer", "range")
        if record.get(name) not in (None, "", "unknown")
    ]
    return ", ".join(named)


def _stream(stream: Record) -> str:
    parts = [f"{stream.get('index')}: {stream.get('codec', 'unknown codec')}"]
    if stream.get("width"):
        parts.append(f"{stream['width']} x {stream['height']}")
    if stream.get("fps"):
        parts.append(rate_in_words(str(stream["fps"])))
    if stream.get("sample_rate"):
        parts.append(f"{stream['sample_rate']} Hz")
    if stream.get("channels"):
        parts.append(counted(stream["channels"], "channel"))
    parts += [str(stream[key]) for key in ("language", "title") if stream.get(key)]
    return ", ".join(parts)
