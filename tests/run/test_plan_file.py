"""Plans on the disk: what goes in comes out, and nothing else does."""

import dataclasses
import hashlib
import json
import os
import pickle
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from videorestore.make.masks import ArrayMasks
from videorestore.make.work import Piece
from videorestore.media.source import FrameIndex
from videorestore.run.plan_file import _DIGEST, _HEADER, _LENGTH, fits, pack, unpack
from videorestore.run.store import WorkFolder
from videorestore.spatial.noise import Noise

PIECE = Piece(index=0, start=0, stop=4, read_start=0, read_stop=6)


def same(a, b):
    """Equal in value and in kind, all the way down."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def test_everything_that_a_plan_may_hold_comes_back():
    value = (
        PIECE,
        Noise(sd=np.float32(0.1), per_channel=(1 / 3, float("inf"), float("nan"))),
        ArrayMasks(bits=np.arange(12, dtype=np.uint8).reshape(1, 3, 4), width=32),
        FrameIndex(times=(Fraction(1001, 30000),), durations=(Fraction(1),), statuses=("good",)),
        {"a": [1, None, True], 3: frozenset({5, 2}), "umlaut \udce4": b"\0\xff", "n": np.bool_(True)},
        np.zeros((0, 3), np.float32),
    )
    assert same(unpack(pack(value)), value)


def tampered(change):
    """A plan whose text was changed and whose digest is right again."""
    content = pack((PIECE, Noise(sd=1.0)))
    body = content[len(_HEADER) + _DIGEST :]
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    tree = json.loads(body[_LENGTH:end])
    change(tree)
    text = json.dumps(tree).encode()
    body = len(text).to_bytes(_LENGTH, "big") + text + body[end:]
    return _HEADER + hashlib.sha256(body).digest() + body


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["types"].__setitem__(0, ["os", "system", []]),
        lambda t: t["types"].__setitem__(0, ["subprocess", "Popen", []]),
        lambda t: t["types"].__setitem__(0, ["videorestore.run.store", "WorkFolder", []]),
        lambda t: t["types"].__setitem__(0, ["videorestore.run.store", "shutil", []]),
        lambda t: t["types"].__setitem__(0, ["videorestore.nowhere", "Piece", []]),
        lambda t: t["types"][0][2].pop(),
        lambda t: t["types"].clear(),
        lambda t: t["value"][1].__setitem__(2, "rm -rf"),
        lambda t: t["value"][1].__setitem__(2, 0.5),
        lambda t: t["value"][1].pop(),
        lambda t: t["value"][2].__setitem__(2, ["t"]),
        lambda t: t.__setitem__("value", ["x", 1]),
        lambda t: t.__setitem__("value", ["a", 0, "|O", [1]]),
        lambda t: t.__setitem__("value", ["a", 0, "<f8", [1 << 40]]),
        lambda t: t.__setitem__("value", ["a", -8, "<f8", [1]]),
        lambda t: t.__setitem__("value", ["q", "1/0"]),
        lambda t: t.pop("value"),
    ],
)
def test_a_plan_of_another_form_is_refused(change):
    assert unpack(tampered(lambda t: None))[0] == PIECE
    with pytest.raises(ValueError):
        unpack(tampered(change))


def test_one_flipped_bit_anywhere_is_seen():
    content = pack((PIECE, np.arange(9)))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 4
        with pytest.raises(ValueError):
            unpack(bytes(damaged))


def test_what_a_plan_cannot_hold_is_refused_at_once():
    with pytest.raises(TypeError, match="a plan must hold"):
        pack({"open": sys.stdout})


def test_annotations_are_looked_at():
    assert fits((1, 2), tuple[int, int]) and not fits((1, 2, 3), tuple[int, int])
    assert (
        fits((), tuple[int, ...]) and not fits([1], tuple[int, ...]) and not fits((1, "a"), tuple[int, ...])
    )
    assert fits({1: 2.0}, dict[int, float]) and not fits({1: "a"}, dict[int, float])
    assert fits(None, int | None) and not fits("a", int | None)
    assert fits(frozenset({1}), frozenset[int]) and not fits(frozenset({"a"}), frozenset[int])
    assert fits(True, bool) and not fits(1, bool) and fits(1, float) and not fits("1", float)


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.system, (f"touch {self.trace}",)


def test_a_planted_plan_is_not_executed(tmp_path):
    folder, trace = WorkFolder(str(tmp_path / "out.mkv")), tmp_path / "trace"
    folder.open({}, resume=True)
    (folder.path / "plan").write_bytes(pickle.dumps(Bomb(trace)))
    assert not folder.planned() and not trace.exists()
