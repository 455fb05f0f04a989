import cv2
import numpy as np
import pytest

from tests.reference import inpaint as twin
from videorestore.motion._kernels_inpaint import mingle, misfits, regress, shares, teach
from videorestore.motion._kernels_still import resting, settle
from videorestore.motion.inpaint_fusion import Guess, _binned, _bins, _own, _spread, _wide_mean, fuse
from videorestore.spatial.kriging import fill
from videorestore.spatial.membrane import gaussian_mean

pytestmark = pytest.mark.kernel


def test_what_rests_equals_its_twin():
    rng = np.random.default_rng(1)
    frames = rng.uniform(0, 255, (7, 5, 7, 2)).astype(np.float32)
    shown = rng.random((7, 3, 4)) < 0.6
    shown[:, 0, 0] = False
    mean, near = np.zeros((2, 3, 4, 2), np.float32)
    apart, sides, count = np.zeros((3, 3, 4), np.float32)
    wide = np.ones((3, 4), bool)
    wide[2, 3] = False
    resting(frames, shown, wide, 2, 1, 3, mean, near, apart, sides, count)
    box = frames[:, 1:4, 3:7]
    slow_mean, slow_count = twin.midmean(box, shown, 2)
    np.testing.assert_allclose(mean[wide], slow_mean[wide], rtol=1e-5)
    np.testing.assert_array_equal(count, np.where(wide, slow_count, 0))
    for y, x in np.argwhere(wide):
        before, after = ([k for k in ks if shown[k, y, x]] for ks in ((1, 0), range(3, 7)))
        ends = [box[ks[0], y, x] for ks in (before, after) if ks]
        assert sides[y, x] == len(ends)
        np.testing.assert_allclose(near[y, x], np.mean(ends, axis=0) if ends else 0, rtol=1e-5)
        gap = np.mean((ends[0] - ends[1]) ** 2) / 4 if len(ends) == 2 else 0
        np.testing.assert_allclose(apart[y, x], gap, rtol=1e-4)


def test_only_what_rests_to_the_bit_is_taken_as_it_is():
    frames = np.full((5, 1, 4, 1), 100, np.float32)
    masks = np.zeros((5, 1, 4), bool)
    masks[2] = True
    frames[3, 0, 1] = 101  # changes
    masks[:2, 0, 2] = True  # too few show it
    made = np.array([[[101.0], [100.5], [100.5], [103.0]]], np.float32)
    settle(frames, masks, 2, 4, 3, 1e-3, 2.0, made)
    np.testing.assert_array_equal(made.ravel(), [100, 100.5, 100.5, 103])


def scattered(count=3, height=11, width=14, channels=2, seed=3):
    """Guesses at a frame, and what is known of it; the size is no multiple of a bin."""
    rng = np.random.default_rng(seed)
    frame = rng.uniform(0, 255, (height, width, channels)).astype(np.float32)
    pixels = (frame + rng.normal(0, 9, (count, *frame.shape))).astype(np.float32)
    known = rng.random((height, width)) < 0.6
    trust = rng.uniform(0.2, 1, (count, height, width)).astype(np.float32)
    variance = rng.uniform(0, 5, (count, height, width)).astype(np.float32)
    return frame, pixels, known, trust, variance


def test_misfits_are_added_up_in_bins():
    frame, pixels, known, trust, variance = scattered()
    sums = _bins(known.shape, 6)
    misfits(pixels, frame, known, trust, variance, sums)
    weight = known * trust * 4 / (variance + 4)
    error = np.square(pixels - frame).mean(axis=3)
    expected = [_binned(field.astype(np.float32)) for field in (*(weight * error), *weight)]
    np.testing.assert_allclose(sums, np.dstack(expected), rtol=1e-4)


def test_shares_follow_the_errors_around():
    _, _, known, trust, variance = scattered()
    coarse = np.random.default_rng(5).uniform(0.5, 2, (3, 4, 6)).astype(np.float32)
    usual = np.array([4.0, 40.0, 400.0], np.float32)
    errors, prior = np.zeros((2, *trust.shape), np.float32)
    wide = np.ones_like(known)
    wide[0, 0] = False
    shares(wide, coarse, usual, trust, variance, 0.05, errors, prior)
    large = cv2.resize(coarse, (16, 12), interpolation=cv2.INTER_LINEAR)[:11, :14]
    exact = np.moveaxis((large[..., :3] + 1e-3 * usual) / (large[..., 3:] + 1e-3), 2, 0)
    least = exact.min(axis=0)
    share = trust / (exact - 0.8 * least + variance + np.clip(least, 0.05, 1))
    np.testing.assert_allclose(errors[:, wide], exact[:, wide], rtol=1e-4)
    np.testing.assert_allclose(prior[:, wide], (share / share.sum(axis=0))[:, wide], rtol=1e-4)
    assert (prior[:, 0, 0] == 0).all()


def test_a_regression_leaves_out_the_pixel_itself():
    frame, pixels, known, trust, variance = scattered(height=12, width=16)
    rng = np.random.default_rng(7)
    errors, prior = rng.uniform(1, 9, trust.shape).astype(np.float32), np.full_like(trust, 1 / 3)
    drift, sums, spread = np.empty_like(frame), _bins(known.shape, 13), np.zeros(known.shape, np.float32)
    wide = np.ones_like(known)
    given = [np.concatenate([np.full_like(a[:1], np.nan), a]) for a in (pixels, trust, variance, errors)]
    best = np.array([1, 2, 3])  # what was not chosen is not read
    teach(wide, best, given[0], frame, known, given[2], prior, drift, sums)
    np.testing.assert_allclose(drift, pixels.mean(axis=0), rtol=1e-5)
    origin, step = drift.copy(), pixels - drift
    rows, columns = np.nonzero(wide)
    means = _spread(sums, 5.0)
    regress(
        rows, columns, means, best, given[0], frame, known, *given[1:], prior, _own(5.0), 0.05, drift, spread
    )  # fmt: skip

    def around(field, y, x):
        """The mean that the kernel takes of a field at a pixel, as if nothing were known there."""
        seen = known.copy()
        seen[y, x] = False
        both = [_spread(_binned((f * seen).astype(np.float32)), 5.0) for f in (field, np.ones(known.shape))]
        field, share = (cv2.resize(f, (16, 12), interpolation=cv2.INTER_LINEAR)[y, x] for f in both)
        return field / (share + 1e-3)

    for y, x in ((5, 6), (6, 9), (7, 7), (4, 8)):
        gram = np.array([[around((a * b).mean(axis=2), y, x) for a in step] for b in step])
        load = np.array([around((a * (frame - origin)).mean(axis=2), y, x) for a in step])
        own = np.maximum(variance[:, y, x] - [around(v, y, x) for v in variance], 0)
        own += (errors + variance)[:, y, x] * (1 / trust[:, y, x] - 1)
        ridge = 2 * np.clip(errors[:, y, x].min(), 0.05, 1) + 0.05 * errors[:, y, x].mean()
        weights = np.linalg.solve(gram + np.diag(ridge + own), load)
        fitted = origin[y, x] + weights @ step[:, y, x]
        np.testing.assert_allclose(drift[y, x], fitted, rtol=1e-3)
        apart = np.square(pixels[:, y, x] - fitted).mean(axis=1) + variance[:, y, x]
        np.testing.assert_allclose(spread[y, x], apart.mean(), rtol=1e-2)


def test_two_corrections_are_mingled_by_their_fit_around():
    rng = np.random.default_rng(8)
    detail, alone, wanted = rng.normal(0, 5, (3, 8, 12, 2)).astype(np.float32)
    known = rng.random((8, 12)) < 0.7
    coarse = np.broadcast_to(np.array([9, 2, 8, 6, 3, 5, 0.5], np.float32), (2, 3, 7)).copy()
    rows, columns = np.nonzero(~known)
    farther = rng.uniform(0, 2, len(rows)).astype(np.float32)
    mixed = np.zeros_like(detail)
    mingle(rows, columns, coarse, known, detail, alone, wanted, farther, _own(6.0), mixed)
    over = 0.5 + 1e-3
    for y, x, far in zip(rows, columns, farther):
        gram = np.array([[9 / over * 1.02 + 2, 2 / over], [2 / over, 8 / over * 1.02 + 2 + 5 / over * far]])
        share = np.clip(np.linalg.solve(gram, np.array([6, 3]) / over), 0, 1)
        share /= max(share.sum(), 1)
        np.testing.assert_allclose(
            mixed[y, x], share[0] * detail[y, x] + share[1] * alone[y, x], rtol=1e-3, atol=1e-4
        )
    assert (mixed[known] == 0).all()


@pytest.mark.parametrize("shape", [(40, 52), (41, 50, 3)])
def test_means_by_bins_are_nearly_gaussian_means(shape):
    rng = np.random.default_rng(9)
    image = rng.uniform(0, 255, shape).astype(np.float32)
    where = rng.random(shape[:2]) < 0.5
    exact = gaussian_mean(image, where.astype(np.float32), 5.0, fallback=25.0)
    near = _wide_mean(image, where, 5.0, fallback=25.0)
    assert np.abs(near - exact)[16:-16, 16:-16].max() < 0.15 * image.std()


def test_the_better_guess_wins_and_the_sd_tells():
    rng = np.random.default_rng(3)
    frame = rng.uniform(50, 200, (32, 32, 1)).astype(np.float32)
    known = np.ones((32, 32), bool)
    known[12:18, 12:18] = False
    flat = np.full((32, 32), 1, np.float32)
    nothing = np.zeros((32, 32), np.float32)

    def guess(noise):
        pixels = (frame + rng.normal(0, noise, frame.shape)).astype(np.float32)
        return Guess(pixels=pixels, trust=flat, variance=nothing, usual=400.0)

    spatial = np.full_like(frame, 125)
    spread = np.full_like(frame, 40)
    seen = np.where(known[..., None], frame, 0).astype(np.float32)
    mean, variance = fuse(seen, known, [guess(2), guess(30)], spatial, spread)
    np.testing.assert_array_equal(mean[known], frame[known])
    assert np.sqrt(np.mean((mean - frame)[~known] ** 2)) < 4
    _, poor = fuse(seen, known, [guess(30)], spatial, spread)
    assert poor[~known].mean() > 10 * variance[~known].mean()


def test_where_motion_fails_the_spatial_fill_serves():
    rng = np.random.default_rng(6)
    y, x = np.mgrid[0:48, 0:48].astype(np.float32)
    # Dark to bright, so that the picture varies far more than what lies between two known pixels.
    frame = (128 + 90 * np.sin(x / 14) * np.cos(y / 16))[..., None].astype(np.float32)
    known = rng.random((48, 48)) < 0.5
    seen = np.where(known[..., None], frame, 0).astype(np.float32)
    spatial, spread = fill(seen, known)
    wrong = (frame + rng.normal(0, 60, frame.shape)).astype(np.float32)
    sure, nothing = np.ones((48, 48), np.float32), np.zeros((48, 48), np.float32)
    mean, _ = fuse(
        seen, known, [Guess(pixels=wrong, trust=sure, variance=nothing, usual=400.0)], spatial, spread
    )
    assert np.sqrt(np.mean((mean - frame)[~known] ** 2)) < 4
