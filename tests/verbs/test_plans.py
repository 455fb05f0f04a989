"""Plans: a range near the start does not cost the whole clip, and help changes nothing."""

from fractions import Fraction

import numpy as np
import pytest

from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.errors import InputError
from videorestore.media import SinkOptions, open_source, write
from videorestore.request import Insertion, Span
from videorestore.request.verbs import FillOptions, ReorderOptions, RestoreOptions
from videorestore.request.verbs_looking import InspectOptions
from videorestore.verbs import fill, reorder, restore
from videorestore.verbs.inspect import report

BUDGET = 1 << 30
SPAN = Span(start=2, stop=12)


@pytest.fixture
def clip(tmp_path):
    """Sixty frames of a texture that drifts."""
    rng = np.random.default_rng(0)
    canvas = np.kron(rng.integers(40, 220, (8, 40, 3)), np.ones((4, 4, 1)))
    frames = np.stack([canvas[:, k : k + 48] for k in range(60)]).astype(np.uint8)
    times = tuple(Fraction(k, 25) for k in range(60))
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    whole = Clip(frames=frames, times=times, durations=(Fraction(1, 25),) * 60, info=info)
    write(whole, str(tmp_path / "in.mkv"), SinkOptions(codec="ffv1"))
    return str(tmp_path / "in.mkv")


def test_reorder_counts_no_further(clip):
    with open_source(clip) as source:
        work = reorder.plan(source, ReorderOptions(span=SPAN), BUDGET)
        assert sorted(work.order) == list(range(2, 12))
        assert not source.index().whole


@pytest.mark.parametrize(
    ("missing", "insert", "whole"),
    [
        (None, (), False),
        ((5,), (Insertion(after=7, count=2),), False),
        ((5, 40), (), True),
        ((5,), (Insertion(after=Fraction(1, 5), count=1),), True),
    ],
)
def test_fill_counts_no_further_than_what_is_named(clip, missing, insert, whole):
    with open_source(clip) as source:
        options = FillOptions(span=SPAN, missing=missing, insert=insert, model="motion")
        work = fill.plan(source, options, BUDGET)
        assert len(work.steps.slots) == 10 + sum(i.count for i in insert)
        assert source.index().whole == whole


def test_fill_still_knows_what_lies_beyond_the_clip(clip):
    with open_source(clip) as source, pytest.raises(InputError, match="0 to 59"):
        fill.plan(source, FillOptions(span=SPAN, missing=(60,)), BUDGET)


def test_inspect_says_the_same_of_a_range(clip):
    part, _ = report(clip, InspectOptions(span=SPAN))
    assert part["n_frames"] == 10 and part["first_frame"] == 2 and part["fps"] in ("25/1", 25, "25")


def test_a_plan_made_with_help_is_the_same(clip):
    from videorestore.plan.look import helped_by
    from videorestore.request.verbs import DenoiseOptions
    from videorestore.run.workers import Crew
    from videorestore.verbs import denoise

    plans = []
    for jobs in (0, 2):
        with open_source(clip) as source, Crew(jobs) as crew, helped_by(crew.in_order):
            plans.append(denoise.plan(source, DenoiseOptions(sigma=4.0), BUDGET))
    assert plans[0].findings == plans[1].findings and plans[0].models == plans[1].models
    assert plans[0].pieces == plans[1].pieces and plans[0].divergences == plans[1].divergences
    assert list(plans[0].findings["self_test"]) == ["curve_denoise_gain"]


class Unread(Exception):
    """Raised in place of the look through the clip."""


@pytest.fixture
def unread(monkeypatch):
    """The clip must not be looked through: what is refused is refused before."""

    def look(*_args, **_more):
        raise Unread

    for name in ("inpaint", "upsample", "restore"):
        monkeypatch.setattr(f"videorestore.verbs.{name}.scan", look)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("inpaint", {}, "no --mask"),
        ("inpaint", {"mask": "small.png"}, "48 x 32 like the clip, got 9 x 8"),
        ("inpaint", {"mask": np.zeros((8, 9), bool)}, r"\(32, 48\)"),
        ("upsample", {"fps": Fraction(24)}, "own rate 25, got 24"),
        ("restore", {"fps": Fraction(20)}, "own rate 25, got 20"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_clip_is_looked_through(
    clip, unread, tmp_path, monkeypatch, name, given, words
):
    from importlib import import_module

    import cv2

    from videorestore.request import TABLE

    monkeypatch.chdir(tmp_path)
    cv2.imwrite("small.png", np.zeros((8, 9), np.uint8))
    with open_source(clip) as source, pytest.raises(InputError, match=words):
        import_module(f"videorestore.verbs.{name}").plan(source, TABLE[name].options(**given), BUDGET)


def test_reorder_says_why_the_named_frame_is_not_first(clip):
    with open_source(clip) as source:
        work = reorder.plan(source, ReorderOptions(first=3), BUDGET)
        assert work.order[0] == 0 and "frame 3 stands at place 3" in work.findings["plan"][0]
        work = reorder.plan(source, ReorderOptions(first=59), BUDGET)
        assert work.order[0] == 59 and "plan" not in work.findings


def test_disk_is_foretold_for_what_will_be_written(tmp_path, monkeypatch):
    """Pixels that are searched for damage lie on disk; results only where some are mended or noise is removed."""
    monkeypatch.setattr("videorestore.plan.assemble.wants_disk", lambda *size: True)
    rng = np.random.default_rng(1)
    canvas = np.kron(rng.integers(60, 200, (40, 60, 1)), np.ones((8, 8, 3)))
    still = np.stack([canvas[:240, k : k + 320] for k in range(30)])
    for name, sd in (("clean", 0), ("noisy", 12)):
        pixels = np.clip(np.rint(still + sd * rng.standard_normal(still.shape)), 0, 255).astype(np.uint8)
        np.save(tmp_path / f"{name}.npy", pixels)
        with open_source(str(tmp_path / f"{name}.npy")) as source:
            # So little memory that frames are kept on disk.
            work = restore.plan(source, RestoreOptions(fill="off"), 700 << 20)
        frame = 240 * 320
        reads = max(p.read_stop - p.read_start for p in work.pieces)
        makes = max(p.stop - p.start for p in work.pieces)
        written = 18 * makes if sd else 0
        assert "motion" in work.on_disk
        assert work.likely_disk == (12 * reads + written) * frame < work.piece_disk
