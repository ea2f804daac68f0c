#!/usr/bin/env python3
"""Fits the priors of the schedule of `hone tune` (the tables in src/tune/program/program_tuner.cc): tunes training
programs of the shipped data, one of each model, and counts for each kind of experiment how often it was kept and what
it gained of the time that it touches. Continues where it was stopped. With --fit it only counts earlier rows."""

import argparse
import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import ROOT, HoneError, append_row, call_hone, markdown_table, read_jsonl, seconds_of

RUN_MS = (0.3, 150)
WEIGHT = 4  # experiments that a prior counts as, as in YieldPrior
KEPT = 0.1  # of a kind that nothing is known about
MOST_GAIN = math.log(16)
OWN_ROWS = ("broad moves", "other moves")  # each move of these steps has a prior of its own


def training_programs(seed: int) -> list[dict]:
    """One program of each model of the training part, in a random order."""
    split = (ROOT / "data" / "splits" / "random.txt").read_text().splitlines()
    train = {line.split("\t")[1].strip() for line in split if line.startswith("train\t")}
    models = defaultdict(list)
    for program in json.loads((ROOT / "data" / "programs.json").read_text()):
        if program["name"] in train and RUN_MS[0] <= program["run_ms"] <= RUN_MS[1]:
            models[program["model"]].append(program)
    names = sorted(models)
    random.Random(seed).shuffle(names)
    return [random.Random(name).choice(models[name]) for name in names]


def collect(options: argparse.Namespace) -> None:
    done = {row["program"] for row in read_jsonl(options.rows)} if options.rows.exists() else set()
    for program in training_programs(options.seed)[: options.programs]:
        if program["name"] in done:
            continue
        with tempfile.TemporaryDirectory(prefix="hone-priors-") as folder:
            package = Path(folder) / "p.hone"
            arguments = ["tune", ROOT / "data" / program["file"], "--budget", options.budget, "--threads", 1]
            arguments += ["--seed", options.seed, "--no-known", "-o", package, "--db", Path(folder) / "own.db"]
            try:
                call_hone(options.hone, arguments, 600 + 5 * seconds_of(options.budget))
                report = json.loads((package / "report.json").read_text())
            except (HoneError, OSError) as error:
                print(f"{program['name']}: {error}", file=sys.stderr)
                continue
        for row in report.get("schedule", []):
            append_row(options.rows, {"program": program["name"], "speedup": report["speedup"], **row})
        print(f"{program['name']}: {report['speedup']:.3f}", file=sys.stderr)


def fit(rows: list[dict]) -> None:
    """Prints a row per kind: posterior mean of `kept` after WEIGHT experiments at KEPT, mean gain of those kept."""
    kinds = defaultdict(list)
    for row in rows:
        kinds[row["step"]].append(row)
        if row["step"] in OWN_ROWS:
            kinds[row["what"]].append(row)
    lines = []
    for name, tried in kinds.items():
        gains = [min(row["gain"], MOST_GAIN) for row in tried if row["gain"] > 0]
        kept = (len(gains) + WEIGHT * KEPT) / (len(tried) + WEIGHT)
        gain = sum(gains) / len(gains) if gains else 0
        seconds = sum(row["took_s"] for row in tried)
        program = sum(-math.log(1 - r["share"] * (1 - math.exp(-min(r["gain"], MOST_GAIN)))) for r in tried)
        lines.append(
            [name, len(tried), len(gains), f"{kept:.3f}", f"{gain:.3f}", f"{program / max(seconds, 1e-9):.4f}"]
        )
    lines.sort(key=lambda line: -float(line[-1]))
    header = ["experiment", "tried", "kept", "kept (with prior)", "gain where kept", "gain of the program per second"]
    print(markdown_table(header, [[str(cell) for cell in line] for line in lines]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="one experiment a line; made, or continued")
    parser.add_argument("--fit", action="store_true", help="measure nothing")
    parser.add_argument("--budget", default="30s", help="of each tune (default 30s)")
    parser.add_argument("--programs", type=int, default=1000, help="at most so many (default all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    if not options.fit:
        collect(options)
    rows = read_jsonl(options.rows)
    print(f"{len(rows)} experiments in tunes of {len({row['program'] for row in rows})} training programs\n")
    fit(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
