"""The electroGP: Coulomb process, covariance, likelihood, fit, posterior, placement, band."""

from videorestore.model.coulomb.process import CoulombProcess
from videorestore.model.estimator import ElectroGP

__all__ = ["CoulombProcess", "ElectroGP"]
