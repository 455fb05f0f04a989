"""How a job is done: planned, cut, made in pieces, resumed, put together."""

from videorestore.run.perform import Outcome, perform

__all__ = ["Outcome", "perform"]
