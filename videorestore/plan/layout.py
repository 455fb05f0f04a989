"""How long pieces are, how large the parts of a picture, and what that takes: from sizes and a budget alone.

All figures are bytes, measured on noisy clips of several sizes (``scripts/bench scale`` checks them against the peak
of whole runs).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from videorestore.make.cost import SURROUNDINGS
from videorestore.make.engines import CLEANED
from videorestore.make.tiles import SIDE, is_cut, overlap, stretches
from videorestore.make.window import PORTION
from videorestore.request import Quality

BASE = 300 << 20
"""A process with all libraries and compiled kernels."""

ENCODER = 40 << 20
ENCODER_PIXEL, ENCODER_FRAME = 50, 6
AHEAD = 40
"""An encoder process; what it holds for each pixel, and for each pixel of the frames that it looks ahead, at most so many."""

HELD, FOLDED = 48, 4
"""For each pixel of each frame of a piece in memory: pixels, result, sd, native samples; and of native samples alone."""

RESULT, SAMPLED = 24, 5
"""Where noise is removed and nothing else is done, pixels are made of the samples part by part: result and sd; and these as samples,
which are never on disk."""

DENOISING = {"fast": 215, "default": 235, "best": 260}
DENOISING_CODED = {"fast": 110, "default": 185, "best": 210}
"""For each pixel of each frame of the part of the picture that is being denoised along motion; and where a codec kept the chroma
at half the resolution, at which it is denoised."""

DENOISING_USUALLY = {"fast": 125, "default": 150, "best": 175}
CODED_USUALLY = {"fast": 80, "default": 95, "best": 165}
"""The same as whole runs took it (117 and 144 at 480p; after a codec 75 at 1080p, `fast`, 90 at 360p, `default`): for estimates."""

MENDING = 75
MENDING_PART = 120
"""Where pixels are mended along motion: for each pixel of each frame in memory, and of the part at hand."""

SCENE = 150
"""Where pixels are mended in memory besides: for each pixel of each frame of the tile at hand, see `motion.inpaint`."""

DETECTING, SOUGHT = 1100, 60
"""Where damage is sought: for each pixel of the reduced picture, and of the picture itself."""

MAKING = {1: 1200, 2: 350}
"""Where frames are made along motion: for each pixel of the picture, by the reduction in which motion is sought."""

USUALLY = 0.6
"""Share of `MAKING` that whole runs took (0.3 to 0.7): for estimates."""

PASSED = 16
"""For each pixel of each frame of a piece that hardly changes: pixels, samples, masks."""

MASK = 4
"""For each pixel of each frame on disk that is mended: its masks."""

CURVE_FRAME, CURVE_PIXEL, BESIDE_FRAME = 4_600_000, 490, 1_500_000
CURVE = 120 << 20
CLEANED_FRAME = 36
"""Denoising on a curve: for each frame the tile at hand, of which each pixel takes so much, and more of it beside motion; the strips of
the fit; and for each pixel of the frames beside new ones, pixels, result and sd. 200 frames of 640x480 took 4.2 MB each."""

MOTION_CORE = 48
RESTING_CORE = 120
CURVE_CORE = 600
COPYING_CORE = 4000
"""Most frames that a piece makes: along motion, along motion within a piece on a curve, on a curve, copied."""

ENOUGH = 24
"""In pieces of fewer frames than half of this, most of what is read are surroundings."""

Form = Literal["pixels", "chroma", "samples"]
"""What noise is removed from: pixels, luma and chroma at half the resolution after a codec, or samples that stay what they are."""

SIDES = (768, 640, SIDE, 384, 320, 256)
"""Sides of parts that are weighed against the length of pieces: both overlap, and both take memory."""

DISK = 1.1
"""Cost of frames on disk, as a factor on the work (`fast` at 1080p)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a clip is cut.

    Attributes
    ----------
    core : int
        Most frames that a piece makes.
    side : int
        Side of the parts of the picture.
    on_disk : bool
        Frames of a piece are better kept on disk.
    fixed, per_frame : int
        Memory of a piece: bytes besides, and for each frame that it reads.
    beside : Layout or None
        Of the stretches of a piece that are first worked on by themselves, ``stretch`` frames with those around them.
    likely : tuple of int
        Fixed and for each frame, what is most likely taken: of a film on which hardly anything has to be mended.
    """

    core: int
    side: int
    on_disk: bool
    fixed: int
    per_frame: int
    beside: Layout | None = None
    stretch: int = 0
    likely: tuple[int, int] | None = None

    def piece_bytes(self, frames: int, *, clean: bool = False) -> int:
        """Memory of a process that makes a piece of so many frames, with its encoder; of a film that is ``clean``, most likely."""
        fixed, per_frame = self.likely if clean and self.likely else (self.fixed, self.per_frame)
        need = fixed + per_frame * frames
        if self.beside is None:
            return need
        return max(need, self.beside.piece_bytes(min(frames, self.stretch), clean=clean))

    def stretched(self, budget: int, halo: int) -> Layout:
        """The same with longer pieces, as far as the budget allows and what rests learns much from more frames."""
        longest = _core(budget - self.fixed, self.per_frame, halo, RESTING_CORE, least=self.core)
        return replace(self, core=longest)


def least_bytes(height: int, width: int) -> int:
    """Memory without which no piece of frames of this size is made: the libraries, and an encoder."""
    return BASE + ENCODER + (ENCODER_PIXEL + AHEAD * ENCODER_FRAME) * height * width


def part_pixels(height: int, width: int, side: int) -> int:
    """Pixels of the largest part of a picture."""
    if not is_cut(height, width, side):
        return height * width
    tallest, widest = (max(s.stop - s.start for s in stretches(length, side)) for length in (height, width))
    return tallest * widest


def motion_layout(
    height: int,
    width: int,
    *,
    halo: int,
    budget: int,
    quality: Quality | None,
    form: Form = "pixels",
    mending: bool = False,
    making: int = 0,
) -> Layout:
    """Pieces along motion.

    Parameters
    ----------
    halo : int
        Frames that a piece reads on each side of those that it makes.
    budget : int
        Bytes for one process and its encoder.
    quality : str, optional
        At which noise is removed; None where it is not.
    form : Form
        What it is removed from.
    mending : bool
        Pixels are mended.
    making : int
        Bytes of `MAKING`, where whole frames are made.
    """
    pixels = height * width
    looked_at, tile = _mended_parts(height, width) if mending else (0, 0)

    def bytes_of(side: int, on_disk: bool, mending: bool, making: int, likely: bool) -> tuple[int, int]:
        """Fixed, and for each frame."""
        white = form == "pixels"
        usual, most = (DENOISING_USUALLY, DENOISING) if white else (CODED_USUALLY, DENOISING_CODED)
        sought = DETECTING * looked_at + SOUGHT * pixels if mending else 0
        fixed = BASE + ENCODER + ENCODER_PIXEL * pixels + max(making * pixels, sought)
        part = part_pixels(height, width, side)
        work = (usual if likely else most)[quality] * part if quality else 0
        held = _held(form if quality else None, on_disk, mending, bool(making)) * pixels
        if mending:
            work = max(work, MENDING_PART * part, 12 * looked_at) if on_disk else work + SCENE * tile
        if likely and quality:
            # The encoder looks ahead once what denoising took is free again.
            return fixed, max(work, ENCODER_FRAME * pixels) + held
        return fixed, work + held + ENCODER_FRAME * pixels

    choices: list[Layout] = []
    for side in SIDES:
        for on_disk in (False, True):
            fixed, per_frame = bytes_of(side, on_disk, mending, making, likely=False)
            core = _core(budget - fixed, per_frame, halo, MOTION_CORE)
            likely = bytes_of(side, on_disk, False, 0, likely=True)
            layout = Layout(core=core, side=side, on_disk=on_disk, fixed=fixed, per_frame=per_frame)
            choices.append(replace(layout, likely=likely))

    def order(layout: Layout) -> tuple[bool, float]:
        """What fits comes first, then what is the least work: overlaps of parts and of pieces, and the disk.

        Where nothing fits, what takes the least memory.
        """
        need = layout.piece_bytes(layout.core + 2 * halo)
        if need > budget:
            return True, need
        parts = overlap(height, width, layout.side) if quality else 1.0
        pieces = (layout.core + 2 * SURROUNDINGS * halo) / layout.core
        cost = parts * pieces * (DISK if layout.on_disk else 1.0)
        return False, cost

    return min(choices, key=order)


def _held(form: Form | None, on_disk: bool, mending: bool, making: bool) -> int:
    """Bytes in memory for each pixel of each frame; ``form`` of those from which noise is removed."""
    if not mending and not (form and making):
        return FOLDED + {None: 0, "samples": SAMPLED}.get(form, 0 if on_disk else RESULT)
    return MASK * mending if on_disk else MENDING


def _mended_parts(height: int, width: int) -> tuple[int, int]:
    """Pixels in which damage is sought, and of the largest part that is mended at once."""
    from videorestore.detect.sight import LARGEST
    from videorestore.motion.inpaint import tile_pixels

    return min(height * width, LARGEST), tile_pixels(height, width)


def made_bytes(pixels: int, making: int, count: int, *, cleaned: bool) -> int:
    """Bytes of ``count`` new frames beside a curve: `MAKING`, a portion of them with its sd, and frames that are cleaned for them."""
    around = 2 * CLEANED * CLEANED_FRAME * pixels if cleaned else 0
    return making * pixels + min(PORTION, 24 * pixels * count) + around


def passed_bytes(pixels: int, frames: int, making: int, *, searched: bool, on_disk: bool) -> int:
    """Memory that a piece along motion most likely takes from which no noise is removed, and on which hardly anything is mended."""
    besides = ENCODER_PIXEL + ENCODER_FRAME * min(frames, AHEAD) + USUALLY * making
    held = FOLDED if on_disk or not searched else PASSED
    return BASE + ENCODER + round(besides * pixels) + held * pixels * frames


def curve_layout(
    height: int,
    width: int,
    *,
    halo: int,
    budget: int,
    spooled: bool,
    denoising: bool = True,
    making: int = 0,
    beside: Layout | None = None,
) -> Layout:
    """Pieces on a curve, as long as the budget allows.

    Parameters
    ----------
    making : int
        Bytes that whole frames take while they are made, see `made_bytes`.
    spooled : bool
        The frames may be kept on disk.
    denoising : bool
        Noise is removed.
    beside : Layout, optional
        Of the stretches that are first denoised along motion, where both models are asked.
    """
    pixels = height * width
    fixed = least_bytes(height, width) + CURVE + making
    tile, held = CURVE_FRAME, MENDING
    if beside is not None:
        tile, held = CURVE_FRAME + BESIDE_FRAME, MENDING + HELD
    per_frame = min(tile, CURVE_PIXEL * pixels) + (0 if spooled else held * pixels)
    core = _core(budget - fixed, per_frame, halo, CURVE_CORE, least=8)
    usual = per_frame if denoising else 0 if spooled else min(tile, CURVE_PIXEL * pixels) + PASSED * pixels
    likely = fixed - round((1 - USUALLY) * making), usual
    layout = Layout(core=core, side=SIDE, on_disk=spooled, fixed=fixed, per_frame=per_frame, likely=likely)
    return layout if beside is None else replace(layout, beside=beside, stretch=beside.core + 2 * halo)


def copying_layout(frame_bytes: int, pixels: int, *, budget: int) -> Layout:
    """Pieces whose frames are held with their native samples and written in another order."""
    fixed = least_bytes(1, pixels)
    core = _core(budget - fixed, frame_bytes, 0, COPYING_CORE, least=1)
    return Layout(core=core, side=SIDE, on_disk=False, fixed=fixed, per_frame=frame_bytes)


def _core(budget: int, per_frame: int, halo: int, most: int, least: int = 4) -> int:
    return int(max(least, min(most, budget // max(1, per_frame) - 2 * halo)))
