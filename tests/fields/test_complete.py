"""The missing lines of fields, against a dense solution and planted scenes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from videorestore.fields._kernels import krige, sample
from videorestore.fields.complete import (
    POWERS,
    SHARED,
    SILL,
    TABLES,
    WHITE,
    _shape,
    complete,
    complete_plane,
    noise_variance,
    scenes,
)
from videorestore.fields.reading import NOISE, Field, amiss, own_lines
from videorestore.make.interlaced import _with_fields


def dense(own, offsets, values, errors, texture, power):
    """`krige` for one pixel by NumPy's solver: mean and variance."""
    sill, white, reach, noise = SILL, WHITE, SHARED, NOISE
    places = np.concatenate([[-3.0, -1.0, 1.0, 3.0], *[o + np.array([-2.0, 0.0, 2.0]) for o in offsets]])
    data = np.concatenate([own, *values])
    source = np.repeat(np.arange(-1, len(offsets)), [4] + [3] * len(offsets))
    apart = np.abs(places[:, None] - places[None]) / 2
    gram = texture * (sill - 0.5 * apart**power) + noise * np.eye(len(places))
    for j, error in enumerate(errors):
        same = (source[:, None] == j) & (source[None] == j)
        gram += same * error * ((1 - white) * np.exp(-apart / reach) + white * np.eye(len(places)))
    link = texture * (sill - 0.5 * (np.abs(places) / 2) ** power)
    centre = 0.5 * (own[1] + own[2])
    weights = np.linalg.solve(gram, link)
    return centre + weights @ (data - centre), texture * sill + noise - weights @ link


@pytest.mark.kernel
def test_krige_is_the_dense_posterior() -> None:
    rng = np.random.default_rng(0)
    own = rng.uniform(0, 255, (2, 3, 4)).astype(np.float32)
    offsets = rng.uniform(-1, 1, (2, 2, 3)).astype(np.float32)
    values = rng.uniform(0, 255, (2, 2, 3, 3)).astype(np.float32)
    errors = rng.uniform(0.5, 60, (2, 2, 3)).astype(np.float32)
    texture = rng.uniform(2, 300, (2, 3)).astype(np.float32)
    rough = rng.integers(0, len(POWERS), (2, 3))
    mean, sd = np.empty((2, 10, 3), np.float32)
    krige(
        np.tile(own, (5, 1, 1)),
        *(np.tile(a, (1, 5, 1, 1)[: a.ndim]) for a in (offsets, values, errors)),
        np.tile(texture, (5, 1)),
        np.tile(rough, (5, 1)),
        TABLES,
        np.array([WHITE, NOISE]),
        0,
        20,
        mean,
        sd,
    )
    for y in range(2):
        for x in range(3):
            wanted, variance = dense(
                own[y, x],
                offsets[:, y, x],
                values[:, y, x],
                errors[:, y, x],
                texture[y, x],
                POWERS[rough[y, x]],
            )
            # The tables are straight between their steps.
            assert mean[y + 4, x] == pytest.approx(wanted, rel=2e-3)
            assert sd[y + 4, x] == pytest.approx(np.sqrt(variance), rel=1e-2)


@pytest.mark.kernel
@pytest.mark.parametrize(("parity", "beyond"), [(0, (3,)), (1, (0, 1))])
def test_lines_beyond_the_border_say_nothing(parity: int, beyond: tuple[int, ...]) -> None:
    own = np.random.default_rng(0).uniform(0, 255, (1, 3, 4)).astype(np.float32)
    none, model = np.empty((0, 1, 3), np.float32), np.array([WHITE, NOISE])
    texture, rough = np.full((1, 3), 50, np.float32), np.zeros((1, 3), np.int64)
    made = []
    for copies in (0, 9):
        given = own.copy()
        given[..., beyond[0]] += copies
        mean, sd = np.empty((2, 1, 3), np.float32)
        words = given, none, none[..., None].repeat(3, -1), none, texture, rough, TABLES, model
        krige(*words, parity, 4 if parity == 0 else 2, mean, sd)
        made.append((mean, sd))
    np.testing.assert_allclose(*made, atol=1e-4)


@pytest.mark.kernel
def test_sample_reads_the_lines_of_a_field() -> None:
    picture = np.arange(8 * 6, dtype=np.float32).reshape(8, 6)
    offsets, values = np.empty((8, 6), np.float32), np.empty((8, 6, 3), np.float32)
    sample(np.ascontiguousarray(picture[1::2]), 1, np.zeros((8, 6, 2), np.float32), offsets, values)
    assert np.array_equal(offsets[:, 0], [1, 0, 1, 0, 1, 0, 1, 0])
    assert np.array_equal(values[3, :, 0], picture[1])
    assert np.array_equal(values[3, :, 1], picture[3])
    assert np.array_equal(values[3, :, 2], picture[5])
    flow = np.zeros((8, 6, 2), np.float32)
    flow[...] = 1.0, 2.0
    sample(np.ascontiguousarray(picture[1::2]), 1, flow, offsets, values)
    assert np.allclose(values[1, :4, 1], picture[3, 1:5])


@pytest.mark.parametrize("parity", [0, 1])
@pytest.mark.parametrize("height", [8, 9])
def test_own_lines_are_those_around_each_missing_one(parity: int, height: int) -> None:
    lines = own_lines(np.repeat(np.arange(height, dtype=np.float32)[:, None], 3, axis=1), parity)[:, 0]
    missing = np.arange(1 - parity, height, 2)
    assert len(lines) == len(missing)
    last = height - 1 if (height - 1) % 2 == parity else height - 2
    for row, y in zip(lines, missing):
        assert np.array_equal(row, np.clip([y - 3, y - 1, y + 1, y + 3], parity, last))


def test_what_rests_is_woven_and_what_moves_is_better_than_interpolated() -> None:
    rng = np.random.default_rng(1)
    still = rng.uniform(0, 255, (48, 64)).astype(np.float32)
    fields = [Field(planes=(still,), parity=k % 2) for k in range(7)]
    [(planes, sds)] = complete(fields, range(3, 4))
    lines = own_lines(still, 1)
    plain = np.square(still[::2] - 0.5 * (lines[..., 1] + lines[..., 2])).mean()
    assert np.square(planes[0] - still)[::2].mean() < 0.03 * plain
    assert np.array_equal(planes[0][1::2], still[1::2]) and not sds[0][1::2].any()
    base = np.cumsum(rng.normal(0, 12, (48, 110)), axis=1).astype(np.float32) + still[:, :1] * 0.3
    moving = [np.ascontiguousarray(base[:, 3 * k : 3 * k + 80]) for k in range(7)]
    fields = [Field(planes=(picture,), parity=k % 2) for k, picture in enumerate(moving)]
    [(planes, _)] = complete(fields, range(3, 4))
    lines = own_lines(moving[3], 1)
    plain = np.square(moving[3][::2] - 0.5 * (lines[..., 1] + lines[..., 2])).mean()
    assert np.square(planes[0] - moving[3])[::2].mean() < 0.25 * plain


def test_a_cut_between_two_fields_is_not_read_over() -> None:
    rng = np.random.default_rng(8)
    one, two = (cv2.blur(rng.uniform(0, 255, (48, 110)).astype(np.float32), (7, 7)) for _ in range(2))
    ramp = np.linspace(0.2, 1.5, 48, dtype=np.float32)[:, None]
    shown = [(one * ramp if k < 5 else two * ramp[::-1])[:, 2 * k : 2 * k + 80] for k in range(10)]
    fields = [Field(planes=(np.ascontiguousarray(p),), parity=k % 2) for k, p in enumerate(shown)]
    assert scenes(fields) == [range(0, 5)] * 5 + [range(5, 10)] * 5
    assert scenes(fields[4:]) == [range(0, 1)] + [range(1, 6)] * 5
    assert scenes(fields[:5]) == [range(0, 5)] * 5
    # Two fields before the cut: what the fields behind it show has no part in them.
    ((over,), _), ((alone,), _) = (next(complete(some, range(4, 5))) for some in (fields, fields[:5]))
    assert np.abs(over - alone).max() < 1


def test_the_power_of_a_variogram_is_found() -> None:
    rng = np.random.default_rng(2)
    places = np.arange(4.0)
    for power in (1.0, 1.5):
        gram = 50.0 - 0.5 * np.abs(places[:, None] - places[None]) ** power
        lines = 20 * rng.multivariate_normal(np.zeros(4), gram, (60, 80)).astype(np.float32)
        texture, rough = _shape(lines, [])
        assert POWERS[rough].mean() == pytest.approx(power, abs=0.1)
        assert texture.mean() == pytest.approx(400.0, rel=0.1)


def test_a_resting_line_at_the_border_is_woven() -> None:
    # The field itself has no line beyond it: that the place has texture, only the other fields know.
    still = np.full((32, 48), 180.0, np.float32)
    still[0] = 16.0
    fields = [Field(planes=(still,), parity=k % 2) for k in range(5)]
    flows = {j: np.zeros((32, 48, 2), np.float32) for j in (-2, -1, 1, 2) if 0 <= 1 + j < 5}
    mean, _ = complete_plane(fields, 1, 0, flows)
    assert np.abs(mean[0] - 16.0).max() < 4.0


def test_what_moves_out_of_the_picture_leaves_no_garbage() -> None:
    # Flows that lead far beyond the border were followed by extrapolation: black, white and coloured specks along it.
    rng = np.random.default_rng(3)
    pictures = 48 + rng.integers(0, 3, 5)[:, None, None] + np.zeros((5, 64, 48), np.float32)
    fields = [Field(planes=(picture,), parity=n % 2) for n, picture in enumerate(pictures)]
    for way in (-1.0, 1.0):
        flows = {j: np.zeros((64, 48, 2), np.float32) for j in (-2, -1, 1, 2)}
        for flow in flows.values():
            flow[..., 1] = way * rng.uniform(0, 40, (64, 48))
        mean, _ = complete_plane(fields, 2, 0, flows)
        assert np.abs(mean - 49).max() < 4


def panned(speed: float, count: int = 7) -> list[np.ndarray]:
    """Fine texture ``(64, 96)`` that sinks by ``speed`` lines and moves aside by as much a picture."""
    rng = np.random.default_rng(5)
    base = cv2.GaussianBlur(rng.uniform(0, 255, (120, 160)).astype(np.float32), (0, 0), 1.1)
    base = (base - base.mean()) * 3 + 128
    way = [np.float32([[1, 0, -speed * k], [0, 1, -speed * k]]) for k in range(count)]
    return [cv2.warpAffine(base, m, (96, 64), flags=cv2.INTER_CUBIC) for m in way]


def test_a_slow_pan_is_followed_at_once() -> None:
    # Between fields of unlike parity the lines that each lacks look like motion; between those of the same they do not.
    moving = panned(0.3)
    fields = [Field(planes=(picture,), parity=k % 2) for k, picture in enumerate(moving)]
    [(planes, _)] = complete(fields, range(3, 4), rounds=1)
    lines = own_lines(moving[3], 1)
    plain = np.square(moving[3][::2] - 0.5 * (lines[..., 1] + lines[..., 2])).mean()
    assert np.square(planes[0] - moving[3])[::2].mean() < 0.055 * plain


def test_noise_is_measured_plane_by_plane_and_taken_out_of_the_texture() -> None:
    rng = np.random.default_rng(7)
    moving = [np.clip(picture, 0, 255) for picture in panned(1.3, 6)]
    noisy = [tuple(p + rng.normal(0, sd, p.shape).astype(np.float32) for sd in (0, 6)) for p in moving]
    fields = [Field(planes=planes, parity=k % 2) for k, planes in enumerate(noisy)]
    flat = [
        np.full((64, 96), 90, np.float32) + rng.normal(0, 6, (64, 96)).astype(np.float32) for _ in range(6)
    ]
    even = [Field(planes=(p,), parity=k % 2) for k, p in enumerate(flat)]
    assert noise_variance(even, 0) == pytest.approx(36, rel=0.15)
    assert noise_variance(fields, 1) > noise_variance(fields, 0) + 15
    # What only noise makes rough is a mean of what all fields say, not a copy of one.
    flows = {j: np.zeros((64, 96, 2), np.float32) for j in (-2, -1, 1, 2)}
    spread = [float(np.std(complete_plane(even, 2, 0, flows, noise)[0])) for noise in (NOISE, 36.0)]
    assert spread[1] < 0.6 * spread[0] and spread[1] < 3


@pytest.mark.parametrize("parity", [0, 1])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_sd_of_restored_fields_is_in_that_of_the_frame(parity: int, channels: int) -> None:
    sd = np.full((8, 4, 3), 3.0, np.float32)
    sd[parity::2] = 0.0
    of_fields = np.full((8, 4, channels), 4.0, np.float32)
    of_fields[1 - parity :: 2] = np.nan  # of the other field: another time
    total = _with_fields(sd, of_fields, parity)
    assert total.shape == sd.shape
    assert total[parity::2] == pytest.approx(4.0) and total[1 - parity :: 2] == pytest.approx(5.0)


@pytest.mark.parametrize(("fields", "lines"), [(2.0, 1.0), (1.0, 1.0), (0.5, 2.0)])
def test_errors_of_fields_are_told_beside_those_of_own_lines(fields: float, lines: float) -> None:
    rng = np.random.default_rng(0)
    shape = (144, 352)
    truth = rng.uniform(0, 255, shape).astype(np.float32)

    def seen(variance: float) -> np.ndarray:
        return (truth + rng.normal(0, np.sqrt(variance), shape)).astype(np.float32)

    offsets = np.zeros((2, *shape), np.float32)
    values = np.stack([np.repeat(seen(4.0 * fields)[..., None], 3, axis=2) for _ in range(2)])
    alone = seen(9.0 * lines), np.full(shape, 9.0, np.float32)
    times = amiss({-1: 0, 1: 1}, np.full_like(offsets, 4.0), offsets, values, alone, truth, NOISE)
    assert np.abs(np.log(times * lines / fields)).max() < 0.3
