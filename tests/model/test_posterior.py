import numpy as np
import pytest

from tests.model.planted import planted
from tests.reference import gp as twin
from videorestore.errors import InputError
from videorestore.model import ElectroGP


def _dense(model, y, at):
    centred = y - model.mean_
    # Predictions use the noise ratio of a pixel's group.
    noise = model.phi_ * model.fit_.ratio[model.fit_.label]
    return twin.predict(centred, model.embedding_, at, model.kernel_, model.alpha_, model.phi_, noise)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("kernel", ["se", "matern52"])
def test_mean_and_sd_equal_the_dense_twin(kernel, missing):
    _, _, y = planted(25, 14)
    y[np.random.default_rng(0).uniform(size=y.shape) < missing] = np.nan
    model = ElectroGP(kernel=kernel, init="order", marginal=False).fit(y)
    at = np.linspace(-0.1, 1.1, 7)
    mean, sd = model.inverse_transform(at, return_std=True)
    slow_mean, slow_sd = _dense(model, y, at)
    np.testing.assert_allclose(mean, slow_mean + model.mean_, atol=1e-6)
    np.testing.assert_allclose(sd, slow_sd, atol=1e-6)


def test_leave_one_out_is_the_fit_without_that_frame():
    _, _, y = planted(20, 6)
    model = ElectroGP(hyper="shared", init="order", marginal=False).fit(y)
    mean, sd = model._posterior.leave_one_out(y)
    for i in (0, 7, 19):
        rest = np.delete(np.arange(20), i)
        x = model.embedding_
        slow, slow_sd = twin.predict(
            (y - model.mean_)[rest], x[rest], x[i : i + 1], "se", model.alpha_, model.phi_, model.noise_var_
        )
        np.testing.assert_allclose(mean[i], slow[0] + model.mean_, atol=1e-7)
        np.testing.assert_allclose(sd[i], np.sqrt(slow_sd[0] ** 2 + model.noise_var_), atol=1e-7)


def test_log_score_is_the_mean_of_leave_one_out_densities():
    _, _, y = planted(20, 6)
    model = ElectroGP(hyper="shared", init="order", marginal=False).fit(y)
    mean, sd = model._posterior.leave_one_out(y)
    logs = -0.5 * (np.log(2 * np.pi * sd**2) + ((y - mean) / sd) ** 2)
    assert model.log_score_ == pytest.approx(logs.mean(), abs=1e-6)


def test_samples_have_the_moments_of_the_posterior():
    _, _, y = planted(25, 5)
    model = ElectroGP(init="order", marginal=False).fit(y)
    at = np.array([0.31, 0.33, 0.8])
    draws = np.array([model.sample(at, random_state=k) for k in range(400)])
    mean, sd = model.inverse_transform(at, return_std=True, noise=True)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.3 * sd.max())
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.2)
    smooth = np.array([model.sample(at, random_state=k, noise=False) for k in range(400)])
    near = np.corrcoef((smooth - mean)[:, 0, 0], (smooth - mean)[:, 1, 0])[0, 1]
    assert near > 0.5


def test_band_holds_its_share():
    _, clean, y = planted(80, 6, noise=0.15)
    model = ElectroGP(init="order", marginal=False, random_state=0).fit(y)
    radius, grid, curve = model.band(0.9)
    assert curve.shape == (500, 6) and grid.shape == (500,)
    fresh = clean + 0.15 * np.random.default_rng(9).normal(size=clean.shape)
    distance = [twin.polyline_distance(p, curve) for p in fresh]
    assert 0.75 < np.mean(np.array(distance) < radius) < 0.98
    assert model.band(0.5).radius < radius
    with pytest.raises(InputError):
        model.band(1.5)


def test_constant_pixels_stay_constant():
    _, _, y = planted(30, 12)
    y[:, 3] = 7.5
    model = ElectroGP(init="order").fit(y)
    mean, sd = model.inverse_transform([0.1, 0.5], return_std=True, noise=True)
    np.testing.assert_allclose(mean[:, 3], 7.5)
    np.testing.assert_array_equal(sd[:, 3], 0.0)
    assert model.noise_var_[3] == 0 and np.isfinite(mean).all()


def test_em_ends_where_the_density_of_the_seen_values_is_highest():
    _, clean, y = planted(40, 30)
    y[5:15, :10] = np.nan
    y[30:, 20:] = np.nan
    model = ElectroGP(hyper="shared", init="order", marginal=False).fit(y)

    def density(alpha=1.0, phi=1.0, noise=1.0, bend=0.0):
        x = model.embedding_ + bend * np.sin(2 * np.pi * model.embedding_)
        hyper = (alpha * model.alpha_, phi * model.phi_, noise * model.noise_var_)
        return twin.log_posterior(y - model.mean_, x, "se", *hyper, model.r_)

    best = density()
    for name, moved in (
        ("alpha", (0.85, 1.18)),
        ("phi", (0.85, 1.18)),
        ("noise", (0.9, 1.1)),
        ("bend", (-0.004, 0.004)),
    ):
        for value in moved:
            assert density(**{name: value}) < best, (name, value)
    mean = model.inverse_transform(model.embedding_)
    inside = mean[5:15, :10] - clean[5:15, :10]
    assert np.sqrt((inside**2).mean()) < 0.5 * clean.std()


def test_many_patterns_go_through_em():
    _, clean, y = planted(50, 60)
    full = ElectroGP(init="order").fit(y)
    y[np.random.default_rng(0).uniform(size=y.shape) < 0.3] = np.nan
    model = ElectroGP(init="order").fit(y)
    np.testing.assert_allclose(model.embedding_, full.embedding_, atol=0.03)
    mean, sd = model.inverse_transform(model.embedding_, return_std=True)
    assert np.sqrt(((mean - clean) ** 2).mean()) < 0.08
    assert 0.9 < (np.abs(mean - clean) < 1.96 * sd).mean() < 0.995
