#!/usr/bin/env python3
"""Shardings chosen by prediction and by measuring, judged by times of another run.

    bench/shard/run.py --out build/shard-1 && bench/shard/run.py --out build/shard-2
    bench/shard/choices.py build/shard-1/rows.jsonl build/shard-2/rows.jsonl

The first run chooses: of data- and tensor-parallel, and of all rows. The second, of new processes, says what the
choices are worth, so that the luck of the run that chose is no gain. As in `hone shard --run` a row is chosen by
measuring where it is 5 % faster than the predicted one (--bar 1: wherever it is faster). The control is the choice by
prediction, on the same times.
"""

import argparse
import json
import sys
from pathlib import Path

from run import ANSWER, LEVEL, measured_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness

TWO = ("data-parallel", "tensor-parallel")
BAR = 1.05  # kSurelySlower of src/cli/shard_choice.h


def read(path: Path) -> dict[str, dict[str, dict]]:
    """The rows that ran, by program and name."""
    return {row["program"]: measured_rows(row) for row in map(json.loads, path.read_text().splitlines())}


def seconds(row: dict) -> float:
    return row["measured"]["seconds"]


def lost(chosen: str, judged: dict[str, dict], names) -> float:
    """By what share the choice is slower than the fastest of some rows."""
    return seconds(judged[chosen]) / min(seconds(judged[name]) for name in names) - 1


def measured(first: dict[str, dict], predicted: str, names, bar: float) -> str:
    fastest = min(names, key=lambda name: seconds(first[name]))
    return fastest if seconds(first[predicted]) > bar * seconds(first[fastest]) else predicted


def mark(loss: float) -> str:
    return "yes" if loss == 0 else f"level ({loss:+.1%})" if loss < LEVEL else f"no ({loss:+.0%})"


def judge(first: dict[str, dict], second: dict[str, dict], bar: float) -> dict[str, float]:
    """Losses of each choice that this program has."""
    both = [name for name in first if name in second]
    out = {}
    if all(name in both for name in TWO):
        predicted = min(TWO, key=lambda name: first[name]["seconds"])
        out["two, predicted"] = lost(predicted, second, TWO)
        out["two, measured"] = lost(measured(first, predicted, TWO, bar), second, TWO)
    if ANSWER in both:
        out["all, predicted"] = lost(ANSWER, second, both)
        out["all, measured"] = lost(measured(first, ANSWER, both, bar), second, both)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="rows of the run that chooses")
    parser.add_argument("second", type=Path, help="rows of the run that judges")
    parser.add_argument("--bar", type=float, default=BAR, help="times slower that the predicted row is (default 1.05)")
    options = parser.parse_args()
    first, second = read(options.first), read(options.second)
    losses = {name: judge(first[name], second[name], options.bar) for name in first if name in second}
    columns = ("two, predicted", "two, measured", "all, predicted", "all, measured")
    lines = [[name, *(mark(of[c]) if c in of else "-" for c in columns)] for name, of in losses.items()]
    counts, means = ["right or level"], ["time over the fastest's"]
    for column in columns:
        found = [of[column] for of in losses.values() if column in of]
        counts.append(f"{sum(loss < LEVEL for loss in found)} of {len(found)}")
        means.append(f"{harness.geometric_mean([1 + loss for loss in found]):.3f}")
    print(harness.markdown_table(["program", *columns], [*lines, counts, means]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
