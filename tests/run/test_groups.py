"""Where little changes, groups of pictures of the source are copied and only those with a change are coded."""

import subprocess
from collections import Counter

import av
import numpy as np
import pytest

import videorestore as vr
from videorestore.errors import MediaWriteError
from videorestore.media.groups import Groups
from videorestore.media.pipe import ffmpeg
from videorestore.media.reels import Reel, _number
from videorestore.plan import layout
from videorestore.run import film

FRAMES, GROUP, BLACK = 36, 6, 14
X264 = ["-c:v", "libx264", "-g", str(GROUP), "-x264-params"]
X265 = ["-c:v", "libx265", "-x265-params", f"log-level=none:keyint={GROUP}:min-keyint={GROUP}:scenecut=0"]
KINDS = {
    "b.mp4": [*X264, "bframes=2:scenecut=0"],
    "b.mkv": [*X264, "bframes=2:scenecut=0"],
    "plain.mp4": ["-c:v", "libx264", "-g", str(GROUP), "-profile:v", "baseline", "-sc_threshold", "0"],
    "open.mp4": [*X264, "bframes=2:scenecut=0:open-gop=1"],
    "hevc.mkv": [*X265[:-1], X265[-1] + ":open-gop=0"],
    "hevc.mp4": [*X265[:-1], X265[-1] + ":open-gop=0"],
    "jpeg.avi": ["-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-q:v", "3"],
    "studio.avi": ["-c:v", "mjpeg", "-q:v", "3", "-strict", "unofficial"],
    "mpeg4.avi": ["-c:v", "mpeg4", "-g", str(GROUP), "-sc_threshold", "1000000000", "-q:v", "3"],
    "intra.mov": ["-c:v", "libx264", "-g", "1"],
    "prores.mov": ["-c:v", "prores_ks", "-profile:v", "2"],
    "deep.mp4": ["-pix_fmt", "yuv420p10le", *X264, "bframes=2:scenecut=0"],
    "vp9.webm": ["-c:v", "libvpx-vp9", "-g", str(GROUP), "-deadline", "realtime"],
    "lossless.avi": ["-c:v", "huffyuv", "-pix_fmt", "yuv422p"],
}


@pytest.fixture
def made(tmp_path):
    def make(name):
        picture = f"testsrc2=size=64x48:rate=25:duration={FRAMES / 25}"
        black = f"drawbox=enable='eq(n,{BLACK})':color=black:t=fill"
        words = KINDS[name] if "-pix_fmt" in KINDS[name] else ["-pix_fmt", "yuv420p", *KINDS[name]]
        command = [ffmpeg(), "-v", "error", "-y", "-f", "lavfi", "-i", picture, "-vf", black, *words]
        subprocess.run([*command, str(tmp_path / name)], check=True)
        return tmp_path / name

    return make


def frames(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray() for frame in container.decode(video=0)]


def codec(path):
    with av.open(str(path)) as container:
        return container.streams.video[0].codec_context.name


def filled(path, output, **more):
    return vr.fill(path, str(output), missing=str(BLACK), model="motion", jobs=1, **more).record


def same(path, output):
    return [
        k for k, (a, b) in enumerate(zip(frames(path), frames(output), strict=True)) if np.array_equal(a, b)
    ]


def called(record, word):
    return [frame["index"] for frame in record["frames"] if frame["origin"] == word]


OTHER_GROUPS = [k for k in range(FRAMES) if k // GROUP != BLACK // GROUP]
OTHERS = [k for k in range(FRAMES) if k != BLACK]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("b.mp4", OTHER_GROUPS),
        ("b.mkv", OTHER_GROUPS),
        ("plain.mp4", OTHER_GROUPS),
        ("hevc.mkv", OTHER_GROUPS),
        ("deep.mp4", OTHER_GROUPS),
        ("vp9.webm", OTHER_GROUPS),
        ("mpeg4.avi", OTHER_GROUPS),
        ("jpeg.avi", OTHERS),
        ("studio.avi", OTHERS),
        ("intra.mov", OTHERS),
        ("prores.mov", OTHERS),
        ("lossless.avi", OTHERS),
    ],
)
def test_groups_without_a_change_are_those_of_the_source(made, tmp_path, name, kept):
    path, output = made(name), tmp_path / f"out{name[name.index('.') :]}"
    record = filled(path, output)
    found = called(record, "kept")
    assert same(path, output) == found
    # Within the group of the change the pictures before it can stay, those behind it cannot.
    assert {*kept} <= {*found} <= {*kept, *range(BLACK)}
    assert called(record, "filled") == [BLACK]
    assert codec(path) == codec(output)


def test_what_follows_a_change_is_coded_anew_where_groups_need_each_other(made, tmp_path):
    path, output = made("open.mp4"), tmp_path / "out.mp4"
    kept = called(filled(path, output), "kept")
    assert same(path, output) == kept == [*range(len(kept))] and BLACK - 4 < len(kept) <= BLACK


def test_groups_that_cannot_be_described_are_coded_anew(made, tmp_path):
    path, output = made("hevc.mp4"), tmp_path / "out.mp4"
    record = filled(path, output)
    assert Counter(frame["origin"] for frame in record["frames"]) == {"recoded": FRAMES - 1, "filled": 1}
    assert any("coded anew" in note for note in record["notes"])


def test_what_is_asked_for_is_done(made, tmp_path):
    record = filled(made("b.mp4"), tmp_path / "out.mp4", crf=20)
    assert not called(record, "kept")


def test_a_range_has_the_whole_groups_within_it(made, tmp_path):
    path, output = made("b.mp4"), tmp_path / "out.mp4"
    record = filled(path, output, range="3:33")
    kept = {frame["source"] for frame in record["frames"] if frame["origin"] == "kept"}
    assert {*range(6, 12), *range(18, 30)} <= kept <= {*range(6, BLACK), *range(18, 33)}
    before, after = frames(path)[3:33], frames(output)
    assert all(np.array_equal(before[k], after[k]) for k in called(record, "kept")) and len(after) == 30


def test_new_frames_between_old_ones_leave_the_other_groups(made, tmp_path):
    path, output = made("b.mp4"), tmp_path / "out.mp4"
    record = vr.fill(path, str(output), missing=str(BLACK), insert="2@20", model="motion", jobs=1).record
    kept = called(record, "kept")
    before, after = frames(path), frames(output)
    assert len(after) == FRAMES + 2
    assert {*range(12), *range(26, 38)} <= {*kept} <= {*range(BLACK), *range(18, 21), *range(26, 38)}
    assert all(np.array_equal(before[record["frames"][k]["source"]], after[k]) for k in kept)


def test_what_is_before_a_new_frame_stays_up_to_it(made, tmp_path):
    path, output = made("plain.mp4"), tmp_path / "out.mp4"
    assert called(filled(path, output, insert="2@32"), "kept") == [*range(BLACK), *range(18, 33)]


def test_copies_that_do_not_decode_to_the_source_are_not_handed_over(made, tmp_path, monkeypatch):
    def unlike(self, path):
        raise MediaWriteError("copied frames must decode to those of the source, they do not")

    monkeypatch.setattr(Groups, "verify", unlike)
    path, output = made("b.mp4"), tmp_path / "out.mp4"
    record = filled(path, output)
    assert not called(record, "kept") and not same(path, output)
    assert any("could not be copied" in note for note in record["notes"])


@pytest.mark.parametrize("name", ["b.mp4", "hevc.mkv"])
def test_a_wrong_picture_among_the_copied_is_seen(made, tmp_path, name):
    path, output = made(name), tmp_path / f"out{name[name.index('.') :]}"
    filled(path, output)
    with vr.media.open_source(path) as source:
        index, stream = source.index(), source.stream
    right = [k if k in OTHER_GROUPS else None for k in range(FRAMES)]
    wrong = [3 if k == 20 else own for k, own in enumerate(right)]
    for kept in (right, wrong):
        groups = Groups(path=str(path), stream=stream, index=index, kept=tuple(kept), copied={*OTHER_GROUPS})
        if kept is right:
            groups.verify(str(output))
        else:
            with pytest.raises(MediaWriteError, match="must decode to those"):
                groups.verify(str(output))


def test_pieces_and_an_interruption_do_not_matter(made, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOTION_CORE", 4)
    path = made("b.mp4")
    record = filled(path, tmp_path / "whole.mp4")
    assert {*OTHER_GROUPS} <= {*called(record, "kept")}
    join = film.join_segments

    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(film, "join_segments", interrupted)
    with pytest.raises(KeyboardInterrupt):
        filled(path, tmp_path / "again.mp4")
    monkeypatch.setattr(film, "join_segments", join)
    filled(path, tmp_path / "again.mp4")
    assert (tmp_path / "again.mp4").read_bytes() == (tmp_path / "whole.mp4").read_bytes()


def test_a_group_opens_where_nothing_before_is_needed(made):
    assert Reel(str(made("b.mp4"))).opens == {*range(0, FRAMES, GROUP)}
    assert Reel(str(made("open.mp4"))).opens == {0}
    plain = Reel(str(made("plain.mp4")))
    assert plain.closes == {*range(FRAMES + 1)} and plain.opens == {*range(0, FRAMES, GROUP)}


@pytest.mark.parametrize(("bits", "number"), [(0b1 << 7, 0), (0b010 << 5, 1), (0b00101 << 3, 4)])
def test_numbers_as_h264_writes_them(bits, number):
    assert _number(bytes([bits, 0xFF])) == number


def test_a_quiet_shot_stays_beside_a_noisy_one(tmp_path):
    """Most of the film is denoised; the groups of the shot that needs nothing are the source's all the same."""
    rng = np.random.default_rng(3)
    path, output = tmp_path / "two.mp4", tmp_path / "out.mp4"
    across = np.arange(64)[None, :, None] * 2.0 + np.arange(48)[:, None, None]
    shots = [120 + 60 * np.sin((across + 3 * k) / 9) + rng.normal(0, 20, (48, 64, 3)) for k in range(24)]
    shots += [40 + np.round(across + k) % 150 + np.zeros(3) for k in range(12)]
    raw = np.clip(np.stack(shots), 0, 255).round().astype(np.uint8).tobytes()
    words = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        "64x48",
        "-r",
        "25",
        "-i",
        "-",
        "-pix_fmt",
        "yuv420p",
    ]
    coding = [*X264[:2], "-crf", "10", "-x264-params", "keyint=12:min-keyint=12:scenecut=0"]
    subprocess.run([ffmpeg(), "-v", "error", *words, *coding, str(path)], input=raw, check=True)
    record = vr.restore(
        path, str(output), fill="off", mend="off", deinterlace="off", deflicker="off", jobs=1
    ).record
    assert called(record, "denoised") == [*range(24)]
    assert called(record, "kept") == same(path, output) == [*range(24, 36)]
