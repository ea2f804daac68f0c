#!/usr/bin/env python3
"""How soon hone answers: the start of the program, the first measured candidate of a tune, and how many candidates of
small kernels a search compiles, runs and verifies in a second."""

import argparse
import datetime
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import ROOT, call_hone, commit, end_process, machine, markdown_table

START_LIMIT_MS, FIRST_LIMIT_S, RATE_LEAST = 50, 3.0, 20.0
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
    arguments = ["tune", program, "--budget", f"{limit_s:.0f}s", "--verbose", "--fresh", "--force"]
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


def candidate_rate(hone: Path, programs: list[Path], folder: Path, budget: str) -> dict:
    """What `hone collect tile` did: every option compiled, run, and its outputs compared with the default's."""
    arguments = ["collect", "tile", *programs, "--budget", budget, "--configurations", "0", "--db", folder / "rate.db"]
    return call_hone(hone, arguments, 600)


def parse_options() -> argparse.Namespace:
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM", help="whose first candidate is timed")
    parser.add_argument("--repeats", type=int, default=20, help="starts of hone --help (default 20)")
    parser.add_argument("--limit", type=float, default=30, help="seconds a first candidate may take (default 30)")
    parser.add_argument("--budget", default="20s", help="of the search whose rate is taken (default 20s)")
    parser.add_argument("--rate", nargs="*", type=Path, default=[], metavar="PROGRAM", help="programs of small kernels")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / f"{today}-latency.md", help="the table")
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
        if options.rate:
            found = candidate_rate(options.hone, options.rate, folder, options.budget)
            print(json.dumps(found), file=sys.stderr)
            rate = found["measured_per_s"]
            rows.append(["candidates of small kernels", f"{rate:.1f}/s", "-", f"{RATE_LEAST}/s"])
            met &= rate >= RATE_LEAST
    options.out.write_text(
        f"# How soon hone answers\n\n{datetime.date.today()}, {machine()}, commit {commit()}, "
        f"`bench/latency.py`, medians of {options.repeats} starts and of 3 first candidates; rate of `hone collect\n"
        f"tile --budget {options.budget} --configurations 0` on {len(options.rate)} programs: every option "
        "compiled, timed against the default and its outputs compared; lowering the programs not counted.\n\n"
        + markdown_table(["what", "median", "worst", "limit"], rows)
    )
    print(options.out)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
