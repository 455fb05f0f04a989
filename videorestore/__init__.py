"""Restore video with an electrostatic Gaussian process.

>>> import videorestore as vr
>>> result = vr.denoise("in.mkv", output="out.mkv")  # doctest: +SKIP
>>> result.record["noise_sd"]  # doctest: +SKIP
12.3

Names are loaded on first use: ``import videorestore`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from videorestore.request.verbs import VERBS

__version__ = "0.2.0"

if TYPE_CHECKING:
    from videorestore.api import Restoration, read, write
    from videorestore.clip import Clip, ClipInfo, PixelFormat
    from videorestore.errors import (
        InputError,
        MediaReadError,
        MediaWriteError,
        NumericalError,
        OutputExistsError,
        VideoRestoreError,
    )
    from videorestore.model import CoulombProcess, ElectroGP

_HOMES = {
    "videorestore.api": " ".join(("Restoration", "read", "write", *VERBS)),
    "videorestore.clip": "Clip ClipInfo PixelFormat",
    "videorestore.errors": (
        "InputError MediaReadError MediaWriteError NumericalError OutputExistsError VideoRestoreError"
    ),
    "videorestore.model": "CoulombProcess ElectroGP",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Clip",
    "ClipInfo",
    "CoulombProcess",
    "ElectroGP",
    "InputError",
    "MediaReadError",
    "MediaWriteError",
    "NumericalError",
    "OutputExistsError",
    "PixelFormat",
    "Restoration",
    "VideoRestoreError",
    "__version__",
    "read",
    "write",
    *VERBS,
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'videorestore' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
