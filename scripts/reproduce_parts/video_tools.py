"""What the two video experiments share: peers, tables, pictures."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1].parent / "shared" / "data"


def peer(job: str, module: str, python: str | None, **arrays: np.ndarray) -> np.ndarray | None:
    """Run a peer in a Python that has it; None where there is none."""
    chosen = python or (sys.executable if importlib.util.find_spec(module) else None)
    if chosen is None:
        print(f"{module} is not installed: left out (pip install {module}, or --peers PYTHON).")
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npy"
        np.savez(source, **arrays)
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        command = [chosen, str(HERE / "peers_video.py"), job, str(source), str(target)]
        if subprocess.run(command, env=environment).returncode:
            print(f"{module} failed: left out.")
            return None
        return np.asarray(np.load(target))


def table(title: str, rows: list[tuple[str, ...]]) -> None:
    """Print rows in aligned columns."""
    print(f"\n{title}")
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(max(map(len, rows)))]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def sheet(path: Path, rows: list[list[np.ndarray]], zoom: int = 1) -> None:
    """Write pictures (h, w, 1 or 3) in 0..255 as a contact sheet."""
    lines = []
    for row in rows:
        cells = []
        for picture in row:
            image = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
            image = np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image
            image = cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_NEAREST)
            cells.append(cv2.copyMakeBorder(image, 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=(255, 255, 255)))
        lines.append(np.hstack(cells))
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.vstack(lines)[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f"drawn: {path}")


def mse(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean(np.square(np.asarray(a, np.float64) - b)))
