import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from tests.model.planted import planted
from videorestore.errors import InputError, VideoRestoreError
from videorestore.model import ElectroGP


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


def test_a_large_offset_changes_nothing():
    _, _, y = planted(24, 30)
    plain = ElectroGP(init="order", hyper="shared").fit(y)
    moved = ElectroGP(init="order", hyper="shared").fit(y + 1e6)
    np.testing.assert_allclose(moved.embedding_, plain.embedding_, atol=1e-4)
    np.testing.assert_allclose(moved.transform(y[:3] + 1e6), plain.transform(y[:3]), atol=1e-4)


@pytest.mark.parametrize("hyper", ["pixel", "group", "shared"])
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
        {"n_groups": 0},
        {"marginal": "perhaps"},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        ElectroGP(**options).fit(_bad())


def test_not_fitted_and_streamed_say_what_to_do():
    with pytest.raises(NotFittedError):
        ElectroGP().transform(np.zeros((3, 4)))
    _, _, y = planted(12, 6)
    model = ElectroGP(init="order").fit_stream(lambda: [y], 12)
    with pytest.raises(InputError, match="posterior_weights"):
        model.inverse_transform([0.5])
    with pytest.raises(InputError, match="finite"):
        model.posterior_weights([np.nan])
    assert model.place_stream(lambda: [y], y[2:3])[0].mode() == pytest.approx(model.embedding_[2], abs=0.05)


def test_wrong_blocks_are_refused():
    _, _, y = planted(12, 6)
    with pytest.raises(InputError, match="block"):
        ElectroGP().fit_stream(lambda: [y[:5]], 12)
    with pytest.raises(InputError, match="pixel"):
        ElectroGP().fit_stream(lambda: [], 12)
    model = ElectroGP(init="order").fit_stream(lambda: [y], 12)
    with pytest.raises(InputError, match="columns"):
        model.posterior_weights([0.5]).apply(y[:, :3], slice(0, 2))
