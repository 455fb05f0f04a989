"""CPU seconds of every stage of a run for a megapixel of one frame, each measured by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LOOKED_AT = 24
"""Small pictures that are measured."""


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def costs_of(large: Path, small: Path, quick: bool) -> dict[str, float]:
    """Seconds for a megapixel of one frame.

    Parameters
    ----------
    large : Path
        A clip of large frames, for what is done to whole frames.
    small : Path
        A clip of small ones, at least 24, for the engines.
    quick : bool
        Measure the fast preset only.
    """
    import cv2

    cv2.setNumThreads(1)
    with_engines = _engines(small, ("fast",) if quick else ("fast", "default"))
    return {**_whole_frames(large), **with_engines}


def _timed(function: Callable[[], Any], megapixels: float) -> tuple[float, Any]:
    before = cpu_seconds()
    value = function()
    return round((cpu_seconds() - before) / megapixels, 4), value


def _whole_frames(path: Path) -> dict[str, float]:
    from videorestore.media import SinkOptions, join_segments, open_source, write_segment
    from videorestore.media.companions import Others
    from videorestore.media.outputs import OutputShape
    from videorestore.plan.look import brightness, measured, small_picture

    costs: dict[str, float] = {}
    with open_source(str(path)) as source:
        pixels = source.height * source.width / 1e6
        spent, frames = _timed(lambda: list(source.frames()), 1)
        costs["decoding"] = round(spent / (len(frames) * pixels), 4)
        all_pixels = len(frames) * pixels
        costs["small_pictures"], pictures = _timed(
            lambda: [brightness(small_picture(f, 320)) for f in frames], all_pixels
        )
        shape = OutputShape(
            info=source.info,
            height=source.height,
            width=source.width,
            n_frames=len(frames),
            fps=source.info.fps,
        )
        segment, output = str(path.with_name("segment.mkv")), str(path.with_name("joined.mkv"))
        costs["encoding"], _ = _timed(
            lambda: write_segment(iter(frames), segment, shape, SinkOptions(), output=output), all_pixels
        )
        costs["joining"], _ = _timed(
            lambda: join_segments([segment], output, shape, SinkOptions(), others=Others(path=str(path))),
            all_pixels,
        )
    many = [pictures[k % len(pictures)] for k in range(LOOKED_AT)]
    measured(iter(many[:6]))
    costs["looking_at_a_small_picture"], _ = _timed(
        lambda: measured(iter(many)), LOOKED_AT * pictures[0].size / 1e6
    )
    return costs


def _engines(path: Path, presets: tuple[Any, ...]) -> dict[str, float]:
    from videorestore import colour
    from videorestore.detect.damage import find_damage
    from videorestore.make.engines import MotionEngine
    from videorestore.media import open_source
    from videorestore.spatial.noise import Noise

    with open_source(str(path)) as source:
        pixels = np.stack([colour.working(frame) for frame in source.frames()])
    one = pixels.shape[1] * pixels.shape[2] / 1e6
    tiny = pixels[:8, :96, :96]
    noise = Noise(sd=10.0)
    costs: dict[str, float] = {}
    for preset in presets:
        engine = MotionEngine(preset)
        engine.denoise(tiny, noise, 1.0, 2, 6)  # compiled kernels are loaded before anything is measured
        n = len(pixels)
        costs[f"denoising_{preset}"], _ = _timed(
            lambda engine=engine, n=n: engine.denoise(pixels, noise, 1.0, 0, n), n * one
        )
        engine.interpolator(tiny, np.arange(8.0)).at(np.array([3.5]))
        costs[f"new_frame_{preset}"], _ = _timed(
            lambda engine=engine: engine.interpolator(pixels[:8], np.arange(8.0)).at(np.arange(1, 7) + 0.5),
            6 * one,
        )
    find_damage(tiny, noise_sd=10.0)
    costs["searching_damage"], _ = _timed(lambda: find_damage(pixels[:10], noise_sd=10.0), 10 * one)
    masks = np.zeros(pixels.shape[:3], np.bool_)
    rng = np.random.default_rng(0)
    for mask in masks:
        for y, x in zip(rng.integers(0, mask.shape[0] - 8, 8), rng.integers(0, mask.shape[1] - 8, 8)):
            mask[y : y + 8, x : x + 8] = True
    engine = MotionEngine("default")
    engine.inpaint(tiny, masks[:8, :96, :96], 2, 6)
    costs["mending_dust"], _ = _timed(lambda: engine.inpaint(pixels[:16], masks[:16], 4, 12), 8 * one)
    return costs
