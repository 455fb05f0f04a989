"""Arithmetic on eight neighbouring float32 at once, spelt out for the compiler.

Loops over eight values are too short for LLVM's loop vectoriser: it guards each against overlapping arrays and unrolls
past their end, which costs more than the work. What stands here is emitted as vectors; processors without vectors of
that width get the same in parts. Each has a plain twin, which runs where nothing is compiled.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LANES = 8
"""Columns that are worked on at once."""
ROWS = 4
"""Rows of a block: two sums for each, and the row that is multiplied, fit into sixteen registers."""
PATCH = 8
"""Side of the patches that are compared."""

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_FUSED = ("contract",)


def _at(context: Any, builder: Any, kind: Any, array: Any, *index: Any) -> Any:
    """Address of an element of an array that is contiguous along its rows."""
    proxy = context.make_array(kind)(context, builder, array)
    if len(index) == 1:
        return builder.gep(proxy.data, index)
    width = cgutils.unpack_tuple(builder, proxy.shape, 2)[1]
    return builder.gep(proxy.data, [builder.add(builder.mul(index[0], width), index[1])])


def _load(builder: Any, address: Any) -> Any:
    return builder.load(builder.bitcast(address, _VECTOR.as_pointer()), align=4)


def _store(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.bitcast(address, _VECTOR.as_pointer()), align=4)


def _everywhere(builder: Any, value: Any) -> Any:
    """A vector of equal values."""
    index = ir.IntType(32)
    none = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(none, value, ir.Constant(index, 0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))


def _plus_product(builder: Any, total: Any, a: Any, b: Any) -> Any:
    return builder.fadd(total, builder.fmul(a, b, flags=_FUSED), flags=_FUSED)


def _emit_multiply_add(context: Any, builder: Any, call: Any, args: Any) -> Any:
    out, i, j, a, ka, ja, b, kb, jb, count, factor, keep = args
    kinds, integer = call.args, count.type
    zero = ir.Constant(_VECTOR, [0.0] * LANES)
    # Two sums for each row, in turns: an addition waits for the one before it.
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(ROWS)] for _ in range(2)]
    steps = cgutils.for_range_slice(
        builder, ir.Constant(integer, 0), count, ir.Constant(integer, ROWS), integer
    )
    with steps as (first, _):
        for q in range(ROWS):
            k = builder.add(first, ir.Constant(integer, q))
            row = _load(builder, _at(context, builder, kinds[6], b, builder.add(kb, k), jb))
            column = _at(context, builder, kinds[3], a, builder.add(ka, k), ja)
            for p in range(ROWS):
                value = builder.load(builder.gep(column, [ir.Constant(integer, p)]), align=4)
                place = sums[q % 2][p]
                builder.store(
                    _plus_product(builder, builder.load(place), _everywhere(builder, value), row), place
                )
    factors, kept = _everywhere(builder, factor), _everywhere(builder, keep)
    # NaN times zero is NaN: what is not kept is not looked at.
    anew = builder.fcmp_ordered("==", keep, ir.Constant(keep.type, 0.0))
    for p in range(ROWS):
        address = _at(context, builder, kinds[0], out, builder.add(i, ir.Constant(integer, p)), j)
        total = builder.fadd(builder.load(sums[0][p]), builder.load(sums[1][p]))
        old = builder.fmul(_load(builder, address), kept, flags=_FUSED)
        _store(builder, _plus_product(builder, builder.select(anew, zero, old), total, factors), address)
    return context.get_dummy_value()


def _emit_squared_distances(context: Any, builder: Any, call: Any, args: Any) -> Any:
    plane, y, x, patch, out, at = args
    kinds, integer = call.args, y.type
    sums = [ir.Constant(_VECTOR, [0.0] * LANES)] * 4
    for r in range(PATCH):
        row = _at(context, builder, kinds[0], plane, builder.add(y, ir.Constant(integer, r)), x)
        own = _at(context, builder, kinds[3], patch, ir.Constant(integer, r), ir.Constant(integer, 0))
        for q in range(PATCH):
            there = _load(builder, builder.gep(row, [ir.Constant(integer, q)]))
            here = builder.load(builder.gep(own, [ir.Constant(integer, q)]), align=4)
            difference = builder.fsub(there, _everywhere(builder, here))
            sums[q % 4] = _plus_product(builder, sums[q % 4], difference, difference)
    total = builder.fadd(builder.fadd(sums[0], sums[1]), builder.fadd(sums[2], sums[3]))
    _store(builder, total, _at(context, builder, kinds[4], out, at))
    return context.get_dummy_value()


def _emit_less_multiples(context: Any, builder: Any, call: Any, args: Any) -> Any:
    out, o, a, i, b, j, step, count = args
    kinds, integer = call.args, count.type
    first = ir.Constant(integer, 0)
    factor = builder.fneg(_load(builder, _at(context, builder, kinds[2], a, i, first)))
    with cgutils.for_range(builder, count, intp=integer) as loop:
        row = builder.add(j, builder.mul(loop.index, step))
        other = _load(builder, _at(context, builder, kinds[4], b, row, first))
        address = _at(context, builder, kinds[0], out, builder.add(o, loop.index), first)
        _store(builder, _plus_product(builder, _load(builder, address), factor, other), address)
    return context.get_dummy_value()


def _emit_copy_patch(context: Any, builder: Any, call: Any, args: Any) -> Any:
    plane, y, x, factor, out, i, at = args
    kinds, integer = call.args, y.type
    factors = _everywhere(builder, factor)
    target = _at(context, builder, kinds[4], out, i, at)
    for r in range(PATCH):
        row = _load(
            builder, _at(context, builder, kinds[0], plane, builder.add(y, ir.Constant(integer, r)), x)
        )
        _store(builder, builder.fmul(row, factors), builder.gep(target, [ir.Constant(integer, r * PATCH)]))
    return context.get_dummy_value()


def _emit_add_patch(context: Any, builder: Any, call: Any, args: Any) -> Any:
    target, y, x, factor, window, rows, j, at = args
    kinds, integer = call.args, y.type
    factors, none = _everywhere(builder, factor), ir.Constant(integer, 0)
    source = _at(context, builder, kinds[5], rows, j, at)
    for r in range(PATCH):
        row = ir.Constant(integer, r)
        address = _at(context, builder, kinds[0], target, builder.add(y, row), x)
        weight = builder.fmul(factors, _load(builder, _at(context, builder, kinds[4], window, row, none)))
        value = _load(builder, builder.gep(source, [ir.Constant(integer, r * PATCH)]))
        _store(builder, _plus_product(builder, _load(builder, address), weight, value), address)
    return context.get_dummy_value()


def _emit_transpose_block(context: Any, builder: Any, call: Any, args: Any) -> Any:
    rows, i, k, out = args
    kinds, integer = call.args, i.type
    lines = [
        _load(builder, _at(context, builder, kinds[0], rows, builder.add(i, ir.Constant(integer, p)), k))
        for p in range(LANES)
    ]
    # Squares of one, two and four change places across the diagonal.
    for step in (1, 2, 4):
        for p in (q for q in range(LANES) if not q & step):
            a, b = lines[p], lines[p + step]
            first = [l if not l & step else LANES + l - step for l in range(LANES)]
            second = [l + step if not l & step else LANES + l for l in range(LANES)]
            lines[p], lines[p + step] = (_shuffled(builder, a, b, order) for order in (first, second))
    for p, line in enumerate(lines):
        _store(
            builder, line, _at(context, builder, kinds[3], out, builder.add(k, ir.Constant(integer, p)), i)
        )
    return context.get_dummy_value()


def _shuffled(builder: Any, a: Any, b: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order))


def _kernel(emit: Any) -> Any:
    """Compile calls of a function to what ``emit`` writes; without compilation it is called as it stands."""

    def compiled(plain: Any) -> Any:
        if numba.config.DISABLE_JIT:
            return plain
        exact = {"int": types.intp, "float": types.float32}
        called = list(signature(plain).parameters.values())
        wanted = [exact.get(parameter.annotation) for parameter in called]

        def typed(context: Any, *given: Any) -> Any:
            return types.void(*(known or kind for known, kind in zip(wanted, given))), emit

        # Numba asks how many arguments there are.
        first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD)
        typed.__signature__ = Signature([first, *called])  # type: ignore[attr-defined]
        return intrinsic(typed)

    return compiled


@_kernel(_emit_multiply_add)
def multiply_add(
    out: Floats, i: int, j: int, a: Floats, ka: int, ja: int, b: Floats, kb: int, jb: int, count: int,
    factor: float, keep: float,
) -> None:  # fmt: skip
    """``out[i + p, j + l] = keep out[i + p, j + l] + factor sum_k a[ka + k, ja + p] b[kb + k, jb + l]``.

    For ``p < ROWS``, ``l < LANES``; ``count``, the number of k, is a multiple of 4. ``b`` may be where ``out`` is. Where
    ``keep`` is 0, what ``out`` was does not matter.
    """
    left, right = a[ka : ka + count, ja : ja + ROWS], b[kb : kb + count, jb : jb + LANES]
    target = out[i : i + ROWS, j : j + LANES]
    sums = factor * (left.T @ right)
    target[:] = keep * target + sums if keep else sums


@_kernel(_emit_squared_distances)
def squared_distances(plane: Floats, y: int, x: int, patch: Floats, out: Floats, at: int) -> None:
    """``out[at + l]`` = squared distance of the patch to that of the plane at ``(y, x + l)``, for ``l < LANES``.

    The plane is read up to column ``x + LANES + PATCH - 2``.
    """
    for lane in range(LANES):
        there = plane[y : y + PATCH, x + lane : x + lane + PATCH]
        out[at + lane] = np.sum(np.square(there - patch[:, :PATCH]))


@_kernel(_emit_less_multiples)
def less_multiples(out: Floats, o: int, a: Floats, i: int, b: Floats, j: int, step: int, count: int) -> None:
    """``out[o + k] -= a[i] * b[j + k * step]`` for ``k < count``; rows are `LANES` values side by side."""
    for k in range(count):
        out[o + k] -= a[i] * b[j + k * step]


@_kernel(_emit_copy_patch)
def copy_patch(plane: Floats, y: int, x: int, factor: float, out: Floats, i: int, at: int) -> None:
    """The patch of a plane at ``(y, x)``, times a factor, row by row in ``out[i]`` from ``at`` on."""
    out[i, at : at + PATCH * PATCH] = (factor * plane[y : y + PATCH, x : x + PATCH]).ravel()


@_kernel(_emit_add_patch)
def add_patch(
    target: Floats, y: int, x: int, factor: float, window: Floats, rows: Floats, j: int, at: int
) -> None:
    """Add a patch, in ``rows[j]`` from ``at`` on, with a factor and the weights of a window to a plane at ``(y, x)``."""
    patch = rows[j, at : at + PATCH * PATCH].reshape(PATCH, PATCH)
    target[y : y + PATCH, x : x + PATCH] += factor * window[:PATCH, :PATCH] * patch


@_kernel(_emit_transpose_block)
def transpose_block(rows: Floats, i: int, k: int, out: Floats) -> None:
    """``out[k + p, i + q] = rows[i + q, k + p]`` for ``p, q < LANES``."""
    out[k : k + LANES, i : i + LANES] = rows[i : i + LANES, k : k + LANES].T
