"""What ``restore`` does at the edges: ends of shots, shots too short for a fit, flicker, and how truly it says so."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting, origins, psnr
from videorestore.errors import InputError
from videorestore.make.beyond import beyond


def test_a_black_first_frame_is_filled_from_its_own_shot():
    shots = [drifting(n=12), 255 - drifting(n=12, seed=5, step=2.0)]
    truth = np.concatenate(shots)
    damaged = truth.copy()
    damaged[12] = 0
    result = vr.restore(damaged, denoise="off", model="motion")
    assert result.record["cuts"] == [12]
    assert origins(result) == ["filled" if k == 12 else "kept" for k in range(24)]
    assert psnr(result.clip.frames[12], truth[12]) > max(25, 3 + psnr(truth[13], truth[12]))
    assert "motion is taken to go on" in result.record["frames"][12]["notes"][0]


def test_motion_goes_on_where_it_would_have_foretold_the_nearest_frame():
    frames = drifting(n=5).astype(np.float32)
    made = beyond(list(frames[1:]), 1.0)
    assert made.moved and psnr(made.frame, frames[0]) > psnr(frames[1], frames[0]) + 5
    assert 0 < made.sd < 10
    rng = np.random.default_rng(0)
    wild = [rng.uniform(0, 255, frames[0].shape).astype(np.float32) for _ in range(3)]
    assert not beyond(wild, 1.0).moved
    assert np.array_equal(beyond(wild[:1], 1.0).frame, wild[0])


@pytest.mark.parametrize(("asked", "left"), [("auto", True), ("on", False)])
def test_a_shot_too_short_for_a_fit_passes_and_it_is_said(asked, left):
    truth = np.concatenate([drifting(n=10), 255 - drifting(n=3, seed=5), drifting(n=10, seed=7)])
    rng = np.random.default_rng(1)
    noisy = np.clip(np.rint(truth + rng.normal(0, 12, truth.shape)), 0, 255).astype(np.uint8)
    result = vr.restore(noisy, denoise=asked, fill="off", mend="off", model="motion", quality="fast")
    assert result.record["cuts"] == [10, 13]
    short = result.record["frames"][10:13]
    assert ([f["origin"] for f in short] == ["kept"] * 3) is left
    assert np.array_equal(result.clip.frames[10:13], noisy[10:13]) is left
    assert all("too short" in f["notes"][0] for f in short) if left else "notes" not in short[0]
    assert any("too short" in line and "10-12" in line for line in result.record["plan"]) is left
    assert set(origins(result)[:10]) == {"denoised"}


def test_steadied_frames_are_not_called_denoised():
    rng = np.random.default_rng(3)
    clip = drifting(n=20, step=0.3)
    light = 1 + 0.08 * rng.standard_normal(20)
    dim = np.clip(np.rint(0.6 * clip * light[:, None, None, None]), 0, 255).astype(np.uint8)
    asked = {"denoise": "off", "fill": "off", "mend": "off", "model": "motion"}
    scene = vr.restore(dim, **asked)
    assert set(origins(scene)) == {"kept"} and any("--deflicker on" in line for line in scene.record["plan"])
    result = vr.restore(dim, deflicker="on", **asked)
    assert any("deflicker" in line for line in result.record["plan"])
    frames = result.record["frames"]
    assert {f["origin"] for f in frames} <= {"mended", "kept"}
    for k, fact in enumerate(frames):
        assert fact.get("deflickered", False) is (fact["origin"] == "mended")
        assert np.array_equal(result.clip.frames[k], dim[k]) is (fact["origin"] == "kept")


def test_pictures_without_any_grain_are_no_old_film_whose_light_must_be_steadied():
    rng = np.random.default_rng(0)
    frames = np.empty((30, 64, 80, 1), np.uint8)
    for k, light in enumerate(rng.uniform(0.94, 1.06, len(frames))):
        frames[k] = round(170 * light)
        frames[k, 8:40, 10 + k : 34 + k] = round(60 * light)
        frames[k, 44:60, 50 - k : 70 - k] = round(110 * light)
    done = vr.restore(frames, model="motion", quality="fast")
    assert done.record["plan"][-1].endswith("--deflicker on steadies it")
    assert (np.asarray(done.clip.frames) == frames).all()


def test_noise_that_may_be_something_else_is_marked():
    from videorestore.plan.noise import noise_facts

    shots = ((0, 9), (9, 12))
    facts = noise_facts([vr_noise(trustworthy=False), vr_noise(trustworthy=True, sd=1.0)], shots)
    assert facts["noise_sd"] == 1.0, "what can be told counts"
    assert [(e["start"], e["stop"], e["sd"], e["trustworthy"]) for e in facts["noise"]] == [
        (0, 9, 4.0, False),
        (9, 12, 1.0, True),
    ]


@pytest.mark.parametrize(("one", "two"), [(25, 0), (25, 5), (10, 40)])
def test_noise_belongs_to_a_shot(one, two):
    rng = np.random.default_rng(1)
    shots = [
        np.clip(np.rint(t + rng.normal(0, sd, t.shape) if sd else t), 0, 255).astype(np.uint8)
        for t, sd in ((drifting(n=10), one), (255 - drifting(n=10, seed=5, step=2.0), two))
    ]
    settings = {"fill": "off", "mend": "off", "model": "motion", "quality": "fast"}
    together = vr.restore(np.concatenate(shots), **settings)
    assert [(e["start"], e["stop"]) for e in together.record["noise"]] == [(0, 10), (10, 20)]
    for own, entry, sd, start in zip(shots, together.record["noise"], (one, two), (0, 10), strict=True):
        made = together.clip.frames[start : start + 10]
        assert entry["sd"] == pytest.approx(sd, rel=0.1, abs=0.5)
        assert np.array_equal(made, vr.restore(own, **settings).clip.frames)
        assert np.array_equal(made, own) is (sd == 0)


def vr_noise(*, trustworthy, sd=4.0):
    from videorestore.spatial.noise import Noise

    return Noise(sd=sd, trustworthy=trustworthy)


def _decided(tmp_path, **findings):
    import json

    path = tmp_path / "findings.json"
    path.write_text(json.dumps(findings))
    return path


@pytest.fixture
def spoilt():
    """A drifting texture with a black frame and a dropout."""
    frames = drifting()
    frames[4] = 0
    frames[9, 20:26, 10:34] = 255
    return frames


def test_what_is_accepted_is_done_and_nothing_else(spoilt, tmp_path):
    box = {"frame": 9, "kind": "dropout", "box": [10, 20, 24, 6]}
    path = _decided(tmp_path, black=[], damage=[box], noise_sd=3)
    result = vr.restore(spoilt, accept=path, model="motion", quality="fast", denoise="off", deflicker="off")
    origins = [f["origin"] for f in result.record["frames"]]
    assert origins == ["mended" if k == 9 else "kept" for k in range(14)]
    assert result.record["plan"] == ["mend: 1 place as accepted"]
    assert (
        result.record["damage"][0] | {"box": [10, 20, 24, 6], "probability": 1.0}
        == result.record["damage"][0]
    )
    assert not (result.clip.frames[9, 20:26, 10:34] == 255).all()
    outside = np.ones(spoilt.shape[1:3], bool)
    outside[20:26, 10:34] = False
    assert np.array_equal(result.clip.frames[9][outside], spoilt[9][outside])


def test_what_is_rejected_stays(spoilt, tmp_path):
    more = {"model": "motion", "quality": "fast", "denoise": "off", "deflicker": "off"}
    done = vr.restore(spoilt, **more).record["frames"]
    assert done[4]["origin"] == "filled" and done[9]["origin"] in ("mended", "filled")
    path = _decided(
        tmp_path, black=[4], corrupt=[9], damage=[{"frame": 9, "kind": "dropout", "box": [0, 10, 64, 30]}]
    )
    kept = vr.restore(spoilt, reject=path, **more)
    assert [f["origin"] for f in kept.record["frames"]] == ["kept"] * 14
    assert np.array_equal(kept.clip.frames, spoilt)


def test_least_probability_is_what_the_search_asks_for():
    from videorestore.plan.dirt import SearchedMasks
    from videorestore.request.verbs import RestoreOptions
    from videorestore.verbs.restore import mended_by

    search = SearchedMasks(noise_sd=2.0, rate=0.0)
    notes: list[str] = []
    asked = mended_by(search, RestoreOptions(least_probability=0.9), notes)
    assert asked.least + search.before == pytest.approx(np.log(9)) and "0.9" in notes[0]
    assert mended_by(search, RestoreOptions(), notes) is search


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ({"black": [99]}, "0 to 13"),
        ({"damage": [{"frame": 1, "box": [60, 0, 9, 9]}]}, "inside 64 x 48"),
        ({"damage": [{"frame": 1}]}, "as inspect --json"),
        ({"black": ["x"]}, "as inspect --json"),
        ({"black": "012"}, "as inspect --json"),
        ({"black": [float("inf")]}, "as inspect --json"),
        ({"damage": [{"frame": 1, "box": [float("inf"), 0, 9, 9]}]}, "as inspect --json"),
        ({"dropped": [{"after": 2, "count": -3}]}, "from 1 on"),
        ({"deep": "DEEP"}, "as inspect --json"),
    ],
)
def test_a_wrong_list_of_findings(spoilt, tmp_path, findings, words):
    path = _decided(tmp_path, **findings)
    # A hundred thousand brackets, which json would not write.
    Path(path).write_text(Path(path).read_text().replace('"DEEP"', "[" * 100_000 + "]" * 100_000))
    with pytest.raises(vr.InputError, match=words):
        vr.restore(spoilt, accept=path, model="motion")


def test_a_list_of_the_whole_clip_serves_any_range_of_it(spoilt, tmp_path):
    boxes = [{"frame": k, "kind": "dropout", "box": [10, 20, 24, 6]} for k in (2, 9, 13)]
    path = _decided(tmp_path, black=[4], damage=boxes, dropped=[{"after": 9, "count": 2}])
    quiet = {"model": "motion", "quality": "fast", "denoise": "off", "deflicker": "off"}
    record = vr.restore(spoilt, accept=path, range="6:10", **quiet).record
    assert [f["origin"] for f in record["frames"]] == ["kept", "kept", "kept", "mended"]
    assert record["plan"] == ["mend: 1 place as accepted"]
    with pytest.raises(vr.InputError, match=r"of the clip \(from 0 on\), got -1"):
        vr.restore(_film(tmp_path), accept=_decided(tmp_path, black=[-1]), range="0:3", **quiet)


def _film(tmp_path):
    """A file that nobody counts the frames of for the sake of its first ones."""
    path = str(tmp_path / "film.mkv")
    vr.write(drifting(), path)
    return path


def test_a_list_that_is_none_is_refused_before_the_clip_is_looked_at(spoilt, tmp_path, monkeypatch):
    from videorestore.verbs import restore

    (tmp_path / "list.json").write_text("[]")
    monkeypatch.setattr(restore, "scan", lambda *_: pytest.fail("it was looked at"))
    with pytest.raises(vr.InputError, match="no object"):
        vr.restore(spoilt, reject=str(tmp_path / "list.json"))


@pytest.mark.parametrize(
    ("verb", "options"),
    [("denoise", {}), ("restore", {}), ("upsample", {"factor": 2}), ("fill", {"missing": "2"})],
)
def test_every_verb_regenerates_what_is_nan(verb, options):
    truth = (drifting(n=8, height=32, width=40) / 255.0).astype(np.float32)
    holed = truth + np.random.default_rng(1).normal(0, 0.03, truth.shape).astype(np.float32)
    holed[2, 10:16, 10:20] = np.nan
    holed[5] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = getattr(vr, verb)(holed, model="motion", **options).clip.frames
    step = (len(made) - 1) // (len(truth) - 1)
    assert np.isfinite(made).all()
    for k in (2, 5):
        assert np.abs(made[k * step] - truth[k]).mean() < 0.04


def test_nothing_but_nan_is_refused():
    with pytest.raises(InputError, match="all are NaN"):
        vr.denoise(np.full((6, 16, 16, 3), np.nan, np.float32))


def test_a_range_of_a_file_that_has_lost_its_end_gives_what_there_is(tmp_path):
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    vr.write(drifting(n=10), whole, codec="ffv1")
    cut.write_bytes(whole.read_bytes()[: 4 * whole.stat().st_size // 10])
    with pytest.raises(InputError, match="within 0:10"):
        vr.restore(whole, range="0:12", model="motion")
    done = vr.restore(cut, range="0:9", denoise="off", model="motion")
    assert 0 < len(done.record["frames"]) < 9 and done.record["losses"]
    assert vr.reorder(cut).record["losses"] == done.record["losses"]
