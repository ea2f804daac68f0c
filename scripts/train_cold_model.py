#!/usr/bin/env python3
"""Trains trees that predict how much longer a kernel runs with its inputs out of the caches (src/cost/program_time.h).

    scripts/train_cold_model.py --warm build/data/fusion/HOST --cold build/data/cold --split FILE --out FILE

Both data sets are of one machine: `hone collect export --kind fusion`, without and with --cold. Kernels that are in
both count. Settings were chosen on validation programs; --report prints the errors of all parts.
"""

import argparse
from pathlib import Path

import numpy as np
import xgboost
from dataset import parts_of
from train_kernels import OF_TASK, SETTINGS, kernels_of, names_of, read_rows, write_model


def report(name, predicted, target, parts, warm_ns):
    for part in ("validation", "test"):
        errors = np.abs(predicted - target)[parts == part]
        longer = np.abs(predicted - target)[(parts == part) & (warm_ns >= 5000)]
        print(f"{name}, {part}: {len(errors)} kernels, {errors.mean():.3f}; from 5 us on {longer.mean():.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warm", required=True, help="data set of hone collect export")
    parser.add_argument("--cold", required=True, help="the same with --cold")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--tool", default="build/bench_kernel_rows")
    parser.add_argument(
        "--report", action="store_true", help="mean errors of the logarithm on validation and test programs"
    )
    arguments = parser.parse_args()
    arguments.datasets = [arguments.cold]
    warm, cold = (read_rows(arguments.tool, folder) for folder in (arguments.warm, arguments.cold))
    ns_of = {kernel: ns for (kernel, _), ns in zip(kernels_of(warm), warm["runtime_ns"], strict=True)}
    kernels = kernels_of(cold)
    both = np.array([kernel in ns_of for kernel, _ in kernels])
    warm_ns = np.array([ns_of.get(kernel, np.nan) for kernel, _ in kernels])[both]
    rows, target = cold["features"][both], np.log(cold["runtime_ns"][both] / warm_ns)
    of_program = parts_of(arguments.split)
    parts = np.array([of_program.get(program, "") for _, program in kernels])[both]
    train = parts == "train"
    settings = SETTINGS | OF_TASK["fusion"] | {"seed": arguments.seed, "max_depth": 6}
    model = xgboost.train(settings, xgboost.DMatrix(rows[train], target[train]), arguments.trees, verbose_eval=False)
    if arguments.report:
        report("as warm", np.zeros(len(target)), target, parts, warm_ns)
        report("the training programs' mean", np.full(len(target), target[train].mean()), target, parts, warm_ns)
        report("trees", model.predict(xgboost.DMatrix(rows)), target, parts, warm_ns)
    metadata = {"task": "cold", "predicts": "cold over warm"}
    write_model(model, rows[train], arguments, metadata, names_of(arguments.tool))


if __name__ == "__main__":
    main()
