"""Findings one by one: parts of frames with their boxes, the least sure first."""

import numpy as np
import pytest

from videorestore.report import crops
from videorestore.report.page import PageBuilder


def entry(frame=0, box=(10, 20, 4, 6), probability=0.9, kind="dust"):
    return {"frame": frame, "kind": kind, "box": list(box), "probability": probability}


def test_the_least_sure_come_first_and_only_so_many():
    many = [entry(frame=k, probability=1 - k / 1000) for k in range(2 * crops.MOST)]
    found = crops.chosen(many)
    assert len(found) == crops.MOST and found[0]["frame"] == 2 * crops.MOST - 1


@pytest.mark.parametrize("box", [(0, 0, 3, 3), (197, 117, 3, 3), (90, 2, 100, 4), (10, 20, 4, 6)])
def test_a_part_holds_its_box_and_stays_within_the_picture(box):
    picture = np.zeros((120, 200, 3), np.uint8)
    x, y, w, h = box
    picture[y : y + h, x : x + w] = 255
    crop = crops.Crop.of(entry(box=box), picture)
    width, height = crop.size
    left, top, *_ = crop.box
    assert 0 <= left <= width - w and 0 <= top <= height - h
    assert width <= 200 and height <= 120 and min(width, height) >= crops.SIDE


def test_small_pictures_are_shown_whole():
    crop = crops.Crop.of(entry(box=(1, 1, 2, 2)), np.zeros((8, 9, 3), np.uint8))
    assert crop.size == (9, 8) and crop.box == (1, 1, 2, 2)


def test_words_are_escaped_and_the_page_has_them():
    picture = np.zeros((80, 80, 3), np.uint8)
    builder = PageBuilder()
    builder.add_picture(0, after=picture)
    builder.crops = [crops.Crop.of(entry(kind="<b>dust"), picture)]
    page = builder.render({"verb": "inspect", "n_frames": 1, "damage": [entry(), entry()]})
    assert "Damage, one by one" in page and "1 of 2 places" in page
    assert "frame 0, &lt;b&gt;dust 0.90" in page and "<b>dust" not in page.split("The record")[0]
    assert crops.section([], 3) == ""
