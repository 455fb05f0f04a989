"""What a run is made from: the content of its inputs, its options, and the very code and libraries."""

from __future__ import annotations

import glob
import hashlib
import os
from dataclasses import asdict
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import videorestore
from videorestore.request.declare import declared, paths

_LIBRARIES = "numpy", "scipy", "numba", "opencv-python", "av", "imageio-ffmpeg", "scikit-learn"
"""Packages whose versions may change a pixel."""


def files_of(path: str) -> list[Path]:
    """The files of an input: itself, those of a folder, or what a pattern matches."""
    target = Path(path)
    if target.is_dir():
        return [file for file in sorted(target.iterdir()) if file.is_file()]
    found = [target] if target.exists() else [Path(p) for p in sorted(glob.glob(path))]
    return [file for file in found if file.is_file()]


def fingerprint(path: str) -> str:
    """Digest of the names and the whole content of an input; reading it takes a fraction of decoding it."""
    digest = hashlib.sha256()
    for file in files_of(path):
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").digest()
        digest.update(os.fsencode(file.name) + b"\0" + content)
    return digest.hexdigest()


def fingerprint_once(path: str) -> str:
    """The same, read again only after the system says that something was changed."""
    facts = [(str(file), file.stat()) for file in files_of(path)]
    stamps = tuple((name, f.st_ino, f.st_size, f.st_mtime_ns, f.st_ctime_ns) for name, f in facts)
    return _remembered(path, stamps)


@lru_cache(maxsize=8)
def _remembered(path: str, stamps: tuple[Any, ...]) -> str:
    return fingerprint(path)


@cache
def built_from() -> str:
    """Digest of the source of this package and of the versions of its libraries: who shares it makes the same pixels."""
    digest = hashlib.sha256()
    root = Path(videorestore.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    for name in _LIBRARIES:
        try:
            digest.update(f"{name} {version(name)}\0".encode())
        except PackageNotFoundError:
            continue
    return digest.hexdigest()


def input_prints(input_path: str, options: Any) -> list[str]:
    """Fingerprints of all that a run reads."""
    return [fingerprint(path) for path in [input_path, *(name for _, name in paths(options, "read"))]]


def describe(verb: str, input_path: str, options: Any, version: str) -> dict[str, Any]:
    """What a run is: two runs with the same description give the same pixels."""
    known = declared(options)
    values = {name: repr(value) for name, value in asdict(options).items() if known[name].pixels}
    inputs = input_prints(input_path, options)
    return {"version": version, "code": built_from(), "verb": verb, "options": values, "inputs": inputs}
