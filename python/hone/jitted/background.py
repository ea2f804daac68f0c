"""Work behind the user's back: one thread that tunes, and its end with the interpreter."""

import atexit
import os
import queue
import threading
import traceback
from collections.abc import Callable

from .. import command

_LAST_S = 10.0  # how long the end of the interpreter waits for what cannot be interrupted, such as a compilation


class _Worker:
    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock, self.ending = threading.Lock(), False
        self._process = os.getpid()

    def submit(self, task: Callable[[], None]) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="hone.jit", daemon=True)
                self._thread.start()
        self._tasks.put(task)

    def end(self) -> None:
        if os.getpid() != self._process:  # of a fork that knows nothing of this
            return
        self.ending = True
        command.end_gentle()
        self._tasks.put(lambda: None)
        if self._thread is not None:
            self._thread.join(_LAST_S)

    def _serve(self) -> None:
        while not self.ending:
            try:
                self._tasks.get()()
            except Exception:  # such as warnings that are errors: the next task runs all the same
                traceback.print_exc()


_worker = _Worker()


def _forked() -> None:
    """A forked process has none of the threads, and its end is not that of the searches here."""
    global _worker
    _worker = _Worker()


atexit.register(lambda: _worker.end())
os.register_at_fork(after_in_child=_forked)


def submit(task: Callable[[], None]) -> None:
    """Runs `task` after those submitted before. Dropped when the interpreter ends first."""
    _worker.submit(task)


def ending() -> bool:
    """Whether the interpreter ends, so that a failure is no news."""
    return _worker.ending
