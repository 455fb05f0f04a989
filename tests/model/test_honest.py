"""Whether sds hold what they say, on planted curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from videorestore.model import ElectroGP
from videorestore.model.covariance import kernel_named
from videorestore.model.integrated.axes import centred, turned
from videorestore.model.integrated.basis import make_basis
from videorestore.model.integrated.search import _from_order
from videorestore.model.joint.pixels import shares
from videorestore.model.options import Options
from videorestore.model.starts import ranks


def _harmonics(
    d: int, noise: float | np.ndarray, seed: int, n: int = 100
) -> tuple[ElectroGP, np.ndarray, np.ndarray]:
    """A fit to a random smooth curve in ``d`` dimensions, clean frames on it, and where they are placed."""
    rng = np.random.default_rng(seed)
    weights, omega, shift = rng.normal(size=(200, d)), rng.normal(size=200) / 0.15, rng.uniform(0, 6.28, 200)

    def clean(u: np.ndarray) -> np.ndarray:
        return np.sqrt(0.01) * np.cos(u[:, None] * omega + shift) @ weights

    u = rng.uniform(size=n)
    model = ElectroGP().fit(clean(u) + noise * rng.normal(size=(n, d)))
    truth = clean(np.linspace(*np.quantile(u, [0.02, 0.98]), 100))
    return model, truth, np.array([p.mode() for p in model.place(truth)])


def test_directions_in_which_the_curve_hides_below_the_noise_have_their_sd():
    """Principal axes leave the weak ones with less of the curve than it has there: 0.88 and 0.76 are covered with them."""
    shares = []
    for seed in (3, 5):
        model, truth, x = _harmonics(8, 0.2, seed)
        mean, sd = model.inverse_transform(x, return_std=True)
        shares.append(float((np.abs(mean - truth) <= 1.96 * sd).mean()))
    assert np.mean(shares) > 0.9, shares


def test_pixels_with_much_noise_have_their_sd():
    """Each alone, they choose a length and a noise that fit it by chance: the noisiest quarter was covered to 0.85."""
    noise = np.sort(0.5 * np.exp(0.7 * np.random.default_rng(1).normal(size=400)))
    model, truth, x = _harmonics(400, noise, 4)
    mean, sd = model.inverse_transform(x, return_std=True)
    covered = (np.abs(mean - truth) <= 1.96 * sd).mean(axis=0)
    assert covered.mean() > 0.91 and covered[300:].mean() > 0.9, (covered.mean(), covered[300:].mean())
    assert np.unique(model.label_).size <= 10


@pytest.mark.parametrize("planted", [(0.7, 0.3, 0.0), (0.0, 1.0, 0.0), (0.2, 0.3, 0.5)])
def test_how_usual_a_class_is_comes_back(planted):
    """Pixels that say little each: normal values with one of three means, the likelihood of each mean known."""
    rng = np.random.default_rng(2)
    means = np.array([-2.0, 0.0, 2.0])
    values = rng.choice(means, p=planted, size=4000) + rng.normal(size=4000)
    found = shares(-0.5 * np.square(values[:, None] - means))
    np.testing.assert_allclose(found, planted, atol=0.03)
    assert shares(np.empty((0, 3))).sum() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def many() -> tuple[ElectroGP, np.ndarray, np.ndarray]:
    return _harmonics(50, 0.5, 2)


def test_the_curve_outside_the_kept_axes_has_an_sd(many):
    model, truth, x = many
    assert model.marginal_.rest is not None
    mean, sd = model.inverse_transform(x, return_std=True)
    assert 0.88 < (np.abs(mean - truth) <= 1.96 * sd).mean() < 0.98


def test_noise_counts_what_the_axes_took_away(many):
    assert many[0].noise_var_[0] == pytest.approx(0.25, rel=0.03)


def test_draws_scatter_by_the_sd_of_the_curve(many):
    model, _, x = many
    draws = np.stack([model.sample(x[40:42], random_state=k, noise=False) for k in range(300)])
    mean, sd = model.inverse_transform(x[40:42], return_std=True)
    assert np.sqrt(draws.var(axis=0).mean() / np.square(sd).mean()) == pytest.approx(1.0, abs=0.05)
    assert np.abs(draws.mean(axis=0) - mean).max() < 6 * sd.max() / np.sqrt(300)


def test_a_weak_direction_has_an_sd():
    model, truth, x = _harmonics(8, 0.2, 1)
    mean, sd = model.inverse_transform(x, return_std=True)
    off = (truth - mean) @ model.marginal_.loading
    assert np.square((truth - mean) / sd).mean() < 2.0, np.square(off).mean(axis=0)


def test_a_shift_along_the_curve_does_not_blur_a_placement(many):
    marginal = many[0].marginal_
    h = 1e-5
    at = marginal.x[:1]
    along = (marginal.features(at + h) - marginal.features(at - h))[0] @ marginal.weights
    # A weight vector whose curve at that place moves along it: as uncertain as can be.
    feature = marginal.features(at)[0]
    move = np.outer(feature / (feature @ feature), along)
    wide = replace(marginal, root=np.concatenate([marginal.root, 100.0 * move[:, :, None]], axis=2))
    ours, other = marginal.across(at)[1][0], wide.across(at)[1][0]
    np.testing.assert_allclose(other @ other.T, ours @ ours.T, atol=1e-6 * np.square(ours).max())


def test_a_frame_is_placed_by_the_density_of_its_pixels(many):
    """Between the nodes of the table, too: a normal density with the curve's own covariance, pixel by pixel."""
    model, truth, _ = many
    marginal, frame = model.marginal_, truth[30].copy()
    frame[::3] = np.nan
    seen = ~np.isnan(frame)
    (placement,) = model.place(frame[None])
    top = placement.mode()
    at = np.array([top - 0.0131, top, top + 0.0207])
    mean, root = marginal.across(at)
    expected = []
    for m, r in zip(mean, root):
        lever = marginal.loading[seen] @ r
        cov = lever @ lever.T + np.diag(marginal.noise_var[seen])
        off = frame[seen] - marginal.mean[seen] - marginal.loading[seen] @ m
        expected.append(-0.5 * (np.linalg.slogdet(2 * np.pi * cov)[1] + off @ np.linalg.solve(cov, off)))
    np.testing.assert_allclose(placement.log_likelihood(at), expected, atol=0.02)


def test_on_a_point_every_place_is_as_good(many):
    marginal = many[0].marginal_
    assert replace(marginal, x=np.full(marginal.x.size, 0.5)).span == (0.0, 1.0)


def test_learnt_repulsion_does_not_lose_to_none():
    rng = np.random.default_rng([2, 1])
    theta = np.linspace(0.5 * np.pi, 4 * np.pi, 20001)
    path = (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    at = np.interp(rng.uniform(size=100), length / length[-1], np.arange(20001)).round().astype(int)
    points = path[at] + 0.025 * rng.normal(size=(100, 2))
    learnt, none = (ElectroGP(r=r).fit(points).marginal_.evidence for r in ("auto", 0.0))
    assert learnt > none - 1.0


def test_without_repulsion_a_closed_curve_falls_together():
    t = 2 * np.pi * np.random.default_rng(0).uniform(size=60)
    points = np.stack([np.sin(t), np.sin(2 * t) / 2], axis=1)
    points = points + 0.08 * np.random.default_rng(1).normal(size=points.shape)
    model = ElectroGP(periodic=True).fit(points)
    assert not model.collapsed_
    assert np.ptp(model.curve(200)[1], axis=0) == pytest.approx([2.0, 1.0], rel=0.2)


def test_the_mode_starts_from_the_order_that_the_integrated_search_found():
    """Positions at their mode are drawn to wrong orders: tau was 0.88, and a fifth of new frames far from their place."""
    rng = np.random.default_rng([400, 1, 1])
    sd = 0.5 * np.exp(0.7 * rng.standard_normal(400))
    weights = rng.standard_normal((200, 400))
    omega, shift = rng.standard_normal(200) / 0.15, rng.uniform(0, 2 * np.pi, 200)
    u = rng.uniform(size=100)
    clean = np.sqrt(0.01) * np.cos(u[:, None] * omega + shift) @ weights
    model = ElectroGP().fit(clean + sd * rng.standard_normal(clean.shape))
    assert not hasattr(model, "marginal_") and abs(kendalltau(model.embedding_, u).statistic) > 0.98


def test_a_hundred_thousand_pixels_take_no_square_of_them():
    rng = np.random.default_rng(0)
    u, phase = np.sort(rng.uniform(size=20)), rng.uniform(0, 6, 100_000)
    frames = np.sin(3 * u[:, None] + phase) + 0.5 * rng.standard_normal((20, 100_000))
    model = ElectroGP(max_iter=20).fit(frames.astype(np.float32))
    assert abs(kendalltau(model.embedding_, u).statistic) > 0.98


def _thrown(d, seed, *, share):
    """Positions (n,), frames (n, d) on a draw of a Gaussian process, and the sd of the noise, unequal, of each dimension."""
    rng = np.random.default_rng([d, True, seed])
    sd = share * np.exp(0.7 * rng.standard_normal(d))
    weights = rng.standard_normal((200, d))
    omega, shift = rng.standard_normal(200) / 0.15, rng.uniform(0, 2 * np.pi, 200)
    u = rng.uniform(size=100)
    clean = np.sqrt(0.01) * np.cos(u[:, None] * omega + shift) @ weights
    return u, clean + sd * rng.standard_normal(clean.shape), sd


def test_the_noise_of_many_dimensions_is_that_of_each():
    """It was up to four times too much in the precise ones and a quarter too little in the noisy ones: bands were too narrow."""
    for seed in (3000, 3007):
        _, frames, sd = _thrown(50, seed, share=0.5)
        ratio = (ElectroGP().fit(frames).noise_var_ / sd**2)[np.argsort(sd)]
        assert np.abs(np.log([part.mean() for part in np.array_split(ratio, 5)])).max() < 0.25


def test_precise_dimensions_tell_arms_apart_that_lie_together_in_the_noisy_ones():
    """The order of all dimensions alike jumped between arms: tau was 0.10."""
    u, frames, _ = _thrown(8, 3001, share=0.2)
    assert abs(kendalltau(ElectroGP().fit(frames).embedding_, u).statistic) > 0.95


def test_expected_residual_is_that_of_draws():
    """The mean square of points less draws of position and curve, in each dimension."""
    from videorestore.model.integrated.state import residual

    _, frames, _ = _thrown(6, 1, share=0.2)
    frame = turned(centred(frames), np.inf)
    options = Options.of(ElectroGP())
    basis = make_basis(n=100, size=160, count=72, kernel=kernel_named("se"), periodic=False, r=0.0)
    rng = np.random.default_rng(0)
    state = _from_order(frame.data(tied=True, options=options), basis, ranks(rng.uniform(size=100)), "given")
    phi, drawn = basis.phi[:, state.curve.keep], []
    for _ in range(200):
        white = rng.standard_normal(state.curve.white.shape)
        weights = state.curve.mean + np.einsum("kla,la->ka", state.curve.root, white)
        at = np.array([rng.choice(160, p=row) for row in state.q])
        drawn.append(np.square(frame.points - (phi @ weights)[at] @ frame.axes.T).mean(axis=0))
    np.testing.assert_allclose(residual(state, frame), np.mean(drawn, axis=0), rtol=0.02)


def test_outliers_far_away_do_not_make_the_curve_a_point():
    """All points alike the first curve took them for noise, and every start ended in the middle."""
    rng = np.random.default_rng(0)
    theta = np.linspace(0.5 * np.pi, 4 * np.pi, 100)
    clean = (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    frames = clean + 0.025 * rng.normal(size=clean.shape)
    bad = rng.choice(100, 10, replace=False)
    frames[bad] += 3 * frames.std(axis=0) * rng.choice([-1, 1], (10, 2))
    curve = ElectroGP(noise="student").fit(frames).curve(400)[1]
    assert np.linalg.norm(clean[:, None] - curve, axis=2).min(axis=1).mean() < 0.03
