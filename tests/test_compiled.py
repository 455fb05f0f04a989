"""Loops in threads: every index once, whatever the number of threads; errors come through; forks are survived.

Compiled code has the same bits in the process that compiles it and in those that load it.
"""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from videorestore import compiled
from videorestore.compiled import PIECES, in_threads, parallel_kernel, set_thread_count, thread_count


@parallel_kernel(lambda out, step: out.size, grain=3)
def count_up(start, stop, out, step):
    """Add ``step`` to every element."""
    for i in range(start, stop):
        out[i] += step


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    before = set_thread_count(request.param)
    yield request.param
    set_thread_count(before)


@pytest.mark.kernel
@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_every_index_is_visited_once(threads, size):
    out = np.zeros(size)
    count_up(out, 1.0)
    assert np.array_equal(out, np.ones(size))


def test_a_loop_keeps_its_name_and_its_words():
    assert count_up.__name__ == "count_up" and "every element" in count_up.__doc__


@parallel_kernel(lambda out: out.size, grain=2)
def mark_parts(start, stop, out):
    """Write where each element's part begins."""
    for i in range(start, stop):
        out[i] = start


def test_parts_do_not_depend_on_the_number_of_threads():
    made = []
    for threads in (1, 4):
        out = np.full(10 * PIECES + 3, -1)
        before = set_thread_count(threads)
        try:
            mark_parts(out)
        finally:
            set_thread_count(before)
        made.append(out)
    assert len(np.unique(made[0])) == PIECES
    assert np.array_equal(*made)


def test_results_come_in_the_order_of_the_items(threads):
    assert in_threads(lambda k: k * k, range(50)) == [k * k for k in range(50)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_loops_inside_loops_end(threads):
    before = set_thread_count(threads)
    try:
        sums = in_threads(lambda k: sum(in_threads(lambda j: j + k, range(20))), range(30))
    finally:
        set_thread_count(before)
    assert sums == [190 + 20 * k for k in range(30)]


def test_several_threads_take_part():
    before = set_thread_count(3)
    barrier = threading.Barrier(3, timeout=30)
    try:
        in_threads(lambda _: barrier.wait(), [0, 1, 2])
    finally:
        set_thread_count(before)


def test_an_error_comes_through_and_the_pool_goes_on(threads):
    def fail(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item"):
        in_threads(fail, [0, 1, 2, 3])
    out = np.zeros(50)
    count_up(out, 2.0)
    assert out.sum() == 100.0


def test_the_count_is_at_least_one_and_what_it_was_comes_back():
    before = thread_count()
    assert set_thread_count(0) == before
    assert set_thread_count(before) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, which this platform lacks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own():
    before = set_thread_count(2)
    try:
        count_up(np.zeros(50), 1.0)
        child = os.fork()
        if child == 0:
            out = np.zeros(50)
            count_up(out, 1.0)
            os._exit(0 if out.sum() == 50 else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        set_thread_count(before)


POSTERIOR = """
import sys
import numpy as np
from videorestore.spatial._kernels_patches import posterior
rng = np.random.default_rng(0)
most, d, m, own = 48, 192, 46, 9
rows = np.zeros((3, most, d), np.float32)
rows[:2, :m] = rng.normal(0, 3, (2, m, d))
room = (np.zeros(shape, np.float32) for shape in ((2, d, most), (4, most, most), (most, 4), (2, d)))
share = posterior(rows, *room, m, own, d)
print(rows[2, :own].tobytes().hex(), share, sum(posterior.dispatcher.stats.cache_hits.values()), "scipy.linalg" in sys.modules)
"""


def test_compiled_and_loaded_kernels_give_the_same_bits(tmp_path):
    root = Path(__file__).parents[1]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    runs = [
        subprocess.run(
            [sys.executable, "-c", POSTERIOR], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    # Only compiling takes SciPy, whose import is slower than a small clip.
    assert runs[1].pop() == "False" and runs[0].pop()
    assert [int(run.pop()) for run in runs] == [0, 1]
    assert runs[0] == runs[1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock, which this platform lacks")
def test_nobody_compiles_what_another_is_at(tmp_path):
    order, inside, leave = [], threading.Event(), threading.Event()

    def first():
        with compiled._alone(str(tmp_path), "kernel"):
            inside.set()
            leave.wait(30)
            order.append("first")

    def second():
        with compiled._alone(str(tmp_path), "kernel"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    (tmp_path / "file").touch()
    # Another kernel, and a folder that cannot be.
    with (
        compiled._alone(str(tmp_path), "other"),
        compiled._alone(str(tmp_path / "file" / "folder"), "kernel"),
    ):
        order.append("other")
    leave.set()
    for thread in threads:
        thread.join(30)
    assert order == ["other", "first", "second"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock, which this platform lacks")
def test_nobody_waits_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "PATIENCE", 0.1)
    with compiled._alone(str(tmp_path), "kernel"), compiled._alone(str(tmp_path), "kernel"):
        pass


def test_kernels_of_other_sources_are_compiled_anew(tmp_path):
    """What is inlined stands in other files, which Numba does not look at: an upgrade would run half of the old code."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    hits = []
    for sources in ("one", "one", "other"):
        program = f"""
from videorestore import compiled
compiled.sources = lambda: {sources!r}
import numpy as np
from videorestore.spatial._kernels_noise import look_up
table = np.zeros(2, np.float32)
look_up(table, table, 0.0, 1.0, table)
print(sum(look_up.dispatcher.stats.cache_hits.values()))
"""
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        hits.append(int(done.stdout))
    assert hits == [0, 1, 0]


def test_without_a_writable_cache_it_works_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(compiled, "_uncached", [])

    def increase(x):
        return x + 1

    assert compiled.has_cache()
    assert compiled.kernel(increase)(1) == 2
    assert not compiled.has_cache()


@compiled.kernel
def twice(x):
    return 2 * x


@compiled.kernel
def thrice(x):
    return twice(x) + x


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_kernel_is_made_known_when_it_is_called_and_once_for_all_threads() -> None:
    before = numba.config.OPT
    assert "dispatcher" not in vars(thrice)
    assert gc.isenabled()
    found = in_threads(lambda k: (id(thrice.dispatcher), thrice(k)), range(8))
    assert len({which for which, _ in found}) == 1
    assert [value for _, value in found] == [3 * k for k in range(8)]
    # Inlined, it is never called by itself; and what others compile is compiled as hard as before.
    assert "dispatcher" not in vars(twice)
    assert before == numba.config.OPT
    assert gc.isenabled()


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_sought_while_a_kernel_is_compiled(collects: bool) -> None:
    """Kernels are compiled while others are; afterwards garbage is sought by whoever wanted it before."""
    compile_ = compiled._at_level(
        lambda: (gc.isenabled(), compiled._at_level(gc.isenabled)(), gc.isenabled())
    )
    try:
        if not collects:
            gc.disable()
        assert compile_() == (False, False, False)
        assert gc.isenabled() == collects
    finally:
        gc.enable()
