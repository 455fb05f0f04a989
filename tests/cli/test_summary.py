"""Records in words."""

from __future__ import annotations

from typing import Any

from videorestore.cli.summary import rate_in_words, summary
from videorestore.report.advice import findings
from videorestore.report.words import tiles


def record(**more: Any) -> dict[str, Any]:
    frames = [{"index": k, "time_s": k / 25, "origin": "filled" if k == 3 else "kept"} for k in range(8)]
    base = {"verb": "fill", "input": "in.mkv", "output": "out.mkv", "width": 101, "height": 76, "fps": "25/1"}
    return {**base, "duration_s": 0.32, "frames": frames, "elapsed_s": 3.2, "peak_memory_mb": 410, **more}


def test_what_was_written() -> None:
    frames = record()["frames"]
    frames[3]["notes"] = ["cut: the nearer frame is repeated"]
    full = record(
        frames=frames,
        model="curve",
        noise_sd=12.34,
        plan=["fill: 1 frame is black"],
        self_test={"hidden": 12, "psnr": 38.1, "coverage95": 0.947, "curve_psnr": 38.1, "motion_psnr": 33.0},
        inserted=[{"after": 49, "count": 5, "probability": 0.93}],
        refused=["c.png"],
        cuts=[5],
        notes=["7 frames were coded anew"],
    )
    text = summary("fill", full)
    assert text.splitlines()[0] == "out.mkv: 8 frames, 0.320 s, 25 fps, 101 x 76"
    for part in (
        "7 kept, 1 filled",
        "model      curve",
        "sd 12.3 of 255",
        "38.1 dB on 12 hidden frames, 94.7% within the 95 % interval",
        "5 after frame 49 (probability 0.93)",
        "refused    c.png",
        "fill: 1 frame is black",
        "410 MB at most",
        "note       7 frames were coded anew",
    ):
        assert part in text, part
    assert "nearer frame" not in text and "nearer frame" in summary("fill", full, verbose=1)


def test_a_bare_record_is_no_stumbling_block() -> None:
    for verb in ("restore", "denoise", "fill", "inpaint", "upsample", "reorder"):
        assert summary(verb, {"verb": verb}).endswith("\n")
    assert summary("inspect", {"verb": "inspect", "input": "a"}).endswith("nothing wrong was found\n")


def test_a_dry_run() -> None:
    text = summary(
        "restore",
        record(
            dry_run=True,
            plan=["denoise: sd 12.0 of 255"],
            n_frames=200,
            pieces=4,
            estimate={"time_s": 75, "memory_mb": 512.3, "disk_mb": 80.1},
        ),
    )
    assert "denoise: sd 12.0 of 255" in text and "about 1:15" in text
    assert "up to 512 MB" in text and "about 80 MB" in text and "in 4 pieces" in text


def test_a_comparison_names_the_worst_frames() -> None:
    frames = [{"index": k, "time_s": k / 25, "psnr": 40.0 - k, "ssim": 0.9} for k in range(9)]
    told = {"psnr": 35.5, "ssim": 0.91234, "identical": False, "frames": frames, "only_b": [3, 4, 5]}
    lines = summary("compare", told).splitlines()
    assert lines[0] == "PSNR 35.50 dB (RGB), SSIM 0.9123 (luma), 9 pairs of frames"
    assert lines[1] == "  only in B: 3 frames (3-5)"
    assert [int(line.split()[0]) for line in lines[3:]] == [8, 7, 6, 5, 4]
    assert len(summary("compare", told, verbose=1).splitlines()) == 3 + 9


def test_an_inspection() -> None:
    told = {
        "input": "film.mp4", "n_frames": 1, "fps": "30000/1001", "vfr": True, "duration_s": 2.0, "width": 320,
        "height": 568, "depth": 10, "pix_fmt": "yuv420p10le", "rotation": 90, "sar": "12:11", "matrix": "bt709",
        "range": "unknown", "container": "mov", "stream": 3,
        "streams": [
            {"index": 0, "type": "video", "codec": "h264", "width": 10, "height": 20, "fps": "25"},
            {"index": 3, "type": "video", "codec": "h264", "width": 10, "height": 20},
            {"index": 1, "type": "audio", "codec": "aac", "sample_rate": 48000, "channels": 1, "language": "eng"},
        ],
        "summary": [{"what": "noise", "sure": "between 1 and 2", "run": "videorestore denoise"}],
    }  # fmt: skip
    text = summary("inspect", told)
    for part in (
        "1 frame decoded, 2.000 s, 29.97 fps, variable",
        "10 bit, yuv420p10le, turned by 90 degrees in the file, upright here, sample aspect ratio 12:11",
        "matrix bt709\n",
        "3: h264, 10 x 20 (this one is read)",
        "1: aac, 48000 Hz, 1 channel, eng",
        "noise (between 1 and 2)\n      videorestore denoise\n",
    ):
        assert part in text, part


def test_rates() -> None:
    assert rate_in_words("24000/1001") == "23.976 fps" and rate_in_words(None) == "no frame rate"


def test_the_noise_of_one_shot_is_told_although_most_frames_have_none() -> None:
    shots = [{"sd": 0.05, "trustworthy": True}, {"sd": 11.9, "trustworthy": True}]
    found = record(noise_sd=0.05, noise=shots, n_frames=100)
    assert "sd 0.05 to 11.9 of 255 in 2 shots" in summary("fill", found)
    (finding,) = (entry for entry in findings(found) if "noise" in entry["what"])
    assert finding["what"] == "noise of sd 0.05 to 11.9 (of 255) in 2 shots"
    assert "none to be seen" not in summary("inspect", found)


def test_a_clip_without_noise_says_so_instead_of_a_doubtful_zero() -> None:
    clean = [{"start": 0, "stop": 3, "sd": 0.0, "trustworthy": False}]
    told = summary("restore", record(noise_sd=0.0, noise=clean))
    assert "noise      none to be seen" in told and "unsure" not in told
    assumed = record(noise_sd=6.0, noise=clean, noise_measured=0.0)
    assert "sd 6 of 255, assumed: a codec hides a part, 0 was measured" in summary("denoise", assumed)
    assert ("noise", "none", "to be seen") in tiles(record(noise_sd=0.0, noise=clean))


def test_one_hidden_frame_is_no_frames() -> None:
    told = summary("fill", record(self_test={"hidden": 1, "psnr": 28.0}))
    assert "28.0 dB on 1 hidden frame" in told and "1 hidden frames" not in told
