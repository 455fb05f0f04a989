"""How the noise of a shot drifts: measured at both ends, and in between wherever two places differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from videorestore.make.work import Shot
from videorestore.request.notation import runs_of
from videorestore.spatial.noise import Noise

LENGTH = 10
"""Frames of a shot that tell the noise well enough."""

SHORTEST = 48
"""Good frames from which on a shot is measured at its ends as well: two seconds."""

RATIO = 1.25
"""Two places differ where the intervals of their sds are apart, and the sds by this factor: of less, a denoiser loses hardly
anything."""

FAINT = 0.3
"""Least sd of a frame of a shot that is noisy elsewhere."""

Stretch = list[int]
Measure = Callable[[Iterable[Stretch]], list[Noise]]
"""The noise of each of some stretches of frames, where it can be told."""


def with_drift(noise: Noise, shot: Shot, void: frozenset[int], measure: Measure) -> Noise:
    """The noise of a shot, measured in its middle, with its course where it drifts.

    Parameters
    ----------
    noise : Noise
        As measured in the middle.
    void : frozenset of int
        Frames that tell nothing.
    """
    runs = runs_of([i for i in range(*shot) if i not in void])
    if sum(map(len, runs)) < SHORTEST:
        return noise
    known = {_middle(middle_of(max(runs, key=len))): noise}
    tried = set(known)
    wanted = [shot[0], shot[1]]
    while wanted:
        stretches = {_middle(s): s for s in (_nearest(runs, place) for place in wanted)}
        new = {place: s for place, s in stretches.items() if place not in tried}
        tried |= set(new)
        found = zip(new, measure(new.values()))
        known = dict(sorted([*known.items(), *((k, n) for k, n in found if n.trustworthy)]))
        wanted = [
            (a + b) // 2 for a, b in pairwise(known) if new and b - a > LENGTH and _differ(known[a], known[b])
        ]
    return _joined(known, noise, shot)


def _joined(known: dict[int, Noise], noise: Noise, shot: Shot) -> Noise:
    """The noise of a shot from that of some places, the middle's where all are alike; the strongest tells its kind."""
    weakest, strongest = (pick(known.values(), key=lambda n: n.sd) for pick in (min, max))
    if strongest.clean or not _differ(weakest, strongest):
        return noise
    places, levels = list(known), [max(n.level, FAINT) for n in known.values()]
    usual = float(np.mean(np.interp(range(*shot), places, levels)))
    course = tuple((float(k), level / usual) for k, level in zip(places, levels))
    return replace(strongest.scaled(usual / strongest.level), course=course)


def _differ(one: Noise, two: Noise) -> bool:
    weak, strong = sorted((one, two), key=lambda n: n.sd)
    return weak.high < strong.low and RATIO * weak.level < strong.level


def middle_of(run: Stretch) -> Stretch:
    """The frames in the middle of a run."""
    first = max(0, (len(run) - LENGTH) // 2)
    return run[first : first + LENGTH]


def _nearest(runs: list[Stretch], place: int) -> Stretch:
    """The stretch of successive frames whose middle is nearest to a place, of the runs that are long enough."""
    enough = [run for run in runs if len(run) >= LENGTH] or [max(runs, key=len)]
    run = min(enough, key=lambda run: max(run[0] - place, place - run[-1], 0))
    first = min(max(place - LENGTH // 2 - run[0], 0), max(len(run) - LENGTH, 0))
    return run[first : first + LENGTH]


def _middle(stretch: Stretch) -> int:
    return stretch[len(stretch) // 2]
