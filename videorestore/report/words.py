"""The head of the page in words: what was done, and the figures that matter."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction
from typing import Any

Record = dict[str, Any]
Tile = tuple[str, str, str]

_DONE = {
    "restore": "restored",
    "denoise": "denoised",
    "fill": "filled",
    "inpaint": "inpainted",
    "upsample": "upsampled",
    "reorder": "put in order",
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


def tiles(record: Record) -> list[Tile]:
    """Figures as (label, value, explanation)."""
    if record.get("verb") == "compare":
        return _compared(record)
    found: list[Tile] = []
    frames = record.get("frames") or []
    counts = Counter(fact.get("origin") for fact in frames)
    made = sum(number for origin, number in counts.items() if origin not in ("kept", None))
    if frames:
        found.append(("frames", f"{len(frames)}", f"{made} changed or made" if made else "all as they were"))
    elif record.get("n_frames") is not None:
        found.append(("frames", f"{record['n_frames']}", "decoded"))
    if record.get("model"):
        found.append(("model", str(record["model"]), _why(record)))
    if record.get("noise_sd") is not None:
        found.append(("noise", f"{record['noise_sd']:.3g}", "sd of 255"))
    test = record.get("self_test") or {}
    if "psnr" in test:
        found.append(
            ("self-test", f"{test['psnr']:.1f} dB", f"on {test.get('hidden', 'some')} hidden frames")
        )
    if "coverage95" in test:
        found.append(("coverage", f"{100 * test['coverage95']:.0f} %", "of truths within the 95 % interval"))
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
    return ""


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"
