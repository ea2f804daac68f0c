#!/usr/bin/env python3
"""Trains the model of operations (src/cost/operation_ranker.h) on rows of bench_operation_rows, and says how good it is
on operations that it was not trained on.

    scripts/train_operations.py ROWS.jsonl [ROWS.jsonl ...] --out data/models/operations.json

Each operation is in one of three parts by a hash of its key: training (70 %), calibration of the lower bounds (15 %),
test (15 %). The table compares on the test part what the choices of the model gain with those of rules."""

import argparse
import collections
import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import xgboost
from boosted_trees import flat, predicted

QUANTILES = {"low": 0.1, "middle": 0.5, "high": 0.9}
SLOWEST, FASTEST = math.log(1 / 8), math.log(16)  # ratios beyond are as these
UNKNOWN = {"crashed", "timed_out"}  # says nothing of the form
LEAST_GAIN = math.log(1.03)  # of a choice without measuring
LEAST_CALIBRATED = 40  # operations of a family of forms and a machine class
SETTINGS = {
    "max_depth": 6,
    "learning_rate": 0.06,
    "min_child_weight": 8,
    "subsample": 0.8,
    "colsample_bytree": 0.6,
    "objective": "reg:quantileerror",
    "nthread": 1,
}


def part_of(key):
    """Of a row's operation, whatever the machine and the form of its weights."""
    place = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 100
    return "train" if place < 70 else "calibration" if place < 85 else "test"


def family(form):
    return form.split("=")[0].split(";")[0]


def read_rows(tool, paths):
    rows = []
    for path in paths:
        encoded = subprocess.run([tool, "encode", path], check=True, capture_output=True, text=True).stdout
        rows += [json.loads(line) for line in encoded.splitlines()]
    kept = [row for row in rows if row["outcome"] not in UNKNOWN]
    right = [row for row in kept if row["outcome"] == "ok" and row["ratio"] > 0]
    print(f"{len(rows)} rows, {len(right)} of them measured and right", file=sys.stderr)
    for row in kept:
        row["gain"] = SLOWEST  # a form that is refused is as good as a slow one
    for row in right:
        row["gain"] = min(FASTEST, max(SLOWEST, math.log(row["ratio"])))
    for row in kept:
        row["part"] = part_of(row["operation"])
    return kept


def matrix(rows):
    return np.array([row["features"] for row in rows], dtype=np.float32)


def gains(rows):
    return np.array([row["gain"] for row in rows])


def weights(rows):
    """Every operation counts the same, however many forms it has."""
    count = collections.Counter((row["operation"], row["constant"], row["isa"]) for row in rows)
    return np.array([1 / count[row["operation"], row["constant"], row["isa"]] for row in rows])


def train(rows, held_out, quantile, seed):
    data = xgboost.DMatrix(matrix(rows), gains(rows), weight=weights(rows))
    check = xgboost.DMatrix(matrix(held_out), gains(held_out), weight=weights(held_out))
    settings = SETTINGS | {"quantile_alpha": quantile, "seed": seed}
    return xgboost.train(
        settings, data, 600, evals=[(check, "calibration")], early_stopping_rounds=40, verbose_eval=False
    )


def by_operation(rows):
    groups = collections.defaultdict(list)
    for i, row in enumerate(rows):
        groups[row["operation"], row["constant"], row["isa"], row["threads"]].append(i)
    return groups


def geometric(values):
    return math.exp(np.mean(values)) if len(values) else float("nan")


def choices(rows, low, middle):
    """What each rule gains on these rows, XLA's own form where the rule has none: a logarithm for each operation."""
    found = collections.defaultdict(list)
    for group in by_operation(rows).values():
        gain = [rows[i]["gain"] for i in group]
        order = sorted(range(len(group)), key=lambda j: -middle[group[j]])
        found["best of all forms"].append(max(0, *gain))
        found["model, without measuring"].append(gain[order[0]] if middle[group[order[0]]] > 0 else 0)
        sure = [j for j in order if low[group[j]] > LEAST_GAIN]
        found["model, lower bound above 1.03"].append(gain[sure[0]] if sure else 0)
        for n in (1, 2):
            found[f"model, {n} measured"].append(max(0, *[gain[j] for j in order[:n]]))
            found[f"order of the list, {n} measured"].append(max(0, *gain[:n]))
        found["always the first of the list"].append(gain[0])
    return found


def table(rows, models, corrections):
    low, middle = models["low"].copy(), models["middle"]
    for i, row in enumerate(rows):
        low[i] += corrections.get(row["class"], {}).get(family(row["form"]), -math.inf)
    error = np.abs(np.expm1(middle - gains(rows)))
    covered = np.mean(gains(rows) >= low)
    print(
        f"{len(by_operation(rows))} operations, {len(rows)} forms: median error {np.median(error):.3f}; "
        f"{covered:.3f} of gains above the lower bound"
    )
    print("| choice | geometric mean over XLA's own | slower than 0.97 of it |\n| --- | ---: | ---: |")
    for name, found in choices(rows, low, middle).items():
        slower = np.mean(np.array(found) < math.log(0.97))
        print(f"| {name} | {geometric(found):.3f} | {slower:.3f} |")


def corrections_of(rows, low):
    """Conformal: what must be added to the lower bound so that nine in ten gains of a family are above it."""
    errors = collections.defaultdict(lambda: collections.defaultdict(list))
    for row, bound in zip(rows, low, strict=True):
        errors[row["class"]][family(row["form"])].append(row["gain"] - bound)
    return {
        machine: {
            form: round(float(np.quantile(found, 0.1)), 4)
            for form, found in families.items()
            if len(found) >= LEAST_CALIBRATED
        }
        for machine, families in errors.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", metavar="ROWS.jsonl")
    parser.add_argument("--out", type=Path, help="the model; without it, only the table is printed")
    parser.add_argument("--tool", default="build/bench_operation_rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-isa", help="hold this instruction set out of training, and test on it alone")
    arguments = parser.parse_args()
    rows = read_rows(arguments.tool, arguments.rows)
    held = [row for row in rows if row["isa"] == arguments.without_isa]
    seen = [row for row in rows if row["isa"] != arguments.without_isa]
    parts = {name: [row for row in seen if row["part"] == name] for name in ("train", "calibration", "test")}
    if arguments.without_isa:
        parts["test"] = [row for row in held if row["part"] == "test"]
    models = {name: train(parts["train"], parts["calibration"], q, arguments.seed) for name, q in QUANTILES.items()}
    trees = {name: flat(model) for name, model in models.items()}
    for name, model in models.items():
        theirs = model.predict(xgboost.DMatrix(matrix(parts["test"])), iteration_range=(0, model.best_iteration + 1))
        assert np.abs(theirs - predicted(trees[name], matrix(parts["test"]))).max() < 0.01, (
            "the trees differ from XGBoost's"
        )
    corrections = corrections_of(parts["calibration"], predicted(trees["low"], matrix(parts["calibration"])))
    test = parts["test"]
    table(test, {name: predicted(t, matrix(test)) for name, t in trees.items()}, corrections)
    for isa in sorted({row["isa"] for row in test}):
        some = [row for row in test if row["isa"] == isa]
        print(f"\n{isa}: ", end="")
        table(some, {name: predicted(t, matrix(some)) for name, t in trees.items()}, corrections)
    if arguments.out:
        names = json.loads(subprocess.run([arguments.tool, "names"], check=True, capture_output=True, text=True).stdout)
        counts = collections.Counter((row["cpu"], row["isa"]) for row in parts["train"])
        trained = [{"cpu": cpu, "isa": isa, "rows": n} for (cpu, isa), n in sorted(counts.items())]
        model = {"features": names, "trained_on": trained, "corrections": corrections, **trees}
        arguments.out.write_text(json.dumps(model, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
