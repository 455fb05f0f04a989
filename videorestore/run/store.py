"""The work folder beside OUTPUT: the plan and every finished piece, each whole or not there at all."""

from __future__ import annotations

import contextlib
import glob
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


def fingerprint(path: str, *, times: bool = True) -> str:
    """Digest of a file, of a folder's listing or of what a pattern matches: names, sizes and some content.

    ``times`` also takes the times of change in, which a copy on another machine need not share.
    """
    digest = hashlib.sha256()
    target = Path(path)
    if target.is_dir():
        files = sorted(target.iterdir())
    else:
        files = [target] if target.exists() else [Path(p) for p in sorted(glob.glob(path))]
    for file in files:
        with contextlib.suppress(OSError):
            facts = file.stat()
            stamp = f"|{facts.st_mtime_ns}" if times else ""
            digest.update(f"{file.name}|{facts.st_size}{stamp}".encode())
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
            self._sync()
        except OSError as error:
            raise no_room(error) from error

    def _sync(self) -> None:
        """Make names last: after a power cut a piece that counts as done must be there, content and all."""
        if os.name != "posix":
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

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
        """Complete a piece; what belongs to it reaches the disk before the facts that vouch for it."""
        for path in (self.segment(index), self.sd_path(index), self.previews_path(index)):
            if path.exists():
                _flush(path)
        self._write(self.facts_path(index), json.dumps(facts).encode())

    def load_facts(self, index: int) -> list[dict[str, Any]]:
        """What a piece says of its frames."""
        return json.loads(self.facts_path(index).read_text())  # type: ignore[no-any-return]

    def save_previews(self, index: int, previews: dict[str, np.ndarray]) -> None:
        """Keep the small pictures of a piece."""
        part = self.previews_path(index).with_suffix(".part.npz")
        try:
            np.savez(part, **previews)  # type: ignore[arg-type]
            os.replace(part, self.previews_path(index))
        except OSError as error:
            raise no_room(error) from error

    def give_away(self, index: int) -> dict[str, bytes]:
        """The files of a finished piece by name; they are deleted here."""
        names = [f"{index:06d}.mkv", f"{index:06d}.mkv.times", f"{index:06d}.sd.npy"]
        names += [f"{index:06d}.npz", f"{index:06d}.json"]
        files: dict[str, bytes] = {}
        for name in names:
            path = self.path / name
            if path.exists():
                files[name] = path.read_bytes()
                path.unlink()
        return files

    def adopt(self, index: int, files: dict[str, bytes]) -> None:
        """Store the files of a piece that another machine made; its facts come last."""
        last = self.facts_path(index).name
        for name in sorted(files, key=lambda name: name == last):
            self._write(self.path / name, files[name])

    def remove(self) -> None:
        """Forget everything."""
        shutil.rmtree(self.path, ignore_errors=True)


def no_room(error: OSError) -> MediaWriteError:
    """What a failed write to the work folder is told as."""
    return MediaWriteError(
        f"the disk must have room for the work folder, got: {error.strerror}; free some space and run again."
    )


def _flush(path: Path) -> None:
    """Bring the content of a file to the disk, whoever wrote it."""
    try:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    except OSError as error:
        raise no_room(error) from error


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
