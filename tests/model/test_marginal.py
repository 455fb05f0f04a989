import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.exceptions import ConvergenceWarning

from tests.reference import marginal as reference
from videorestore.errors import InputError
from videorestore.model import ElectroGP
from videorestore.model.covariance import KERNELS, covariance
from videorestore.model.integrated import axes as axes_module
from videorestore.model.integrated import marginal as marginal_module
from videorestore.model.integrated import search as module
from videorestore.model.integrated.basis import features, frequencies, make_basis, to_s, to_x, waves
from videorestore.model.integrated.marginal import louis_root
from videorestore.model.integrated.search import refine
from videorestore.model.integrated.steps import curve_given, log_evidence, moments, position_step
from videorestore.model.options import Options
from videorestore.model.starts import distances, ranks, relinked
from videorestore.model.threads import one_thread

ANY, GIVEN = Options(r="auto"), Options(r="auto", init="order")
"""Other orders are tried, or the given one is kept."""


def parabola(n=60, noise=0.1, seed=0, even=False):
    rng = np.random.default_rng(seed)
    u = (np.arange(n) + 0.5) / n if even else rng.uniform(size=n)
    t = 3 * u - 1.5
    return u, np.stack([t, t * t], axis=1) + noise * rng.normal(size=(n, 2))


def data_of(y, tied=True):
    return axes_module.centred(y).data(tied=tied, options=ANY)


def small_state(n=20, size=40, r=1.0, tied=True):
    u, y = parabola(n)
    data = data_of(y, tied)
    basis = make_basis(n=n, size=size, count=14, kernel=KERNELS["se"], periodic=False, r=r)
    q = np.exp(-0.5 * np.square((ranks(u)[:, None] - basis.s) / 0.05))
    return data, basis, q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("periodic", [False, True])
def test_features_give_the_kernel(kernel, periodic):
    """On a closed curve the kernel is the one wrapped around, not the chord's, so only near points compare."""
    x = np.linspace(0, 1, 9) if not periodic else np.linspace(0, 0.3, 9)
    omega = frequencies(4000 if kernel == "matern32" else 1200, periodic)
    log_s, _ = KERNELS[kernel].log_spectrum(np.square(omega), 30.0)
    phi = features(x, omega, periodic)
    expected = covariance(KERNELS[kernel], x, x, 30.0)
    np.testing.assert_allclose((phi * np.exp(log_s)) @ phi.T, expected, atol=5e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slope_of_the_spectrum(kernel):
    omega = frequencies(12, False)
    up, down = (KERNELS[kernel].log_spectrum(np.square(omega), np.exp(2.0 + h))[0] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(
        KERNELS[kernel].log_spectrum(np.square(omega), np.exp(2.0))[1],
        (up - down) / 2e-6,
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize("tied", [True, False])
def test_evidence_of_the_curve_against_dense_and_its_gradient(tied):
    data, basis, q = small_state(tied=tied)
    sums = moments(data, basis, q)
    theta = np.concatenate([[np.log(9.0)], [0.3, -0.2], [np.log(0.02)] * (1 if tied else 2)])
    value, gradient, _ = curve_given(theta, data, basis, sums)
    log_s, _ = KERNELS["se"].log_spectrum(np.square(basis.omega), np.exp(theta[0]))
    dense = reference.dense_evidence(data.y, q, basis.phi, np.exp(log_s), np.exp(theta[1:3]), 0.02)
    hyper = -0.5 * ((theta[0] - np.log(5.0)) / 2.0) ** 2
    assert value == pytest.approx(dense + hyper, abs=1e-5)
    for i in range(theta.size):
        step = np.zeros_like(theta)
        step[i] = 1e-5
        up, down = (curve_given(theta + s, data, basis, sums)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


def test_waves_carry_the_repulsion():
    x = np.random.default_rng(0).uniform(size=7)
    rho = waves(x, 6).sum(axis=0)
    k = np.tile(np.arange(1, 7), 2)
    # A point's energy with itself is a constant of the mode.
    ours = -0.5 * (2 * 1.5 / k * np.square(rho)).sum() + 1.5 * 7 * (1 / k[:6]).sum()
    assert ours == pytest.approx(reference.repulsion_energy(x, 1.5, 6))


def test_field_is_the_saddle_point_and_spreads_positions():
    data, basis, q = small_state()
    sums = moments(data, basis, q)
    theta = np.array([np.log(9.0), 0.0, 0.0, np.log(0.05)])
    _, _, curve = curve_given(theta, data, basis, sums, full=True)
    field = np.zeros(basis.stiffness.size)
    for _ in range(20):
        q, field = position_step(data, basis, curve, field)
    total = (q @ basis.waves).sum(axis=0)
    np.testing.assert_allclose(field, -basis.stiffness * total, atol=1e-8)
    free = replace(basis, stiffness=np.zeros_like(basis.stiffness))
    loose, _ = position_step(data, free, curve, np.zeros_like(field))
    assert q.sum(axis=0).std() < loose.sum(axis=0).std()
    assert np.isfinite(log_evidence(basis, curve, q))


def test_stiffness_is_that_of_corp():
    basis = make_basis(n=50, size=20, count=4, kernel=KERNELS["se"], periodic=False, r=1.0)
    np.testing.assert_allclose(basis.stiffness[:25], 2 / np.arange(1, 26))
    np.testing.assert_allclose(basis.with_r(0.5).stiffness, 0.5 * basis.stiffness)
    s = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(to_s(to_x(s, True), True), s, atol=1e-9)
    assert (np.diff(to_x(s, True)) > 0).all()


def test_covariance_of_the_curve_is_that_of_the_marginal_density(monkeypatch):
    """Louis' identity against the Hessian of the density with positions summed out."""
    monkeypatch.setattr(marginal_module, "LEAST_PRECISION", 1e-9)
    data, basis, q = small_state(n=12, size=30, r=0.0)
    basis = replace(basis, omega=basis.omega[:4], phi=basis.phi[:, :4])
    theta = np.array([np.log(3.0), 0.5, 0.5, np.log(0.05)])
    log_s, _ = KERNELS["se"].log_spectrum(np.square(basis.omega), np.exp(theta[0]))
    prior, signal, noise = np.exp(log_s), np.exp(theta[1:3]), 0.05
    _, _, curve = curve_given(theta, data, basis, moments(data, basis, q), full=True)
    logs = -0.5 * np.square(data.y[:, None] - basis.phi @ curve.mean).sum(axis=2) / noise
    q = np.exp(logs - logs.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    _, _, own = curve_given(theta, data, basis, moments(data, basis, q), full=True)
    own = replace(own, mean=curve.mean)
    state = module._begin(data, basis, q, "test", theta)
    root = louis_root(replace(state, curve=own, q=q))
    covariance_ = np.einsum("kjr,lir->jkil", root, root).reshape(8, 8)

    def density(flat):
        return reference.log_marginal(flat.reshape(2, 4).T, data.y, basis.phi, prior, signal, noise)

    at, h = curve.mean.T.ravel(), 1e-4
    hessian = np.empty((8, 8))
    for i in range(8):
        for j in range(8):
            e, f = h * np.eye(8)[i], h * np.eye(8)[j]
            near = density(at + e + f) - density(at + e - f) - density(at - e + f) + density(at - e - f)
            hessian[i, j] = near / (4 * h * h)
    np.testing.assert_allclose(covariance_, np.linalg.inv(-hessian), rtol=1e-2, atol=1e-3)
    mean_field = np.einsum("kra,lra->kl", own.root, own.root)
    assert np.trace(covariance_) > np.trace(mean_field)


def test_planted_curve_noise_and_order_are_found():
    u, y = parabola(100)
    start = ranks(np.random.default_rng(1).uniform(size=100))
    found = refine(y, start, ANY)
    assert found is not None
    assert abs(kendalltau(found.x, u).statistic) > 0.93
    assert np.sqrt(found.noise_var).mean() == pytest.approx(0.1, rel=0.25)
    mean, sd = found.predict(np.linspace(*found.span, 200))
    t = np.linspace(-1.5, 1.5, 2000)
    gap = np.linalg.norm(mean[:, None] - np.stack([t, t * t], axis=1), axis=2).min(axis=1)
    assert gap.mean() < 0.035
    assert (sd > 0).all() and (found.x_sd > 0).all()
    assert found.x[0] < found.x[-1]
    again = refine(y, start, ANY)
    assert again is not None
    np.testing.assert_array_equal(again.x, found.x)


def spiral_with_a_far_end(seed=0):
    """The last points of the outer arm lie nearer to the inner arm than to the rest of their own."""
    rng = np.random.default_rng(seed)
    u = np.sort(np.concatenate([np.linspace(0, 0.9, 77), [0.99, 0.995, 1.0]]))
    turn = np.pi * np.sqrt(0.25 + 15.75 * u)
    y = (turn / (4 * np.pi))[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return u, y + 0.015 * rng.normal(size=y.shape)


def test_chains_of_the_same_pieces():
    """A group visited in passing that belongs to the end: the right chain is among the first."""
    u, y = spiral_with_a_far_end()
    wrong = ranks(np.concatenate([u[:-3], [0.4001, 0.4002, 0.4003]]))
    distance = distances(y - y.mean(axis=0), np.ones_like(y))
    chains = relinked(distance, wrong, [], 8)
    assert any(abs(np.corrcoef(chain, ranks(u))[0, 1]) > 0.9995 for chain in chains)
    assert all(np.array_equal(np.sort(chain), ranks(u)) for chain in chains)
    again = relinked(distance, wrong, chains, 8)
    assert all(abs(np.corrcoef(a, b)[0, 1]) < 0.9995 for a in again for b in chains)


def test_a_group_of_points_is_carried_to_where_it_belongs():
    u, y = spiral_with_a_far_end()
    wrong = ranks(np.concatenate([u[:-3], [0.4001, 0.4002, 0.4003]]))
    left = refine(y, wrong, GIVEN)
    assert left is not None and abs(kendalltau(left.x, u).statistic) < 0.95
    data = data_of(y)
    basis = make_basis(n=80, size=160, count=57, kernel=KERNELS["se"], periodic=False, r=0.0)
    with one_thread():
        state = module._run(module._from_order(data, basis, wrong, "given"), 30)
        mended = module._mended(state)
    assert mended.evidence > state.evidence + 5
    assert abs(kendalltau(mended.q @ basis.s, u).statistic) > 0.97


def test_repulsion_is_learnt_from_the_data():
    """Evenly sampled points ask for much of it, thrown ones for none; what is given is used, and acts."""
    u, even = parabola(80, noise=0.03, even=True)
    found = refine(even, u, GIVEN)
    assert found is not None and found.r > 1.0
    v, thrown = parabola(80, seed=5)
    thrown_fit = refine(thrown, ranks(v), GIVEN)
    assert thrown_fit is not None and thrown_fit.r == 0.0
    free, even_ones, strict = (refine(thrown, ranks(v), replace(GIVEN, r=r)) for r in (0.0, 1.0, 30.0))
    assert free is not None and even_ones is not None and strict is not None
    assert (free.r, even_ones.r, strict.r) == (0.0, 1.0, 30.0)
    assert np.diff(np.sort(even_ones.x)).std() < 0.85 * np.diff(np.sort(free.x)).std()
    assert np.abs(strict.x - even_ones.x).max() > 1e-3


def hairpin(seed, n=100, sd=0.02, radius=0.08):
    """Two arms eight sd apart, joined by half a circle."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(size=n)
    at = u * (2 + np.pi * radius)
    turn = np.clip((at - 1) / radius, 0, np.pi)
    back = np.maximum(at - 1 - np.pi * radius, 0)
    y = np.stack([np.minimum(at, 1) + radius * np.sin(turn) - back, radius - radius * np.cos(turn)], axis=1)
    return u, y + sd * rng.normal(size=y.shape)


def test_a_hairpin_is_not_taken_for_a_line():
    for seed in (0, 1):
        u, y = hairpin(seed)
        assert abs(kendalltau(ElectroGP().fit(y).embedding_, u).statistic) > 0.9


@pytest.mark.parametrize("r", ["auto", 0.0])
def test_a_closed_eight_is_found_whatever_the_repulsion(r):
    for seed in (6, 7):
        rng = np.random.default_rng([5, seed])
        u = rng.uniform(size=100)
        y = np.stack([np.sin(2 * np.pi * u), 0.5 * np.sin(4 * np.pi * u)], axis=1)
        model = ElectroGP(periodic=True, r=r).fit(y + 0.1 * rng.normal(size=y.shape))
        assert not model.collapsed_ and polyline_error(model.curve(400)[1], u=y) < 0.12


def polyline_error(curve, u):
    """Mean distance from clean points to the nearest node of a curve, and back."""
    apart = np.linalg.norm(curve[:, None] - u, axis=2)
    return 0.5 * float(apart.min(axis=0).mean() + apart.min(axis=1).mean())


def test_a_helix_that_fills_all_three_dimensions_is_found():
    """No direction is noise, though none rises above the others."""
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        u = rng.uniform(size=150)
        y = np.stack([np.cos(4 * np.pi * u), np.sin(4 * np.pi * u), 2 * u], axis=1)
        model = ElectroGP().fit(y + 0.05 * rng.normal(size=y.shape))
        assert abs(kendalltau(model.embedding_, u).statistic) > 0.97


def test_ten_points_of_a_parabola_keep_their_bend():
    """Noise alone explains them about as well: the curve is given, and the doubt is said."""
    good = 0
    for seed in (2, 3, 7, 8):
        rng = np.random.default_rng([10, seed])
        t = -1.5 + 3 * rng.uniform(size=10)
        y = np.stack([t, t * t], axis=1) @ np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = ElectroGP().fit(y + 0.1 * rng.normal(size=(10, 2)))
        known = abs(kendalltau(model.embedding_, t).statistic) > 0.85
        good += known
        assert known or any(one.category is ConvergenceWarning for one in said)
        assert not model.collapsed_
    assert good >= 3


def test_where_no_curve_stands_out_the_mode_is_given_and_the_doubt_said():
    rng = np.random.default_rng([15, 2])
    theta = np.linspace(0.5 * np.pi, 4 * np.pi, 15)
    y = (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    y = y[rng.permutation(15)] + 0.025 * rng.normal(size=(15, 2))
    with pytest.warns(ConvergenceWarning):
        model = ElectroGP().fit(y)
    assert model.ambiguous_ and not model.collapsed_ and not hasattr(model, "marginal_")
    assert np.ptp(model.curve(300)[1], axis=0).max() > 1.0


def test_a_collapse_is_said():
    y = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning):
        model = ElectroGP().fit(y)
    assert model.collapsed_ or model.ambiguous_


def test_outliers_do_not_bend_the_curve():
    _, y = parabola(80, noise=0.05, seed=4)
    rng = np.random.default_rng(1)
    bad = rng.choice(80, 8, replace=False)
    spoilt = y.copy()
    spoilt[bad] += 3 * y.std(axis=0) * rng.choice([-1, 1], (8, 2))
    t = np.linspace(-1.5, 1.5, 2000)
    truth = np.stack([t, t * t], axis=1)

    def error(model):
        curve = model.curve(200)[1]
        apart = np.linalg.norm(curve[:, None] - truth, axis=2)
        return apart.min(axis=1).mean() + apart.min(axis=0).mean()

    clean = error(ElectroGP().fit(y))
    theta = np.linspace(0.5 * np.pi, 4 * np.pi, 100)
    spiral = (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    off = rng.normal(size=(10, 2))
    noisy = spiral + 0.025 * rng.normal(size=spiral.shape)
    # Outliers between the arms are no way from one to the next.
    noisy[rng.choice(100, 10, replace=False)] += 0.25 * off / np.linalg.norm(off, axis=1, keepdims=True)
    assert polyline_error(ElectroGP(noise="student").fit(noisy).curve(400)[1], u=spiral) < 0.03
    assert error(ElectroGP(noise="student").fit(spoilt)) < 1.5 * clean + 0.01
    with pytest.raises(InputError, match="student"):
        ElectroGP(noise="student", marginal=False).fit(y)


def helix(d, n=80, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.uniform(size=n)
    turned = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    clean = np.stack([np.cos(4 * np.pi * u), np.sin(4 * np.pi * u), 2 * u], axis=1)
    return u, clean @ turned.T, clean @ turned.T + 0.15 * rng.normal(size=(n, d))


def test_there_is_no_cliff_between_few_and_many_dimensions():
    """Positions are integrated out as long as they are uncertain; the error is near that of the true order."""
    for d in (19, 20, 21):
        u, clean, y = helix(d)
        model = ElectroGP().fit(y)
        assert hasattr(model, "marginal_")
        mean, sd = model.inverse_transform(model.embedding_, return_std=True)
        known = refine(y, ranks(u), GIVEN)
        assert known is not None
        oracle = np.square(known.predict(known.x)[0] - clean).sum()
        assert np.square(mean - clean).sum() < 1.35 * oracle
        assert sd.shape == y.shape and 0.85 < model.noise_var_.mean() / 0.15**2 < 1.15


def test_sharp_positions_are_left_to_the_mode_and_unequal_noise_of_many_dimensions_is_learnt():
    rng = np.random.default_rng(2)
    u = np.sort(rng.uniform(size=60))
    winding = np.sin(2 * np.pi * np.outer(u, rng.uniform(0.5, 2, 40)) + rng.uniform(0, 6, 40))
    order = refine(winding + 0.1 * rng.normal(size=winding.shape), ranks(u), GIVEN)
    assert isinstance(order, np.ndarray) and abs(kendalltau(order, u).statistic) > 0.98
    u, clean, _ = helix(40)
    sd = rng.choice([0.05, 0.4], 40)
    found = refine(clean + sd * rng.normal(size=clean.shape), ranks(u), GIVEN)
    assert found is not None
    assert (found.noise_var / sd**2).min() > 0.6 and (found.noise_var / sd**2).max() < 1.6
    mean, spread = found.predict(found.x)
    assert np.square(mean - clean)[:, sd > 0.1].mean() < 0.25 * 0.4**2
    assert spread[:, sd > 0.1].mean() > 2 * spread[:, sd < 0.1].mean()


def test_a_crowd_in_the_middle_is_recognised_and_the_ends_are_reached():
    """Normally distributed along a line: few points near the ends, which the curve must not cut off."""
    rng = np.random.default_rng(4)
    t = rng.normal(size=80)
    y = np.stack([t, 0.2 * rng.normal(size=80)], axis=1)
    found = refine(y, ranks(t), GIVEN)
    assert found is not None
    assert found.basis.crowded
    ends = found.predict(np.array(found.span))[0][:, 0]
    assert np.ptp(ends) > 0.85 * np.ptp(t)
    u, y = parabola(80, seed=5)
    found = refine(y, ranks(u), GIVEN)
    assert found is not None and np.ptp(found.x) > 0.9


def test_missing_values_and_noise_of_each_dimension():
    rng = np.random.default_rng(3)
    u = np.sort(rng.uniform(size=70))
    clean = np.stack([np.sin(3 * u + j) for j in range(4)], axis=1)
    sd = np.array([0.02, 0.02, 0.3, 0.3])
    y = clean + sd * rng.normal(size=clean.shape)
    y[rng.uniform(size=y.shape) < 0.15] = np.nan
    found = refine(y, ranks(u), GIVEN)
    assert found is not None and not found.data.tied
    assert found.noise_var[2] > 20 * found.noise_var[0]
    assert np.abs(found.predict(found.x)[0] - clean)[:, :2].mean() < 0.05


def test_closed_curve():
    rng = np.random.default_rng(0)
    u = np.sort(rng.uniform(size=60))
    y = np.stack([np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)], axis=1) + 0.1 * rng.normal(size=(60, 2))
    found = refine(y, ranks(u), replace(ANY, periodic=True))
    assert found is not None
    mean, _ = found.predict(np.array([0.0, 1.0]))
    np.testing.assert_allclose(mean[0], mean[1], atol=1e-6)
    assert np.abs(np.linalg.norm(found.predict(np.linspace(0, 1, 50))[0], axis=1) - 1).max() < 0.15


def test_constant_points_are_left_to_the_mode():
    assert refine(np.ones((10, 2)), np.linspace(0.1, 0.9, 10), ANY) is None


def test_estimator_is_consistent_with_the_integrated_posterior():
    _, y = parabola(60, seed=2)
    model = ElectroGP().fit(y)
    grid, curve = model.curve(50)
    assert grid[0] == model.embedding_.min() and grid[-1] == model.embedding_.max()
    mean, sd = model.inverse_transform(grid, return_std=True)
    np.testing.assert_allclose(mean, curve)
    _, wide = model.inverse_transform(grid, return_std=True, noise=True)
    np.testing.assert_allclose(np.square(wide), np.square(sd) + model.noise_var_)
    band = model.band(random_state=0)
    fresh = parabola(800, seed=9)[1]
    gap = np.linalg.norm(fresh[:, None] - band.curve, axis=2).min(axis=1)
    assert 0.88 < (gap <= band.radius).mean() < 0.99
    partial = y[:4].copy()
    partial[:, 1] = np.nan
    filled, spread = model.impute(partial, return_std=True)
    np.testing.assert_array_equal(filled[:, 0], partial[:, 0])
    assert (spread[:, 1] > 0).all()
    assert np.abs(model.transform(y)[:, 0] - model.embedding_).mean() < 0.03
    left, left_sd = model._posterior.leave_one_out()
    assert left.shape == y.shape and (left_sd >= np.sqrt(model.noise_var_)).all()
    assert model.score(fresh[:50]) > ElectroGP(marginal=False).fit(y).score(fresh[:50])


def test_r_can_be_tuned():
    from sklearn.model_selection import GridSearchCV, KFold

    _, y = parabola(30)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(ElectroGP(init="pca"), {"r": [0.0, 1.0]}, cv=folds).fit(y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
