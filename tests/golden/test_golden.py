"""Every verb gives the pixels that it gave before; ``scripts/golden`` writes them anew where they change on purpose."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden.cases import HASHES, Case, cases, digest, machine, run, thumbnail

SAME = json.loads(HASHES.read_text(encoding="utf-8"))
NEAR = 0.5
"""Levels of 255 by which the mean of a block over all frames may differ on a machine that rounds otherwise."""


def test_every_case_has_its_hash_and_no_hash_is_left_over() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
    assert set(names) == set(SAME["cases"])


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name.replace(" ", "_"))
def test_the_pixels_are_those_of_before(case: Case, tmp_path: Path) -> None:
    frames = run(case, tmp_path)
    known = SAME["cases"][case.name]
    assert list(frames.shape) == known["shape"]
    if machine() == SAME["machine"]:
        assert digest(frames) == known["sha256"], "pixels changed; on purpose? then run scripts/golden"
    np.testing.assert_allclose(thumbnail(frames), known["blocks"], atol=NEAR)
