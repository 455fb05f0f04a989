import numpy as np
import pytest
from scipy.stats import kstest

from tests.reference import corp as twin
from tests.reference.gp import gradient, log_corp
from videorestore.errors import InputError
from videorestore.model import CoulombProcess


@pytest.mark.parametrize("r", [0.5, 1.0, 2.3])
def test_density_is_normalised(r):
    process = CoulombProcess(r)
    grid = (np.arange(120) + 0.5) / 120
    two = np.mean([np.exp(process.logpdf([0.1, a])) for a in grid])
    three = (
        np.mean([np.exp(process.logpdf([0.1, a, b + 0.0013])) for a in grid for b in grid[:-1]]) * 119 / 120
    )
    assert two == pytest.approx(1.0, abs=2e-4)
    # The last column of the grid is left out above to stay within (0, 1).
    edge = np.mean([np.exp(process.logpdf([0.1, a, grid[-1] + 0.0013])) for a in grid]) / 120
    assert three + edge == pytest.approx(1.0, abs=3e-3)


@pytest.mark.parametrize("r", [0.0, 0.7, 1.0, 3.0])
def test_density_and_gradient_equal_the_pairwise_twin(r):
    process = CoulombProcess(r)
    x = np.random.default_rng(1).uniform(size=7)
    assert process.logpdf(x) == pytest.approx(log_corp(x, r), abs=1e-9)
    np.testing.assert_allclose(
        process.grad_logpdf(x), gradient(process.logpdf, x, 1e-7), rtol=1e-5, atol=1e-5
    )


def test_density_does_not_change_under_shift_reversal_permutation():
    process = CoulombProcess(1.3)
    rng = np.random.default_rng(2)
    x = rng.uniform(size=9)
    value = process.logpdf(x)
    assert process.logpdf((x + 0.37) % 1) == pytest.approx(value, abs=1e-9)
    assert process.logpdf(1 - x) == pytest.approx(value, abs=1e-9)
    assert process.logpdf(rng.permutation(x)) == pytest.approx(value, abs=1e-9)


def test_equal_spacing_one_nth_is_the_mode():
    process = CoulombProcess(1.0)
    x = (np.arange(8) + 0.25) / 8
    np.testing.assert_allclose(process.grad_logpdf(x), 0, atol=1e-9)
    rng = np.random.default_rng(0)
    assert all(process.logpdf((x + 0.01 * rng.normal(size=8)) % 1) < process.logpdf(x) for _ in range(20))


def _mean_cosine(draws):
    return np.mean([np.cos(2 * np.pi * (draws[:, i] - draws[:, j])) for i in range(3) for j in range(i)])


def test_joint_and_sequential_laws_of_three_points():
    """Quadrature says -1/3 for eq. (2); the sequential law has another constant per conditional."""
    process = CoulombProcess(1.0)
    rng = np.random.default_rng(5)
    joint = np.array([process.sample(3, rng) for _ in range(1500)])
    assert _mean_cosine(joint) == pytest.approx(-1 / 3, abs=0.015)
    steps = np.array([process.sample(3, rng, method="sequential") for _ in range(1500)])
    # First two points: density 2 sin^2, E cos = -1/2, as for two points of the joint law.
    assert np.cos(2 * np.pi * (steps[:, 0] - steps[:, 1])).mean() == pytest.approx(-0.5, abs=0.05)
    joint_pair = np.cos(2 * np.pi * (joint[:, 0] - joint[:, 1])).mean()
    assert joint_pair == pytest.approx(-1 / 3, abs=0.06)


@pytest.mark.parametrize("r", [0.4, 1.0, 2.5])
def test_conditional_draws_follow_quadrature(r):
    x = np.array([0.05, 0.3, 0.34, 0.9])
    law = CoulombProcess(r).conditional(x)
    grid = (np.arange(20000) + 0.5) / 20000
    assert np.exp(law.logpdf(grid)).mean() == pytest.approx(1.0, abs=1e-4)
    draws = law.sample(4000, random_state=0)
    cumulative = np.cumsum(np.exp(law.logpdf(grid))) / 20000
    assert kstest(draws, lambda t: np.interp(t, grid, cumulative)).pvalue > 0.01
    for f in (lambda t: np.cos(2 * np.pi * t), lambda t: np.sin(4 * np.pi * t)):
        assert f(draws).mean() == pytest.approx(twin.conditional_moments(x, r, f), abs=0.05)


def test_conditional_works_with_a_thousand_points():
    x = CoulombProcess(1.0).sample(1000, 0)
    law = CoulombProcess(1.0).conditional(x)
    draw = law.sample(random_state=1)
    assert 0 <= draw < 1 and np.isfinite(law.logpdf(draw)) and np.isfinite(law.log_total)


@pytest.mark.parametrize("method", ["joint", "sequential"])
def test_samples_are_spread_out_and_repeatable(method):
    process = CoulombProcess(1.0)
    x = process.sample(300, 7, method=method)
    np.testing.assert_array_equal(x, process.sample(300, 7, method=method))
    gaps = np.diff(np.sort(x)) * 300
    # Independent points would have gaps of sd 1.
    assert gaps.std() < 0.55 and x.min() >= 0 and x.max() < 1


def test_no_repulsion_is_uniform():
    x = CoulombProcess(0.0).sample(2000, 0)
    assert kstest(x, "uniform").pvalue > 0.01 and CoulombProcess(0.0).logpdf(x) == 0.0
    assert CoulombProcess(0.0).conditional(x[:3]).logpdf(0.2) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("mapping", ["one-to-one", "printed"])
@pytest.mark.parametrize("dim", [2, 3])
def test_sphere_gradient_and_norm(dim, mapping):
    process = CoulombProcess(1.2, dim=dim, mapping=mapping)
    x = np.random.default_rng(dim).uniform(size=(5, dim))
    np.testing.assert_allclose(np.linalg.norm(process.to_sphere(x), axis=1), 1.0)
    np.testing.assert_allclose(
        process.grad_logpdf(x), gradient(process.logpdf, x, 1e-7), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("mapping", ["one-to-one", "printed"])
@pytest.mark.parametrize(
    ("n", "dim", "r"), [(2, 2, 1.0), (3, 2, 1.0), (2, 3, 2.0), (2, 2, 0.6), (3, 2, 0.5), (4, 3, 1.0)]
)
def test_density_on_the_cube_is_normalised(n, dim, r, mapping):
    """Mean of exp(logpdf) over random points of the cube, within four standard errors or the stated 3 %."""
    process = CoulombProcess(r, dim=dim, mapping=mapping)
    x = np.random.default_rng(3).uniform(size=(20000, n, dim))
    y = process.to_sphere(x.reshape(-1, dim)).reshape(20000, n, dim + 1)
    logs = np.zeros(20000)
    for i in range(n):
        for j in range(i):
            logs += r * np.log(np.square(y[:, i] - y[:, j]).sum(axis=1))
    assert process.logpdf(x[0]) == pytest.approx(logs[0] - process.log_constant(n))
    density = np.exp(logs - process.log_constant(n))
    error = 4 * density.std() / np.sqrt(20000)
    assert density.mean() == pytest.approx(
        1.0, abs=error + (0.03 if (n > 2 and r != 1) or dim == 3 else 0.002)
    )


def test_constants_that_are_not_known_are_left_out():
    process = CoulombProcess(0.7, dim=2)
    x = np.random.default_rng(0).uniform(size=(12, 2))
    assert process.log_constant(12) is None and np.isfinite(process.logpdf(x))
    # Dimension 2 with r = 1 is known for any n: two points on the sphere are sqrt(2) apart in the mean square.
    assert CoulombProcess(1.0, dim=2).log_constant(2) == pytest.approx(np.log(2.0))
    assert np.isfinite(CoulombProcess(1.0, dim=2).log_constant(500))


def test_default_map_is_one_to_one_and_the_printed_is_not():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(1, 2))
    twin_point = np.array([[1 - x[0, 0], (x[0, 1] + 0.5) % 1]])
    printed, default = CoulombProcess(dim=2, mapping="printed"), CoulombProcess(dim=2)
    np.testing.assert_allclose(printed.to_sphere(x), printed.to_sphere(twin_point), atol=1e-12)
    assert np.abs(default.to_sphere(x) - default.to_sphere(twin_point)).max() > 1e-3


def test_spherical_conditional_draws_follow_quadrature():
    process = CoulombProcess(1.0, dim=2)
    x = np.random.default_rng(4).uniform(size=(4, 2))
    law = process.conditional(x)
    draws = law.sample(1200, random_state=0)
    side = (np.arange(150) + 0.5) / 150
    a, b = (g.ravel() for g in np.meshgrid(side, side, indexing="ij"))
    weight = np.exp(law.logpdf(np.stack([a, b], axis=1)))
    weight /= weight.sum()
    assert draws[:, 0].mean() == pytest.approx(weight @ a, abs=0.03)
    assert np.cos(2 * np.pi * draws[:, 1]).mean() == pytest.approx(weight @ np.cos(2 * np.pi * b), abs=0.07)
    assert process.sample(5, 0).shape == (5, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: CoulombProcess(-1.0),
        lambda: CoulombProcess(dim=0),
        lambda: CoulombProcess(mapping="other"),
        lambda: CoulombProcess().sample(0),
        lambda: CoulombProcess().sample(3, method="other"),
        lambda: CoulombProcess(dim=2).sample(3, method="joint"),
        lambda: CoulombProcess().logpdf([[0.1, 0.2]]),
        lambda: CoulombProcess().logpdf([0.1, np.nan]),
        lambda: CoulombProcess(dim=2).logpdf([0.1, 0.2]),
        lambda: CoulombProcess().logpdf([]),
    ],
)
def test_wrong_arguments_say_so(call):
    with pytest.raises(InputError):
        call()


def test_outside_of_the_interval_the_density_is_zero():
    assert CoulombProcess().logpdf([0.1, 1.2]) == -np.inf
    assert CoulombProcess().logpdf([0.4, 0.4]) == -np.inf
