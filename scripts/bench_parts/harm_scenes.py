"""Clean scenes of all kinds that a search for damage could mistake for damaged ones, rendered here.

Every scene is a function of a random generator that gives uint8 frames ``(FRAMES, HEIGHT, WIDTH, 3)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import scenes
from numpy.typing import NDArray

HEIGHT, WIDTH, FRAMES = 160, 208, 16

Frames = NDArray[np.uint8]
Picture = NDArray[np.float32]
Rng = np.random.Generator
ROWS, COLUMNS = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)


def _muted(pictures: Picture) -> Picture:
    """With colours as they are out of doors."""
    return np.asarray(0.3 * pictures + 0.7 * pictures.mean(axis=-1, keepdims=True), np.float32)


def _wall(rng: Rng, finest: float = 2.0) -> Picture:
    return _muted(scenes.texture(HEIGHT, WIDTH, seed=int(rng.integers(1 << 30)), finest=finest))


def _gliding(rng: Rng, step: float) -> Picture:
    return _muted(scenes.pan(FRAMES, HEIGHT, WIDTH, step=step, seed=int(rng.integers(1 << 30))))


def _filmed(frames: Any, rng: Rng, sd: float = 1.0) -> Frames:
    """What a good camera makes of it: a soft lens and hardly any noise."""
    soft = np.stack([cv2.GaussianBlur(np.asarray(f, np.float32), (0, 0), 0.6) for f in frames])
    return np.clip(np.rint(soft + rng.normal(0, sd, soft.shape)), 0, 255).astype(np.uint8)


def _exact(frames: Any) -> Frames:
    return np.clip(np.rint(np.asarray(frames)), 0, 255).astype(np.uint8)


def _disc(
    frame: Picture, y: float, x: float, radius: float, colour: Any, blur: tuple[float, float] = (0, 0)
) -> None:
    """A disc, spread along the way that it goes while the shutter is open."""
    for share in np.linspace(-0.25, 0.25, 5):
        inside = np.clip(
            radius - np.hypot(ROWS - y - share * blur[0], COLUMNS - x - share * blur[1]) + 0.5, 0, 1
        )
        frame += 0.2 * inside[..., None] * (np.asarray(colour, np.float32) - frame)


def _bent(picture: Picture, x: Any, y: Any) -> Picture:
    """A picture looked up at the places x, y."""
    where = np.asarray(x, np.float32), np.asarray(y, np.float32)
    return np.asarray(cv2.remap(picture, *where, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT), np.float32)


def balls(rng: Rng) -> Frames:
    """Balls that bounce fast in front of a wall."""
    wall, frames = _wall(rng), []
    place = rng.uniform((20, 20), (HEIGHT - 20, WIDTH - 20), (4, 2))
    speed = rng.uniform(-14, 14, (4, 2))
    radius, colours = rng.uniform(3, 8, 4), rng.uniform(0, 255, (4, 3))
    for _ in range(FRAMES):
        frame = wall.copy()
        for k in range(4):
            _disc(frame, *place[k], radius[k], colours[k], tuple(speed[k]))
        speed[:, 0] += 1.5
        place += speed
        for axis, end in enumerate((HEIGHT, WIDTH)):
            out = (place[:, axis] < 8) | (place[:, axis] > end - 8)
            speed[out, axis] *= -0.9
            place[:, axis] = np.clip(place[:, axis], 8, end - 8)
        frames.append(frame)
    return _filmed(frames, rng)


def water(rng: Rng) -> Frames:
    """Waves with glints that come and go."""
    waves = [(rng.uniform(0.05, 0.5), rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1.2)) for _ in range(24)]
    frames = []
    for t in range(FRAMES):
        slope = sum(
            np.cos(f * (COLUMNS * np.cos(a) + 2 * ROWS * np.sin(a)) - s * t) for f, a, s in waves
        ) / np.sqrt(24)
        blue = 90 + 25 * slope
        glint = 150 * np.clip(slope - 1.4, 0, 1)
        frames.append(np.stack([0.5 * blue + glint, 0.8 * blue + glint, blue + glint], axis=2))
    return _filmed(frames, rng)


def _noise_field(rng: Rng, n: int, sigma: float, height: int = HEIGHT, width: int = WIDTH) -> Picture:
    field = rng.standard_normal((n, height, width)).astype(np.float32)
    field = np.stack([cv2.GaussianBlur(f, (0, 0), sigma) for f in field])
    return np.asarray(field / field.std(), np.float32)


def fire(rng: Rng) -> Frames:
    """Flames that rise, tear off and vanish."""
    tall = _noise_field(rng, 1, 5.0, HEIGHT + 14 * FRAMES)[0]
    fine = _noise_field(rng, 1, 2.0, HEIGHT + 22 * FRAMES)[0]
    frames = []
    for t in range(FRAMES):
        a, b = tall[12 * t : 12 * t + HEIGHT], fine[19 * t : 19 * t + HEIGHT]
        base = 3.2 * (ROWS / HEIGHT) ** 1.5 - 4 * np.abs(COLUMNS / WIDTH - 0.5) - 0.6
        heat = np.clip(base + 0.8 * a + 0.5 * b, 0, 2)
        frames.append(
            np.stack(
                [
                    20 + 230 * np.clip(heat, 0, 1),
                    15 + 190 * np.clip(heat - 0.4, 0, 1),
                    10 + 150 * np.clip(heat - 1, 0, 1),
                ],
                axis=2,
            )
        )
    return _filmed(frames, rng)


def fireworks(rng: Rng) -> Frames:
    """Sparks that fly from a few points in a dark sky."""
    frames = [np.full((HEIGHT, WIDTH, 3), 12, np.float32) for _ in range(FRAMES)]
    for _ in range(5):
        start, y, x = int(rng.integers(-6, FRAMES)), rng.uniform(25, 90), rng.uniform(30, WIDTH - 30)
        colour = rng.uniform(120, 255, 3)
        for _ in range(50):
            angle, speed = rng.uniform(0, 2 * np.pi), rng.uniform(2, 7)
            for t in range(max(start, 0), min(start + 10, FRAMES)):
                age = t - start
                far = speed * 8 * (1 - np.exp(-age / 8))
                at = (round(x + far * np.cos(angle)), round(y + far * np.sin(angle) + 0.15 * age**2))
                shine = np.exp(-age / 6) * rng.uniform(0.5, 1)
                cv2.circle(frames[t], at, 1, (colour * shine + 12).tolist(), -1, cv2.LINE_AA)
    return _filmed(frames, rng)


def foliage(rng: Rng) -> Frames:
    """Leaves that tremble in the wind."""
    still = scenes.texture(HEIGHT + 20, WIDTH + 20, seed=int(rng.integers(1 << 30)), finest=1.0)
    still = np.clip(1.6 * (still - 128) + 110, 0, 255) * np.array([0.7, 1.0, 0.5], np.float32)
    ways = _noise_field(rng, 4, 7.0)
    frames = []
    for t in range(FRAMES):
        dx = 2.5 * (ways[0] * np.sin(1.1 * t) + ways[1] * np.cos(0.7 * t)) + 10
        dy = 1.5 * (ways[2] * np.sin(0.9 * t) + ways[3] * np.cos(1.3 * t)) + 10
        frames.append(_bent(still, COLUMNS + dx, ROWS + dy))
    return _filmed(frames, rng)


def crowd(rng: Rng) -> Frames:
    """Many heads, each on a way of its own, in front of each other."""
    n = 90
    place = rng.uniform((0, 0), (HEIGHT, WIDTH), (n, 2))
    place = place[np.argsort(place[:, 0])]
    speed, colours = rng.normal(0, 2.0, (n, 2)), rng.uniform(20, 220, (n, 2, 3))
    frames = []
    for t in range(FRAMES):
        frame = np.full((HEIGHT, WIDTH, 3), 120, np.float32)
        for k in range(n):
            y, x = place[k] + t * speed[k] + 2 * np.sin(t * 0.8 + k)
            cv2.ellipse(frame, ((x, y + 14), (16, 24), 0), colours[k, 0].tolist(), -1, cv2.LINE_AA)
            cv2.ellipse(frame, ((x, y), (9, 12), 5 * np.sin(t + k)), colours[k, 1].tolist(), -1, cv2.LINE_AA)
        frames.append(frame)
    return _filmed(frames, rng)


_WORDS = (
    "film",
    "made",
    "by",
    "all",
    "who",
    "came",
    "to",
    "see",
    "it",
    "one",
    "evening",
    "late",
    "in",
    "autumn",
    "with",
    "care",
)


def _line(rng: Rng, words: int = 5) -> str:
    return " ".join(rng.choice(_WORDS, words))


def _write(
    frame: Picture, text: str, x: float, y: float, colour: Any = (235, 235, 235), size: float = 0.4
) -> None:
    """Text at a place that need not be whole pixels."""
    layer = np.zeros((*frame.shape[:2], 3), np.uint8)
    cv2.putText(
        layer, text, (int(x), int(y)), cv2.FONT_HERSHEY_SIMPLEX, size, (255, 255, 255), 1, cv2.LINE_AA
    )
    move = np.float32([[1, 0, x - int(x)], [0, 1, y - int(y)]])
    cover = cv2.warpAffine(layer.astype(np.float32), move, frame.shape[1::-1]) / 255
    frame += cover * (np.asarray(colour, np.float32) - frame)


def credits(rng: Rng) -> Frames:
    """Lines that roll up on black."""
    lines, pace = [_line(rng) for _ in range(24)], rng.uniform(0.8, 4)
    frames = []
    for t in range(FRAMES):
        frame = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        for k, line in enumerate(lines):
            _write(frame, line, 20, 18 * k + 12 - pace * t)
        frames.append(frame)
    return _exact(frames)


def title(rng: Rng) -> Frames:
    """A title that comes, stays and goes, over a gliding picture."""
    frames = _gliding(rng, 1.1)
    text = _line(rng, 2)
    for t in range(5, 12):
        _write(frames[t], text, 25, HEIGHT / 2, size=0.9)
    return _filmed(frames, rng)


def subtitles(rng: Rng) -> Frames:
    """Lines that change at once, over balls."""
    frames = balls(rng).astype(np.float32)
    for t in range(FRAMES):
        if t % 6 < 4:
            _write(
                frames[t],
                f"{_WORDS[t // 6]} {_WORDS[t // 6 + 5]} {_WORDS[t // 6 + 9]}",
                50,
                HEIGHT - 12,
                size=0.5,
            )
    return _exact(frames)


def _page(rng: Rng, height: int = HEIGHT) -> Picture:
    page = np.full((height, WIDTH, 3), 248, np.float32)
    cv2.rectangle(page, (0, 0), (38, height), (225, 228, 232), -1)
    for y in range(16, height, 14):
        if rng.uniform() < 0.85:
            _write(page, _line(rng, int(rng.integers(2, 6))), 44, y, (30, 30, 40), 0.35)
    return page


def typing(rng: Rng) -> Frames:
    """A screen with a caret that blinks and letters that are typed."""
    page, text = _page(rng), _line(rng, 8)
    page[100:118, 44:] = 248
    frames = []
    for t in range(FRAMES):
        frame = page.copy()
        _write(frame, text[: 4 + t // 2], 44, 112, (20, 20, 20), 0.35)
        if t % 4 < 2:
            cv2.line(frame, (46 + 3 * (4 + t), 103), (46 + 3 * (4 + t), 114), (0, 0, 0), 1)
        frames.append(frame)
    return _exact(frames)


def pointer(rng: Rng) -> Frames:
    """A screen recording, coded, with a pointer that jumps about and a caret that blinks."""
    page, frames = _page(rng), []
    arrow = np.array([[0, 0], [0, 13], [3, 10], [6, 14], [8, 13], [5, 9], [9, 9]], np.float32)
    way = rng.uniform((10, 10), (HEIGHT - 20, WIDTH - 20), (4, 2))
    for t in range(FRAMES):
        frame = page.copy()
        if t % 8 < 4:
            cv2.line(frame, (120, 58), (120, 70), (0, 0, 0), 1)
        share = (t % 5) / 5
        at = way[t // 5] * (1 - share) + way[min(t // 5 + 1, 3)] * share
        points = np.int32(np.round((arrow + at[::-1]) * 16))
        cv2.fillPoly(frame, [points], (20, 20, 20), cv2.LINE_AA, 4)
        frames.append(frame)
    return _exact(frames)


def scrolling(rng: Rng) -> Frames:
    """A page that is scrolled in jerks."""
    long = _page(rng, 3 * HEIGHT)
    at, frames = 0, []
    for t in range(FRAMES):
        at += (0, 3, 14, 30, 14, 3, 0, 0)[t % 8]
        frames.append(long[at : at + HEIGHT])
    return _exact(frames)


def _figure(frame: Picture, t: float, x: float, y: float, colours: Any, scale: float = 1.0) -> None:
    """A figure that walks: body, head, and limbs that swing."""

    def limb(x0: float, y0: float, angle: float, length: float, colour: Any) -> tuple[float, float]:
        x1, y1 = x0 + length * scale * np.sin(angle), y0 + length * scale * np.cos(angle)
        points = [(round(16 * v[0]), round(16 * v[1])) for v in ((x0, y0), (x1, y1))]
        cv2.line(frame, *points, colour, max(2, round(4 * scale)), cv2.LINE_AA, 4)
        return x1, y1

    for side in (0, np.pi):
        swing = 0.7 * np.sin(t + side)
        limb(*limb(x, y + 14 * scale, swing, 12, colours[0]), swing - 0.4, 12, colours[0])
        limb(*limb(x, y - 8 * scale, -swing, 10, colours[1]), 0.5 - swing, 9, colours[1])
    cv2.ellipse(frame, ((x, y), (12 * scale, 32 * scale), 0), colours[2], -1, cv2.LINE_AA)
    cv2.circle(frame, (round(x), round(y - 22 * scale)), round(7 * scale), colours[3], -1, cv2.LINE_AA)


def drawn_on_twos(rng: Rng) -> Frames:
    """Flat colours; something new in every second frame only."""
    colours = rng.uniform(0, 255, (4, 3)).tolist()
    sky, frames = rng.uniform(120, 240, 3), []
    for t in range(FRAMES):
        s = t // 2
        frame = np.tile(np.float32(sky), (HEIGHT, WIDTH, 1))
        frame[110:] = (90, 150, 80)
        cv2.circle(frame, (170, 30), 16, (250, 220, 90), -1, cv2.LINE_AA)
        _figure(frame, 0.9 * s, 30 + 9 * s, 90, colours, 1.3)
        _disc(frame, 40 + 8 * abs(s % 6 - 3), 150 - 12 * s, 6, (220, 40, 40))
        frames.append(frame)
    return _exact(frames)


def still(rng: Rng) -> Frames:
    """One picture."""
    return _exact(np.repeat(_wall(rng)[None], FRAMES, axis=0))


def still_filmed(rng: Rng) -> Frames:
    """A camera on its stand before a wall."""
    return _filmed(np.repeat(_wall(rng)[None], FRAMES, axis=0), rng)


def time_lapse(rng: Rng) -> Frames:
    """A street once a minute: other cars and people in every frame, clouds that run."""
    wall, frames = _wall(rng, 4.0), []
    clouds = scenes.texture(60, WIDTH + 30 * FRAMES, seed=int(rng.integers(1 << 30)), finest=6.0)
    for t in range(FRAMES):
        frame = wall.copy()
        frame[:60] = 0.5 * frame[:60] + 0.5 * clouds[:, 25 * t : 25 * t + WIDTH]
        frame *= 1 + 0.05 * np.sin(0.4 * t)
        for _ in range(int(rng.integers(3, 9))):
            x, y = int(rng.integers(0, WIDTH - 24)), int(rng.integers(80, 140))
            cv2.rectangle(frame, (x, y), (x + 22, y + 10), rng.uniform(0, 255, 3).tolist(), -1, cv2.LINE_AA)
        for _ in range(int(rng.integers(2, 9))):
            x, y = int(rng.integers(0, WIDTH)), int(rng.integers(70, 150))
            cv2.ellipse(frame, ((x, y), (4, 11), 0), rng.uniform(0, 120, 3).tolist(), -1, cv2.LINE_AA)
        frames.append(frame)
    return _filmed(frames, rng)


def strobe(rng: Rng) -> Frames:
    """Dancers in light that is switched on and off."""
    frames = crowd(rng).astype(np.float32)
    light = np.where(rng.uniform(size=FRAMES) < 0.4, 0.25, 1.0)
    return _filmed(frames * light[:, None, None, None], rng)


def flashes(rng: Rng) -> Frames:
    """Photographers: a part of the picture lights up for one frame."""
    frames = _gliding(rng, 0.6) * 0.6
    for t in rng.choice(FRAMES, 5, replace=False):
        y, x = rng.uniform(20, HEIGHT - 20), rng.uniform(20, WIDTH - 20)
        far = np.hypot(ROWS - y, COLUMNS - x)
        frames[t] += (230 * np.exp(-((far / 5) ** 2)) + 50 * np.exp(-((far / 60) ** 2)))[..., None]
    return _filmed(frames, rng)


def handheld(rng: Rng) -> Frames:
    """A camera in a trembling hand."""
    big = scenes.texture(HEIGHT + 60, WIDTH + 60, seed=int(rng.integers(1 << 30)), finest=1.5)
    frames, at = [], np.zeros(2)
    for _ in range(FRAMES):
        at = 0.8 * at + rng.normal(0, 3.5, 2)
        turn = cv2.getRotationMatrix2D((WIDTH / 2 + 30, HEIGHT / 2 + 30), float(rng.normal(0, 0.6)), 1)
        turn[:, 2] -= 30 + np.clip(at, -25, 25)
        frame = cv2.warpAffine(big, turn, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC)
        frames.append(cv2.blur(frame, (1 + 2 * (abs(at[0]) > 4), 1)))
    return _filmed(frames, rng)


def rain(rng: Rng) -> Frames:
    """Drops that are seen as streaks, each in a frame or two."""
    wall, frames = _wall(rng, 3.0) * 0.6, []
    for _ in range(FRAMES):
        frame = wall.copy()
        layer = np.zeros((HEIGHT, WIDTH), np.float32)
        for _ in range(int(rng.integers(40, 60))):
            x, y, long = rng.uniform(0, WIDTH), rng.uniform(-20, HEIGHT), rng.uniform(10, 28)
            cv2.line(
                layer,
                (round(x), round(y)),
                (round(x - 0.1 * long), round(y + long)),
                rng.uniform(0.15, 0.5),
                1,
                cv2.LINE_AA,
            )
        frames.append(frame + layer[..., None] * (215 - frame))
    return _filmed(frames, rng)


def snow(rng: Rng) -> Frames:
    """Flakes of all sizes that drift down."""
    wall, n = _wall(rng, 3.0) * 0.5, 120
    place, size = rng.uniform((0, 0), (HEIGHT, WIDTH), (n, 2)), rng.uniform(0.6, 2.6, n)
    frames = []
    for t in range(FRAMES):
        frame = wall.copy()
        for k in range(n):
            y = (place[k, 0] + t * 3.2 * size[k]) % HEIGHT
            x = (place[k, 1] + 5 * np.sin(0.3 * t + k) + t * (k % 5 - 2)) % WIDTH
            cv2.circle(
                frame,
                (round(x * 16), round(y * 16)),
                round(size[k] * 16),
                (235, 238, 240),
                -1,
                cv2.LINE_AA,
                4,
            )
        frames.append(frame)
    return _filmed(frames, rng)


def bicycle(rng: Rng) -> Frames:
    """Someone on a bicycle who passes in 16 frames: spokes, legs, a swinging hand."""
    wall, frames = _wall(rng, 2.5), []
    colours = rng.uniform(0, 255, (5, 3)).tolist()
    for t in range(FRAMES):
        frame, x = wall.copy(), -30 + (WIDTH + 60) * t / (FRAMES - 1)
        for wheel in (-22, 22):
            centre = (round(16 * (x + wheel)), 16 * 120)
            cv2.circle(frame, centre, 16 * 15, (15, 15, 15), 2, cv2.LINE_AA, 4)
            for spoke in range(6):
                a = spoke * np.pi / 3 + 1.1 * t
                end = (round(centre[0] + 230 * np.cos(a)), round(centre[1] + 230 * np.sin(a)))
                cv2.line(frame, centre, end, (190, 190, 190), 1, cv2.LINE_AA, 4)
        for leg in (0, np.pi):
            a = 1.1 * t + leg
            foot = (x + 7 * np.cos(a), 118 + 7 * np.sin(a))
            knee = (x + 8, 98 + 4 * np.sin(a))
            for p, q in (((x - 4, 82), knee), (knee, foot)):
                cv2.line(
                    frame, (round(p[0]), round(p[1])), (round(q[0]), round(q[1])), colours[0], 4, cv2.LINE_AA
                )
        cv2.ellipse(frame, ((x + 2, 66), (14, 34), 20), colours[1], -1, cv2.LINE_AA)
        cv2.circle(frame, (round(x + 9), 42), 8, colours[2], -1, cv2.LINE_AA)
        hand = (round(x + 20 + 4 * np.sin(1.7 * t)), round(76 + 8 * np.cos(1.3 * t)))
        cv2.line(frame, (round(x + 6), 60), hand, colours[2], 3, cv2.LINE_AA)
        cv2.circle(frame, hand, 3, colours[3], -1, cv2.LINE_AA)
        frames.append(frame)
    return _filmed(frames, rng)


def walkers(rng: Rng) -> Frames:
    """Two who run past each other while the camera follows."""
    frames, colours = _gliding(rng, 1.5), rng.uniform(0, 255, (2, 4, 3)).tolist()
    for t in range(FRAMES):
        _figure(frames[t], 1.3 * t, 20 + 11 * t, 84, colours[0], 1.5)
        _figure(frames[t], 1.1 * t, 190 - 10 * t, 96, colours[1], 1.7)
    return _filmed(frames, rng)


def sparks(rng: Rng) -> Frames:
    """Someone welds: short bright streaks from one place, and its glare."""
    wall, frames = _wall(rng) * 0.4, []
    for _ in range(FRAMES):
        frame, glare = wall.copy(), rng.uniform(0.2, 1)
        frame += (200 * glare * np.exp(-np.hypot(ROWS - 110, COLUMNS - 60) / 18))[..., None]
        for _ in range(int(rng.integers(5, 18))):
            angle, far, long = rng.uniform(-1.4, 0.6), rng.uniform(5, 120), rng.uniform(3, 14)
            p, q = (
                (round(60 + r * np.cos(angle)), round(110 + r * np.sin(angle))) for r in (far, far + long)
            )
            cv2.line(frame, p, q, (255, 220, 150), 1, cv2.LINE_AA)
        frames.append(frame)
    return _filmed(frames, rng)


def confetti(rng: Rng) -> Frames:
    """Bits of paper that tumble and flash."""
    wall, n = _wall(rng, 4.0), 60
    place, speed = rng.uniform((-40, 0), (HEIGHT, WIDTH), (n, 2)), rng.normal((4, 0), 2, (n, 2))
    colours = rng.uniform(0, 255, (n, 3))
    frames = []
    for t in range(FRAMES):
        frame = wall.copy()
        for k in range(n):
            y, x = place[k] + t * speed[k]
            face = abs(np.sin(0.9 * t + k))
            box = ((x, y), (5 * face + 0.5, 4), 25.0 * t + 40 * k)
            cv2.fillConvexPoly(
                frame,
                np.int32(16 * cv2.boxPoints(box)),
                (colours[k] * (0.5 + 0.5 * face)).tolist(),
                cv2.LINE_AA,
                4,
            )
        frames.append(frame)
    return _filmed(frames, rng)


def birds(rng: Rng) -> Frames:
    """A flock that beats its wings across a bright sky."""
    sky = 190 + 0.2 * (_wall(rng, 12.0) - 128)
    place, speed = rng.uniform((10, -60), (100, WIDTH - 20), (12, 2)), rng.normal((0, 7), 1.5, (12, 2))
    frames = []
    for t in range(FRAMES):
        frame = sky.copy()
        for k in range(12):
            y, x = place[k] + t * speed[k]
            beat = 5 * np.sin(1.9 * t + k)
            for side in (-6, 6):
                cv2.line(
                    frame,
                    (round(x), round(y)),
                    (round(x + side), round(y - beat)),
                    (40, 40, 45),
                    2,
                    cv2.LINE_AA,
                )
        frames.append(frame)
    return _filmed(frames, rng)


def night_traffic(rng: Rng) -> Frames:
    """Head lights, brake lights and signs that blink in the dark."""
    wall, frames = _wall(rng) * 0.15, []
    lanes = [(rng.uniform(60, 140), rng.uniform(0, WIDTH), rng.uniform(-9, 9)) for _ in range(6)]
    signs = [
        (int(rng.integers(10, 60)), int(rng.integers(10, WIDTH - 10)), int(rng.integers(2, 5)))
        for _ in range(5)
    ]
    for t in range(FRAMES):
        frame = wall.copy()
        for y, x, v in lanes:
            for side in (-5, 5):
                _disc(
                    frame,
                    y,
                    (x + v * t) % WIDTH + side,
                    2,
                    (250, 245, 220) if v > 0 else (220, 30, 20),
                    (0, v),
                )
        for y, x, period in signs:
            if t % period == 0:
                cv2.rectangle(frame, (x, y), (x + 7, y + 4), (40, 230, 90), -1)
        frames.append(frame)
    return _filmed(frames, rng)


def flag(rng: Rng) -> Frames:
    """Cloth with stripes that waves."""
    cloth = np.zeros((HEIGHT, WIDTH, 3), np.float32)
    for k in range(0, WIDTH, 16):
        cloth[:, k : k + 16] = rng.uniform(20, 240, 3)
    frames = []
    for t in range(FRAMES):
        wave = 0.09 * COLUMNS - 0.9 * t + 0.02 * ROWS
        cover = _bent(cloth, COLUMNS + 5 * np.sin(wave), ROWS + 7 * np.cos(wave))
        frames.append(cover * (0.85 + 0.15 * np.cos(wave))[..., None])
    return _filmed(frames, rng)


def game(rng: Rng) -> Frames:
    """Sprites of a few colours: shots that live for a frame or two, blinking lives, scrolling ground."""
    ground, frames = rng.integers(0, 2, WIDTH + 4 * FRAMES), []
    foes = rng.integers((10, 20), (90, WIDTH - 20), (8, 2))
    for t in range(FRAMES):
        frame = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        frame[140:] = np.where(ground[4 * t : 4 * t + WIDTH], 180, 90)[None, :, None]
        for k, (y, x) in enumerate(foes):
            x = x + 3 * ((t // 2) % 6 - 3)
            frame[y : y + 8, x : x + 10] = (200, 60 + 20 * k, 60)
            frame[y + 2 + t % 2 : y + 4 + t % 2, x + 2 : x + 4] = 0
            if (t + k) % 5 == 0:
                frame[y + 10 : y + 18, x + 4 : x + 6] = (255, 255, 80)
        if t % 4 < 2:
            frame[4:10, 4:40:8] = (80, 255, 80)
        frames.append(frame)
    return _exact(frames)


def clock(rng: Rng) -> Frames:
    """A clock whose second hand ticks, a lamp that blinks; all else stands."""
    wall, frames = _wall(rng, 5.0), []
    for t in range(FRAMES):
        frame = wall.copy()
        cv2.circle(frame, (90, 80), 50, (240, 240, 235), -1, cv2.LINE_AA)
        for long, turn, wide in ((26, 1.0, 4), (40, 2.2, 3), (44, 2 * np.pi * (t // 3) / 60, 1)):
            end = (round(90 + long * np.sin(turn)), round(80 - long * np.cos(turn)))
            cv2.line(frame, (90, 80), end, (20, 20, 20), wide, cv2.LINE_AA)
        if t in (3, 4, 9):
            _disc(frame, 30, 180, 4, (255, 40, 30))
        frames.append(frame)
    return _filmed(frames, rng)


def slides(rng: Rng) -> Frames:
    """Pictures that follow each other at once, five frames each."""
    shown = [_wall(rng) for _ in range(0, FRAMES, 5)]
    return _exact(np.stack([shown[k // 5] for k in range(FRAMES)]))


def glitter(rng: Rng) -> Frames:
    """A dress with sequins that flash as it sways."""
    n = 250
    place, phase = rng.uniform((20, 50), (140, 160), (n, 2)), rng.uniform(0, 2 * np.pi, n)
    wall, frames = _wall(rng, 5.0) * 0.5, []
    for t in range(FRAMES):
        frame = wall.copy()
        sway = 6 * np.sin(0.5 * t)
        cv2.ellipse(frame, ((105 + sway, 80), (110, 140), 0), (60, 20, 70), -1, cv2.LINE_AA)
        for k in range(n):
            shine = max(0.0, np.cos(1.7 * t + phase[k])) ** 12
            if shine > 0.05:
                _spot(frame, place[k, 0], place[k, 1] + sway, shine)
        frames.append(frame)
    return _filmed(frames, rng)


def _spot(frame: Picture, y: float, x: float, shine: float) -> None:
    row, column = round(y), round(x)
    frame[row : row + 2, column : column + 2] += 200 * shine


def bubbles(rng: Rng) -> Frames:
    """Bubbles that rise, grow and burst."""
    wall, frames = _wall(rng, 6.0), []
    born, place = rng.integers(-8, FRAMES, 25), rng.uniform((40, 10), (HEIGHT + 20, WIDTH - 10), (25, 2))
    for t in range(FRAMES):
        frame = wall.copy()
        for k in range(25):
            age = t - born[k]
            if 0 <= age < 8:
                y, x = place[k, 0] - 7 * age, place[k, 1] + 2 * np.sin(age + k)
                cv2.circle(
                    frame,
                    (round(x * 16), round(y * 16)),
                    round(16 * (2 + age)),
                    (235, 240, 245),
                    1,
                    cv2.LINE_AA,
                    4,
                )
                _disc(frame, y - 1, x - 1, 1.2, (255, 255, 255))
        frames.append(frame)
    return _filmed(frames, rng)


def smoke(rng: Rng) -> Frames:
    """Smoke that drifts before a gliding wall, and a ball that flies through it."""
    frames = _gliding(rng, 0.8)
    puff = _noise_field(rng, 1, 9.0, HEIGHT + 5 * FRAMES)[0]
    for t in range(FRAMES):
        cover = np.clip(0.4 + 0.3 * puff[5 * t : 5 * t + HEIGHT], 0, 0.9)[..., None]
        _disc(frames[t], 120 - 16 * t + 0.9 * t * t, 10 + 13 * t, 5, (230, 120, 20), (-14, 13))
        frames[t] = (1 - cover) * frames[t] + cover * 190
    return _filmed(frames, rng)


def tennis(rng: Rng) -> Frames:
    """A ball so fast that it is far off in the next frame, over a court with lines."""
    court = np.tile(np.float32((60, 110, 70)), (HEIGHT, WIDTH, 1)) + 0.1 * (_wall(rng) - 128)
    for x in (30, 104, 178):
        cv2.line(court, (x, 30), (x, 140), (230, 230, 230), 2, cv2.LINE_AA)
    colours, frames = rng.uniform(0, 255, (2, 4, 3)).tolist(), []
    for t in range(FRAMES):
        frame = court.copy()
        _figure(frame, t, 40 + 5 * np.sin(0.6 * t), 100, colours[0], 1.2)
        _figure(frame, 1.2 * t, 165 - 4 * np.cos(0.5 * t), 60, colours[1], 0.8)
        place = 45 + 115 * abs((t * 0.27) % 2 - 1)
        _disc(frame, 90 - 0.3 * place, place, 2.2, (220, 240, 60), (4, 28))
        frames.append(frame)
    return _filmed(frames, rng)


SCENES: tuple[Callable[[Rng], Frames], ...] = (
    balls, water, fire, fireworks, foliage, crowd, credits, title, subtitles, typing, pointer, scrolling,
    drawn_on_twos, still, still_filmed, time_lapse, strobe, flashes, handheld, rain, snow, bicycle, walkers, sparks,
    confetti, birds, night_traffic, flag, game, clock, slides, glitter, bubbles, smoke, tennis,
)  # fmt: skip
