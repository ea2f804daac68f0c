#!/usr/bin/env python3
"""Kills hone or its worker (SIGKILL) at random moments: no committed row may be lost, no package be half written, no
process live on; a command whose worker is killed ends as if it had not been, with nothing left behind; and the same
command, run again, ends well, of training with the same weights.

    tests/fuzz/kills.py --kills 1000 --jsonl build/kills.jsonl      # goes on where it stopped
    tests/fuzz/kills.py --postgres --commands tune,collect,merge    # databases on a server

One line for each kill that did harm and a table at the end; exit code 1 if any did. Moments are uniform over the time
that the command takes without a kill."""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import faults
import harness
import postgres_server

VICTIMS = ("main", "worker")


def rounds(names: list[str], kills: int) -> list[tuple[str, str]]:
    """Commands with their victims, by turns."""
    pairs = [(n, v) for n in names for v in VICTIMS if v == "main" or faults.COMMANDS[n].has_worker]
    return [pairs[i % len(pairs)] for i in range(kills)]


def kill(victim: str, process, trial: faults.Trial) -> bool:
    """False if there was nothing to kill."""
    trial.look(process)  # as late as can be
    victims = [process.pid] if victim == "main" else list(faults.descendants(process.pid))
    killed = False
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
            killed = True
        except ProcessLookupError:
            continue
    return killed


def one_round(inputs: faults.Inputs, name: str, victim: str, moment_s: float, again: bool) -> dict:
    with tempfile.TemporaryDirectory(prefix="hone-kills-", ignore_cleanup_errors=True) as folder:
        trial = faults.Trial(inputs, name, pathlib.Path(folder))
        process = trial.start()
        running = trial.wait_until(process, time.monotonic() + moment_s)
        killed = running and kill(victim, process, trial)
        try:
            code = process.wait(faults.PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = "hung"
        problems = trial.problems()
        own_end = victim == "worker" or not killed
        left = trial.left_files()
        if own_end:
            problems += [] if code == 0 else [f"exit code {code}: {trial.errors()[-1:]}"]
            problems += [f"left: {file}" for file in left]
        if again:
            problems += trial.again()
        return {
            "command": name, "victim": victim, "moment_s": round(moment_s, 3), "killed": bool(killed), "code": code,
            "rows": trial.committed.total(), "left": left, "again": again, "problems": problems,
        }  # fmt: skip


def durations(inputs: faults.Inputs, names: list[str]) -> dict[str, float]:
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="hone-kills-", ignore_cleanup_errors=True) as folder:
            trial = faults.Trial(inputs, name, pathlib.Path(folder))
            began = time.monotonic()  # after the inputs are made
            process = trial.start()
            if process.wait(faults.PATIENCE_S) != 0:
                raise SystemExit(f"{name} does not work: {pathlib.Path(folder, 'err').read_text().strip()}")
            found[name] = time.monotonic() - began
    return found


def table(rows: list[dict]) -> str:
    lines = []
    for name, victim in sorted({(r["command"], r["victim"]) for r in rows}):
        own = [r for r in rows if (r["command"], r["victim"]) == (name, victim)]
        hit = [r for r in own if r["killed"]]
        counts = len(own), len(hit), sum(r["rows"] for r in hit), sum(bool(r["problems"]) for r in own)
        lines.append([name, victim, *map(str, counts)])
    header = ["command", "killed", "kills", "before its end", "rows committed before", "harm"]
    return harness.markdown_table(header, lines)


def run(options: argparse.Namespace, rows: faults.Rows) -> None:
    """Adds the missing rows."""
    if options.postgres:
        with contextlib.closing(postgres_server.Server()) as server:
            server.start()
            kill_by_turns(options, rows, server)
    else:
        kill_by_turns(options, rows, None)


def kill_by_turns(options: argparse.Namespace, rows: faults.Rows, server: postgres_server.Server | None) -> None:
    names = options.commands.split(",")
    with tempfile.TemporaryDirectory(prefix="hone-kills-", ignore_cleanup_errors=True) as folder:
        inputs = faults.Inputs(options.hone, pathlib.Path(folder), server)
        take = durations(inputs, names)
        progress = harness.Progress(options.kills - len(rows.known))
        for number, (name, victim) in enumerate(rounds(names, options.kills)):
            if number < len(rows.known):
                continue
            progress.starting(f"{name}, {victim}")
            chance = random.Random(f"{options.seed} {number}")
            again = chance.randrange(options.again_every) == 0
            row = one_round(inputs, name, victim, chance.uniform(0, take[name]), again)
            rows.add(row, progress)


def main() -> int:
    parser = faults.parser_of(__doc__, "kills", 20, "in all")
    parser.add_argument("--postgres", action="store_true", help="databases on a PostgreSQL server in place of files")
    return faults.finish(run, table, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
