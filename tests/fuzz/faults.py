"""What faults are tried on: commands of hone on tiny programs, what of them may not be lost, and how it is judged.

A `Trial` runs one command in a folder of its own and watches it: which processes it has, and which rows its database
has committed. After a fault `problems` says what is wrong: a row lost or changed, an unsound database, a package that
is there and not whole, a process that lives on; `left_files` names files that nobody asked for."""

import argparse
import collections
import contextlib
import dataclasses
import json
import lzma
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "bench")]
import harness  # noqa: E402
import postgres_server  # noqa: E402
import programs  # noqa: E402

# Tables of a database, and how much of a row is never written again: all of it, or the first columns.
TABLES = {"records": None, "kernels": None, "tuned": 1, "programs": 1, "machines": 1}
PATIENCE_S = 300
SHORT = ("--threads", "1", "--quiet", "--json")


@dataclasses.dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    database: str = ""  # whose committed rows may not be lost
    package: str = ""
    weights: str = ""
    has_worker: bool = True
    again_equals: bool = False  # run again after a fault it ends with the same weights as without one


COMMANDS = {
    "tune": Command(
        ("tune", "p.hlo", "--budget", "2s", "--fresh", "--db", "rows.db", "-o", "p.hone", *SHORT), "rows.db", "p.hone"
    ),
    "collect": Command(
        ("collect", "tile", "p.hlo", "s.hlo", "--budget", "2m", "--configurations", "1", "--max-options", "3",
         "--db", "rows.db", *SHORT), database="rows.db",
    ),
    "merge": Command(
        ("db", "merge", "other.db", "--db", "rows.db", "--quiet", "--json"), database="rows.db", has_worker=False
    ),
    "train": Command(
        ("train", "tile", "data", "--split", "split.txt", "--hidden", "16", "--opcode-embedding", "8", "--steps", "60",
         "--checkpoint", "state.safetensors", "--checkpoint-every", "3", "--resume", "-o", "w.safetensors",
         "--validate-every", "20", *SHORT),
        weights="w.safetensors", has_worker=False, again_equals=True,
    ),
}  # fmt: skip


def split_text(names: list[str]) -> str:
    return "".join(f"{part}\t{name}\n" for part, name in zip(("train", "validation", "test"), names, strict=True))


class Inputs:
    """What the commands read, made once. `server`: PostgreSQL, where databases are then in place of files."""

    def __init__(self, hone: pathlib.Path, folder: pathlib.Path, server: postgres_server.Server | None = None):
        self.hone, self.folder, self.server = hone, folder, server
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "p.hlo").write_text(programs.TWO_KERNELS)
        (folder / "s.hlo").write_text(programs.SOFTMAX)
        (folder / "q.hlo").write_text(programs.ELEMENTWISE)
        (folder / "split.txt").write_text(split_text(["p", "q", "s"]))
        packed = ROOT / "data" / "cold-kernels.db.xz"
        (folder / "other.db").write_bytes(lzma.decompress(packed.read_bytes()))
        self.whole: dict[str, bytes] = {}

    def dataset(self) -> pathlib.Path:
        """Measured tiles of the three programs; made at the first call."""
        data = self.folder / "data"
        if not data.exists():
            files = [self.folder / name for name in ("p.hlo", "q.hlo", "s.hlo")]
            words = ["collect", "tile", *files, "--budget", "5m", "--configurations", "1", "--max-options", "6"]
            words += ["--db", self.folder / "data.db", "-o", data]
            subprocess.run([str(w) for w in (self.hone, *words, *SHORT)], check=True, stdout=subprocess.DEVNULL)
        return data

    def copy_to(self, folder: pathlib.Path, with_dataset: bool) -> None:
        for name in ("p.hlo", "s.hlo", "split.txt", "other.db"):
            shutil.copy(self.folder / name, folder / name)
        if with_dataset and not (folder / "data").exists():
            (folder / "data").symlink_to(self.dataset())

    def weights_without_fault(self, name: str) -> bytes:
        """What the command ends with when nothing happens."""
        if name not in self.whole:
            folder = self.folder / f"whole-{name}"
            trial = Trial(self, name, folder)
            trial.start().wait(PATIENCE_S)
            self.whole[name] = (folder / COMMANDS[name].weights).read_bytes()
        return self.whole[name]


def stat_of(pid: int) -> list[str] | None:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def descendants(pid: int) -> dict[int, str]:
    """Processes below `pid` and when each began: numbers of processes are used again."""
    children = collections.defaultdict(list)
    began = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := stat_of(int(entry.name))) is not None:
            children[int(stat[1])].append(int(entry.name))
            began[int(entry.name)] = stat[19]
    found, queue = {}, [pid]
    while queue:
        for child in children[queue.pop()]:
            found[child] = began[child]
            queue.append(child)
    return found


def lives(pid: int, began: str) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat[19] == began and stat[0] != "Z"


def rows_on_server(url: str) -> collections.Counter | None:
    """All committed rows, by table; None while tables are made."""
    try:
        there = postgres_server.Server.sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'hone'").split()
        rows = collections.Counter()
        for table in TABLES.keys() & set(there):
            lines = postgres_server.Server.sql(url, f"COPY hone.{table} TO STDOUT").splitlines()
            rows.update((table, "\t".join(line.split("\t")[: TABLES[table]])) for line in lines)
        return rows
    except subprocess.CalledProcessError:
        return None


def rows_of(database: pathlib.Path | str) -> collections.Counter | None:
    """All committed rows, by table; None while another process keeps readers out. A file that is not there has none."""
    if isinstance(database, str):
        return rows_on_server(database)
    if not database.exists():
        return collections.Counter()
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as reader:
            reader.execute("BEGIN")
            tables = {name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            rows = collections.Counter()
            for table in TABLES.keys() & tables:
                rows.update((table, repr(row[: TABLES[table]])) for row in reader.execute(f"SELECT * FROM {table}"))
            return rows
    except sqlite3.Error:
        return None


class Trial:
    def __init__(self, inputs: Inputs, name: str, folder: pathlib.Path):
        self.inputs, self.command, self.name, self.folder = inputs, COMMANDS[name], name, folder
        self.processes: dict[int, str] = {}
        self.committed: collections.Counter = collections.Counter()
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        on_server = inputs.server is not None and bool(self.command.database)
        self.database = inputs.server.fresh("trial") if on_server else self.folder / self.command.database
        inputs.copy_to(self.folder, "data" in self.command.words)

    def start(self, extra: dict[str, str] | None = None) -> subprocess.Popen:
        environment = dict(os.environ, TMPDIR=str(self.folder / "tmp"), XDG_DATA_HOME=str(self.folder / "xdg"))
        environment |= {"XDG_CACHE_HOME": str(self.folder / "xdg"), **(extra or {})}
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            return subprocess.Popen(
                [str(self.inputs.hone), *self._words()], cwd=self.folder, env=environment, stdout=out, stderr=err
            )

    def _words(self) -> list[str]:
        file = self.command.database
        return [
            str(self.database) if word == file and isinstance(self.database, str) else word
            for word in self.command.words
        ]

    def look(self, process: subprocess.Popen) -> None:
        """Notes its processes, and the rows that are committed now."""
        self.processes |= descendants(process.pid)
        if self.command.database:
            rows = rows_of(self.database)
            if rows is not None:
                self.committed = rows

    def wait_until(self, process: subprocess.Popen, end_s: float) -> bool:
        """Watches it until a moment (of time.monotonic()); False if it ends before."""
        while time.monotonic() < end_s:
            if process.poll() is not None:
                return False
            self.look(process)
            time.sleep(min(0.05, max(0.0, end_s - time.monotonic())))
        self.look(process)
        return process.poll() is None

    def errors(self) -> list[str]:
        return (self.folder / "err").read_text(errors="replace").strip().splitlines()

    def problems(self) -> list[str]:
        """What is wrong now that the command has ended, however it has."""
        found = []
        deadline = time.monotonic() + 10
        while any(lives(*process) for process in self.processes.items()) and time.monotonic() < deadline:
            time.sleep(0.02)
        found += [f"process {pid} lives on" for pid, began in self.processes.items() if lives(pid, began)]
        found += self._database_problems() if self.command.database else []
        package = self.folder / self.command.package
        if self.command.package and package.exists():
            done = self._hone("inspect", package, "--json")
            found += [] if done.returncode == 0 else [f"the package is not whole: {done.stderr.strip()}"]
        return found

    def left_files(self) -> list[str]:
        """Files that a command which ended by itself should not leave."""
        known = {"p.hlo", "s.hlo", "split.txt", "other.db", "data", "tmp", "xdg", "out", "err", "state.safetensors"}
        known |= {self.command.package, self.command.weights}
        names = [entry.name for entry in self.folder.iterdir() if entry.name not in known]
        database = self.command.database
        names = [n for n in names if not (database and n.startswith((database, "other.db")))]
        # Of the cache: folders of self-tests whose worker was killed go after an hour (src/base/object_store.h).
        cache = self.folder / "xdg" / "hone" / "objects"
        names += [str(p.relative_to(cache)) for p in cache.glob("**/*") if p.suffix == ".part"]
        return names + [f"tmp/{entry.name}" for entry in (self.folder / "tmp").iterdir()]

    def again(self) -> list[str]:
        """The same command once more, without a fault: what is wrong after that."""
        process = self.start()
        code = process.wait(PATIENCE_S)
        if code != 0:
            return [f"run again it ends with {code}: {self.errors()[-1:]}"]
        found = self.problems() + [f"left after running again: {name}" for name in self.left_files()]
        if self.command.again_equals and self.inputs.weights_without_fault(self.name) != self._weights():
            found.append("run again it ends with other weights than without a fault")
        return found

    def _weights(self) -> bytes:
        return (self.folder / self.command.weights).read_bytes()

    def _hone(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in (self.inputs.hone, *words)], capture_output=True, text=True, check=False)

    def _database_problems(self) -> list[str]:
        database = self.database
        if isinstance(database, pathlib.Path) and not database.exists():
            return [f"the database is gone, with {self.committed.total()} rows"] if self.committed else []
        done = self._hone("db", "check", "--db", database, "--json")
        never_written = not self.committed and "the database is empty" in done.stdout
        sound = done.returncode == 0 and json.loads(done.stdout)["ok"]
        found = [] if sound or never_written else [f"db check: {done.stdout.strip()}"]
        rows = rows_of(database)
        if rows is None:
            return [*found, "the database cannot be read"]
        lost = collections.Counter(table for table, _ in (self.committed - rows).elements())
        return [*found, *(f"{count} committed rows of {table} are lost or changed" for table, count in lost.items())]


def parser_of(doc: str, counted: str, default: int, of: str) -> argparse.ArgumentParser:
    """The options that all scripts of trials have; `--counted` says how many."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(f"--{counted}", type=int, default=default, help=f"{of} (default {default})")
    parser.add_argument("--commands", default=",".join(COMMANDS), help="of %(default)s")
    parser.add_argument("--again-every", type=int, default=5, help="trials between those run again (default 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jsonl", type=pathlib.Path, help="a row for each trial; those that are there are not repeated"
    )
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    return parser


def preloaded(folder: pathlib.Path, name: str) -> pathlib.Path:
    """The library of tests/fuzz/NAME.c, compiled into the folder."""
    library = folder / f"{name}.so"
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


class Rows:
    """Rows of trials: those that are known, and new ones, which are kept, counted and printed if they did harm."""

    def __init__(self, known: list[dict], file: pathlib.Path | None):
        self.known, self.file = known, file

    def add(self, row: dict, progress: harness.Progress) -> None:
        self.known.append(row)
        if self.file:
            harness.append_row(self.file, row)
        if row["problems"]:
            print(json.dumps(row), flush=True)
        progress.finished("harm" if row["problems"] else "no harm")

    def add_each(self, options: argparse.Namespace, wanted: int, trials_of: Callable[[str], Callable]) -> None:
        """Until there are `wanted` rows of each command. `trials_of(command)` gives what makes the row of a number with
        random numbers of its own: trial(chance, number)."""
        for name in options.commands.split(","):
            known = sum(row["command"] == name for row in self.known)
            if known >= wanted:
                continue
            trial = trials_of(name)
            progress = harness.Progress(wanted - known)
            for number in range(known, wanted):
                progress.starting(name)
                self.add(trial(random.Random(f"{options.seed} {name} {number}"), number), progress)


def finish(
    run: Callable[[argparse.Namespace, Rows], None], table: Callable[[list[dict]], str], options: argparse.Namespace
) -> int:
    """Runs what adds rows until it ends or Ctrl-C, prints the table, and gives the exit status."""
    rows = harness.read_jsonl(options.jsonl) if options.jsonl else []
    interrupted = False
    try:
        run(options, Rows(rows, options.jsonl))
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted: finished rows are kept", file=sys.stderr)
    print(table(rows))
    if any(row["problems"] for row in rows):
        return 1
    return 130 if interrupted else 0
