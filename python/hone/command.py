"""Calls of the program `hone`: JSON on its standard output, progress on its standard error."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import files
from .errors import Error

_behind: dict[subprocess.Popen, Path | None] = {}  # what runs gently, and its database
_PATIENCE_S = 10.0  # for the end of a transaction
_pausing = threading.Lock()
_paused = False  # whether what runs gently stands still
_paused_since, _paused_s = 0.0, 0.0  # the time of the last change to that; how long it stood still before
_ended = False  # whether nothing runs gently any more


def _forked() -> None:
    global _pausing, _paused, _ended
    _pausing, _paused, _ended = threading.Lock(), False, False
    _behind.clear()


os.register_at_fork(after_in_child=_forked)


def run(arguments: Sequence[object], build: str | Path | None = None, gently: bool = False) -> dict[str, Any]:
    """Runs `hone ARGUMENTS --json` and returns the object it prints; Error if it prints an error or nothing.

    Progress goes to this process's standard error. Ctrl-C is forwarded once: the program stops with its best result,
    which is returned as usual. A second Ctrl-C ends it and raises KeyboardInterrupt. It does not outlive the thread
    that calls. `gently`: at low priority, without progress, and ended by end_gentle() too; the object then has
    "paused_s" as well, the seconds that pause_gentle() made it stand still.
    """
    command = [str(files.find(files.PROGRAM, build)), *map(str, arguments), "--json"]
    with tempfile.TemporaryFile("w+") as answer:
        # Its own process group: it gets Ctrl-C only from us, once, with or without a terminal.
        process = subprocess.Popen(
            [*_before(gently), *command],
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=subprocess.DEVNULL if gently else None,
            process_group=0,
        )
        stood_still = _stood_still_s()
        if gently:
            _begin_gently(process, _database(arguments))
        try:
            _wait(process)
        finally:
            _behind.pop(process, None)
            if process.poll() is None:
                process.kill()
                process.wait()
        answer.seek(0)
        result = _parse(answer.read(), process.returncode, arguments[0])
    return result | {"paused_s": _stood_still_s() - stood_still} if gently else result


def pause_gentle(paused: bool) -> None:
    """Makes what runs gently stand still, and what begins meanwhile; or lets it go on.

    Its workers end what they were asked for, a measurement or a compilation, and get nothing else to do. What is inside
    a transaction of its database ends that first, so that no other search waits for it.
    """
    global _paused, _paused_since, _paused_s
    with _pausing:
        if paused != _paused:
            now = time.monotonic()
            _paused_s += now - _paused_since if _paused else 0.0
            _paused, _paused_since = paused, now
            for process, database in list(_behind.items()):
                _stop(process, database) if paused else _signal(process, signal.SIGCONT)


def end_gentle(for_good: bool = False) -> None:
    """Ends what runs gently, with its workers; its callers get an Error. `for_good`: also what begins later."""
    global _ended
    with _pausing:
        _ended = _ended or for_good
        for process in list(_behind):
            _signal(process, signal.SIGKILL)


def _stood_still_s() -> float:
    """For how many seconds of this process's time what runs gently stood still."""
    with _pausing:
        return _paused_s + (time.monotonic() - _paused_since if _paused else 0.0)


def _begin_gently(process: subprocess.Popen, database: Path | None) -> None:
    with _pausing:
        _behind[process] = database
        if _ended:
            _signal(process, signal.SIGKILL)
        elif _paused:
            _stop(process, database)


def _database(arguments: Sequence[object]) -> Path | None:
    """The file of the database that `hone ARGUMENTS` writes; None for PostgreSQL's."""
    words = [str(word) for word in arguments]
    given = words[words.index("--db") + 1] if "--db" in words else ""
    if given:
        return None if "://" in given else Path(given).absolute()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "hone" / "hone.db"


def _stop(process: subprocess.Popen, database: Path | None) -> None:
    """Makes it stand still between two transactions; not at all where it stays in one."""
    with _between_transactions(database) as between:
        if not between:
            return
        _signal(process, signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):  # until it does, or has ended
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


@contextlib.contextmanager
def _between_transactions(database: Path | None) -> Iterator[bool]:
    """Holds the database's lock for writing meanwhile; False where others do not give it away in time.

    A file that is no database, or cannot be written, has no transactions.
    """
    if database is None:
        yield True
        return
    with contextlib.ExitStack() as held:
        free = True
        try:
            database.parent.mkdir(parents=True, exist_ok=True)  # as hone does: what it creates now has the lock, too
            connection = sqlite3.connect(database, timeout=_PATIENCE_S, isolation_level=None)
            held.callback(connection.close)
            connection.execute("BEGIN EXCLUSIVE")  # before the first transaction of a database, reading locks it, too
            held.callback(connection.execute, "ROLLBACK")
        except sqlite3.OperationalError as failed:
            free = failed.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        except (sqlite3.DatabaseError, OSError):
            pass
        yield free


def _signal(process: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def options(values: Mapping[str, object]) -> list[str]:
    """Keyword arguments as command-line options: two_words=3 is --two-words 3, True the option alone, None nothing."""
    out = []
    for key, value in values.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, (list, tuple)):
            out += [option, ",".join(map(str, value))]
        else:
            out += [option, str(value)]
    return out


def _before(gently: bool) -> list[str]:
    """The words before a command, as far as the programs are there (util-linux, coreutils)."""
    before = [["setpriv", "--pdeathsig", "KILL"]] + [["nice", "-n", "10"]] * gently
    return [word for words in before if shutil.which(words[0]) for word in words]


def _wait(process: subprocess.Popen) -> None:
    try:
        process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()


def _parse(text: str, code: int, verb: object) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code} without a result"
        raise Error(f"hone {verb} {how}") from None
    if "error" in answer:
        error = answer["error"]
        raise Error(error.get("message", "failed"), error.get("where", ""), error.get("hint", ""))
    return answer
