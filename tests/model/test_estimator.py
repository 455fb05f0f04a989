import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.utils.estimator_checks import check_estimator

from tests.model.planted import planted
from videorestore.errors import InputError, VideoRestoreError
from videorestore.model import ElectroGP
from videorestore.model.joint.fit import fit_curve
from videorestore.model.options import Options
from videorestore.model.posterior import CurvePosterior
from videorestore.model.sheet.dimension import intrinsic_dimension


def test_common_checks_of_scikit_learn():
    """All pass; the one skipped needs an environment variable of SciPy (array API)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            ElectroGP(max_iter=20, init="pca", hyper="shared", marginal=False), on_fail=None, on_skip=None
        )
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert not failed
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}


def test_r_can_be_tuned_by_score():
    from sklearn.model_selection import GridSearchCV

    _, _, y = planted(24, 5)
    y = y[np.random.default_rng(0).permutation(24)]
    search = GridSearchCV(ElectroGP(hyper="shared", marginal=False, max_iter=30), {"r": [0.0, 1.0]}, cv=3)
    search.fit(y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_clone_keeps_parameters():
    model = ElectroGP(r=2.0, kernel="matern32", noise_var=0.1)
    assert clone(model).get_params() == model.get_params()


def test_input_is_not_changed():
    _, _, y = planted(20, 10)
    y[3, 4] = np.nan
    before = y.copy()
    model = ElectroGP(init="order", marginal=False).fit(y)
    model.transform(y)
    model.impute(y)
    np.testing.assert_array_equal(y, before)


def test_positions_go_through_a_pipeline():
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    x, _, y = planted(24, 30)
    pipe = make_pipeline(ElectroGP(init="order", hyper="shared"), LinearRegression()).fit(y, x)
    assert np.abs(pipe.predict(y) - x).max() < 0.05


def test_the_papers_recipe_is_one_argument_away():
    """Corp(1) of eq. (2), joint mode, LLE, scaled conjugate gradients: the value is the dense twin's."""
    from tests.reference import gp as twin

    _, _, y = planted(25, 4)
    model = ElectroGP(recipe="paper").fit(y)
    assert model.r_ == 1.0 and model.init_ == "lle" and not hasattr(model, "marginal_")
    expected = twin.log_posterior(
        y - model.mean_, model.embedding_, "se", model.alpha_, model.phi_, model.noise_var_, 1.0
    )
    assert model.log_posterior_ == pytest.approx(expected, abs=1e-4)


def test_repulsion_acts_at_any_number_of_pixels_and_fills_a_hole():
    """A clip of a moving blob with three frames taken out: the hole is four steps wide."""
    grid = np.arange(40.0)
    frames = np.stack([100 * np.exp(-np.square(grid - 8 - 0.7 * k) / 18) for k in range(36)])
    frames = np.repeat(frames, 40, axis=1)
    kept = np.delete(np.arange(36), [17, 18, 19])
    model = ElectroGP(init="order", hyper="shared", kernel="matern52").fit(frames[kept])
    gaps = np.diff(model.embedding_)
    assert 3.2 < gaps[16] / np.median(gaps) < 4.8 and model.corp_active_ and model.r_ > 1
    weak, strong = (
        ElectroGP(init="order", hyper="shared", kernel="matern52", r=r).fit(frames[kept]).embedding_
        for r in (0.0, 30.0)
    )
    assert np.abs(weak - strong).max() > 0.01


def test_surfaces():
    rng = np.random.default_rng(0)
    u = rng.uniform(size=(70, 2))
    inner = np.stack([np.sin(2 * u[:, 0]), np.cos(3 * u[:, 0]), u[:, 1], u[:, 0] * u[:, 1]], axis=1)
    y = inner @ rng.normal(size=(4, 30)) + 0.05 * rng.normal(size=(70, 30))
    model = ElectroGP(n_components=2, max_iter=60).fit(y)
    assert model.embedding_.shape == (70, 2) and trustworthiness(u, model.embedding_) > 0.95
    x = model.transform(y[:4])
    assert x.shape == (4, 2) and np.abs(x - model.embedding_[:4]).max() < 0.05
    mean, sd = model.inverse_transform(x, return_std=True)
    assert np.abs(mean - y[:4]).std() < 0.1 and (sd > 0).all()
    half = y[:4].copy()
    half[:, ::2] = np.nan
    filled, spread = model.impute(half, return_std=True)
    assert np.abs(filled - y[:4]).max() < 0.4 and (spread[:, 1::2] == 0).all()
    assert np.isfinite(model.score(y[:4]))
    with pytest.raises(InputError, match="curves"):
        model.curve()
    with pytest.raises(InputError, match="n_components"):
        ElectroGP(n_components=4).fit(y)


def test_gradient_of_a_surface_equals_differences():
    from tests.reference import gp as twin
    from videorestore.model.covariance import KERNELS
    from videorestore.model.sheet.objective import SheetObjective

    rng = np.random.default_rng(1)
    y = rng.normal(size=(9, 5))
    posterior = SheetObjective(gram=y @ y.T, size=5.0, p=2, kernel=KERNELS["matern52"], r=0.7, floor=1e-5)
    theta = np.concatenate([rng.normal(size=18), np.log([3.0, 8.0]), [np.log(0.2)]])
    expected = twin.gradient(lambda t: posterior(t)[0], theta)
    np.testing.assert_allclose(posterior(theta)[1], expected, atol=1e-6)


def test_the_dimension_is_found():
    rng = np.random.default_rng(3)
    u = rng.uniform(size=(60, 2))
    inner = np.stack([np.sin(2 * u[:, 0]), np.cos(3 * u[:, 0]), u[:, 1], u[:, 0] * u[:, 1]], axis=1)
    y = inner @ rng.normal(size=(4, 30)) + 0.1 * rng.normal(size=(60, 30))
    assert ElectroGP(n_components="auto", max_iter=40).fit(y).n_components_ == 2
    _, _, curve = planted(50, 30, cycles=1.0)
    assert ElectroGP(n_components="auto", max_iter=40).fit(curve).n_components_ == 1


def _roll(rng, n):
    t, h = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n)), 21 * rng.uniform(size=n)
    return np.stack([t * np.cos(t), h, t * np.sin(t)], axis=1) + 0.2 * rng.normal(size=(n, 3))


def _sphere(rng, n):
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True) + 0.03 * rng.normal(size=(n, 3))


def _torus(rng, n):
    a, b = rng.uniform(0, 2 * np.pi, (2, n))
    ring = 2 + 0.7 * np.cos(b)
    y = np.stack([ring * np.cos(a), ring * np.sin(a), 0.7 * np.sin(b)], axis=1)
    return y + 0.03 * rng.normal(size=(n, 3))


def _helix(rng, n):
    u = rng.uniform(size=n)
    y = np.stack([np.cos(4 * np.pi * u), np.sin(4 * np.pi * u), 2 * u], axis=1)
    return y + 0.05 * rng.normal(size=(n, 3))


def _solid(rng, n):
    u = rng.uniform(size=(n, 3))
    y = np.sin(1.5 * u @ rng.normal(size=(3, 20))) + u @ rng.normal(size=(3, 20))
    return y + 0.1 * rng.normal(size=y.shape)


def _plane(rng, n):
    u = rng.uniform(size=(n, 2))
    return u @ rng.normal(size=(2, 100)) + 0.1 * rng.normal(size=(n, 100))


def _turning(rng, n, light=False):
    """Pictures (n, 24 x 32) of a turning texture, under a lamp of changing strength or not."""
    texture = gaussian_filter(rng.normal(size=(24, 256)), (2, 4), mode=("nearest", "wrap"))
    at = 256 * rng.uniform(size=n)[:, None] + np.arcsin(np.linspace(-0.95, 0.95, 32)) * 256 / (2 * np.pi)
    whole, part = np.floor(at).astype(int) % 256, at % 1
    pictures = np.moveaxis(texture[:, whole] * (1 - part) + texture[:, (whole + 1) % 256] * part, 1, 0)
    strength = rng.uniform(0.5, 1.5, n) if light else np.ones(n)
    pictures = (2 + pictures / texture.std()) * strength[:, None, None]
    return (pictures + 0.1 * rng.normal(size=pictures.shape)).reshape(n, -1)


def _lit(rng, n):
    return _turning(rng, n, light=True)


@pytest.mark.parametrize(
    ("made", "p"),
    [(_roll, 2), (_sphere, 2), (_torus, 2), (_helix, 1), (_solid, 3), (_plane, 2), (_turning, 1), (_lit, 2)],
)
def test_the_dimension_of_surfaces_and_of_pictures(made, p):
    found = [intrinsic_dimension(made(np.random.default_rng(seed), 300), 3) for seed in range(10)]
    assert found.count(p) >= 9


def test_a_large_offset_changes_nothing():
    _, _, y = planted(24, 30)
    plain = ElectroGP(init="order", hyper="shared").fit(y)
    moved = ElectroGP(init="order", hyper="shared").fit(y + 1e6)
    np.testing.assert_allclose(moved.embedding_, plain.embedding_, atol=1e-4)
    np.testing.assert_allclose(moved.transform(y[:3] + 1e6), plain.transform(y[:3]), atol=1e-4)


@pytest.mark.parametrize("hyper", ["pixel", "shared"])
def test_noise_is_what_the_posterior_uses(hyper):
    _, _, y = planted(40, 60)
    model = ElectroGP(init="order", hyper=hyper).fit(y)
    _, sd = model.inverse_transform([0.4], return_std=True)
    _, with_noise = model.inverse_transform([0.4], return_std=True, noise=True)
    np.testing.assert_allclose(np.square(with_noise) - np.square(sd), model.noise_var_[None], rtol=1e-3)
    if hasattr(model, "marginal_"):
        return
    ratio = model.fit_.ratio[model.fit_.label]
    np.testing.assert_allclose(model.noise_var_, model.phi_ * ratio)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int32])
def test_types_and_layouts(dtype):
    _, clean, _ = planted(20, 12)
    y = np.clip(clean * 80 + 128, 0, 255).astype(dtype)
    wide = np.zeros((20, 24), dtype=dtype)
    wide[:, ::2] = y
    one = ElectroGP(init="order", marginal=False).fit(y)
    for same in (wide[:, ::2], np.asfortranarray(y)):
        other = ElectroGP(init="order", marginal=False).fit(same)
        np.testing.assert_array_equal(one.embedding_, other.embedding_)


@pytest.mark.parametrize("shape", [(30, 1), (30, 2), (12, 900), (3, 5)])
def test_shapes(shape):
    rng = np.random.default_rng(0)
    n, d = shape
    y = np.sin(np.linspace(0, 3, n)[:, None] * rng.uniform(0.5, 2, d)) + 0.05 * rng.normal(size=(n, d))
    model = ElectroGP(marginal=False).fit(y)
    mean, sd = model.inverse_transform(model.embedding_, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(sd).all() and np.isfinite(model.log_posterior_)
    assert (model.embedding_ > 0).all() and (model.embedding_ < 1).all()


@pytest.mark.parametrize("shape", [(30, 1), (25, 2), (4, 3)])
def test_shapes_with_positions_integrated_out(shape):
    rng = np.random.default_rng(0)
    n, d = shape
    y = np.sin(np.linspace(0, 3, n)[:, None] * rng.uniform(0.5, 2, d)) + 0.05 * rng.normal(size=(n, d))
    y[-1] = y[0]
    if d > 1:
        y[1, 0] = np.nan
    model = ElectroGP().fit(y)
    mean, sd = model.inverse_transform(model.embedding_, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(sd).all() and np.isfinite(model.log_posterior_)
    assert model.embedding_[0] == model.embedding_[-1]


def _bad(rows=None, columns=None, value=np.nan):
    _, _, y = planted(12, 6)
    if rows is not None:
        y[rows, columns] = value
    return y


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (np.zeros((2, 5)), "sample"),
        (np.ones((10, 5)), "differ"),
        (np.repeat(np.random.default_rng(0).normal(size=(2, 5)), 5, axis=0), "different frames"),
        (_bad(3, slice(None)), r"frame\(s\) 3"),
        (_bad(slice(None), 2), r"pixel\(s\) 2"),
        (_bad(1, 1, np.inf), "infin"),
        (np.zeros((5, 0)), "feature"),
        (np.zeros(5), "2D"),
        (np.array([["a", "b"]] * 4), "."),
    ],
)
def test_bad_frames_are_refused_with_a_remedy(frames, words):
    with pytest.raises((InputError, ValueError), match=words) as caught:
        ElectroGP().fit(frames)
    assert isinstance(caught.value, VideoRestoreError)


@pytest.mark.parametrize(
    "options",
    [
        {"r": -1},
        {"kernel": "cubic"},
        {"hyper": "each"},
        {"init": "guess"},
        {"init": np.arange(5.0)},
        {"init": np.zeros(12)},
        {"optimizer": "newton"},
        {"noise_var": -1.0},
        {"noise_floor": 0.0},
        {"max_iter": 0},
        {"marginal": "perhaps"},
        {"r": "much"},
        {"noise": "cauchy"},
        {"recipe": "cake"},
        {"n_components": 0},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        ElectroGP(**options).fit(_bad())


def test_not_fitted_and_nowhere_are_refused():
    with pytest.raises(NotFittedError):
        ElectroGP().transform(np.zeros((3, 4)))
    _, _, y = planted(12, 6)
    model = ElectroGP(init="order").fit(y)
    with pytest.raises(InputError, match="finite"):
        model.posterior_weights([np.nan])


def test_wrong_blocks_are_refused():
    _, _, y = planted(12, 6)
    with pytest.raises(InputError, match="block"):
        fit_curve(lambda: [y[:5]], 12, Options())
    with pytest.raises(InputError, match="pixel"):
        fit_curve(lambda: [], 12, Options())
    posterior = CurvePosterior(fit_curve(lambda: [y], 12, Options(init="order")))
    with pytest.raises(InputError, match="columns"):
        posterior.weights(np.array([0.5])).apply(y[:, :3], slice(0, 2))
