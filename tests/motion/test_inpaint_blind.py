"""Holes of which nothing is ever seen."""

import cv2
import numpy as np
import pytest

from videorestore.motion.inpaint import inpaint
from videorestore.motion.inpaint_blind import _kriged, blind_fill, mixture, outline


def box(shape=(48, 64), top=14, left=20, height=12, width=20):
    hole = np.zeros(shape, bool)
    hole[top : top + height, left : left + width] = True
    return hole


def edges(shape=(48, 64)):
    """Upright stripes of unequal width, in three colours."""
    row = np.repeat(np.random.default_rng(3).uniform(40, 220, (shape[1] // 4, 3)), 4, axis=0)
    return np.tile(row[None], (shape[0], 1, 1)).astype(np.float32)


def test_the_outline_has_the_hole_and_what_lies_around():
    hole = box()
    shape, corner = outline(hole)
    assert corner.tolist() == [14, 20]
    assert len(shape.inside) == hole.sum()
    at = shape.rim + corner
    assert not hole[at[:, 0], at[:, 1]].any()
    assert len(at) <= 340 and len(np.unique(at, axis=0)) == len(at)


def test_what_is_constant_stays_so():
    hole = box()
    frame = np.where(hole[..., None], np.float32(0), np.float32(77))
    mean, variance = blind_fill(frame, ~hole, hole)
    np.testing.assert_allclose(mean, 77, atol=1e-3)
    assert variance.max() < 2


def test_upright_edges_go_on_inside():
    hole, true = box(), edges()
    frame = np.where(hole[..., None], np.float32(0), true)
    mean, variance = blind_fill(frame, ~hole, hole)
    error = np.square(mean - true[hole]).mean()
    telea = cv2.inpaint(frame.astype(np.uint8), hole.astype(np.uint8), 3, cv2.INPAINT_TELEA)
    assert error < 0.7 * np.square(telea[hole].astype(float) - true[hole]).mean()
    # The hole beside it tells how large the error is.
    assert 0.2 * variance.mean() < error < 5 * variance.mean()


@pytest.mark.parametrize("corner", [(0, 0), (36, 44)])
def test_a_hole_at_the_border_is_filled(corner):
    hole, true = box(top=corner[0], left=corner[1]), edges()
    mean, variance = blind_fill(np.where(hole[..., None], np.float32(0), true), ~hole, hole)
    assert np.isfinite(mean).all() and (variance > 0).all()
    assert mean.min() > 0 and mean.max() < 255


def test_nothing_known_at_all():
    hole = np.ones((20, 20), bool)
    mean, variance = blind_fill(np.zeros((20, 20, 3), np.float32), ~hole, hole)
    assert np.array_equal(np.unique(mean), [128]) and (variance > 100).all()


def test_kriging_equals_the_system_solved_for_each_target():
    rng = np.random.default_rng(0)
    at, targets = rng.integers(0, 30, (12, 2)), rng.integers(0, 30, (5, 2)) + 0.5
    values = rng.normal(0, 1, (12, 2))

    def variogram(a, b):
        return np.linalg.norm(a[:, None] - b[None], axis=2) ** 0.5

    system = np.ones((13, 13))
    system[12, 12] = 0
    system[:12, :12] = -variogram(at, at) + 0.1 * 8**0.5 * np.eye(12)
    weights = np.linalg.solve(system, np.concatenate([-variogram(at, targets), np.ones((1, 5))]))[:12]
    np.testing.assert_allclose(_kriged(at, values, targets, 0.5, 0.1), weights.T @ values, atol=1e-5)
    np.testing.assert_allclose(weights.sum(axis=0), 1)


def test_the_mixture_leans_to_the_better_guess():
    rng = np.random.default_rng(1)
    errors = rng.normal(0, 1, (3, 500)) * np.array([[1.0], [3.0], [9.0]])
    weights = mixture(errors)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert weights[0] > 0.5 > weights[1] > weights[2]
    np.testing.assert_allclose(mixture(np.ones((3, 4))), 1 / 3, atol=1e-6)


def test_a_logo_over_a_still_scene_is_not_worse_than_other_fills():
    true = cv2.GaussianBlur(np.random.default_rng(5).uniform(0, 255, (48, 64, 3)), (0, 0), 4).astype(
        np.float32
    )
    true = np.clip(128 + 6 * (true - true.mean()), 0, 255)
    hole = box()
    frames = np.repeat(np.where(hole[..., None], np.float32(0), true)[None], 4, axis=0)
    made, sd = inpaint(frames, np.repeat(hole[None], 4, axis=0))
    error = np.sqrt(np.square(made[:, hole] - true[hole]).mean())
    for method in (cv2.INPAINT_TELEA, cv2.INPAINT_NS):
        peer = cv2.inpaint(frames[0].astype(np.uint8), hole.astype(np.uint8), 3, method)
        assert error < 1.05 * np.sqrt(np.square(peer[hole] - true[hole]).mean())
    # The same content in every frame: nothing flickers.
    assert np.abs(np.diff(made, axis=0)).max() < 1
    assert (sd[:, hole] > 0).all()


def test_the_sd_of_a_hole_in_a_calm_place_is_smaller_than_beside_a_lively_one():
    rng = np.random.default_rng(11)
    calm = rng.normal(128, 2, (64, 96, 3))
    lively = calm + np.kron(rng.normal(0, 40, (16, 24, 1)), np.ones((4, 4, 1)))
    frame = np.where(np.arange(96)[None, :, None] < 48, calm, lively).astype(np.float32)
    spread = []
    for left in (18, 66):
        hole = np.zeros((64, 96), bool)
        hole[26:38, left : left + 12] = True
        values, variance = blind_fill(frame, ~hole, hole)
        spread.append(np.sqrt(variance.mean()))
        assert (np.abs(values - frame[hole]) < 1.96 * np.sqrt(variance)).mean() > 0.8
    assert spread[0] < 0.5 * spread[1]
