"""The missing lines of fields: the posterior given their own lines and those of the fields around, along motion.

Every field has half of the lines of a picture, at its own time. Motion is first sought between fields of the same parity,
whose lines lie alike: between neighbours of unlike parity the lines that each lacks look like motion. It is sought again, to
the neighbours too, on what came of that. How far another field can be trusted at a place is read off the lines that are
known, see `reading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields._kernels import TICKS, krige
from videorestore.fields.reading import (
    BLUR,
    NOISE,
    REACH,
    Field,
    Reading,
    amiss,
    better,
    mean_around,
    off_line,
    own_lines,
    read,
)
from videorestore.motion.flow import FlowCache

Floats = NDArray[np.float32]

TEXTURE = 2.0
"""Least variance (levels squared) of the texture between two lines: rounding and a codec."""

POWERS, USUAL = np.linspace(0.8, 1.8, 21), 1.5
"""Powers of the variogram that are told apart (1 is an edge, 2 a smooth slope), and that of flat places."""

SILL, WHITE, SHARED = 100.0, 0.3, 4.0
"""Sill of the variogram, which must only be large; white share and reach in field lines of the error of a field along motion.
A white share of 0.6 and reaches of 1.5 and 10 changed the mean over six development clips by 0.01 dB at most."""

QUIET = (8, 0.1, (0.63, 0.71))
"""Side of the blocks by which noise is measured, their quantile that has least picture in it, and what share of the variance
of white noise that quantile is, within a field and between two: the mean of twenty simulated fields of 288 x 720."""


CUT = (3.0, 6.0, (32, 16))
"""Times, and levels more, by which fields of a parity differ over a cut beyond those just before and behind it, and the columns and
lines of the small pictures by which that is seen. Set by hand."""


def _tables() -> NDArray[np.float64]:
    apart = np.arange(16 * TICKS + 2) / (2.0 * TICKS)
    return np.ascontiguousarray([*(SILL - 0.5 * apart**p for p in POWERS), np.exp(-apart / SHARED)])


TABLES = _tables()
"""See `krige`."""


def doubled(field: Field) -> Floats:
    """Luma of a field with its missing lines midway between the known ones."""
    picture = field.planes[0].copy()
    lines = own_lines(picture, field.parity)
    picture[1 - field.parity :: 2] = np.float32(0.5) * (lines[..., 1] + lines[..., 2])
    return picture


def noise_variance(fields: Sequence[Field], plane: int) -> float:
    """Variance of the noise of a plane: what is left of fine detail in quiet blocks of a field, or between fields of a parity."""
    side, quantile, shares = QUIET
    kernel = np.array([1.0, -2.0, 1.0], np.float32) / np.sqrt(np.float32(6.0))
    found: tuple[list[float], list[float]] = [], []
    for one, two in zip(fields[: len(fields) - 2], fields[2:]):
        own = one.known(plane)
        height, width = (length // side * side for length in own.shape)
        if min(height, width) == 0:
            return NOISE
        within = cv2.sepFilter2D(own, -1, kernel, kernel)
        between = cv2.filter2D((own - two.known(plane)) * np.float32(np.sqrt(0.5)), -1, kernel[None])
        for detail, share, entries in zip((within, between), shares, found):
            blocks = np.square(detail[:height, :width]).reshape(height // side, side, width // side, side)
            entries.append(float(np.quantile(blocks.mean(axis=(1, 3)), quantile)) / share)
    return max(NOISE, min(float(np.mean(entries)) for entries in found)) if found[0] else NOISE


def _shape(
    lines: Floats, readings: Sequence[Reading], noise: float = NOISE
) -> tuple[Floats, NDArray[np.int64]]:
    """Texture ``(m, w)`` between two lines of a field, and which of the `POWERS` it follows, by all fields at hand."""
    steps = np.square(np.diff(lines, axis=2)).mean(axis=2)
    bends = np.square(lines[..., 1:3] - np.float32(0.5) * (lines[..., :2] + lines[..., 2:])).mean(axis=2)
    for one in readings:
        above, here, below = (one.values[..., q] for q in range(3))
        steps += np.float32(0.5) * (np.square(here - above) + np.square(below - here))
        bends += np.square(here - np.float32(0.5) * (above + below))
    share, above_rounding = np.float32(1.0 / (1 + len(readings))), np.float32(noise - NOISE)
    texture = np.maximum(mean_around(steps * share) - 2 * above_rounding, 0.0) + np.float32(TEXTURE)
    # A line misses the middle of its neighbours by 1 - 2 ** (power - 2) of the texture.
    bent = np.maximum(mean_around(bends * share) - np.float32(1.5) * above_rounding, 0.0)
    curved = (bent + np.float32((1.0 - 2.0 ** (USUAL - 2.0)) * TEXTURE)) / texture
    power = 2.0 + np.log2(np.maximum(1.0 - curved, 1e-3))
    step = POWERS[1] - POWERS[0]
    rough = np.clip(np.rint((power - POWERS[0]) / step), 0, len(POWERS) - 1).astype(np.int64)
    return np.ascontiguousarray(texture, np.float32), rough


def complete_plane(
    fields: Sequence[Field],
    k: int,
    plane: int,
    flows: dict[int, Floats],
    noise: float = NOISE,
    calm: bool = False,
) -> tuple[Floats, Floats]:
    """Posterior mean and sd ``(m, w)`` of the missing lines of one plane of field ``k``.

    ``flows[j]`` leads from it to field ``k + j``, in pixels of the plane; ``noise`` is the variance of known lines. The sd is
    about what it would be without that noise where it is to be ``calm``.
    """
    field = fields[k]
    lines = own_lines(field.planes[plane], field.parity)
    moved = {j: read(field, fields[k + j], plane, flow) for j, flow in flows.items()}
    texture, rough = _shape(lines, list(moved.values()), noise)
    mean, sd = np.empty((2, *texture.shape), np.float32)
    if moved:
        still = np.zeros((*field.planes[plane].shape, 2), np.float32)
        resting = {j: read(field, fields[k + j], plane, still) for j in flows}
        errors, offsets, values = better(moved, resting, texture, noise)
    else:
        offsets, values, errors = (np.empty((0, *texture.shape, *end), np.float32) for end in ((), (3,), ()))
    height = field.planes[plane].shape[0]
    model = np.array([WHITE, noise])
    if moved:
        none = slice(0, 0)
        alone = lines, offsets[none], values[none], errors[none], texture, rough
        krige(*alone, TABLES, model, field.parity, height, mean, sd)
        places = {j: i for i, j in enumerate(moved)}
        errors *= amiss(places, errors, offsets, values, (mean, np.square(sd)), texture, noise)
    krige(lines, offsets, values, errors, texture, rough, TABLES, model, field.parity, height, mean, sd)
    return mean, _calm_sd(texture, rough, offsets, errors) if calm else sd


def _calm_sd(texture: Floats, rough: NDArray[np.int64], offsets: Floats, errors: Floats) -> Floats:
    """Sd of lines that are made where nothing is noisy, every field speaking for itself."""
    # Midway between two lines a variogram of power p leaves (1/2)^p - 1/4 of the texture.
    midway = np.maximum(0.5**POWERS - 0.25, BLUR).astype(np.float32)[rough]
    precision = 1.0 / (midway * texture) + (1.0 / (errors + off_line(offsets) * texture)).sum(axis=0)
    return np.asarray(1.0 / np.sqrt(precision), np.float32)


def _scaled(flow: Floats, shape: tuple[int, int]) -> Floats:
    """A flow for a plane of another size."""
    if flow.shape[:2] == shape:
        return flow
    factor = np.array([shape[1] / flow.shape[1], shape[0] / flow.shape[0]], np.float32)
    return np.asarray(cv2.resize(flow, shape[::-1], interpolation=cv2.INTER_AREA) * factor)


def scenes(fields: Sequence[Field]) -> list[range]:
    """The fields that show the same scene as each: a film may be cut between the two fields of a frame."""
    size, count = CUT[2], len(fields)
    small = [cv2.resize(f.known(0), size, interpolation=cv2.INTER_AREA) for f in fields]
    change = [float(np.abs(a - b).mean()) for a, b in zip(small, small[2:])]

    def largest(numbers: tuple[int, int]) -> list[float]:
        return [change[n] for n in numbers if 0 <= n < len(change)]

    begins = [0]
    for k in range(count - 1):
        # Both pairs of one parity that have the cut between them, and the next pairs on either side.
        over, beside = largest((k - 1, k)), largest((k - 2, k + 1))
        if over and beside and min(over) > CUT[0] * max(beside) + CUT[1]:
            begins.append(k + 1)
    ends = [*begins[1:], count]
    return [range(a, b) for a, b in zip(begins, ends) for _ in range(a, b)]


def _flows(cache: FlowCache, k: int, scene: range) -> dict[int, Floats]:
    return {j: cache.flow(k, k + j).vectors for j in (-1, 1, -2, 2) if k + j in scene}


def _even_flows(cache: FlowCache, k: int, scene: range) -> dict[int, Floats]:
    """Flows by those to the fields of the same parity, motion being even in between; of the one side where there is no other."""
    sides = {side: cache.flow(k, k + 2 * side).vectors for side in (-1, 1) if k + 2 * side in scene}
    if not sides:
        return _flows(cache, k, scene)
    ways = {side: sides[side] if side in sides else -sides[-side] for side in (-1, 1)}
    return {j: ways[1 if j > 0 else -1] * np.float32(abs(j) / 2) for j in (-1, 1, -2, 2) if k + j in scene}


def _cache(pictures: list[Floats]) -> FlowCache:
    stack = np.stack(pictures)[..., None]
    return FlowCache(stack, fine=True, thorough=np.ones(len(stack), np.bool_))


def complete(
    fields: Sequence[Field], wanted: range, *, rounds: int = 2, calm: bool = False
) -> Iterator[tuple[tuple[Floats, ...], tuple[Floats, ...]]]:
    """Whole pictures of the fields ``wanted``, and their sd.

    Parameters
    ----------
    fields : sequence of Field
        In the order of time, parities in turn.
    wanted : range
    rounds : int
        How often motion is sought: between fields of the same parity, then on what came of it.
    calm : bool
        The sd is that without noise: it will be removed.

    Yields
    ------
    planes, sd : tuples of (h, w) float32
        The known lines are those of the field, with sd 0.
    """
    noises = [noise_variance(fields, c) for c in range(len(fields[0].planes))]
    pictures = [doubled(field) for field in fields]
    scene, find = scenes(fields), _even_flows
    for turn in range(rounds - 1):
        cache = _cache(pictures)
        # What the last round reads lies within its reach of the wanted ones.
        margin = REACH * (rounds - 1 - turn)
        near = range(max(0, wanted.start - margin), min(len(fields), wanted.stop + margin))
        for k in near:
            cache.drop_before(k - REACH)
            mean, _ = complete_plane(fields, k, 0, find(cache, k, scene[k]), noises[0])
            pictures[k] = pictures[k].copy()
            pictures[k][1 - fields[k].parity :: 2] = mean
        find = _flows
    cache = _cache(pictures)
    for k in wanted:
        cache.drop_before(k - REACH)
        flows = find(cache, k, scene[k])
        planes, sds = [], []
        for c, plane in enumerate(fields[k].planes):
            scaled = {j: _scaled(flow, (plane.shape[0], plane.shape[1])) for j, flow in flows.items()}
            mean, sd = complete_plane(fields, k, c, scaled, noises[c], calm)
            whole, spread = plane.copy(), np.zeros_like(plane)
            whole[1 - fields[k].parity :: 2] = mean
            spread[1 - fields[k].parity :: 2] = sd
            planes.append(whole)
            sds.append(spread)
        yield tuple(planes), tuple(sds)
