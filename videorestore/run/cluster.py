"""Pieces on the workers of a Dask scheduler.

A worker that sees the input and the work folder under their own paths uses them. To one that does not, the input and
the plan are shipped once, in parts, and what it makes comes back as bytes. Who sees what is found out by the workers
themselves, so that they may come and go while a run lasts.

Dask is asked directly, not through joblib's backend: that one gives up a run when a task fails, cannot send a task to
a certain worker, and so can neither retry nor ship.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from videorestore.errors import InputError, VideoRestoreError
from videorestore.run import piecework
from videorestore.run.store import WorkFolder, fingerprint
from videorestore.run.workers import TRIES, alone

CHUNK = 32 << 20
"""Bytes of the input that travel at once."""


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
    """

    name: str
    content: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a worker answers: the frames it made, the files where these have to travel, or that it lacks the input."""

    worker: str
    number: int
    frames: int = 0
    files: dict[str, bytes] | None = None
    lacking: bool = False


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "--cluster needs Dask, which is not installed; run: pip install 'videorestore[cluster]'."
        ) from error
    try:
        return Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"--cluster must be the address of a running scheduler, got {address!r}; start one or check the address."
        ) from error


def check_cluster(address: str) -> None:
    """Refuse an address at which no scheduler answers."""
    _client(address).close()


def spread(
    assignment: piecework.Assignment, numbers: Sequence[int], folder: WorkFolder, address: str
) -> Iterator[int]:
    """Make the pieces with these numbers; gives the number of frames of each as it gets done.

    A worker that dies has its piece given to another, up to TRIES times.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    assignment = replace(
        assignment, path=os.path.abspath(assignment.path), output=os.path.abspath(assignment.output)
    )
    plan = (folder.path / "plan").read_bytes()
    digest = hashlib.sha256(plan).hexdigest()
    ticket = Ticket(name=f"videorestore-{digest[:16]}", content=_content(assignment), plan=digest)
    equipped: Counter[str] = Counter()
    with _client(address) as client:

        def give(number: int) -> Any:
            return client.submit(remote_piece, assignment, number, ticket, pure=False, retries=TRIES)

        waiting = as_completed([give(number) for number in numbers], with_results=False)
        try:
            for future in waiting:
                try:
                    done: Delivery = future.result()
                except KilledWorker as error:
                    raise VideoRestoreError(
                        f"every piece must get done, one was lost with its worker {TRIES} times; "
                        "give the workers more memory or lower --max-memory."
                    ) from error
                if done.lacking:
                    equip(client, done.worker, assignment, ticket, plan, equipped)
                    waiting.add(give(done.number))
                    continue
                if done.files is not None:
                    folder.adopt(done.number, done.files)
                yield done.frames
        finally:
            if equipped:
                client.run(forget, ticket.name, on_error="ignore")


# -- on the workers ---------------------------------------------------------------------------------------------


def shipped_folder(name: str) -> Path:
    """Where a worker keeps what was shipped to it; each worker of a machine has its own."""
    return Path(tempfile.gettempdir()) / f"{name}-{os.getpid()}"


def _content(assignment: piecework.Assignment) -> str:
    paths = [assignment.path] + ([assignment.mask] if assignment.mask is not None else [])
    return "".join(fingerprint(path, times=False) for path in paths)


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


def remote_piece(assignment: piecework.Assignment, number: int, ticket: Ticket) -> Delivery:
    """Make one piece on a worker."""
    from distributed import get_worker

    worker = str(get_worker().address)
    if sees(assignment, ticket):
        frames = alone(piecework.make_piece, assignment, number)
        return Delivery(worker=worker, number=number, frames=frames)
    folder = shipped_folder(ticket.name)
    if not is_equipped(ticket.name):
        return Delivery(worker=worker, number=number, lacking=True)
    local = replace(
        assignment,
        path=str(folder / "input" / Path(assignment.path).name),
        output=str(folder / Path(assignment.output).name),
        mask=None if assignment.mask is None else str(folder / "mask" / Path(assignment.mask).name),
    )
    frames = alone(piecework.make_piece, local, number)
    return Delivery(
        worker=worker, number=number, frames=frames, files=WorkFolder(local.output).give_away(number)
    )


def is_equipped(name: str) -> bool:
    """Whether all that was shipped has arrived."""
    return (shipped_folder(name) / "complete").exists()


def receive(name: str, path: str, offset: int, content: bytes) -> int:
    """Store a part of a shipped file."""
    target = shipped_folder(name) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("r+b" if offset else "wb") as stream:
        stream.seek(offset)
        stream.write(content)
    return len(content)


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
    whole = Path(path)
    if whole.is_dir():
        return [(f, f"{place}/{whole.name}/{f.name}") for f in sorted(whole.iterdir()) if f.is_file()]
    found = [whole] if whole.exists() else [Path(p) for p in sorted(glob.glob(path))]
    return [(f, f"{place}/{f.name}") for f in found]
