"""Lines that jitter and fields that are blends are told, and neither is seen where there is none."""

from __future__ import annotations

import numpy as np
import pytest

import videorestore as vr
from tests.fields.test_dropouts import pictures
from tests.verbs.test_deinterlace import interlaced
from videorestore.report.advice import left_of_tape


def converted(count: int, rate: float) -> np.ndarray:
    """Interlaced frames whose fields are mixed of the two pictures next in time, ``rate`` pictures apart."""
    source = pictures(count).astype(np.float32)
    times = np.arange(0, count - 1, rate)
    low = times.astype(int)
    part = (times - low).astype(np.float32)[:, None, None]
    mixed = (1 - part) * source[low] + part * source[low + 1]
    return interlaced(np.rint(mixed).astype(np.uint8)[: len(mixed) // 2 * 2, ..., None], 0)


def trembling(frames: np.ndarray, sd: float) -> np.ndarray:
    """Frames ``(n, h, w, 1)`` with every line shifted by itself."""
    rng, columns = np.random.default_rng(4), np.arange(frames.shape[2])
    shaken = frames.copy()
    for frame in shaken:
        for line in frame:
            line[:, 0] = np.rint(np.interp(columns + rng.normal(0, sd), columns, line[:, 0]))
    return shaken


def test_nothing_is_told_of_a_clean_clip() -> None:
    assert "tape" not in vr.inspect(interlaced(pictures(48).astype(np.uint8)[..., None], 0)).record


def test_jitter_is_told() -> None:
    clean = interlaced(pictures(32).astype(np.uint8)[..., None], 0)
    tape = vr.inspect(trembling(clean, 0.7)).record["tape"]
    assert 0.5 < tape["line_jitter"] < 0.9 and "blended_fields" not in tape
    assert "line jitter" in left_of_tape({"tape": tape})[0]


@pytest.mark.parametrize(("rate", "rhythm"), [(6 / 5, 5), (5 / 6, 6)])
def test_blended_fields_are_told(rate: float, rhythm: int) -> None:
    record = vr.inspect(converted(64, rate)).record
    assert record["fields"]["kind"] == "interlaced" and record["tape"] == {"blended_fields": rhythm}
    assert "blended" in left_of_tape(record)[0]
