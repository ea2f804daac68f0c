#!/usr/bin/env python3
"""A long run in one process: `hone collect tile` measures the kernels of small generated programs again and again until
so many candidates are stored, while its memory, its open files and the size of its database are watched.

    tests/fuzz/soak.py --candidates 100000 --folder build/soak      # the same command goes on after a stop or a reboot

Prints a row now and then. Exit code 1 if the process grows by more than --most-bytes for each candidate over the last
two thirds of this run, if it has more files open at the end than after the first third, or if the database is
unsound."""

import argparse
import contextlib
import json
import pathlib
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

import faults


def stored(database: pathlib.Path) -> int:
    if not database.exists():
        return 0
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as reader:
            return reader.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.Error:
        return 0


def sample(pid: int, database: pathlib.Path) -> dict | None:
    """Memory and open files of the process, and what it has stored; None once it has ended."""
    try:
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        files = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return None
    return {"candidates": stored(database), "bytes": pages * 4096, "files": files}


def judged(samples: list[dict], most_bytes: float) -> tuple[float, list[str]]:
    """Bytes that it grows by for each candidate, and what is wrong."""
    late = samples[len(samples) // 3 :]
    if len({s["candidates"] for s in late}) < 3:
        return 0.0, ["too short to judge"]
    growth = statistics.linear_regression([s["candidates"] for s in late], [s["bytes"] for s in late]).slope
    wrong = [] if growth <= most_bytes else [f"it grows by {growth:.0f} bytes for each candidate"]
    if late[-1]["files"] > max(s["files"] for s in late[: max(1, len(late) // 3)]):
        wrong.append(f"{late[-1]['files']} files are open, {late[0]['files']} were")
    return growth, wrong


def watched(process: subprocess.Popen, database: pathlib.Path, options: argparse.Namespace) -> list[dict]:
    """Until it ends or enough is stored: then it is interrupted."""
    samples, shown = [], 0.0
    while process.poll() is None and (found := sample(process.pid, database)) is not None:
        samples.append(found)
        if time.monotonic() - shown > options.every:
            shown = time.monotonic()
            print(json.dumps(found), flush=True)
        if found["candidates"] >= options.candidates:
            process.send_signal(signal.SIGINT)
            process.wait()
        time.sleep(1)
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=100000)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="for the programs and the database")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--visits", type=int, default=100, help="measurements of each candidate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=60, help="seconds between rows (default 60)")
    parser.add_argument("--most-bytes", type=float, default=256, help="growth for each candidate (default 256)")
    parser.add_argument("--hone", type=pathlib.Path, default=faults.ROOT / "build" / "hone")
    options = parser.parse_args()
    database, made = options.folder / "soak.db", options.folder / "programs"
    if not made.exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        words = [
            "generate",
            "--count",
            options.programs,
            "--seed",
            options.seed,
            "--max-elements",
            4096,
            "-o",
            made,
            "-q",
        ]
        subprocess.run([str(word) for word in (options.hone, *words)], check=True)
    words = [
        "collect",
        "tile",
        "--manifest",
        made / f"generated-kernel-{options.seed}.json",
        "--visits",
        options.visits,
        "--budget",
        "0",
    ]
    words += ["--db", database, "--quiet", "--json"]
    began, before = time.monotonic(), stored(database)
    process = subprocess.Popen([str(word) for word in (options.hone, *words)], stdout=subprocess.DEVNULL)
    try:
        samples = watched(process, database, options)
    except KeyboardInterrupt:
        process.wait()
        return 130
    growth, wrong = judged(samples, options.most_bytes)
    wrong += [] if process.returncode == 0 else [f"exit code {process.returncode}"]
    check = subprocess.run([str(options.hone), "db", "check", "--db", str(database)], capture_output=True, check=False)
    wrong += [] if check.returncode == 0 else ["the database is unsound"]
    count = stored(database)
    if not samples or count == 0:
        return 1
    report = {
        "candidates": count, "of_this_run": count - before, "seconds": round(time.monotonic() - began),
        "bytes_each": round(database.stat().st_size / count), "megabytes_first": round(samples[0]["bytes"] / 1e6, 1),
        "megabytes_last": round(samples[-1]["bytes"] / 1e6, 1), "growth_bytes": round(growth, 1),
        "files": samples[-1]["files"], "wrong": wrong,
    }  # fmt: skip
    print(json.dumps(report))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
