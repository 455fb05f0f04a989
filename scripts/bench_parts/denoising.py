"""``videorestore denoise`` with its defaults and ffmpeg's filters on the same noisy files, in the same run.

Noise is drawn once per clip, clipped to 8 bit, and the file is lossless or goes through x264; it is white, smooth as of a
tape (4:2:2), or raised in the dark as of a camera at night. Every filter stands at its
best strength for that very clip; ours is blind. PSNR is over RGB and over all frames. ``auto over better`` is by how much
the command with its defaults is above the better of ``--model curve`` and ``--model motion``; ``covers`` the share of the
truth within 1.96 sd; ``held out`` marks parts that no setting was chosen on, see `bench_parts.clips`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.clips import TAPE_LUMA, add_night_noise, add_noise, add_tape_noise, parts, write
from bench_parts.command import coverage, videorestore
from bench_parts.filters import FILTERS, Case, peers
from bench_parts.scores import misplaced, psnr
from bench_parts.tables import shown, summed

SIGMAS = (5, 10, 25, 50)
CRFS = (20, 28)
CODED_SIGMA = 20
"""Noise before the codec."""


def cases(quick: bool, clips: Path | None, folder: Path) -> Iterator[tuple[Case, float, str, bool]]:
    """Every noisy file with its sigma, what was done to it, and whether it was held out."""
    for part in parts(quick, clips):
        truth = part.read()
        h, w = (length // 2 * 2 for length in truth.shape[1:3])
        for sigma in (25,) if quick else SIGMAS:
            source = folder / "noisy.mkv"
            write(add_noise(truth, sigma), source)
            yield Case(name=part.name, source=source, truth=truth), sigma, f"sigma {sigma}", part.held_out
        for crf in (20,) if quick else CRFS:
            source = folder / "coded.mkv"
            write(add_noise(truth, CODED_SIGMA), source, crf=crf)
            case = Case(name=part.name, source=source, truth=truth[:, :h, :w], coded=True)
            yield case, CODED_SIGMA, f"sigma {CODED_SIGMA}, crf {crf}", part.held_out
        if quick and not part.held_out:
            continue
        source = folder / "tape.mkv"
        write(add_tape_noise(truth[:, :h, :w]), source, samples="yuv422p")
        case = Case(name=part.name, source=source, truth=truth[:, :h, :w], coded=True)
        yield case, TAPE_LUMA, "tape", part.held_out
        source = folder / "night.mkv"
        write(add_night_noise(truth), source, crf=20)
        case = Case(name=part.name, source=source, truth=truth[:, :h, :w], coded=True)
        yield case, CODED_SIGMA, "night, crf 20", part.held_out


def row_of(case: Case, sigma: float, quick: bool) -> dict[str, Any]:
    """Ours in four ways, and the best filter."""
    found = peers(case, sigma, ("hqdn3d", "nlmeans", "fftdnoiz") if quick else tuple(FILTERS))
    best = max(found, key=lambda name: found[name]["psnr"])
    if shift := misplaced(found[best]["frames"], case.truth):
        raise RuntimeError(f"{best} must not shift the clip, it does by {shift}: {found[best]['setting']}")
    auto = videorestore("denoise", case.source, sd=True)
    ours = {"default": auto, "fast": videorestore("denoise", case.source, "--quality", "fast")}
    if not (quick and case.coded):
        # After a codec a curve is never asked: the whole run shows how far below it is.
        ours["curve"] = videorestore("denoise", case.source, "--model", "curve")
    # Where motion alone was asked by itself, asking for it gives the same bits.
    alone = auto.record["model"] == "motion"
    ours["motion"] = auto if alone else videorestore("denoise", case.source, "--model", "motion")
    score = {name: psnr(run.frames, case.truth) for name, run in ours.items()}
    row = {
        "noise found": auto.record["noise_sd"],
        "best filter": best,
        "its PSNR": found[best]["psnr"],
        **score,
        "lead": score["default"] - found[best]["psnr"],
        "covers": coverage(auto, case.truth),
        "CPU over nlmeans": auto.cpu / found["nlmeans"]["cpu"],
        "lead of fast": score["fast"] - found[best]["psnr"],
        "fast, CPU over nlmeans": ours["fast"].cpu / found["nlmeans"]["cpu"],
    }
    if "curve" in ours:
        row["auto over better"] = score["default"] - max(score["curve"], score["motion"])
    return row


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Four clips, one sigma, one crf, three filters; tape and night on those held out; no curve after a codec.
    clips : Path, optional
        A folder of clips instead of the development clips.

    Returns
    -------
    dict
        A row for each noisy file, and for each kind of noise the sums.
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for case, sigma, kind, held_out in cases(quick, clips, Path(folder)):
            named = {"clip": case.name, "held out": "yes" if held_out else "", "noise": kind}
            rows.append({**named, **row_of(case, sigma, quick)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    extra = {"mean lead of fast": "lead of fast"}
    return {"rows": shown(rows), "sums": summed(rows, "noise", extra=extra)}


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
