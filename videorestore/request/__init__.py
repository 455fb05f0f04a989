"""What can be asked for: every verb with its options, declared once, and how values are written.

Nothing heavy is imported here: help and wrong usage must not wait for it.
"""

from videorestore.request.common import Common, Model, Quality, Reading, Settings, Switch, Telling
from videorestore.request.declare import TABLE, Verb
from videorestore.request.values import Insertion, Span
from videorestore.request.verbs import VERBS

__all__ = [
    "TABLE",
    "VERBS",
    "Common",
    "Insertion",
    "Model",
    "Quality",
    "Reading",
    "Settings",
    "Span",
    "Switch",
    "Telling",
    "Verb",
]
