import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.planted import planted
from tests.reference import gp as twin
from videorestore.model.covariance import KERNELS, covariance
from videorestore.model.joint.features import plan
from videorestore.model.joint.group import Group
from videorestore.model.joint.mode import Mode, economise, make_windows
from videorestore.model.joint.objective import (
    Posterior,
    permuted,
    position_parameters,
    positions,
    spread_between,
)


def _posterior(kernel="se", periodic=False, fourier=None, n=16):
    """Three groups: two plain ones, one of known noise; two alphas."""
    _, _, y = planted(n, 9)
    groups = [
        Group(gram=y[:, :4] @ y[:, :4].T, size=4),
        Group(gram=y[:, 4:7] @ y[:, 4:7].T, size=3, shape=1),
        Group(gram=y[:, 7:] @ y[:, 7:].T, size=2, shape=1, noise_var=0.02),
    ]
    return y, Posterior(groups=groups, n=n, kernel=KERNELS[kernel], r=0.8, periodic=periodic, fourier=fourier)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_value_equals_the_dense_twin(kernel, periodic):
    y, posterior = _posterior(kernel, periodic)
    x = np.sort(np.random.default_rng(0).uniform(size=16))
    alpha, ratio = np.array([20.0, 8.0]), np.array([0.1, 0.05, 0.02])
    phi = Mode(posterior=posterior, x=x, alpha=alpha, ratio=ratio).phi()
    label = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    expected = twin.log_posterior(
        y, x, kernel, alpha[[0, 0, 0, 0, 1, 1, 1, 1, 1]], phi[label], (phi * ratio)[label], 0.8, periodic
    )
    assert -posterior.evaluate(x, alpha, ratio)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("harmonics", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_equals_differences(kernel, periodic, harmonics):
    fourier = plan(KERNELS[kernel], periodic, (4.0, 60.0), 0.5, 3001) if harmonics else None
    _, posterior = _posterior(kernel, periodic, fourier)
    x = np.sort(np.random.default_rng(0).uniform(size=16))
    theta = posterior.pack(x, np.array([20.0, 8.0]), np.array([0.1, 0.05, 0.02]))
    expected = twin.gradient(lambda t: posterior(t)[0], theta)
    np.testing.assert_allclose(posterior(theta)[1], expected, atol=3e-7)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_harmonics_equal_the_exact_posterior(kernel, periodic):
    fourier = plan(KERNELS[kernel], periodic, (4.0, 40.0), 0.002, 3001)
    _, exact = _posterior(kernel, periodic)
    _, cheap = _posterior(kernel, periodic, fourier)
    x = np.sort(np.random.default_rng(0).uniform(size=16))
    args = (x, np.array([20.0, 8.0]), np.array([0.1, 0.05, 0.02]))
    assert cheap.evaluate(*args)[0] == pytest.approx(exact.evaluate(*args)[0], abs=0.05)


def test_windows_equal_the_exact_posterior():
    n = 450
    _, _, y = planted(n, 5, cycles=60)
    x = (np.arange(n) + 0.5) / n
    posterior = Posterior(groups=[Group(gram=y @ y.T, size=5)], n=n)
    args = (x, np.array([20000.0]), np.array([0.02]))
    cheap = economise(posterior, *args)
    assert len(cheap.posterior.windows) > 3
    value, in_x, in_hyper = posterior.evaluate(*args)
    close, close_x, close_hyper = cheap.posterior.evaluate(*args)
    assert close == pytest.approx(value, abs=0.01)
    np.testing.assert_allclose(close_x, in_x, atol=1e-3 * np.abs(in_x).max())
    np.testing.assert_allclose(close_hyper, in_hyper, rtol=1e-3, atol=1e-6)


def test_windows_cover_each_frame_once():
    for n, reach in ((500, 0.05), (1000, 0.01), (300, 0.4)):
        count = np.zeros(n, dtype=int)
        for start, stop, sign in make_windows((np.arange(n) + 0.5) / n, reach):
            count[start:stop] += sign
        assert (count == 1).all()


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=12))
@settings(deadline=None, derandomize=True, max_examples=30)
def test_positions_keep_their_order_and_come_back(u):
    x, gaps = positions(np.array(u))
    assert (np.diff(x) > 0).all() and x[0] > 0 and x[-1] < 1 and gaps.sum() == pytest.approx(1)
    again, _ = positions(position_parameters(x))
    np.testing.assert_allclose(again, x, atol=1e-10)


@given(st.integers(0, 10_000), st.sampled_from(list(KERNELS)), st.booleans(), st.floats(0.5, 500))
@settings(deadline=None, derandomize=True, max_examples=30)
def test_covariances_are_positive_and_as_written(seed, kernel, periodic, alpha):
    x = np.random.default_rng(seed).uniform(size=8)
    e = covariance(KERNELS[kernel], x, x, alpha, periodic)
    assert np.linalg.eigvalsh(e).min() > -1e-9
    np.testing.assert_allclose(e, twin.covariance(kernel, x, x, alpha, periodic), atol=1e-12)


def test_likelihood_does_not_change_under_reversal_and_permutation():
    _, posterior = _posterior()
    x = np.sort(np.random.default_rng(0).uniform(size=16))
    args = (np.array([20.0, 8.0]), np.array([0.1, 0.05, 0.02]))
    value = posterior.evaluate(x, *args)[0]
    assert posterior.evaluate(1 - x, *args)[0] == pytest.approx(value, rel=1e-10)
    shuffled = np.random.default_rng(1).permutation(16)
    other = permuted(posterior, shuffled)
    assert other.evaluate(x[shuffled], *args)[0] == pytest.approx(value, rel=1e-10)


def test_absent_frames_repel_the_others():
    """They lie evenly between the frames around them; all as one the density is highest at equal steps of all frames."""
    assert spread_between(np.arange(3.0, 9.0)) is None
    numbers = np.array([2.0, 3.0, 6.0, 7.0])
    between = spread_between(numbers)
    np.testing.assert_allclose(between @ numbers, np.arange(2, 8))
    _, posterior = _posterior()
    numbers = np.concatenate([np.arange(8.0), np.arange(11.0, 19.0)])
    other = Posterior(groups=posterior.groups, n=16, r=0.8, between=spread_between(numbers))
    theta = other.pack(np.sort(np.random.default_rng(0).uniform(size=16)), np.full(2, 9.0), np.full(3, 0.1))
    np.testing.assert_allclose(other(theta)[1], twin.gradient(lambda t: other(t)[0], theta), atol=3e-7)
