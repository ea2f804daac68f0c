"""Stands in for the program `hone` in the tests of the Python side; writes packages for fake_runtime.c.

`--strategy fail` ends with an error answer, `crash` without one; `wait` sends Ctrl-C to the caller and answers once it
comes back; `hang` writes its process id to the file that FAKE_HONE names and waits for its end; `write` does so in a
transaction of its database, which it ends when something can be read from the pipe FAKE_GO. Every tune adds a line to
the file FAKE_TUNES.
"""

import json
import os
import signal
import sqlite3
import sys
from pathlib import Path

import numpy as np


def value_of(option, default=None):
    return sys.argv[sys.argv.index(option) + 1] if option in sys.argv else default


def main():
    strategy = value_of("--strategy")
    if strategy == "hang":
        Path(os.environ["FAKE_HONE"]).write_text(str(os.getpid()))
        signal.pause()
    if strategy == "write":
        database = sqlite3.connect(value_of("--db"), isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        Path(os.environ["FAKE_HONE"]).write_text(str(os.getpid()))
        os.read(os.open(os.environ["FAKE_GO"], os.O_RDONLY), 1)
        database.execute("COMMIT")
        signal.pause()
    if strategy == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if strategy == "fail":
        print(json.dumps({"error": {"message": "cannot parse", "where": "line 3", "hint": "look there"}}))
        return 2
    if strategy == "wait":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getppid(), signal.SIGINT)
        signal.sigwait([signal.SIGINT])
    answer = {"arguments": sys.argv[1:], "speedup": 1.5}
    inputs = value_of("--inputs")
    if inputs:
        with np.load(inputs) as arrays:
            answer["inputs"] = {name: [array.dtype.str, *array.shape] for name, array in arrays.items()}
    if sys.argv[1] in ("tune", "optimize"):
        with open(os.environ.get("FAKE_TUNES", os.devnull), "a") as file:
            file.write(f"{sys.argv[2]}\n")
        package = Path(value_of("--output"))
        package.mkdir()
        (package / "decisions.json").write_text('{"decisions": [], "target": {"threads": 1}}')
        weight = int("--weights" in sys.argv)
        (package / "fake.txt").write_text(f"8 2.0 {weight}")
        answer["output"] = str(package)
        (package / "report.json").write_text(json.dumps(answer))
    print(json.dumps(answer))
    return 0


sys.exit(main())
