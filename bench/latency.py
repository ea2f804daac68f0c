#!/usr/bin/env python3
"""Latency of hone: the start of the program, the first measured candidate of a tune, and the number of candidates of
small kernels that a search compiles, runs and verifies in a second."""

import argparse
import datetime
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import ROOT, call_hone, commit, end_process, machine, markdown_table

START_LIMIT_MS, FIRST_LIMIT_S, RATE_LEAST = 50, 3.0, 20.0
SMALL_NS = 50e3
SIGN = "worker "  # in the line that --verbose writes after each measured candidate


def start_ms(hone: Path, repeats: int) -> list[float]:
    """Wall milliseconds of `hone --help`."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run([hone, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def first_candidate_s(hone: Path, program: Path, folder: Path, limit_s: float) -> float:
    """Wall seconds from the start of `hone tune` to the first candidate measured; infinite when none came in time."""
    arguments = ["tune", program, "--threads", 1, "--budget", f"{limit_s:.0f}s", "--verbose", "--fresh", "--force"]
    arguments += ["--db", folder / "first.db", "-o", folder / "first.hone"]
    begin = time.perf_counter()
    process = subprocess.Popen(
        [str(hone), *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for line in process.stderr:
            if SIGN in line:
                return time.perf_counter() - begin
        return float("inf")
    finally:
        process.send_signal(signal.SIGKILL)
        end_process(process)


def candidate_gaps(hone: Path, program: Path, folder: Path, budget: str) -> list[tuple[float, float]]:
    """(seconds between rows, compile seconds of these) of one kernel's candidates in a search, kernels below 50 us."""
    database = folder / f"{program.name}.db"
    arguments = [
        "tune",
        program,
        "--threads",
        1,
        "--budget",
        budget,
        "--fresh",
        "--force",
        "--db",
        database,
        "-o",
        folder / "rate.hone",
    ]
    call_hone(hone, arguments, 600)
    query = (
        "select created, compile_ms, kernel from records where scope = 'kernel' and candidate_ns < ?"
        " and compile_ms > 0 order by id"
    )
    with sqlite3.connect(database) as connection:
        rows = connection.execute(query, (SMALL_NS,)).fetchall()
    at = [datetime.datetime.fromisoformat(row[0]).timestamp() for row in rows]
    return [(at[i + 1] - at[i], rows[i + 1][1] / 1e3) for i in range(len(rows) - 1) if rows[i][2] == rows[i + 1][2]]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM", help="whose first candidate is timed")
    parser.add_argument("--repeats", type=int, default=20, help="starts of hone --help (default 20)")
    parser.add_argument("--limit", type=float, default=30, help="seconds a first candidate may take (default 30)")
    parser.add_argument("--budget", default="20s", help="of the search whose rate is taken (default 20s)")
    parser.add_argument("--rate", nargs="*", type=Path, default=[], metavar="PROGRAM", help="programs of small kernels")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "latency.md", help="the table")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    rows = []
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as name:
        folder = Path(name)
        starts = start_ms(options.hone, options.repeats)
        rows.append(
            ["`hone --help`", f"{statistics.median(starts):.1f} ms", f"{max(starts):.1f} ms", f"{START_LIMIT_MS} ms"]
        )
        met = statistics.median(starts) <= START_LIMIT_MS
        for program in options.programs:
            size = call_hone(options.hone, ["inspect", program], 120)["instructions"]
            times = [first_candidate_s(options.hone, program, folder, options.limit) for _ in range(3)]
            label = f"first candidate, {program.name.split('.')[0]} ({size} instructions)"
            rows.append([label, f"{statistics.median(times):.2f} s", f"{max(times):.2f} s", f"{FIRST_LIMIT_S} s"])
            met &= size > 1100 or statistics.median(times) <= FIRST_LIMIT_S
        gaps = [gap for path in options.rate for gap in candidate_gaps(options.hone, path, folder, options.budget)]
        if gaps:
            between, compiling = (statistics.median(column) for column in zip(*gaps, strict=True))
            label = f"candidates of kernels below 50 us, {len(gaps)} of {len(options.rate)} programs"
            rows.append([label, f"{1 / between:.1f}/s ({1e3 * compiling:.0f} ms compiling)", "-", f"{RATE_LEAST}/s"])
            met &= 1 / between >= RATE_LEAST
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        f"# How soon hone answers\n\n{datetime.date.today()}, {machine()}, commit {commit()}, "
        f"`bench/latency.py`, medians of {options.repeats} starts and of 3 first candidates.\n"
        f"Candidates: from the database of `hone tune --budget {options.budget}`, the median time from one row\n"
        "of a kernel to its next: compiled, run in turns with the default, outputs compared, stored; careful duels of\n"
        "the few best included.\n\n" + markdown_table(["what", "median", "worst", "limit"], rows)
    )
    print(options.out)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
