"""Commands from words to exit status, in-process, with work that pretends."""

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
from videorestore.cli.status import ExitStatus, Terminated
from videorestore.errors import (
    InputError,
    MediaReadError,
    MediaWriteError,
    NumericalError,
    OutputExistsError,
    VideoRestoreError,
)

Call = Callable[..., Result]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "in.mkv"
    path.write_bytes(b"not really")
    return path


def test_a_command_reaches_the_work(command: Call, work: Work, clip: Path, tmp_path: Path) -> None:
    result = command("denoise", "in.mkv", "-o", "out.mkv", "--sigma", "5", "--report", "r.html")
    assert result.status == ExitStatus.DONE
    verb, source, output, options = work.calls[0]
    assert (verb, source, output) == ("denoise", str(tmp_path / "in.mkv"), str(tmp_path / "out.mkv"))
    assert options.sigma == 5 and options.report == str(tmp_path / "r.html")


def test_json_is_exactly_one_object_with_the_names_as_written(command: Call, work: Work, clip: Path) -> None:
    result = command("denoise", "in.mkv", "-o", "out.mkv", "--json")
    assert result.out.endswith("\n") and result.out.count("\n") == 1
    record = json.loads(result.out)
    assert (record["input"], record["output"]) == ("in.mkv", "out.mkv")


def test_losses_are_said_and_end_with_5(command: Call, work: Work, clip: Path) -> None:
    work.outcome = types.SimpleNamespace(
        record={"frames": []}, losses=("frame 7 was\nlost",), clip=None, sd=None
    )
    result = command("denoise", "in.mkv", "-o", "out.mkv", "--json", "-q")
    assert result.status == ExitStatus.LOSSES
    assert "warning: frame 7 was lost\n" in result.err
    assert json.loads(result.out)["losses"] == ["frame 7 was lost"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (VideoRestoreError("must; got; do"), 1),
        (InputError("frame 99 must exist"), 2),
        (MediaReadError("cannot read"), 3),
        (OutputExistsError("exists"), 4),
        (MediaWriteError("cannot write"), 1),
        (NumericalError("no finite answer"), 1),
        (MemoryError(), 1),
        (OSError(28, "No space left on device", "x"), 1),
        (RuntimeError("a slip\nof ours"), 1),
        (KeyboardInterrupt(), 130),
        (Terminated(), 143),
    ],
)
def test_errors_are_one_line_and_a_status(
    command: Call, work: Work, clip: Path, error: BaseException, status: int
) -> None:
    work.error = error
    result = command("denoise", "in.mkv", "-o", "out.mkv", "--progress", "none")
    assert result.status == status
    assert result.out == ""
    assert result.err.startswith("error: ") and result.err.count("\n") == 1
    assert "Traceback" not in result.err


def test_traceback_on_request(command: Call, work: Work, clip: Path) -> None:
    work.error = RuntimeError("deep inside")
    result = command("denoise", "in.mkv", "-o", "out.mkv", "--traceback")
    assert "Traceback" in result.err and "deep inside" in result.err
    assert result.err.rstrip().splitlines()[-1].startswith("error: ")


def test_usage_errors_end_with_2_before_the_work(command: Call, work: Work) -> None:
    result = command("denoise", "in.mkv")
    assert result.status == ExitStatus.USAGE and not work.calls
    assert result.err.startswith("error: -o OUTPUT must be given")


def test_an_input_that_is_not_there_ends_with_3(command: Call, work: Work) -> None:
    result = command("denoise", "nowhere.mkv", "-o", "out.mkv")
    assert result.status == ExitStatus.UNREADABLE and not work.calls
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("option", ["-o", "--sd", "--report"])
def test_an_output_that_exists_ends_with_4_before_the_work(
    command: Call, work: Work, clip: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "there").write_text("precious")
    args = ["-o", "out.mkv", option, "there"] if option != "-o" else ["-o", "there"]
    result = command("denoise", "in.mkv", *args)
    assert result.status == ExitStatus.EXISTS and not work.calls
    assert (tmp_path / "there").read_text() == "precious"
    assert command("denoise", "in.mkv", *args, "-y").status == ExitStatus.DONE


@pytest.mark.parametrize("option", ["-o", "--sd", "--report"])
@pytest.mark.parametrize("name", ["in.mkv", "./in.mkv", "link.mkv"])
def test_input_equal_to_output_is_refused_also_with_y(
    command: Call, work: Work, clip: Path, tmp_path: Path, option: str, name: str
) -> None:
    (tmp_path / "link.mkv").symlink_to(clip)
    args = ["-o", "out.mkv", option, name] if option != "-o" else ["-o", name]
    result = command("denoise", "in.mkv", *args, "-y")
    assert result.status == ExitStatus.USAGE and not work.calls
    assert clip.read_bytes() == b"not really"


def test_a_folder_is_not_replaced_while_it_holds_the_input(command: Call, work: Work, tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "a.png").write_bytes(b"")
    for source in ("shots", "shots/", "shots/*.png", "shots/a.png"):
        result = command("denoise", source, "-o", "shots/", "-y")
        assert result.status == ExitStatus.USAGE, source
    assert not work.calls


def test_the_mask_is_an_input_too(command: Call, work: Work, clip: Path, tmp_path: Path) -> None:
    assert command("inpaint", "in.mkv", "-o", "out.mkv", "--mask", "no.png").status == ExitStatus.UNREADABLE
    (tmp_path / "m.png").write_bytes(b"")
    assert command("inpaint", "in.mkv", "-o", "m.png", "--mask", "m.png", "-y").status == ExitStatus.USAGE
    assert command("inpaint", "in.mkv", "-o", "out.mkv", "--mask", "auto").status == ExitStatus.DONE


@pytest.mark.parametrize(
    ("output", "sd"), [("o.npy", "o.npy"), ("o.npy", "./o.npy"), ("o/", "o/sd.npy"), ("o.npy", "here/o.npy")]
)
def test_two_results_need_two_names(
    command: Call, work: Work, clip: Path, tmp_path: Path, output: str, sd: str
) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "here").symlink_to(tmp_path)
    assert command("denoise", "in.mkv", "-o", output, "--sd", sd).status == ExitStatus.USAGE
    assert not work.calls


@pytest.mark.parametrize("name", ["pages/", "pages", "new/"])
def test_a_page_is_a_file(command: Call, work: Work, clip: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "pages").mkdir()
    result = command("denoise", "in.mkv", "-o", "out.mkv", "-y", "--report", name)
    assert result.status == ExitStatus.USAGE and "--report must name a file" in result.err
    assert not work.calls


def test_a_folder_that_is_not_there(command: Call, work: Work, clip: Path) -> None:
    result = command("denoise", "in.mkv", "-o", "no/such/out.mkv")
    assert result.status == ExitStatus.FAILED and not work.calls and result.err.count("\n") == 1


def test_a_dry_run_does_not_mind_an_existing_output(
    command: Call, work: Work, clip: Path, tmp_path: Path
) -> None:
    (tmp_path / "out.mkv").write_bytes(b"")
    assert command("denoise", "in.mkv", "-o", "out.mkv", "--dry-run").status == ExitStatus.DONE


@pytest.mark.parametrize(
    "name", ["a b.mkv", "größe.mkv", "100%d.mkv", "%03d.mkv", "-dash.mkv", "quote'\".mkv", "a\nb.mkv"]
)
def test_unusual_names_arrive_unchanged(command: Call, work: Work, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    result = command("denoise", "-o", f"out {name}", "--json", "--", name)
    assert result.status == ExitStatus.DONE
    assert work.calls[0][1:3] == (str(tmp_path / name), str(tmp_path / f"out {name}"))
    assert json.loads(result.out)["input"] == name


def test_progress_goes_to_stderr_only(command: Call, work: Work, clip: Path) -> None:
    plain = command("denoise", "in.mkv", "-o", "o.mkv", "--json", "--progress", "plain")
    assert "reading: 3/3" in plain.err
    json.loads(plain.out)
    lines = command("denoise", "in.mkv", "-o", "o.mkv", "--json", "--progress", "json").err.splitlines()
    assert json.loads(lines[-1])["done"] == 3
    assert command("denoise", "in.mkv", "-o", "o.mkv", "--json", "--progress", "none").err == ""
    assert command("denoise", "in.mkv", "-o", "o.mkv", "-q").out == ""


def test_a_bar_on_a_terminal(command: Call, work: Work, clip: Path) -> None:
    result = command("denoise", "in.mkv", "-o", "o.mkv", terminal=True, TERM="xterm")
    assert result.status == ExitStatus.DONE and "reading" in result.err
    dumb = command("denoise", "in.mkv", "-o", "p.mkv", terminal=True, TERM="dumb")
    assert "reading: 3/3" in dumb.err and "\x1b" not in dumb.err


class Closed(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_goes_away(work: Work, clip: Path, tmp_path: Path) -> None:
    err = io.StringIO()
    world = Environment(stdout=Closed(), stderr=err, cwd=str(tmp_path))
    assert main(["--help"], world) == ExitStatus.FAILED
    assert err.getvalue() == ""


def test_work_goes_on_when_nobody_reads_the_progress(work: Work, clip: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    world = Environment(stdout=out, stderr=Closed(), cwd=str(tmp_path))
    assert main(["denoise", "in.mkv", "-o", "o.mkv", "--json"], world) == ExitStatus.DONE
    assert json.loads(out.getvalue())


@pytest.mark.parametrize(("signal", "status"), [(KeyboardInterrupt(), 130), (Terminated(), 143)])
def test_a_signal_that_arrives_in_compiled_code_is_still_a_signal(
    command: Call, work: Work, clip: Path, signal: BaseException, status: int
) -> None:
    # Python tells an exception that is raised while a compiled function returns as a SystemError caused by it.
    work.error = SystemError("returned a result with an exception set")
    work.error.__cause__ = signal
    result = command("denoise", str(clip), "-o", "out.mkv")
    assert result.status == status and "goes on from here" in result.err
    work.error = SystemError("something else")
    assert command("denoise", str(clip), "-o", "out.mkv").status == 1
