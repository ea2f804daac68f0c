#!/usr/bin/env python3
"""Trains and evaluates performance models: the tables of Kaufman et al. 2021 on this machine's data set.

    bench/perf_model/tables.py --tile build/data/tile --fusion build/data/fusion --out build/bench/cost-model.md

Every run is a line of the --jsonl file; runs found there are not repeated, so an interrupted benchmark can be
continued.
Weights of every run stay beside it. `--only REGEX` picks runs by name (task/split/model/variant/seed), `--list` prints
them.
"""

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

GNNS = ["none", "sage", "gat", "gin"]
REDUCTIONS = ["per-node", "column-wise", "lstm", "transformer"]
# Label -> model and flags; the last one's model is that of the ablations.
MAIN = {
    "tile": {
        "fast": ["late-fusion"],
        "fast+demand": ["late-fusion", "--demand", "--loss", "rank-weighted", "--kernels-per-step", "16"],
        "sage+lstm": ["sage+lstm"],
    },
    "fusion": {"fast+demand": ["late-fusion", "--demand"], "sage+transformer": ["sage+transformer"]},
}
ABLATED = {"tile": "sage+lstm", "fusion": "sage+transformer"}
ABLATIONS = {
    "tile": {
        "undirected": ["--undirected"],
        "static features at nodes": ["--static", "node"],
        "without static features": ["--static", "none"],
        "tile at the kernel": ["--tile", "kernel"],
        "mean squared error": ["--loss", "mse"],
    },
    "fusion": {
        "undirected": ["--undirected"],
        "static features at nodes": ["--static", "node"],
        "without static features": ["--static", "none"],
    },
}


class Run:
    """One training and its evaluation."""

    def __init__(self, task, split, label, model, variant, seed, steps, flags):
        self.task, self.split, self.label, self.model = task, split, label, model
        self.variant, self.seed, self.steps, self.flags = variant, seed, steps, flags

    @property
    def name(self) -> str:
        return f"{self.task}/{self.split}/{self.label}/{self.variant}/{self.seed}"


def planned(options) -> list[Run]:
    runs = []
    for task in ("tile", "fusion"):
        for split in ("random", "manual"):
            for label, (model, *flags) in MAIN[task].items():
                for seed in range(options.seeds):
                    runs.append(Run(task, split, label, model, "main", seed, options.steps, flags))
        for gnn in GNNS:
            for reduction in REDUCTIONS:
                name = f"{gnn}+{reduction}"
                runs.append(Run(task, "random", name, name, "grid", 0, options.grid_steps, []))
        for variant, flags in ABLATIONS[task].items():
            name = ABLATED[task]
            runs.append(Run(task, "random", name, name, variant, 0, options.grid_steps, flags))
    return [run for run in runs if re.search(options.only, run.name)]


def execute(run: Run, options, folder: Path) -> dict:
    dataset = options.tile if run.task == "tile" else options.fusion
    split = harness.ROOT / "data" / "splits" / f"{run.split}.txt"
    weights = folder / (run.name.replace("/", "-").replace(" ", "-") + ".safetensors")
    start = time.monotonic()
    train = ["train", run.task, dataset, "--split", split, "--model", run.model, "--steps", run.steps]
    train += ["--seed", run.seed, "--validate-every", max(50, run.steps // 20), *run.flags, "-o", weights]
    harness.call_hone(options.hone, train, options.timeout)
    seconds = time.monotonic() - start
    judge = ["eval", run.task, dataset, "--split", split, "--model-file", weights, "--analytical"]
    result = harness.call_hone(options.hone, judge, options.timeout)
    result.pop("analytical_model", None)
    return {
        "name": run.name,
        "task": run.task,
        "split": run.split,
        "model": run.label,
        "variant": run.variant,
        "seed": run.seed,
        "steps": run.steps,
        "seconds": seconds,
        "bytes": weights.stat().st_size,
        "eval": result,
    }


METRICS = {
    "tile": [("ape_top1", "APE %", 2), ("kendall_tau", "tau", 3)],
    "fusion": [("mape", "MAPE %", 1), ("kendall_tau", "tau", 3)],
}


def spread(values: list[float], digits: int) -> str:
    if not values:
        return "-"
    mean = statistics.fmean(values)
    return f"{mean:.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def of(row: dict, column: str, metric: str) -> float | None:
    value = row.get(column, {}).get(metric)
    return None if value is None else float(value)


def main_table(rows: list[dict], task: str, split: str) -> str:
    """Rows are test programs, as the paper's Tables 2 and 8; learned models as mean and spread over seeds."""
    models = [m for m in MAIN[task] if any(r["model"] == m and r["variant"] == "main" for r in rows)]
    mine = [r for r in rows if r["task"] == task and r["split"] == split and r["variant"] == "main"]
    if not mine:
        return ""
    names = ["learned", "analytical"] + (["xla"] if task == "tile" else [])
    header = ["test program", "kernels"]
    for metric, title, _ in METRICS[task]:
        header += [f"{m} {title}" for m in models]
        header += [f"{n} {title}" for n in names[1:] if not (n == "xla" and metric == "kendall_tau")]
    body = []
    programs = [p["program"] for p in mine[0]["eval"]["programs"]]
    for label in [*programs, "mean", "median"]:

        def look(result: dict, label=label) -> dict:
            if label in ("mean", "median"):
                return result[label]
            return next(p for p in result["programs"] if p["program"] == label)

        cells = [label, str(look(mine[0]["eval"]).get("kernels", ""))]
        for metric, _, digits in METRICS[task]:
            for model in models:
                found = [of(look(r["eval"]), "learned", metric) for r in mine if r["model"] == model]
                cells.append(spread([v for v in found if v is not None], digits))
            for other in names[1:]:
                if other == "xla" and metric == "kendall_tau":
                    continue
                value = of(look(mine[0]["eval"]), other, metric)
                cells.append("-" if value is None else f"{value:.{digits}f}")
        body.append(cells)
    wins = {}
    metric = METRICS[task][0][0]
    for model in models:
        pairs = []
        for program in programs:
            values = [
                of(next(p for p in r["eval"]["programs"] if p["program"] == program), "learned", metric)
                for r in mine
                if r["model"] == model
            ]
            other = of(next(p for p in mine[0]["eval"]["programs"] if p["program"] == program), "analytical", metric)
            values = [v for v in values if v is not None]
            if values and other is not None:
                pairs.append(statistics.fmean(values) <= other)
        wins[model] = f"{model}: at least as good as the analytical model on {sum(pairs)} of {len(pairs)} test programs"
    return harness.markdown_table(header, body) + "\n" + "; ".join(wins.values()) + ".\n"


def grid_table(rows: list[dict], task: str) -> str:
    metric, title, digits = METRICS[task][0]
    cells = {r["model"]: r for r in rows if r["task"] == task and r["variant"] == "grid"}
    if not cells:
        return ""
    body = []
    for reduction in REDUCTIONS:
        line = [reduction]
        for gnn in GNNS:
            found = cells.get(f"{gnn}+{reduction}")
            if not found:
                line.append("-")
                continue
            mean, median = (found["eval"][row]["learned"] for row in ("mean", "median"))
            errors = f"{mean[metric]:.{digits}f} / {median[metric]:.{digits}f}"
            line.append(f"{errors}, tau {mean['kendall_tau']:.3f}, {found['seconds']:.0f} s")
        body.append(line)
    return harness.markdown_table([f"{title}, mean / median", *GNNS], body)


def ablation_table(rows: list[dict], task: str) -> str:
    metric, title, digits = METRICS[task][0]
    model = ABLATED[task]
    grid = [r for r in rows if r["task"] == task and r["model"] == model and r["variant"] == "grid"]
    found = grid + [r for r in rows if r["task"] == task and r["variant"] in ABLATIONS[task]]
    if len(found) < 2:
        return ""
    body = [
        [
            f"{model} as it is" if r["variant"] == "grid" else r["variant"],
            f"{r['eval']['mean']['learned'][metric]:.{digits}f}",
            f"{r['eval']['median']['learned'][metric]:.{digits}f}",
            f"{r['eval']['mean']['learned']['kendall_tau']:.3f}",
        ]
        for r in found
    ]
    return harness.markdown_table(["variant", f"{title} mean", "median", "tau"], body)


def report(rows: list[dict], options, command: str) -> str:
    parts = [
        "# Learned performance models\n",
        f"{time.strftime('%Y-%m-%d')}, {harness.machine()}, commit {harness.commit()}. Command: `{command}`.",
        f"Main runs: {options.steps} steps, {options.seeds} seeds (± is their standard deviation). Grid and ablations: "
        f"{options.grid_steps} steps, seed 0, random split; training times in the cells. One thread.\n",
    ]
    for task in ("tile", "fusion"):
        for split in ("random", "manual"):
            table = main_table(rows, task, split)
            if table:
                parts += [f"## {task}, {split} split\n", table]
        if grid := grid_table(rows, task):
            parts += [f"## {task}, grid\n", grid]
        if ablations := ablation_table(rows, task):
            parts += [f"## {task}, ablations\n", ablations]
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--tile", type=Path, default=harness.ROOT / "build" / "data" / "tile")
    parser.add_argument("--fusion", type=Path, default=harness.ROOT / "build" / "data" / "fusion")
    parser.add_argument("--jsonl", type=Path, default=harness.ROOT / "build" / "bench" / "perf-model.jsonl")
    parser.add_argument("--out", type=Path, help="Markdown report (default: print it)")
    parser.add_argument("--steps", type=int, default=4000, help="of the main runs")
    parser.add_argument("--grid-steps", type=int, default=1000, help="of grid and ablations")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for one training")
    parser.add_argument("--only", default="", help="regular expression over run names")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    runs = planned(options)
    if options.list:
        print("\n".join(run.name for run in runs))
        return 0
    options.jsonl.parent.mkdir(parents=True, exist_ok=True)
    rows = harness.read_jsonl(options.jsonl)
    done = {row["name"] for row in rows}
    for i, run in enumerate(runs):
        if run.name in done:
            continue
        print(f"{i + 1}/{len(runs)} {run.name}", file=sys.stderr, flush=True)
        try:
            row = execute(run, options, options.jsonl.parent)
        except harness.HoneError as failed:
            print(f"{run.name}: {failed}", file=sys.stderr)
            continue
        rows.append(row)
        with options.jsonl.open("a") as out:
            out.write(json.dumps(row) + "\n")
    text = report(rows, options, " ".join(["bench/perf_model/tables.py", *sys.argv[1:]]))
    if options.out:
        options.out.write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
