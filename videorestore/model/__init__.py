"""The electroGP: Coulomb process, covariance, likelihood, fit, posterior, placement, band.

The two public names are loaded on first use: video needs the fit and not scikit-learn, whose import takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videorestore.model.coulomb.process import CoulombProcess
    from videorestore.model.estimator import ElectroGP

_HOME = {"CoulombProcess": "videorestore.model.coulomb.process", "ElectroGP": "videorestore.model.estimator"}

__all__ = ["CoulombProcess", "ElectroGP"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
