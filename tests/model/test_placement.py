import numpy as np
import pytest

from tests.model.planted import planted
from tests.reference import gp as twin
from videorestore.errors import InputError
from videorestore.model import ElectroGP
from videorestore.model.imputation import expectation_maximisation
from videorestore.model.placement import effective_size
from videorestore.model.posterior import CurvePosterior


@pytest.fixture(scope="module")
def loose():
    """A model of 60 frames, 8 loose half-seen frames, the whole ones and where they belong."""
    _, clean, y = planted(68, 150, noise=0.1, seed=3)
    rng = np.random.default_rng(0)
    out = np.sort(rng.choice(np.arange(3, 65), 8, replace=False))
    kept = np.setdiff1d(np.arange(68), out)
    model = ElectroGP(init="order", random_state=0).fit(y[kept])
    partial = y[out].copy()
    partial[rng.uniform(size=partial.shape) < 0.5] = np.nan
    return model, partial, clean[out], y[out], out - np.arange(8)


def test_loose_frames_find_their_place(loose):
    model, partial, _, _, index = loose
    x = model.transform(partial)
    assert x.shape == (8, 1)
    x = x[:, 0]
    # Noise may put a frame on the other side of its neighbour's position, not further.
    assert np.abs(np.searchsorted(np.sort(model.embedding_), x) - index).max() <= 1


def test_log_density_equals_the_dense_twin(loose):
    model, partial, *_ = loose
    placement = model.place(partial[:1])[0]
    at = np.array([0.2, 0.5, 0.51])
    seen = np.flatnonzero(~np.isnan(partial[0]))
    noise = model.phi_ * model.fit_.ratio[model.fit_.label]
    mean, sd = twin.predict(
        (model._training - model.mean_)[:, seen],
        model.embedding_,
        at,
        "se",
        model.alpha_[seen],
        model.phi_[seen],
        noise[seen],
    )
    variance = sd**2 + noise[seen]
    error = partial[0, seen] - model.mean_[seen] - mean
    expected = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance).sum(axis=1)
    np.testing.assert_allclose(placement.log_likelihood(at), expected, rtol=1e-6)


def test_grid_density_is_normalised_and_the_sampler_follows_it(loose):
    model, partial, *_ = loose
    for placement in model.place(partial[:3]):
        chain = placement.sample(2000, np.random.default_rng(1))
        mean, sd = placement.moments()
        assert chain.acceptance > 0.9 and chain.effective > 1000
        assert abs(chain.x.mean() - mean) < 0.15 * sd and chain.x.std() == pytest.approx(sd, rel=0.1)
        assert abs(placement.mode() - mean) < sd
        fine = np.linspace(mean - 8 * sd, mean + 8 * sd, 4001)
        density = np.exp(placement.log_likelihood(fine) - placement.log_likelihood(np.array([mean])))
        weight = density / density.sum()
        assert weight @ fine == pytest.approx(mean, abs=0.02 * sd)
        assert np.sqrt(weight @ (fine - mean) ** 2) == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("method", ["exact", "map", "mh", "em"])
def test_missing_pixels_are_completed_with_their_sd(loose, method):
    model, partial, clean, whole, _ = loose
    filled, sd = model.impute(partial, method, return_std=True)
    missing = np.isnan(partial)
    np.testing.assert_array_equal(filled[~missing], partial[~missing])
    assert (sd[~missing] == 0).all() and (sd[missing] > 0).all()
    assert np.sqrt(((filled - clean)[missing] ** 2).mean()) < 0.07
    assert 0.91 < (np.abs(filled - whole)[missing] < 1.96 * sd[missing]).mean() < 0.98


def test_the_exact_posterior_is_the_default_and_what_long_chains_tend_to():
    """Two dimensions, one of them missing: the position stays uncertain and its share of the sd counts."""
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0, 3, 80))
    y = np.stack([t, np.sin(2 * t)], axis=1) + 0.08 * rng.normal(size=(80, 2))
    model = ElectroGP(random_state=0).fit(y)
    z = np.stack([np.linspace(0.4, 2.6, 12), np.full(12, np.nan)], axis=1)
    mean, sd = model.impute(z, return_std=True)
    chain, chain_sd = model.impute(z, "mh", return_std=True, n_samples=6400)
    np.testing.assert_allclose(mean, chain, atol=0.25 * sd.max())
    np.testing.assert_allclose(sd[:, 1], chain_sd[:, 1], rtol=0.25)
    _, narrow = model.impute(z, "map", return_std=True)
    assert (sd[:, 1] > 1.05 * narrow[:, 1]).mean() > 0.7
    fresh = rng.uniform(0.3, 2.7, 400)
    new = np.stack([fresh, np.sin(2 * fresh)], axis=1) + 0.08 * rng.normal(size=(400, 2))
    half = new.copy()
    half[:, 1] = np.nan
    guess, spread = model.impute(half, return_std=True)
    assert 0.92 < (np.abs(guess - new)[:, 1] < 1.96 * spread[:, 1]).mean() < 0.985


@pytest.mark.parametrize(("proposal", "least"), [("grid", 0.9), ("piecewise", 0.2), ("uniform", 0.001)])
def test_proposals_of_the_chain_lead_to_the_same_posterior(loose, proposal, least):
    model, partial, *_ = loose
    sparse = partial[0].copy()
    sparse[12:] = np.nan
    chain = model.sample_placement(sparse, 20000, random_state=1, proposal=proposal)
    mean, sd = model.place(sparse[None])[0].moments()
    assert chain.acceptance > least
    assert abs(chain.x.mean() - mean) < 5 * sd / np.sqrt(chain.effective) + 0.02 * sd
    with pytest.raises(InputError, match="proposal"):
        model.sample_placement(sparse, 10, proposal="normal")


def test_methods_agree_within_the_sd(loose):
    model, partial, *_ = loose
    by_map, sd = model.impute(partial, "map", return_std=True)
    missing = np.isnan(partial)
    for method in ("mh", "em"):
        assert (np.abs(model.impute(partial, method) - by_map)[missing] < sd[missing]).all()


def test_em_climbs_each_pixels_own_posterior():
    """Two places with different means: the heavier one wins where they are apart, both count where they meet."""
    mean = np.array([[0.0, 0.0], [5.0, 0.5]])
    variance = np.full((2, 2), 0.25)
    value = expectation_maximisation(np.log([0.7, 0.3]), mean, variance)
    assert value[0] == pytest.approx(0.0, abs=1e-3) and 0.05 < value[1] < 0.25
    grid = np.linspace(-1, 1, 20001)
    density = 0.7 * np.exp(-2 * grid**2) + 0.3 * np.exp(-2 * (grid - 0.5) ** 2)
    assert value[1] == pytest.approx(grid[density.argmax()], abs=1e-3)


def test_sampling_is_repeatable(loose):
    model, partial, *_ = loose
    one = model.sample_placement(partial[0], 50, random_state=4)
    other = model.sample_placement(partial[0], 50, random_state=4)
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(np.asarray(one), one.x)
    assert len(one) == 50 and list(one)[3] == one[3]


def test_a_table_of_the_curve_serves_any_position(loose):
    """A frame of the curve itself, anywhere between nodes, without noise: found to a fraction of its sd."""
    model, *_ = loose
    at = np.linspace(0.06, 0.85, 9) + 0.0137
    frames = model.inverse_transform(at)
    for x, placement in zip(at, model.place(frames)):
        assert abs(placement.mode() - x) < 0.05 * placement.moments()[1]


def test_score_prefers_frames_of_the_curve(loose):
    model, _, _, whole, _ = loose
    foreign = np.random.default_rng(0).permuted(whole, axis=1)
    assert model.score(whole) > model.score(foreign) + 1


def test_placement_keeps_to_the_span_of_the_data(loose):
    model, partial, *_ = loose
    wild = partial + 3.0
    x = model.transform(wild)
    assert (x >= model.embedding_.min()).all() and (x <= model.embedding_.max()).all()


def test_wrong_frames_are_refused(loose):
    model, partial, *_ = loose
    with pytest.raises(InputError, match="seen pixel"):
        model.transform(np.full((1, 150), np.nan))
    with pytest.raises(InputError):
        model.transform(partial[:, :50])
    with pytest.raises(InputError):
        model.impute(partial, "other")


def test_effective_size_of_known_chains():
    rng = np.random.default_rng(0)
    assert effective_size(rng.normal(size=4000)) > 3000
    slow = np.zeros(4000)
    for i in range(1, 4000):
        slow[i] = 0.9 * slow[i - 1] + rng.normal()
    # An AR(1) chain with 0.9 is worth (1 - 0.9) / (1 + 0.9) of its length.
    assert effective_size(slow) == pytest.approx(4000 * 0.1 / 1.9, rel=0.4)


def test_faint_pixels_do_not_bend_the_curve(shared_data):
    """A turntable object whose dim background, weighted by its own noise, would drag the positions away."""
    cv2 = pytest.importorskip("cv2")
    files = [next((shared_data / "manifold" / "coil20").rglob(f"obj5__{k}.png")) for k in range(72)]
    frames = np.stack([cv2.imread(str(f), cv2.IMREAD_GRAYSCALE)[::2, ::2].ravel() for f in files]).astype(
        np.float32
    )
    rng = np.random.default_rng(0)
    out = np.sort(rng.choice(np.arange(3, 69), 7, replace=False))
    kept = np.setdiff1d(np.arange(72), out)
    loose = frames[out].copy()
    loose[rng.uniform(size=loose.shape) < 0.5] = np.nan
    model = ElectroGP(kernel="matern52", init="order").fit(frames[kept])
    place = np.searchsorted(np.sort(model.embedding_), model.transform(loose)[:, 0])
    np.testing.assert_array_equal(place, out - np.arange(7))


def test_the_table_of_the_curve_is_made_once(monkeypatch):
    _, clean, noisy = planted(n=40, d=60)
    model = ElectroGP(init="order", marginal=False).fit(noisy)
    made = []
    weights = CurvePosterior.weights
    monkeypatch.setattr(CurvePosterior, "weights", lambda self, x: made.append(x.size) or weights(self, x))
    model.transform(clean[3:6])
    model.transform(clean[7:9])
    assert len(made) == 1


def test_the_mode_is_the_top_of_the_density():
    _, clean, noisy = planted(n=40, d=60)
    model = ElectroGP(init="order", marginal=False).fit(noisy)
    for placement in model.place(clean[4:30:5]):
        top, sd = placement.mode(), placement.moments()[1]
        fine = np.linspace(top - sd, top + sd, 20001)
        assert abs(top - fine[placement.log_likelihood(fine).argmax()]) < 2e-3 * sd
