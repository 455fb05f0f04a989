"""Records in words: what was done, and the figures that matter."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction
from typing import Any

Record = dict[str, Any]
Tile = tuple[str, str, str]

HARDLY_SEEN, UNSEEN = 3.0, 0.5
"""Noise below the first sd is no fault, below the second there is none."""

_DONE = {
    "restore": "restored",
    "denoise": "denoised",
    "fill": "filled",
    "inpaint": "inpainted",
    "upsample": "upsampled",
    "reorder": "put in order",
    "deinterlace": "deinterlaced",
    "inspect": "inspected",
    "compare": "compared",
}


def headline(record: Record) -> tuple[str, str]:
    """Title and subtitle."""
    verb = str(record.get("verb", ""))
    name = os.path.basename(str(record.get("input") or "clip").rstrip("/"))
    other = record.get("other") or record.get("output")
    title = f"{name} {_DONE.get(verb, verb)}"
    if verb == "compare":
        title = f"{name} compared with {os.path.basename(str(other or 'clip').rstrip('/'))}"
    parts = []
    if record.get("width"):
        parts.append(f"{record['width']} × {record['height']}")
    if record.get("fps"):
        parts.append(
            f"{float(Fraction(record['fps'])):.5g} fps" + (" on average" if record.get("vfr") else "")
        )
    if record.get("duration_s") is not None:
        parts.append(f"{record['duration_s']:.2f} s")
    if record.get("output") and verb != "compare":
        parts.append(f"written to {record['output']}")
    return title, " · ".join(parts)


_MADE = {
    "denoised": "noise removed from {}",
    "mended": "{} mended",
    "of fields": "{} made of fields",
    "filled": "{} rebuilt",
    "interpolated": "{} made in between",
}


def sentence(record: Record) -> str:
    """What came of it, in one plain sentence."""
    frames = record.get("frames") or []
    verb = record.get("verb")
    if verb == "compare":
        return (
            "All frames are equal."
            if record.get("identical")
            else f"{counted(len(frames), 'pair')} compared."
        )
    if verb == "inspect":
        wrong = record.get("summary") or []
        return f"{counted(len(wrong), 'thing')} to look at." if wrong else "Nothing wrong was found."
    counts = Counter(fact.get("origin") for fact in frames)
    # Of an interlaced frame two are made, and the lines of either that were not there are mended.
    sources = Counter(fact.get("source") for fact in frames)
    counts["of fields"] = sum(f.get("origin") == "mended" and sources[f.get("source")] > 1 for f in frames)
    counts["mended"] -= counts["of fields"]
    parts = [
        words.format(counted(counts[origin], "frame")) for origin, words in _MADE.items() if counts[origin]
    ]
    lit = sum(bool(fact.get("deflickered")) for fact in frames)
    if lit:
        parts.append(f"flicker taken out of {counted(lit, 'frame')}")
    if record.get("order"):
        parts.append("the frames put in order")
    if not parts:
        anew = " but for its coding" if counts["recoded"] else ""
        parts = [f"nothing had to be done, every frame is as it was{anew}"]
    elif counts["kept"]:
        parts.append(f"{counted(counts['kept'], 'frame')} kept to the bit")
    refused = len(record.get("refused") or [])
    parts.append(f"{refused} refused" if refused else "nothing refused")
    text = ", ".join(parts) + "."
    return text[0].upper() + text[1:] + _reason(record)


def _reason(record: Record) -> str:
    """Why this model."""
    test, model = record.get("self_test") or {}, record.get("model")
    if model == "mixed":
        return " Both models had a say: motion and the curve were weighed in every place."
    if model == "motion" and "curve_denoise_gain" in test:
        return f" Motion alone was asked: {_added(test)}."
    if model not in ("curve", "motion") or not {"curve_psnr", "motion_psnr"} <= set(test):
        return ""
    other = "motion" if model == "curve" else "curve"
    gain = float(test[f"{model}_psnr"]) - float(test[f"{other}_psnr"])
    if gain <= 0:
        return f" The {model} model was taken."
    return f" The {model} model was taken: it foretold hidden frames {gain:.1f} dB better than {other}."


def _added(test: Record) -> str:
    """What the curve would have taken away of the error of motion, where noise is removed."""
    gain = float(test["curve_denoise_gain"])
    return (
        f"the curve takes {gain:.1%} of its error away" if gain >= 0.001 else "the curve has nothing to add"
    )


def tiles(record: Record) -> list[Tile]:
    """Figures as (label, value, explanation)."""
    if record.get("verb") == "compare":
        return _compared(record)
    found: list[Tile] = []
    frames = record.get("frames") or []
    counts = Counter(fact.get("origin") for fact in frames)
    made = sum(number for origin, number in counts.items() if origin not in ("kept", "recoded", None))
    if frames:
        found.append(("frames", f"{len(frames)}", f"{made} changed or made" if made else "all as they were"))
    elif record.get("n_frames") is not None:
        found.append(("frames", f"{record['n_frames']}", "decoded"))
    if record.get("model"):
        found.append(("model", str(record["model"]), _why(record)))
    if record.get("noise_sd") is not None:
        level, doubt = noise_level(record), noise_doubt(record)
        none = ("noise", "none", "to be seen")
        found.append(none if no_noise(record) else ("noise", level, f"sd of 255{doubt}"))
    test = record.get("self_test") or {}
    if "psnr" in test:
        found.append(
            ("self-test", f"{test['psnr']:.1f} dB", "on " + counted(test.get("hidden", 0), "hidden frame"))
        )
    if "coverage95" in test:
        found.append(("coverage", f"{100 * test['coverage95']:.1f} %", "of truths within the 95 % interval"))
    for key, label, more in (
        ("cuts", "cuts", "between shots"),
        ("damage", "damage", "places"),
        ("corrupt", "corrupt", "frames"),
        ("duplicates", "repeats", "of the frame before"),
    ):
        if record.get(key):
            found.append((label, f"{len(record[key])}", more))
    if record.get("elapsed_s") is not None:
        memory = f"{record['peak_memory_mb']} MB at most" if "peak_memory_mb" in record else ""
        found.append(("took", _span(record["elapsed_s"]), memory))
    return found


def noise_is_sure(record: Record) -> bool:
    """Whether what the record says of the noise is noise and nothing else."""
    return any(entry["trustworthy"] for entry in record.get("noise") or [{"trustworthy": True}])


def most_noise(record: Record) -> float:
    """Sd of the noise of the noisiest shot, of those of which it is known where there are such."""
    return max(_noise_of_shots(record), default=record["noise_sd"])


def no_noise(record: Record) -> bool:
    """Whether there is none to be seen, and none is assumed."""
    return record.get("noise_measured") is None and most_noise(record) < UNSEEN


def _noise_of_shots(record: Record) -> list[float]:
    shots = record.get("noise") or ()
    return [entry["sd"] for entry in shots if entry["trustworthy"] or not noise_is_sure(record)]


def noise_level(record: Record) -> str:
    """The noise level, or the least and the most of it where shots differ."""
    each = _noise_of_shots(record)
    apart = len(each) > 1 and max(each) - min(each) >= HARDLY_SEEN
    return f"{min(each):.2g} to {max(each):.3g}" if apart else f"{record['noise_sd']:.3g}"


def noise_doubt(record: Record) -> str:
    """What must be said beside the noise level: how many shots it is of, where it was not measured as it stands."""
    text = f" in {len(_noise_of_shots(record))} shots" if " to " in noise_level(record) else ""
    if record.get("noise_measured") is not None:
        return text + f", assumed: a codec hides a part, {record['noise_measured']:.3g} was measured"
    return text if noise_is_sure(record) else text + ", unsure"


def _compared(record: Record) -> list[Tile]:
    alone = sum(len(record.get(key, [])) for key in ("only_a", "only_b"))
    return [
        ("PSNR", f"{record['psnr']:.2f} dB", "RGB, over all frames"),
        ("SSIM", f"{record['ssim']:.4f}", "luma, mean over frames"),
        (
            "pairs",
            f"{len(record.get('frames', []))}",
            f"{alone} frames without a partner" if alone else "all frames have a partner",
        ),
    ]


def _why(record: Record) -> str:
    test = record.get("self_test") or {}
    if "curve_psnr" in test and "motion_psnr" in test:
        return f"curve {test['curve_psnr']:.1f} dB, motion {test['motion_psnr']:.1f} dB"
    if record.get("model") == "motion" and "curve_denoise_gain" in test:
        return _added(test)
    return "curve and motion, weighed in every place" if record.get("model") == "mixed" else ""


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"


def counted(number: int, name: str) -> str:
    """A number with its noun: ``1 frame``, ``2 frames``."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
