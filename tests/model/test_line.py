"""Long films in state-space form, against dense twins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model.planted import planted
from tests.reference import gp as twin
from videorestore.errors import InputError
from videorestore.model import ElectroGP
from videorestore.model.coulomb.density import corp_log_density
from videorestore.model.covariance import covariance, kernel_named
from videorestore.model.line import fit as module
from videorestore.model.line.states import CHAINS, likelihood
from videorestore.model.posterior import CurvePosterior


@pytest.mark.kernel
@pytest.mark.parametrize("name", list(CHAINS))
@pytest.mark.parametrize("noise", [None, 0.7])
def test_density_and_slopes_are_those_of_the_dense_covariance(name, noise):
    rng = np.random.default_rng(0)
    n, d, alpha, ratio = 9, 3, 6.0, 0.3
    x, y, chain = np.sort(rng.uniform(size=n)), rng.normal(size=(d, n)), CHAINS[name]
    steps = chain.rate * np.sqrt(alpha) * np.diff(x)
    value, phi, slope, in_ratio = likelihood(y, chain, steps, ratio, noise)
    dense = covariance(kernel_named(name), x, x, alpha) + ratio * np.eye(n)
    quadratic = float(np.einsum("di,ij,dj->", y, np.linalg.inv(dense), y))
    own = quadratic / (n * d) if noise is None else noise / ratio
    logs = d * np.linalg.slogdet(dense)[1] + n * d * np.log(2 * np.pi * own) + quadratic / own
    assert phi == pytest.approx(own) and value == pytest.approx(-0.5 * logs)

    def at(theta):
        return likelihood(y, chain, theta[:-1], float(np.exp(theta[-1])), noise)[0]

    expected = twin.gradient(at, np.append(steps, np.log(ratio)))
    np.testing.assert_allclose(np.append(slope, in_ratio), expected, atol=1e-6)


@pytest.mark.kernel
def test_near_repulsion_of_few_points_is_all_of_it():
    x = np.sort(np.random.default_rng(1).uniform(size=31))
    value, slope = module.near_corp(x, 0.7)
    expected, gradient = corp_log_density(x, 0.7)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9)


@pytest.mark.kernel
def test_gradient_of_the_objective_equals_differences():
    rng = np.random.default_rng(2)
    objective = module.LineObjective(
        y=rng.normal(size=(2, 8)), chain=CHAINS["matern52"], r=0.8, noise_var=None, floor=1e-5
    )
    theta = np.append(0.3 * rng.normal(size=8), [1.0, -1.0])
    np.testing.assert_allclose(
        objective(theta)[1], twin.gradient(lambda t: objective(t)[0], theta), atol=1e-7
    )


@pytest.fixture
def short(monkeypatch):
    """A film of 60 frames, one pixel of which rests, fitted as if it were long."""
    monkeypatch.setattr(module, "LONG", 50)
    monkeypatch.setattr(module, "STRETCH", 40)
    _, clean, y = planted(60, 6, noise=0.1)
    y[:, 3] = clean[:, 3] = 5.0
    return clean, y, ElectroGP(init="order", kernel="matern32").fit(y)


def test_posterior_is_the_dense_one(short):
    _, y, model = short
    dense = CurvePosterior(model.fit_)
    at = np.concatenate([[0.001], model.embedding_[[0, 30, 59]], [0.41, 0.999]])
    mean, sd = model.inverse_transform(at, return_std=True)
    expected, spread = dense.weights(at).apply(y)
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    np.testing.assert_allclose(sd, spread, atol=1e-7)


def test_draws_have_the_moments_of_the_posterior(short):
    model = short[2]
    at = np.array([0.3, 0.305, 0.8])
    draws = np.stack([model.sample(at, random_state=k, noise=False) for k in range(400)])
    mean, sd = model.inverse_transform(at, return_std=True)
    moves = np.delete(np.arange(6), 3)
    assert np.abs(draws.mean(axis=0) - mean).max() < 5 * sd.max() / 20
    np.testing.assert_allclose(draws.std(axis=0)[:, moves], sd[:, moves], rtol=0.2)
    assert (draws[:, :, 3] == 5.0).all()
    assert np.corrcoef(draws[:, 0, 0], draws[:, 1, 0])[0, 1] > 0.8


def test_frames_find_their_place_and_what_they_miss(short):
    clean, y, model = short
    half = y[10:50:8].copy()
    half[:, :2] = np.nan
    assert np.abs(model.transform(half)[:, 0] - model.embedding_[10:50:8]).max() < 0.02
    filled, sd = model.impute(half, return_std=True)
    error = np.abs(filled - clean[10:50:8])[:, :2]
    assert np.median(error) < 0.1 and (error < 4 * sd[:, :2]).all() and (sd[:, 2:] == 0).all()
    assert model.band().radius > 0 and np.isfinite(model.score(half))


def test_thousands_of_frames_in_order():
    """Their pairs would take minutes; speed along the curve is found again, unless positions repel each other."""
    n = 3000
    t = np.linspace(0, 1, n)
    u = t + 0.12 * np.sin(2 * np.pi * t)
    rng = np.random.default_rng(3)
    clean = np.cos(np.outer(u, rng.uniform(20, 60, 8)) + rng.uniform(0, 6, 8))
    y = clean + 0.1 * rng.normal(size=clean.shape)
    model = ElectroGP(init="order", r=0.0).fit(y)
    assert model.kernel_ == "matern52" and not model.corp_active_
    assert np.abs(model.embedding_ - u).max() < 0.03
    assert np.square(model.inverse_transform(model.embedding_) - clean).mean() < 0.1 * 0.01
    even, back = (ElectroGP(init=init).fit(y) for init in ("order", 1.0 - t))
    assert even.corp_active_ and np.abs(even.embedding_ - t).max() < 0.03
    assert even.noise_var_.mean() == pytest.approx(0.01, rel=0.05)
    # The first frame comes before the last.
    np.testing.assert_allclose(back.embedding_, even.embedding_, atol=1e-12)


def test_what_cannot_be_done_is_refused():
    y = np.random.default_rng(0).normal(size=(20_001, 2))
    with pytest.raises(InputError, match="init='order'"):
        ElectroGP().fit(y)
    y[5, 1] = np.nan
    with pytest.raises(InputError, match="missing"):
        ElectroGP(init="order").fit(y)
