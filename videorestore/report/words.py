"""Records in words: what was done, what is wrong, and the figures that matter."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from videorestore.request.notation import frames_in_words, runs_of

Record = dict[str, Any]
Tile = tuple[str, str, str]

RHYTHM = 0.2
"""A larger share of repeats than this is no fault: animation on twos, pulldown."""

HARDLY_SEEN, UNSEEN = 3.0, 0.5
"""Noise below the first sd is no fault, below the second there is none."""

_SURE = {
    "corrupt": "by the decoder, or unlike the frames on both sides",
    "black": "dark and flat; restore fills those inside a shot",
    "duplicates": "equal to the frame before in a moving scene",
}

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


Finding = dict[str, str]


def findings(record: Record) -> list[Finding]:
    """What is wrong, how sure, what to run: from the fields of an inspection.

    Returns
    -------
    list of dict
        ``what``, and where known ``sure`` and ``run``.
    """
    base = f"videorestore {{}} {_quoted(str(record.get('input')))} -o OUTPUT"
    found = [
        finding
        for look in (_fields, _noise, _bad_frames, _dropped, _damage, _tape, _flicker)
        for finding in look(record, base)
    ]
    if record.get("lost"):
        found.append(_finding(f"{counted(record['lost'], 'packet')} gave no frame"))
    if sum(bool(entry["run"]) for entry in found) > 1:
        found.append(_finding("all of this in one pass", base.format("restore")))
    return found


def _finding(what: str, run: str = "", sure: str = "") -> Finding:
    return {"what": what, "run": run, "sure": sure}


def _fields(record: Record, base: str) -> Iterator[Finding]:
    fields = record.get("fields") or {}
    what = {
        "interlaced": "interlaced: every frame holds two fields of different times",
        "telecined": "film in fields: some frames mix two pictures of the film",
        "mixed": "some shots are interlaced or mix pictures of a film",
    }.get(str(fields.get("kind")))
    if what:
        sure = f"probability {fields.get('probability', 0.0):.2f}"
        yield _finding(what, base.format("deinterlace"), sure)


def _noise(record: Record, base: str) -> Iterator[Finding]:
    if record.get("noise_sd") is None or most_noise(record) < HARDLY_SEEN:
        return
    level = noise_level(record)
    what = f"noise of sd {level} (of 255){noise_doubt(record) if ' to ' in level else ''}"
    if noise_is_sure(record):
        interval = record.get("noise_interval") if " to " not in level else None
        sure = f"95 % interval {interval[0]:.3g} to {interval[1]:.3g}" if interval else ""
        yield _finding(what, base.format("denoise"), sure)
    else:
        sure = "unsure, it may be fine texture or motion: restore leaves it"
        yield _finding(f"perhaps {what}", base.format("denoise"), sure)


def _bad_frames(record: Record, base: str) -> Iterator[Finding]:
    meant = _meant(record.get("black") or [], record)
    for key, word in (
        ("corrupt", "corrupt"),
        ("missing", "missing"),
        ("black", "black"),
        ("duplicates", "repeated"),
    ):
        frames = record.get(key) or []
        if key == "black":
            if meant:
                listed = frames_in_words(meant)
                yield _finding(
                    f"{counted(len(meant), 'black frame')} in a fade or at an end: {listed}, no fault"
                )
            frames = sorted(set(frames) - set(meant))
        if not frames:
            continue
        number = counted(len(frames), word + " frame")
        if key == "duplicates" and len(frames) > RHYTHM * record.get("n_frames", 0):
            yield _finding(f"{number}, so many that they may be the film's own rhythm")
        else:
            yield _finding(f"{number}: {frames_in_words(frames)}", _fill(base, frames), _SURE.get(key, ""))


def _dropped(record: Record, base: str) -> Iterator[Finding]:
    how = {"times": ", the times leave a gap", "motion": ", by a jump of the motion; restore leaves it"}
    for gap in record.get("dropped", []):
        sure = f"probability {gap['probability']:.2f}" if "probability" in gap else ""
        yield _finding(
            f"{counted(gap['count'], 'frame')} dropped after frame {gap['after']}",
            f"{base.format('fill')} --insert {gap['count']}@{gap['after']}",
            sure + how.get(gap.get("by"), ""),
        )


def _damage(record: Record, base: str) -> Iterator[Finding]:
    damage = record.get("damage")
    if not damage:
        return
    kinds = Counter(entry.get("kind", "damage") for entry in damage)
    listed = ", ".join(_several(number, kind) for kind, number in kinds.most_common())
    odds = [float(entry["probability"]) for entry in damage if "probability" in entry]
    sure = f"each with probability {min(odds):.2f} to {max(odds):.2f}" if odds else ""
    where = counted(len({entry.get("frame") for entry in damage}), "frame")
    yield _finding(f"damaged pixels in {where}: {listed}", f"{base.format('inpaint')} --mask auto", sure)


def _several(number: int, kind: str) -> str:
    """Damage of a kind: ``1 scratch``, ``2 scratches``, ``2 dust``."""
    if number == 1 or kind in ("dust", "damage"):
        return f"{number} {kind}"
    return f"{number} {kind}{'es' if kind.endswith('ch') else 's'}"


def _tape(record: Record, base: str) -> Iterator[Finding]:
    torn = (record.get("tape") or {}).get("head_switching")
    if torn:
        what = (
            f"head switching: the lowest {torn} lines are torn, as on most tapes; they are left as they are"
        )
        yield _finding(what, f"{base.format('restore')} --head-switching fill")
    for noise in (entry for entry in record.get("noise") or [] if entry.get("fields")):
        top, bottom = noise["fields"]
        yield _finding(
            f"one field is noisier: top sd {top:.2g}, bottom {bottom:.2g}; each is denoised by its own"
        )
        break
    yield from map(_finding, left_of_tape(record))


def left_of_tape(record: Record) -> list[str]:
    """What a tape or a broadcast has that stays as it is."""
    tape = record.get("tape") or {}
    found = []
    if tape.get("line_jitter"):
        found.append(
            f"line jitter: single lines are shifted by {tape['line_jitter']:g} columns (sd), which is not mended; capture the tape "
            "again with a time base corrector"
        )
    if tape.get("blended_fields"):
        found.append(
            f"blended fields: most are mixed of two, again every {tape['blended_fields']} fields, as a conversion between 50 and 60 "
            "fields a second leaves them; they stay mixed"
        )
    return found


def _flicker(record: Record, base: str) -> Iterator[Finding]:
    flicker = record.get("flicker") or {}
    if flicker.get("rms", 0.0) >= 1.0:
        share = f"sd {100 * flicker['sd']:.2g} % of the level" if "sd" in flicker else ""
        yield _finding(f"brightness flickers by {flicker['rms']:.3g} (of 255)", base.format("restore"), share)


def _meant(black: Sequence[int], record: Record) -> list[int]:
    """Black frames that belong to a fade, or stand at an end of the clip."""
    ends = [0, int(record.get("n_frames", 0)) - 1]
    fades = [range(a - 1, b + 2) for a, b in record.get("fades", [])]
    return [
        k for run in runs_of(black) if any(j in ends or any(j in f for f in fades) for j in run) for k in run
    ]


def _fill(base: str, frames: list[int]) -> str:
    listed = frames_in_words(frames, most=10**6)
    return f"{base.format('fill')} --missing {listed if len(listed) <= 60 else 'auto'}"


def _quoted(name: str) -> str:
    return shlex.quote(name if not name.startswith("-") else f"./{name}")
