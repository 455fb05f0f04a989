"""``-`` as INPUT or OUTPUT: uncompressed YUV4MPEG2 (y4m), as FFmpeg and VapourSynth pass it on.

A clip is looked at twice, so that what comes through a pipe is put down first, and what goes into one is made whole first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

from videorestore.cli.environment import Environment
from videorestore.cli.parser import Command
from videorestore.cli.status import ReaderGone, UsageError
from videorestore.errors import MediaReadError, MediaWriteError

PIPE = "-"
MAGIC = b"YUV4MPEG2 "
BLOCK = 1 << 20


def check(command: Command) -> None:
    """Refuse what a pipe cannot do, before anything is read from it."""
    if command.output != PIPE:
        return
    if command.telling.json:
        raise UsageError(
            "stdout must carry one thing, got --json and -o -; write the result to a file for --json."
        )
    if not hasattr(command.options, "codec"):
        raise UsageError(f"{command.verb} writes a page, got -o -; name a file.")
    if command.options.codec:
        raise UsageError("y4m has no codec, got --codec with -o -; leave it out, or name a file.")


@contextmanager
def places(command: Command, environment: Environment) -> Iterator[tuple[str, str | None, Any]]:
    """INPUT, OUTPUT and options as the work must take them; what goes into a pipe is sent at the end."""
    source = PIPE if command.input == PIPE else environment.path(command.input)
    output = command.output if command.output in (None, PIPE) else environment.path(command.output)
    options = command.options
    with ExitStack() as stack:
        if PIPE in (source, output):
            beside = os.path.dirname(os.path.abspath(output)) if output not in (None, PIPE) else None
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix=".videorestore-", dir=beside if _writable(beside) else None
                )
            )
        if source == PIPE:
            source = os.path.join(folder, "stdin.y4m")
            _put_down(environment.stdin, source)
        if output == PIPE:
            output = os.path.join(folder, "stdout.mkv")
            options = replace(options, codec="ffv1")
        yield source, output, options
        if command.output == PIPE and output is not None and os.path.exists(output):
            _send(output, environment)


def _writable(folder: str | None) -> bool:
    return folder is not None and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _put_down(stream: BinaryIO | None, path: str) -> None:
    head = stream.read(len(MAGIC)) if stream is not None else b""
    if stream is None or head != MAGIC:
        raise MediaReadError(
            f"a pipe must bring y4m, got {head[:10]!r}; write ffmpeg -i FILE -f yuv4mpegpipe -strict -1 - | videorestore ..."
        )
    try:
        with open(path, "wb") as file:
            file.write(head)
            shutil.copyfileobj(stream, file, BLOCK)
    except OSError as error:
        raise MediaWriteError(
            f"the disk must have room for what the pipe brings, got: {error.strerror}; free some, or set TMPDIR."
        ) from error


def _send(path: str, environment: Environment) -> None:
    """Decode a result and write it to stdout; formats that y4m lacks become the nearest that it has."""
    from videorestore.media import open_source
    from videorestore.media.pipe import ffmpeg
    from videorestore.media.probe import READING_WORDS

    with open_source(path) as source:
        form = source.info.format
    depth = 8 if form.depth == 8 else next((d for d in (10, 12, 14, 16) if form.depth <= d), 16)
    deep = "" if depth == 8 else f"p{depth}le" if form.model != "grey" else f"{depth}le"
    chroma = {(1, 1): "420", (1, 0): "422", (0, 0): "444"}.get(form.subsampling, "444")
    if form.model == "grey":
        name = f"gray{deep}"
    else:
        name = f"yuv{chroma if form.model == 'yuv' else '444'}{deep or 'p'}"
    words = [ffmpeg(), "-v", "error", *READING_WORDS, "-i", f"file:{path}", "-map", "0:v:0"]
    words += ["-fps_mode", "passthrough", "-pix_fmt", name, "-strict", "-1", "-f", "yuv4mpegpipe", "-"]
    target = getattr(environment.stdout, "buffer", environment.stdout)
    environment.stdout.flush()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            shutil.copyfileobj(process.stdout, target, BLOCK)
            target.flush()
        except BrokenPipeError as error:
            process.kill()
            raise ReaderGone from error
        said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    if process.returncode:
        raise MediaWriteError(
            f"the result must go through the pipe, got: {said[-1] if said else process.returncode}; name a file instead."
        )
