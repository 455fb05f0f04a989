"""Compiled cores of cubic splines: from pixels to coefficients, and from these to values at any place."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

_POLE = np.float32(np.sqrt(3.0) - 2.0)
_TAIL = 12  # the pole's power is below the rounding of 8 bits after as many samples
_STRIP = 64  # columns that are filtered side by side


@kernel
def filter_line(line: Floats) -> None:
    """Turn samples ``(n, c)`` into B-spline coefficients in place, the ends mirrored."""
    count, channels = line.shape
    if count == 1:
        return
    for c in range(channels):
        start = line[0, c]
        power = np.float32(1.0)
        for k in range(1, _TAIL):
            power *= _POLE
            place = k % (2 * count - 2)
            start += power * line[min(place, 2 * count - 2 - place), c]
        line[0, c] = start
    for k in range(1, count):
        for c in range(channels):
            line[k, c] += _POLE * line[k - 1, c]
    for c in range(channels):
        line[count - 1, c] = (_POLE / (_POLE * _POLE - np.float32(1.0))) * (
            line[count - 1, c] + _POLE * line[count - 2, c]
        )
    for back in range(1, count):
        k = count - 1 - back
        for c in range(channels):
            after = line[k + 1, c]
            line[k, c] = _POLE * (after - line[k, c])
            line[k + 1, c] = np.float32(6.0) * after
    for c in range(channels):
        line[0, c] *= np.float32(6.0)


@parallel_kernel(lambda pixels: pixels.shape[0], grain=128)
def filter_rows(start: int, stop: int, pixels: Floats) -> None:
    """`filter_line` along every row of ``(h, w + 3, c)``, but for one element before it and two after it, in place."""
    for y in range(start, stop):
        filter_line(pixels[y, 1:-2])


@parallel_kernel(lambda pixels: (pixels.shape[1] * pixels.shape[2] + _STRIP - 1) // _STRIP, grain=8)
def filter_columns(start: int, stop: int, pixels: Floats) -> None:
    """`filter_line` along every column of ``(h, w, c)``, in place: columns side by side, as they lie in memory."""
    height, width, channels = pixels.shape
    lines = pixels.reshape(height, width * channels)
    if height == 1:
        return
    six = np.float32(6.0)
    for strip in range(start, stop):
        low, high = strip * _STRIP, min((strip + 1) * _STRIP, width * channels)
        head = lines[0, low:high].copy()
        power = np.float32(1.0)
        for k in range(1, _TAIL):
            power *= _POLE
            place = k % (2 * height - 2)
            mirror = min(place, 2 * height - 2 - place)
            for x in range(low, high):
                head[x - low] += power * lines[mirror, x]
        for x in range(low, high):
            lines[0, x] = head[x - low]
        for k in range(1, height):
            for x in range(low, high):
                lines[k, x] += _POLE * lines[k - 1, x]
        factor = _POLE / (_POLE * _POLE - np.float32(1.0))
        for x in range(low, high):
            lines[height - 1, x] = factor * (lines[height - 1, x] + _POLE * lines[height - 2, x])
        for back in range(1, height):
            k = height - 1 - back
            for x in range(low, high):
                after = lines[k + 1, x]
                lines[k, x] = _POLE * (after - lines[k, x])
                lines[k + 1, x] = six * after
        for x in range(low, high):
            lines[0, x] *= six


@kernel
def spline_weights(offset: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Values of the cubic B-splines at -1, 0, 1, 2 for a place ``offset`` in [0, 1) after 0."""
    rest = np.float32(1.0) - offset
    return (
        rest * rest * rest * np.float32(1.0 / 6.0),
        np.float32(2.0 / 3.0) - np.float32(0.5) * offset * offset * (np.float32(2.0) - offset),
        np.float32(2.0 / 3.0) - np.float32(0.5) * rest * rest * (np.float32(2.0) - rest),
        offset * offset * offset * np.float32(1.0 / 6.0),
    )


Four = tuple[np.float32, np.float32, np.float32, np.float32]


def weigh_sixteen(coefficients: Floats, row: np.uintp, column: np.uintp, across: Four, down: Four) -> Four:
    """Weighted sums of 4 x 4 places of ``(h, w, 4)`` from a row and a column on."""
    corner = coefficients[int(row) : int(row) + 4, int(column) : int(column) + 4]
    red, green, blue, spare = np.einsum("j,i,jic->c", np.array(down), np.array(across), corner)
    return red, green, blue, spare


def _in_lanes(typing: Any, grid: Any, row: Any, column: Any, across: Any, down: Any) -> tuple[Any, Any]:
    """`weigh_sixteen` as instructions that take two places at once, which the compiler does not find by itself."""
    four = numba.types.UniTuple(numba.types.float32, 4)
    lanes, numbers = ir.VectorType(ir.FloatType(), 8), ir.VectorType(ir.IntType(32), 8)

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        grid, row, column, *weights = arguments
        array = context.make_array(signature.args[0])(context, builder, grid)
        width = builder.extract_value(array.shape, 1)

        def number(value: int) -> Any:
            return ir.Constant(width.type, value)

        def side_by_side(one: Any, other: Any) -> Any:
            both = builder.insert_element(ir.Constant(lanes, ir.Undefined), one, number(0))
            both = builder.insert_element(both, other, number(1))
            return builder.shuffle_vector(both, both, ir.Constant(numbers, [0] * 4 + [1] * 4))

        def added(total: Any, value: Any, weight: Any) -> Any:
            term = builder.fmul(value, weight, flags=("contract",))
            return term if total is None else builder.fadd(total, term, flags=("contract",))

        a, d = ([builder.extract_value(values, k) for k in range(4)] for values in weights)
        pairs = side_by_side(a[0], a[1]), side_by_side(a[2], a[3])
        total = None
        for j in range(4):
            line = None
            first = builder.add(builder.mul(builder.add(row, number(j)), width), column)
            for i in range(2):
                place = builder.mul(builder.add(first, number(2 * i)), number(4))
                pointer = builder.bitcast(builder.gep(array.data, [place]), lanes.as_pointer())
                line = added(line, builder.load(pointer, align=4), pairs[i])
            total = added(total, line, side_by_side(d[j], d[j]))
        sums = [builder.extract_element(total, number(k)) for k in range(8)]
        return context.make_tuple(
            builder, four, [builder.fadd(sums[k], sums[k + 4], flags=("contract",)) for k in range(4)]
        )

    return four(grid, numba.types.uintp, numba.types.uintp, four, four), make


if not numba.config.DISABLE_JIT:
    weigh_sixteen = intrinsic(_in_lanes)


@kernel
def read_four(coefficients: Floats, x: np.float32, y: np.float32) -> Four:
    """The four values of a spline ``(h, w, 4)`` at a place; beyond the border the nearest place on it."""
    height, width = coefficients.shape[:2]
    x = min(max(x, np.float32(0.0)), np.float32(width - 4))
    y = min(max(y, np.float32(0.0)), np.float32(height - 4))
    # Unsigned, so that no index has to be checked for counting from the end.
    column, row = np.uintp(x), np.uintp(y)
    across, down = spline_weights(x - np.float32(column)), spline_weights(y - np.float32(row))
    return weigh_sixteen(coefficients, row, column, across, down)


@kernel
def read_spline(coefficients: Floats, x: np.float32, y: np.float32, out: Floats) -> None:
    """Values ``(c,)`` of a spline ``(h, w, c)`` at a place; beyond the border the nearest place on it."""
    height, width, channels = coefficients.shape
    if channels == 4:
        out[0], out[1], out[2], out[3] = read_four(coefficients, x, y)
        return
    x = min(max(x, np.float32(0.0)), np.float32(width - 4))
    y = min(max(y, np.float32(0.0)), np.float32(height - 4))
    column, row = np.uintp(x), np.uintp(y)
    a0, a1, a2, a3 = spline_weights(x - np.float32(column))
    d0, d1, d2, d3 = spline_weights(y - np.float32(row))
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    for c in range(channels):
        total = np.float32(0.0)
        for j in range(4):
            at = row + np.uintp(j)
            line = (
                a0 * coefficients[at, column, c]
                + a1 * coefficients[at, column + one, c]
                + a2 * coefficients[at, column + two, c]
                + a3 * coefficients[at, column + three, c]
            )
            total += (d0 if j == 0 else d1 if j == 1 else d2 if j == 2 else d3) * line
        out[c] = total
