#!/usr/bin/env python3
"""Do trees that learn from the machine code of options rank a kernel's compiled options better than trees without?

    bench/perf_model/option_code.py build/data/tile/* --code build/data/code --split data/splits/random.txt

bench_kernel_code has compiled options of training and validation programs before. Only kernels count whose default
and at least one other option have code. What the trees predict is the logarithm of an option's run time over the
default's. They start from the lead, what trees without code predict for it: of training programs by trees that have
not seen the program (folds), of others by trees of all training programs. Variants are compared on one part of the
split: run time lost by the first choice (the sum of a program's kernels over that of the best options), Kendall's tau
over pairs that differ by 10 % or more, the root mean square error of the logarithm, per program, and means over
programs.
"""

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import xgboost

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import harness  # noqa: E402
from code_rows import code_folder  # noqa: E402
from dataset import kendall, parts_of  # noqa: E402
from train_kernels import OF_TASK, SETTINGS, host_of, names_of, targets  # noqa: E402

FOLDS = 4
MOST = 1.5  # a logarithm: options that are slower or faster than the default by more count as these

# Features (h = of HLO, c = of code, m = of code less the default's, l = lead) and what the target is relative to.
VARIANTS = {
    "without code": ("hl", "lead"),
    "code, over nothing": ("hcml", "default"),
    "code, over the lead": ("hcml", "lead"),
    "code less the default's, over the lead": ("cml", "lead"),
    "small trees, over the lead": ("hcml", "lead"),
}
OF_VARIANT = {"small trees, over the lead": {"max_depth": 4, "min_child_weight": 20}}


class Rows:
    """All options of one data set, with what is known of their code."""

    def __init__(self, folder, arguments, parts):
        file = arguments.cache / f"{Path(folder).name}.npz" if arguments.cache else None
        if file is None or not file.exists():
            with tempfile.TemporaryDirectory() as scratch:
                made = file or Path(scratch) / "rows.npz"
                code = code_folder(arguments.code, folder)
                subprocess.run([arguments.tool, folder, made, code, arguments.database], check=True)
                rows = dict(np.load(made))
        else:
            rows = dict(np.load(file))
        lines = [line.split("\t") for line in rows["kernels"].tobytes().decode().splitlines()]
        self.host, self.kernel, self.hlo = host_of(folder), rows["kernel"], rows["features"]
        programs = np.array([line[1] for line in lines])
        self.programs = programs[self.kernel]
        self.parts = np.array([parts.get(program, "") for program in programs])[self.kernel]
        place = [int(hashlib.sha256(program.encode()).hexdigest(), 16) % FOLDS for program in programs]
        self.folds = np.where(self.parts == "train", np.array(place)[self.kernel], FOLDS)
        self.log_ns = np.log(rows["runtime_ns"])
        self.target, self.weight = targets(rows, tile=True)
        self.default = default_rows(rows["is_default"], self.kernel)
        own = rows["code"][:, arguments.names.index("code_objects")] > 0
        readable = (rows["has_code"] > 0) & own
        self.is_default = rows["is_default"] > 0
        self.usable = readable & readable[self.default]
        others = np.bincount(self.kernel, self.usable & ~self.is_default)
        self.usable &= others[self.kernel] > 0
        self.code = rows["code"]
        self.y = np.clip(self.log_ns - self.log_ns[self.default], -MOST, MOST)
        self.lead = np.zeros(len(self.y))

    def features(self, which, here):
        parts = {
            "h": lambda: self.hlo[here],
            "c": lambda: self.code[here],
            "m": lambda: (self.code - self.code[self.default])[here],
            "l": lambda: self.lead[here, None],
        }
        return np.concatenate([parts[letter]() for letter in which], axis=1)


def default_rows(is_default, kernel):
    """For each row that of its kernel's default."""
    of_kernel = np.zeros(kernel.max() + 1, dtype=int)
    of_kernel[kernel[is_default > 0]] = np.flatnonzero(is_default > 0)
    return of_kernel[kernel]


def fill_leads(every, arguments):
    """What trees without code say, which have not seen the program of a training row."""
    file = arguments.cache / "leads.npz" if arguments.cache else None
    if file is not None and file.exists():
        for rows, lead in zip(every, np.load(file).values(), strict=True):
            rows.lead = lead
        return
    for fold in range(FOLDS + 1):
        chosen = [(rows.parts == "train") & (rows.folds != fold) for rows in every]
        data = xgboost.DMatrix(
            np.concatenate([rows.hlo[here] for rows, here in zip(every, chosen, strict=True)]),
            np.concatenate([rows.target[here] for rows, here in zip(every, chosen, strict=True)]),
            weight=np.concatenate([rows.weight[here] for rows, here in zip(every, chosen, strict=True)]),
        )
        model = xgboost.train(SETTINGS | OF_TASK["tile"] | {"seed": 0}, data, arguments.before_trees)
        for rows in every:
            own = np.flatnonzero((rows.folds == fold) & rows.usable)
            scores = model.predict(xgboost.DMatrix(rows.hlo[own]))
            defaults = model.predict(xgboost.DMatrix(rows.hlo[rows.default[own]]))
            rows.lead[own] = scores - defaults
        print(f"leads of fold {fold}: done", file=sys.stderr, flush=True)
    if file is not None:
        np.savez(file, *[rows.lead for rows in every])


def trained(every, which, relative, seed, arguments, more):
    chosen = [rows.usable & ~rows.is_default & (rows.parts == "train") for rows in every]
    target = [rows.y - (rows.lead if relative == "lead" else 0) for rows in every]
    counts = [
        np.maximum(1, np.bincount(rows.kernel, here))[rows.kernel] for rows, here in zip(every, chosen, strict=True)
    ]
    data = xgboost.DMatrix(
        np.concatenate([rows.features(which, here) for rows, here in zip(every, chosen, strict=True)]),
        np.concatenate([part[here] for part, here in zip(target, chosen, strict=True)]),
        weight=np.concatenate([1 / part[here] for part, here in zip(counts, chosen, strict=True)]),
    )
    settings = SETTINGS | {"min_child_weight": 1, "seed": seed} | more
    return xgboost.train(settings, data, arguments.trees)


def judged(rows, prediction, part):
    """Means over programs: run time lost, tau, tau over distinguishable pairs, root mean square error."""
    found = {}
    for program in sorted(set(rows.programs[(rows.parts == part) & rows.usable])):
        own = (rows.programs == program) & rows.usable
        taken = best = 0.0
        taus, far = [], []
        for kernel in np.unique(rows.kernel[own]):
            here = np.flatnonzero(own & (rows.kernel == kernel))
            p, ns = prediction[here], np.exp(rows.log_ns[here])
            taken, best = taken + ns[np.argmin(p)], best + ns.min()
            for least, all_taus in ((1.0, taus), (1.1, far)):
                if (tau := kendall(list(p), list(ns), least)) is not None:
                    all_taus.append(tau)
        miss = (prediction - rows.y)[own & ~rows.is_default]
        found[program] = (100 * (taken / best - 1), taus, far, float(np.sqrt(np.mean(miss**2))))
    return found


def row_of(label, found):
    lost = [values[0] for values in found.values()]
    means = [[statistics.fmean(values[i]) for values in found.values() if values[i]] for i in (1, 2)]
    rms = [values[3] for values in found.values()]
    return [
        label,
        str(len(found)),
        f"{statistics.fmean(lost):.2f}",
        f"{statistics.geometric_mean([max(x, 1e-2) for x in lost]):.2f}",
        *(f"{statistics.fmean(part or [0]):.3f}" for part in means),
        f"{statistics.fmean(rms):.3f}",
    ]


def compare(every, arguments):
    body = []
    for rows in every:
        body.append(row_of(f"{rows.host}: trees without code", judged(rows, rows.lead, arguments.part)))
        body.append(row_of(f"{rows.host}: the default", judged(rows, -1.0 * rows.is_default, arguments.part)))
    for variant in arguments.variants:
        which, relative = VARIANTS[variant]
        sums = [np.zeros(len(rows.y)) for rows in every]
        for seed in range(arguments.seeds):
            model = trained(every, which, relative, seed, arguments, OF_VARIANT.get(variant, {}))
            for total, rows in zip(sums, every, strict=True):
                here = np.flatnonzero(rows.usable & ~rows.is_default)
                total[here] += model.predict(xgboost.DMatrix(rows.features(which, here))) / arguments.seeds
        for total, rows in zip(sums, every, strict=True):
            base = rows.lead * (~rows.is_default) if relative == "lead" else 0
            body.append(row_of(f"{rows.host}: {variant}", judged(rows, total + base, arguments.part)))
        print(f"{variant}: done", file=sys.stderr, flush=True)
    header = ["", "programs", "lost, mean", "geometric", "tau", "tau, 10 %", "error of the logarithm"]
    print(harness.markdown_table(header, sorted(body, key=lambda row: row[0].split(":")[0])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument(
        "--code",
        type=Path,
        required=True,
        help="folder of those that bench_kernel_code has filled, one for each data set",
    )
    parser.add_argument("--database", type=Path, default=ROOT / "build/data/kernels.db")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--before-trees", type=int, default=500, help="of those without code")
    parser.add_argument("--cache", type=Path, help="folder that keeps rows and leads for the next run")
    parser.add_argument("--tool", default=str(ROOT / "build" / "bench_kernel_rows"))
    arguments = parser.parse_args()
    arguments.names = names_of(arguments.tool, "code")
    parts = parts_of(arguments.split)
    every = [Rows(folder, arguments, parts) for folder in arguments.datasets]
    for rows in every:
        own = rows.usable & ~rows.is_default
        print(f"{rows.host}: {own.sum()} options of {len(set(rows.kernel[own]))} kernels", file=sys.stderr)
    fill_leads(every, arguments)
    judged_sets = [rows for rows in every if ((rows.parts == arguments.part) & rows.usable).any()]
    compare(judged_sets, arguments)


if __name__ == "__main__":
    main()
