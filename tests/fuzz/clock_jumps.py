#!/usr/bin/env python3
"""Lets clocks jump while hone runs (jumping_clock.c): the wall clock by up to ten years forward and back, every few
readings, in hone and its workers; in half of the trials also the steady clock of hone by an hour or a day forward,
once, as after a machine was moved or stopped. The command must end well, with all rows, nothing left behind and no
process alive; run again with clocks that run it ends well, too, of training with the same weights as without a jump.

    tests/fuzz/clock_jumps.py --trials 50 --jsonl build/clock-jumps.jsonl     # of each command; goes on

One line for each trial that did harm and a table; exit code 1 if any did. A jump of the steady clock ends budgets: then
a command may also say, with exit status 1, that time was over before a result."""

import argparse
import pathlib
import random
import sys
import tempfile
import time
from collections.abc import Callable

import faults
import harness

FORWARD = (3600, 86400)
EVERY = (1, 2, 5, 40)  # readings of the wall clock between jumps


def built(folder: pathlib.Path) -> pathlib.Path:
    return faults.preloaded(folder, "jumping_clock")


def one_trial(
    inputs: faults.Inputs, library: pathlib.Path, name: str, jumps: dict[str, int], again: bool = False
) -> dict:
    """`jumps`: "every" and "seed" of the wall clock, "forward" and "at" of the steady one; 0 is none."""
    with tempfile.TemporaryDirectory(prefix="hone-clock-", ignore_cleanup_errors=True) as folder:
        trial = faults.Trial(inputs, name, pathlib.Path(folder))
        counted = pathlib.Path(folder, "xdg-count")
        process = trial.start(
            {"LD_PRELOAD": str(library), "HONE_CLOCK_PROGRAM": "hone", "HONE_CLOCK_COUNT": str(counted)}
            | {f"HONE_CLOCK_{key.upper()}": str(value) for key, value in jumps.items()}
        )
        ended = not trial.wait_until(process, time.monotonic() + faults.PATIENCE_S)
        if not ended:
            process.kill()
        code = process.wait()
        wall, steady = map(int, counted.read_text().split()) if counted.exists() else (0, 0)
        counted.unlink(missing_ok=True)
        problems = [] if ended else ["it hangs"]
        said = (pathlib.Path(folder, "out").read_text().strip().splitlines() or trial.errors())[-1:]
        if ended and code not in ((0, 1) if jumps.get("forward") else (0,)):
            problems.append(f"exit code {code}: {said}")
        if ended and code == 1 and not said:
            problems.append("exit code 1 without a word")
        problems += trial.problems() + [f"left: {file}" for file in trial.left_files()]
        if again:
            problems += trial.again()
        return {
            "command": name, **jumps, "wall_jumps": wall, "steady_readings": steady, "code": code, "said": said,
            "rows": trial.committed.total(), "again": again, "problems": problems,
        }  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = []
    for name in sorted({row["command"] for row in rows}):
        own = [row for row in rows if row["command"] == name]
        forward = [row for row in own if row["forward"]]
        counts = (
            len(own), sum(row["wall_jumps"] for row in own), len(forward), sum(row["code"] == 1 for row in own),
            sum(bool(row["problems"]) for row in own),
        )  # fmt: skip
        lines.append([name, *map(str, counts)])
    header = [
        "command",
        "runs",
        "jumps of the wall clock",
        "jumps of the steady clock",
        "time was over (exit 1)",
        "harm",
    ]
    return harness.markdown_table(header, lines)


def run(options: argparse.Namespace, rows: faults.Rows) -> None:
    """Adds the missing rows."""
    with tempfile.TemporaryDirectory(prefix="hone-clock-", ignore_cleanup_errors=True) as folder:
        inputs = faults.Inputs(options.hone, pathlib.Path(folder, "inputs"))
        library = built(pathlib.Path(folder))

        def trials_of(name: str) -> Callable[[random.Random, int], dict]:
            readings = one_trial(inputs, library, name, {})["steady_readings"]

            def trial(chance: random.Random, number: int) -> dict:
                jumps = {"every": chance.choice(EVERY), "seed": chance.randrange(10**6), "forward": 0, "at": 0}
                if number % 2 == 1:
                    jumps |= {"forward": chance.choice(FORWARD), "at": chance.randint(1, max(1, readings))}
                return one_trial(inputs, library, name, jumps, chance.randrange(options.again_every) == 0)

            return trial

        rows.add_each(options, options.trials, trials_of)


def main() -> int:
    return faults.finish(run, table, faults.parser_of(__doc__, "trials", 5, "of each command").parse_args())


if __name__ == "__main__":
    sys.exit(main())
