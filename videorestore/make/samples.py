"""Noise removed from samples as files keep them, luma and chroma at half its resolution, part by part.

Pixels would take eight times the memory, and each way between the two as long as reading a neighbour along motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from videorestore import colour, pulse
from videorestore.clip import FloatArray, Frame, PixelFormat, Samples
from videorestore.make.spool import Stack, Unfolded, Widened
from videorestore.make.tiles import Box, parts
from videorestore.spatial.planes import LUMA_CHROMA
from videorestore.spatial.subsampled import gather, recombined

Engine = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
"""From luma ``(n, h, w)`` and chroma ``(n, 2, h / 2, w / 2)`` in `LUMA_CHROMA` to those of some frames, and the sd of the channels."""

SMALLEST = 16
"""Pixels of a side."""


def are_subsampled(frames: Stack) -> bool:
    """Whether frames have integer samples, those of the chroma for 2 x 2 whole pixels."""
    if not isinstance(frames, Unfolded) or not frames.steady:
        return False
    return has_half_chroma(frames.frame(0).format, *frames.shape[1:3])


def has_half_chroma(form: PixelFormat, height: int, width: int) -> bool:
    """Whether samples are integers, those of the chroma for 2 x 2 whole pixels."""
    whole = min(height, width) >= SMALLEST and height % 2 == width % 2 == 0
    return (
        whole and form.model == "yuv" and form.subsampling == (1, 1) and form.depth <= 16 and not form.alpha
    )


def samples_by_parts(
    engine: Engine, frames: Unfolded, start: int, stop: int, side: int
) -> tuple[Unfolded, Widened]:
    """Frames from ``start`` to ``stop`` without noise, and their sd. Where parts overlap, they fade into each other."""
    height, width = frames.shape[1:3]
    form = frames.frame(0).format
    turn, back = _turns(form)
    made = [tuple(np.zeros_like(p) for p in frames.frame(k).planes) for k in range(start, stop)]
    sd = np.zeros((stop - start, height // 2, width // 2, 3), np.float32)
    mass = np.zeros((height, width), np.float32)
    for box, weights in pulse.counted(parts(height, width, side)):
        weight = weights[..., 0]
        mass[box] += weight
        # Of all that lies there so far.
        share = np.asarray(weight / np.maximum(mass[box], np.float32(1e-6)), np.float32)
        shares, half = (share, gather(share)), _half(box)
        noisy = [recombined(*_read(frames.frame(k), box), turn) for k in range(len(frames))]
        luma, chroma, spread = engine(np.stack([p[0] for p in noisy]), np.stack([p[1] for p in noisy]))
        del noisy
        weight = np.repeat(gather(weight)[..., None], 3, axis=2)
        for k, planes in enumerate(made):
            fine, coarse = recombined(luma[k], chroma[k], back)
            _lay(fine, shares[0], planes[0][box], form)
            for values, plane in zip(coarse, planes[1:]):
                _lay(values, shares[1], plane[half], form)
            sd[(k, *half)] += weight * spread[k]
    done = [replace(frames.frame(start + k), planes=planes, status="good") for k, planes in enumerate(made)]
    return Unfolded(done, {}), Widened(sd)


def _turns(form: PixelFormat) -> tuple[FloatArray, FloatArray]:
    """Weights from samples to `LUMA_CHROMA`, and back."""
    turn = LUMA_CHROMA @ colour.rgb_from_samples(form)
    inverse = np.linalg.inv(turn[:, :3])
    back = np.column_stack([inverse, -inverse @ turn[:, 3]])
    return turn.astype(np.float32), back.astype(np.float32)


def _half(box: Box) -> Box:
    rows, columns = (slice(s.start // 2, s.stop // 2) for s in box)
    return rows, columns


def _read(frame: Frame, box: Box) -> tuple[FloatArray, FloatArray]:
    luma, *chroma = frame.planes
    return luma[box].astype(np.float32), np.stack([p[_half(box)] for p in chroma]).astype(np.float32)


def _lay(values: FloatArray, share: FloatArray, samples: Samples, form: PixelFormat) -> None:
    """``samples`` become so much nearer to the values, as their ``share`` says."""
    values -= samples
    values *= share
    values += samples
    np.clip(np.rint(values, out=values), 0, (1 << form.depth) - 1, out=values)
    samples[...] = values
