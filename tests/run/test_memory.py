"""Freed memory is held for a run only, and only where the C library knows how."""

import ctypes
import os

import pytest

from videorestore.run import memory


class Library:
    """A C library that takes down what it is told."""

    def __init__(self):
        self.told = {}
        self.trimmed = 0

    def mallopt(self, name, value):
        self.told[name] = value

    def malloc_trim(self, pad):
        self.trimmed += 1


@pytest.fixture
def library(monkeypatch):
    found = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: found)
    monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.36", raising=False)
    return found


def test_memory_is_given_back_after_a_run_that_fails(library):
    with pytest.raises(ZeroDivisionError), memory.holding_freed(True):
        assert library.told == memory.HOLDING
        assert not library.trimmed
        raise ZeroDivisionError
    assert library.told == memory.USUAL
    assert library.trimmed == 1


def test_nothing_is_held_where_memory_is_short(library):
    with memory.holding_freed(False):
        pass
    assert not library.told and not library.trimmed


def test_another_c_library_is_left_alone(library, monkeypatch):
    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "confstr", unknown, raising=False)
    memory.hold_freed()
    assert not library.told
