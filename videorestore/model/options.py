"""How to fit: the parameters of the estimator, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from videorestore.errors import InputError
from videorestore.model.covariance import Array, kernel_named
from videorestore.model.starts import METHODS

Progress = Callable[[str, int, float], None]

R_BASE = 0.15
"""Repulsion where none is given, before it is divided by the share of pixels that count.

Of a rendered turntable, a pan and a ring that shrinks, with 1 to 8 frames taken out, clean, in 8 bit and with noise of
sd 10, holes come back up to a quarter too narrow at 1, up to a fifth at 0.3, up to an eighth too wide at 0.1.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to fit; the meaning of each is said at :class:`videorestore.model.estimator.ElectroGP`."""

    r: float | str = 1.0
    temper: bool = True
    kernel: str = "se"
    init: str | Array = "auto"
    hyper: str = "pixel"
    periodic: bool = False
    optimizer: str = "lbfgs"
    max_iter: int = 200
    tolerance: float = 1e-7
    noise: str = "normal"
    noise_var: float | Array | None = None
    noise_floor: float = 1e-5
    n_neighbors: int = 8
    learn_x: bool = True
    callback: Progress | None = None
    numbers: Array | None = None
    """Whole numbers of the frames, rising: those absent between them repel the others, too. For ``init="order"``."""

    @classmethod
    def of(cls, model: Any) -> Options:
        """From the parameters of an ``ElectroGP``."""
        options = cls(
            **{field.name: getattr(model, field.name) for field in fields(cls) if field.name != "numbers"}
        )
        if not isinstance(options.init, str):
            options = replace(options, init=np.asarray(options.init, dtype=np.float64))
        if options.noise_var is not None:
            noise = np.asarray(options.noise_var, dtype=np.float64)
            options = replace(options, noise_var=noise if noise.ndim else float(noise))
        if model.recipe not in ("default", "paper"):
            raise InputError(f"recipe must be 'default' or 'paper', got {model.recipe!r}")
        if model.recipe == "default":
            return options
        return replace(
            options,
            r=1.0 if isinstance(options.r, str) else options.r,
            temper=False,
            init="lle" if options.anywhere else options.init,
            optimizer="scg",
        )

    @property
    def anywhere(self) -> bool:
        """No order is given."""
        return isinstance(self.init, str) and self.init == "auto"

    @property
    def base_r(self) -> float:
        """The repulsion before it is weighed against the likelihood."""
        return R_BASE if isinstance(self.r, str) else float(self.r)

    def check(self, n: int) -> None:
        """Refuse what makes no sense for ``n`` frames."""
        if n < 3:
            raise InputError(f"a curve needs at least 3 frames, got {n} sample(s); add frames")
        if self.r != "auto" if isinstance(self.r, str) else not (np.isfinite(self.r) and self.r >= 0):
            raise InputError(f"r must be 'auto' or a number >= 0, got {self.r!r}")
        if self.noise not in ("normal", "student"):
            raise InputError(f"noise must be 'normal' or 'student', got {self.noise!r}")
        if self.hyper not in ("pixel", "shared"):
            raise InputError(f"hyper must be 'pixel' or 'shared', got {self.hyper!r}")
        if self.kernel != "auto":
            kernel_named(self.kernel)
        if isinstance(self.init, str):
            if self.init not in ("auto", "order", *METHODS):
                raise InputError(
                    f"init must be 'auto', 'order', one of {METHODS} or positions, got {self.init!r}"
                )
        elif np.shape(self.init) != (n,) or not np.isfinite(self.init).all():
            raise InputError(f"init positions must be {n} finite numbers, got shape {np.shape(self.init)}")
        for name in ("max_iter", "n_neighbors"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.noise_floor < 1:
            raise InputError(f"noise_floor must be between 0 and 1, got {self.noise_floor}")
        if self.noise_var is not None and not np.all(np.asarray(self.noise_var) > 0):
            raise InputError("noise_var must be above 0; leave it out to have it estimated")
