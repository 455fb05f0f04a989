"""Rendered scenes with known truth: a turning teapot, a shrinking shockwave, small moving textures.

Nothing here is read from a file; the same arguments give the same pixels.
Working frames are float32 ``(n, height, width, channels)`` on the 0..255 scale.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.float32]

_LIGHT = np.array([-0.45, 0.75, 0.65]) / np.linalg.norm([-0.45, 0.75, 0.65])

# Half profile (radius, height) of the body and its lid, from the foot to the knob.
_BODY = np.array(
    [
        (0.0, -0.78),
        (0.62, -0.78),
        (0.66, -0.72),
        (0.9, -0.45),
        (1.0, -0.1),
        (0.96, 0.2),
        (0.8, 0.46),
        (0.62, 0.56),
    ]
)
_LID = np.array(
    [
        (0.62, 0.56),
        (0.6, 0.62),
        (0.4, 0.72),
        (0.14, 0.78),
        (0.08, 0.82),
        (0.16, 0.92),
        (0.12, 1.02),
        (0.0, 1.06),
    ]
)
_SPOUT = np.array([(0.8, -0.3), (1.15, -0.18), (1.35, 0.15), (1.5, 0.42), (1.68, 0.5)])
_HANDLE = np.array([(-0.85, 0.38), (-1.25, 0.46), (-1.55, 0.3), (-1.5, -0.1), (-1.2, -0.4), (-0.85, -0.45)])


def _smooth(points: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """A Catmull-Rom curve through the points, ``count`` samples."""
    padded = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    s = np.linspace(0, len(points) - 1 - 1e-9, count)
    k = s.astype(int)
    t = (s - k)[:, None]
    a, b, c, d = (padded[k + i] for i in range(4))
    return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)


def _lathe(profile: NDArray[np.float64], rings: int, sides: int) -> NDArray[np.float64]:
    """Quads ``(m, 4, 3)`` of a surface of revolution about the y axis."""
    curve = _smooth(profile, rings)
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    grid = np.stack(
        [
            curve[:, :1] * np.cos(angle),
            np.repeat(curve[:, 1:], sides + 1, axis=1),
            curve[:, :1] * np.sin(angle),
        ],
        -1,
    )
    return _quads(grid)


def _tube(path: NDArray[np.float64], radius: NDArray[np.float64], sides: int) -> NDArray[np.float64]:
    """Quads of a tube about a path in the x-y plane; ``radius`` runs linearly from one end to the other."""
    centre = _smooth(path, 36)
    tangent = np.gradient(centre, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], 1)
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    width = np.linspace(radius[0], radius[1], len(centre))[:, None]
    grid = np.stack(
        [
            centre[:, :1] + width * np.cos(angle) * normal[:, :1],
            centre[:, 1:] + width * np.cos(angle) * normal[:, 1:],
            width * np.sin(angle),
        ],
        -1,
    )
    return _quads(grid)


def _quads(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]], axis=2).reshape(-1, 4, 3)


def _model() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quads ``(m, 4, 3)`` of the teapot and their colours ``(m, 3)`` in 0..1."""
    body = np.concatenate([_lathe(_BODY, 44, 96), _lathe(_LID, 34, 96)])
    spout = _tube(_SPOUT, np.array([0.3, 0.1]), 24)
    handle = _tube(_HANDLE, np.array([0.11, 0.11]), 20)
    middle = body.mean(axis=1)
    turn = np.arctan2(middle[:, 2], middle[:, 0])
    glaze = np.tile(np.array([0.80, 0.74, 0.58]), (len(body), 1))
    band = np.abs(middle[:, 1] + 0.1) < 0.17 * (1 + 0.35 * np.sin(5 * turn))
    glaze[band] = (0.16, 0.33, 0.58)
    dots = (np.abs(middle[:, 1] - 0.3) < 0.07) & (np.sin(9 * turn) > 0.3)
    glaze[dots] = (0.70, 0.24, 0.18)
    quads = np.concatenate([body, spout, handle])
    colour = np.concatenate(
        [glaze, np.tile((0.78, 0.70, 0.52), (len(spout), 1)), np.tile((0.50, 0.36, 0.24), (len(handle), 1))]
    )
    return quads, colour


def teapot(
    n: int = 200,
    width: int = 101,
    height: int = 76,
    *,
    degrees: float = 180.0,
    start: float = 20.0,
    detail: int = 6,
    background: Frames | None = None,
) -> Frames:
    """A teapot that turns on its axis.

    Parameters
    ----------
    n : int
        Frames; they cover ``degrees`` evenly, the end not included.
    detail : int
        Each pixel is the mean of ``detail`` x ``detail`` samples.
    background : ndarray, shape (n, height, width, 3), optional
        What stands behind the teapot; black when absent.

    Returns
    -------
    ndarray, shape (n, height, width, 3), float32
    """
    quads, colour = _model()
    scale = detail * min(width / 4.0, height / 2.4)
    tilt = np.deg2rad(18)
    frames = np.zeros((n, height, width, 3), np.float32)
    for i in range(n):
        angle = np.deg2rad(start + degrees * i / n)
        spin = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        lean = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
        points = quads @ (lean @ spin).T
        normal = np.cross(points[:, 2] - points[:, 0], points[:, 3] - points[:, 1])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-12
        normal *= np.where(normal[:, 2:] < 0, -1, 1)
        diffuse = np.clip(normal @ _LIGHT, 0, 1)
        half = _LIGHT + np.array([0, 0, 1.0])
        gloss = np.clip(normal @ (half / np.linalg.norm(half)), 0, 1) ** 40
        shade = 255 * (colour * (0.22 + 0.72 * diffuse[:, None]) + 0.35 * gloss[:, None])
        x = detail * width / 2 + scale * points[:, :, 0]
        y = detail * height / 2 - scale * (points[:, :, 1] - 0.1)
        corners = np.round(16 * np.stack([x, y], -1)).astype(np.int32)
        canvas = np.zeros((height * detail, width * detail, 4), np.float32)
        if background is not None:
            canvas[..., :3] = cv2.resize(
                background[i], None, fx=detail, fy=detail, interpolation=cv2.INTER_LINEAR
            )
        for k in np.argsort(points[:, :, 2].mean(axis=1)):
            cv2.fillConvexPoly(canvas, corners[k], (*shade[k].tolist(), 1.0), shift=4)
        frames[i] = cv2.resize(canvas, (width, height), interpolation=cv2.INTER_AREA)[..., :3]
    return np.clip(frames, 0, 255)


def shockwave(n: int = 100, size: int = 100) -> Frames:
    """A ring that shrinks from radius 44 to 8 pixels, the same in all directions.

    Returns
    -------
    ndarray, shape (n, size, size, 1), float32
        Clean frames on the 0..255 scale.
    """
    axis = np.arange(size) - (size - 1) / 2
    distance = np.hypot(axis[:, None], axis[None, :])
    frames = np.empty((n, size, size, 1), np.float32)
    for i in range(n):
        radius = 44 - 36 * i / (n - 1)
        peak = 0.8 * (0.6 + 0.4 * radius / 44)
        ring = peak * np.exp(-0.5 * ((distance - radius) / 3) ** 2)
        inside = 0.08 / (1 + np.exp((distance - radius) / 1.5))
        frames[i, :, :, 0] = 255 * (0.1 + ring + inside)
    return frames


def texture(height: int, width: int, *, seed: int = 0, finest: float = 1.5) -> Frames:
    """A smooth random picture ``(height, width, 3)`` with detail at all scales down to ``finest`` pixels."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width, 3), np.float32)
    sd = finest
    while sd < max(height, width):
        layer = cv2.GaussianBlur(rng.standard_normal((height, width, 3)).astype(np.float32), (0, 0), sd)
        total += layer / (layer.std() + 1e-9) * min(1.0, sd / 6)
        sd *= 2
    low, high = np.percentile(total, [1, 99])
    return np.clip(20 + 215 * (total - low) / (high - low), 0, 255).astype(np.float32)


def pan(n: int = 40, height: int = 48, width: int = 64, *, step: float = 0.8, seed: int = 0) -> Frames:
    """A camera that glides over a texture along an arc, ``step`` pixels per frame."""
    reach = int(np.ceil(step * n)) + 8
    still = texture(height + 2 * reach, width + 2 * reach, seed=seed)
    frames = np.empty((n, height, width, 3), np.float32)
    for i in range(n):
        t = step * i
        shift = np.float32([[1, 0, -reach / 2 - t], [0, 1, -reach - 0.25 * reach * np.sin(t / reach * 2)]])
        frames[i] = cv2.warpAffine(still, shift, (width, height), flags=cv2.INTER_CUBIC)
    return np.clip(frames, 0, 255)


def disc(n: int = 48, size: int = 40, *, turns: float = 1.0, seed: int = 1) -> Frames:
    """A textured disc that turns about its centre; ``turns=1`` is a closed curve without a repeated frame."""
    still = texture(3 * size, 3 * size, seed=seed, finest=5.0)
    axis = np.arange(3 * size) - (3 * size - 1) / 2
    alpha = 1 / (1 + np.exp((np.hypot(axis[:, None], axis[None, :]) - 1.3 * size) / 2))
    frames = np.empty((n, size, size, 3), np.float32)
    for i in range(n):
        matrix = cv2.getRotationMatrix2D(((3 * size - 1) / 2, (3 * size - 1) / 2), 360 * turns * i / n, 1.0)
        turned = cv2.warpAffine(still, matrix, (3 * size, 3 * size), flags=cv2.INTER_LINEAR)
        turned = turned * alpha[..., None].astype(np.float32) + 12
        frames[i] = cv2.resize(turned, (size, size), interpolation=cv2.INTER_AREA)
    return np.clip(frames, 0, 255)
