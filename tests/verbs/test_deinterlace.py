"""``deinterlace``: lines of fields stay, film comes back bit for bit, progressive frames are left in peace."""

from __future__ import annotations

import subprocess
from fractions import Fraction

import cv2
import numpy as np
import pytest

import videorestore as vr
from videorestore.media.pipe import ffmpeg

HEIGHT, WIDTH = 64, 80


def scene(count: int) -> np.ndarray:
    """A texture ``(count, h, w, 1)`` that moves on a slanted way."""
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.uniform(0, 255, (2 * HEIGHT, 3 * WIDTH)).astype(np.float32), (0, 0), 1.8)
    base = np.clip((base - base.mean()) * 4 + 128, 0, 255)
    moved = [
        cv2.warpAffine(base, np.float32([[1, 0, -1.7 * k], [0, 1, -0.6 * k]]), (WIDTH, HEIGHT))
        for k in range(count)
    ]
    return np.rint(np.stack(moved)).astype(np.uint8)[..., None]


def interlaced(pictures: np.ndarray, lead: int) -> np.ndarray:
    """Frames of two fields; ``lead`` is the parity of the first."""
    frames = pictures[0::2].copy()
    frames[:, 1 - lead :: 2] = pictures[1::2][:, 1 - lead :: 2]
    return frames


def psnr(one: np.ndarray, two: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.square(one.astype(float) - two).mean()))


@pytest.mark.parametrize(("lead", "order"), [(0, "tff"), (1, "bff")])
def test_every_field_becomes_a_frame(lead: int, order: str) -> None:
    pictures = scene(20)
    done = vr.deinterlace(interlaced(pictures, lead), quality="fast", input_fps=25)
    assert done.record["fields"]["kind"] == "interlaced" and done.record["fields"]["order"] == order
    assert len(done.clip) == 20 and done.clip.info.fps == 50
    assert [float(t) for t in done.clip.times[:3]] == [0.0, 0.02, 0.04]
    for k, frame in enumerate(done.clip.frames):
        own = (k + lead) % 2
        assert np.array_equal(frame[own::2], pictures[k][own::2])
        if 2 <= k < 18:
            missing = pictures[k][1 - own :: 2]
            linear = cv2.resize(pictures[k][own::2, :, 0], (WIDTH, HEIGHT))[1 - own :: 2]
            assert psnr(frame[1 - own :: 2], missing) > psnr(linear[..., None], missing) + 3
    assert done.sd is not None and done.sd[4][lead::2].max() == 0 and done.sd[4][1 - lead :: 2].min() > 0


def test_rate_frame_keeps_the_number_of_frames() -> None:
    pictures = scene(12)
    done = vr.deinterlace(interlaced(pictures, 0), quality="fast", rate="frame", order="tff")
    assert len(done.clip) == 6
    assert all(np.array_equal(done.clip.frames[k][::2], pictures[2 * k][::2]) for k in range(6))


def telecined(pictures: np.ndarray) -> list[np.ndarray]:
    frames = []
    for k in range(0, len(pictures) - 3, 4):
        a, b, c, d = pictures[k : k + 4]
        for top, bottom in ((a, a), (b, b), (b, c), (c, d), (d, d)):
            frame = top.copy()
            frame[1::2] = bottom[1::2]
            frames.append(frame)
    return frames


def test_pulldown_is_undone_bit_for_bit() -> None:
    pictures = scene(24)
    done = vr.deinterlace(np.stack(telecined(pictures)), input_fps=Fraction(30000, 1001))
    assert done.record["fields"]["kind"] == "telecined"
    assert np.array_equal(done.clip.frames, pictures)
    assert done.clip.info.fps == Fraction(24000, 1001)
    assert {f["origin"] for f in done.record["frames"]} == {"kept"}


def test_pulldown_with_broken_rhythm() -> None:
    pictures = scene(48)
    frames = telecined(pictures)
    cut = frames[:16] + frames[20:38] + frames[41:]
    done = vr.deinterlace(np.stack(cut), input_fps=30)
    keys = {p.tobytes(): k for k, p in enumerate(pictures)}
    found = [keys.get(f.tobytes()) for f in done.clip.frames]
    assert None not in found and found == sorted(set(found))
    # Gone are only pictures of which an edit took a field.
    whole = [
        k for k, p in enumerate(pictures)
        if any(np.array_equal(f[::2], p[::2]) for f in cut) and any(np.array_equal(f[1::2], p[1::2]) for f in cut)
    ]  # fmt: skip
    assert len(set(whole) - set(found)) <= 2


def test_progressive_frames_stay() -> None:
    pictures = scene(12)
    pictures[:, 10:40:2, 10:60] = 255
    done = vr.deinterlace(pictures)
    assert np.array_equal(done.clip.frames, pictures)
    assert {f["origin"] for f in done.record["frames"]} == {"kept"}


def test_a_file_keeps_sound_shape_and_duration(tmp_path) -> None:
    pictures = scene(16)[..., 0]
    raw = b"".join(p.tobytes() + bytes([128]) * (HEIGHT * WIDTH // 2) for p in pictures)
    source, output = tmp_path / "tape.mkv", tmp_path / "out.mkv"
    subprocess.run(
        [
            ffmpeg(), "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{WIDTH}x{HEIGHT}", "-r", "50",
            "-i", "-", "-f", "lavfi", "-i", "sine=440:r=48000:d=0.32", "-vf", "tinterlace=interleave_bottom,setsar=16/15",
            "-c:v", "ffv1", "-c:a", "flac", str(source),
        ],
        input=raw, check=True,
    )  # fmt: skip
    record = vr.deinterlace(source, str(output), codec="ffv1", quality="fast", jobs=1).record
    facts = vr.inspect(output).record
    assert record["fields"]["order"] == "bff" and len(record["frames"]) == 16
    assert facts["fps"] == "50" or Fraction(facts["fps"]) == 50
    assert facts["duration_s"] == pytest.approx(0.32) and facts["sar"] == "16:15" and not facts["interlaced"]
    assert any(s["type"] == "audio" for s in facts["streams"])
    frames = vr.read(output).frames
    before = vr.read(source).frames
    assert np.array_equal(frames[0][1::2], before[0][1::2]) and np.array_equal(frames[1][::2], before[0][::2])


def noisy_tape(pictures: np.ndarray, sd: float) -> np.ndarray:
    rng = np.random.default_rng(5)
    frames = interlaced(pictures, 0).astype(np.float32)
    return np.clip(np.rint(frames + rng.normal(0, sd, frames.shape)), 0, 255).astype(np.uint8)


def test_denoising_leaves_interlaced_video_interlaced() -> None:
    pictures = scene(32)
    clean, noisy = interlaced(pictures, 0), noisy_tape(pictures, 12)
    done = vr.denoise(noisy, sigma=12, quality="fast", model="motion", deinterlace="off")
    assert done.record["fields"]["kind"] == "interlaced"
    assert done.clip.info.extra["field_order"] == "tff"
    assert done.clip.frames.shape == noisy.shape
    assert psnr(done.clip.frames, clean) > psnr(noisy, clean) + 3


def test_restore_makes_clean_whole_frames_of_noisy_fields() -> None:
    pictures = scene(32)
    noisy = noisy_tape(pictures, 12)
    done = vr.restore(noisy, quality="fast", mend="off", deflicker="off", model="motion", input_fps=25)
    assert len(done.clip) == 32 and done.clip.info.fps == 50
    alone = vr.deinterlace(noisy, quality="fast", order="tff")
    assert psnr(done.clip.frames[4:-4], pictures[4:-4]) > psnr(alone.clip.frames[4:-4], pictures[4:-4]) + 2
    kept = vr.restore(noisy, quality="fast", mend="off", deflicker="off", model="motion", deinterlace="off")
    assert kept.clip.frames.shape == noisy.shape


def test_upsample_says_what_to_do_first() -> None:
    with pytest.raises(vr.VideoRestoreError, match="deinterlace first"):
        vr.upsample(interlaced(scene(20), 0), factor=2)


def test_noise_is_removed_from_whole_frames() -> None:
    pictures = scene(32)
    options = {"quality": "fast", "mend": "off", "deflicker": "off", "model": "motion", "input_fps": 25}
    done = vr.restore(noisy_tape(pictures, 20), **options)
    # The lines that a field has are cleaned as well as those that it lacks.
    own, made = (
        np.mean([np.square(done.clip.frames[k][q::2].astype(float) - pictures[k][q::2]).mean() for k in range(4, 28)
                 for q in [(k + side) % 2]]) for side in (0, 1)
    )  # fmt: skip
    assert made < 1.15 * own
    assert {f["origin"] for f in done.record["frames"]} == {"denoised"}
    assert not done.clip.info.extra.get("interlaced")
    assert [f["source"] for f in done.record["frames"]] == [k // 2 for k in range(32)]


def test_restore_undoes_pulldown_by_itself() -> None:
    pictures = scene(40)
    done = vr.restore(np.stack(telecined(pictures)), input_fps=Fraction(30000, 1001))
    assert np.array_equal(done.clip.frames, pictures)
    assert done.clip.info.fps == Fraction(24000, 1001)
    assert done.record["fields"]["kind"] == "telecined"
    left = vr.restore(np.stack(telecined(pictures)), input_fps=30, deinterlace="off")
    assert np.array_equal(left.clip.frames, np.stack(telecined(pictures)))


def test_restore_of_part_of_a_telecined_file(tmp_path) -> None:
    pictures = scene(40)
    source = tmp_path / "film.mkv"
    vr.write(np.stack(telecined(pictures)), source, codec="ffv1")
    done = vr.restore(source, str(tmp_path / "out.mkv"), codec="ffv1", range="5:30", jobs=1)
    assert len(done.record["frames"]) == 20
    assert np.array_equal(vr.read(tmp_path / "out.mkv").frames, pictures[4:24])
