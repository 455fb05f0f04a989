"""Drawings of the page as SVG text: the timeline, values over time, the curve."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORIGINS = ("kept", "recoded", "denoised", "interpolated", "mended", "filled")
"""Of a result, the rarer and graver the later."""

STATES = ("good", "repeated", "dropped", "damaged", "black", "missing", "corrupt")
"""Of an inspected clip."""

COLUMNS = 1200
"""Points across the page; more would not be seen."""


def states_of(record: dict[str, Any]) -> list[str]:
    """What became of every frame, or what it is like, in order."""
    frames = record.get("frames")
    if frames and "origin" in frames[0]:
        return [str(fact["origin"]) for fact in frames]
    if record.get("verb") == "compare":
        return []
    states = ["good"] * int(record.get("n_frames", 0))
    first = int(record.get("first_frame", 0))
    marks = {
        "repeated": record.get("duplicates", []),
        "dropped": [gap["after"] for gap in record.get("dropped", [])],
        "damaged": [entry["frame"] for entry in record.get("damage", []) if "frame" in entry],
        "black": record.get("black", []),
        "missing": record.get("missing", []),
        "corrupt": record.get("corrupt", []),
    }
    for state in STATES[1:]:
        for number in marks[state]:
            if 0 <= number - first < len(states):
                states[number - first] = state
    return states


def runs_of(states: Sequence[str]) -> list[tuple[str, int, int]]:
    """Stretches of equal states as (state, start, stop)."""
    runs: list[tuple[str, int, int]] = []
    for place, state in enumerate(states):
        if runs and runs[-1][0] == state:
            runs[-1] = (state, runs[-1][1], place + 1)
        else:
            runs.append((state, place, place + 1))
    return runs


def timeline(states: Sequence[str], cuts: Iterable[int]) -> str:
    """A strip with one column for each frame, coloured by state, with cuts marked.

    Rare states are drawn last and never thinner than can be seen.
    """
    n = max(len(states), 1)
    ranks = {state: rank for rank, state in enumerate((*ORIGINS, *STATES))}
    thinnest = n / 600
    bars = []
    for state, start, stop in sorted(_thinned(runs_of(states), n), key=lambda run: ranks.get(run[0], 0)):
        width = max(stop - start, thinnest if ranks.get(state, 0) not in (0, len(ORIGINS)) else 0)
        title = f"{state}: {start}" + (f" to {stop - 1}" if stop - start > 1 else "")
        bars.append(
            f'<rect class="s-{escape(state)}" x="{start:g}" y="0" width="{width:g}" height="10">'
            f"<title>{escape(title)}</title></rect>"
        )
    marks = [f'<line class="cut" x1="{cut}" x2="{cut}" y1="-2" y2="12"/>' for cut in cuts if 0 < cut < n]
    return (
        f'<svg class="strip" viewBox="0 -2 {n} 14" preserveAspectRatio="none" role="img" '
        f'aria-label="timeline of {len(states)} frames">{"".join(bars)}{"".join(marks)}</svg>'
    )


def series(
    values: Sequence[tuple[int, float]], n: int, *, low: float | None = None
) -> tuple[str, float, float]:
    """A line of values over the frames.

    Parameters
    ----------
    values : sequence of (frame, value)
    n : int
        Number of frames across.
    low : float, optional
        Lower end of the scale; the smallest value by default.

    Returns
    -------
    svg : str
    bottom, top : float
        Ends of the scale.
    """
    numbers = [value for _, value in values]
    bottom = min(numbers) if low is None else min(low, min(numbers))
    top = max(numbers)
    reach = (top - bottom) or 1.0
    chosen = _sampled(values)
    whole = len(chosen) == len(values)
    # Frames without a value part the line.
    stretches: list[list[tuple[int, float]]] = []
    for frame, value in chosen:
        if not stretches or (whole and frame - stretches[-1][-1][0] > 1):
            stretches.append([])
        stretches[-1].append((frame, 38 - 36 * (value - bottom) / reach))
    path = "".join(_line(stretch) for stretch in stretches)
    return (
        f'<svg class="series" viewBox="0 0 {max(n, 1)} 40" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{path}"/></svg>',
        bottom,
        top,
    )


def curve(
    raw: NDArray[np.float32] | None,
    made: NDArray[np.float32],
    order: NDArray[np.intp],
    labels: Sequence[dict[str, Any]],
    cuts: Sequence[int] = (),
) -> str:
    """Frames as points and the curve through them, on the first two principal components.

    Parameters
    ----------
    raw : ndarray or None, shape (m, d)
        Tiny pictures of the source's frames; NaN rows where there is none.
    made : ndarray, shape (m, d)
        Tiny pictures of the result.
    order : ndarray, shape (m,)
        The way of the curve through the frames.
    labels : sequence of dict
        ``index`` and ``origin`` of each frame.
    cuts : sequence of int
        First frames of new shots; nothing joins the frames on both sides of one.
    """
    centre = made.mean(axis=0)
    _, _, axes = np.linalg.svd((made - centre).astype(np.float64), full_matrices=False)
    axes = axes[:2] if len(axes) > 1 else np.vstack([axes, np.zeros_like(axes)])[:2]
    places = (made - centre) @ axes.T
    faint = None if raw is None else (raw - centre) @ axes.T
    everything = places if faint is None else np.vstack([places, faint[np.isfinite(faint).all(axis=1)]])
    low, high = everything.min(axis=0), everything.max(axis=0)
    reach = np.where(high > low, high - low, 1.0)

    def at(point: NDArray[Any]) -> tuple[float, float]:
        x, y = (point - low) / reach
        return 16 + 368 * float(x), 224 - 208 * float(y)

    parts = []
    if faint is not None:
        parts += [
            f'<circle class="raw" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>'
            for x, y in (at(point) for point in faint if np.isfinite(point).all())
        ]
    shots = [bisect_right(sorted(cuts), labels[k]["index"]) for k in order]
    for shot in dict.fromkeys(shots):
        way = " ".join("{:.1f},{:.1f}".format(*at(places[k])) for k, s in zip(order, shots) if s == shot)
        parts.append(f'<polyline class="way" points="{way}"/>')
    for place, label in zip(places, labels):
        x, y = at(place)
        state = escape(str(label.get("origin", "good")))
        parts.append(
            f'<circle class="dot s-{state}" data-index="{label["index"]}" cx="{x:.1f}" cy="{y:.1f}" r="3.4">'
            f"<title>frame {label['index']}, {state}</title></circle>"
        )
    return f'<svg class="curve" viewBox="0 0 400 240" role="img" aria-label="frames along the curve">{"".join(parts)}</svg>'


def ticks(values: Sequence[tuple[float, str]]) -> str:
    """Latent positions as ticks on a line from the smallest to the largest."""
    numbers = [value for value, _ in values]
    low, reach = min(numbers), (max(numbers) - min(numbers)) or 1.0
    kept = values[:: max(1, len(values) // COLUMNS)]
    lines = "".join(
        f'<line class="tick s-{escape(state)}" x1="{x:.2f}" x2="{x:.2f}" y1="2" y2="18"/>'
        for x, state in ((4 + 392 * (value - low) / reach, state) for value, state in kept)
    )
    return (
        f'<svg class="ticks" viewBox="0 0 400 20" preserveAspectRatio="none" aria-hidden="true">{lines}</svg>'
    )


def _thinned(runs: list[tuple[str, int, int]], n: int) -> list[tuple[str, int, int]]:
    """At most a few thousand stretches: of a crowded column the rarest state stays."""
    if len(runs) <= 2 * COLUMNS:
        return runs
    ranks = {state: rank for rank, state in enumerate((*ORIGINS, *STATES))}
    columns: dict[int, str] = {}
    for state, start, stop in runs:
        for column in range(start * COLUMNS // n, (stop - 1) * COLUMNS // n + 1):
            if ranks.get(state, 0) >= ranks.get(columns.get(column, ""), -1):
                columns[column] = state
    states = [columns[column] for column in sorted(columns)]
    return [(state, a * n // COLUMNS, b * n // COLUMNS) for state, a, b in runs_of(states)]


def _line(points: Sequence[tuple[int, float]]) -> str:
    """A path through the middles of frames; a lone frame is as wide as it lasts."""
    if len(points) == 1:
        frame, y = points[0]
        return f"M{frame:g},{y:.2f}L{frame + 1:g},{y:.2f}"
    return "M" + "L".join(f"{frame + 0.5:g},{y:.2f}" for frame, y in points)


def _sampled(values: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The values, or the least and the greatest of each column where there are too many."""
    if len(values) <= 2 * COLUMNS:
        return list(values)
    chosen: list[tuple[int, float]] = []
    for part in np.array_split(np.arange(len(values)), COLUMNS):
        some = [values[int(k)] for k in part]
        ends = sorted({min(some, key=lambda v: v[1]), max(some, key=lambda v: v[1])})
        chosen += ends
    return chosen
