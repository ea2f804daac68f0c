#!/usr/bin/env python3
"""Compares trees for run times that have features of compiled code with trees that have none, on the same rows.

    bench/perf_model/code_model.py build/data/fusion/* --code build/data/code --split data/splits/random.txt

The code of the data sets' kernels is collected before (bench_kernel_code). Only rows whose code is there count, for
training (without --all-rows) and for evaluation, in every variant; a variant is a choice of features, and of what the
trees' target is relative to. The table has the errors of hone eval: kernels of at least 5 us, means of programs, the
geometric mean over programs with an interval that resamples programs, and the geometric mean of the paired ratios to
the errors of the first variant. The last column is a calibrated interval of 90 %: the factor either way that covers
90 % of the validation programs' kernels of the machine (split conformal prediction, programs weighted equally), and
what it covers of the part's. Settings are chosen on the validation part, the default; --part test is for the result.
"""

import argparse
import hashlib
import random
import sqlite3
import statistics
import sys
from pathlib import Path

import numpy as np
import xgboost

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import harness  # noqa: E402
from code_rows import CodeRows, add_work  # noqa: E402
from dataset import kendall, parts_of  # noqa: E402
from train_kernels import OF_TASK, SETTINGS, balanced  # noqa: E402
from unseen_machine import correction, helps  # noqa: E402

LEAST_NS = 5000
RESAMPLED = 2000
COVERED = 0.9
SMOOTHING = 0.2  # of src/cost/leaf_correction.cc

# Features (h = of HLO, c = of code, s = of code without numbers of runs, x = cycles over the analytical estimate, b =
# what trees without code predict over it, w = the sum of work over it and the shares of its terms) and what the target
# is relative to, and whose settings of train_kernels.OF_TASK. For "before", only rows with code are for training, and
# the trees that it is relative to have not seen their programs.
VARIANTS = {
    "before compiling": ("h", "analytical", "fusion"),
    "code alone": ("c", "cycles", "fusion"),
    "both": ("hc", "analytical", "fusion"),
    "both, static code": ("hs", "analytical", "fusion"),
    "both and ratio": ("hcx", "analytical", "fusion"),
    "both and ratio, deeper": ("hcx", "analytical", "code"),
    "both, from cycles": ("hcx", "cycles", "fusion"),
    "both, from before": ("hcxb", "before", "fusion"),
    "both and work": ("hcxw", "analytical", "code"),
    "both, from work": ("hcxw", "work", "code"),
    "both, from work, no shares": ("hcx", "work", "code"),
}
FOLDS = 4


def trained(sets, chosen, variant, seed, arguments):
    """Trees of a variant on the chosen rows of each set."""
    which, relative, task = variant
    features = np.concatenate([rows.features(which)[here] for rows, here in zip(sets, chosen, strict=True)])
    target = [(np.log(rows.ns) - rows.base(relative))[here] for rows, here in zip(sets, chosen, strict=True)]
    weight = balanced([np.ones(len(part)) for part in target])
    data = xgboost.DMatrix(features, np.concatenate(target), weight=np.concatenate(weight))
    settings = SETTINGS | OF_TASK[task] | {"seed": seed}
    return xgboost.train(settings, data, arguments.trees, verbose_eval=False)


def predict_before(train, test, arguments):
    """Fills what trees without code predict, which were trained on other programs than a row's."""
    everything = {id(rows): rows for rows in [*train, *test]}.values()
    for fold in range(FOLDS + 1):  # the last one is for rows that are not for training
        own = [rows.folds == fold for rows in train]
        chosen = [(rows.parts == "train") & ~here for rows, here in zip(train, own, strict=True)]
        model = trained(train, chosen, VARIANTS["before compiling"], 0, arguments)
        for rows in everything:
            here = rows.folds == fold
            logs = model.predict(xgboost.DMatrix(rows.hlo[here]))
            rows.filled[here] = logs + rows.analytical[here]
    for rows in everything:
        rows.before = rows.filled


def predicted(train, test, variant, arguments):
    """Nanoseconds for the rows of each test set, the mean of --seeds members' logarithms, and the members."""
    which, relative, _ = VARIANTS[variant]
    if relative == "before":
        predict_before(train, test, arguments)
    chosen = [(rows.parts == "train") & (rows.has_code | (relative != "before")) for rows in train]
    if "w" in which or relative == "work":
        with_code = [here & rows.has_code for rows, here in zip(train, chosen, strict=True)]
        add_work(train, with_code, test)
    sums, members = [np.zeros(len(rows.ns)) for rows in test], []
    for seed in range(arguments.seeds):
        model = trained(train, chosen, VARIANTS[variant], seed, arguments)
        members.append(model)
        for total, rows in zip(sums, test, strict=True):
            total += model.predict(xgboost.DMatrix(rows.features(which)))
    found = [np.exp(total / arguments.seeds + rows.base(relative)) for total, rows in zip(sums, test, strict=True)]
    for rows in [*train, *test]:
        rows.before = rows.analytical
    return found, members


def corrected(rows, prediction, members, which, arguments):
    """As on a machine that has measured --machine-kernels, only for the part, and a text that says whether it helps."""
    with sqlite3.connect(f"file:{arguments.machine_kernels}?mode=ro", uri=True) as database:
        shipped = [row[0] for row in database.execute("SELECT fingerprint FROM kernels")]
    own = np.flatnonzero(np.isin(rows.kernels, shipped) & rows.has_code)
    asked = np.flatnonzero((rows.parts == arguments.part) | (rows.parts == "validation"))
    features = rows.features(which)

    def leaves(here):
        data = xgboost.DMatrix(features[here])
        return np.concatenate([model.predict(data, pred_leaf=True) for model in members], axis=1)

    residuals = np.log(rows.ns[own] / prediction[own])
    used, before, after = helps(leaves(own), residuals, SMOOTHING)
    better = prediction.copy()
    if used:
        better[asked] *= np.exp(correction(leaves(own), residuals, leaves(asked), SMOOTHING))
    return better, f"{len(own)} of its kernels ({before:.3f}, held out {after:.3f}{'' if used else ', not used'})"


def errors(rows, prediction, part):
    """Program -> (MAPE of its kernels, error of their sum, Kendall's tau or None)."""
    found = {}
    for program in sorted(set(rows.programs[rows.parts == part])):
        here = (rows.programs == program) & (rows.ns >= LEAST_NS) & rows.has_code
        if not here.any():
            continue
        p, m = prediction[here], rows.ns[here]
        tau = kendall(list(p), list(m)) if here.sum() > 1 else None
        found[program] = (100 * np.mean(np.abs(p / m - 1)), 100 * abs(p.sum() / m.sum() - 1), tau)
    return found


def calibrated(rows, prediction, part):
    """The factor that covers 90 % of the validation programs' kernels, and the share that it covers of the part's."""
    counted = (rows.ns >= LEAST_NS) & rows.has_code
    miss = np.abs(np.log(prediction / rows.ns))
    count = {program: (counted & (rows.programs == program)).sum() for program in set(rows.programs)}
    weight = np.array([1 / max(1, count[program]) for program in rows.programs])
    known = counted & (rows.parts == "validation")
    order = np.argsort(miss[known])
    share = np.cumsum(weight[known][order]) / weight[known].sum()
    bound = miss[known][order][min(len(order) - 1, np.searchsorted(share, COVERED))]
    asked = counted & (rows.parts == part)
    return np.exp(bound), (weight[asked] * (miss[asked] <= bound)).sum() / weight[asked].sum()


def geometric(values):
    return statistics.geometric_mean(max(value, 1e-3) for value in values)


def interval(values):
    draw = random.Random(0)
    found = sorted(geometric(draw.choices(values, k=len(values))) for _ in range(RESAMPLED))
    return f"[{found[int(0.025 * RESAMPLED)]:.2f}, {found[int(0.975 * RESAMPLED)]:.2f}]"


def row_of(label, found, first, band):
    mape = {program: values[0] for program, values in found.items()}
    sums = [values[1] for values in found.values()]
    taus = [values[2] for values in found.values() if values[2] is not None]
    ratios = [max(mape[p], 1e-3) / max(first[p][0], 1e-3) for p in mape]
    own = list(mape.values())
    return [
        label,
        str(len(own)),
        f"{statistics.fmean(own):.1f}",
        f"{statistics.median(own):.1f}",
        f"{geometric(own):.1f} {interval(own)}",
        f"{statistics.fmean(taus or [0]):.3f}",
        f"{statistics.fmean(sums):.1f}, {statistics.median(sums):.1f}",
        f"{geometric(ratios):.3f} {interval(ratios)}",
        f"{band[0]:.2f}, {100 * band[1]:.0f} %",
    ]


def tables(train, test, arguments, title):
    body, first = [], {}
    for variant in arguments.variants:
        predictions, members = predicted(train, test, variant, arguments)
        for rows, prediction in zip(test, predictions, strict=True):
            found = errors(rows, prediction, arguments.part)
            band = calibrated(rows, prediction, arguments.part)
            first.setdefault(rows.host, found)
            body.append(row_of(f"{rows.host}{title}: {variant}", found, first[rows.host], band))
            if arguments.machine_kernels and not any(rows is other for other in train):
                better, verdict = corrected(rows, prediction, members, VARIANTS[variant][0], arguments)
                found, band = errors(rows, better, arguments.part), calibrated(rows, better, arguments.part)
                body.append(row_of(f"{rows.host}{title}: {variant}, {verdict}", found, first[rows.host], band))
        print(f"{variant}{title}: done", file=sys.stderr, flush=True)
    return sorted(body, key=lambda row: row[0].split(":")[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument(
        "--code",
        type=Path,
        required=True,
        help="folder of those that bench_kernel_code has filled, one for each data set",
    )
    parser.add_argument(
        "--database", type=Path, default=ROOT / "build/data/kernels.db", help="that they were exported from"
    )
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--all-rows", action="store_true", help="rows without code are for training, too")
    parser.add_argument("--unseen", action="store_true", help="also each data set by trees of the others")
    parser.add_argument(
        "--machine-kernels", type=Path, help="data/machine-kernels.db: with --unseen, also corrected by these"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--tool", default=str(ROOT / "build" / "bench_kernel_rows"))
    arguments = parser.parse_args()
    parts = parts_of(arguments.split)
    every = [
        CodeRows(folder, arguments.tool, arguments.code, arguments.database, arguments.all_rows)
        for folder in arguments.datasets
    ]
    for rows in every:
        rows.parts = np.array([parts.get(program, "") for program in rows.programs])
        place = np.array([int(hashlib.sha256(program.encode()).hexdigest(), 16) % FOLDS for program in rows.programs])
        rows.folds = np.where(rows.parts == "train", place, FOLDS)
        rows.filled = np.zeros(len(rows.ns))
        print(f"{rows.host}: {len(rows.ns)} rows, {(rows.parts == 'train').sum()} for training", file=sys.stderr)
    body = tables(every, every, arguments, "")
    for rows in every if arguments.unseen else ():
        body += tables([other for other in every if other is not rows], [rows], arguments, ", not seen")
    header = [
        "",
        "programs",
        "mean",
        "median",
        "geometric [95 %]",
        "tau",
        "sum, mean, median",
        "over the first",
        "90 %",
    ]
    print(harness.markdown_table(header, body))


if __name__ == "__main__":
    main()
