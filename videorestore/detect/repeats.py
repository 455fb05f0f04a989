"""Frames that repeat the one before: the film's rhythm, a scene that stands still, or a fault."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.dropped import jump_odds
from videorestore.detect.measures import LAGS, Measures, runs

_AROUND = 12  # frames on either side that tell how much moves
_FEW = 4  # frames on either side of some repeats that tell how much moves
_APART = 0.5  # of the least that moves in a shot: more is no repeat
_OFTEN, _EVEN = 4, 3  # repeats around one that make a rhythm; the same at even distances
_HIDDEN = (
    2**0.5
)  # steps behind repeats, in units of the others: 1 where nothing was hidden, 2 where a frame was


def faults(measures: Measures, repeats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Repeats that hide something: no scene that stands still, no rhythm."""
    return repeats & ~_standing(measures, repeats) & ~_rhythm(measures, repeats)


def find_repeats(measures: Measures, void: NDArray[np.bool_], cuts: list[int]) -> NDArray[np.bool_]:
    """Frames that repeat the one before, in a clip that moves (or whose noise does)."""
    n = len(measures)
    repeats = np.zeros(n, np.bool_)
    busiest = np.where(np.isnan(measures.busiest), np.inf, measures.busiest)
    skip = void.copy()
    skip[1:] |= void[:-1]
    skip[list(cuts)] = True
    skip[:1] = True
    usable = ~skip
    if usable.sum() < 3:
        return repeats
    edges = [0, *cuts, n]
    for first, stop in zip(edges[:-1], edges[1:]):
        inside = [k for k in range(first, stop) if usable[k]]
        if len(inside) < 3:
            continue
        overall = float(np.percentile(busiest[inside], 75))
        for k in inside:
            near = [
                busiest[j] for j in range(max(first, k - _AROUND), min(stop, k + _AROUND + 1)) if usable[j]
            ]
            # In the midst of a long freeze only the rest of the shot tells how much moves.
            usual = max(
                float(np.percentile(near, 70)), min(overall, 12.0) if np.median(near) < 0.1 * overall else 0.0
            )
            exact = measures.step[k] == 0 and usual > 1.0
            repeats[k] = exact or (
                usual > 2.5 and busiest[k] < min(0.25 * usual, 2.0) and measures.step[k] < 1.0
            )
        # What a codec makes of a repeat is less than any motion of the shot; between flashes all steps are small.
        fresh = [busiest[k] for k in inside if not repeats[k]]
        for k in inside:
            repeats[k] &= measures.step[k] == 0 or busiest[k] < _APART * min(fresh, default=np.inf)
    return repeats


def cadence_of(repeats: NDArray[np.bool_]) -> int | None:
    """Period of regular repeats (drawn on twos, pulldown), if that is what they are."""
    count = int(repeats.sum())
    if count < 4 or count < 0.12 * len(repeats):
        return None
    at = np.nonzero(repeats)[0]
    for period in (2, 3, 4, 5):
        # Of each period either all frames but one are repeats, or just one is.
        phases = np.bincount(at % period, minlength=period) / max(1.0, len(repeats) / period)
        fresh = phases < 0.15
        full = phases > 0.6
        if (fresh | full).all() and full.any() and fresh.any():
            return period
    # A slow film brought to a faster rate repeats frames all along, at almost even distances.
    steps = np.diff(at)
    even = float(np.mean(np.abs(steps - np.median(steps)) <= 1))
    spread = float(at[-1] - at[0]) > 0.6 * len(repeats)
    if spread and (
        (even > 0.85 and np.median(steps) > 1)
        or (count > 0.25 * len(repeats) and max(last - first for first, last in runs(repeats)) < 3)
    ):
        return max(2, round(len(repeats) / count))
    return None


def _rhythm(measures: Measures, repeats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Repeats that come often or at even distances, and behind which the picture goes on by a usual step.

    They were drawn so, or brought to another rate: 24 frames a second made 25 repeat every 25th.
    """
    behind = np.append(False, repeats[:-1]) & ~repeats
    rhythm = np.zeros(len(repeats), np.bool_)
    found = list(runs(repeats))

    def goes_on(first: int, last: int, least: int) -> bool:
        near = slice(max(1, first - _AROUND), last + 1 + _AROUND)
        steps, after = measures.step[near], behind[near]
        fresh = steps[~after & ~repeats[near]]
        enough = after.sum() >= least
        return bool(enough and (not len(fresh) or np.median(steps[after]) < _HIDDEN * np.median(fresh)))

    for first, last in found:
        rhythm[first : last + 1] = goes_on(first, last, _OFTEN)
    for some in (found[k : k + _EVEN] for k in range(len(found) - _EVEN + 1)):
        (first, _), (_, last) = some[0], some[-1]
        if np.ptp(np.diff([start for start, _ in some])) <= 1 and goes_on(first, last, _EVEN):
            rhythm[first : last + 1] = True
    return rhythm


def _standing(measures: Measures, repeats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Repeats in scenes that simply stand still: the motion stops before and starts after, nothing is lost."""
    standing = np.zeros(len(repeats), np.bool_)
    for k, end in runs(repeats):
        # Content jumps at the end of a freeze in a moving shot; a still that begins to move does not.
        if end + 1 >= len(repeats) or k <= 1:
            standing[k : end + 1] = True
        else:
            before = measures.busiest[max(1, k - 3) : k]
            after = measures.busiest[end + 1 : end + 4]
            calm = min(float(np.nanmedian(before)), float(np.nanmedian(after)))
            standing[k : end + 1] = calm < 2.5 or _nothing_lost(measures, repeats, k, end)
    return standing


def _nothing_lost(measures: Measures, repeats: NDArray[np.bool_], first: int, last: int) -> bool:
    """Whether the picture of some repeats is seen before or after them, too, as between flashes in a scene that stands.

    Or whether that behind them differs from them by no more than a step around, or rather by one step than by as many
    as frames were hidden: a pause, or a film brought to another rate.
    """
    same = float(np.nanmax(measures.plain[first : last + 1, 0])) / _APART
    again = [*measures.plain[first - 1, 1:]]
    again += [
        measures.plain[k, k - last - 1] for k in range(last + 2, min(last + LAGS, len(measures) - 1) + 1)
    ]
    if any(other <= same for other in again):
        return True
    beside = range(max(1, first - _FEW), min(len(repeats), last + 2 + _FEW))
    steps = [k for k in beside if not (repeats[k] or repeats[k - 1])]
    plain, followed = measures.plain[:, 0], measures.compensated[:, 0]
    # What went on meanwhile is seen by itself, or by what motion cannot explain.
    both = plain, np.where(np.isnan(followed), plain, followed)
    if all(seen[last + 1] <= seen[steps].max(initial=0.0 if steps else np.inf) for seen in both):
        return True
    counts = np.where(repeats, 0, 1)
    for start, end in runs(repeats[:-1]):
        counts[end + 1] = end - start + 2
    return jump_odds(measures, counts[1:].tolist(), last + 1) <= 0
