"""The clips of the curve's tests serve here too."""

from tests.curve.conftest import pan, scenes, turning

__all__ = ["pan", "scenes", "turning"]
