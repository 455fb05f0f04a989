"""What is wrong, in words, how sure that is, and the command that mends it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from videorestore.report.words import (
    HARDLY_SEEN,
    Record,
    counted,
    most_noise,
    noise_doubt,
    noise_is_sure,
    noise_level,
)
from videorestore.request.notation import frames_in_words, runs_of

Finding = dict[str, str]

RHYTHM = 0.2
"""A larger share of repeats than this is no fault: animation on twos, pulldown."""

_SURE = {
    "corrupt": "by the decoder, or unlike the frames on both sides",
    "black": "dark and flat; restore fills those inside a shot",
    "duplicates": "equal to the frame before in a moving scene",
}


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
