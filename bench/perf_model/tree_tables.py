#!/usr/bin/env python3
"""Trains the trees for kernels anew and writes the tables of docs/results/cost-model.md: `make tables-perf-model`.

    bench/perf_model/tree_tables.py --data build/data --out build/bench/cost-model.md

--data holds tile/HOST and labels/HOST (`make labels`), one data set for each machine, and layout-kernels/HOST and
form-kernels/HOST (`make varied-kernels`), from whose rows of a data set's machine run times are learnt, too. For both
splits trees are trained on all machines, and without each machine, which is then the unseen one; for the random split
also on a quarter and half of the training programs; those of run times also plain: without a sum of work and those
rows. Errors are of test programs (--part), over which the intervals resample (paired where
two models are compared). Models are kept in --models and not trained again.
"""

import argparse
import itertools
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

TASKS = {"tile": "ape_top1", "fusion": "mape"}
TITLES = {"tile": "Options of a kernel: APE, %", "fusion": "Run times of kernels of at least 5 us: MAPE, %"}
FOLDERS = {"tile": "tile", "fusion": "labels"}
MORE = ("layout-kernels/amd*", "form-kernels/*")
SPLITS = ("random", "manual")
SHIPS = {"tile": "trees", "fusion": "trees and networks"}
SHARES = (0.25, 0.5)
SEEDS = {"tile": 3, "fusion": 2}  # of what ships
CONTROL_SEEDS = 3
RESAMPLED = 2000


class Bench:
    def __init__(self, options):
        self.options = options
        self.machines = {
            task: sorted(p for p in (options.data / FOLDERS[task]).iterdir() if p.is_dir()) for task in options.tasks
        }

    def over_work(self, datasets):
        """Options of scripts/train_kernels.py, as make models has them, but for the network."""
        hosts = {dataset.name for dataset in datasets}
        more = [path for pattern in MORE for path in sorted(self.options.data.glob(pattern)) if path.name in hosts]
        return ["--work", "--more", *more]

    def model(self, task, split, name, datasets, share=1.0, seeds=1, kind="as shipped"):
        """A folder of trees, trained if it is not there. kind, of run times: "plain", or "trees" alone over work."""
        folder = self.options.models / f"{task}-{split}-{name}"
        for seed in range(seeds):
            file = folder / f"seed-{seed}.safetensors"
            if file.exists():
                continue
            command = [
                sys.executable,
                harness.ROOT / "scripts/train_kernels.py",
                *datasets,
                "--split",
                split_file(split),
            ]
            command += ["--seed", seed, "--share", share, "--tool", self.options.tool, "--out", file]
            if task == "fusion" and kind != "plain":
                command += self.over_work(datasets)
                command += ["--network"] if kind == "as shipped" else []
            subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr)
        return folder

    def evaluated(self, task, split, model, dataset):
        command = ["eval", task, dataset, "--split", split_file(split), "--part", self.options.part]
        return harness.call_hone(
            self.options.hone, [*command, "--model-file", model, "--analytical"], self.options.timeout
        )


def split_file(split):
    return harness.ROOT / "data" / "splits" / f"{split}.txt"


def geometric(values):
    return statistics.geometric_mean(max(value, 1e-3) for value in values)


def interval(values, of=geometric):
    """95 % over programs drawn again with replacement."""
    draw = random.Random(0)
    found = sorted(of(draw.choices(values, k=len(values))) for _ in range(RESAMPLED))
    return f"[{found[int(0.025 * RESAMPLED)]:.1f}, {found[int(0.975 * RESAMPLED)]:.1f}]"


def errors(result, task, column):
    return {row["program"]: row[column][TASKS[task]] for row in result["programs"]}


def row_of(label, result, task, column, against=None):
    found = errors(result, task, column)
    values = list(found.values())
    mean, middle = result["mean"][column], result["median"][column]
    cells = [label, str(len(values)), f"{statistics.fmean(values):.1f}", f"{statistics.median(values):.1f}"]
    cells.append(f"{geometric(values):.1f} {interval(values)}")
    cells.append(f"{mean['kendall_tau']:.3f}" if "kendall_tau" in mean else "")
    if task == "tile":
        cells.append(f"{mean['distinct_tau']:.3f}" if "distinct_tau" in mean else "")
    else:
        cells.append(f"{mean['sum_error']:.1f}, {middle['sum_error']:.1f}")
    if against:
        other = errors(against, task, "learned")
        ratios = [max(found[p], 1e-3) / max(other[p], 1e-3) for p in found if p in other]
        cells.append(f"{geometric(ratios):.2f} {interval(ratios)}")
    else:
        cells.append("")
    return cells


def table(bench, task, split):
    """Each machine's test programs by trees of all machines, by trees that have not seen it, and by controls."""
    body = []
    machines = bench.machines[task]
    full = bench.model(task, split, "all", machines, seeds=SEEDS[task])
    for machine in machines:
        host = machine.name
        result = bench.evaluated(task, split, full, machine)
        body.append(row_of(f"{host}: {SHIPS[task]} of all machines", result, task, "learned"))
        if task == "fusion":
            for kind, label in (("trees", "trees alone of all machines"), ("plain", "plain trees of all machines")):
                other = bench.model(task, split, kind, machines, seeds=CONTROL_SEEDS, kind=kind)
                body.append(
                    row_of(f"{host}: {label}", bench.evaluated(task, split, other, machine), task, "learned", result)
                )
        others = [other for other in machines if other != machine]
        if others:
            unseen = bench.evaluated(task, split, bench.model(task, split, f"without-{host}", others), machine)
            body.append(row_of(f"{host}: {SHIPS[task]} of the others", unseen, task, "learned", result))
        for share in SHARES if split == "random" else ():
            part = bench.evaluated(task, split, bench.model(task, split, f"share-{share}", machines, share), machine)
            body.append(row_of(f"{host}: {share:g} of the training programs", part, task, "learned", result))
        body.append(row_of(f"{host}: analytical, fitted on its validation part", result, task, "analytical", result))
        if task == "tile":
            body.append(row_of(f"{host}: XLA's own choice", result, task, "xla", result))
    header = ["", "programs", "mean", "median", "geometric [95 %]", "tau"]
    header += ["tau, 10 %" if task == "tile" else "sum of a program, mean, median", "over the first row"]
    return harness.markdown_table(header, body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=harness.ROOT / "build" / "data")
    parser.add_argument("--models", type=Path, default=harness.ROOT / "build" / "bench" / "perf-model")
    parser.add_argument("--out", type=Path, default=harness.ROOT / "build" / "bench" / "cost-model.md")
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--tool", type=Path, default=harness.ROOT / "build" / "bench_kernel_rows")
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--timeout", type=float, default=600)
    bench = Bench(parser.parse_args())
    text = ""
    for task, split in itertools.product(bench.options.tasks, bench.options.splits):
        text += f"## {TITLES[task]}, {split} split\n\n{table(bench, task, split)}\n"
        print(f"{task}, {split} split: done", file=sys.stderr, flush=True)
    bench.options.out.parent.mkdir(parents=True, exist_ok=True)
    bench.options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
