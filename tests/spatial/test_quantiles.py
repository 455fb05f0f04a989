"""Distribution functions by the standard library are those of SciPy."""

import numpy as np
import pytest
from scipy.special import chdtri, ndtr
from scipy.stats import theilslopes

from videorestore.spatial.quantiles import chi_square_quantile, normal_cdf, slope_interval


def test_the_normal_distribution():
    z = np.linspace(-9, 9, 181)
    assert normal_cdf(z) == pytest.approx(ndtr(z), rel=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 15, 28, 43, 200])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.8, 0.99])
def test_quantiles_of_chi_square(freedom, share):
    assert chi_square_quantile(freedom, share) == pytest.approx(float(chdtri(freedom, 1 - share)), rel=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_the_interval_of_a_slope(ties):
    rng = np.random.default_rng(2)
    for n in (6, 9, 30):
        x, y = rng.uniform(0, 200, n), rng.uniform(0, 30, n)
        if ties:
            x, y = np.round(x, -2), np.round(y, -1)
            x[:2] = 0.0, 200.0
        y = y + 0.1 * x
        _, _, low, high = theilslopes(y, x, alpha=0.99)
        assert slope_interval(x, y, 0.99) == pytest.approx((low, high), rel=1e-12)


def test_nothing_is_known_of_points_that_are_all_alike():
    low, high = slope_interval(np.zeros(6), np.ones(6), 0.99)
    assert np.isnan(low) and np.isnan(high)
