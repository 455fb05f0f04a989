"""Everything that videorestore raises on purpose."""

from __future__ import annotations


class VideoRestoreError(Exception):
    """Base of all errors raised on purpose; the message is one line with the remedy."""


class InputError(VideoRestoreError, ValueError):
    """An argument is wrong: what must hold, what was found, what to do."""


class MediaReadError(VideoRestoreError, OSError):
    """A file cannot be read as video."""


class MediaWriteError(VideoRestoreError, OSError):
    """A result cannot be written, or did not decode back as it was written."""


class EncoderLostError(MediaWriteError):
    """The encoder's process was ended from outside; the same work may well succeed when it is done again."""


class OutputExistsError(MediaWriteError):
    """The output is there already and overwriting was not asked for."""


class NumericalError(VideoRestoreError, ArithmeticError):
    """A computation has no finite answer."""
