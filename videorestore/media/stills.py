"""Outputs that hold pictures only: a folder of PNG files, a TIFF with many pages, a NumPy array."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, Any

import numpy as np

from videorestore.clip import Frame, Samples
from videorestore.colour import to_rgb
from videorestore.errors import MediaWriteError
from videorestore.media.outputs import OutputShape

_CLASSIC_LIMIT = 4_200_000_000
"""Bytes that the positions in a classic TIFF file can reach, with some room."""


class StillWriter(ABC):
    """Takes frames one by one.

    Parameters
    ----------
    part : str
        Where it writes: a name that is free, in a folder of ours.
    shape : OutputShape
    """

    def __init__(self, part: str, shape: OutputShape) -> None:
        self.part = part
        self.shape = shape
        self.count = 0

    def write(self, frame: Frame) -> None:
        """Add the next frame."""
        self._write(to_rgb(frame))
        self.count += 1

    @abstractmethod
    def _write(self, picture: Samples) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Write what remains and check it."""

    @abstractmethod
    def abort(self) -> None:
        """Remove what was written."""


def _four_channels(picture: Samples) -> Samples:
    """Grey with alpha as RGBA, for files that have no such form."""
    return picture[:, :, [0, 0, 0, 1]] if picture.shape[2] == 2 else picture


class FolderWriter(StillWriter):
    """Numbered PNG files, 8 or 16 bit."""

    def __init__(self, part: str, shape: OutputShape) -> None:
        super().__init__(part, shape)
        self._digits = max(6, len(str(max(shape.n_frames - 1, 0))))
        os.mkdir(self.part)

    def _write(self, picture: Samples) -> None:
        import cv2

        if picture.dtype == np.float32:
            picture = np.rint(np.clip(np.nan_to_num(picture), 0.0, 1.0) * 65535.0).astype(np.uint16)
        picture = _four_channels(picture)
        if picture.shape[2] >= 3:
            picture = picture[:, :, [2, 1, 0, 3][: picture.shape[2]]]
        done, data = cv2.imencode(".png", np.ascontiguousarray(picture))
        if not done:
            raise MediaWriteError(
                f"frame {self.count} must encode as PNG, it did not; choose another output."
            )
        with open(os.path.join(self.part, f"{self.count:0{self._digits}d}.png"), "wb") as file:
            file.write(data.tobytes())

    def finish(self) -> None:
        names = sorted(os.listdir(self.part))
        if len(names) != self.count:
            raise MediaWriteError(
                f"the folder must hold {self.count} files, it holds {len(names)}; write it again."
            )
        for name in names:
            with open(os.path.join(self.part, name), "rb") as file:
                head = file.read(8)
                file.seek(-12, os.SEEK_END)
                if head != b"\x89PNG\r\n\x1a\n" or file.read()[4:8] != b"IEND":
                    raise MediaWriteError(f"{name} must be a whole PNG file, it is not; write it again.")

    def abort(self) -> None:
        shutil.rmtree(self.part, ignore_errors=True)


class _FileWriter(StillWriter):
    def __init__(self, part: str, shape: OutputShape) -> None:
        super().__init__(part, shape)
        self._file: IO[bytes] = open(self.part, "x+b")  # noqa: SIM115 - closed in finish or abort

    def _close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abort(self) -> None:
        # What is still in the buffer may not fit on the disk any more.
        with contextlib.suppress(OSError):
            self._file.close()
        Path(self.part).unlink(missing_ok=True)


class ArrayWriter(_FileWriter):
    """One ``.npy`` array ``(n, height, width[, channels])``, written frame by frame."""

    def __init__(self, part: str, shape: OutputShape) -> None:
        super().__init__(part, shape)
        self._layout: tuple[tuple[int, ...], np.dtype[Any]] | None = None
        self._header = b""

    def _start(self, picture: Samples) -> None:
        grey = picture.shape[2] == 1 and self.shape.info.extra.get("axes", 3) == 3
        self._layout = (picture.shape[:2] if grey else picture.shape), picture.dtype
        self._header = self._make_header(max(self.shape.n_frames, 1))
        self._file.write(self._header)

    def _make_header(self, n: int) -> bytes:
        import io

        assert self._layout is not None
        shape, dtype = self._layout
        text = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            text, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, *shape)}
        )
        return text.getvalue()

    def _write(self, picture: Samples) -> None:
        if self._layout is None:
            self._start(picture)
        self._file.write(np.ascontiguousarray(picture).data)

    def finish(self) -> None:
        header = self._make_header(self.count)
        if len(header) != len(self._header):
            raise MediaWriteError("the array's header must keep its size, it did not; write it again.")
        self._file.seek(0)
        self._file.write(header)
        self._close()
        array = np.load(self.part, mmap_mode="r", allow_pickle=False)
        if len(array) != self.count:
            raise MediaWriteError(
                f"the array must hold {self.count} frames, it holds {len(array)}; write it again."
            )
        del array


class TiffWriter(_FileWriter):
    """Pages of a TIFF file, compressed without loss; BigTIFF where four gigabytes might not do."""

    def __init__(self, part: str, shape: OutputShape) -> None:
        super().__init__(part, shape)
        raw = shape.n_frames * shape.height * shape.width * 4 * shape.info.format.dtype.itemsize
        self._big = raw > _CLASSIC_LIMIT
        self._link = 8 if self._big else 4
        head = struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0) if self._big else struct.pack("<2sHI", b"II", 42, 0)
        self._file.write(head)

    def _write(self, picture: Samples) -> None:
        picture = _four_channels(picture)
        if not self._big and self._file.tell() + picture.nbytes > _CLASSIC_LIMIT:
            raise MediaWriteError(
                "a TIFF file of this kind must stay below 4 GB, it does not; write .npy or a folder."
            )
        height, width, channels = picture.shape
        rows = max(1, min(height, (1 << 20) // max(1, width * channels * picture.itemsize)))
        offsets, sizes = [], []
        for top in range(0, height, rows):
            strip = np.ascontiguousarray(picture[top : top + rows])
            if strip.dtype.kind == "u":
                # Differences between neighbours compress better (predictor 2).
                strip[:, 1:] = (
                    strip[:, 1:] - strip[:, :-1] if strip is not picture else np.diff(strip, axis=1)
                )
            data = zlib.compress(strip.data, 6)
            offsets.append(self._file.tell())
            sizes.append(len(data))
            self._file.write(data)
        self._directory(picture, rows, offsets, sizes)

    def _directory(self, picture: Samples, rows: int, offsets: list[int], sizes: list[int]) -> None:
        height, width, channels = picture.shape
        bits = picture.itemsize * 8
        long = 16 if self._big else 4
        entries: list[tuple[int, int, list[int]]] = [
            (256, 4, [width]),
            (257, 4, [height]),
            (258, 3, [bits] * channels),
            (259, 3, [8]),
            (262, 3, [2 if channels >= 3 else 1]),
            (273, long, offsets),
            (277, 3, [channels]),
            (278, 4, [rows]),
            (279, long, sizes),
            (284, 3, [1]),
            (317, 3, [2 if picture.dtype.kind == "u" else 1]),
        ]
        if channels == 4:
            entries.append((338, 3, [2]))
        entries.append((339, 3, [3 if picture.dtype.kind == "f" else 1] * channels))
        codes = {3: "H", 4: "I", 16: "Q"}
        room, place_code = (8, "<Q") if self._big else (4, "<I")
        packed = []
        for tag, kind, values in entries:
            body = struct.pack(f"<{len(values)}{codes[kind]}", *values)
            if len(body) > room:
                place = self._file.tell()
                self._file.write(body)
                body = struct.pack(place_code, place)
            packed.append(
                struct.pack("<HHQ" if self._big else "<HHI", tag, kind, len(values)) + body.ljust(room, b"\0")
            )
        if self._file.tell() % 2:
            self._file.write(b"\0")
        start = self._file.tell()
        self._file.write(struct.pack("<Q" if self._big else "<H", len(packed)) + b"".join(packed))
        link = self._file.tell()
        self._file.write(struct.pack(place_code, 0))
        end = self._file.tell()
        self._file.seek(self._link)
        self._file.write(struct.pack(place_code, start))
        self._file.seek(end)
        self._link = link

    def finish(self) -> None:
        import cv2

        self._close()
        found = int(cv2.imcount(self.part, cv2.IMREAD_UNCHANGED))
        if found != self.count:
            raise MediaWriteError(
                f"the TIFF file must hold {self.count} pages, it holds {found}; write it again."
            )
