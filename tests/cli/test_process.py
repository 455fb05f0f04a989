"""Commands as processes: signals, pipes, closed streams, names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# Work that writes a part file and would take a minute; its cleaning up takes a moment.
SLOW = """
import sys, time, types
module = types.ModuleType("videorestore.run")
def perform(verb, source, output, options, progress):
    try:
        open(output + ".part", "w").close()
        for done in range(6000):
            progress("working", done, 6000)
            time.sleep(0.01)
    finally:
        time.sleep(0.3)
        import os
        if os.path.exists(output + ".part"):
            os.unlink(output + ".part")
module.perform = perform
sys.modules["videorestore.run"] = module
from videorestore.cli.main import run
run()
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def start(code: str, *args: str, folder: Path, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,  # type: ignore[call-overload]
    )


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} did not appear")


def call(*args: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "videorestore", *args],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 2])
def test_signals_end_cleanly(tmp_path: Path, number: signal.Signals, status: int, times: int) -> None:
    (tmp_path / "in.mkv").touch()
    process = start(SLOW, "denoise", "in.mkv", "-o", "out.mkv", folder=tmp_path)
    wait_for(tmp_path / "out.mkv.part")
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.mkv"]
    last = err.strip().splitlines()[-1]
    assert last.startswith("error: ") and "the same command" in last
    assert "Traceback" not in err


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_an_interrupt_at_any_moment_shows_no_traceback(tmp_path: Path, delay: float) -> None:
    (tmp_path / "in.mkv").touch()
    # The marker says that signals are in hand; while Python itself starts, nobody can catch anything.
    marked = SLOW.replace("run()", "import signal\ninstall = signal.signal\ndef mark(*args):\n    install(*args)\n"
                          "    open('up', 'w').close()\nsignal.signal = mark\nrun()")  # fmt: skip
    process = start(marked, "denoise", "in.mkv", "-o", "out.mkv", folder=tmp_path)
    wait_for(tmp_path / "up")
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not (tmp_path / "out.mkv.part").exists() and not (tmp_path / "out.mkv").exists()


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "videorestore", "--completion", "bash"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert err == b""


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    command = f'exec "{sys.executable}" -m videorestore --help >&- 2>&-'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment(), timeout=60)
    assert done.returncode in (0, 1)


def test_what_decoders_say_does_not_reach_the_user(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    import numpy as np

    content = bytearray(cv2.imencode(".png", np.zeros((40, 40), np.uint8))[1].tobytes())
    content[content.index(b"IDAT") + 8] ^= 0xFF
    (tmp_path / "a.png").write_bytes(content)
    done = call("inspect", "a.png", folder=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "IDAT" in call("inspect", "a.png", "--traceback", folder=tmp_path).stderr


@pytest.mark.parametrize("name", ["größe & <x>.mkv", "100%d %s.mkv", "-dash.mkv"])
def test_errors_can_spell_any_name_in_any_locale(tmp_path: Path, name: str) -> None:
    done = call("inspect", "--", name, folder=tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 3
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"videorestore", b"inspect", b"\xff\xfe.mkv"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 3 and done.stderr.startswith(b"error: ") and b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "status"),
    [(["--version"], 0), ([], 2), (["denoise", "x"], 2), (["inspect", "nowhere.mkv"], 3)],
)
def test_exit_status_of_the_process(tmp_path: Path, args: list[str], status: int) -> None:
    done = call(*args, folder=tmp_path)
    assert done.returncode == status
    assert (done.stderr == "") == (status == 0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["videorestore", "re"], {"restore", "reorder"}),
        (["videorestore", "denoise", "--qu"], {"--quality", "--quiet"}),
        (["videorestore", "denoise", "in.mkv", "--quality", ""], {"fast", "default", "best"}),
        (["videorestore", "inpaint", "--mask", "in"], {"in file.mkv"}),
        (["videorestore", "--completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completion(tmp_path: Path, words: list[str], expected: set[str]) -> None:
    (tmp_path / "in file.mkv").touch()
    script = call("--completion", "bash", folder=tmp_path).stdout
    listed = " ".join(f"'{word}'" for word in words)
    probe = (
        f"{script}\ncompopt() {{ :; }}\nIFS=$' \\t\\n'\nCOMP_WORDS=({listed})\nCOMP_CWORD={len(words) - 1}\n"
        '_videorestore\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_completions_name_every_verb_and_option(tmp_path: Path, shell: str) -> None:
    from videorestore.cli.parser import build
    from videorestore.request import VERBS

    text = call("--completion", shell, folder=tmp_path).stdout
    for verb in VERBS:
        assert verb in text
        for action in build(verb)._actions:
            for option in action.option_strings:
                spelt = (
                    option
                    if shell == "zsh"
                    else f"-{'l' if option.startswith('--') else 's'} {option.lstrip('-')}"
                )
                assert spelt in text


def test_json_survives_any_name(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    import numpy as np

    name = "größe 100%.npy"
    np.save(tmp_path / name, np.zeros((3, 16, 16, 3), np.uint8))
    done = call("compare", name, name, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["input"] == name
