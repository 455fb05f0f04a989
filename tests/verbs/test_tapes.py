"""What tapes have beside noise: dropouts are filled field by field, torn lines are named and left, filled or cut off as asked."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

import videorestore as vr
from tests.fields.test_dropouts import HEIGHT, WIDTH, pictures
from tests.verbs.test_deinterlace import interlaced, psnr, scene
from videorestore.detect.combs import narrow_luma
from videorestore.media import open_source
from videorestore.media.pipe import ffmpeg

QUICK = {"denoise": "off", "deflicker": "off", "quality": "fast"}
STREAKS = [(k, (37 * k) % 140 + 5, (61 * k) % 170 + 5) for k in range(2, 14)]
"""Frame, line and first column of dropouts, 50 columns wide."""


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return interlaced(pictures(32).astype(np.uint8)[..., None], 0)


@pytest.fixture(scope="module")
def struck(clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The clip with a dropout in most frames, and where they are."""
    broken, where = clean.copy(), np.zeros(clean.shape[:3], bool)
    for k, y, x in STREAKS:
        broken[k, y, x : x + 50] = 250
        where[k, y, x : x + 50] = True
    return broken, where


def torn(clean: np.ndarray) -> np.ndarray:
    """The clip with its lowest four lines shifted anew in every frame, and noisy."""
    rng = np.random.default_rng(2)
    broken = clean.copy()
    for frame in broken:
        for line in range(HEIGHT - 4, HEIGHT):
            noise = rng.normal(0, 40, (WIDTH, 1))
            shifted = np.roll(frame[line], int(rng.integers(20, 80)), axis=0)
            frame[line] = np.clip(shifted + noise, 0, 255).astype(np.uint8)
    return broken


def test_dropouts_are_filled_and_all_else_stays(clean, struck) -> None:
    broken, where = struck
    done = vr.restore(broken, deinterlace="off", **QUICK)
    fixed = done.clip.frames
    listed = done.record["damage"]
    assert [(d["frame"], d["kind"], d["box"][1]) for d in listed] == [
        (k, "dropout", y) for k, y, _ in STREAKS
    ]
    assert psnr(fixed[where], clean[where]) > psnr(broken[where], clean[where]) + 20
    beside = where.copy()
    for d in listed:
        x, y, w, _ = d["box"]
        beside[d["frame"], y, x : x + w] = True
    assert np.array_equal(fixed[~beside], broken[~beside]) and beside.sum() <= where.sum() + 8 * len(STREAKS)


def test_dropouts_are_gone_from_whole_frames(clean, struck) -> None:
    done = vr.restore(struck[0], **QUICK)
    truth = vr.restore(clean, **QUICK)
    assert len(done.clip) == 32 and truth.record.get("damage", []) == []
    assert psnr(done.clip.frames, truth.clip.frames) > 40
    assert sorted(d["frame"] for d in done.record["damage"]) == [2 * k + y % 2 for k, y, _ in STREAKS]


def test_inspect_inpaint_and_reject(struck, clean, tmp_path) -> None:
    broken, where = struck
    found = vr.inspect(broken).record["damage"]
    assert [(d["frame"], d["box"][1]) for d in found] == [(k, y) for k, y, _ in STREAKS]
    fixed = vr.inpaint(broken, mask="auto", quality="fast").clip.frames
    assert psnr(fixed[where], clean[where]) > 25
    listed = tmp_path / "rejected.json"
    listed.write_text(json.dumps({"damage": found[:2]}))
    left = vr.restore(broken, reject=str(listed), deinterlace="off", **QUICK).clip.frames
    assert [k for k in range(16) if np.array_equal(left[k], broken[k])] == [0, 1, 2, 3, 14, 15]


def test_torn_lines_do_not_count_for_the_kind_of_fields(clean) -> None:
    one, two = (narrow_luma(next(open_source(frames).frames(5, 6))) for frames in (clean, torn(clean)))
    assert np.array_equal(one, two)


def test_reorder_says_what_to_do_with_fields(tmp_path) -> None:
    frames = interlaced(scene(24), 0)
    order = np.random.default_rng(0).permutation(12)
    path = tmp_path / "shuffled.mkv"
    size = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "gray",
        "-s",
        f"{frames.shape[2]}x{frames.shape[1]}",
        "-r",
        "25",
        "-i",
        "-",
    ]
    flags = ["-vf", "setfield=tff", "-c:v", "ffv1", "-field_order", "tt"]
    subprocess.run(
        [ffmpeg(), "-v", "error", *size, *flags, str(path)], input=frames[order].tobytes(), check=True
    )
    notes = vr.reorder(str(path), str(tmp_path / "out.mkv"), jobs=1).record["plan"]
    assert len(notes) == 1 and "deinterlace" in notes[0]


def test_torn_lines_are_named_and_left_filled_or_cut_off(clean) -> None:
    broken = torn(clean)
    assert vr.inspect(broken).record["tape"] == {"head_switching": 4}
    assert "tape" not in vr.inspect(clean).record
    kept, filled, cut = (
        vr.restore(broken, deinterlace="off", head_switching=word, **QUICK).clip.frames
        for word in ("keep", "fill", "crop")
    )
    assert np.array_equal(kept, broken)
    assert np.array_equal(filled[:, :-4], broken[:, :-4])
    assert psnr(filled[:, -4:], clean[:, -4:]) > psnr(broken[:, -4:], clean[:, -4:]) + 3
    assert np.array_equal(cut, broken[:, :-4])
    whole = vr.restore(broken, head_switching="crop", **QUICK)
    assert whole.clip.frames.shape[:2] == (32, HEIGHT - 4) and whole.record["height"] == HEIGHT - 4


def test_each_field_has_its_own_noise(clean) -> None:
    """Of two heads one is worn: its fields are noisy, the others clean."""
    noisy = clean.copy()
    worn = noisy[:, 1::2]
    worn[...] = np.clip(worn + np.random.default_rng(6).normal(0, 12, worn.shape), 0, 255)
    done = vr.restore(noisy, deinterlace="off", quality="fast", mend="off")
    (told,) = done.record["noise"]
    assert told["fields"][0] < 3 and 10 < told["fields"][1] < 14
    calmed = done.clip.frames
    assert psnr(calmed[:, 1::2], clean[:, 1::2]) > psnr(noisy[:, 1::2], clean[:, 1::2]) + 4
    assert psnr(calmed[:, 0::2], clean[:, 0::2]) > 40
