"""The page: what it holds, how heavy it is, and that a browser shows it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from videorestore.errors import OutputExistsError
from videorestore.report import figures, page, pictures
from videorestore.report.page import PageBuilder

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)


def picture(seed: int, size: tuple[int, int] = (36, 48)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)


def record(n: int, **more: Any) -> dict[str, Any]:
    origins = ["kept"] * n
    if n > 6:
        origins[3], origins[4], origins[5] = "denoised", "filled", "interpolated"
    frames = [
        {"index": k, "time_s": k / 25, "origin": origin, "source": k, "x": k / n, "sd": 2.0}
        for k, origin in enumerate(origins)
    ]
    base = {
        "version": "0.1.0",
        "verb": "fill",
        "input": "a <b> & c.mkv",
        "output": "out.mkv",
        "width": 48,
        "height": 36,
    }
    return {**base, "fps": "25/1", "duration_s": n / 25, "frames": frames, "cuts": [2], **more}


def filled(n: int = 8) -> tuple[PageBuilder, dict[str, Any]]:
    builder, story = PageBuilder(), record(n)
    for fact in story["frames"]:
        k, origin = fact["index"], fact["origin"]
        after = picture(k)
        before = {"kept": after, "interpolated": None}.get(origin, picture(k + 1000))
        sd = None if origin == "kept" else np.full((36, 48, 3), 3.0, np.float32)
        crops = [None if whole is None else whole[8:28, 6:26] for whole in (before, after)]
        builder.add_picture(k, after=after, before=before, sd=sd, origin=origin, loupe=(*crops, (6, 8)))
    return builder, story


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    return dict(json.loads(found[1]))


def test_every_frame_and_its_story_is_on_the_page() -> None:
    builder, story = filled()
    text = builder.render(story)
    shown = data_of(text)["frames"]
    assert [frame["index"] for frame in shown] == list(range(8))
    assert shown[0]["same"] and "before" not in shown[0] and "change_map" not in shown[0]
    assert shown[3]["before"].startswith("data:image/jpeg;base64,") and "change_map" in shown[3]
    assert "change_map" not in shown[4] and "sd_map" in shown[4]
    assert "before" not in shown[5] and not shown[5]["same"]
    assert not re.search(r"\{\{\w+\}\}", text)


def test_nothing_comes_from_elsewhere() -> None:
    builder, story = filled()
    text = builder.render(story)
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text)


def test_names_cannot_break_out() -> None:
    builder, _ = filled()
    story = record(8, input="</script><b>x.mkv", losses=["<i>lost</i>"])
    story["frames"][3]["notes"] = ["</script><script>alert(1)</script>"]
    text = builder.render(story)
    assert (
        "<b>x" not in text
        and "<i>lost" not in text
        and "alert(1)</script>" not in text.replace("<\\/script>", "")
    )
    assert data_of(text)["frames"][3]["notes"] == ["</script><script>alert(1)</script>"]


def test_the_record_is_on_the_page() -> None:
    builder, story = filled()
    found = re.search(r"<pre[^>]*>(.*?)</pre>", builder.render(story), re.S)
    assert found and json.loads(html.unescape(found[1])) == story


def test_a_long_clip_is_sampled_and_made_frames_are_preferred() -> None:
    builder = PageBuilder()
    for k in range(5000):
        origin = "filled" if 2000 <= k < 2004 else "kept"
        if builder.wants(k, origin):
            builder.add_picture(k, after=picture(k, (8, 8)), origin=origin)
    shown = {kept.index for kept in builder._kept.values()}
    assert page.MOST_LISTED / 2 <= len(shown) <= 2 * page.MOST_LISTED
    assert {2000, 2001, 2002, 2003} <= shown
    gaps = np.diff(sorted(shown - {2000, 2001, 2002, 2003}))
    assert gaps.max() <= 2 * gaps.min()


def test_heavy_pictures_stay_under_15_mb(tmp_path: Path) -> None:
    builder, story = PageBuilder(), record(120)
    sd = np.random.default_rng(1).random((540, 960)).astype(np.float32)
    noise = picture(0, (540, 960))
    for k in range(120):
        origin = "filled" if k % 2 else "denoised"
        if builder.wants(k, origin):
            builder.add_picture(k, after=noise, before=np.roll(noise, 3), sd=sd, origin=origin)
    builder.write(tmp_path / "page.html", story)
    assert 1_000_000 < (tmp_path / "page.html").stat().st_size < 15_000_000
    assert len(builder) >= 5


def test_a_long_record_is_trimmed_and_says_so() -> None:
    text = PageBuilder().render(record(5000))
    assert "frames_left_out" in text and len(text) < 2_000_000


def test_a_page_whose_name_is_taken_is_kept_under_another(tmp_path: Path) -> None:
    builder, story = filled()
    (tmp_path / "page.html").mkdir()
    (tmp_path / "page.html" / "x").touch()
    with pytest.raises(OutputExistsError):
        builder.write(tmp_path / "page.html", story)
    assert [entry.name for entry in (tmp_path / "page.html").iterdir()] == ["x"]
    kept = [entry for entry in tmp_path.iterdir() if entry.name != "page.html"]
    assert len(kept) == 1 and kept[0].read_text().startswith("<!doctype html>")


def test_arrays_are_not_changed() -> None:
    after, before, sd = picture(1), picture(2), np.ones((36, 48), np.float32)
    copies = [array.copy() for array in (after, before, sd)]
    PageBuilder().add_picture(0, after=after, before=before, sd=sd, origin="mended")
    for array, copy in zip((after, before, sd), copies):
        np.testing.assert_array_equal(array, copy)


def test_pages_of_inspect_and_compare() -> None:
    builder = PageBuilder()
    for k in range(4):
        builder.add_picture(k, after=picture(k), before=picture(k + 9))
    frames = [{"index": k, "other": k, "time_s": k / 25, "psnr": 30.0 + k, "ssim": 0.9} for k in range(4)]
    compared = builder.render(
        {"verb": "compare", "input": "a", "other": "b", "psnr": 31.0, "ssim": 0.9, "frames": frames}
    )
    assert "PSNR" in compared and "a compared with b" in compared
    inspected = builder.render(
        {"verb": "inspect", "input": "a", "n_frames": 4, "corrupt": [2], "width": 48, "height": 36}
    )
    assert "s-corrupt" in inspected


def test_states_of_an_inspected_clip() -> None:
    found = {
        "verb": "inspect",
        "n_frames": 6,
        "first_frame": 10,
        "corrupt": [11],
        "black": [12],
        "duplicates": [11, 15],
    }
    assert figures.states_of(found) == ["good", "corrupt", "black", "good", "good", "repeated"]


def test_rare_frames_of_a_long_clip_are_seen() -> None:
    states = ["kept"] * 90000
    states[4321] = "filled"
    drawn = figures.timeline(states, [])
    found = re.search(r'<rect class="s-filled" x="4321" y="0" width="([\d.]+)"', drawn)
    assert found and float(found[1]) >= 90
    crowded = figures.timeline(["kept", "filled", "denoised"] * 30000, [])
    assert len(crowded) < 500_000 and "s-filled" in crowded


def test_a_line_keeps_its_peaks_when_sampled() -> None:
    values = [(k, 0.0) for k in range(50000)]
    values[31234] = (31234, 9.0)
    drawn, bottom, top = figures.series(values, 50000)
    assert (bottom, top) == (0.0, 9.0) and ",2.00" in drawn and len(drawn) < 200_000


def test_scales_are_readable() -> None:
    assert [pictures.round_up(v) for v in (0.0, 0.7, 1.0, 3.2, 12, 60)] == [1.0, 1.0, 1.0, 5.0, 20.0, 100.0]


# -- in a real browser --------------------------------------------------------


def browse(path: Path, wish: str, tmp_path: Path, *more: str) -> str:
    """The document after its script has run."""
    assert CHROMIUM
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
        f"--user-data-dir={tmp_path / 'profile'}", *more, "--dump-dom", f"{path.as_uri()}#{wish}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the page is not tested in a browser")
    builder, story = filled()
    path = tmp_path_factory.mktemp("page") / "päge 100%.html"
    builder.write(path, {**story, "damage": [{"frame": 3, "kind": "dust", "box": [12, 9, 6, 6]}]})
    return path


@pytest.mark.browser
def test_a_browser_shows_the_frame_that_is_asked_for(written: Path, tmp_path: Path) -> None:
    text = browse(written, "frame=3&mode=slider", tmp_path)
    assert 'data-ready="yes"' in text and 'data-frame="3"' in text
    caption = re.search(r'id="caption"[^>]*>(.*?)</p>', text, re.S)
    assert caption and "frame 3" in caption[1] and "denoised" in caption[1] and "0.120 s" in caption[1]
    assert text.count("left: 25%; top: 25%; width: 12.5%") == 1 and '<b class="">dust' in text
    assert re.search(r'<img id="before"[^>]*src="data:image/jpeg', text)


@pytest.mark.browser
def test_a_browser_shows_maps_and_the_dark(written: Path, tmp_path: Path) -> None:
    text = browse(written, "frame=4&mode=sd&theme=dark", tmp_path)
    assert 'data-theme="dark"' in text and 'data-mode="sd"' in text
    assert re.search(r'<img id="map" alt="standard deviation" src="data:image', text)


def with_script(page: Path, script: str) -> str:
    """A page with another script at its end, which its own policy would not let run."""
    text = page.read_text(encoding="utf-8").replace("</body>", script)
    return re.sub(r"script-src 'sha256-[^']*'", "script-src 'unsafe-inline'", text)


@pytest.mark.browser
def test_a_browser_runs_no_script_but_the_page_s_own(written: Path, tmp_path: Path) -> None:
    foreign = "<script>document.documentElement.dataset.foreign = 'ran'</script></body>"
    for name, text in {
        "strict.html": written.read_text(encoding="utf-8").replace("</body>", foreign),
        "lax.html": with_script(written, foreign),
    }.items():
        written.with_name(name).write_text(text, encoding="utf-8")
        shown = browse(written.with_name(name), "", tmp_path)
        assert ('data-foreign="ran"' in shown) == (name == "lax.html")


@pytest.mark.browser
def test_keys_and_mouse_in_a_browser(written: Path, tmp_path: Path) -> None:
    driver = """
    <script>addEventListener("load", () => {
      const press = (key, more) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, ...more}));
      const log = [];
      const note = () => log.push(document.documentElement.dataset.frame + document.documentElement.dataset.mode);
      press("ArrowRight"); note(); press("ArrowRight"); note(); press("ArrowLeft"); note();
      press("End"); note(); press("Home"); note(); press("4"); note(); press("1"); note();
      press("ArrowRight", {shiftKey: true}); log.push(document.getElementById("divider").getAttribute("aria-valuenow"));
      const strip = document.getElementById("strip"), box = strip.getBoundingClientRect();
      strip.setPointerCapture = () => {};
      strip.dispatchEvent(new PointerEvent("pointerdown", {clientX: box.left + box.width * 0.55, clientY: box.top + 5}));
      note();
      const theme = document.documentElement.dataset.theme; press("t");
      log.push(theme === document.documentElement.dataset.theme ? "stuck" : "turned");
      document.body.insertAdjacentHTML("beforeend", "<p id=log>" + log.join(" ") + "</p>");
    });</script></body>"""
    driven = written.with_name("driven.html")
    driven.write_text(with_script(written, driver), encoding="utf-8")
    found = re.search(r'<p id="log">(.*?)</p>', browse(driven, "frame=0", tmp_path))
    assert found
    assert found[1] == "1slider 2slider 1slider 7slider 0slider 0change 0slider 54 4slider turned"


@pytest.mark.browser
def test_nothing_sticks_out_on_a_phone(written: Path, tmp_path: Path) -> None:
    probe = """
    <script>addEventListener("load", () => {
      const tiles = document.querySelector(".tiles");
      for (let k = 0; k < 3; k += 1) tiles.append(tiles.firstElementChild.cloneNode(true));
      const texts = [...tiles.querySelectorAll("dd")];
      texts[0].textContent = "0.46 to 12.9";
      const cut = [tiles, ...texts].some((box) => box.scrollWidth > box.clientWidth) ? "cut" : "whole";
      document.body.insertAdjacentHTML("beforeend", "<p id=log>" + innerWidth + " " + document.documentElement.scrollWidth + " " + cut + "</p>");
    });</script></body>"""
    driven = written.with_name("phone.html")
    driven.write_text(with_script(written, probe), encoding="utf-8")
    found = re.search(
        r'<p id="log">(\d+) (\d+) (\w+)</p>', browse(driven, "", tmp_path, "--window-size=390,800")
    )
    assert found and int(found[2]) <= int(found[1]) <= 500 and found[3] == "whole"


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1400, 1000), (820, 1100), (500, 900)])
def test_the_page_at_three_sizes(written: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    driver = """
    <script>addEventListener("load", () => {
      const root = document.documentElement, log = [root.dataset.frame];
      const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      press("f"); log.push(root.dataset.mode); press("f"); log.push(root.dataset.mode);
      press("d"); log.push(root.dataset.frame); press("n"); log.push(root.dataset.frame);
      const strip = document.getElementById("strip").getBoundingClientRect();
      log.push(Math.round(strip.bottom), innerWidth >= root.scrollWidth);
      const loupe = document.getElementById("loupe-after");
      log.push(loupe.naturalWidth, loupe.getBoundingClientRect().width / loupe.naturalWidth);
      document.body.insertAdjacentHTML("beforeend", "<p id=log>" + log.join(" ") + "</p>");
    });</script></body>"""
    driven = written.with_name(f"size{size[0]}.html")
    driven.write_text(with_script(written, driver), encoding="utf-8")
    found = re.search(
        r'<p id="log">(.*?)</p>', browse(driven, "", tmp_path, f"--window-size={size[0]},{size[1]}")
    )
    assert found
    most, before, after, damaged, made, bottom, fits, true_width, zoom = found[1].split()
    # Frame 4 was rebuilt from nothing, and differs most; frame 3 is damaged.
    assert (most, before, after, damaged, made) == (data_most(written), "before", "after", "3", "4")
    assert fits == "true" and true_width == "20" and float(zoom) in (1.0, 2.0)
    if size[0] == 1400:
        assert int(bottom) <= 1000


def data_most(path: Path) -> str:
    frames = data_of(path.read_text(encoding="utf-8"))["frames"]
    return str(max(frames, key=lambda frame: frame["changed"])["index"])


def test_the_loupe_holds_true_pixels() -> None:
    import base64

    import cv2

    builder, story = filled()
    loupe = data_of(builder.render(story))["frames"][4]["loupe"]
    raw = np.frombuffer(base64.b64decode(loupe["after"].split(",")[1]), np.uint8)
    shown = cv2.cvtColor(cv2.imdecode(raw, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    assert np.array_equal(shown, picture(4)[8:28, 6:26]) and (loupe["x"], loupe["y"]) == (6, 8)


def test_what_came_of_it_stands_in_one_sentence() -> None:
    from videorestore.report.words import sentence

    said = sentence({**record(8), "model": "curve", "self_test": {"curve_psnr": 38.0, "motion_psnr": 33.0}})
    assert said == (
        "Noise removed from 1 frame, 1 frame rebuilt, 1 frame made in between, 5 frames kept to the bit, nothing refused."
        " The curve model was taken: it foretold hidden frames 5.0 dB better than motion."
    )
    of_fields = [{"origin": "mended", "source": k // 2} for k in range(4)]
    mixed = {"verb": "restore", "model": "mixed", "frames": [*of_fields, {"origin": "mended", "source": 2}]}
    assert sentence(mixed) == (
        "1 frame mended, 4 frames made of fields, nothing refused."
        " Both models had a say: motion and the curve were weighed in every place."
    )
    clean = {"verb": "denoise", "model": "motion", "frames": [{"origin": "denoised"}]}
    for gain, told in (
        (0.0, "the curve has nothing to add."),
        (0.021, "the curve takes 2.1% of its error away."),
    ):
        assert sentence({**clean, "self_test": {"curve_denoise_gain": gain}}).endswith(
            f"Motion alone was asked: {told}"
        )
    untouched = {"verb": "restore", "frames": [{"origin": "kept"}]}
    assert sentence(untouched) == "Nothing had to be done, every frame is as it was, nothing refused."


def test_nothing_joins_the_frames_on_both_sides_of_a_cut() -> None:
    made = np.random.default_rng(0).random((6, 12)).astype(np.float32)
    labels = [{"index": k, "origin": "kept"} for k in range(6)]
    ways = re.findall(
        r'<polyline class="way" points="(.*?)"', figures.curve(None, made, np.arange(6), labels, [2])
    )
    assert [len(way.split()) for way in ways] == [2, 4]


def test_a_frame_that_is_hardly_known_does_not_hide_the_others() -> None:
    builder, story = PageBuilder(), record(8)
    for fact in story["frames"]:
        sd = np.full((36, 48, 3), 90.0 if fact["index"] == 4 else 3.0, np.float32)
        k = fact["index"]
        builder.add_picture(k, after=picture(k), before=picture(k + 50), sd=sd, origin="denoised")
    assert data_of(builder.render(story))["scales"]["sd"] <= 5


def test_names_cannot_write_into_the_page() -> None:
    """A place of the template in a name is text like any other, and so is markup; scripts are known by their hash."""
    evil = "{{data}}<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    builder, story = filled()
    story = {
        **story,
        "refused": [evil],
        "input": evil,
        "output": evil,
        "losses": [evil],
        "notes": [evil],
        "verb": "fill",
    }
    page = builder.render(story)
    assert "<img src=x" not in page and "<script>alert" not in page
    assert page.count("<script") == 2 and page.count('"scales"') == 1
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "'unsafe-inline'; script" in page
