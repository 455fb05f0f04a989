"""Every verb on planted damage: what was asked for is mended, the rest is not touched."""

from fractions import Fraction

import numpy as np
import pytest

import videorestore as vr


def drifting(n=14, height=48, width=64, channels=3, seed=0, step=1.5):
    """A smooth random texture that drifts, uint8; the same content moves through every frame."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    rng = np.random.default_rng(seed)
    canvas = gaussian_filter(rng.standard_normal((height + 40, width + 60, channels)), (2.5, 2.5, 0))
    canvas = 128 + 45 * canvas / canvas.std()
    rows, columns = np.mgrid[0:height, 0:width].astype(float)
    frames = [
        np.stack(
            [
                map_coordinates(canvas[..., c], [rows + 8 + 0.4 * k, columns + 8 + step * k], order=3)
                for c in range(channels)
            ],
            axis=-1,
        )
        for k in range(n)
    ]
    return np.clip(np.rint(np.stack(frames)), 0, 255).astype(np.uint8)


def psnr(a, b):
    return 10 * np.log10(255**2 / np.mean((a.astype(float) - b.astype(float)) ** 2))


@pytest.fixture(scope="module")
def clip():
    return drifting()


def origins(result):
    return [f["origin"] for f in result.record["frames"]]


def test_fill_makes_the_missing_frames_and_keeps_the_others(clip):
    damaged = clip.copy()
    damaged[[5, 9]] = 0
    before = damaged.copy()
    result = vr.fill(damaged, missing=(5, 9), model="motion")
    assert np.array_equal(damaged, before)
    assert origins(result) == ["filled" if k in (5, 9) else "kept" for k in range(14)]
    kept = [k for k in range(14) if k not in (5, 9)]
    assert np.array_equal(result.clip.frames[kept], clip[kept])
    assert psnr(result.clip.frames[[5, 9]], clip[[5, 9]]) > 30
    assert result.sd[5].mean() > 0 and not result.sd[0].any()


def test_fill_finds_black_frames_itself(clip):
    damaged = clip.copy()
    damaged[6] = 0
    result = vr.fill(damaged, model="motion")
    assert [k for k, o in enumerate(origins(result)) if o == "filled"] == [6]


def test_insert_moves_what_follows(clip):
    result = vr.fill(np.delete(clip, [6, 7], axis=0), missing=(), insert="2@5", model="motion")
    assert len(result.clip) == 14
    assert origins(result)[6:8] == ["interpolated"] * 2
    assert result.record["inserted"][0] | {"after": 5, "count": 2} == result.record["inserted"][0]
    assert psnr(result.clip.frames[6:8], clip[6:8]) > 28
    assert result.clip.times == tuple(Fraction(k, 25) for k in range(14))


@pytest.mark.parametrize("model", ["motion", "curve"])
def test_upsample_keeps_the_originals(clip, model):
    result = vr.upsample(clip[::2], factor=2, model=model)
    assert len(result.clip) == 13
    assert np.array_equal(result.clip.frames[::2], clip[::2])
    assert origins(result)[:2] == ["kept", "interpolated"]


def test_upsample_beats_blending(clip):
    result = vr.upsample(clip[::2], factor=2, model="motion")
    made = result.clip.frames[1::2]
    blend = (clip[:-2:2].astype(float) + clip[2::2]) / 2
    assert psnr(made[1:-1], clip[3:11:2]) > psnr(blend[1:-1], clip[3:11:2]) + 4


def test_denoise_takes_most_of_the_noise_away(clip):
    rng = np.random.default_rng(5)
    noisy = np.clip(np.rint(clip + 15 * rng.standard_normal(clip.shape)), 0, 255).astype(np.uint8)
    result = vr.denoise(noisy, model="motion", quality="fast")
    assert set(origins(result)) == {"denoised"}
    assert result.record["noise_sd"] == pytest.approx(15, rel=0.15)
    assert psnr(result.clip.frames, clip) > psnr(noisy, clip) + 5


def test_inpaint_changes_nothing_outside_the_mask(clip):
    mask = np.zeros(clip.shape[:3], bool)
    mask[4:7, 10:22, 20:34] = True
    damaged = clip.copy()
    damaged[mask] = 255
    result = vr.inpaint(damaged, mask=mask, model="motion")
    assert np.array_equal(result.clip.frames[~mask], clip[~mask])
    assert psnr(result.clip.frames[mask], clip[mask]) > 25
    assert origins(result) == ["mended" if 4 <= k < 7 else "kept" for k in range(14)]


def test_nan_needs_no_mask(clip):
    frames = clip.astype(np.float32) / 255
    frames[3, 5:9, 5:9] = np.nan
    result = vr.inpaint(frames, model="motion")
    assert np.isfinite(result.clip.frames).all()
    known = np.isfinite(frames)
    assert np.array_equal(result.clip.frames[known], frames[known])


def test_reorder_up_to_reversal(clip):
    order = np.random.default_rng(2).permutation(14)
    first = int(np.flatnonzero(order == 0)[0])
    result = vr.reorder(clip[order], first=first)
    assert [int(order[k]) for k in result.record["order"]] == list(range(14))
    assert np.array_equal(result.clip.frames, clip)


def test_restore_leaves_a_clean_clip_alone(clip):
    result = vr.restore(clip, model="motion")
    assert set(origins(result)) == {"kept"}
    assert np.array_equal(result.clip.frames, clip)


def test_range_holds_just_these_frames(clip):
    result = vr.upsample(clip, factor=2, range="4:8", model="motion")
    assert len(result.clip) == 7
    assert np.array_equal(result.clip.frames[::2], clip[4:8])
    assert result.clip.times[0] == 0


@pytest.mark.parametrize(
    ("verb", "options", "words"),
    [
        ("fill", {"missing": (99,)}, "missing must name frames"),
        ("fill", {"missing": tuple(range(14))}, "some frames must be good"),
        ("fill", {"missing": (), "insert": "3@13"}, "insert must name a frame"),
        ("inpaint", {"mask": np.ones((48, 64), bool)}, "everything is masked"),
        ("inpaint", {"mask": np.ones((40, 64), bool)}, "mask must have shape"),
        ("inpaint", {}, "which pixels are missing"),
        ("upsample", {"factor": 2, "range": "9:40"}, "range must name frames"),
        ("reorder", {"first": 20}, "first must name"),
    ],
)
def test_wrong_usage_is_said_in_one_line(clip, verb, options, words):
    with pytest.raises(vr.VideoRestoreError, match=words) as caught:
        getattr(vr, verb)(clip, **options)
    assert "\n" not in str(caught.value)


def test_one_frame_is_no_curve(clip):
    with pytest.raises(vr.VideoRestoreError, match="at least 3 good frames"):
        vr.denoise(clip[:1], model="curve", sigma=5)
    with pytest.raises(vr.VideoRestoreError, match="two frames"):
        vr.fill(clip[:1], insert="?@0", model="motion")
    with pytest.raises(vr.VideoRestoreError, match="two frames"):
        vr.upsample(clip[:1], factor=2)


def test_nothing_but_nan_is_refused(clip):
    with pytest.raises(vr.VideoRestoreError, match="all are NaN"):
        vr.inpaint(np.full((5, 24, 32, 3), np.nan, np.float32))


@pytest.mark.parametrize(
    ("places", "shares", "count", "told"),
    [
        ([2, 6, 7, 8], [0.5, 0.2, 0.15, 0.15], 2, True),
        ([6, 7, 8], [0.1, 0.5, 0.4], 7, True),
        ([2, 6, 7, 8], [0.31, 0.25, 0.22, 0.22], 2, False),
        ([0, 6, 7, 8], [0.31, 0.25, 0.22, 0.22], 1, False),
        ([0, 1, 8, 9], [0.04, 0.04, 0.49, 0.43], 8, False),
    ],
)
def test_the_least_plausible_count_is_taken_where_nobody_can_tell(
    clip, monkeypatch, places, shares, count, told
):
    chances = np.zeros(21)
    chances[places] = shares
    monkeypatch.setattr("videorestore.order.count.count_missing", lambda *_, **__: chances)
    (entry,) = vr.fill(clip, insert="?@6", model="motion").record["inserted"]
    assert entry["count"] == count and entry["told"] is told
    assert entry["probability"] == pytest.approx(chances[count])


@pytest.mark.parametrize("model", ["auto", "motion"])
def test_two_pictures_in_turn_are_no_curve_and_no_fault(clip, model):
    blinking = clip[[0, 9] * 9]
    result = vr.upsample(blinking, factor=2, model=model)
    kept = [f["index"] for f in result.record["frames"] if f["origin"] == "kept"]
    assert np.array_equal(result.clip.frames[kept], blinking)
    assert len(vr.denoise(blinking, sigma=5, model=model).clip.frames) == 18


def test_kept_grain_is_a_share_of_what_was_removed(clip):
    noisy = np.clip(clip + np.random.default_rng(3).normal(0, 12, clip.shape), 0, 255).astype(np.uint8)
    clean, half = (
        vr.denoise(noisy, sigma=12, model="motion", quality="fast", keep_grain=share) for share in (0, 0.5)
    )
    middle = (clean.clip.frames.astype(float) + noisy) / 2
    assert np.abs(half.clip.frames - middle).max() <= 1.0
    np.testing.assert_allclose(half.sd, 0.5 * clean.sd + 6, rtol=1e-3)
    whole = vr.denoise(noisy, sigma=12, model="motion", quality="fast", keep_grain=1)
    assert set(origins(whole)) == {"kept"} and np.array_equal(whole.clip.frames, noisy)


def test_every_step_of_restore_can_be_switched_off(clip):
    flicker = 1 + 0.12 * np.random.default_rng(5).standard_normal(len(clip))
    lit = np.clip(clip * flicker[:, None, None, None], 0, 255).astype(np.uint8)
    off = {"denoise": "off", "fill": "off", "mend": "off"}
    grey = lit @ np.array([0.3, 0.6, 0.1])
    steadied = vr.restore(np.repeat(grey[..., None], 3, axis=3).astype(np.uint8), model="motion", **off)
    assert set(origins(steadied)) <= {"mended", "kept"} and "mended" in origins(steadied)
    still = vr.restore(lit, model="motion", deflicker="off", **off)
    assert np.array_equal(still.clip.frames, lit) and set(origins(still)) == {"kept"}


def test_masks_that_are_written_mend_the_same_again(clip, tmp_path):
    dirty = clip.copy()
    for k in (3, 7, 8):
        dirty[k, 20:26, 10 + 3 * k : 16 + 3 * k] = 255
    mask = np.zeros(clip.shape[:3], bool)
    mask[5, 10:14, 30:40] = True
    first = vr.inpaint(dirty, tmp_path / "a.npy", mask=mask, write_mask=tmp_path / "mask.npy")
    written = np.load(tmp_path / "mask.npy")
    assert written.shape[:3] == mask.shape and np.array_equal(np.squeeze(written) > 0, mask)
    assert [f["origin"] for f in first.record["frames"]].count("mended") == 1
    # What is found by itself can be looked at, edited and given back: pixel for pixel the same.
    vr.inpaint(dirty, tmp_path / "b.npy", mask="auto", write_mask=tmp_path / "found.mkv")
    vr.inpaint(dirty, tmp_path / "c.npy", mask=tmp_path / "found.mkv")
    assert np.asarray(vr.read(tmp_path / "found.mkv").frames).any()
    assert np.array_equal(np.load(tmp_path / "b.npy"), np.load(tmp_path / "c.npy"))
    vr.inpaint(dirty, tmp_path / "d.npy", write_mask=f"{tmp_path}/masks/", mask="auto", range="2:9")
    assert len(list((tmp_path / "masks").iterdir())) == 7
    with pytest.raises(vr.OutputExistsError):
        vr.inpaint(dirty, tmp_path / "e.npy", mask=mask, write_mask=tmp_path / "mask.npy")


def test_files_beside_an_output_need_one(clip, tmp_path):
    for name in ("sd", "report", "write_mask"):
        with pytest.raises(vr.InputError, match=f"^{name} is written beside an output"):
            vr.inpaint(clip, mask="auto", **{name: str(tmp_path / "x.html")})
    assert not list(tmp_path.iterdir())


def test_a_shot_too_short_for_a_curve_does_not_end_the_run(clip):
    joined = np.concatenate([clip, 255 - clip[:2, ::-1]])
    result = vr.denoise(joined, sigma=8, model="curve", quality="fast")
    assert len(result.clip) == 16 and set(origins(result)) == {"denoised"}
