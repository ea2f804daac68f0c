#!/usr/bin/env python3
"""Run times on a machine that trees have not seen, corrected by a few kernels that it has measured.

    bench/perf_model/unseen_machine.py build/data/fusion/* --split data/splits/random.txt --part validation

Each data set is predicted by trees of the others, with --work by trees of what a sum of work leaves. Then so many
kernels of its training programs, drawn at random from those of at least 2 us, correct them: the median of their
residuals, and a regression on what is left whose kernel is the share of trees in which two rows fall into the same leaf
(the proximity of random forests, in ridge regression).
Errors are those of hone eval: kernels of at least 5 us, means of programs; then means over draws, and their range. The
row of shipped kernels is what `hone collect machine` does: those of --machine-kernels that the machine has measured,
used where they help (src/cost/leaf_correction.h): the error on a kernel that the others correct is smaller by a tenth.
"""

import argparse
import sqlite3
import statistics
import sys
from pathlib import Path

import numpy as np
import xgboost

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import harness  # noqa: E402
import kernel_network  # noqa: E402
from dataset import kendall, parts_of  # noqa: E402
from train_kernels import OF_TASK, SETTINGS, balanced, host_of, kernels_of, names_of, read_rows  # noqa: E402
from work_model import counts_of, over_work, with_work  # noqa: E402

LEAST_NS, LEAST_MEASURED_NS = 5000, 2000
BELIEVED = 0.9  # kBelieved of src/cost/leaf_correction.h
MOST = 2.0  # a logarithm: larger residuals count as this


class Rows:
    def __init__(self, folder, tool, parts):
        rows = read_rows(tool, folder)
        self.host = host_of(folder)
        self.fingerprints, self.programs = np.array(kernels_of(rows)).T
        self.parts = np.array([parts.get(program, "") for program in self.programs])
        self.features = rows["features"]
        self.log_ns, self.analytical = np.log(rows["runtime_ns"]), np.log(rows["analytical_ns"])


class Trees:
    """Trees of the training programs of `sets`. work_terms: names of HLO's features and of the terms of a sum of work,
    over which run times are predicted; None for trees over the analytical estimate. network: one beside them, too."""

    def __init__(self, sets, trees, work_terms, network):
        chosen = [rows.parts == "train" for rows in sets]
        weight = balanced([np.ones(here.sum()) for here in chosen])

        def of(name):
            return np.concatenate([getattr(rows, name)[here] for rows, here in zip(sets, chosen, strict=True)])

        analytical = of("analytical")
        columns = of("features"), of("log_ns") - analytical, np.concatenate(weight), analytical
        self.work_terms = work_terms
        if work_terms:
            columns, self.weights = over_work(columns, *work_terms)
        features, target, weight, _ = columns
        data = xgboost.QuantileDMatrix(features, target, weight=weight)
        self.model = xgboost.train(SETTINGS | OF_TASK["fusion"] | {"seed": 0}, data, trees)
        self.network = kernel_network.trained(features, target, weight, 0) if network else None

    def told(self, rows, here):
        """Logarithms of ns that are predicted for rows `here`, and [rows, trees]: the leaf that each falls into."""
        features, log_base = rows.features[here], rows.analytical[here]
        if self.work_terms:
            counts = counts_of(features, *self.work_terms)
            features, log_base = with_work(features, counts, self.weights, log_base)
        data = xgboost.DMatrix(features)
        found = self.model.predict(data)
        if self.network:
            found += kernel_network.SHARE * (kernel_network.predicted(self.network, features) - found)
        return found + log_base, self.model.predict(data, pred_leaf=True)


def proximity(leaves, others):
    """[rows, others]: the share of trees in which they fall into the same leaf."""
    return np.stack([(row == others).mean(axis=1) for row in leaves])


def correction(leaves, residuals, asked, smoothing):
    """What kernels of these leaves and residuals say about the residuals of `asked`, leaves as well."""
    middle = np.median(residuals)
    left = np.clip(residuals - middle, -MOST, MOST)
    gram = proximity(leaves, leaves) + smoothing * np.eye(len(left))
    return middle + proximity(asked, leaves) @ np.linalg.solve(gram, left)


def helps(leaves, residuals, smoothing):
    """Whether kernels are nearer to what was measured when the others correct them (leave one out), and both errors."""
    middle = np.median(residuals)
    left = np.clip(residuals - middle, -MOST, MOST)
    inverse = np.linalg.inv(proximity(leaves, leaves) + smoothing * np.eye(len(left)))
    held_out = np.abs(residuals - middle - left + inverse @ left / np.diag(inverse)).mean()
    return held_out < BELIEVED * np.abs(residuals).mean(), np.abs(residuals).mean(), held_out


def errors(rows, here, prediction):
    """Mean and geometric mean over programs of the MAPE, mean of Kendall's tau, in rows `here`."""
    mape, taus = [], []
    for program in sorted(set(rows.programs[here])):
        own = rows.programs[here] == program
        p, ns = np.exp(prediction[own]), np.exp(rows.log_ns[here][own])
        mape.append(100 * float(np.mean(np.abs(p / ns - 1))))
        if (tau := kendall(list(p), list(ns))) is not None:
            taus.append(tau)
    return statistics.fmean(mape), statistics.geometric_mean(mape), statistics.fmean(taus)


def rows_of(unseen, others, arguments):
    terms = (names_of(arguments.tool), names_of(arguments.tool, "kernel-work")) if arguments.work else None
    trees = Trees(others, arguments.trees, terms, arguments.network)
    asked = np.flatnonzero((unseen.parts == arguments.part) & (unseen.log_ns >= np.log(LEAST_NS)))
    pool = np.flatnonzero((unseen.parts == "train") & (unseen.log_ns >= np.log(LEAST_MEASURED_NS)))
    most = max(arguments.kernels)
    draws = [np.random.default_rng(seed).choice(pool, most, replace=False) for seed in range(arguments.draws)]

    plain, leaves = trees.told(unseen, asked)
    mean, middle, tau = errors(unseen, asked, plain)
    body = [[f"{unseen.host}: trees of the others", f"{mean:.1f}", f"{middle:.1f}", f"{tau:.3f}"]]
    for count in arguments.kernels:
        found = []
        for draw in draws:
            p, own = trees.told(unseen, draw[:count])
            residuals = unseen.log_ns[draw[:count]] - p
            found.append(errors(unseen, asked, plain + correction(own, residuals, leaves, arguments.smoothing)))
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        cells = [
            f"{m:.{d}f} [{a:.{d}f}, {b:.{d}f}]"
            for m, a, b, d in zip(np.mean(found, axis=0), low, high, (1, 1, 3), strict=True)
        ]
        body.append([f"{unseen.host}: {count} kernels", *cells])
    if arguments.machine_kernels:
        with sqlite3.connect(f"file:{arguments.machine_kernels}?mode=ro", uri=True) as database:
            shipped = [row[0] for row in database.execute("SELECT fingerprint FROM kernels")]
        here = np.flatnonzero(np.isin(unseen.fingerprints, shipped))
        p, own = trees.told(unseen, here)
        residuals = unseen.log_ns[here] - p
        used, before, after = helps(own, residuals, arguments.smoothing)
        corrected = plain + correction(own, residuals, leaves, arguments.smoothing)
        mean, middle, tau = errors(unseen, asked, corrected if used else plain)
        verdict = f"errors on them {before:.3f}, held out {after:.3f}: {'used' if used else 'not used'}"
        body.append(
            [f"{unseen.host}: {len(here)} shipped kernels, {verdict}", f"{mean:.1f}", f"{middle:.1f}", f"{tau:.3f}"]
        )
    return body


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    parser.add_argument("--kernels", type=int, nargs="+", default=[30, 100, 300], help="measured on the machine")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--smoothing", type=float, default=0.2, help="of the regression, added to its diagonal")
    parser.add_argument("--trees", type=int, default=250)
    parser.add_argument("--work", action="store_true", help="trees of what a sum of work leaves, as those that ship")
    parser.add_argument("--network", action="store_true", help="with --work: a network beside them, as it ships")
    parser.add_argument("--machine-kernels", type=Path, help="data/machine-kernels.db")
    parser.add_argument("--tool", default=str(ROOT / "build" / "bench_kernel_rows"))
    arguments = parser.parse_args()
    parts = parts_of(arguments.split)
    every = [Rows(folder, arguments.tool, parts) for folder in arguments.datasets]
    body = []
    for unseen in every:
        body += rows_of(unseen, [rows for rows in every if rows is not unseen], arguments)
        print(f"{unseen.host}: done", file=sys.stderr, flush=True)
    print(harness.markdown_table(["", "mean", "geometric", "tau"], body))


if __name__ == "__main__":
    main()
