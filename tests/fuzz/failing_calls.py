#!/usr/bin/env python3
"""Lets system calls on files fail while hone runs (failing_calls.c): each trial fails one call of a command, or that
one and all later ones that write, with an error of disks, networks of disks or full ones. Whatever the command says, it
may not end by a signal or without a word, lose or change committed rows, leave a package that is not whole, or let a
process live on; without the fault the same command then ends well, of training with the same weights.

    tests/fuzz/failing_calls.py --failures 200 --jsonl build/failing-calls.jsonl     # of each command; goes on

Calls are drawn evenly over those that the command makes without a fault. A quarter of the trials are of the worker's
calls, which are those of the cache of compiled code: the command may not fail by them. One line for each trial that did
harm and a table; exit code 1 if any did."""

import argparse
import collections
import dataclasses
import errno
import pathlib
import random
import sys
import tempfile
import time
from collections.abc import Callable

import faults
import harness

ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT", "ESTALE", "EACCES", "EMFILE")
WORKER = "hone-xla"
WORKERS_CALLS = 40  # of a worker, whose number is not known: it ends without a word


def built(folder: pathlib.Path) -> pathlib.Path:
    return faults.preloaded(folder, "failing_calls")


@dataclasses.dataclass(frozen=True)
class Fault:
    program: str = "hone"
    at: int = 0  # 0 = none
    error: str = "EIO"
    sticky: bool = False


def one_trial(inputs: faults.Inputs, library: pathlib.Path, name: str, fault: Fault, again: bool = False) -> dict:
    with tempfile.TemporaryDirectory(prefix="hone-calls-", ignore_cleanup_errors=True) as folder:
        trial = faults.Trial(inputs, name, pathlib.Path(folder))
        counted = pathlib.Path(folder, "xdg-count")
        process = trial.start({
            "LD_PRELOAD": str(library), "HONE_FAIL_PROGRAM": fault.program, "HONE_FAIL_UNDER": folder,
            "HONE_FAIL_AT": str(fault.at), "HONE_FAIL_ERRNO": str(getattr(errno, fault.error)),
            "HONE_FAIL_STICKY": str(int(fault.sticky)), "HONE_FAIL_COUNT": str(counted),
        })  # fmt: skip
        ended = not trial.wait_until(process, time.monotonic() + faults.PATIENCE_S)
        if not ended:
            process.kill()
        code = process.wait()
        calls, kind = counted.read_text().split() if counted.exists() else ("0", "a worker's" if fault.at else "none")
        problems = [] if ended else ["it hangs"]
        if ended and code not in ((0,) if fault.program == WORKER else (0, 1, 2)):
            problems.append(f"exit code {code}")
        said = pathlib.Path(folder, "out").read_text().strip()
        if ended and code in (1, 2) and not (said or trial.errors()):
            problems.append(f"exit code {code} without a word")
        counted.unlink(missing_ok=True)
        problems += trial.problems() + (trial.again() if again else [])
        return {
            "command": name, **dataclasses.asdict(fault), "calls": int(calls), "kind": kind, "code": code,
            "said": said.splitlines()[-1:], "rows": trial.committed.total(), "again": again, "problems": problems,
        }  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = []
    for name in sorted({row["command"] for row in rows}):
        own = [row for row in rows if row["command"] == name and row["kind"] != "none"]
        kinds = collections.Counter(row["kind"] for row in own)
        well = sum(row["code"] == 0 for row in own)
        counts = len(own), well, len(own) - well, sum(bool(row["problems"]) for row in own)
        lines.append([name, *map(str, counts), ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())])
    header = ["command", "failures", "ended well in spite of it", "said so (exit 1 or 2)", "harm", "kinds of calls"]
    return harness.markdown_table(header, lines)


def run(options: argparse.Namespace, rows: faults.Rows) -> None:
    """Adds the missing rows."""
    with tempfile.TemporaryDirectory(prefix="hone-calls-", ignore_cleanup_errors=True) as folder:
        inputs = faults.Inputs(options.hone, pathlib.Path(folder, "inputs"))
        library = built(pathlib.Path(folder))

        def trials_of(name: str) -> Callable[[random.Random, int], dict]:
            calls = one_trial(inputs, library, name, Fault())["calls"]

            def trial(chance: random.Random, _number: int) -> dict:
                of_worker = faults.COMMANDS[name].has_worker and chance.random() < 0.25
                at, error = chance.randint(1, WORKERS_CALLS if of_worker else calls), chance.choice(ERRORS)
                fault = Fault(WORKER if of_worker else "hone", at, error, chance.random() < 0.3)
                return one_trial(inputs, library, name, fault, chance.randrange(options.again_every) == 0)

            return trial

        rows.add_each(options, options.failures, trials_of)


def main() -> int:
    return faults.finish(run, table, faults.parser_of(__doc__, "failures", 5, "of each command").parse_args())


if __name__ == "__main__":
    sys.exit(main())
