"""Fit the numbers of a stage anew on clips with planted faults, and tell their error on clips that took no part in the fit.

    scripts/calibrate spots|sd|coded [--quick] [--clips FOLDER]

``spots``: the weights by which a spot is called damage (`detect.verdict`). ``sd``: how far a denoised picture is from the truth
(`motion.denoise_error`). ``coded``: what a codec took of the noise (`detect.noise_coded`). Every second clip of a folder is held
out. Nothing is written: who takes the new numbers over puts them where the old ones stand, and runs the benchmarks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_parts import tables
from bench_parts.clips import Part, Pixels, add_noise, parts, read, write
from bench_parts.detection import dirty

from videorestore.detect import noise_coded, verdict
from videorestore.detect.noise_blocks import Blocks, compare
from videorestore.detect.sight import Sight
from videorestore.detect.spikes import _Candidate, find_spikes
from videorestore.motion import denoise as along_motion
from videorestore.motion import denoise_error
from videorestore.spatial.noise import LUMA_GAIN, Noise
from videorestore.spatial.planes import to_planes
from videorestore.spatial.subsampled import doubled

Values = NDArray[np.float64]

FITTED = (
    Part("bus", ("bus_qcif_raw.y4m",)),
    Part("foreman", ("foreman_cif_vp9.webm",)),
    Part("car-turn", ("davis_car-turn.mp4",)),
    Part("highway", ("highway.mpg",), first=100),
    Part("hall", ("hall_monitor",)),
    Part("street", ("intel_car-detection.mp4",)),
    Part("corridor", ("intel_one-by-one-person.mp4",), first=300),
    Part("drawn film", ("bigbuckbunny_720p.mp4",)),
    Part("dogs", ("../inpaint/dogs_jump_orig.mp4",)),
    Part("winter", ("../damaged/Winter_Scenes_in_Holland.mp4",)),
)
HELD_OUT = (
    Part("tennis", ("tennis_sif.mp4",)),
    Part("escalator", ("escalator.avi",)),
    Part("webcam", ("intel_asl_book.mkv",)),
    Part("schoolgirls", ("../inpaint/schoolgirls_orig.mp4",)),
    Part("chaplin", ("../damaged/chaplin.mp4",), first=60),
)
"""None of these is a part that the benchmarks keep for themselves."""

FRAMES, SIZE = 12, (240, 320)
"""Of a clip: frames, and height and width at most."""

NOMINAL, WIDE = 0.95, 1.96
"""Share of the errors that an interval of so many sds is to hold."""

SAMPLE = 20_000
"""Pixels of a clip that take part."""

LOST = float(np.log(2))
"""A level that is off by a factor of two and more is lost: of weak noise a codec leaves nothing to tell it by."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is fitted.

    Attributes
    ----------
    names : the numbers, where they stand.
    now : as they are.
    gather : from the frames (n, h, w, c) of a clip to cases, each a tuple of arrays.
    fit : from the cases of several clips to the numbers.
    errors : of numbers on cases, by name; less is better.
    """

    names: tuple[str, ...]
    now: tuple[float, ...]
    gather: Callable[[Pixels], list[Any]]
    fit: Callable[[list[Any]], Sequence[float]]
    errors: Callable[[Sequence[float], list[Any]], dict[str, float]]


def spots_of(frames: Pixels) -> list[tuple[Values, Values]]:
    """Features (m, 6) of all that stands out, and whether it is damage (m,): clean, planted, with noise, and where the film weaves."""
    rng = np.random.default_rng(2)
    clean = frames.astype(np.float32)
    spoilt, masks = dirty(clean, rng)
    nothing = np.zeros_like(masks)
    steps = rng.integers(-2, 3, (len(frames), 2))
    woven = np.stack([np.roll(f, step, (0, 1)) for f, step in zip(spoilt, steps)])
    moved = np.stack([np.roll(m, step, (0, 1)) for m, step in zip(masks, steps)])
    grain = np.clip(spoilt + 9 * rng.standard_normal(spoilt.shape), 0, 255).astype(np.float32)
    cases = ((clean, nothing, 0.0), (spoilt, masks, 0.0), (grain, masks, 9.0), (woven, moved, 0.0))
    return [_spots(np.asarray(one, np.float32), mask, sd) for one, mask, sd in cases]


def _spots(frames: NDArray[np.float32], masks: NDArray[np.bool_], noise_sd: float) -> tuple[Values, Values]:
    found: dict[tuple[int, int], tuple[tuple[float, ...], bool]] = {}
    asked = _Candidate.features

    def noted(spot: Any, *fields: Any) -> tuple[float, ...]:
        # It is asked again after every further look at it: the last answer stands.
        values = asked(spot, *fields)
        found[k, spot.label] = values, bool(masks[k][spot.where][spot.inside].mean() > 0.5)
        return values

    sight = Sight(frames, noise_sd, 1)
    with mock.patch.object(_Candidate, "features", noted):
        for k in range(1, len(frames) - 1):
            find_spikes(sight, k, -np.inf)
    values = np.array([v for v, _ in found.values()], float).reshape(-1, len(verdict.WEIGHTS))
    return values, np.array([damage for _, damage in found.values()], float)


def fit_spots(cases: list[tuple[Values, Values]]) -> list[float]:
    """Weights, and the constant behind them."""
    values, damage = (np.concatenate(part) for part in zip(*cases))
    found = LogisticRegression(C=1e6, max_iter=1000).fit(values, damage)
    return [*found.coef_[0].tolist(), float(found.intercept_[0])]


def spot_errors(numbers: Sequence[float], cases: list[tuple[Values, Values]]) -> dict[str, float]:
    """Share of the pairs of damage and a thing that are ranked wrong, and the mean log loss."""
    values, damage = (np.concatenate(part) for part in zip(*cases))
    odds = values @ np.array(numbers[:-1]) + numbers[-1]
    loss = np.logaddexp(0, np.where(damage > 0, -odds, odds))
    hits = damage.sum()
    above = rankdata(odds)[damage > 0].sum() - hits * (hits + 1) / 2
    return {
        "pairs ranked wrong": 1 - float(above / max(hits * (len(damage) - hits), 1)),
        "log loss": float(loss.mean()),
    }


def errors_of(frames: Pixels) -> list[tuple[Values, Values]]:
    """For noise of two levels: claims ``(3, m)`` (luma's posterior variance, that along motion, chroma's), and squared errors ``(2, m)``."""
    height, width = (side // 8 * 8 for side in frames.shape[1:3])
    truth = frames[:, :height, :width]
    rng = np.random.default_rng(3)
    return [_errors(truth, sigma, rng) for sigma in (10.0, 50.0)]


def _errors(truth: Pixels, sigma: float, rng: np.random.Generator) -> tuple[Values, Values]:
    claimed = denoise_error.error_variance
    claims: list[Any] = []

    def noted(luma: Any, along: Any, chroma: Any, noise: Noise) -> Any:
        claims.extend(doubled(part[:, 0]) for part in (luma, along, chroma))
        return claimed(luma, along, chroma, noise)

    with mock.patch.object(along_motion, "error_variance", noted):
        mean, _ = along_motion.denoise(add_noise(truth, sigma), Noise.white(sigma))
    off = np.square(to_planes(mean - truth))
    # Where noise is clipped there is less of it, and that is another question.
    inner = np.abs(truth.astype(float) - 127.5).max(axis=3) < max(127.5 - 2 * sigma, 20)
    at = rng.permutation(np.flatnonzero(inner))[:SAMPLE]
    return np.stack([c.ravel()[at] for c in claims]), np.stack([off[:, q].ravel()[at] for q in (0, 1)])


def fit_sd(cases: list[tuple[Values, Values]]) -> list[float]:
    """The factor and the power of luma's variance by which intervals hold as much everywhere, and the factor of chroma's."""

    def luma(power: float) -> float:
        ratios = np.concatenate([off[0] / _mixture(claims, power) for claims, off in cases])
        return float(np.quantile(ratios, NOMINAL) / WIDE**2)

    powers = np.arange(0.0, 1.01, 0.05)
    best = min(powers, key=lambda p: _unevenness(cases, luma(float(p)), float(p)))
    chroma = np.concatenate([off[1] / np.maximum(claims[2], 1e-9) for claims, off in cases])
    return [luma(float(best)), float(best), float(np.quantile(chroma, NOMINAL) / WIDE**2)]


def _mixture(claims: Values, power: float) -> Values:
    luma, along = np.maximum(claims[0], 1e-9), np.maximum(claims[1], 1e-9)
    return np.asarray(along ** (1 - power) * luma**power)


def _unevenness(cases: list[tuple[Values, Values]], factor: float, power: float) -> float:
    """Mean distance of the share held from the nominal one, over fifths of every case by what structure was found."""
    apart = []
    for claims, off in cases:
        held = off[0] <= WIDE**2 * factor * _mixture(claims, power)
        fifths = np.array_split(np.argsort(claims[0] / np.maximum(claims[1], 1e-9)), 5)
        apart += [abs(held[fifth].mean() - NOMINAL) for fifth in fifths]
    return float(np.mean(apart))


def sd_errors(numbers: Sequence[float], cases: list[tuple[Values, Values]]) -> dict[str, float]:
    """Distance of the share held from the nominal one."""
    factor, power, chroma = numbers
    held = [float((off[0] <= WIDE**2 * factor * _mixture(claims, power)).mean()) for claims, off in cases]
    colours = [float((off[1] <= WIDE**2 * chroma * claims[2]).mean()) for claims, off in cases]
    return {
        "luma, by fifths": _unevenness(cases, factor, power),
        "luma, worst case": max(abs(h - NOMINAL) for h in held),
        "chroma, worst case": max(abs(h - NOMINAL) for h in colours),
    }


def coded_of(frames: Pixels) -> list[tuple[float, Blocks, Blocks]]:
    """Noise before x264, and what differs between frames next to each other and farther apart behind it."""
    cases = []
    height, width = (side // 2 * 2 for side in frames.shape[1:3])
    with tempfile.TemporaryDirectory() as folder:
        for sigma in (10.0, 20.0, 35.0):
            for crf in (20, 28):
                path = Path(folder) / "coded.mkv"
                write(add_noise(frames[:, :height, :width], sigma), path, crf=crf)
                clip = read(path, len(frames)).astype(np.float32)
                near, far = (compare(clip, lag, 6).get("luma") for lag in (1, 3))
                if near is not None and far is not None:
                    cases.append((sigma, near, far))
    return cases


def _before(numbers: Sequence[float], cases: list[tuple[float, Blocks, Blocks]]) -> Values:
    """Distance of the noise that is told from that which was there, as a log ratio; at most `LOST`."""
    power, *possible = numbers
    tuned = replace(noise_coded._T, tilt_power=power, possible=tuple(possible))
    with mock.patch.object(noise_coded, "_T", tuned):
        told = [noise_coded._before_the_codec(near, far, LUMA_GAIN)[0] for _, near, far in cases]
    ratios = np.log(np.maximum(told, 1e-3)) - np.log([sigma for sigma, _, _ in cases])
    return np.asarray(np.minimum(np.abs(ratios), LOST))


def fit_coded(cases: list[tuple[float, Blocks, Blocks]]) -> list[float]:
    """The power of the tilt, and what a codec of usual strength may have tilted."""
    found = minimize(
        lambda numbers: float(_before(numbers, cases).mean()), STAGES["coded"].now, method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 1e-4, "maxfev": 200},
    )  # fmt: skip
    return [float(number) for number in found.x]


def coded_errors(numbers: Sequence[float], cases: list[tuple[float, Blocks, Blocks]]) -> dict[str, float]:
    """Relative error of the level."""
    off = _before(numbers, cases)
    return {"median log ratio": float(np.median(off)), "mean log ratio": float(off.mean())}


STAGES = {
    "spots": Stage(
        (*(f"verdict.WEIGHTS[{k}]" for k in range(len(verdict.WEIGHTS))), "verdict.BIAS"),
        (*verdict.WEIGHTS, verdict.BIAS), spots_of, fit_spots, spot_errors,
    ),
    "sd": Stage(
        ("denoise_error.LUMA", "denoise_error.CLAIM", "denoise_error.CHROMA"),
        (denoise_error.LUMA, denoise_error.CLAIM, denoise_error.CHROMA), errors_of, fit_sd, sd_errors,
    ),
    "coded": Stage(
        ("noise_coded.Tuning.tilt_power", *(f"noise_coded.Tuning.possible[{k}]" for k in range(3))),
        (noise_coded._T.tilt_power, *noise_coded._T.possible), coded_of, fit_coded, coded_errors,
    ),
}  # fmt: skip


def clips(folder: Path | None, quick: bool) -> Iterator[tuple[str, Pixels, bool]]:
    """Name and frames of every clip, and whether it is held out; ``quick``: two of either."""
    if folder is not None:
        chosen = [(part, bool(k % 2)) for k, part in enumerate(parts(False, folder))]
    else:
        chosen = [(part, False) for part in FITTED] + [(part, True) for part in HELD_OUT]
    for held_out in (False, True):
        for part, _ in [c for c in chosen if c[1] == held_out][: 2 if quick else None]:
            yield part.name, part.read(most=FRAMES, limit=SIZE), held_out


def calibrate(
    stage: Stage, material: Iterator[tuple[str, Pixels, bool]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the numbers, and rows of their errors."""
    cases: dict[bool, list[Any]] = {False: [], True: []}
    for name, frames, held_out in material:
        found = stage.gather(frames)
        cases[held_out] += found
        print(f"{name}: {len(found)} cases{', held out' if held_out else ''}", file=sys.stderr, flush=True)
    anew = stage.fit(cases[False])
    numbers = [{"number": n, "now": a, "anew": b} for n, a, b in zip(stage.names, stage.now, anew)]
    errors = []
    for title, held_out in (("fitted", False), ("held out", True)):
        before, after = (stage.errors(given, cases[held_out]) for given in (stage.now, anew))
        errors += [{"clips": title, "error": e, "now": before[e], "anew": after[e]} for e in before]
    return numbers, errors


def main() -> int:
    """Fit a stage anew and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=tuple(STAGES))
    parser.add_argument("--quick", action="store_true", help="two clips of either kind")
    parser.add_argument("--clips", type=Path, help="a folder of clips; without it the development clips")
    options = parser.parse_args()
    if options.clips is None and not (Path(__file__).resolve().parents[2] / "shared" / "data").is_dir():
        parser.error("the development clips are not here; name a folder of clips with --clips FOLDER")
    numbers, errors = calibrate(STAGES[options.stage], clips(options.clips, options.quick))
    print(tables.table(numbers), "\n", tables.table(errors), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
