"""The one door through which everything is compiled, and the threads that compiled loops run in.

NaN marks missing values, so the flags that assume finite numbers (``nnan``, ``ninf``) stay off.

Loops are spread over threads here and not by Numba's ``prange``: that compiles the loop and all it calls a second
time, and the wait for the first picture more than doubles.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from videorestore import pulse

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Args = ParamSpec("_Args")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

FLAGS = {"nsz", "arcp", "contract", "afn", "reassoc"}

LEVEL = 1
"""How hard LLVM tries, 0 to 3. Loops become vectors at 1 already; 3 is twice the wait for code that is as fast."""

PIECES = 16
"""Most parts that a loop is cut into; fixed, so that no bit depends on the number of threads."""

PATIENCE = 60.0
"""Seconds that a process waits for what another one compiles, several times what any kernel takes: it may have been stopped."""


def kernel(function: _Function) -> _Function:
    """Compile a serial kernel, without the GIL, cached on disk.

    Kernels are inlined where others call them. A call would be bound to the callee's own code in the process that
    compiles, and to the caller's copy of it in those that load the cache; the two round differently.
    """
    return function if numba.config.DISABLE_JIT else _Kernel(function)  # type: ignore[return-value]


class _Kernel:
    """A function that Numba hears of when it is first called, or inlined: most runs need few of all kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.dispatcher(*args, **kwargs)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's own face of it, of which there must be one however many threads begin at once."""
        with self._lock:
            if "dispatcher" in self.__dict__:
                return self.__dict__["dispatcher"]
            made = _dispatcher(self._function, no_cfunc_wrapper=True)
            try:
                made._cache = _Kept(self._function)
            except RuntimeError:
                # No folder can be written to: neither the package's own, nor one of the user's.
                _uncached.append(self.__name__)  # type: ignore[attr-defined]
            self.__dict__["dispatcher"] = made
            return made

    @functools.cached_property
    def _inlined(self) -> Any:
        made = _dispatcher(self._function, no_cfunc_wrapper=True, no_cpython_wrapper=True)
        made._compiler.compile = _unfinished(made._compiler.compile)
        return made

    @property
    def _numba_type_(self) -> Any:
        """How Numba takes it where another kernel names it, and inlines it: nothing in Python ever calls that."""
        return self._inlined._numba_type_


def _dispatcher(function: Callable[..., Any], **options: bool) -> Any:
    made: Any = numba.njit(nogil=True, fastmath=FLAGS, forceinline=True, **options)(function)
    made._compiler.compile = _at_level(made._compiler.compile)
    return made


def _at_level(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's compiler with `LEVEL` instead of its own; it holds its lock meanwhile, so that nobody else compiles.

    The garbage collector rests: again and again it would go through all that a compiler holds, for a seventh of the time.
    """

    def compiled(*args: Any) -> Any:
        before, collects = numba.config.OPT, gc.isenabled()
        numba.config.OPT = type(before)(LEVEL)
        gc.disable()
        try:
            return compile_(*args)
        finally:
            numba.config.OPT = before
            if collects:
                gc.enable()

    return compiled


def _unfinished(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's compiler for what is only inlined: whoever inlines it optimises it, and nobody needs machine code of it alone."""

    def compiled(*args: Any) -> Any:
        from numba.core.registry import cpu_target

        codegen = cpu_target.target_context.codegen()
        before, codegen._library_class = codegen._library_class, _ingredient()
        try:
            return compile_(*args)
        finally:
            codegen._library_class = before

    return compiled


@functools.cache
def _ingredient() -> type:
    """Numba's library of code, without the last steps."""
    from numba.core.codegen import JITCodeLibrary

    class Ingredient(JITCodeLibrary):  # type: ignore[misc]
        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, env: Any) -> None:
            """Only machine code has a place for it."""

        def get_pointer_to_function(self, name: str) -> int:
            return 0

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

    return Ingredient


class _Kept(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk.

    Numba's own cache loads all that compiling takes, SciPy among it, before it looks whether there is anything to compile;
    and of several processes each compiles what the others are at.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Numba asks whether the function's own file has changed. What it calls is inlined, and stands in other files too.
        kept = self._cache_file
        kept._source_stamp = (kept._source_stamp, sources())
        self._lock = contextlib.ExitStack()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for these types; None where this process is to compile it, and no other does meanwhile."""
        rtsys.initialize(target_context)
        found = self._load_overload(sig, target_context)
        if found is None:
            self._lock.enter_context(_alone(self._cache_path, self._impl.filename_base))
            found = self._load_overload(sig, target_context)
            if found is not None:
                self._lock.close()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        with self._lock:
            super().save_overload(sig, data)


@contextlib.contextmanager
def _alone(folder: str, name: str) -> Iterator[None]:
    """Wait until no other process is at this, for `PATIENCE`; nobody waits where the system or the folder has no locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            os.makedirs(folder, exist_ok=True)
            file = stack.enter_context(open(os.path.join(folder, f"{name}.lock"), "wb"))
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.02)
        yield


@functools.cache
def sources() -> str:
    """Digest of all files of kernels: what an older version compiled is not taken for this one's."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.rglob("_*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_uncached: list[str] = []


def has_cache() -> bool:
    """Whether compiled kernels are kept on disk; without it every process compiles its own."""
    return not _uncached


def parallel_kernel(
    count: Callable[_Args, int], *, grain: int = 1
) -> Callable[[Callable[Concatenate[int, int, _Args], None]], Callable[_Args, None]]:
    """Compile ``function(start, stop, ...)``, and call it for all of ``range(count(...))``, in threads.

    Each output element must belong to one index. At least ``grain`` indices make a part that is worth a thread.
    """

    def wrap(function: Callable[Concatenate[int, int, _Args], None]) -> Callable[_Args, None]:
        compiled = kernel(function)

        @functools.wraps(function)
        def spread(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
            total = count(*args, **kwargs)
            pieces = min(PIECES, max(total // grain, 1))
            parts = [(total * k // pieces, total * (k + 1) // pieces) for k in range(pieces)]
            in_threads(lambda part: compiled(part[0], part[1], *args, **kwargs), parts)

        return spread

    return wrap


def in_threads(
    work: Callable[[_Item], _Result], items: Sequence[_Item], *, counted: bool = False
) -> list[_Result]:
    """Results of ``work`` on every item, in order; this thread and its helpers take the next one as they come free.

    ``counted``: the items are equal parts of the work at hand, see `videorestore.pulse`.
    """
    helpers = min(_threads.count, len(items)) - 1
    left = iter(enumerate(items))
    results: dict[int, _Result] = {}
    marker = pulse.Marker(len(items)) if counted else None

    def take() -> None:
        for number, item in left:
            results[number] = work(item)
            if marker is not None:
                marker.mark()

    futures = [_threads.pool().submit(take) for _ in range(helpers)]
    try:
        with marker or contextlib.nullcontext():
            take()
    finally:
        # The arrays are the caller's: nothing may write to them after the return, even after an error. Helpers that have
        # not begun are not waited for: they may stand behind the very thread that waits.
        errors = [future.exception() for future in futures if not future.cancel()]
    for error in errors:
        if error is not None:
            raise error
    return [results[number] for number in range(len(items))]


def thread_count() -> int:
    """How many threads a compiled loop of this process uses."""
    return _threads.count


def set_thread_count(count: int) -> int:
    """Let compiled loops use so many threads; returns how many they used before."""
    before, _threads.count = _threads.count, max(1, count)
    return before


class _Threads:
    """The process's helpers, started when the first loop needs them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    def pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._size < self.count - 1:
            # A smaller pool is left to finish what it has.
            self._size = self.count - 1
            self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="kernel")
        return self._pool

    def forget(self) -> None:
        """A forked child has none of its parent's threads."""
        self._pool = None


_threads = _Threads(numba.config.NUMBA_NUM_THREADS)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.forget)
