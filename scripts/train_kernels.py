#!/usr/bin/env python3
"""Trains trees that predict run times of kernels, or rank the options of a kernel (src/cost/tree_model.h).

    scripts/train_kernels.py build/data/fusion/* --split FILE --seed 0 --out data/models/fusion/seed-0.safetensors
    scripts/train_kernels.py build/data/tile/* --split FILE --seed 0 --out data/models/tile/seed-0.safetensors

A data set is of `hone collect export`, one for each machine; what it holds, run times of default options or of all
options, is told by its content. Each machine counts as much as the one with most rows, up to a weight of MOST_WEIGHT,
so that one that measured little is learnt, too; those of --more count by their rows. Trees for run times predict the
logarithm of measured over analytical run time, or with --work over a sum of work (work_model.py), whose weights are
learnt from the same rows. Trees for options predict the logarithm of an option's run time less the mean of its
kernel's, limited to a factor of e. The number of trees is fixed: programs of the validation part choose settings, and
no training sees them.
`hone eval` says how good the trees are.
"""

import argparse
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

import kernel_network
import numpy as np
import xgboost
from boosted_trees import flat, predicted, write_trees
from dataset import parts_of
from work_model import feature_names, over_work

SETTINGS = {
    "max_depth": 8,
    "learning_rate": 0.06,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "nthread": 1,
}
OF_TASK = {
    "fusion": {"min_child_weight": 6},
    "tile": {"min_child_weight": 3},
    "code": {"max_depth": 10, "min_child_weight": 10},
}
MOST_RATIO = 1.0  # a logarithm: options that are slower or faster than the mean by more count as these
FEATURE_VERSION = 1  # kFeatureVersion of src/features/encoded.h
MOST_WEIGHT = 3.0


def names_of(tool, *which):
    """The names of features: of HLO, or with "code" of code."""
    return subprocess.run([tool, "names", *which], check=True, capture_output=True, text=True).stdout.split()


def read_rows(tool, folder):
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "rows.npz"
        subprocess.run([tool, folder, file], check=True)
        return dict(np.load(file))


def kernels_of(rows):
    """(fingerprint, program) of the kernel of each row."""
    lines = [tuple(line.split("\t")[:2]) for line in rows["kernels"].tobytes().decode().splitlines()]
    return [lines[kernel] for kernel in rows["kernel"]]


def some_training(parts, share):
    """The parts without some of the training programs: every smaller share is part of every larger one."""

    def place(program):
        return int(hashlib.sha256(program.encode()).hexdigest(), 16) % 1000 / 1000

    return {program: part for program, part in parts.items() if part != "train" or place(program) < share}


def targets(rows, tile):
    """What the trees learn, and the weight of each row."""
    log_ns = np.log(rows["runtime_ns"])
    if not tile:
        return log_ns - np.log(rows["analytical_ns"]), np.ones(len(log_ns))
    kernel = rows["kernel"]
    count = np.bincount(kernel)
    mean = np.bincount(kernel, log_ns) / np.maximum(count, 1)
    return np.clip(log_ns - mean[kernel], -MOST_RATIO, MOST_RATIO), 1 / count[kernel]


def host_of(folder):
    machine = Path(folder) / "machine.json"
    return json.loads(machine.read_text())["host"] if machine.exists() else "this machine"


def training_part(folders, tool, parts, more=()):
    """Rows of the training programs of all data sets, those of `more` last, and the task: tile or fusion. (features,
    target, weight, logarithm of the analytical estimate in ns), task."""
    found, tasks = [], set()
    for folder in [*folders, *more]:
        rows = read_rows(tool, folder)
        tile = len(np.unique(rows["kernel"])) < len(rows["kernel"])
        tasks.add("tile" if tile else "fusion")
        chosen = np.array([parts.get(program) == "train" for _, program in kernels_of(rows)])
        columns = (rows["features"], *targets(rows, tile), np.log(rows["analytical_ns"]))
        found.append([column[chosen] for column in columns])
    if len(tasks) != 1:
        raise SystemExit("data sets of run times of defaults and of options cannot be mixed")
    features, target, weight, analytical = map(list, zip(*found, strict=True))
    weight[: len(folders)] = balanced(weight[: len(folders)])
    return tuple(map(np.concatenate, (features, target, weight, analytical))), tasks.pop()


def balanced(weights):
    """Those of the rows of each machine, so that each counts as the largest, up to MOST_WEIGHT."""
    largest = max(each.sum() for each in weights)
    return [each * min(MOST_WEIGHT, largest / each.sum()) for each in weights]


def write_model(model, rows, arguments, metadata, names, more=()):
    """The trees as a file of src/cost/tree_model.h, after a check that they are scored as XGBoost scores them."""
    model.best_iteration = arguments.trees - 1
    trees = flat(model, digits=6)
    difference = np.abs(model.predict(xgboost.DMatrix(rows[:200])) - predicted(trees, rows[:200])).max()
    assert difference < 0.01, "the trees differ from XGBoost's"
    metadata |= {
        "features": json.dumps(names),
        "feature_version": str(FEATURE_VERSION),
        "machines": json.dumps([host_of(folder) for folder in arguments.datasets]),
        "seed": str(arguments.seed),
        "split": arguments.split.name,
    }
    write_trees(arguments.out, trees, metadata, more)
    nodes = sum(len(tree["value"]) for tree in trees["trees"])
    print(f"{arguments.out}: {arguments.trees} trees, {nodes} nodes, {len(rows)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", help="folders of hone collect export")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--more", nargs="*", default=[], metavar="FOLDER", help="data sets that are not balanced")
    parser.add_argument("--work", action="store_true", help="predict run times over a sum of work")
    parser.add_argument("--network", action="store_true", help="with --work: a network beside the trees, as well")
    parser.add_argument("--drawn", type=Path, nargs="*", default=[], help="splits of drawn programs, which train, too")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--share", type=float, default=1.0, help="of the training programs, for learning curves")
    parser.add_argument("--tool", default="build/bench_kernel_rows")
    arguments = parser.parse_args()
    parts = some_training(parts_of(arguments.split), arguments.share)
    for drawn in arguments.drawn:
        parts |= parts_of(drawn)
    rows, task = training_part(arguments.datasets, arguments.tool, parts, arguments.more)
    names, tensors = names_of(arguments.tool), []
    predicts = "ratio" if task == "tile" else "run time"
    if arguments.network and not arguments.work:
        parser.error("--network: needs --work")
    if arguments.work:
        if task == "tile":
            raise SystemExit("--work: options of a kernel are ranked, their run times are not predicted")
        terms = names_of(arguments.tool, "kernel-work")
        rows, weights = over_work(rows, names, terms)
        names, predicts, tensors = names + feature_names(terms), "run time over work", [("work", weights)]
    features, target, weight, _ = rows
    if arguments.network:
        tensors += kernel_network.trained(features, target, weight, arguments.seed).items()
    data = xgboost.DMatrix(features, target, weight=weight)
    settings = SETTINGS | OF_TASK[task] | {"seed": arguments.seed}
    model = xgboost.train(settings, data, arguments.trees, verbose_eval=False)
    write_model(model, features, arguments, {"task": task, "predicts": predicts}, names, tensors)


if __name__ == "__main__":
    main()
