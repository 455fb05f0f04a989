"""``restore`` on a clip of progressive and interlaced shots: each is treated as what it is."""

from __future__ import annotations

import numpy as np

import videorestore as vr
from tests.fields.test_containers import make
from tests.verbs.test_deinterlace import interlaced, scene
from videorestore.detect.fields import Fields, Verdict
from videorestore.make.interlaced import FieldWise
from videorestore.media import open_source
from videorestore.plan.interlaced import by_flag
from videorestore.plan.scan import scan
from videorestore.request.verbs import DenoiseOptions
from videorestore.verbs import denoise


def test_frames_stay_and_fields_become_frames(tmp_path) -> None:
    progressive = scene(24)
    pictures = 255 - scene(64)[24:, ::-1]
    clip = np.concatenate([progressive, interlaced(pictures, 0)])
    options = {"input_fps": 25, "quality": "fast", "denoise": "off"}
    done = vr.restore(clip, tmp_path / "out.npy", sd=str(tmp_path / "sd.npy"), **options)
    fields = done.record["fields"]
    assert fields["kind"] == "mixed" and [shot["kind"] for shot in fields["shots"]] == [
        "progressive",
        "interlaced",
    ]
    made = np.load(tmp_path / "out.npy")
    assert len(made) == len(progressive) + len(pictures)
    assert np.array_equal(made[: len(progressive)].reshape(progressive.shape), progressive)
    for k, frame in enumerate(made[len(progressive) :].reshape(pictures.shape)):
        assert np.array_equal(frame[k % 2 :: 2], pictures[k][k % 2 :: 2])
    # What was made is not sure, and says so.
    sd = np.load(tmp_path / "sd.npy")
    assert not sd[: len(progressive)].any() and not sd[len(progressive)][0::2].any()
    assert sd[len(progressive)][1::2].min() > 0
    times = [frame["time_s"] for frame in done.record["frames"]]
    steps = np.round(np.diff(times), 6)
    assert set(steps[: len(progressive) - 1]) == {0.04} and set(steps[len(progressive) :]) == {0.02}
    origins = [frame["origin"] for frame in done.record["frames"]]
    assert origins == ["kept"] * len(progressive) + ["mended"] * len(pictures)
    left = vr.restore(clip, deinterlace="off", **options)
    assert len(left.clip) == len(clip)


def test_planning_makes_no_frame_twice_and_none_in_full(monkeypatch) -> None:
    from videorestore.make import interlaced as making

    asked: list[tuple[int, int]] = []
    complete = making.complete

    def counted(fields, wanted, *, rounds, calm):
        asked.append((rounds, len(wanted)))
        return complete(fields, wanted, rounds=rounds, calm=calm)

    monkeypatch.setattr(making, "complete", counted)
    clip = np.concatenate([scene(12), interlaced(255 - scene(48)[24:, ::-1], 0)])
    vr.restore(clip, input_fps=25, denoise="off")
    # Twenty-four fields: once in one round to look at them, once in two to be made.
    assert {rounds: sum(n for r, n in asked if r == rounds) for rounds in (1, 2)} == {1: 24, 2: 24}


def test_a_file_that_says_so_is_interlaced_where_no_pixel_tells(tmp_path) -> None:
    rng = np.random.default_rng(5)
    still = np.repeat(scene(1), 8, axis=0)
    noisy = np.clip(still + rng.normal(0, 9, still.shape), 0, 255).astype(np.uint8)
    path, plain = tmp_path / "still.mkv", tmp_path / "plain.mkv"
    make(noisy, path, "25", "-vf", "setfield=bff", "-c:v", "ffv1", "-field_order", "bb")
    make(noisy, plain, "25", "-c:v", "ffv1")
    for file, kind in ((path, "interlaced"), (plain, "progressive")):
        with open_source(str(file)) as source:
            found = by_flag(source, scan(source, brief=True))
        assert [v.kind for _, v in found.fields.settled()] == [kind]
    # It stays as it was: flagged, and each of its fields for itself.
    lossless = {"codec": "ffv1"}
    for verb, name, words in (
        (vr.denoise, "a.mkv", lossless),
        (vr.restore, "b.mkv", {"denoise": "on", **lossless}),
        (vr.reorder, "c.mkv", lossless),
        (vr.reorder, "d.mp4", {}),  # the stream itself tells the order there
    ):
        out = str(tmp_path / name)
        verb(path, out, jobs=1, **words)
        with open_source(out) as source:
            assert source.info.extra["field_order"] == "bff" and len(source.index()) == 8
    with open_source(str(path)) as source:
        work = denoise.plan(source, DenoiseOptions(), 1 << 30)
    assert isinstance(work, FieldWise)


def test_an_unknown_shot_that_seems_progressive_is_left_in_peace() -> None:
    video = Verdict(kind="interlaced", order="tff")
    still, likely = Verdict(kind="unknown"), Verdict(kind="unknown", leans="progressive")
    shots = Fields(shots=(((0, 30), video), ((30, 40), still), ((40, 50), likely)))
    assert [v.kind for _, v in shots.settled()] == ["interlaced", "interlaced", "progressive"]


def test_where_nothing_is_sure_who_asks_is_believed_to_have_seen_combs() -> None:
    seems = Verdict(kind="unknown", order="bff", leans="interlaced")
    shots = Fields(shots=(((0, 30), seems), ((30, 40), Verdict(kind="unknown"))))
    assert [(v.kind, v.order) for _, v in shots.settled()] == [("interlaced", "bff"), ("progressive", None)]
    assert shots.progressive
