"""The pipe through which raw frames reach FFmpeg.

Frames travel as raw video inside NUT, so that FFmpeg learns size, pixel format and time base from the stream itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from typing import IO, Any

from videorestore import pulse
from videorestore.clip import Frame, PixelFormat
from videorestore.errors import EncoderLostError, MediaWriteError
from videorestore.media.pixels import as_piped, ffmpeg_name, pack, packed_size

LOOK, TAIL = 0.5, 2000
"""Seconds between two looks at how far an encoder is, and bytes of the end of what it says of that."""


def ffmpeg() -> str:
    """The FFmpeg binary that comes with imageio-ffmpeg."""
    import imageio_ffmpeg

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise MediaWriteError(
            "an FFmpeg binary must be installed, found none; reinstall the package imageio-ffmpeg."
        ) from error


class RawPipe:
    """FFmpeg as a process that takes frames.

    Parameters
    ----------
    piped : PixelFormat
        Format of the frames in the pipe.
    height, width : int
    time_base : Fraction
        Unit of the frames' stamps.
    arguments : sequence of str
        What follows the input on FFmpeg's command line: filters, encoder, output.
    what : str
        What FFmpeg does, for messages.
    """

    def __init__(
        self,
        piped: PixelFormat,
        height: int,
        width: int,
        time_base: Fraction,
        arguments: Sequence[str],
        what: str,
    ) -> None:
        import av

        self.count = 0
        self._piped = piped
        self._time_base = time_base
        self._what = what
        self._size = packed_size(piped, height, width)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        command = [ffmpeg(), "-nostdin", "-hide_banner", "-v", "error", "-y", "-filter_threads", "2"]
        # How far it is goes to its stdout: `frame=12` now and then.
        command += ["-progress", "pipe:1"]
        # Nothing is probed: the header of the stream says it all, and a guessed rate would vary with the content.
        command += ["-fpsprobesize", "0", "-analyzeduration", "0", "-f", "nut", "-i", "pipe:0", *arguments]
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        read_end, write_end = os.pipe()
        self._fd: int | None = write_end
        self._muxer: Any = None
        try:
            _widen(write_end)
            # Its own session: a Ctrl-C is meant for us, and we end the encoder in order.
            self._process = subprocess.Popen(
                command, stdin=read_end, stdout=self._said, stderr=self._log, start_new_session=True
            )
        except OSError as error:
            os.close(write_end)
            raise MediaWriteError(
                f"FFmpeg must start, got: {error.strerror}; check the installation."
            ) from error
        finally:
            os.close(read_end)
        try:
            self._muxer = av.open(f"pipe:{write_end}", "w", format="nut")
            self._stream = self._muxer.add_stream("rawvideo", rate=1 / time_base)
            self._stream.width, self._stream.height = width, height
            self._stream.pix_fmt = ffmpeg_name(piped)
            self._stream.time_base = time_base
            self._stream.codec_context.time_base = time_base
            self._muxer.start_encoding()
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise self._failure() from error
        except BaseException:
            self.abort()
            raise

    def write(self, frame: Frame, stamp: int | None = None, duration: int = 1) -> None:
        """Send the next frame; without a stamp it gets its number."""
        import av

        packet = av.Packet(self._size)
        pack(as_piped(frame, self._piped), self._piped, packet)
        packet.stream = self._stream
        packet.time_base = self._time_base
        packet.pts = packet.dts = self.count if stamp is None else stamp
        packet.duration = duration
        packet.is_keyframe = True
        try:
            self._muxer.mux_one(packet)
        except (av.error.FFmpegError, OSError) as error:
            raise self._failure() from error
        self.count += 1

    def finish(self) -> None:
        """Wait until FFmpeg is done; an error carries its last lines."""
        import av

        try:
            self._muxer.close()
        except (av.error.FFmpegError, OSError) as error:
            raise self._failure() from error
        self._close_pipe()
        while self._process.poll() is None:
            pulse.at(min(1.0, self._coded() / max(1, self.count)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=LOOK)
        if self._process.returncode != 0:
            raise self._failure()
        self._log.close()
        self._said.close()

    def _coded(self) -> int:
        """Frames that FFmpeg says it has coded."""
        size = os.fstat(self._said.fileno()).st_size
        said = re.findall(rb"^frame=\s*(\d+)", os.pread(self._said.fileno(), TAIL, max(0, size - TAIL)), re.M)
        return int(said[-1]) if said else 0

    def abort(self) -> None:
        """End the process without a result; does nothing after `finish`."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._muxer is not None:
            # The reader of the pipe is gone on purpose; what the muxer still wanted to say does not matter.
            with contextlib.suppress(Exception):
                self._muxer.close()
        self._close_pipe()
        self._log.close()
        self._said.close()

    def _close_pipe(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _failure(self) -> MediaWriteError:
        self._close_pipe()
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._log.seek(0)
        return ffmpeg_error(self._log.read().decode("utf-8", "replace"), code, self._what)


_ECHO = re.compile(
    r"Terminating thread|Task finished|Nothing was written|Error (sending|submitting|muxing|writing)"
)


def run_ffmpeg(arguments: Sequence[str], what: str) -> str:
    """Run FFmpeg to its end; gives what it writes to its output, an error carries its last lines."""
    command = [ffmpeg(), "-nostdin", "-hide_banner", "-v", "error", "-y", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, start_new_session=True)
    if done.returncode != 0:
        raise ffmpeg_error(done.stderr.decode("utf-8", "replace"), done.returncode, what)
    return done.stdout.decode("utf-8", "replace")


def ffmpeg_error(log: str, code: int, what: str) -> MediaWriteError:
    """One line from the last lines of FFmpeg, with the remedy."""
    lines = [re.sub(r" @ 0x[0-9a-f]+", "", line.strip()) for line in log.splitlines() if line.strip()]
    # One cause ends all threads of FFmpeg, and each of them says so.
    lines = [line for line in lines if not _ECHO.search(line)] or lines
    if code == -signal.SIGXFSZ or "No space left" in log or "File too large" in log:
        return MediaWriteError(
            "there must be room for the output, the disk is full or a file size limit is reached; free some space."
        )
    if code in (-signal.SIGKILL, -signal.SIGTERM):
        return EncoderLostError(
            f"FFmpeg must be left to {what}, it was ended by signal {-code}; run again (is the memory full?)."
        )
    tail = " | ".join(lines[-3:]) or (f"signal {-code}" if code < 0 else f"exit status {code}")
    return MediaWriteError(f"FFmpeg must {what}, it failed: {tail}; check codec, pixel format and arguments.")


def _widen(fd: int) -> None:
    """A larger pipe saves switches between the processes; where the system has none, nothing is lost."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (ImportError, AttributeError, OSError):
        pass
