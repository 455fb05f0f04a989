"""Fields told from pictures: planted rhythms are found, and what is progressive is left in peace."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from videorestore.detect.combs import field_moments, narrow_directions, narrowed
from videorestore.detect.fields import Fields, Verdict, judge_shot, judge_shots, rhythm
from videorestore.detect.ways import WAYS
from videorestore.fields.film import pictures

HEIGHT, WIDTH = 96, 128


def directions(frames):
    """How the fields of whole frames and their next ones differ."""
    return narrow_directions([narrowed(frame) for frame in frames])


def scene(count: int, *, speed: float = 1.3, seed: int = 0) -> np.ndarray:
    """A texture ``(count, h, w)`` that moves along a slanted line, one step a picture."""
    rng = np.random.default_rng(seed)
    base = cv2.GaussianBlur(rng.uniform(0, 255, (HEIGHT * 2, WIDTH * 2)).astype(np.float32), (0, 0), 1.6)
    base = (base - base.mean()) * 4 + 128
    moved = [
        cv2.warpAffine(base, np.float32([[1, 0, -speed * k], [0, 1, -0.4 * speed * k]]), (WIDTH, HEIGHT))
        for k in range(count)
    ]
    return np.clip(np.stack(moved), 0, 255).astype(np.float32)


def weave(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """A frame with the even lines of one picture and the odd lines of another."""
    frame = top.copy()
    frame[1::2] = bottom[1::2]
    return frame


def stored(pictures: np.ndarray, way: int, frames: int) -> list[np.ndarray]:
    """Pictures as fields in one of the `WAYS`."""
    chosen = WAYS[way]
    rows = []
    for n in range(frames):
        turn, phase = divmod(n, chosen.period)
        shift = turn * chosen.step
        rows.append(weave(pictures[chosen.tops[phase] + shift], pictures[chosen.bottoms[phase] + shift]))
    return rows


@pytest.mark.parametrize("noise", [0.0, 8.0])
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_planted_rhythms_are_found(way: int, noise: float) -> None:
    rng = np.random.default_rng(way)
    frames = [f + rng.normal(0, noise, f.shape).astype(np.float32) for f in stored(scene(50), way, 15)]
    found = judge_shot(directions(frames))
    wanted = WAYS[way]
    assert (found.kind, found.order, found.pulldown) == (wanted.kind, wanted.order, wanted.pulldown)
    assert found.probability > 0.9


def test_a_broken_rhythm_is_still_pulldown() -> None:
    frames = stored(scene(60), 5, 40)
    found = judge_shot(directions(frames[:13] + frames[16:29] + frames[30:]))
    assert (found.kind, found.pulldown) == ("telecined", "3:2")


def shown(way: int, number: int) -> tuple[int, int]:
    """Pictures that the top and the bottom field of a frame show."""
    turn, phase = divmod(number, WAYS[way].period)
    return WAYS[way].tops[phase] + turn * WAYS[way].step, WAYS[way].bottoms[phase] + turn * WAYS[way].step


@pytest.mark.parametrize("way", [3, 4, 5, 6])
def test_all_pictures_between_dense_edits_are_found(way: int) -> None:
    frames = stored(scene(121), way, 60)
    gone = {6, 11, 15, 20, 27, 33, 38, 44, 49, 53}
    kept = [k for k in range(60) if k not in gone]
    found = pictures(judge_shot(directions([frames[k] for k in kept])), 0)
    tops, bottoms = zip(*(shown(way, k) for k in kept))
    assert [(tops[p.top], bottoms[p.bottom]) for p in found] == [
        (k, k) for k in sorted(set(tops) & set(bottoms))
    ]


def test_film_that_moves_in_uneven_steps_is_followed_across_edits() -> None:
    places = np.cumsum(np.random.default_rng(5).choice([0.4, 1.2, 3.0], 60))
    uneven = np.stack([scene(2, speed=place)[1] for place in places])
    frames = stored(uneven, 5, 60)
    kept = [*range(17), *range(19, 41), *range(42, 60)]
    found = pictures(judge_shot(directions([frames[k] for k in kept])), 0)
    tops, bottoms = zip(*(shown(5, k) for k in kept))
    assert [(tops[p.top], bottoms[p.bottom]) for p in found] == [
        (k, k) for k in sorted(set(tops) & set(bottoms))
    ]


def test_pictures_shown_twice_now_and_then_are_no_pulldown() -> None:
    # Silent film at 25 frames a second: every third picture comes again, and the fields are those of video.
    pictures = scene(60, speed=2.5)[[k - (k + 1) // 3 for k in range(48)]]
    frames = [weave(top, bottom) for top, bottom in zip(pictures[::2], pictures[1::2])]
    assert judge_shot(directions(frames)).kind != "telecined"


def test_an_edit_that_keeps_the_rhythm_is_seen() -> None:
    frames = stored(scene(80), 5, 60)
    kept = [*range(33), *range(38, 60)]
    found, edits = rhythm(directions([frames[k] for k in kept]), WAYS[5])
    assert list(found) == [k % 5 for k in kept] and edits == (33,)


@pytest.mark.parametrize("first", [0, 1])
def test_doubled_lines_are_no_fields(first: int) -> None:
    # What moves up and down by half a pair of lines combs like fields.
    small = [scene(16, speed=1.0)[k][::2] for k in range(16)]
    doubled = [np.roll(np.repeat(picture, 2, axis=0), first, axis=0) for picture in small]
    assert judge_shot(directions(doubled)).kind in ("progressive", "unknown")


def test_what_rests_cannot_be_told() -> None:
    still = scene(1)[0]
    rng = np.random.default_rng(3)
    frames = [still + rng.normal(0, 5, still.shape).astype(np.float32) for _ in range(12)]
    assert judge_shot(directions(frames)).kind == "unknown"
    assert judge_shot(directions([still] * 12)).kind == "unknown"


@pytest.mark.parametrize("way", [1, 2, 5])
def test_a_small_thing_that_moves_outvotes_what_trembles(way: int) -> None:
    # A codec changes every frame a little, alike in both of its fields: that alone looks progressive.
    rng = np.random.default_rng(way)
    still, moving = scene(1, seed=9)[0], scene(50, speed=2.5)
    pictures = np.repeat(still[None], 50, axis=0)
    pictures[:, 24:72, 40:88] = moving[:, 24:72, 40:88]
    frames = []
    for frame in stored(pictures, way, 15):
        shake = cv2.GaussianBlur(rng.normal(0, 15, frame.shape).astype(np.float32), (0, 0), 3)
        frames.append(np.clip(frame + shake, 0, 255))
    found = judge_shot(directions(frames))
    assert (found.kind, found.order) == (WAYS[way].kind, WAYS[way].order)


def rushing(count: int, step: float) -> np.ndarray:
    """A smooth thing ``(count, h, w)`` that passes a resting camera ever faster, many lines a picture."""
    pictures = []
    for k in range(count):
        picture, y = np.full((192, 256), 60, np.float32), int(-120 + step * k + 0.12 * k * k)
        for x, above, right, below, level in (
            (80, 0, 170, 110, 220),
            (92, 20, 158, 36, 40),
            (92, 76, 158, 88, 90),
        ):
            cv2.rectangle(picture, (x, y + above), (right, y + below), level, -1)
        pictures.append(cv2.GaussianBlur(picture, (0, 0), 2.0))
    return np.stack(pictures)


@pytest.mark.parametrize("way", [0, 1, 2, 3])
def test_what_rushes_by_a_resting_camera_is_told(way: int) -> None:
    # Where all else rests, a large change is no noise: fields far apart are not the same picture woven one field late.
    found = judge_shot(directions(stored(rushing(30, 12.0), way, 12)))
    assert (found.kind, found.order) == (WAYS[way].kind, WAYS[way].order)
    slower = judge_shot(directions(stored(rushing(30, 6.0), way, 12)))
    assert slower.kind in (WAYS[way].kind, "unknown")


def test_progressive_stripes_and_twos_are_not_interlaced() -> None:
    pictures = scene(24)
    pictures[:, 20:60:2, 20:100] = 255.0  # lines of one pixel over what moves
    assert judge_shot(directions(list(pictures[:16]))).kind in ("progressive", "unknown")
    on_twos = [pictures[k // 2] for k in range(24)]
    assert judge_shot(directions(on_twos)).kind in ("progressive", "unknown")


def test_what_scrolls_is_not_called_interlaced() -> None:
    def credits(top: float) -> np.ndarray:
        page = np.full((HEIGHT, WIDTH), 30, np.uint8)
        for line in range(8):
            cv2.putText(page, f"line {line} of it", (5, int(90 + 20 * line - top)), 0, 0.5, 255, 1)
        return page.astype(np.float32)

    stripes = np.tile(np.float32([0, 0, 255, 255]), HEIGHT // 4)[:, None] * np.ones((1, WIDTH), np.float32)
    lit = scene(16)
    lit[:, 1::2] *= 0.5
    page = np.full((400, 176), 20, np.uint8)
    for y in range(20, 390, 16):
        cv2.putText(page, f"lorem ipsum {y} sit amet", (4, y), cv2.FONT_HERSHEY_PLAIN, 0.9, 230, 1)
    clips = {
        "a dense page, a line a frame": [page[k : k + 144].astype(np.float32) for k in range(40)],
        "stripes of two lines": [np.roll(stripes, k, axis=0) for k in range(20)],
        "credits, a line a frame": [credits(40 + k) for k in range(20)],
        "credits, two lines a frame": [credits(40 + 2 * k) for k in range(20)],
        "credits on twos": [credits(40 + 2 * (k // 2)) for k in range(20)],
        "lines of a tube": list(lit),
    }
    for name, frames in clips.items():
        assert judge_shot(directions(frames)).kind in ("progressive", "unknown"), name


def test_the_clip_is_what_most_of_it_is() -> None:
    video, film = stored(scene(50), 1, 15), list(scene(12, seed=4))
    found = judge_shots(directions(video + film), [(0, 15), (15, 27)])
    assert [v.kind for _, v in found.shots] == ["interlaced", "progressive"]
    assert found.record()["kind"] == "mixed" and found.record()["order"] == "tff"
    assert not found.progressive and found.whole.kind == "interlaced"
    unknown = Fields(shots=(((0, 9), Verdict(kind="unknown", probability=0.6)),))
    assert unknown.progressive and unknown.record()["kind"] == "progressive"


@pytest.mark.kernel
def test_moments_are_those_of_fields_read_at_every_line() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.uniform(0, 255, (2, 32, 8)).astype(np.float32)
    moments = np.zeros((2, 2, 5), np.float32)
    field_moments(first, second, np.array([0, 4]), moments)
    fields = np.zeros((2, 2, 32, 8))
    for n, frame in enumerate((first.astype(float), second.astype(float))):
        for y in range(2, 30):
            fields[n, y % 2, y] = (frame[y - 2] + 4 * frame[y] + frame[y + 2]) / 6
            fields[n, 1 - y % 2, y] = (frame[y - 1] + frame[y + 1]) / 2
    top, bottom = fields[1] - fields[0]
    comb = (fields[:, 0] - fields[:, 1]).mean(axis=0)
    for row, lines in enumerate((slice(2, 16), slice(16, 30))):
        for column, left in enumerate((0, 4)):
            t, b, c = (plane[lines, left : left + 4].ravel() for plane in (top, bottom, comb))
            wanted = [
                np.cov(one, two, bias=True)[0, 1] for one, two in ((t, t), (b, b), (t, b), (t, c), (b, c))
            ]
            assert moments[row, column] == pytest.approx(wanted, rel=1e-3, abs=1.0)


@pytest.mark.parametrize("way", [0, 1, 3, 5])
def test_what_a_codec_shakes_is_no_motion(way: int) -> None:
    # Coarse errors that both fields of a frame share, new in every frame, and nothing moves: said to be progressive before.
    rng = np.random.default_rng(way)
    still = scene(1, seed=9)[0]
    frames = []
    for _ in range(24):
        shake = cv2.GaussianBlur(rng.normal(0, 60, still.shape).astype(np.float32), (0, 0), 2)
        frames.append(np.rint(np.clip(still + shake, 0, 255)))
    assert judge_shot(directions(frames)).kind == "unknown"
