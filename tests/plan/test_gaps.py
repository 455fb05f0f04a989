"""New frames go where the times and the picture say that some were lost, and nowhere else."""

from fractions import Fraction

import numpy as np
import pytest

from tests.detect.test_survey import glide
from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import open_source
from videorestore.request.verbs import FillOptions, RestoreOptions
from videorestore.verbs import fill, restore

PLACES = [0, 1, 2, 3, 4, 5, 6, 7, 10, *range(11, 20)]
"""Two frames are lost after the eighth."""


def clip(places, times):
    """A landscape that glides by, seen at these places and times."""
    frames = np.rint(glide(places[-1] + 1, speed=1.5)[places])[..., None].astype(np.uint8)
    durations = tuple(b - a for a, b in zip(times[:-1], times[1:], strict=True)) + (Fraction(1, 25),)
    info = ClipInfo(format=PixelFormat(model="grey"), fps=Fraction(25))
    return Clip(frames=frames, times=tuple(times), durations=durations, info=info)


def planned(verb, options, places, times):
    with open_source(clip(places, times)) as source:
        return verb.plan(source, options, 1 << 30)


EVEN = [Fraction(k, 25) for k in PLACES]
PAUSED = [Fraction(k, 25) for k in PLACES]
JITTER = [t + Fraction(k % 3, 200) for k, t in enumerate(EVEN)]


@pytest.mark.parametrize(
    ("places", "times", "lost"),
    [
        (PLACES, EVEN, [(7, 2)]),
        (list(range(18)), PAUSED, []),  # the times have a hole, the picture does not jump
        (PLACES, JITTER, []),  # the camera sets its own pace
    ],
)
def test_restore_inserts_only_where_the_picture_jumps_as_far_as_the_times(places, times, lost):
    work = planned(restore, RestoreOptions(model="motion", mend="off"), places, times)
    assert [(e["after"], e["count"]) for e in work.findings.get("inserted", [])] == lost
    assert len(work.steps.slots) == len(places) + sum(count for _, count in lost)
    if times is PAUSED and not lost:
        assert any("1 hole in the times" in line for line in work.findings["plan"])


def test_fill_is_asked_and_fills_every_hole_of_a_constant_rate():
    work = planned(fill, FillOptions(model="motion"), list(range(18)), PAUSED)
    assert [(e["after"], e["count"]) for e in work.findings["inserted"]] == [(7, 2)]
    assert work.findings["inserted"][0]["probability"] < 0.5


@pytest.mark.parametrize(
    ("options", "between"), [({}, False), ({"fps": Fraction(60)}, True), ({"factor": 2}, True)]
)
def test_restore_to_a_faster_rate_chooses_as_upsample_does(monkeypatch, options, between):
    asked = []
    chosen = restore.choose

    def spy(*args, **keywords):
        asked.append(keywords["between"])
        return chosen(*args, **keywords)

    monkeypatch.setattr(restore, "choose", spy)
    planned(restore, RestoreOptions(model="motion", mend="off", **options), list(range(8)), EVEN[:8])
    assert asked == [between]
