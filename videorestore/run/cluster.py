"""Pieces on the workers of a Dask scheduler.

A worker that sees the input and the work folder under their own paths uses them. To one that does not, the input and
the plan are shipped once, in parts, and what it makes comes back as bytes. Who sees what is found out by the workers
themselves, so that they may come and go while a run lasts.

Dask is asked directly, not through joblib's backend: that one gives up a run when a task fails, cannot send a task to
a certain worker, and so can neither retry nor ship.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from videorestore.errors import InputError, VideoRestoreError
from videorestore.run import piecework
from videorestore.run.identity import built_from, files_of, fingerprint_once
from videorestore.run.store import TRIES, WorkFolder, alive
from videorestore.run.workers import alone

CHUNK = 32 << 20
"""Bytes of the input that travel at once."""

PATIENCE = 30
"""Seconds to wait for the first worker of a scheduler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """How a worker tells whether it has all it needs.

    Attributes
    ----------
    name : str
        Of this run, for the folder of what was shipped.
    content : str
        Fingerprint of the input and of the masks, without the times of their files.
    plan : str
        Digest of the plan.
    code : str
        Digest of the program and its libraries: another one would make other pixels.
    """

    name: str
    content: str
    plan: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a worker answers: the frames it made, the files where these have to travel, or that it lacks the input.

    ``unlike``: it has another version of the program, and made nothing.
    """

    worker: str
    number: int
    frames: int = 0
    files: dict[str, bytes] | None = None
    lacking: bool = False
    unlike: bool = False


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "--cluster needs Dask, which is not installed; run: pip install 'videorestore[cluster]'."
        ) from error
    # What goes wrong is told in one line; Dask and its loop would add pages of their own.
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"--cluster must be the address of a running scheduler, got {address!r}; start one or check the address."
        ) from error


def check_cluster(address: str) -> None:
    """Refuse an address at which no scheduler answers, one without workers, and workers that would make other pixels."""
    with _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise InputError(
                f"--cluster must have a worker, none came to {address!r} within {PATIENCE} s; start one."
            ) from error
        answers = client.run(_asker(), on_error="return")
    for worker, answer in answers.items():
        if answer != built_from():
            raise _unlike(worker, isinstance(answer, str) and not answer)


def _asker() -> Any:
    """A function that travels whole, so that it also runs where this package is missing or another."""

    def ask() -> str:
        try:
            from videorestore.run.identity import built_from
        except ImportError:
            return ""
        return built_from()

    return ask


def _unlike(worker: str, absent: bool = False) -> InputError:
    found = "has none" if absent else "has another or other libraries"
    return InputError(
        f"workers must have this very version of videorestore, {worker} {found}; install the same there."
    )


def make_pieces(
    assignment: piecework.Assignment, numbers: Sequence[int], folder: WorkFolder, address: str
) -> Iterator[int]:
    """Make the pieces with these numbers; gives the number of frames of each as it gets done.

    A worker that dies has its piece given to another, up to TRIES times.
    """
    assignment = replace(
        assignment, path=os.path.abspath(assignment.path), output=os.path.abspath(assignment.output)
    )
    plan = (folder.path / "plan").read_bytes()
    digest = hashlib.sha256(plan).hexdigest()
    ticket = Ticket(
        name=f"videorestore-{os.urandom(16).hex()}",
        content=_content(assignment),
        plan=digest,
        code=built_from(),
    )
    equipped: Counter[str] = Counter()
    with _client(address) as client:
        try:
            yield from _spread(client, assignment, numbers, folder, ticket, plan, equipped)
        except VideoRestoreError:
            raise
        except Exception as error:
            told = " ".join(str(error).split())[:200] or type(error).__name__
            raise VideoRestoreError(
                f"the cluster must last as long as the run, it did not ({told}); the same command goes on from here."
            ) from error
        finally:
            if equipped:
                with contextlib.suppress(Exception):
                    client.run(forget, ticket.name, on_error="ignore")


def _spread(
    client: Any,
    assignment: piecework.Assignment,
    numbers: Sequence[int],
    folder: WorkFolder,
    ticket: Ticket,
    plan: bytes,
    equipped: Counter[str],
) -> Iterator[int]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    def give(number: int) -> Any:
        return client.submit(remote_piece, assignment, number, ticket, pure=False, retries=TRIES)

    waiting = as_completed([give(number) for number in numbers], with_results=False)
    for future in waiting:
        try:
            done: Reply = future.result()
        except KilledWorker as error:
            raise VideoRestoreError(
                f"every piece must get done, one was lost with its worker {TRIES} times; "
                "give the workers more memory or lower --max-memory."
            ) from error
        if done.unlike:
            raise _unlike(done.worker)
        if done.lacking:
            equip(client, done.worker, assignment, ticket, plan, equipped)
            waiting.add(give(done.number))
            continue
        if done.files is not None:
            folder.adopt(done.number, done.files)
        yield done.frames


# -- on the workers ---------------------------------------------------------------------------------------------


def shipped_folder(name: str) -> Path:
    """Where a worker keeps what was shipped to it; each worker of a machine has its own."""
    return Path(tempfile.gettempdir()) / f"{name}-{os.getpid()}"


def _content(assignment: piecework.Assignment) -> str:
    paths = [assignment.path] + ([assignment.mask] if assignment.mask is not None else [])
    return "".join(fingerprint_once(path) for path in paths)


def sees(assignment: piecework.Assignment, ticket: Ticket) -> bool:
    """Whether this process reaches the very input and the very plan by their own paths, and may write there."""
    plan = WorkFolder(assignment.output).path / "plan"
    try:
        return (
            _content(assignment) == ticket.content
            and hashlib.sha256(plan.read_bytes()).hexdigest() == ticket.plan
            and os.access(plan.parent, os.W_OK)
        )
    except OSError:
        return False


def remote_piece(assignment: piecework.Assignment, number: int, ticket: Ticket) -> Reply:
    """Make one piece on a worker."""
    from distributed import get_worker

    worker = str(get_worker().address)
    if built_from() != ticket.code:
        return Reply(worker=worker, number=number, unlike=True)
    if sees(assignment, ticket):
        frames = alone(piecework.make_piece, assignment, number)
        return Reply(worker=worker, number=number, frames=frames)
    folder = shipped_folder(ticket.name)
    if not is_equipped(ticket.name):
        return Reply(worker=worker, number=number, lacking=True)
    local = replace(
        assignment,
        path=str(folder / "input" / Path(assignment.path).name),
        output=str(folder / Path(assignment.output).name),
        mask=None if assignment.mask is None else str(folder / "mask" / Path(assignment.mask).name),
    )
    frames = alone(piecework.make_piece, local, number)
    return Reply(
        worker=worker, number=number, frames=frames, files=WorkFolder(local.output).give_away(number)
    )


def is_equipped(name: str) -> bool:
    """Whether all that was shipped has arrived."""
    return (shipped_folder(name) / "complete").exists()


def receive(name: str, path: str, offset: int, content: bytes) -> int:
    """Store a part of a shipped file, for no eyes but this user's."""
    folder = shipped_folder(name)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (os.name == "posix" and folder.stat().st_uid != os.geteuid()):
        raise PermissionError(f"{folder} belongs to somebody else")
    _end_with_worker(name)
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("r+b" if offset else "wb") as stream:
        stream.seek(offset)
        stream.write(content)
    return len(content)


@cache
def _end_with_worker(name: str) -> None:
    """Remove what was shipped when this worker ends, even where the run that sent it was killed."""
    atexit.register(forget, name)
    sweep(Path(tempfile.gettempdir()))


def sweep(folder: Path) -> None:
    """Remove what workers of this user left behind that were killed: the last number of a name is its process."""
    for left in folder.glob("videorestore-*-*"):
        named = re.fullmatch(r"videorestore-[0-9a-f]{32}-(\d+)", left.name)
        with contextlib.suppress(OSError):
            mine = os.name != "posix" or left.lstat().st_uid == os.geteuid()
            if named and mine and not left.is_symlink() and not alive(int(named[1])):
                shutil.rmtree(left, ignore_errors=True)


def forget(name: str) -> None:
    """Remove what was shipped."""
    shutil.rmtree(shipped_folder(name), ignore_errors=True)


# -- on our side ------------------------------------------------------------------------------------------------


def equip(
    client: Any,
    worker: str,
    assignment: piecework.Assignment,
    ticket: Ticket,
    plan: bytes,
    equipped: Counter[str],
) -> None:
    """Ship to a worker that lacks the input, unless it has got it since it answered.

    One that was started anew under its old address has lost what it got and gets it again, up to TRIES times.
    """
    has = client.run(is_equipped, ticket.name, workers=[worker], on_error="ignore")
    if has.get(worker):
        return
    if equipped[worker] >= TRIES:
        raise VideoRestoreError(
            f"workers must keep the input that they are sent, {worker} did not; give it room in its temporary folder."
        )
    equipped[worker] += 1
    ship(client, worker, assignment, ticket, plan)


def ship(client: Any, worker: str, assignment: piecework.Assignment, ticket: Ticket, plan: bytes) -> None:
    """Send the input and the plan to one worker, part by part."""

    def send(path: str, offset: int, content: bytes) -> None:
        future = client.submit(
            receive,
            ticket.name,
            path,
            offset,
            content,
            workers=[worker],
            pure=False,
            allow_other_workers=False,
        )
        future.result()

    files = shipped_files(assignment.path, "input")
    if assignment.mask is not None:
        files += shipped_files(assignment.mask, "mask")
    for file, path in files:
        with file.open("rb") as stream:
            offset = 0
            while True:
                content = stream.read(CHUNK)
                if not content and offset:
                    break
                send(path, offset, content)
                offset += len(content)
                if len(content) < CHUNK:
                    break
    send(f"{WorkFolder(assignment.output).path.name}/plan", 0, plan)
    send("complete", 0, b"")


def shipped_files(path: str, place: str = "input") -> list[tuple[Path, str]]:
    """Files of an input and where they go: a file, the files of a folder, or what a pattern matches."""
    inside = f"{Path(path).name}/" if Path(path).is_dir() else ""
    return [(file, f"{place}/{inside}{file.name}") for file in files_of(path)]
