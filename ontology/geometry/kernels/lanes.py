"""Vectors of eight numbers for compiled loops, and operations on them; each number is in one *lane*.

Eight float64 numbers are one value of an LLVM vector type, which LLVM maps to registers of the processor: one
register of AVX-512, two of AVX2, four of SSE2 or NEON. On all processors, terms are added in the order that
the code gives. Array indices count entries (not bytes) and are not checked.

`ontology.geometry.kernels.graphs.breadthfirst` uses the type `Lanes` for vectors of 8 words and of 64 bytes.
Every module that works on vectors says how much longer plain loops took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "DOUBLES",
    "Emitter",
    "Lanes",
    "add",
    "address",
    "any_negative",
    "as_doubles",
    "fetch",
    "gather",
    "greater",
    "lesser",
    "load",
    "multiply",
    "places",
    "read",
    "store",
    "zeros",
]

Emitter = tuple[Any, Callable[..., Any]]
"""The signature of an intrinsic, and the function that emits its instructions."""


class Lanes(types.Type):
    """The numba type of a vector: one value that consists of several numbers."""

    def __init__(self, element: Any, width: int) -> None:
        self.width = width
        self.vector = ir.VectorType(element, width)
        super().__init__(f"{width} x {element}")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.vector)


DOUBLES: Any = Lanes(ir.DoubleType(), 8)


def places(numbers: list[int]) -> Any:
    """Return lane numbers as the constant vector that LLVM's shuffle instruction takes."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)


def address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return the address of entry `at` of an array."""
    proxy = cgutils.create_struct_proxy(kind)
    return builder.gep(proxy(context, builder, array).data, [at])


def read(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Read 8 consecutive entries of an array of numbers, from index `at` on, as float64."""
    place = address(context, builder, kind, array, at)
    stored = ir.VectorType(place.type.pointee, DOUBLES.width)
    found = builder.load(builder.bitcast(place, stored.as_pointer()), align=kind.dtype.bitwidth // 8)
    if isinstance(kind.dtype, types.Integer):
        return builder.uitofp(found, DOUBLES.vector)
    return as_doubles(builder, found)


def as_doubles(builder: Any, found: Any) -> Any:
    """Convert a vector of float32 or float64 to float64."""
    return found if found.type == DOUBLES.vector else builder.fpext(found, DOUBLES.vector)


def _zeros(_: Any) -> Emitter:
    """Return a vector of eight zeros."""

    def emit(_: Any, __: Any, ___: Any, ____: Any) -> Any:
        return ir.Constant(DOUBLES.vector, [0.0] * DOUBLES.width)

    return DOUBLES(), emit


def _load(_: Any, array: Any, at: Any) -> Emitter:
    """Return 8 consecutive entries of a float array, from index `at` on."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return read(context, builder, signature.args[0], given[0], given[1])

    return DOUBLES(array, types.int64), emit


def _gather(_: Any, array: Any, columns: Any, at: Any) -> Emitter:
    """Return the 8 entries of `array` with the indices ``columns[at], ..., columns[at + 7]``.

    They are read one by one, which is fast on every processor.
    """

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        word = ir.IntType(64)
        data = address(context, builder, signature.args[0], given[0], ir.Constant(word, 0))
        column = address(context, builder, signature.args[1], given[1], given[2])
        found = ir.Constant(ir.VectorType(data.type.pointee, DOUBLES.width), ir.Undefined)
        for lane in range(DOUBLES.width):
            place = builder.zext(builder.load(builder.gep(column, [ir.Constant(word, lane)])), word)
            value = builder.load(builder.gep(data, [place]))
            found = builder.insert_element(found, value, ir.Constant(ir.IntType(32), lane))
        return as_doubles(builder, found)

    return DOUBLES(array, columns, types.int64), emit


def _store(_: Any, array: Any, at: Any, value: Any) -> Emitter:
    """Write a vector to an array of numbers, from index `at` on."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = address(context, builder, signature.args[0], given[0], given[1])
        target = signature.args[2].vector.as_pointer()
        align = signature.args[0].dtype.bitwidth // 8
        builder.store(given[2], builder.bitcast(place, target), align=align)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), emit


def _fetch(_: Any, array: Any, at: Any) -> Emitter:
    """Prefetch ``array[at]`` into the cache; `at` may be past the end of the array."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = address(context, builder, signature.args[0], given[0], given[1])
        place = builder.bitcast(place, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(fetch, [place, *(ir.Constant(number, i) for i in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, at), emit


def _add(_: Any, one: Any, other: Any) -> Emitter:
    """Add two vectors, lane by lane."""
    return DOUBLES(one, other), lambda _, builder, __, given: builder.fadd(*given)


def _multiply(_: Any, one: Any, other: Any) -> Emitter:
    """Multiply two vectors, lane by lane."""
    return DOUBLES(one, other), lambda _, builder, __, given: builder.fmul(*given)


def _lesser(_: Any, one: Any, other: Any) -> Emitter:
    """Return the smaller number in each lane, or the number in `other` if either of the two is NaN."""

    def emit(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *given), *given)

    return DOUBLES(one, other), emit


def _greater(_: Any, one: Any, other: Any) -> Emitter:
    """Return the larger number in each lane, or the number in `other` if either of the two is NaN."""

    def emit(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *given), *given)

    return DOUBLES(one, other), emit


def _any_negative(_: Any, value: Any) -> Emitter:
    """Return whether any lane is below 0."""

    def emit(_: Any, builder: Any, __: Any, given: Any) -> Any:
        zero = ir.Constant(DOUBLES.vector, [0.0] * DOUBLES.width)
        mask = builder.bitcast(builder.fcmp_ordered("<", given[0], zero), ir.IntType(DOUBLES.width))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(value), emit


zeros: Any = intrinsic(_zeros)
load: Any = intrinsic(_load)
gather: Any = intrinsic(_gather)
store: Any = intrinsic(_store)
fetch: Any = intrinsic(_fetch)
add: Any = intrinsic(_add)
multiply: Any = intrinsic(_multiply)
greater: Any = intrinsic(_greater)
lesser: Any = intrinsic(_lesser)
any_negative: Any = intrinsic(_any_negative)
