"""Parts of the page as HTML: figures at a glance, legend, charts, alerts, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from videorestore.report import figures
from videorestore.report.words import tiles


def glance(record: dict[str, Any]) -> str:
    """The figures at the head of the page."""
    return "".join(
        f'<div class="tile"><dt>{escape(label)}</dt><dd>{escape(value)}</dd>'
        + (f"<small>{escape(more)}</small>" if more else "")
        + "</div>"
        for label, value, more in tiles(record)
    )


_MEANING = {
    "kept": "as it was, bit for bit",
    "recoded": "nothing was done to it but coding it again",
    "denoised": "its noise was removed",
    "mended": "some of its pixels were made anew",
    "filled": "the whole frame was made anew",
    "interpolated": "new, between two frames of the source",
}
"""What became of a frame, shown where the pointer rests on the word."""


def legend(states: list[str], cuts: list[int]) -> str:
    """The colours of the timeline, with counts."""
    counts = Counter(states)
    order = dict.fromkeys(state for state in (*figures.ORIGINS, *figures.STATES) if counts[state])
    entries = [
        f'<li title="{_MEANING.get(state, state)}"><i class="s-{state}"></i>{state} <b>{counts[state]}</b></li>'
        for state in order
    ]
    if cuts:
        entries.append(f'<li><i class="cut"></i>cuts <b>{len(cuts)}</b></li>')
    return "".join(entries)


_CHARTS = (
    ("x", "place on the curve (x)", None),
    ("sd", "standard deviation (of 255)", 0.0),
    ("psnr", "PSNR (dB)", None),
    ("ssim", "SSIM", None),
    ("source", "source frame", None),
)


def charts(frames: list[dict[str, Any]], n: int) -> str:
    """Values over the frames, one line for each that the record has."""
    parts = []
    for key, label, low in _CHARTS:
        values = [(place, float(fact[key])) for place, fact in enumerate(frames) if fact.get(key) is not None]
        if not values or (key == "source" and values == sorted(values, key=lambda value: value[1])):
            # Where the frames stand in their old order, their numbers tell nothing.
            continue
        drawing, bottom, top = figures.series(values, n, low=low)
        parts.append(
            f'<figure class="chart"><figcaption><span>{label}, {bottom:.4g} to {top:.4g}</span>'
            f'<span class="value" data-key="{key}"></span></figcaption><div class="plot track">{drawing}</div></figure>'
        )
    return "".join(parts)


def alerts(record: dict[str, Any]) -> str:
    """What the reader must not miss: losses, and what is wrong with an inspected clip."""
    parts = []
    losses = record.get("losses", [])
    if losses:
        entries = "".join(f"<li>{escape(str(loss))}</li>" for loss in losses)
        parts.append(f'<section class="alert"><h2>Lost or doubtful</h2><ul>{entries}</ul></section>')
    wrong = record.get("summary")
    if wrong is not None:
        entries = "".join(_finding(entry) for entry in wrong) or "<li>Nothing wrong was found.</li>"
        parts.append(f'<section><h2>What is wrong</h2><ul class="findings">{entries}</ul></section>')
    return "".join(parts)


def notes(record: dict[str, Any]) -> str:
    """What was planned, inserted, placed, refused and noted."""
    rows = []
    for entry in record.get("inserted", []):
        sure = f", probability {entry['probability']:.2f}" if "probability" in entry else ""
        rows.append(("inserted", f"{entry['count']} frames after frame {entry['after']}{sure}"))
    for entry in record.get("placed", []):
        rows.append(("placed", f"{entry.get('name')} at {entry.get('index')}"))
    for entry in record.get("refused", []):
        rows.append(("refused", str(entry)))
    for step in record.get("plan", []):
        rows.append(("plan", str(step)))
    for note in record.get("notes", []):
        rows.append(("note", str(note)))
    for fact in record.get("frames", []):
        for note in fact.get("notes", []):
            rows.append((f"frame {fact['index']}", str(note)))
    if not rows:
        return ""
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows[:200])
    more = f"<p class=hint>and {len(rows) - 200} more in the record</p>" if len(rows) > 200 else ""
    return f'<section><h2>Notes</h2><div class="wide"><table>{cells}</table></div>{more}</section>'


def _finding(entry: Mapping[str, str]) -> str:
    sure = f" <small>{escape(entry['sure'])}</small>" if entry.get("sure") else ""
    run = f"<code>{escape(entry['run'])}</code>" if entry.get("run") else ""
    return f"<li><b>{escape(entry['what'])}</b>{sure}{run}</li>"
