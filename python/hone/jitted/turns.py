"""Who may measure: searches in the foreground one after the other, those behind other work when there are none.

A search in the background is a process. One that runs is paused while a search in the foreground measures, so that no
call waits for it and neither disturbs the other.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from .. import command


class Turns:
    def __init__(self) -> None:
        self._foreground = threading.Lock()  # held by the search in the foreground that measures
        self._change, self._waiting = threading.Condition(), 0  # those in the foreground, with the one that measures

    @contextlib.contextmanager
    def front(self) -> Iterator[None]:
        """Alone among the searches in the foreground; what runs gently stands still."""
        with self._change:
            self._waiting += 1
        try:
            with self._change:
                command.pause_gentle(True)  # takes seconds where a transaction does: an interruption is undone below
            with self._foreground:
                yield
        finally:
            with self._change:
                self._waiting -= 1
                command.pause_gentle(self._waiting > 0)
                self._change.notify_all()

    @contextlib.contextmanager
    def behind(self) -> Iterator[None]:
        """Begins when no search in the foreground is there; such a one may come meanwhile."""
        with self._change:
            self._change.wait_for(lambda: self._waiting == 0)
        yield

    def take(self, gently: bool) -> contextlib.AbstractContextManager[None]:
        return self.behind() if gently else self.front()


_turns = Turns()


def _forked() -> None:
    global _turns
    _turns = Turns()  # the threads that may have been in it are not in this process
    command.pause_gentle(False)


os.register_at_fork(after_in_child=_forked)


def take(gently: bool) -> contextlib.AbstractContextManager[None]:
    """To be held while a search or a duel measures."""
    return _turns.take(gently)
