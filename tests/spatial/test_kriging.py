import numpy as np
import pytest

from tests.reference import kriging as twin
from videorestore.spatial.kriging import fill, neighbours_of

pytestmark = pytest.mark.kernel


def krige(values, known, *, targets=None, gap=None, **options):
    """Values with those of the targets predicted, and the sd there."""
    wanted = ~known if targets is None else targets
    field = values.reshape(*known.shape, -1)
    mean, sd = np.where(known[..., None], field, 0), np.zeros(known.shape, np.float32)
    found = neighbours_of(known, wanted, gap, **options)
    mean[wanted], sd[wanted] = found.means(field), np.sqrt(found.variance)
    return mean.reshape(values.shape), sd


@pytest.mark.parametrize("with_gap", [False, True])
def test_kriging_equals_dense_solves(with_gap):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(9, 11, 2)).astype(np.float32)
    known = rng.random((9, 11)) < 0.4
    targets = np.ones_like(known) if with_gap else ~known
    options = {"length": 2.5, "nugget": 0.02, "neighbours": 7, "radius": 3}
    gap = rng.uniform(0, 2.5, (9, 11)).astype(np.float32) if with_gap else None
    mean, sd = krige(values, known, targets=targets, gap=gap, **options)
    slow_mean, slow_sd = twin.krige(values, known, targets, gap=gap, **options)
    np.testing.assert_allclose(mean[targets], slow_mean[targets], atol=2e-5)
    np.testing.assert_allclose(sd[targets], slow_sd[targets], atol=2e-3)


def test_neighbours_serve_every_field():
    rng = np.random.default_rng(5)
    known = rng.random((9, 11)) < 0.5
    found = neighbours_of(known, ~known, neighbours=6, radius=3)
    for channels in (1, 3):
        field = rng.normal(size=(9, 11, channels)).astype(np.float32)
        mean, sd = krige(field, known, neighbours=6, radius=3)
        np.testing.assert_array_equal(found.means(field), mean[~known])
        np.testing.assert_allclose(np.sqrt(found.variance), sd[~known])
        np.testing.assert_allclose(found.put(np.ones_like(field), field)[~known], 1 + mean[~known], rtol=1e-6)


def test_unknown_values_are_never_read():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(8, 8)).astype(np.float32)
    known = rng.random((8, 8)) < 0.5
    holes = np.where(known, values, np.nan).astype(np.float32)
    mean, sd = krige(holes, known)
    again, _ = krige(np.where(known, values, 1e9).astype(np.float32), known)
    assert np.isfinite(mean).all() and np.isfinite(sd).all()
    np.testing.assert_array_equal(mean, again)
    np.testing.assert_array_equal(mean[known], values[known])
    assert (sd[known] == 0).all() and (sd[~known] > 0).all()


def test_nothing_near_gives_the_prior():
    mean, sd = krige(np.full((5, 5), np.nan, np.float32), np.zeros((5, 5), bool))
    assert (mean == 0).all() and (sd == 1).all()


def test_fill_recovers_a_smooth_picture_with_honest_sd():
    y, x = np.mgrid[0:48, 0:64].astype(np.float32)
    picture = 128 + 60 * np.sin(x / 6) * np.cos(y / 7) + np.random.default_rng(3).normal(0, 2, (48, 64))
    picture = np.stack([picture, 255 - picture, picture * 0.5], axis=2).astype(np.float32)
    known = np.random.default_rng(4).random((48, 64)) < 0.5
    filled, sd = fill(np.where(known[..., None], picture, np.nan).astype(np.float32), known)
    np.testing.assert_array_equal(filled[known], picture[known])
    error = np.abs(filled - picture)[~known]
    assert np.sqrt((error**2).mean()) < 0.12 * picture.std()
    assert 0.85 < (error < 1.96 * sd[~known]).mean() <= 1.0
    # A picture with dark and bright places is no less sure between known pixels than a grey one.
    assert np.sqrt((sd[~known] ** 2).mean()) < 2.5 * np.sqrt((error**2).mean())


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 7, 1), (2, 3, 3)])
def test_tiny_pictures_and_nothing_known(shape):
    nothing = np.full(shape, np.nan, np.float32)
    filled, sd = fill(nothing, np.zeros(shape[:2], bool))
    assert np.isfinite(filled).all() and (sd > 0).all()
    whole = np.full(shape, 7, np.float32)
    filled, sd = fill(whole, np.ones(shape[:2], bool))
    assert (filled == 7).all() and (sd == 0).all()
