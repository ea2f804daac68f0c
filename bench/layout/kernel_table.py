#!/usr/bin/env python3
"""Options of kernels (tiles, loops, libraries) by trivial rankers and by the shipped trees: `make tables-layout`.

    bench/layout/kernel_table.py build/data/tile/HOST --split data/splits/random.txt

The folder is a data set of `hone collect export`. Rankers learn from the training programs, as far as they learn; rows
are those of table.py, and a program counts by the mean over its kernels of at least two different run times. Hand
features are the columns of an option (option_*), without those of the kernel that the shipped trees also see; the ridge
regression has all.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import hand_features  # noqa: E402
import scoring  # noqa: E402
from boosted_trees import predicted, read_trees  # noqa: E402
from dataset import parts_of  # noqa: E402
from ranking_table import Table  # noqa: E402
from train_kernels import kernels_of, names_of, read_rows  # noqa: E402


class Kernel:
    def __init__(self, name, rows, times):
        self.name, self.rows, self.times = name, rows, times  # rows: indices of its options


def kernels_of_part(rows, parts, part):
    """The kernels of the part's programs and their programs."""
    names = kernels_of(rows)
    kernels, programs = [], []
    order = np.argsort(rows["kernel"], kind="stable")
    for index in np.split(order, np.flatnonzero(np.diff(rows["kernel"][order])) + 1):
        fingerprint, program = names[index[0]]
        times = rows["runtime_ns"][index]
        if parts.get(program) == part and len(np.unique(times)) > 1:
            kernels.append(Kernel(fingerprint, index, times))
            programs.append(program)
    return kernels, programs


def targets_of(kernels, rows):
    """Rows of the kernels, and the logarithms of run times less their kernel's mean, limited to a factor of e."""
    index = np.concatenate([kernel.rows for kernel in kernels])
    logs = [np.log(kernel.times) - np.log(kernel.times).mean() for kernel in kernels]
    groups = np.concatenate([np.full(len(kernel.rows), i) for i, kernel in enumerate(kernels)])
    return rows["features"][index], np.clip(np.concatenate(logs), -1, 1), groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "random.txt")
    parser.add_argument("--models", type=Path, default=ROOT / "data" / "models" / "tile")
    parser.add_argument("--tool", type=Path, default=ROOT / "build" / "bench_kernel_rows")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    parts, names = parts_of(options.split), names_of(options.tool)
    rows = read_rows(options.tool, options.data)
    features = rows["features"]
    kernels, programs = kernels_of_part(rows, parts, "test")
    train, _ = kernels_of_part(rows, parts, "train")
    table = Table(kernels, programs)

    def scored(label, *by_seed):
        table.add(label, [[scores[kernel.rows] for kernel in kernels] for scores in by_seed])

    count = len(features)
    scored("random", *(np.random.default_rng(seed).random(count) for seed in options.seeds))
    column = {name: features[:, i] for i, name in enumerate(names)}
    scored("XLA's own first", 1 - column["option_is_default"])
    size = column["option_tile_product"]
    sign = (
        np.sign(sum(scoring.tau(size[kernel.rows], kernel.times) for kernel in train)) or 1
    )  # large first or small first
    scored("size of the tile", sign * size)
    known, targets, groups = targets_of(train, rows)
    every = np.nan_to_num(features)
    scored("ridge on hand features", hand_features.Ridge(np.nan_to_num(known), targets, groups).predict(every))
    of_option = [i for i, name in enumerate(names) if name.startswith("option_")]
    models = [hand_features.boosted(known[:, of_option], targets, seed) for seed in options.seeds]
    scored("trees on hand features", *(model(features[:, of_option]) for model in models))
    shipped = [predicted(read_trees(path), features) for path in sorted(options.models.glob("*.safetensors"))]
    scored("shipped trees, each seed", *shipped)
    scored("shipped trees, mean of the seeds", np.mean(shipped, 0))
    print(f"### Options of kernels, {options.data.name}: {len(train)} kernels train, {len(kernels)} test\n")
    print(table.markdown(), "\n")


if __name__ == "__main__":
    main()
