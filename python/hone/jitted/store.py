"""Tuned programs on disk, one folder for each program, machine and way of tuning.

FOLDER/KEY/entry.json   what was found, with a digest of every file of the package
FOLDER/KEY/program.hone the package, where one was tuned
FOLDER/KEY.lock         held by the process that tunes it

Folders appear by one rename, so that readers see all of an entry or nothing. An entry that cannot be read, or whose
files have changed, counts as absent and is replaced.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

ENTRY, PACKAGE = "entry.json", "program.hone"
FORMAT = 1
LIMIT_BYTES = 2 << 30  # of all entries; beyond it those that were loaded longest ago go
_LEFT = 0.8  # of the limit, after making room

_locked: set[IO] = set()  # files that threads of this process lock, or wait for


def _forked() -> None:
    """A forked process has copies of the open files: as long as one is open, what its parent locked stays locked."""
    for file in _locked:
        file.close()
    _locked.clear()


os.register_at_fork(after_in_child=_forked)


def default_folder() -> Path:
    """HONE_CACHE_DIR, else hone/jit in the user's cache folder."""
    named = os.environ.get("HONE_CACHE_DIR")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else cache / "hone" / "jit"


def machine() -> str:
    """What decides whether a program tuned elsewhere fits here: the model of the CPU and its instruction sets."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        first = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in reversed(lines)}
        return f"{first.get('model name', '')}, {os.cpu_count()} cores, {first.get('flags', '')}"
    return f"{platform.machine()} {platform.processor()}, {os.cpu_count()} cores"


@contextlib.contextmanager
def temporary(**where: Any) -> Iterator[str]:
    """A folder for the time of the context. Unlike those of tempfile, it is not removed by the end of a fork."""
    folder = tempfile.mkdtemp(**where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def key_of(parts: Mapping[str, Any], program: str) -> str:
    """The name of the entry for a program's text and all else that its tuned form depends on."""
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode())
    digest.update(program.encode())
    return digest.hexdigest()[:40]


class Store:
    """The entries below `folder`, which `problem` makes. OSError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(folder)

    def problem(self) -> str:
        """Why nothing can be kept here, in words for the user; empty if it can."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=self._folder):
                return ""
        except OSError as error:
            return unkept(error)

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Held by one thread of one process at a time; ends with the process, whatever was forked from it."""
        with (self._folder / f"{key}.lock").open("w") as file:
            _locked.add(file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            finally:
                _locked.discard(file)
                if not file.closed:  # in a fork it is, and the lock is the parent's
                    fcntl.flock(file, fcntl.LOCK_UN)

    def load(self, key: str) -> dict | None:
        """What `save` was given, with "path" of the package added where there is one; None if absent or damaged."""
        folder = self._folder / key
        try:
            entry = json.loads((folder / ENTRY).read_text())
            if entry["format"] != FORMAT or entry["files"] != _digests(folder / PACKAGE):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        with contextlib.suppress(OSError):
            os.utime(folder / ENTRY)  # loading is use
        return entry | ({"path": str(folder / PACKAGE)} if entry["files"] else {})

    def save(self, key: str, entry: dict, package: Path | None) -> dict:
        """Writes an entry in place of any present one, with a copy of `package`, and returns it as `load` does."""
        with temporary(dir=self._folder, prefix=".new-") as aside:
            made = Path(aside) / key
            made.mkdir()
            if package:
                shutil.copytree(package, made / PACKAGE)
            stored = {**entry, "format": FORMAT, "files": _digests(made / PACKAGE)}
            (made / ENTRY).write_text(json.dumps(stored, indent=1) + "\n")
            target = self._folder / key
            if target.exists():
                target.rename(Path(aside) / "old")  # renames replace no folder with files in it
            made.rename(target)
        self._make_room(key)
        return stored | ({"path": str(target / PACKAGE)} if stored["files"] else {})

    def _make_room(self, key: str) -> None:
        """Removes the entries that were loaded longest ago, but not `key`, if there is more than the limit."""
        found = []
        for entry in self._folder.glob(f"*/{ENTRY}"):
            with contextlib.suppress(OSError):  # another process has removed it
                size = sum(file.stat().st_size for file in entry.parent.rglob("*"))
                found.append((entry.stat().st_mtime_ns, size, entry.parent))
        total = sum(size for _, size, _ in found)
        if total <= LIMIT_BYTES:
            return
        for _, size, folder in sorted(found):
            if total <= _LEFT * LIMIT_BYTES:
                return
            if folder.name != key:
                with contextlib.suppress(OSError), temporary(dir=self._folder, prefix=".old-") as aside:
                    folder.rename(Path(aside) / folder.name)  # at once for readers
                    total -= size


def unkept(error: OSError) -> str:
    """Why a tuned program could not be written, in words for the user."""
    return f"tuned programs are not kept: {error} (set HONE_CACHE_DIR, or pass cache=FOLDER)"


def _digests(package: Path) -> dict[str, str]:
    files = sorted(file for file in package.iterdir() if file.is_file()) if package.is_dir() else []
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
