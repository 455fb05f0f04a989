"""The ways to store pictures as fields: how far apart in time the fields of a frame and the next are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["progressive", "interlaced", "telecined", "unknown"]
Order = Literal["tff", "bff"]
Numbers = NDArray[np.int64]
Times = NDArray[np.float64]

MANY = 2
"""Periods of the rhythm that are gone where an edit takes many frames."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to store pictures as fields.

    Attributes
    ----------
    kind : Kind
    order : Order or None
    pulldown : {"3:2", "2:2"} or None
    tops, bottoms : tuple of int
        Time of the pictures that the fields of the frames of one period show.
    period : int
        Frames after which the rhythm repeats.
    step : int
        Time between a frame and the one a period later.
    prior : float
    """

    kind: Kind
    order: Order | None = None
    pulldown: str | None = None
    tops: tuple[int, ...]
    bottoms: tuple[int, ...]
    step: int
    prior: float

    @property
    def period(self) -> int:
        """Frames after which the rhythm repeats."""
        return len(self.tops)

    def _apart(self, here: Numbers, there: Numbers, pace: float) -> tuple[Times, Times]:
        """Time between fields of frames by their numbers from the start of a rhythm; see `distances`."""
        shown = np.stack(
            [
                np.array(of_field)[n % self.period] + n // self.period * self.step
                for n in (here, there)
                for of_field in (self.tops, self.bottoms)
            ]
        )
        since = (shown - shown.min(axis=0)).astype(np.float64)
        top, bottom, next_top, next_bottom = np.minimum(since, 1.0) + pace * np.maximum(since - 1.0, 0.0)
        weaves = (top - bottom, bottom - next_top, top - next_bottom, next_top - next_bottom)
        changes = np.stack([next_top - top, next_bottom - bottom], axis=-1)
        return np.abs(np.stack(weaves, axis=-1)), changes

    def distances(self, pace: float = 1.0) -> tuple[Times, Times]:
        """Time between fields of successive frames, behind the first step of the film at another ``pace``.

        Returns
        -------
        weaves : (period, 4)
            Own fields, bottom with next top, top with next bottom, the next one's own.
        changes : (period, 2)
            Both tops, both bottoms.
        """
        here = np.arange(self.period)
        return self._apart(here, here + 1, pace)

    def over_edits(self, pace: float = 1.0) -> tuple[Times, Times]:
        """The same for all phases before and behind an edit, ``(period, period, 2, 4 or 2)``: as few frames gone as may be, many."""
        phases = np.arange(self.period)
        here = np.broadcast_to(phases[:, None], (self.period, self.period))
        near = here + 2 + (phases[None] - here - 2) % self.period
        both = [self._apart(here, near + gone * self.period, pace) for gone in (0, MANY)]
        return np.stack([w for w, _ in both], axis=2), np.stack([c for _, c in both], axis=2)


_FILM = ((0, 1, 1, 2, 3), (0, 1, 2, 3, 3))
"""Pictures that the first and the second fields of five frames show under 3:2 pulldown."""

WAYS: tuple[Way, ...] = (
    Way(kind="progressive", tops=(0,), bottoms=(0,), step=2, prior=0.7),
    Way(kind="interlaced", order="tff", tops=(0,), bottoms=(1,), step=2, prior=0.1),
    Way(kind="interlaced", order="bff", tops=(1,), bottoms=(0,), step=2, prior=0.1),
    Way(kind="telecined", order="tff", pulldown="2:2", tops=(0,), bottoms=(2,), step=2, prior=0.02),
    Way(kind="telecined", order="bff", pulldown="2:2", tops=(2,), bottoms=(0,), step=2, prior=0.02),
    Way(kind="telecined", order="tff", pulldown="3:2", tops=_FILM[0], bottoms=_FILM[1], step=4, prior=0.03),
    Way(kind="telecined", order="bff", pulldown="3:2", tops=_FILM[1], bottoms=_FILM[0], step=4, prior=0.03),
)
"""What is possible. Priors: of clips that people hand in, most are progressive; a wrong guess costs more than a missed one."""
