"""What can be asked for: every verb with its options, declared once, and how values are written.

Nothing heavy is imported here: help and wrong usage must not wait for it.
"""

from videorestore.request.common import Common, Model, Quality, Reading, Settings, Switch, Telling
from videorestore.request.declare import TABLE, Verb
from videorestore.request.values import Insertion, Span
from videorestore.request.verbs import VERBS
from videorestore.request.verbs_looking import CompareOptions, InspectOptions, PreviewOptions

__all__ = [
    "TABLE",
    "VERBS",
    "Common",
    "CompareOptions",
    "Insertion",
    "InspectOptions",
    "Model",
    "PreviewOptions",
    "Quality",
    "Reading",
    "Settings",
    "Span",
    "Switch",
    "Telling",
    "Verb",
]
