#!/usr/bin/env python3
"""Trains trees that predict run times of compiled kernels from HLO and machine code (src/cost/code_model.h).

    scripts/train_code_model.py build/data/fusion/* --code build/data/code --split FILE --seed 0 --out FILE

A data set is of `hone collect export --kind fusion`, one for each machine; bench_kernel_code has compiled its kernels
for the machine's instruction set before. Rows without code are left out. Machines and weights are those of
scripts/train_kernels.py; the trees predict the logarithm of the run time over a sum of work (work_model.py), whose
weights are learnt from the same rows.
"""

import argparse
from pathlib import Path

import numpy as np
import xgboost
from code_rows import CodeRows, add_work
from dataset import parts_of
from train_kernels import OF_TASK, SETTINGS, balanced, names_of, write_model
from work_model import feature_names

FEATURES = "hcxw"


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
    sets, chosen = [], []
    for folder in arguments.datasets:
        rows = CodeRows(folder, arguments.tool, arguments.code, arguments.database)
        here = np.array([parts.get(program) == "train" for program in rows.programs])
        if not here.any():
            raise SystemExit(
                f"{folder}: no code of training programs in {arguments.code}: bench_kernel_code collects it"
            )
        sets.append(rows)
        chosen.append(here)
    weights = add_work(sets, chosen)
    features = [rows.features(FEATURES)[here] for rows, here in zip(sets, chosen, strict=True)]
    target = [(np.log(rows.ns) - rows.base("work"))[here] for rows, here in zip(sets, chosen, strict=True)]
    weight = balanced([np.ones(len(part)) for part in target])
    features = np.concatenate(features)
    data = xgboost.DMatrix(features, np.concatenate(target), weight=np.concatenate(weight))
    settings = SETTINGS | OF_TASK["code"] | {"seed": arguments.seed}
    model = xgboost.train(settings, data, arguments.trees, verbose_eval=False)
    tool = arguments.tool
    names = [*names_of(tool), *names_of(tool, "code"), "code_cycles_over_analytical"]
    names += feature_names(names_of(tool, "work"))
    metadata = {"task": "code", "predicts": "run time over work"}
    write_model(model, features, arguments, metadata, names, [("work", weights.astype("<f4"))])


if __name__ == "__main__":
    main()
