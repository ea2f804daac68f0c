"""Work behind the user's back: one thread that tunes, and its end with the interpreter."""

import atexit
import os
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable

from .. import command

MOST_WAITING = 32  # tasks; beyond it the one that waits longest is dropped
_LAST_S = 10.0  # how long the end of the interpreter waits for what cannot be interrupted, such as a compilation

Work = Callable[[], None]


class _Worker:
    def __init__(self) -> None:
        self._tasks: deque[tuple[Work, Work]] = deque()
        self._thread: threading.Thread | None = None
        self._change, self.ending = threading.Condition(), False
        self._process = os.getpid()

    def submit(self, task: Work, drop: Work) -> None:
        with self._change:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="hone.jit", daemon=True)
                self._thread.start()
            self._tasks.append((task, drop))
            dropped = self._tasks.popleft()[1] if len(self._tasks) > MOST_WAITING else None
            self._change.notify()
        if dropped:
            dropped()

    def end(self) -> None:
        if os.getpid() != self._process:  # of a fork that knows nothing of this
            return
        self.ending = True
        command.end_gentle(for_good=True)
        with self._change:
            self._change.notify()
        if self._thread is not None:
            self._thread.join(_LAST_S)

    def _serve(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self.ending or self._tasks)
                if self.ending:
                    return
                task, _ = self._tasks.popleft()
            try:
                task()
            except Exception:  # such as warnings that are errors: the next task runs all the same
                traceback.print_exc()
            del task  # nothing holds what it was about while the thread waits


_worker = _Worker()
_at_fork: weakref.WeakSet = weakref.WeakSet()  # objects with a method `forked`


def _forked() -> None:
    """A forked process has none of the threads, and its end is not that of the searches here."""
    global _worker
    _worker = _Worker()
    for one in list(_at_fork):
        one.forked()


atexit.register(lambda: _worker.end())
os.register_at_fork(after_in_child=_forked)


def submit(task: Work, drop: Work) -> None:
    """Runs `task` after those submitted before; `drop` in its place if too many come after it.

    Neither runs when the interpreter ends first.
    """
    _worker.submit(task, drop)


def tell_of_forks(one: object) -> None:
    """Calls one.forked() in processes that are forked from this one, which have no other thread."""
    _at_fork.add(one)


def ending() -> bool:
    """Whether the interpreter ends, so that a failure is no news."""
    return _worker.ending
