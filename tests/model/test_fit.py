import numpy as np
import pytest

from tests.model.planted import planted, same_order
from tests.reference import gp as twin
from videorestore.model import ElectroGP
from videorestore.model.gram import CHUNK, columns_of, first_pass, group_grams
from videorestore.model.joint import mode as mode_module
from videorestore.model.joint.fit import fit_curve
from videorestore.model.options import Options
from videorestore.model.posterior import CurvePosterior
from videorestore.model.starts import METHODS, order_from, orient


def _straight(x):
    """Positions on a common scale."""
    return (x - x.min()) / np.ptp(x)


@pytest.mark.parametrize("hyper", ["shared", "pixel"])
def test_planted_curve_comes_back(hyper):
    x, clean, y = planted(60, 40)
    model = ElectroGP(hyper=hyper).fit(y)
    assert np.abs(_straight(model.embedding_) - _straight(x)).max() < 0.04
    mean, sd = model.inverse_transform(model.embedding_, return_std=True)
    error = mean - clean
    assert np.sqrt((error**2).mean()) < 0.55 * 0.1
    assert 0.9 < (np.abs(error) < 1.96 * sd).mean() < 0.99
    assert np.sqrt(np.median(model.noise_var_)) == pytest.approx(0.1, rel=0.1)
    assert model.phi_.shape == model.alpha_.shape == model.noise_var_.shape == (40,)


def test_order_is_found_again_after_shuffling():
    x, _, y = planted(70, 60, noise=0.15)
    shuffle = np.random.default_rng(1).permutation(70)
    model = ElectroGP(hyper="shared").fit(y[shuffle])
    assert same_order(model.embedding_, x[shuffle]) > 0.99
    assert model.embedding_[0] < model.embedding_[-1]


def test_closed_curve():
    _, clean, y = planted(60, 40, closed=True)
    shuffle = np.random.default_rng(1).permutation(60)
    model = ElectroGP(periodic=True).fit(y[shuffle])
    # Up to rotation and direction: the order around the circle.
    around = shuffle[np.argsort(model.embedding_)]
    steps = np.minimum(np.diff(around) % 60, -np.diff(around) % 60)
    assert (steps == 1).mean() > 0.9
    mean = model.inverse_transform(model.embedding_)
    assert np.sqrt(((mean - clean[shuffle]) ** 2).mean()) < 0.06
    ends = model.inverse_transform([0.0, 1.0])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


@pytest.mark.parametrize("kernel", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("hyper", ["shared", "pixel"])
def test_log_posterior_is_the_dense_twins(hyper, kernel):
    _, _, y = planted(25, 4)
    model = ElectroGP(hyper=hyper, kernel=kernel, marginal=False, init="order").fit(y)
    fit = model.fit_
    expected = twin.log_posterior(
        y - model.mean_, model.embedding_, kernel, model.alpha_, model.phi_, model.noise_var_, model.r_
    )
    assert model.log_posterior_ == pytest.approx(expected, abs=1e-4)
    assert fit.kernel.name == kernel


def test_scg_and_lbfgs_agree():
    _, _, y = planted(40, 30)
    one = ElectroGP(hyper="shared", init="order").fit(y)
    other = ElectroGP(hyper="shared", init="order", optimizer="scg", max_iter=600).fit(y)
    assert other.log_posterior_ == pytest.approx(one.log_posterior_, abs=1.0)
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=0.01)


def test_kernel_by_evidence():
    _, _, smooth = planted(50, 40)
    model = ElectroGP(kernel="auto", hyper="shared", init="order").fit(smooth)
    assert model.kernel_ == "se" and set(model.evidence_) == {"se", "matern32", "matern52"}
    # Moving edges are no smooth functions of the position.
    place = np.linspace(0, 1, 50)[:, None]
    edges = np.clip((np.linspace(0, 1, 300)[None, :] - place) * 40, -1, 1)
    edges = edges + 0.02 * np.random.default_rng(0).normal(size=edges.shape)
    assert ElectroGP(kernel="auto", hyper="shared", init="order").fit(edges).kernel_ != "se"


def test_noise_of_each_pixel():
    rng = np.random.default_rng(0)
    sd = rng.choice([0.03, 0.3], 200)
    _, clean, _ = planted(80, 200)
    y = clean + sd * rng.normal(size=clean.shape)
    model = ElectroGP(init="order").fit(y)
    ratio = np.sqrt(model.noise_var_) / sd
    assert 0.93 < np.median(ratio) < 1.07 and np.quantile(ratio, 0.05) > 0.7


def test_known_noise_is_kept():
    _, clean, y = planted(50, 30)
    model = ElectroGP(noise_var=0.01, init="order").fit(y)
    np.testing.assert_allclose(model.noise_var_, 0.01)
    per_pixel = ElectroGP(noise_var=np.full(30, 0.01), init="order").fit(y)
    np.testing.assert_allclose(per_pixel.embedding_, model.embedding_, atol=1e-6)
    mean, sd = model.inverse_transform(model.embedding_, return_std=True)
    assert 0.9 < (np.abs(mean - clean) < 1.96 * sd).mean() < 0.99


def test_stream_and_matrix_give_the_same():
    _, _, y = planted(30, 50)
    y = y.astype(np.float32)
    whole, parts = (
        CurvePosterior(fit_curve(columns_of(y, size), 30, Options(init="order"))) for size in (50, 7)
    )
    np.testing.assert_allclose(parts.fit.x, whole.fit.x, atol=1e-4)
    x = np.array([0.2, 0.7])
    mean, sd = whole.weights(x).apply(y[:, 10:20], slice(10, 20))
    full, full_sd = whole.weights(x).apply(y)
    np.testing.assert_allclose(mean, full[:, 10:20], atol=1e-5)
    np.testing.assert_allclose(sd, full_sd[:, 10:20], atol=1e-6)


def test_same_input_same_bits_whatever_the_threads():
    from threadpoolctl import threadpool_limits

    _, _, y = planted(40, CHUNK // 2 + 100)
    y = y.astype(np.float32)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = ElectroGP().fit(y)
            results.append((model.embedding_, model.noise_var_, model.inverse_transform([0.3])))
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_equal_frames_share_a_position():
    _, _, y = planted(30, 20)
    doubled = np.concatenate([y[:10], y[9:10], y[10:], y[4:5]])
    model = ElectroGP(init="order").fit(doubled)
    assert model.embedding_[10] == model.embedding_[9] and model.embedding_[31] == model.embedding_[4]
    single = ElectroGP(init="order").fit(y)
    np.testing.assert_allclose(model.embedding_[:10], single.embedding_[:10], atol=0.01)


def test_reversed_and_permuted_frames_give_the_same_curve():
    _, _, y = planted(40, 30)
    one, other = ElectroGP(hyper="shared").fit(y), ElectroGP(hyper="shared").fit(y[::-1])
    np.testing.assert_allclose(one.embedding_, 1 - other.embedding_[::-1], atol=1e-3)
    assert one.embedding_[0] < one.embedding_[-1] and other.embedding_[0] < other.embedding_[-1]


@pytest.mark.parametrize("seed", range(5))
def test_orientation_follows_its_rule_and_keeps_distances(seed):
    x = np.random.default_rng(seed).uniform(size=9)
    opened = orient(x, False)
    assert opened[0] < opened[-1]
    np.testing.assert_allclose(np.abs(np.subtract.outer(opened, opened)), np.abs(np.subtract.outer(x, x)))
    closed = orient(x, True)
    chord = np.abs(np.sin(np.pi * np.subtract.outer(x, x)))
    np.testing.assert_allclose(np.abs(np.sin(np.pi * np.subtract.outer(closed, closed))), chord, atol=1e-12)
    assert closed.argmin() == 0 and closed[1] - closed[0] < 0.5 and closed.max() < 1
    assert np.unique(closed).size == 9


def test_given_positions_are_kept_where_they_may_not_move():
    x, _, y = planted(30, 20)
    model = ElectroGP(init=x, learn_x=False).fit(y)
    np.testing.assert_allclose(_straight(model.embedding_), _straight(x), atol=1e-9)


@pytest.mark.parametrize("cycles", [2.0, 50.0])
def test_cheaper_posteriors_reach_the_exact_fit(cycles, monkeypatch):
    _, _, y = planted(300, 60, cycles=cycles)
    options = {"hyper": "shared", "init": "order"}
    exact = ElectroGP(**options).fit(y)
    monkeypatch.setattr(mode_module, "EXACT", 100)
    cheap = ElectroGP(**options).fit(y)
    mean, sd = exact.inverse_transform(exact.embedding_, return_std=True)
    close = cheap.inverse_transform(cheap.embedding_)
    assert np.sqrt((((close - mean) / sd) ** 2).mean()) < 0.01


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [40, 700])
def test_starts_find_the_order_of_a_short_arc(method, n):
    t = np.linspace(0, 1.2, n)
    y = np.stack([np.cos(t), np.sin(t)], axis=1)
    shuffle = np.random.default_rng(0).permutation(n)
    y = y[shuffle]
    distance = np.square(y[:, None] - y[None]).sum(axis=2)
    assert same_order(np.argsort(order_from(method, distance)), shuffle) > 0.999


def test_chain_finds_a_way_that_spectra_miss():
    """A wheel with nearly equal front and back: the short cut between them fools the spectral starts."""
    t = 2 * np.pi * np.arange(80) / 80
    y = np.stack([np.cos(2 * t), np.sin(2 * t), 0.12 * np.cos(t), 0.12 * np.sin(t)], axis=1)
    y = y @ np.random.default_rng(0).normal(size=(4, 60))
    shuffle = np.random.default_rng(1).permutation(80)
    model = ElectroGP(hyper="shared", periodic=True).fit(y[shuffle])
    around = shuffle[np.argsort(model.embedding_)]
    steps = np.minimum(np.diff(around) % 80, -np.diff(around) % 80)
    assert (steps == 1).all() and model.init_ == "chain"


def test_progress_is_told():
    seen = []
    _, _, y = planted(30, 40)
    ElectroGP(callback=lambda stage, i, v: seen.append((stage, i, v))).fit(y)
    assert {stage.split(" ")[0] for stage, _, _ in seen} >= {"shared", "repulsion"}


def test_gram_matrices_equal_products():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(9, 40)).astype(np.float32)
    label = rng.integers(-1, 3, 40)
    blocks = ((y[:, i : i + 11], label[i : i + 11], []) for i in range(0, 40, 11))
    grams, sizes = group_grams(blocks, 9, 3)
    for g in range(3):
        part = y[:, label == g].astype(float)
        np.testing.assert_allclose(grams[g], part @ part.T, rtol=1e-5, atol=1e-5)
        assert sizes[g] == (label == g).sum()


def test_first_pass_counts_distances_over_what_both_frames_show():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(6, 30))
    y[rng.uniform(size=y.shape) < 0.3] = np.nan
    facts = first_pass(columns_of(y, 7), 6)
    for i in range(6):
        for j in range(6):
            expected = np.nanmean((y[i] - y[j]) ** 2) * 30
            assert facts.distance[i, j] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(facts.mean, np.nanmean(y, axis=0))
    assert not facts.complete and facts.observed.sum() == (~np.isnan(y)).sum()


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_of_still_pixels_is_not_taken_for_signal(seed):
    rng = np.random.default_rng(seed)
    rate, size = rng.uniform(0.5, 3, 600), np.exp(0.5 * rng.normal(size=600))
    size[:540] = 0.0
    clean = size * np.sin(2 * np.pi * np.outer(np.linspace(0, 1, 80), rate) + rng.uniform(0, 6, 600))
    noisy = clean + 0.5 * rng.normal(size=clean.shape)
    off = {}
    for hyper in ("shared", "pixel"):
        model = ElectroGP(init="order", hyper=hyper, marginal=False).fit(noisy)
        off[hyper] = np.square(model.inverse_transform(model.embedding_) - clean)[:, :540].mean()
    assert off["pixel"] < 0.8 * off["shared"]
