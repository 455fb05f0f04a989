"""Several files, settings files and pipes."""

from __future__ import annotations

import io
import json
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, Work
from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.cli.status import ExitStatus
from videorestore.errors import MediaReadError

Call = Callable[..., Result]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name in ("a.avi", "b.vob", "c.mp4"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_every_file_gets_a_result_of_its_name(command: Call, work: Work, three: Path) -> None:
    result = command("restore", "a.avi", "b.vob", "c.mp4", "-o", "out/", "--report", "pages/")
    assert result.status == ExitStatus.DONE and (three / "out").is_dir()
    assert [Path(call[2]).name for call in work.calls] == ["a.avi", "b.mkv", "c.mp4"]
    assert [Path(call[3].report).name for call in work.calls] == ["a.html", "b.html", "c.html"]
    assert "3 of 3 done" in result.err


def test_it_goes_on_after_a_failure_and_says_which(
    command: Call, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def work(verb: str, source: str, *rest: object) -> object:
        calls.append(source)
        if source.endswith("b.vob"):
            raise MediaReadError("must be readable, got rubbish; check it.")
        return types.SimpleNamespace(record={"frames": []}, losses=(), clip=None, sd=None)

    module = types.ModuleType("videorestore.run")
    module.perform = work  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "videorestore.run", module)
    result = command("restore", "a.avi", "b.vob", "c.mp4", "-o", "out/")
    assert len(calls) == 3 and result.status == ExitStatus.FAILED
    assert "error: b.vob: must be readable" in result.err and "1 failed (b.vob)" in result.err


def test_what_is_there_already_is_not_made_again(command: Call, work: Work, three: Path) -> None:
    (three / "out").mkdir()
    (three / "out" / "a.avi").write_bytes(b"whole")
    result = command("restore", "a.avi", "c.mp4", "-o", "out")
    assert result.status == ExitStatus.DONE and len(work.calls) == 1
    assert "1 there already (a.avi)" in result.err
    command("restore", "a.avi", "c.mp4", "-o", "out", "-y")
    assert len(work.calls) == 3


@pytest.mark.parametrize(
    "args",
    [
        ["a.avi", "c.mp4", "-o", "out.mkv"],
        ["a.avi", "./a.avi", "-o", "out/"],
        ["a.avi", "c.mp4", "-o", "out/", "--report", "page.html"],
        ["a.avi", "", "-o", "out/"],
    ],
)
def test_several_files_need_a_folder_and_different_names(
    command: Call, work: Work, three: Path, args: list[str]
) -> None:
    result = command("restore", *args)
    assert result.status == ExitStatus.USAGE and not work.calls and result.err.count("\n") == 1


def test_a_name_behind_json_is_told_as_the_input_that_it_became(
    command: Call, work: Work, three: Path
) -> None:
    result = command("restore", "a.avi", "-o", "o.mkv", "--json", "r.json")
    assert result.status == ExitStatus.USAGE and not work.calls
    assert "r.json" in result.err and "--json takes no name" in result.err


def test_settings_come_from_a_file_and_the_command_line_goes_first(
    command: Call, work: Work, three: Path
) -> None:
    (three / "my.toml").write_text(
        'quality = "best"\nmissing = "auto"\n[restore]\nkeep-grain = 0.25\nfps = "60000/1001"\n[fill]\nmax_sd = 9\n'
    )
    command("restore", "a.avi", "-o", "o.mkv", "--config", "my.toml", "--quality", "fast")
    options = work.calls[0][3]
    assert (options.quality, options.keep_grain, str(options.fps)) == ("fast", 0.25, "60000/1001")


def test_a_settings_file_is_written_from_what_is_given(command: Call, work: Work, three: Path) -> None:
    given = ["--range", "10:20", "--sigma", "auto", "--strength", "1.5", "--codec", "ffv1", "-y", "--fresh"]
    result = command("denoise", *given, "--dry-run", "--write-config", "my.toml")
    assert result.status == ExitStatus.DONE and not work.calls
    command("denoise", "a.avi", "-o", "x.mkv", "--config", "my.toml")
    command("denoise", "a.avi", "-o", "x.mkv", *given)
    assert work.calls[0][3] == work.calls[1][3]
    again = command("denoise", *given, "--write-config", "my.toml")
    assert again.status == ExitStatus.EXISTS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('quality = "superb"', "must be one of fast"),
        ("qualty = 1", "no verb has an option qualty"),
        ("[restore]\nmissing = 1", "restore has no option missing"),
        ("[polish]\nx = 1", "a section must be a verb"),
        ("quality = ", "must name a TOML file"),
        ("quality = " + "[" * 5000 + "]" * 5000, "must name a TOML file"),
        (None, "can be read"),
    ],
)
def test_a_wrong_settings_file_is_wrong_usage(
    command: Call, work: Work, three: Path, text: str | None, words: str
) -> None:
    if text is not None:
        (three / "my.toml").write_text(text)
    result = command("restore", "a.avi", "-o", "o.mkv", "--config", "my.toml")
    assert result.status == ExitStatus.USAGE and words in result.err and result.err.count("\n") == 1
    assert not work.calls


class Bytes(io.StringIO):
    """Text on top of bytes, as stdout is."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = io.BytesIO()


def piped(folder: Path, data: bytes, *args: str) -> tuple[ExitStatus, bytes, str]:
    out, err = Bytes(), io.StringIO()
    world = Environment(stdout=out, stderr=err, stdin=io.BytesIO(data), cwd=str(folder))
    return main(args, world), out.buffer.getvalue() + out.getvalue().encode(), err.getvalue()


def y4m(samples: bytes, head: str = "W16 H16 F25:1 Ip C420jpeg") -> bytes:
    size = 16 * 16 * 3 // 2 * (2 if "p10" in head else 1)
    frames = [samples[k : k + size] for k in range(0, len(samples), size)]
    return f"YUV4MPEG2 {head}\n".encode() + b"".join(b"FRAME\n" + frame for frame in frames)


@pytest.mark.parametrize(
    "head", ["W16 H16 F25:1 Ip C420jpeg", "W16 H16 F30000:1001 Ip C420p10 XYSCSS=420P10"]
)
def test_y4m_goes_through_unchanged_where_nothing_is_done(tmp_path: Path, head: str) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    kind = np.dtype("<u2") if "p10" in head else np.dtype("u1")
    samples = rng.integers(16, 200, 6 * 384).astype(kind).tobytes()
    data = y4m(samples, head)
    status, out, err = piped(tmp_path, data, "denoise", "-", "-o", "-", "--sigma", "0", "--progress", "none")
    assert status == ExitStatus.DONE, err
    first, _, body = out.partition(b"\n")
    assert first.startswith(b"YUV4MPEG2 W16 H16 F" + head.split("F")[1].split()[0].encode())
    assert body == data.partition(b"\n")[2] and "6 kept" in err
    assert not list(tmp_path.iterdir())


def test_a_pipe_that_brings_something_else(tmp_path: Path) -> None:
    status, out, err = piped(tmp_path, b"RIFF....", "denoise", "-", "-o", "x.mkv")
    assert status == ExitStatus.UNREADABLE and "yuv4mpegpipe" in err and err.count("\n") == 1
    status, out, err = piped(tmp_path, b"", "denoise", "-", "-o", "-", "--json")
    assert status == ExitStatus.USAGE and "--json and -o -" in err
    assert not json.loads(out or "{}")
