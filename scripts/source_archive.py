"""What the source distribution holds beside the package, so that it can be read and tested as it stands.

The build asks for this class (``tool.setuptools.cmdclass`` in pyproject.toml): tests, scripts with the guide, pictures of the README.
"""

from __future__ import annotations

from pathlib import Path

from setuptools.command.sdist import sdist

BESIDE = ("assets", "scripts", "tests", ".ci", ".github", ".gitattributes", ".gitignore", "CHANGELOG.md")
"""Folders, taken whole, and files."""


class SourceArchive(sdist):  # type: ignore[misc]
    """The ``sdist`` command, with all that a checkout holds."""

    def make_distribution(self) -> None:
        """Add the files, then pack."""
        for start in map(Path, BESIDE):
            files = [start] if start.is_file() else sorted(start.rglob("*"))
            self.filelist.extend(
                str(file) for file in files if file.is_file() and "__pycache__" not in file.parts
            )
        super().make_distribution()
