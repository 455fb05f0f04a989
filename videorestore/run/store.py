"""The work folder beside OUTPUT: the plan and every finished piece, each whole or not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from videorestore.errors import MediaWriteError, OutputExistsError
from videorestore.make.work import Work
from videorestore.media.source import FrameIndex
from videorestore.run import plan_file

PULSE = 1.0
"""Seconds between two notes of how far a piece has come."""

TRIES = 3
"""How often a piece is made before its failure counts."""

_MARK = "videorestore-work"
_MARK_TEXT = b"The work folder of an unfinished run of videorestore. The same command goes on from here.\n"
"""A file, and what is in it, by which a folder is known for one of ours. Nothing without it is touched."""


class WorkFolder:
    """Pieces on disk. Everything is written under another name first, then renamed."""

    _held: int | None = None
    """The open folder while it is locked. A class has it: whoever is interrupted before it is made lets go of it all the same."""

    def __init__(self, output: str) -> None:
        self.path = Path(output.rstrip("/\\") + ".work")

    def open(self, description: dict[str, Any], *, resume: bool) -> str:
        """Make the folder, or take up an old one.

        Returns
        -------
        {"new", "resumed", "other"}
            "other": there was a folder of a different run, which has been cleared.
        """
        try:
            old = self._take()
            if old:
                same = False
                with contextlib.suppress(OSError, ValueError):
                    same = json.loads((self.path / "run.json").read_text()) == description
                if resume and same:
                    return "resumed"
                self.clear()
        except MediaWriteError:
            raise
        except OSError as error:
            raise MediaWriteError(
                f"the folder of OUTPUT must be writable, got: {error.strerror}; choose another place."
            ) from error
        self._write(self.path / "run.json", json.dumps(description).encode())
        return "other" if old and resume else "new"

    def _take(self) -> bool:
        """Make the folder and lock it. Returns whether it was there before."""
        while True:
            try:
                self.path.mkdir(mode=0o700)
                old = False
            except FileExistsError:
                old = True
            with contextlib.suppress(FileNotFoundError):
                if old:
                    self._refuse_foreign()
                self._lock()
                if self._held is None or os.path.samestat(os.fstat(self._held), self.path.lstat()):
                    self._write(self.path / _MARK, _MARK_TEXT)
                    self._write(self.path / "pid", str(os.getpid()).encode())
                    return old
            # The run that had it has just removed it.
            self.release()

    def _refuse_foreign(self) -> None:
        """Refuse what this program did not make, or not for this user: it may be anything."""
        facts = self.path.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            found = "a link" if stat.S_ISLNK(facts.st_mode) else "a file"
        elif not _private(facts):
            found = "a folder of somebody else or that others may write to"
        elif not self._marked():
            found = "a folder of other things"
        else:
            return
        raise OutputExistsError(
            f"{self.path} must be free for the work of this run, it is {found}; rename it or choose another OUTPUT."
        )

    def _marked(self) -> bool:
        """Whether the folder has our mark, or is what a run leaves that is killed before it sets the mark."""
        mark = self.path / _MARK
        try:
            return mark.read_bytes() == _MARK_TEXT and not mark.is_symlink()
        except OSError:
            private = stat.S_IMODE(self.path.lstat().st_mode) == 0o700
            return private and all(path.name.startswith(_MARK) for path in self.path.iterdir())

    def clear(self) -> None:
        """Empty the folder but for what names its run; it stays, because it is locked."""
        for path in self.path.iterdir():
            if path.name not in ("pid", "run.json", _MARK):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def _lock(self) -> None:
        """Take the folder for this process; the system gives it free when the process ends, however that happens."""
        owner = 0
        with contextlib.suppress(OSError, ValueError):
            owner = int((self.path / "pid").read_text())
        try:
            import fcntl
        except ImportError:
            free = owner in (0, os.getpid()) or not alive(owner)
        else:
            if self._held is None:
                self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = True
            except BlockingIOError:
                free = False
        if not free:
            self.release()
            who = f"process {owner}" if owner else "another process"
            raise MediaWriteError(
                f"only one run may write this OUTPUT, {who} is at it; wait for it or choose another name."
            )

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        """Let others have the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _write(self, path: Path, content: bytes) -> None:
        # A name of its own: what a killed run left behind may still be writing.
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.new")
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
        self._write(self.path / "plan", plan_file.pack((work, index)))

    def planned(self) -> bool:
        """Whether an interrupted run came as far as its plan, and that is whole and of this version."""
        try:
            self.load_plan()
        except (OSError, ValueError):
            return False
        return True

    def load_plan(self) -> tuple[Work, FrameIndex]:
        """The plan and the frame index of this run."""
        return plan_file.unpack((self.path / "plan").read_bytes())  # type: ignore[no-any-return]

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

    def masks_path(self, index: int) -> Path:
        """Where pixels of a piece's frames were mended."""
        return self.path / f"{index:06d}.masks.npz"

    def previews_path(self, index: int) -> Path:
        """Small pictures of a piece for the page."""
        return self.path / f"{index:06d}.npz"

    def pulse(self, index: int) -> Callable[[float], None]:
        """Takes down how far a piece has come, now and then, for `share`."""
        path, said = self.path / f"{index:06d}.at", [0.0]

        def tell(share: float) -> None:
            now = time.monotonic()
            if now - said[0] >= PULSE:
                said[0] = now
                with contextlib.suppress(OSError):
                    path.write_text(f"{share:.4f}")

        return tell

    def share(self, index: int) -> float:
        """How far a piece has come that is being made: 0 to 1."""
        try:
            return min(1.0, max(0.0, float((self.path / f"{index:06d}.at").read_text())))
        except (OSError, ValueError):
            return 0.0

    def done(self, index: int) -> bool:
        """Whether the piece is complete and its files are, to the last bit, what was written."""
        try:
            facts = self._facts(index)
            digests = facts["files"].items()
            return facts["piece"] == index and all(_digest(self.path / name) == own for name, own in digests)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False

    def save_facts(self, index: int, facts: list[dict[str, Any]]) -> None:
        """Complete a piece; what belongs to it reaches the disk before the facts that vouch for it."""
        digests = {}
        for path in self._parts(index):
            if path.exists():
                _flush(path)
                digests[path.name] = _digest(path)
        body = json.dumps({"piece": index, "files": digests, "frames": facts}).encode()
        self._write(self.facts_path(index), hashlib.sha256(body).hexdigest().encode() + b"\n" + body)

    def _facts(self, index: int) -> Any:
        digest, _, body = self.facts_path(index).read_bytes().partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            raise ValueError("damaged facts")
        return json.loads(body)

    def _parts(self, index: int) -> tuple[Path, ...]:
        """All that a piece may consist of, but for its facts."""
        segment = self.segment(index)
        times = segment.with_name(segment.name + ".times")
        return segment, times, self.sd_path(index), self.masks_path(index), self.previews_path(index)

    def load_facts(self, index: int) -> list[dict[str, Any]]:
        """What a piece says of its frames."""
        return self._facts(index)["frames"]  # type: ignore[no-any-return]

    def save_arrays(self, path: Path, arrays: dict[str, np.ndarray]) -> None:
        """Keep the small pictures of a piece, or its packed masks by the numbers of their source frames."""
        part = path.with_suffix(".part.npz")
        try:
            np.savez(part, **arrays)  # type: ignore[arg-type]
            os.replace(part, path)
        except OSError as error:
            raise no_room(error) from error

    def give_away(self, index: int) -> dict[str, bytes]:
        """The files of a finished piece by name; they are deleted here."""
        files: dict[str, bytes] = {}
        for path in (*self._parts(index), self.facts_path(index)):
            if path.exists():
                files[path.name] = path.read_bytes()
                path.unlink()
        return files

    def adopt(self, index: int, files: dict[str, bytes]) -> None:
        """Store the files of a piece that another machine made; its facts come last."""
        last = self.facts_path(index).name
        for name in sorted(files, key=lambda name: name == last):
            self._write(self.path / name, files[name])

    def remove(self) -> None:
        """Forget everything; the mark goes last, so that a run that is killed meanwhile leaves a folder that is known."""
        with contextlib.suppress(OSError):
            self.clear()
            for name in ("pid", "run.json"):
                (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)
        self.release()


def no_room(error: OSError) -> MediaWriteError:
    """What a failed write to the work folder is told as."""
    return MediaWriteError(
        f"the disk must have room for the work folder, got: {error.strerror}; free some space and run again."
    )


def _private(facts: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else may write to it."""
    if os.name != "posix":
        return True
    return facts.st_uid == os.geteuid() and not facts.st_mode & 0o022


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Bring the content of a file to the disk, whoever wrote it."""
    try:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    except OSError as error:
        raise no_room(error) from error


def alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
