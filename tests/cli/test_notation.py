"""Spellings of frames, times, ranges, rates and sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videorestore.errors import InputError
from videorestore.request import Insertion, Span, notation


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ("7", (7,)),
        ("50-54", (50, 51, 52, 53, 54)),
        ("7,50-51", (7, 50, 51)),
        ("3,1,2-3", (1, 2, 3)),
        ("0", (0,)),
    ],
)
def test_lists(text: str, frames: tuple[int, ...]) -> None:
    assert notation.parse_frames(text) == frames


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "5-", "-", "7,", "1.5", "54-50", "0-99999999999", "9" * 5000, "1_0", "²", "7;8"]
)
def test_lists_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_frames(text)


@settings(deadline=None, derandomize=True)
@given(st.sets(st.integers(0, 500), min_size=1))
def test_lists_come_back_from_words(frames: set[int]) -> None:
    assert notation.parse_frames(notation.frames_in_words(sorted(frames), most=1000)) == tuple(sorted(frames))


def test_insertions() -> None:
    assert notation.parse_insertions("?@80,5@50") == (
        Insertion(after=50, count=5),
        Insertion(after=80, count=None),
    )


@pytest.mark.parametrize("text", ["5", "5@", "@50", "0@50", "-1@5", "a@5", "5@50,2@50", "5@50-54", "??@3"])
def test_insertions_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_insertions(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12.5s", Fraction(25, 2)),
        ("0s", Fraction(0)),
        (".5s", Fraction(1, 2)),
        ("12.s", Fraction(12)),
        ("00:00:12.500", Fraction(25, 2)),
        ("01:02:03", Fraction(3723)),
        ("100:00:00.001", 360000 + Fraction(1, 1000)),
    ],
)
def test_times(text: str, seconds: Fraction) -> None:
    assert notation.parse_time(text) == seconds


@pytest.mark.parametrize("text", ["12", "s", "1:2", "00:60:00", "00:00:60", "-1s", "1e3s", "1:2:3:4"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_time(text)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("10:20", Span(start=10, stop=20)),
        ("10:", Span(start=10)),
        (":20", Span(stop=20)),
        ("1s:2.5s", Span(start=Fraction(1), stop=Fraction(5, 2), in_seconds=True)),
        ("00:00:01:00:00:02.5", Span(start=Fraction(1), stop=Fraction(5, 2), in_seconds=True)),
        ("00:00:01:2.5s", Span(start=Fraction(1), stop=Fraction(5, 2), in_seconds=True)),
        ("00:00:01:", Span(start=Fraction(1), in_seconds=True)),
        (":00:00:01", Span(stop=Fraction(1), in_seconds=True)),
    ],
)
def test_ranges(text: str, span: Span) -> None:
    assert notation.parse_span(text) == span


@pytest.mark.parametrize("text", ["", ":", "10", "20:10", "10:10", "10:2s", "a:b", "1:2:3", "-5:10", "2s:1s"])
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_span(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("60", Fraction(60)),
        ("60000/1001", Fraction(60000, 1001)),
        ("12.5", Fraction(25, 2)),
        ("29.97", Fraction(30000, 1001)),
        ("23.976", Fraction(24000, 1001)),
        ("29.970", Fraction(30000, 1001)),
        ("60.0", Fraction(60)),
    ],
)
def test_rates(text: str, rate: Fraction) -> None:
    assert notation.parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["0", "-1", "1/0", "9" * 5000, "1/" + "9" * 5000, "x", "1/2/3", "inf", "nan", ""]
)
def test_rates_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_rate(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 << 30), ("800M", 800 << 20), ("1.5g", 3 << 29), ("4GiB", 4 << 30), ("100", 100)],
)
def test_memory(text: str, size: int) -> None:
    assert notation.parse_memory(text) == size


@pytest.mark.parametrize("text", ["0", "-1G", "G", "4X", "", "0.0001"])
def test_memory_that_is_none(text: str) -> None:
    with pytest.raises(InputError):
        notation.parse_memory(text)


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=12))
def test_any_text_is_a_value_or_an_input_error(text: str) -> None:
    parsers = (
        notation.parse_frames,
        notation.parse_insertions,
        notation.parse_memory,
        notation.parse_rate,
        notation.parse_ratio,
        notation.parse_span,
        notation.parse_time,
    )
    for parse in parsers:
        try:
            parse(text)
        except InputError as error:
            assert "got" in str(error)
