"""Verbs that leave interlaced video interlaced work on its fields; film in fields is not taken for faults."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_deinterlace import HEIGHT, WIDTH, interlaced, psnr, scene, telecined
from videorestore.detect.fields import Verdict
from videorestore.media.pipe import ffmpeg
from videorestore.media.source import FrameIndex
from videorestore.plan.interlaced import evened, outputs_of
from videorestore.plan.review import AcceptedMasks


def test_fill_makes_both_fields_at_their_own_times() -> None:
    clean = interlaced(scene(32), 1)
    done = vr.fill(clean, missing="7", quality="fast", model="motion")
    assert done.record["fields"]["order"] == "bff" and done.clip.info.extra["field_order"] == "bff"
    others = [k for k in range(16) if k != 7]
    assert np.array_equal(done.clip.frames[others], clean[others])
    # A frame made of combed neighbours would show each of them at both times.
    assert psnr(done.clip.frames[7], clean[7]) > 30
    more = vr.fill(clean, insert="1@7", quality="fast", model="motion")
    assert len(more.clip) == 17 and np.array_equal(np.delete(more.clip.frames, 8, axis=0), clean)


def test_inpaint_leaves_all_but_the_mask() -> None:
    clean = interlaced(scene(32), 0)
    mask = np.zeros(clean.shape[:3], bool)
    mask[7:9, 20:33, 30:47] = True
    broken = np.where(mask[..., None], 0, clean).astype(np.uint8)
    done = vr.inpaint(broken, mask=mask, quality="fast", model="motion")
    assert done.record["fields"]["kind"] == "interlaced" and done.clip.info.extra["field_order"] == "tff"
    assert np.array_equal(done.clip.frames[~mask], clean[~mask])
    assert psnr(done.clip.frames[mask], clean[mask]) > 35


def test_missing_values_and_frames_are_made_before_missing_lines() -> None:
    pictures = scene(32)
    lacking = interlaced(pictures, 0).astype(np.float32) / 255
    lacking[7:9, 20:33, 30:47] = np.nan
    done = vr.deinterlace(lacking, quality="fast", model="motion")
    assert len(done.clip) == 32 and np.isfinite(done.clip.frames).all()
    assert psnr(255 * done.clip.frames[4:-4], pictures[4:-4]) > 30
    black = interlaced(pictures, 0)
    black[8] = 0
    options = {"denoise": "off", "mend": "off", "deflicker": "off", "quality": "fast"}
    made = vr.restore(black, **options).record["frames"]
    assert [k for k, f in enumerate(made) if f["origin"] == "filled"] == [16, 17]


def test_boxes_of_frames_are_boxes_of_their_fields(tmp_path) -> None:
    damage = ((3, "dropout", (5, 4, 8, 1)), (4, "blotch", (5, 5, 8, 4)))
    top, bottom = (AcceptedMasks(damage=damage).of_field(parity, 64).damage for parity in (0, 1))
    assert top == ((3, "dropout", (5, 2, 8, 1)), (4, "blotch", (5, 3, 8, 2)))
    assert bottom == ((4, "blotch", (5, 2, 8, 2)),)
    clean = interlaced(scene(32), 0)
    broken = clean.copy()
    broken[8, 50, 20:60] = 255
    listed = tmp_path / "accepted.json"
    entry = {"frame": 8, "kind": "dropout", "box": [20, 50, 40, 1]}
    listed.write_text(json.dumps({"damage": [entry]}))
    done = vr.restore(broken, accept=str(listed), denoise="off", deinterlace="off", quality="fast")
    outside = np.ones(clean.shape[1:3], bool)
    outside[50, 20:60] = False
    assert np.array_equal(done.clip.frames[:, outside], broken[:, outside])
    assert psnr(done.clip.frames[8, 50, 20:60], clean[8, 50, 20:60]) > 25


def test_pulldown_is_neither_frozen_nor_dropped_frames() -> None:
    frames = np.stack(telecined(scene(40)))
    done = vr.fill(frames, input_fps=30)
    assert np.array_equal(done.clip.frames, frames)
    assert {f["origin"] for f in done.record["frames"]} == {"kept"}
    found = vr.inspect(frames).record
    assert found["fields"]["kind"] == "telecined" and not found["duplicates"] and not found["dropped"]
    with pytest.raises(vr.VideoRestoreError, match="deinterlace first"):
        vr.upsample(frames, factor=2)


def test_film_keeps_its_rate_where_times_are_rounded(tmp_path) -> None:
    source = tmp_path / "film.mkv"
    frames = np.stack(telecined(scene(40)))
    size = ["-pix_fmt", "gray", "-s", f"{WIDTH}x{HEIGHT}", "-r", "30000/1001"]
    command = [ffmpeg(), "-v", "error", "-f", "rawvideo", *size, "-i", "-", "-c:v", "ffv1", str(source)]
    subprocess.run(command, input=frames.tobytes(), check=True)
    done = vr.deinterlace(source, str(tmp_path / "out.mkv"), codec="ffv1", jobs=1)
    assert Fraction(done.record["fps"]) == Fraction(24000, 1001) and len(done.record["frames"]) == 40


def test_film_ends_with_its_shot_however_it_was_cut() -> None:
    frame = Fraction(1, 30)
    # Every frame is a whole picture: five for each four that there is time for.
    judged = Verdict(
        kind="telecined", order="tff", pulldown="3:2", phases=(0,) * 20, edits=tuple(range(1, 20))
    )
    times = tuple(k * frame for k in range(20))
    index = FrameIndex(times=times, durations=(frame,) * 20, statuses=("good",) * 20)
    found = SimpleNamespace(index=index)
    made = outputs_of(found, (((0, 20), judged),), True, 1 / frame)
    assert len(made) == 20 and made[-1].time + made[-1].duration == 20 * frame
    assert all(a.time + a.duration == b.time and a.duration > 0 for a, b in zip(made, made[1:]))
    # Nor may it be late by more than it can be early.
    assert all(abs(output.time - k * frame) < 4 * frame for k, output in enumerate(made))


def test_flags_for_three_and_two_fields_become_even_times() -> None:
    field = Fraction(1001, 60000)
    fields = [*(3, 2) * 5, 2, 2, *(2, 3) * 4]
    ends = np.cumsum([0, *fields])
    times = [Fraction(round(int(e) * field * 90000), 90000) for e in ends]
    durations = tuple(b - a for a, b in zip(times, times[1:]))
    moved, stays = evened(tuple(times[:-1]), durations)
    in_fields = [round(float(d / field), 2) for d in stays]
    assert in_fields == [*[2.5] * 10, 2, 2, *[2.5] * 8]
    assert sum(stays) == sum(durations) and moved[0] == 0
    even = tuple(Fraction(k, 25) for k in range(9))
    assert evened(even, (Fraction(1, 25),) * 9)[0] == even
