"""The work of one machine of a fleet: runs `hone` and returns its database.

The module is sent to the nodes by value, so it needs only the standard library there.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading

_PR_SET_PDEATHSIG = 1


class Node:
    """One machine. Results are plain values; a failed call of hone is {"error": ..., "code": ...}."""

    def __init__(self, hone: str) -> None:
        self.hone = hone
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-fleet-"))
        self.database = None  # a path, or the URL that all nodes share
        self.program = None
        self.options = []
        self._running = None
        self._lock = threading.Lock()

    def describe(self) -> dict:
        """{"cpu", "cores", "xla_version", ...} of this machine's worker."""
        return self._call(["worker"])

    def prepare(
        self, files: dict[str, bytes], program: str, options: list[list[str]], database: str | bytes | None
    ) -> None:
        """files: name -> bytes, including `program`; options: words of hone tune, where "{folder}" stands for the
        folder of the files; database: a URL, or the bytes of a file to start from, or None."""
        for name, content in files.items():
            path = self.folder / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.program = str(self.folder / "in" / program)
        self.options = [[word.replace("{folder}", str(self.folder / "in")) for word in words] for words in options]
        self.take_database(database)

    def take_database(self, database: str | bytes | None) -> None:
        if isinstance(database, str):
            self.database = database
            return
        path = self.folder / "node.db"
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{path}{suffix}")
        if database is not None:
            path.write_bytes(database)
        self.database = str(path)

    def inspect(self) -> dict:
        """The output of `hone inspect` for the program."""
        of_programs = (
            "--threads --seed --weights --inputs --memory-limit --allow-fast-math --max-isa --cache --no-cache"
        )
        return self._call(["inspect", self.program, *self._words(of_programs.split())])

    def tune_kernels(self, kernels: list[str], budget_s: float) -> dict:
        """Tunes kernels by fingerprint; the result contains the database."""
        answer = self._call([*self._tune(budget_s), "--kernels", ",".join(kernels)])
        return {"answer": answer, "database": self.rows()}

    def tune_program(self, name: str, budget_s: float) -> dict:
        """Tunes the whole program; the result contains the package's files and the database."""
        package = self.folder / "out" / name
        shutil.rmtree(package, ignore_errors=True)
        package.parent.mkdir(exist_ok=True)
        answer = self._call([*self._tune(budget_s), "-o", str(package)])
        files = {}
        if package.is_dir():
            for path in sorted(package.rglob("*")):
                if path.is_file():
                    files[str(path.relative_to(package))] = path.read_bytes()
        return {"answer": answer, "files": files, "package": str(package), "database": self.rows()}

    def rows(self) -> bytes | None:
        """The current database as a file's bytes; None when it is shared or empty."""
        path = pathlib.Path(self.database or "")
        if not path.is_file():
            return None
        copy = self.folder / f"copy-{threading.get_ident()}.db"
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        content = copy.read_bytes()
        copy.unlink()
        return content

    def stop(self) -> None:
        """Like Ctrl-C: hone stops with its best result."""
        with self._lock:
            if self._running is not None:
                self._running.send_signal(signal.SIGINT)

    def close(self) -> None:
        with self._lock:
            if self._running is not None:
                self._running.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tune(self, budget_s):
        return ["tune", self.program, "--budget", f"{budget_s:.3f}s", "--db", self.database, *self._words()]

    def _words(self, names=None):
        return [word for words in self.options if names is None or words[0] in names for word in words]

    def _call(self, arguments):
        libc = ctypes.CDLL(None)  # opened before the fork
        quiet = ["--quiet"] if arguments[0] == "tune" else []
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [self.hone, *arguments, "--json", *quiet],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=said,
                    cwd=self.folder,
                    start_new_session=True,
                    preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
                )
            except OSError as error:
                return _failure(f"hone cannot be started: {error.strerror}", self.hone, 1)
            with self._lock:
                self._running = process
            code = process.wait()
            with self._lock:
                self._running = None
            out.seek(0)
            said.seek(0)
            try:
                answer = json.loads(out.read())
            except ValueError:
                words = said.read().decode(errors="replace").strip().splitlines()
                how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code} without a result"
                return _failure(f"hone {arguments[0]} {how}: {words[-1] if words else 'it printed nothing'}", "", 1)
            if isinstance(answer, dict) and "error" in answer:
                answer["code"] = code
            return answer


def _failure(message, where, code):
    return {"error": {"message": message, "where": where, "hint": ""}, "code": code}
