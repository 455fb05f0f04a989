"""``--report``: one file that shows what was found and done, from disk, without a network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.place import part_folder, publish
from videorestore.report import figures, pictures, sections
from videorestore.report.crops import Crop, section
from videorestore.report.pictures import Map, Picture
from videorestore.report.words import headline, sentence

MOST_LISTED = 60
"""Pictures taken at even steps, and as many again of frames that were made."""

PICTURE_BYTES = 8_000_000
LOUPE_BYTES = 2_000_000
MAP_BYTES = 2_500_000
RECORD_FRAMES = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """One frame of the page."""

    index: int
    origin: str
    time_s: float | None
    before: str | None
    after: str
    same: bool
    changed: float
    change: Map | None
    sd: Map | None
    small_before: Map | None
    small_after: Map
    loupe: tuple[Any, ...]

    @property
    def size(self) -> int:
        return len(self.after) + len(self.before or "")


class PageBuilder:
    """Collects pictures while frames pass by, keeps as many as a page can hold, and writes it.

    Examples
    --------
    >>> builder = PageBuilder()
    >>> if builder.wants(0):
    ...     builder.add_picture(0, after=np.zeros((4, 4, 3), np.uint8))
    >>> len(builder)
    1
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self.crops: list[Crop] = []
        self._stride = 1
        self._special_stride = 1

    def __len__(self) -> int:
        return len(self._kept)

    def wants(self, index: int, origin: str = "kept") -> bool:
        """Would a picture of this frame be kept? Ask before converting one."""
        if _special(origin) and index % self._special_stride == 0:
            return True
        return index % self._stride == 0

    def add_picture(
        self,
        index: int,
        *,
        after: Picture,
        before: Picture | None = None,
        sd: NDArray[Any] | None = None,
        origin: str = "kept",
        time_s: float | None = None,
        loupe: tuple[Any, ...] = (None, None, None),
    ) -> None:
        """Take a picture, if there is room for it.

        Parameters
        ----------
        index : int
            Place of the frame in the record's ``frames``.
        after, before : ndarray, shape (height, width, channels)
            uint8, RGB or grey. ``before`` is None where the source has no such frame.
        sd : ndarray, shape (height, width[, channels]), optional
            On the 0..255 scale; may be smaller than the pictures.
        origin : str
        time_s : float, optional
            Where the record has no ``frames`` that say it.
        loupe : tuple
            A part of it in true pixels, before and after, and its left top corner; None where there is none.
        """
        if not self.wants(index, origin):
            return
        after = pictures.as_rgb(after)
        before = None if before is None else pictures.as_rgb(before)
        same = before is not None and before.shape == after.shape and bool((before == after).all())
        changed = 0.0
        if before is not None and before.shape == after.shape and not same:
            changed = float(np.mean(cv2.absdiff(before, after)))
        change = None
        if before is not None and not same and before.shape == after.shape and origin != "filled":
            change = pictures.difference(before, after)
        self._kept[index] = _Kept(
            index=index,
            origin=origin,
            time_s=time_s,
            before=None if before is None or same else pictures.encode(before),
            after=pictures.encode(after),
            same=same,
            changed=changed,
            change=change,
            sd=None if sd is None else _flat(sd),
            small_before=None if before is None else pictures.thumbnail(before),
            small_after=pictures.thumbnail(after),
            loupe=loupe,
        )
        self._thin()

    def write(
        self, path: str | os.PathLike[str], record: Mapping[str, Any], *, overwrite: bool = True
    ) -> None:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path
        record : mapping
            The result record, plain values only.
        overwrite : bool
            Replace a file of this name.
        """
        text = self.render(dict(record))
        with part_folder(os.fspath(path)) as folder:
            part = os.path.join(folder, "page.html")
            with open(part, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
            publish(part, os.fspath(path), overwrite=overwrite)

    def render(self, record: dict[str, Any]) -> str:
        """The page as text."""
        states = figures.states_of(record)
        frames = record.get("frames") or []
        n = max(len(states), len(frames), int(record.get("n_frames", 0)), max(self._kept, default=0) + 1)
        shown = sorted(self._kept.values(), key=lambda kept: kept.index)
        maps, scales = _draw_maps(shown)
        loupes = _drawn_loupes(shown)
        data = {
            "n": n,
            "verb": record.get("verb"),
            "size": [record.get("width"), record.get("height")],
            "scales": scales,
            "frames": [
                _frame_data(kept, record, maps.get(kept.index, {})) | loupes.get(kept.index, {})
                for kept in shown
            ],
        }
        title, subtitle = headline(record)
        script = _resource("page.js")
        parts = {
            "title": escape(title),
            "subtitle": escape(subtitle),
            "sentence": escape(sentence(record)),
            "sample": escape(_sample_in_words(shown, n, record)),
            "tiles": sections.glance(record),
            "legend": sections.legend(states, record.get("cuts", [])),
            "strip": figures.timeline(states or ["good"] * n, record.get("cuts", [])),
            "charts": sections.charts(frames, n),
            "curve": _curve(shown, frames, record.get("cuts", [])),
            "alerts": sections.alerts(record) + section(self.crops, len(record.get("damage", []))),
            "notes": sections.notes(record),
            "record": escape(json.dumps(_trimmed(record), indent=2, ensure_ascii=False)),
            "data": json.dumps(data).replace("<", "\\u003c"),
            "style": _resource("page.css"),
            "script": script,
            "script_hash": base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
            "version": escape(str(record.get("version", ""))),
        }
        # In one pass: what is put in is never looked through for further places.
        return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _resource("page.html"))

    def _thin(self) -> None:
        """Double the steps until the pictures fit."""
        while True:
            special = [kept for kept in self._kept.values() if _special(kept.origin)]
            regular = [kept for kept in self._kept.values() if not _special(kept.origin)]
            heavy = sum(kept.size for kept in self._kept.values()) > PICTURE_BYTES and len(self._kept) > 8
            if len(special) > MOST_LISTED or (heavy and len(special) > len(regular)):
                self._special_stride *= 2
            elif len(regular) > MOST_LISTED or heavy:
                self._stride *= 2
            else:
                return
            self._kept = {index: kept for index, kept in self._kept.items() if self.wants(index, kept.origin)}


def _drawn_loupes(shown: list[_Kept]) -> dict[int, dict[str, Any]]:
    """Parts in true pixels by frame: as many as fit, those of changed frames first."""
    drawn: dict[int, dict[str, Any]] = {}
    room = LOUPE_BYTES
    for kept in sorted(shown, key=lambda kept: (not _special(kept.origin), -kept.changed)):
        before, after, corner = kept.loupe
        if after is None:
            continue
        entry = {"after": pictures.encode_exactly(after)}
        if before is not None and not kept.same:
            entry["before"] = pictures.encode_exactly(before)
        room -= sum(map(len, entry.values()))
        if room < 0:
            break
        sides = {"w": int(after.shape[1]), "h": int(after.shape[0])}
        drawn[kept.index] = {"loupe": {**entry, "x": int(corner[0]), "y": int(corner[1]), **sides}}
    return drawn


def _sample_in_words(shown: list[_Kept], n: int, record: Mapping[str, Any]) -> str:
    """Which frames have a picture here, and how large."""
    if not shown:
        return ""
    which = "Every frame is" if len(shown) >= n else f"{len(shown)} of {n} frames are"
    how = (
        ""
        if len(shown) >= n
        else ", at even steps and those that were made anew; the dots under the timeline"
    )
    width = int(record.get("width") or 0)
    less = width and max(width, int(record.get("height") or 0)) > pictures.SIDE
    size = f" Pictures are shown at {pictures.SIDE} pixels, the loupe in true ones." if less else ""
    return f"{which} kept on this page{how}.{size}"


def _special(origin: str) -> bool:
    return origin not in ("kept", "recoded", "denoised", "good")


def _flat(sd: NDArray[Any]) -> Map:
    values = np.asarray(sd, np.float32)
    if values.ndim == 3:
        # The root mean square over the channels, as in the record.
        values = np.sqrt(np.mean(np.square(values), axis=-1))
    return np.asarray(pictures.shrink(values, pictures.MAP_SIDE), np.float32)


def _draw_maps(shown: list[_Kept]) -> tuple[dict[int, dict[str, str]], dict[str, float]]:
    """All maps on common scales, small enough for their share of the page."""
    changes = [kept.change for kept in shown if kept.change is not None]
    sds = [kept.sd for kept in shown if kept.sd is not None and np.any(kept.sd > 0)]
    scales = {}
    if changes:
        scales["change"] = pictures.round_up(
            max(float(np.percentile(np.abs(change), 99.5)) for change in changes)
        )
    if sds:
        # A few frames that are hardly known must not leave the others black.
        tops = [float(np.nanpercentile(sd, 99.5)) for sd in sds]
        scales["sd"] = pictures.round_up(float(np.percentile(tops, 75)))
    maps: dict[int, dict[str, str]] = {}
    for side, quality in ((pictures.MAP_SIDE, 80), (320, 75), (200, 70), (120, 60)):
        maps = {}
        for kept in shown:
            entry = maps.setdefault(kept.index, {})
            if kept.change is not None:
                drawn = pictures.draw_difference(kept.change, scales["change"])
                entry["change"] = pictures.encode(drawn, side=side, quality=quality)
            if kept.sd is not None and "sd" in scales:
                entry["sd"] = pictures.encode(
                    pictures.draw_sd(kept.sd, scales["sd"]), side=side, quality=quality
                )
        if sum(len(text) for entry in maps.values() for text in entry.values()) <= MAP_BYTES:
            break
    return maps, scales


def _frame_data(kept: _Kept, record: dict[str, Any], maps: dict[str, str]) -> dict[str, Any]:
    frames = record.get("frames") or []
    fact = frames[kept.index] if kept.index < len(frames) else {}
    source = fact.get("source", fact.get("index", kept.index + int(record.get("first_frame", 0))))
    data: dict[str, Any] = {
        "place": kept.index,
        "origin": kept.origin,
        "after": kept.after,
        "same": kept.same,
        "changed": round(kept.changed, 3),
    }
    data |= {
        key: fact[key]
        for key in ("index", "other", "time_s", "x", "sd", "psnr", "ssim", "notes", "source")
        if key in fact
    }
    data.setdefault("index", kept.index + int(record.get("first_frame", 0)))
    if kept.time_s is not None:
        data.setdefault("time_s", kept.time_s)
    if kept.before is not None:
        data["before"] = kept.before
    data |= {f"{name}_map": uri for name, uri in maps.items()}
    boxes = [
        [*entry["box"], _box_words(entry)]
        for entry in record.get("damage", [])
        if entry.get("frame") == source and entry.get("box")
    ]
    if boxes:
        data["boxes"] = boxes[:200]
    return data


def _box_words(entry: Mapping[str, Any]) -> str:
    sure = entry.get("probability")
    return str(entry.get("kind", "damage")) + (f" {float(sure):.2f}" if sure is not None else "")


def _curve(shown: list[_Kept], frames: list[dict[str, Any]], cuts: list[int]) -> str:
    """The frames in the space of pictures, and their latent positions."""
    positions = [frames[kept.index].get("x") if kept.index < len(frames) else None for kept in shown]
    if len(shown) < 3 or all(position is None for position in positions):
        # Along motion there is no latent coordinate, and no curve to show.
        return ""
    made = np.stack([kept.small_after.ravel() for kept in shown])
    blank = np.full(made.shape[1], np.nan, np.float32)
    moved = any(not kept.same for kept in shown)
    raw = None
    if moved:
        # What stood in place of a filled frame says nothing about the curve.
        raw = np.stack(
            [
                blank if k.small_before is None or k.origin == "filled" else k.small_before.ravel()
                for k in shown
            ]
        )
    # Each shot has a curve of its own: across cuts only time orders the frames.
    latent = not cuts and all(position is not None for position in positions)
    order = (
        np.argsort([p for p in positions if p is not None], kind="stable")
        if latent
        else np.arange(len(shown))
    )
    drawing = figures.curve(
        raw, made, order, [{"index": kept.index, "origin": kept.origin} for kept in shown], cuts
    )
    known = [
        (float(fact["x"]), str(fact.get("origin", "kept"))) for fact in frames if fact.get("x") is not None
    ]
    strip = (
        f"{figures.ticks(known)}<p class=hint>places of all frames on the curve, from 0 to 1</p>"
        if len(known) > 1
        else ""
    )
    by = "in the order of their places on the curve" if latent else "in the order of time"
    faint = " Faint points are the frames before." if raw is not None else ""
    return (
        f'<section id="latent"><h2>The curve</h2>{drawing}<p class="hint">Every point is a restored frame, near to those that look '
        f"like it (first two principal components), joined {by}.{faint} Click on a point to see the frame.</p>{strip}</section>"
    )


def _trimmed(record: dict[str, Any]) -> dict[str, Any]:
    """The record without the frames that would make the page heavy."""
    trimmed = dict(record)
    for key in ("frames", "damage", "order"):
        entries = trimmed.get(key)
        if isinstance(entries, list) and len(entries) > RECORD_FRAMES:
            trimmed[key] = entries[:RECORD_FRAMES]
            trimmed[f"{key}_left_out"] = len(entries) - RECORD_FRAMES
    return trimmed


def _resource(name: str) -> str:
    return (files("videorestore.report") / name).read_text(encoding="utf-8")
