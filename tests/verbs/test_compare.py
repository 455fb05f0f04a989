"""compare: known figures, alignment by time, losses and refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.verbs.test_deinterlace import interlaced, scene
from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.errors import InputError
from videorestore.request.verbs_looking import CompareOptions
from videorestore.verbs.compare import report


def frames(n: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 250, (n, 20, 24, 3)).astype(np.uint8)


def clip(pixels: np.ndarray, times: list[Fraction]) -> Clip:
    return Clip(frames=pixels, times=tuple(times), info=ClipInfo(format=PixelFormat(model="rgb")))


def at_25(*numbers: int) -> list[Fraction]:
    return [Fraction(k, 25) for k in numbers]


def test_equal_clips() -> None:
    record, losses = report(frames(), CompareOptions(other=frames()))
    assert record["identical"] and record["psnr"] == 100.0 and record["ssim"] == 1.0
    assert [fact["index"] for fact in record["frames"]] == list(range(6)) and not losses
    json.dumps(record, allow_nan=False)


def test_a_known_difference() -> None:
    pixels = frames()
    record, _ = report(pixels, CompareOptions(other=pixels + np.uint8(5)))
    assert record["psnr"] == pytest.approx(34.1514, abs=1e-3)
    assert all(fact["psnr"] == pytest.approx(34.1514, abs=1e-3) for fact in record["frames"])
    assert not record["identical"] and record["ssim"] < 1


def test_the_whole_is_scored_by_its_squared_error_not_by_the_mean_of_decibels() -> None:
    pixels = frames(2)
    other = pixels.copy()
    other[1] += 5
    record, _ = report(pixels, CompareOptions(other=other))
    assert record["psnr"] == pytest.approx(10 * np.log10(255**2 / 12.5), abs=1e-3)
    assert record["psnr_mean"] == pytest.approx((100 + 34.1514) / 2, abs=1e-3)


def test_a_lost_frame_is_said_and_does_not_shift_the_rest() -> None:
    pixels = frames()
    whole, gappy = clip(pixels, at_25(0, 1, 2, 3, 4, 5)), clip(pixels[[0, 1, 3, 4, 5]], at_25(0, 1, 3, 4, 5))
    record, _ = report(whole, CompareOptions(other=gappy))
    assert record["only_a"] == [2] and "only_b" not in record
    assert record["psnr"] == 100.0 and not record["identical"]
    assert [(fact["index"], fact["other"]) for fact in record["frames"]] == [
        (0, 0),
        (1, 1),
        (3, 2),
        (4, 3),
        (5, 4),
    ]


def test_a_swapped_pair_of_frames_is_found() -> None:
    pixels = frames()
    record, _ = report(pixels, CompareOptions(other=pixels[[0, 1, 3, 2, 4, 5]]))
    assert [fact["index"] for fact in record["frames"] if fact["psnr"] < 50] == [2, 3]


def test_a_clip_that_starts_late_is_compared_from_its_start() -> None:
    pixels = frames()
    record, _ = report(
        clip(pixels, at_25(0, 1, 2, 3, 4, 5)), CompareOptions(other=clip(pixels, at_25(7, 8, 9, 10, 11, 12)))
    )
    assert record["identical"]


def test_sizes_must_agree() -> None:
    with pytest.raises(InputError, match="same size"):
        report(frames(), CompareOptions(other=np.zeros((6, 20, 25, 3), np.uint8)))


def test_eight_bits_and_sixteen_meet() -> None:
    pixels = frames()
    record, _ = report(pixels, CompareOptions(other=pixels.astype(np.uint16) * 257))
    assert record["psnr"] == 100.0


def test_inputs_are_not_changed_and_the_page_is_written(tmp_path: Path) -> None:
    pixels, other = frames(), frames(seed=1)
    copies = pixels.copy(), other.copy()
    report(pixels, CompareOptions(other=other, report=str(tmp_path / "page.html")))
    np.testing.assert_array_equal(pixels, copies[0])
    np.testing.assert_array_equal(other, copies[1])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "PSNR" in text and text.count("data:image/jpeg") >= 12


def test_fields_and_whole_pictures_are_told_apart() -> None:
    moved = scene(24)
    fields = interlaced(moved, 0)
    record, _ = report(fields, CompareOptions(other=moved[0::2]))
    assert (
        "A is interlaced, B is progressive" in record["notes"][0] and "deinterlace on A" in record["notes"][0]
    )
    record, _ = report(moved[1::2], CompareOptions(other=moved[0::2]))
    assert "notes" not in record
