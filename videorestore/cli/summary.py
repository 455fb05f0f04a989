"""A record in words, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from videorestore.cli.console import spell

Record = dict[str, Any]

_ORIGINS = ("kept", "denoised", "mended", "filled", "interpolated")


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
        tellers: dict[str, Callable[[Record, int], list[str]]] = {"inspect": _inspect, "compare": _compare}
        lines = tellers.get(verb, _written)(record, verbose)
    return "\n".join(lines) + "\n"


def frames_in_words(numbers: Sequence[int], most: int = 12) -> str:
    """Frame numbers as a LIST that can be given back to the program.

    >>> frames_in_words([7, 50, 51, 52])
    '7,50-52'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:most]]
    return ",".join(words) + (f" and {len(runs) - most} more" if len(runs) > most else "")


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
    lines += [f"  {label:<10} {text}" for label, text in _how(record)]
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
        found.append(("noise", f"sd {record['noise_sd']:.3g} of 255"))
    test = record.get("self_test")
    if test:
        parts = []
        if "psnr" in test:
            parts.append(f"{test['psnr']:.1f} dB on {test.get('hidden', '?')} hidden frames")
        if "coverage95" in test:
            parts.append(f"{test['coverage95']:.1%} within the 95 % interval")
        if "curve_psnr" in test and "motion_psnr" in test:
            parts.append(f"curve {test['curve_psnr']:.1f} dB, motion {test['motion_psnr']:.1f} dB")
        found.append(("self-test", ", ".join(parts)))
    for entry in record.get("inserted", []):
        sure = f" (probability {entry['probability']:.2f})" if "probability" in entry else ""
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
    lines = ["what would be done:"]
    lines += [f"  {step}" for step in _steps(record.get("plan", []))]
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


def _steps(plan: Any) -> list[str]:
    if isinstance(plan, str):
        return plan.splitlines()
    return [
        step if isinstance(step, str) else ", ".join(f"{k} {v}" for k, v in step.items()) for step in plan
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
    wrong = record.get("summary") or findings(record)
    lines += ["", "what is wrong" if wrong else "nothing wrong was found"]
    for entry in wrong:
        sure = f" ({entry['sure']})" if entry.get("sure") else ""
        lines.append(f"  {entry['what']}{sure}")
        if entry.get("run"):
            lines.append(f"      {entry['run']}")
    return lines


def _facts(record: Record) -> list[tuple[str, str]]:
    vfr = ", variable" if record.get("vfr") else ""
    facts = [
        (
            "frames",
            f"{record.get('n_frames')} decoded, {record.get('duration_s', 0):.3f} s, {rate_in_words(record.get('fps'))}{vfr}",
        ),
        ("picture", _picture(record)),
    ]
    for stream in record.get("streams", []):
        facts.append((str(stream.get("type", "stream")), _stream(stream)))
    for key in ("container", "chapters"):
        if record.get(key):
            facts.append((key, str(record[key] if not isinstance(record[key], list) else len(record[key]))))
    return facts


def _picture(record: Record) -> str:
    parts = [f"{record.get('width')} x {record.get('height')}"]
    if record.get("depth"):
        parts.append(f"{record['depth']} bit")
    for key in ("pixel_format", "pix_fmt"):
        if record.get(key):
            parts.append(str(record[key]))
    if record.get("rotation"):
        parts.append(f"rotated by {record['rotation']} degrees in the file, upright here")
    if record.get("sar") not in (None, "1/1", "1"):
        parts.append(f"sample aspect ratio {record['sar']}")
    return ", ".join(parts)


def _stream(stream: Record) -> str:
    known = [
        str(stream[key])
        for key in ("index", "codec", "language", "title")
        if stream.get(key) not in (None, "")
    ]
    rest = [
        f"{key.replace('_', ' ')} {value}"
        for key, value in stream.items()
        if key not in ("index", "codec", "language", "title", "type")
        and isinstance(value, (str, int, float))
        and value
    ]
    return ", ".join(known + rest)


def findings(record: Record) -> list[dict[str, str]]:
    """What is wrong, how sure, what to run: from the fields of an inspection.

    Returns
    -------
    list of dict
        ``what``, and where known ``sure`` and ``run``.
    """
    name = _quoted(str(record.get("input")))
    base = f"videorestore {{}} {name} -o OUTPUT"
    found: list[dict[str, str]] = []

    def add(what: str, run: str = "", sure: str = "") -> None:
        found.append({"what": what, "run": run, "sure": sure})

    noise = record.get("noise_sd")
    if noise is not None and noise >= 1.0:
        interval = record.get("noise_interval")
        add(
            f"noise of sd {noise:.3g} (of 255)",
            base.format("denoise"),
            f"between {interval[0]:.3g} and {interval[1]:.3g}" if interval else "",
        )
    for key, word in (
        ("corrupt", "corrupt"),
        ("missing", "missing"),
        ("black", "black"),
        ("duplicates", "repeated"),
    ):
        frames = record.get(key)
        if frames:
            listed = frames_in_words(frames)
            add(f"{len(frames)} {word} frame{'s' * (len(frames) > 1)}: {listed}", _fill(base, frames))
    for gap in record.get("dropped", []):
        sure = f"probability {gap['probability']:.2f}" if "probability" in gap else ""
        add(
            f"{gap['count']} frames dropped after frame {gap['after']}",
            f"{base.format('fill')} --insert {gap['count']}@{gap['after']}",
            sure,
        )
    damage = record.get("damage")
    if damage:
        kinds = Counter(entry.get("kind", "damage") for entry in damage)
        listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
        touched = len({entry.get("frame") for entry in damage})
        add(f"damaged pixels in {touched} frames: {listed}", f"{base.format('inpaint')} --mask auto")
    flicker = record.get("flicker")
    strength = flicker.get("sd") if isinstance(flicker, dict) else flicker
    if isinstance(strength, (int, float)) and not isinstance(strength, bool) and strength >= 1.0:
        add(f"brightness flickers by {strength:.3g} (of 255)", base.format("restore"))
    if record.get("lost"):
        add(f"{record['lost']} packets gave no frame")
    return found


def _fill(base: str, frames: list[int]) -> str:
    listed = frames_in_words(frames, most=10**6)
    return f"{base.format('fill')} --missing {listed if len(listed) <= 60 else 'auto'}"


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name if not name.startswith("-") else f"./{name}")
