"""A plan as data: numbers, words and arrays under the names of our own dataclasses. Reading it runs nothing.

The file is a line that says what it is, the SHA-256 of the rest, the length of a JSON text, that text, and the bytes of
its arrays. In the text whatever JSON does not know is a list that begins with its kind: ``["q", "30000/1001"]``.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import sys
import types
import typing
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

_HEADER = b"videorestore plan 1\n"
_DIGEST = hashlib.sha256().digest_size
_LENGTH = 8
_NUMBERS = "biuf"
"""Kinds of arrays that a plan may hold: truth values, whole numbers, floats."""


def pack(value: Any) -> bytes:
    """A plan as bytes, with its digest."""
    writer = _Writer()
    tree = writer.encode(value)
    text = json.dumps({"types": writer.types, "value": tree}, allow_nan=False).encode("ascii")
    body = b"".join([len(text).to_bytes(_LENGTH, "big"), text, *writer.arrays])
    return _HEADER + hashlib.sha256(body).digest() + body


def unpack(content: bytes) -> Any:
    """The plan that `pack` wrote.

    Raises
    ------
    ValueError
        It is none, is damaged, or does not fit the dataclasses of this version.
    """
    if not content.startswith(_HEADER):
        raise ValueError("not a plan")
    start = len(_HEADER) + _DIGEST
    digest, body = content[len(_HEADER) : start], memoryview(content)[start:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("a damaged plan")
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    try:
        tree = json.loads(bytes(body[_LENGTH:end]))
        return _Reader([_class_of(*entry) for entry in tree["types"]], body[end:]).decode(tree["value"])
    except RecursionError as error:
        raise ValueError("a plan that is nested too deep") from error
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError, ImportError) as error:
        raise ValueError(f"a plan of another form ({error})") from error


class _Writer:
    def __init__(self) -> None:
        self.types: list[tuple[str, str, list[str]]] = []
        self.arrays: list[bytes] = []
        self._places: dict[type, int] = {}
        self._size = 0

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else ["f", repr(value)]
        if kind is Fraction:
            return ["q", str(value)]
        if kind in (tuple, list):
            return ["t" if kind is tuple else "l", *map(self.encode, value)]
        if kind in (set, frozenset):
            return ["s", *map(self.encode, sorted(value))]
        if dataclasses.is_dataclass(kind) and _is_ours(kind.__module__):
            fields = [field.name for field in dataclasses.fields(kind)]
            if kind not in self._places:
                self._places[kind] = len(self.types)
                self.types.append((kind.__module__, kind.__qualname__, fields))
            return ["o", self._places[kind], *(self.encode(getattr(value, name)) for name in fields)]
        return self._encode_rare(value)

    def _encode_rare(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return ["m", *([self.encode(k), self.encode(v)] for k, v in value.items())]
        if isinstance(value, (bytes, bytearray)):
            return ["b", base64.b64encode(value).decode("ascii")]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _NUMBERS:
            content = np.ascontiguousarray(value).tobytes()
            place, self._size = self._size, self._size + len(content)
            self.arrays.append(content)
            return ["a" if isinstance(value, np.ndarray) else "n", place, value.dtype.str, list(value.shape)]
        raise TypeError(f"a plan must hold numbers, words, arrays and our dataclasses, got {type(value)}")


class _Reader:
    def __init__(self, classes: list[type], arrays: memoryview) -> None:
        self._classes, self._arrays = classes, arrays

    def decode(self, tree: Any) -> Any:
        if not isinstance(tree, list):
            return tree
        kind, *rest = tree
        if kind in _SIMPLE:
            return _SIMPLE[kind](rest[0])
        if kind in _MANY:
            return _MANY[kind](map(self.decode, rest))
        if kind == "m":
            return {self.decode(key): self.decode(value) for key, value in rest}
        if kind in ("a", "n"):
            array = self._array(*rest)
            return array if kind == "a" else array[()]
        if kind == "o":
            return self._object(*rest)
        raise ValueError(f"a plan with something of kind {kind!r}")

    def _array(self, place: int, name: str, shape: list[int]) -> np.ndarray:
        dtype = np.dtype(name)
        count = math.prod(shape)
        if dtype.kind not in _NUMBERS or place < 0 or min(shape, default=0) < 0:
            raise ValueError("a plan with an array of another kind")
        content = self._arrays[place : place + count * dtype.itemsize]
        return np.frombuffer(content, dtype, count).reshape(shape).copy()

    def _object(self, which: int, *values: Any) -> Any:
        found = self._classes[which]
        names = [field.name for field in dataclasses.fields(found)]
        decoded = dict(zip(names, map(self.decode, values), strict=True))
        hints = _hints(found)
        for name, value in decoded.items():
            if not fits(value, hints[name]):
                raise ValueError(f"{found.__name__}.{name} must be {hints[name]}, got {value!r:.80}")
        return found(**decoded)


_SIMPLE: dict[str, Any] = {"f": float, "q": Fraction, "b": base64.b64decode}
_MANY: dict[str, Any] = {"t": tuple, "l": list, "s": frozenset}


def _is_ours(module: str) -> bool:
    return module.startswith("videorestore.")


def _class_of(module: str, name: str, fields: list[str]) -> type:
    """A dataclass of this package with exactly these fields."""
    if not _is_ours(module):
        raise ValueError(f"a plan with something of {module!r}")
    if module not in sys.modules:
        import_module(module)
    found = vars(sys.modules[module])[name]
    if not (isinstance(found, type) and dataclasses.is_dataclass(found) and found.__module__ == module):
        raise ValueError(f"a plan with {name!r}, which is no form of data")
    if [field.name for field in dataclasses.fields(found)] != fields:
        raise ValueError(f"a plan with another form of {name}")
    return found


@cache
def _hints(found: type) -> dict[str, Any]:
    return typing.get_type_hints(found)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says. What has no plain form (protocols) is held to be one of ours."""
    if hint is Any:
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        every = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return len(every) == len(value) and all(map(fits, value, every))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
        )
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if origin in (list, frozenset):
        return isinstance(value, origin) and all(fits(v, inner[0]) for v in value)
    if hint in (int, float, bool):
        allowed = {int: (int, np.integer), float: (int, float, np.number), bool: (bool, np.bool_)}[hint]
        return isinstance(value, allowed)
    if isinstance(hint, type) and not getattr(hint, "_is_protocol", False):
        return isinstance(value, hint)
    return dataclasses.is_dataclass(value)
