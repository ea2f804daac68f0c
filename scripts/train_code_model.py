#!/usr/bin/env python3
"""Trains trees that predict run times of compiled kernels from HLO and machine code (src/cost/code_model.h).

    scripts/train_code_model.py build/data/fusion/* --code build/data/code --split FILE --seed 0 --out FILE

A data set is of `hone collect export --kind fusion`, one for each machine; bench_kernel_code has compiled its kernels
for the machine's instruction set before. Rows without code are left out. Machines, weights and settings are those
of scripts/train_kernels.py; the trees predict the logarithm of measured over analytical run time.
"""

import argparse
from pathlib import Path

import numpy as np
import xgboost
from code_rows import CodeRows
from dataset import parts_of
from train_kernels import OF_TASK, SETTINGS, balanced, names_of, write_model

FEATURES = "hcx"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", help="folders of hone collect export")
    parser.add_argument(
        "--code",
        type=Path,
        required=True,
        help="folder of those that bench_kernel_code has filled, one for each data set",
    )
    parser.add_argument("--database", type=Path, required=True, help="that the data sets were exported from")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--tool", default="build/bench_kernel_rows")
    arguments = parser.parse_args()
    parts = parts_of(arguments.split)
    features, target = [], []
    for folder in arguments.datasets:
        rows = CodeRows(folder, arguments.tool, arguments.code, arguments.database)
        chosen = np.array([parts.get(program) == "train" for program in rows.programs])
        if not chosen.any():
            raise SystemExit(
                f"{folder}: no code of training programs in {arguments.code}: bench_kernel_code collects it"
            )
        features.append(rows.features(FEATURES)[chosen])
        target.append((np.log(rows.ns) - rows.base("analytical"))[chosen])
    weight = balanced([np.ones(len(part)) for part in target])
    features = np.concatenate(features)
    data = xgboost.DMatrix(features, np.concatenate(target), weight=np.concatenate(weight))
    settings = SETTINGS | OF_TASK["fusion"] | {"seed": arguments.seed}
    model = xgboost.train(settings, data, arguments.trees, verbose_eval=False)
    names = [*names_of(arguments.tool), *names_of(arguments.tool, "code"), "code_cycles_over_analytical"]
    write_model(model, features, arguments, {"task": "code", "predicts": "run time"}, names)


if __name__ == "__main__":
    main()
