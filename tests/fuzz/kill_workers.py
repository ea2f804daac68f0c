#!/usr/bin/env python3
"""Kills the worker of `hone tune` at random moments: every tune must end well, with a verified result, and the shared
database must stay sound. One line per round; exit code 1 if any round failed."""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def workers_of(pid: int) -> list[int]:
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


def round_of(hone: pathlib.Path, program: pathlib.Path, folder: pathlib.Path, wait_s: float, budget_s: float) -> str:
    """What went wrong in one round; empty when nothing did."""
    database = folder / "kill.db"
    command = [hone, "tune", program, "--db", database, "--budget", f"{budget_s}s", "--fresh", "--json", "--quiet"]
    command += ["-o", folder / "kill.hone"]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(wait_s)
    for worker in workers_of(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    if process.returncode != 0:
        return f"exit code {process.returncode}: {err.strip().splitlines()[-1:]}"
    if not json.loads(out)["verified"]:
        return "the result is not verified"
    check = subprocess.run([hone, "db", "check", "--db", database], capture_output=True, text=True, check=False)
    return "" if check.returncode == 0 else f"hone db check: {check.stdout.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--budget", type=float, default=6, help="seconds of each search")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "examples" / "softmax_gelu_chain.mlir")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            wait_s = chance.uniform(0.05, 1.2 * options.budget)
            problem = round_of(options.hone, options.program, pathlib.Path(folder), wait_s, options.budget)
            failed += bool(problem)
            print(f"round {number + 1}: killed after {wait_s:.2f} s: {problem or 'ended well'}", flush=True)
    print(f"{options.rounds - failed} rounds ended well, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
