#!/usr/bin/env python3
"""Loads every runnable program of a corpus with `hone inspect` and prints the programs read, the time, and failures."""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path


def inspect(hone: Path, program: Path, timeout_s: float) -> tuple[dict | None, str, float]:
    """(the inspection or None, the reason of a failure, seconds)"""
    start = time.monotonic()
    try:
        run = subprocess.run([hone, "inspect", program, "--json"], capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None, f"no answer in {timeout_s:.0f} s", timeout_s
    seconds = time.monotonic() - start
    try:
        answer = json.loads(run.stdout)
    except json.JSONDecodeError:
        answer = {"error": {"message": (run.stderr.strip() or f"exit code {run.returncode}").splitlines()[-1]}}
    if run.returncode != 0 or "error" in answer:
        return None, answer.get("error", {}).get("message", f"exit code {run.returncode}"), seconds
    return answer, "", seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", type=Path, required=True, help="the program hone")
    parser.add_argument("--corpus", type=Path, required=True, help="folder with RUNNABLE.tsv")
    parser.add_argument("--timeout", type=float, default=60, help="seconds per program")
    options = parser.parse_args()
    listing = options.corpus / "RUNNABLE.tsv"
    if not listing.exists():
        print(f"{listing}: no such file (set CORPUS)", file=sys.stderr)
        return 2
    with listing.open(newline="") as lines:
        files = [row["file"] for row in csv.DictReader(lines, delimiter="\t")]
    loaded = 0
    print(f"{'program':60} {'instructions':>12} {'kernels':>8} {'MFLOP':>10} {'seconds':>8}")
    for name in files:
        answer, why, seconds = inspect(options.hone.resolve(), options.corpus / name, options.timeout)
        if answer is None:
            print(f"{name[-60:]:60} {'not read: ' + why[:80]}")
            continue
        loaded += 1
        kernels = answer["kernels"] if isinstance(answer["kernels"], int) else len(answer["kernels"])
        megaflops = answer["flops"] / 1e6
        print(f"{name[-60:]:60} {answer['instructions']:12} {kernels:8} {megaflops:10.2f} {seconds:8.2f}")
    print(f"{loaded} of {len(files)} programs read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
