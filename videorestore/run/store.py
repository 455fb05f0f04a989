"""The work folder beside OUTPUT: the plan and every finished piece, each whole or not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from videorestore.errors import MediaWriteError
from videorestore.media.source import FrameIndex
from videorestore.tasks.work import Work

_NOT_PIXELS = {"jobs", "cluster", "max_memory", "report", "overwrite", "resume", "dry_run"}
"""Options that do not change a pixel: a run may go on with other values of these."""

_SAMPLE = 1 << 20


def fingerprint(path: str) -> str:
    """Digest of a file or of a folder's listing: names, sizes, times and some content."""
    digest = hashlib.sha256()
    target = Path(path)
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    for file in files:
        with contextlib.suppress(OSError):
            facts = file.stat()
            digest.update(f"{file.name}|{facts.st_size}|{facts.st_mtime_ns}".encode())
    if target.is_file():
        with target.open("rb") as stream:
            digest.update(stream.read(_SAMPLE))
            stream.seek(max(0, target.stat().st_size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()


def describe(verb: str, input_path: str, options: Any, version: str) -> dict[str, Any]:
    """What a run is: two runs with the same description give the same pixels."""
    values = {k: repr(v) for k, v in asdict(options).items() if k not in _NOT_PIXELS}
    others = [v for k, v in asdict(options).items() if k in {"mask", "loose"} and isinstance(v, str)]
    prints = [fingerprint(p) for p in [input_path, *others] if Path(p).exists()]
    return {"version": version, "verb": verb, "options": values, "inputs": prints}


class WorkFolder:
    """Pieces on disk. Everything is written under another name first, then renamed."""

    def __init__(self, output: str) -> None:
        self.path = Path(output.rstrip("/\\") + ".work")

    def open(self, description: dict[str, Any], *, resume: bool) -> str:
        """Make the folder, or take up an old one.

        Returns
        -------
        {"new", "resumed", "other"}
            "other": there was a folder of a different run, which has been cleared.
        """
        state = "new"
        note = self.path / "run.json"
        if self.path.exists():
            same = False
            with contextlib.suppress(OSError, ValueError):
                same = json.loads(note.read_text()) == description
            if resume and same:
                self._lock()
                return "resumed"
            state = "other" if resume else "new"
            self._check_lock()
            shutil.rmtree(self.path)
        try:
            self.path.mkdir(parents=False)
        except OSError as error:
            raise MediaWriteError(
                f"the folder of OUTPUT must be writable, got: {error.strerror}; choose another place."
            ) from error
        self._lock()
        self._write(note, json.dumps(description).encode())
        return state

    def _check_lock(self) -> None:
        try:
            pid = int((self.path / "pid").read_text())
        except (OSError, ValueError):
            return
        if pid != os.getpid() and _alive(pid):
            raise MediaWriteError(
                f"only one run may write this OUTPUT, process {pid} is at it; wait for it or choose another name."
            )

    def _lock(self) -> None:
        self._check_lock()
        self._write(self.path / "pid", str(os.getpid()).encode())

    def _write(self, path: Path, content: bytes) -> None:
        part = path.with_name(path.name + ".new")
        try:
            with part.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, path)
        except OSError as error:
            raise MediaWriteError(
                f"the disk must have room for the work folder, got: {error.strerror}; free some space and run again."
            ) from error

    def save_plan(self, work: Work, index: FrameIndex) -> None:
        """Keep the plan and the frame index, so that every worker and a resumed run do exactly the same."""
        self._write(self.path / "plan", pickle.dumps((work, index)))

    def planned(self) -> bool:
        """Whether an interrupted run came as far as its plan."""
        return (self.path / "plan").exists()

    def load_plan(self) -> tuple[Work, FrameIndex]:
        """The plan and the frame index of this run."""
        return pickle.loads((self.path / "plan").read_bytes())  # type: ignore[no-any-return]

    def stamp(self) -> int:
        """When the plan was written."""
        return (self.path / "plan").stat().st_mtime_ns

    def segment(self, index: int) -> Path:
        """Where the frames of a piece are."""
        return self.path / f"{index:06d}.mkv"

    def facts_path(self, index: int) -> Path:
        """Written last: a piece with facts is complete."""
        return self.path / f"{index:06d}.json"

    def sd_path(self, index: int) -> Path:
        """Posterior sd of a piece's frames."""
        return self.path / f"{index:06d}.sd.npy"

    def previews_path(self, index: int) -> Path:
        """Small pictures of a piece for the page."""
        return self.path / f"{index:06d}.npz"

    def done(self, index: int) -> bool:
        """Whether the piece is complete."""
        return self.facts_path(index).exists()

    def save_facts(self, index: int, facts: list[dict[str, Any]]) -> None:
        """Complete a piece."""
        self._write(self.facts_path(index), json.dumps(facts).encode())

    def load_facts(self, index: int) -> list[dict[str, Any]]:
        """What a piece says of its frames."""
        return json.loads(self.facts_path(index).read_text())  # type: ignore[no-any-return]

    def save_previews(self, index: int, previews: dict[str, np.ndarray]) -> None:
        """Keep the small pictures of a piece."""
        part = self.previews_path(index).with_suffix(".part.npz")
        np.savez(part, **previews)  # type: ignore[arg-type]
        os.replace(part, self.previews_path(index))

    def remove(self) -> None:
        """Forget everything."""
        shutil.rmtree(self.path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
