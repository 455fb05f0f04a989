import numpy as np
import pytest

from videorestore.errors import InputError, NumericalError
from videorestore.model.joint.optimize import minimise


def rosenbrock(w):
    a, b = w[:-1], w[1:]
    value = float((100 * (b - a**2) ** 2 + (1 - a) ** 2).sum())
    gradient = np.zeros_like(w)
    gradient[:-1] = -400 * a * (b - a**2) - 2 * (1 - a)
    gradient[1:] += 200 * (b - a**2)
    return value, gradient


@pytest.mark.parametrize("method", ["lbfgs", "scg"])
def test_finds_the_bottom_of_the_valley(method):
    found = minimise(rosenbrock, np.array([-1.0, 1.5, 0.5]), method=method, max_iter=3000, tolerance=1e-12)
    np.testing.assert_allclose(found.theta, 1.0, atol=1e-3)
    assert found.n_iter > 5


@pytest.mark.parametrize("method", ["lbfgs", "scg"])
def test_held_coordinates_do_not_move_and_values_fall(method):
    seen = []
    free = np.array([True, False, True])
    found = minimise(
        rosenbrock,
        np.array([-1.0, 1.5, 0.5]),
        method=method,
        free=free,
        callback=lambda i, v: seen.append((i, v)),
    )
    assert found.theta[1] == 1.5
    values = [v for _, v in seen]
    assert values == sorted(values, reverse=True) and seen[0][0] == 1


@pytest.mark.parametrize("method", ["lbfgs", "scg"])
def test_forbidden_steps_are_taken_back(method):
    def walled(w):
        return (float((w**2).sum()), 2 * w) if w[0] > -0.5 else (np.inf, np.zeros_like(w))

    found = minimise(walled, np.array([3.0, 1.0]), method=method, tolerance=1e-10)
    np.testing.assert_allclose(found.theta, 0, atol=1e-3)


@pytest.mark.parametrize("method", ["lbfgs", "scg"])
def test_no_finite_start_is_an_error(method):
    with pytest.raises(NumericalError):
        minimise(lambda w: (np.inf, w), np.ones(2), method=method)


def test_unknown_method_is_an_error():
    with pytest.raises(InputError):
        minimise(rosenbrock, np.ones(2), method="newton")
