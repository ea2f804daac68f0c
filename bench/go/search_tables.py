#!/usr/bin/env python3
"""Tables of searches and policies at equal simulations and equal processor time.

Rows: one device; one device with priority fusion and its best order; layer-wise, METIS and HEFT (with priority fusion
where fusion is decided); tuned annealing; block moves; the shipped graph policy with nothing drawn and with samples;
the same network with random weights; and the policy's answer improved by block moves with the simulations that are
left. Searches, samples and random weights: every seed of --seeds. A workload counts by its geometric mean over seeds;
intervals are of paired bootstraps over workloads. Every result is stored in OUT/search.json at once, so an interrupted
run can be continued.
"""

import argparse
import json
import random
import sys
from pathlib import Path

from runs import DEVICES, TRAINED_ON, Bench, print_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import commit, geometric_mean, machine

ROOT = Path(__file__).resolve().parent.parent.parent
VALIDATION = {"gnmt2", "nasnet"}  # chose proposals and entropies of the policy: never in a mean of unseen workloads
SETS = {
    "training": sorted(TRAINED_ON),
    "validation": sorted(VALIDATION),
    "test": [name for name in DEVICES if name not in TRAINED_ON | VALIDATION],
}
TASKS = {"placement": "placement", "three": "placement,fusion,schedule"}
HEURISTICS = ["single", "single-fused", "layerwise", "metis", "heft"]
SEARCHES = ["anneal", "block-moves"]
BOOTSTRAPS = 10_000


class SearchBench(Bench):
    """Runs of one workload; times in seconds, None when nothing fits into memory."""

    def __init__(self, options):
        super().__init__(options)
        self.path = self.folder / "search.json"
        self.results = json.loads(self.path.read_text()) if self.path.exists() else {}

    def heuristics(self, name: str, tasks: str) -> dict | None:
        def make():
            words = ["--tasks", TASKS[tasks], "--parameters", "copied", "--strategy", "block-moves", "--steps", 1]
            found = self.hone("place", *self.where(name), *words)
            return {"seconds": found["baselines"], "nodes": found["operations"]}

        return self.keep(f"heuristics {tasks} {name}", make)

    def search(self, name: str, tasks: str, strategy: str, seed: int, steps: int, *words) -> dict | None:
        def make():
            found = self.hone("place", *self.where(name), "--tasks", TASKS[tasks], "--strategy", strategy, "--steps",
                              steps, "--seed", seed, "--parameters", "copied", *words)  # fmt: skip
            return {
                "seconds": found["step_seconds"] if found["valid"] else None,
                "gains": found["gains"],
                "search": found["search"],
                "cpu": found["cpu_seconds"],
            }

        given = " from policy" if words else ""
        return self.keep(f"{strategy}{given} {steps} {tasks} {name} {seed}", make)

    def fresh_policy(self, seed: int) -> Path:
        """The shipped network with random weights."""
        path = self.folder / f"random{seed}.safetensors"
        if not path.exists():
            words = ["--hidden", 32, "--steps", 3, "--iterations", 0, "--seed", seed, "-o", path]
            self.hone("go", "train", *self.where("bert"), *words)
        return path

    def policy_answer(self, name: str, tasks: str, weights: int | None, samples: int, seed: int) -> dict | None:
        """`weights`: the seed of random ones; None: the shipped policy."""
        plan = self.folder / "plans" / f"{tasks}_{name}_{weights}_{samples}_{seed}.json"

        def make():
            plan.parent.mkdir(exist_ok=True)
            chosen = [] if weights is None else ["--policy-file", self.fresh_policy(weights)]
            found = self.hone("go", "place", *self.where(name), "--tasks", TASKS[tasks], "--samples", samples, "--seed",
                              seed, "-o", plan, *chosen)  # fmt: skip
            return {"seconds": found["seconds"], "simulations": found["simulations"], "cpu": found["cpu_seconds"],
                    "plan": str(plan)}  # fmt: skip

        return self.keep(f"go {weights} {samples} {tasks} {name} {seed}", make)

    def policy_then_moves(self, name: str, tasks: str, seed: int) -> dict | None:
        first = self.policy_answer(name, tasks, None, 0, 0)
        if not first:
            return None
        steps = self.options.simulations - first["simulations"]
        return self.search(name, tasks, "block-moves", seed, steps, "--from", first["plan"])


def within_cpu(run: dict, seconds: float) -> float | None:
    """What a search had found when its whole command had taken that much processor time."""
    overhead = run["cpu"] - run["search"]["cpu_seconds"]
    found = [gain["step_seconds"] for gain in run["gains"] if gain["cpu_seconds"] + overhead <= seconds]
    return found[-1] if found else None


def per_seed(runs: list) -> list | None:
    return [run["seconds"] for run in runs] if all(runs) else None


def rows_of(bench: SearchBench, name: str, tasks: str) -> dict:
    """Row -> step times, one for each seed; None where a run failed."""
    seeds, n = range(bench.options.seeds), bench.options.simulations
    base = bench.heuristics(name, tasks)
    rows = {row: [base["seconds"].get(row)] for row in HEURISTICS} if base else {}
    rows["policy, nothing drawn"] = per_seed([bench.policy_answer(name, tasks, None, 0, 0)])
    sampled = [bench.policy_answer(name, tasks, None, bench.options.samples, seed) for seed in seeds]
    rows["policy"] = per_seed(sampled)
    rows["random weights"] = per_seed(
        [bench.policy_answer(name, tasks, seed, bench.options.samples, seed) for seed in seeds]
    )
    rows["policy, then block moves"] = per_seed([bench.policy_then_moves(name, tasks, seed) for seed in seeds])
    for strategy in SEARCHES:
        rows[strategy] = per_seed([bench.search(name, tasks, strategy, seed, n) for seed in seeds])
    longer = [bench.search(name, tasks, "block-moves", seed, bench.options.longer) for seed in seeds]
    rows["block-moves, policy's time"] = (
        [within_cpu(run, policy["cpu"]) for run, policy in zip(longer, sampled, strict=True)]
        if all(longer) and all(sampled)
        else None
    )
    rows[f"block-moves, {bench.options.longer}"] = per_seed(longer)
    return rows


def mean_of(values: list | None) -> float | None:
    return geometric_mean(values) if values and all(values) else None


def interval(ratios: list) -> str:
    """Geometric mean of ratios of workloads and its 95 % interval (paired bootstrap over workloads)."""
    rng = random.Random(0)
    means = sorted(geometric_mean(rng.choices(ratios, k=len(ratios))) for _ in range(BOOTSTRAPS))
    low, high = means[int(0.025 * BOOTSTRAPS)], means[int(0.975 * BOOTSTRAPS)]
    return f"{100 * (geometric_mean(ratios) - 1):+.1f} % ({100 * (low - 1):+.1f} to {100 * (high - 1):+.1f})"


def ms(value: float | None) -> str:
    return "-" if value is None else f"{1000 * value:.3f}"


def print_tasks(bench: SearchBench, tasks: str) -> None:
    o = bench.options
    found = {name: rows_of(bench, name, tasks) for name in o.workloads}
    names = list(next(iter(found.values())))
    print(f"### {TASKS[tasks]}: ms a step, {o.simulations} simulations, geometric mean of {o.seeds} seeds\n")
    print_table(
        ["workload (GPUs)", *names],
        [[f"{name} ({DEVICES[name]})", *(ms(mean_of(found[name].get(row))) for row in names)] for name in o.workloads],
    )
    for title, members in SETS.items():
        members = [name for name in members if name in found]
        against = []
        for row in names:
            pairs = [(mean_of(found[name].get(row)), mean_of(found[name].get("block-moves"))) for name in members]
            ratios = [theirs / ours for theirs, ours in pairs if theirs and ours]
            if ratios and row != "block-moves":
                against.append([row, len(ratios), interval(ratios)])
        if against:
            print(f"Step time over that of block moves, {title} workloads: geometric mean, 95 % interval\n")
            print_table(["row", "workloads", "slower than block moves"], against)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "go")
    parser.add_argument("--workloads", default="test", help=f"{', '.join(SETS)}, or names separated by commas")
    parser.add_argument("--tasks", default="placement,three", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--simulations", type=int, default=300, help="of every row that simulates more than one plan")
    parser.add_argument("--longer", type=int, default=1000, help="simulations of a second row of block moves")
    parser.add_argument("--samples", type=int, default=84, help="of the policies a step; three steps have 3 * this")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    options.workloads = SETS.get(options.workloads) or options.workloads.split(",")
    unknown = [w for w in options.workloads if w not in DEVICES]
    unknown += [t for t in options.tasks.split(",") if t not in TASKS]
    if unknown:
        print(f"error: unknown: {', '.join(unknown)}", file=sys.stderr)
        return 2
    bench = SearchBench(options)
    print(f"{machine()}; commit {commit()}.\n")
    for tasks in options.tasks.split(","):
        print_tasks(bench, tasks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
