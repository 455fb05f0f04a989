"""What is wrong with whole frames: one pass over small pictures, then a verdict for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.detect.cuts import find_cuts, find_fades, with_gaps
from videorestore.detect.dropped import Dropped, find_dropped, find_holes
from videorestore.detect.flicker import find_flicker
from videorestore.detect.measures import LAGS, Measures, runs
from videorestore.detect.repeats import cadence_of, faults, find_repeats

_AROUND = 12
_FLAT, _WHITE = 4.0, 200.0  # contrast and level of pictures that show nothing
_OFTEN = 0.8  # share of the steps around that are smaller than what is usual: one large step in five says so
_UNLIKE = 1.6  # how much farther from both sides than these from each other
_STRANGE = 0.25  # in units of the contrast of the sides
_PALE = 0.4  # a picture with less of their contrast
_ALL = 0.7  # share of the blocks that a flash reaches
_SAME = 0.6  # correlation of (the ranks of) its blocks from which on a picture shows the same as another
_BLINK = 2  # black frames between two shots that nobody meant; more are a pause
_BLANKED = 3  # frames that a concealed part lasts
_EMPTY, _PART = 1.0, 0.15  # levels within a block that shows nothing; share of such blocks
_GLARE = 245.0
_DIMMER, _NEARLY = (
    5.0,
    0.9,
)  # levels a block may be darker by motion alone; share of the blocks that must agree
_STROBE = 0.2  # share of black frames from which on a light was switched
_AWAY = 4  # frames over which a fade shows
_PAUSE = 1.5  # usual steps
_AGAIN = 60  # frames before and after a run in which its picture may come again
_STALE = 2  # times that a buffer shows an old picture at most
_LONGEST = LAGS - 1  # a longer interruption is a scene of its own


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """Findings about the frames of a clip. Frame numbers count from 0.

    Attributes
    ----------
    cuts : tuple of int
        First frame of each new shot.
    fades : tuple of (int, int)
        First and last frame of a fade to or from a flat picture.
    duplicates : tuple of int
        Frames that repeat the one before; frozen runs too.
    frozen : tuple of int
        Those duplicates that are faults: no steady cadence, no scene that stands still.
    cadence : int or None
        Animation or pulldown repeats frames with this period; none of them is a fault.
    black, white : tuple of int
        Frames without content, dark and bright; a white one is a flash.
    corrupt_suspects : tuple of int
        Garbage: unlike both sides, which are like each other.
    worthless : tuple of int
        What ``fill`` should regenerate: garbage, frozen frames, and black ones that interrupt a shot.
    dropped : tuple of Dropped
        Frames missing without a hole in the times.
    holes : tuple of Dropped
        Holes in the times of a clip of constant rate, with the probability that frames were lost there.
    flicker : dict
        ``sd`` (relative), ``present``.
    gains : ndarray, shape (n, 2)
        Gain and offset per frame that remove the flicker.
    """

    cuts: tuple[int, ...]
    fades: tuple[tuple[int, int], ...]
    duplicates: tuple[int, ...]
    frozen: tuple[int, ...]
    cadence: int | None
    black: tuple[int, ...]
    white: tuple[int, ...]
    corrupt_suspects: tuple[int, ...]
    worthless: tuple[int, ...]
    dropped: tuple[Dropped, ...]
    holes: tuple[Dropped, ...]
    flicker: dict[str, float | bool]
    gains: NDArray[np.float64]


def judge(measures: Measures, times: Sequence[Fraction] | None = None) -> Survey:
    """The verdict on measured frames.

    Parameters
    ----------
    measures : Measures
    times : sequence of Fraction, optional
        Presentation times in seconds, one per frame.
    """
    n = len(measures)
    black = _black(measures)
    garbage = _garbage(measures, black)
    void = black | garbage
    cuts = find_cuts(measures, void)
    interrupting = black & _interrupts(measures, black, cuts)
    if interrupting.sum() > _STROBE * n:
        interrupting[:] = False
    cuts = with_gaps(cuts, set(_numbers(interrupting)))
    repeats = find_repeats(measures, void, cuts)
    cadence = cadence_of(repeats)
    frozen = np.zeros(n, np.bool_) if cadence else faults(measures, repeats)
    beside = np.zeros(n, np.bool_)
    for k in _numbers(void | repeats):
        beside[max(0, k - 1) : k + 3] = True
    for k in cuts:
        beside[max(0, k - 1) : k + 2] = True
    white = _white(measures)
    flicker = find_flicker(measures, cuts, void | white)
    if times is not None:
        beside |= _paused(times)
    return Survey(
        cuts=tuple(cuts),
        fades=tuple(find_fades(measures)),
        duplicates=_numbers(repeats),
        frozen=_numbers(frozen),
        cadence=cadence,
        black=_numbers(black),
        white=_numbers(white),
        corrupt_suspects=_numbers(garbage),
        worthless=_numbers(garbage | frozen | interrupting),
        dropped=tuple(find_dropped(measures, beside)),
        holes=tuple(find_holes(times, measures)) if times is not None else (),
        flicker={"sd": flicker.sd, "present": flicker.present},
        gains=flicker.gains,
    )


def _paused(times: Sequence[Fraction]) -> NDArray[np.bool_]:
    """Frames before which more time has passed than usual: how far things moved there says nothing."""
    steps = np.diff(np.array([float(t) for t in times]), prepend=np.nan)
    return (
        np.asarray(steps > _PAUSE * np.nanmedian(steps)) if len(times) > 1 else np.zeros(len(times), np.bool_)
    )


def _numbers(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(k) for k in np.nonzero(flags)[0])


def _black(measures: Measures) -> NDArray[np.bool_]:
    return np.asarray((measures.level < 24) & (measures.contrast < 4))


def _white(measures: Measures) -> NDArray[np.bool_]:
    return np.asarray((measures.contrast < _FLAT) & (measures.level > _WHITE))


def _garbage(measures: Measures, black: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Short runs unlike both sides, while the sides are like each other.

    Motion takes a picture farther in two steps than in one, so that a frame in between that is farther from both
    sides than they are from each other does not belong there. A change of light explains a difference too: a flash,
    up to a white picture, is no garbage. Nor is a picture that is shown again and again, as where two take turns.
    """
    n = len(measures)
    strangers: list[slice] = []
    garbage = np.zeros(n, np.bool_)
    apart = np.fmin(measures.fitted, measures.compensated)
    together = np.fmin(measures.plain, apart)
    flat = measures.contrast < _FLAT
    white = _white(measures)
    for length in range(1, _LONGEST + 1):
        for first in range(1, n - length):
            after = first + length
            run = slice(first, after)
            sides = [first - 1, after]
            if garbage[run].any() or garbage[sides].any() or flat[sides].any() or black[run].all():
                continue
            bridge = together[after, length]
            inner = min(min(apart[j, j - first], apart[after, after - j - 1]) for j in range(first, after))
            usual = max(float(measures.contrast[sides].min()), 8.0)
            # Whole runs may be an insert that was meant: what is held is, as a window that opens and closes.
            times = _UNLIKE if length == 1 else 2 * _UNLIKE
            held = length > 1 and inner > times * together[first + 1 : after, 0].max() + 4
            unlike = not held and inner > times * bridge + 4 and inner > _STRANGE * usual
            # Where steps often go so far, as in drawn dances of few frames, coming back is no sign either.
            unlike = unlike and inner > _UNLIKE * _usual_step(apart[:, 0], first, after)
            pale = measures.contrast[run].max() < _PALE * usual and bridge < 0.7 * usual
            blanked = bridge < 0.9 * usual and length <= _BLANKED and _blanked(measures, run, sides)
            strange = (unlike or pale) and not any(
                _flash(measures, j, sides, pale) or _lit(measures, j, sides) for j in range(first, after)
            )
            garbage[run] = blanked or strange
            if strange and not blanked:
                strangers.append(run)
    for run in _returning(measures, strangers):
        garbage[run] = False
    if garbage.sum() > 0.5 * n:
        garbage[:] = False  # pictures that are all unlike each other are meant so
    return garbage & ~black & ~white


def _usual_step(steps: NDArray[np.float64], first: int, after: int) -> float:
    """How far steps around a run often go; its own, in and out, do not count. 0 where there are none."""
    near = np.concatenate([steps[max(1, first - _AROUND) : first], steps[after + 1 : after + 1 + _AROUND]])
    return float(np.quantile(near, _OFTEN)) if len(near) else 0.0


def _returning(measures: Measures, strangers: list[slice]) -> list[slice]:
    """Those of some short runs whose picture is shown at other times, too: a buffer's old picture comes twice at most."""
    meant: list[slice] = []
    for run in strangers:
        start = max(0, run.start - _AGAIN)
        shown = measures.blocks[start : run.stop + _AGAIN]
        shown = shown.reshape(len(shown), -1) - shown.mean(axis=(1, 2))[:, None]
        shown = shown / (np.linalg.norm(shown, axis=1)[:, None] + 1e-9)
        own, *sides = (shown @ shown[k - start] for k in (run.start, run.start - 1, run.stop))
        same = (own > _SAME) & (own > np.max(sides, axis=0))
        if sum(1 for _ in runs(same)) > _STALE:
            meant.append(run)
    return meant


def _blanked(measures: Measures, run: slice, sides: list[int]) -> bool:
    """Has a large part of a picture one colour, where both sides show something?

    That is how a decoder conceals what it could not read.
    """
    here, beside = measures.detail[run].max(axis=0), measures.detail[sides].min(axis=0)
    part = (here < _EMPTY) & (beside > 3 * _EMPTY)
    # What is lost of a picture is one piece and runs on to its side, where a window on a screen has its own.
    _, pieces = cv2.connectedComponents(part.astype(np.uint8), connectivity=4)
    part &= np.isin(pieces, pieces[:, [0, -1]])
    if np.bincount(pieces[part]).max(initial=0) < _PART * part.size:
        return False
    colour = measures.blocks[run][:, part]
    # Light that is too bright for the camera leaves one colour, too.
    return float(np.abs(colour - np.median(colour)).mean()) < _EMPTY and float(np.median(colour)) < _GLARE


def _flash(measures: Measures, k: int, sides: list[int], pale: bool) -> bool:
    """Does a frame show the same as the frames beside it in another light?"""
    brighter = measures.level[k] > measures.level[sides].max() + 15
    darker = measures.level[k] < measures.level[sides].min() - 15
    if not (brighter or darker or pale):
        return False
    light = np.median(measures.blocks[sides], axis=0)
    change = measures.blocks[k] - light
    if not pale and float((change > 5 if brighter else change < -5).mean()) < _ALL:
        return False
    ranks = [np.argsort(np.argsort(measures.blocks[j].ravel())) for j in (k, *sides)]
    return max(float(np.corrcoef(ranks[0], other)[0, 1]) for other in ranks[1:]) > _SAME


def _lit(measures: Measures, k: int, sides: list[int]) -> bool:
    """Has light fallen on a part of a frame? Then nothing is darker there than beside it, and what it shows is still seen."""
    added = measures.blocks[k] - measures.blocks[sides].min(axis=0)
    if float((added > -_DIMMER).mean()) < _NEARLY:
        return False
    here, beside = measures.detail[k], measures.detail[sides]
    kept = (here > 0.6 * beside.min(axis=0) - 1) & (here < 1.7 * beside.max(axis=0) + 4)
    return float((kept | (measures.blocks[k] > _GLARE)).mean()) > _NEARLY


def _interrupts(measures: Measures, black: NDArray[np.bool_], cuts: list[int]) -> NDArray[np.bool_]:
    """Short runs of black frames inside a shot; between two shots only a flash of black, too short to be meant.

    They show less than what they interrupt: in a dark scene, where sparks fly, every picture is nearly black.
    """
    result = np.zeros(len(black), np.bool_)
    for k, end in runs(black):
        inner = k > 0 and end + 1 < len(black)
        sides = measures.contrast[[k - 1, end + 1]] if inner else np.zeros(2)
        if measures.contrast[k : end + 1].max() < _PALE * sides.min():
            if end + 1 in cuts:
                result[k : end + 1] = end - k < _BLINK and _abrupt(measures, k, end)
            else:
                result[k : end + 1] = end - k < _LONGEST
    return result


def _abrupt(measures: Measures, first: int, last: int) -> bool:
    """Whether the pictures beside a black run are as bright and rich as those farther off: no fade leads to it."""
    for near, far in ((first - 1, first - 1 - _AWAY), (last + 1, last + 1 + _AWAY)):
        if not 0 <= far < len(measures):
            return False
        for values in (measures.level, measures.contrast):
            if values[near] < 0.7 * values[far]:
                return False
    return True
