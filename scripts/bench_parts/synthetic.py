"""Clips for the section natural where no others are at hand: four kinds of motion, rendered here."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import scenes

from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import SinkOptions, write

HEIGHT, WIDTH, FRAMES = 192, 256, 61


def crossing(n: int = FRAMES) -> np.ndarray:
    """Two textured discs that cross before a gliding wall, (n, HEIGHT, WIDTH, 3)."""
    wall = scenes.pan(n, HEIGHT, WIDTH, step=0.7, seed=11)
    coats = [scenes.texture(80, 80, seed=seed) for seed in (12, 13)]
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    frames = wall.copy()
    for k in range(n):
        for coat, (y, x), (dy, dx) in zip(
            coats, ((60, 30), (130, 220)), ((0.6, 3.1), (-0.5, -2.4)), strict=True
        ):
            top, left = y + dy * k, x + dx * k
            inside = np.clip(32 - np.hypot(rows - top, columns - left), 0, 1)[..., None]
            move = np.float32([[1, 0, left - 40], [0, 1, top - 40]])
            face = cv2.warpAffine(
                coat, move, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
            )
            frames[k] = inside * face + (1 - inside) * frames[k]
    return np.clip(frames, 0, 255)


def make(folder: Path) -> Path:
    """Write the clips into ``folder`` as lossless files and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    clips = {
        "pan": scenes.pan(FRAMES, HEIGHT, WIDTH, step=1.3, seed=3),
        "turn": scenes.disc(FRAMES, HEIGHT, turns=0.4, seed=4),
        "teapot": scenes.teapot(FRAMES, WIDTH, HEIGHT, degrees=70, detail=2),
        "crossing": crossing(),
    }
    for name, frames in clips.items():
        colour = np.repeat(frames, 3, axis=3) if frames.shape[3] == 1 else frames
        write(
            Clip(
                frames=np.clip(np.rint(colour), 0, 255).astype(np.uint8),
                times=tuple(Fraction(k, 25) for k in range(len(colour))),
                durations=(Fraction(1, 25),) * len(colour),
                info=ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25)),
            ),
            folder / f"{name}.mkv",
            SinkOptions(codec="ffv1"),
        )
    return folder
