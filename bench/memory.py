#!/usr/bin/env python3
"""Memory of tuning: the main process, the worker against a worker that only runs default XLA, and the worker's resident
memory over the candidates of one long search."""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import ROOT, Program, commit, example_programs, machine, markdown_table, seconds_of

MIB = 1 << 20
MAIN_LIMIT_MIB, WORKER_RATIO = 300, 1.5
POLL_S = 0.05


def high_water_kib(pid: int) -> int:
    """Largest resident size of a process so far; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def children(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


def peaks_of(command: list[str]) -> tuple[float, float, str]:
    """Peak MiB of the main process and of its largest worker, and the text on standard error."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peaks = [0, 0]
    done = threading.Event()

    def poll() -> None:
        while not done.wait(POLL_S):
            peaks[0] = max(peaks[0], high_water_kib(process.pid))
            for child in children(process.pid):
                peaks[1] = max(peaks[1], high_water_kib(child))

    watcher = threading.Thread(target=poll)
    watcher.start()
    errors = process.communicate()[1]
    done.set()
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}: {errors.strip().splitlines()[-1:]}")
    return peaks[0] / 1024, peaks[1] / 1024, errors


def measure(hone: Path, program: Program, budget: str, folder: Path) -> dict:
    """Peaks of a plain run and of a search, and the worker's size after each candidate."""
    weights = ["--threads", "1", *(["--weights", program.weights] if program.weights else [])]
    _, plain, _ = peaks_of([str(hone), "run", str(program.path), "--repeat", "20", *weights])
    database = folder / f"{program.name}.db"
    main, worker, log = peaks_of(
        [str(hone), "tune", str(program.path), *weights, "--budget", budget, "--verbose", "--db", str(database)]
        + ["-o", str(folder / f"{program.name}.hone")]
    )
    curve = [int(size) for size in re.findall(r"worker (\d+) MiB", log)]
    return {"name": program.name, "plain": plain, "main": main, "worker": worker, "curve": curve}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="30s", help="of each search (default 30s)")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="examples whose name contains it")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "memory.md", help="the table")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    seconds_of(options.budget)
    return options


def curve_points(curve: list[int], points: int = 11) -> str:
    """The curve at evenly spaced candidates: "1: 210, 100: 260, ..."."""
    if not curve:
        return "-"
    at = sorted({round(i * (len(curve) - 1) / (points - 1)) for i in range(points)})
    return ", ".join(f"{i + 1}: {curve[i]}" for i in at)


def main() -> int:
    options = parse_options()
    rows, curves, worst_main, worst_ratio = [], [], 0.0, 0.0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for program in example_programs():
            if options.only not in program.name:
                continue
            found = measure(options.hone, program, options.budget, Path(folder))
            ratio = found["worker"] / found["plain"]
            worst_main, worst_ratio = max(worst_main, found["main"]), max(worst_ratio, ratio)
            rows.append([found["name"], f"{found['main']:.0f}", f"{found['plain']:.0f}", f"{found['worker']:.0f}",
                         f"{ratio:.2f}", str(len(found["curve"]))])  # fmt: skip
            curves.append(f"- {found['name']}: {curve_points(found['curve'])}\n")
            print(f"{json.dumps(rows[-1])} {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    if not rows:
        print("memory.py: no such example", file=sys.stderr)
        return 2
    header = ["program", "main MiB", "default XLA MiB", "worker MiB", "ratio", "duels"]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        f"# Memory of tuning\n\n{datetime.date.today()}, {machine()}, commit {commit()}, "
        f"`bench/memory.py --budget {options.budget}{f' --only {options.only}' if options.only else ''}`.\n"
        "Peak resident memory. *default XLA*: the worker of `hone run`, which compiles and runs the program\n"
        "once; *worker*: that of `hone tune`, which holds the default program, the best and the candidate.\n\n"
        f"{markdown_table(header, rows)}\n"
        f"Main process at most {worst_main:.0f} MiB (target {MAIN_LIMIT_MIB}); worker at most {worst_ratio:.2f} times "
        f"default XLA's (target {WORKER_RATIO}).\n\n"
        f"## The worker's resident MiB over the duels of a search\n\n{''.join(curves)}"
    )
    print(options.out)
    return 0 if worst_main <= MAIN_LIMIT_MIB and worst_ratio <= WORKER_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
