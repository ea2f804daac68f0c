#!/usr/bin/env python3
"""Tables of the graph policy: GO-one against the baselines, transfer, convergence, ablation, size.

Every result is stored in OUT/results.json at once, so an interrupted run can be continued; the tables are printed from
that file as Markdown. Everything is simulated (hone place, hone go) on one machine model per number of GPUs; wall times
are those of this machine.
"""

import argparse
import json
import sys
from pathlib import Path

from runs import DEVICES, TRAINED_ON, Bench, print_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import commit, geometric_mean, machine

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("one", "placement", "joint", "transfer", "convergence", "ablation", "size")

ABLATIONS = {
    "whole": [],
    "no modulation": ["--no-modulation"],
    "no recurrence": ["--no-recurrence"],
    "no task residual": ["--no-task-residual"],
    "no refinement": ["--no-refinement"],
    "no device scores": ["--no-device-scores"],
    "no self-imitation": ["--imitation", "0"],
}
ABLATED_ON = ["bert", "transformer_xl2", "rnnlm2"]
SIZES = [1_000, 5_000, 10_000, 20_000, 40_000, 80_000]
BASELINES = ["default", "single", "layerwise", "metis", "heft"]


def ms(seconds) -> str:
    return "OOM" if seconds is None else f"{1000 * seconds:.3f}"


def gain(baseline, ours) -> str:
    return "-" if not baseline or not ours else f"{100 * (baseline / ours - 1):+.1f} %"


def slower(ours, best) -> str:
    return f"{100 * (ours / best - 1):+.1f} %"


def one_run(bench: Bench, name: str) -> dict | None:
    return bench.train(f"one {name}", [(name, f"gpu{DEVICES[name]}-nvlink")], bench.options.iterations)


def part_one(bench: Bench) -> None:
    rows, gains = [], {"layerwise": [], "metis": [], "start": []}
    for name in bench.options.workloads:
        base, run = bench.baselines(name, bench.options.tasks), one_run(bench, name)
        annealed = bench.anneal(name, bench.options.anneal_budgets[-1])
        if not (base and run and annealed):
            continue
        row = run["problems"][0]
        best, start = row["best_seconds"], row["start_seconds"]
        for key, value in (*((k, base["seconds"].get(k)) for k in ("layerwise", "metis")), ("start", start)):
            if value and best:
                gains[key].append(value / best)
        rows.append(
            [f"{name} ({DEVICES[name]})", base["nodes"], ms(best), *(ms(base["seconds"].get(b)) for b in BASELINES),
             ms(annealed["best"]), f"{row['start']} {ms(start)}", gain(base["seconds"].get("layerwise"), best),
             gain(base["seconds"].get("metis"), best), f"{run['cpu_seconds']:.0f}"]
        )  # fmt: skip
    episodes = f"tasks {bench.options.tasks}, {bench.options.iterations} episodes"
    print(f"### GO-one against the baselines, ms a step, {episodes}\n")
    head = ["workload (GPUs)", "nodes", "GO-one", *BASELINES, "anneal", "start", "vs layerwise", "vs METIS", "train s"]
    print_table(head, rows)
    for key, values in gains.items():
        print(f"Geometric mean over {key}: {100 * (geometric_mean(values) - 1):+.1f} % ({len(values)} workloads)\n")


def print_unseen(bench: Bench, tasks: str, columns: list, title: str) -> None:
    """Zero-shot: the policy's proposals, without sampling. Answer: with samples. Neither is worse than the start."""
    rows, gains = [], {column: [] for column in [*columns, "start"]}
    for name, base, own, sampled in bench.unseen(tasks):
        start, zero_shot = own["start_seconds"], own["step_seconds"]
        answer = min(start, zero_shot, sampled["step_seconds"])
        against = {column: base["seconds"].get(column) for column in columns} | {"start": start}
        for column, seconds in against.items():
            if seconds:
                gains[column].append((seconds / zero_shot, seconds / answer))
        rows.append(
            [f"{name} ({DEVICES[name]})", base["nodes"], *(ms(against[c]) for c in columns),
             f"{own['start']} {ms(start)}", ms(zero_shot), ms(answer),
             *(gain(against[c], answer) for c in [*columns, "start"])]
        )  # fmt: skip
    print(f"### Unseen workloads, {title}, ms a step; answer: with {bench.options.samples} samples\n")
    versus = [f"answer vs {c}" for c in [*columns, "start"]]
    print_table(["workload (GPUs)", "nodes", *columns, "start", "zero-shot", "answer", *versus], rows)
    for column, pairs in gains.items():
        means = [f"{100 * (geometric_mean([pair[i] for pair in pairs]) - 1):+.1f} %" for i in (0, 1)]
        print(f"Geometric mean over {column}: zero-shot {means[0]}, answer {means[1]} ({len(pairs)} workloads)\n")


def part_placement(bench: Bench) -> None:
    print_unseen(bench, "placement", ["single", "layerwise", "metis", "heft"], "placement alone, nothing fused")


def part_joint(bench: Bench) -> None:
    print_unseen(
        bench, "placement,schedule,fusion", ["default", "layerwise", "metis", "priority-fusion"], "three tasks"
    )


def tuned_run(bench: Bench, name: str) -> dict | None:
    where, words = [(name, f"gpu{DEVICES[name]}-nvlink")], ["--from", bench.policy()]
    if bench.options.tune_entropy is not None:
        words += ["--entropy", bench.options.tune_entropy]
    return bench.train(f"fine-tune {name}", where, bench.options.tune_iterations, *words)


def part_transfer(bench: Bench) -> None:
    rows, lost = [], {"zero-shot": [], "fine-tuned": []}
    within = {"zero-shot": 1.10, "fine-tuned": 1.03}
    for name, _, own, tried in bench.unseen(bench.options.tasks):
        tuned, one = tuned_run(bench, name), one_run(bench, name)
        if not (tuned and one):
            continue
        best, start = one["problems"][0]["best_seconds"], one["problems"][0]["start_seconds"]
        reached = min(tuned["problems"][0]["best_seconds"], tried["step_seconds"])  # tuning begins with an evaluation
        lost["zero-shot"].append(tried["step_seconds"] / best)
        lost["fine-tuned"].append(reached / best)
        rows.append(
            [f"{name} ({DEVICES[name]})", *(ms(v) for v in (start, own["step_seconds"], tried["step_seconds"])),
             tuned["iterations"], ms(reached), one["iterations"], ms(best), slower(tried["step_seconds"], best),
             slower(reached, best), f"{one['cpu_seconds']:.0f}", f"{tuned['cpu_seconds']:.0f}"]
        )  # fmt: skip
    print(f"### Transfer: trained on {', '.join(sorted(TRAINED_ON))}; ms a step\n")
    head = ["unseen (GPUs)", "start", "zero-shot, nothing drawn", f"zero-shot, {bench.options.samples} samples"]
    head += ["episodes", "fine-tuned", "episodes", "GO-one", "zero-shot over one", "tuned over one"]
    print_table([*head, "GO-one s", "tuning s"], rows)
    for key, values in lost.items():
        if values:
            over, near = 100 * (geometric_mean(values) - 1), sum(value <= within[key] for value in values)
            print(f"Geometric mean of {key} over GO-one: {over:+.1f} %, {near} of {len(values)} workloads within"
                  f" {100 * (within[key] - 1):.0f} %\n")  # fmt: skip


def time_to(gains: list, quality: float) -> float | None:
    """CPU time after which a search reached the quality, if it did."""
    return next((gain["cpu_seconds"] for gain in gains if gain["step_seconds"] <= quality * (1 + 1e-9)), None)


def go_gains(run: dict) -> list:
    """Gains of a training run; files of before 2026-11-22 count processor time by episodes."""
    a_round = run.get("cpu_seconds", run["seconds"]) / max(run["iterations"], 1)
    return [{"cpu_seconds": gain["iteration"] * a_round, **gain} for gain in run["gains"]]


def against(annealed: list, quality: float, seconds: float | None) -> list:
    """Seconds of annealing to a quality (the shorter of its runs), and how many times those of the policy they are."""
    found = [at for run in annealed if (at := time_to(run["gains"], quality)) is not None]
    if found:
        return [f"{min(found):.1f}", "-" if not seconds else f"{min(found) / seconds:.1f}"]
    longest = max(run["cpu_seconds"] for run in annealed)
    return [f"> {longest:.1f}", "-" if not seconds else f"> {longest / seconds:.1f}"]


def to_quality(annealed: list, start: float, quality: float, seconds: float | None) -> list:
    """Columns of one quality: the quality, the policy's seconds, annealing's seconds, their ratio."""
    if seconds is None or quality >= start * (1 - 1e-9):
        return ["-"] * 4
    return [ms(quality), f"{seconds:.2f}", *against(annealed, quality, seconds)]


def part_convergence(bench: Bench) -> None:
    rows = []
    for name, _, _, tried in bench.unseen(bench.options.tasks):
        one, tuned = one_run(bench, name), tuned_run(bench, name)
        annealed = [bench.anneal(name, steps) for steps in bench.options.anneal_budgets]
        if not (one and tuned and all(annealed)):
            continue
        start = one["problems"][0]["start_seconds"]
        row = [f"{name} ({DEVICES[name]})", ms(start), ms(min(run["best"] for run in annealed)),
               f"{max(run['cpu_seconds'] for run in annealed):.0f}"]  # fmt: skip
        row += to_quality(annealed, start, tried["step_seconds"], tried["cpu_seconds"])
        for run in (tuned, one):
            best = run["problems"][0]["best_seconds"]
            row += to_quality(annealed, start, best, time_to(go_gains(run), best))
        rows.append(row)
    budgets = " and ".join(map(str, bench.options.anneal_budgets))
    print(f"### Processor seconds to a quality, from the same start; annealing with {budgets} simulations\n")
    head = ["workload (GPUs)", "start ms", "annealing's best", "its s"]
    for of in ("zero-shot", "fine-tuned", "GO-one"):
        head += [f"{of} ms", "policy s", "annealing s", "times"]
    print_table(head, rows)


def part_ablation(bench: Bench) -> None:
    rows = []
    for label, words in ABLATIONS.items():
        results = [
            bench.train(f"ablation {label} {n}", [(n, f"gpu{DEVICES[n]}-nvlink")], bench.options.iterations, *words)
            for n in ABLATED_ON
        ]
        if not all(results):
            continue
        ratios = [r["problems"][0]["best_seconds"] / r["problems"][0]["start_seconds"] for r in results]
        own = [r["problems"][0]["after"]["step_seconds"] / r["problems"][0]["start_seconds"] for r in results]
        rows.append(
            [
                label,
                *(f"{v:.4f}" for v in ratios),
                f"{geometric_mean(ratios):.4f}",
                f"{geometric_mean(own):.4f}",
            ]
        )
    print("### Ablation: best step time over the start's; last column: the policy's own decisions afterwards\n")
    print_table(["policy", *ABLATED_ON, "geometric mean", "own decisions"], rows)


def stacked(graph: dict, nodes: int) -> dict:
    """Copies of a graph one after the other, the results of one before the first operations of the next."""
    ops, edges, tails = [], [], []
    place = {op["name"]: i for i, op in enumerate(graph["ops"])}
    number = lambda end: place[end] if isinstance(end, str) else end  # noqa: E731
    pairs = [(number(e[0]), number(e[1]), e[2] if len(e) > 2 else 1.0) for e in graph["edges"]]
    fed = {to for source, to, _ in pairs if graph["ops"][source].get("kind") != "input"}
    heads = [i for i, op in enumerate(graph["ops"]) if op.get("kind") != "input" and i not in fed]
    copy = 0
    while len(ops) < nodes:
        first = len(ops)
        ops += [{**op, "name": f"{op['name']}_{copy}", "is_output": False} for op in graph["ops"]]
        edges += [[first + a, first + b, reads] for a, b, reads in pairs]
        edges += [[tail, first + head, 1.0] for tail in tails[:4] for head in heads[:4]]
        tails = [first + i for i, op in enumerate(graph["ops"]) if op.get("is_output")]
        copy += 1
    kept = [edge for edge in edges if edge[0] < nodes and edge[1] < nodes]
    return {"name": f"stacked_{nodes}", "ops": ops[:nodes], "edges": kept}


def part_size(bench: Bench) -> None:
    policy = bench.folder / "fresh.safetensors"
    bench.keep("fresh policy", lambda: bench.hone("go", "train", *bench.where("bert"), "--iterations", 0, "-o", policy,
                                                  *bench.policy_options()) and {"made": True})  # fmt: skip
    graph = json.loads(bench.graph(bench.options.stack).read_text())
    rows = []
    for nodes in SIZES:

        def make(nodes=nodes):
            path = bench.folder / "graphs" / f"stacked_{nodes}.json"
            path.write_text(json.dumps(stacked(graph, nodes)))
            answer = bench.hone("go", "place", path, "--devices", "gpu8-nvlink", "--policy", policy, "--samples", 0,
                                "--threads", bench.options.threads)  # fmt: skip
            return {"seconds": answer["evaluation"]["elapsed_seconds"], "bytes": answer["peak_memory_bytes"],
                    "nodes": answer["nodes"], "wall": answer["wall_seconds"]}  # fmt: skip

        row = bench.keep(f"size {nodes}", make)
        if row:
            rows.append([row["nodes"], f"{row['seconds']:.2f}", f"{row['bytes'] / 2**20:.0f}", f"{row['wall']:.1f}"])
    print(f"### One evaluation by size: {bench.options.stack} stacked, 8 GPUs, {bench.options.threads} threads\n")
    print_table(["nodes", "evaluation s", "peak MiB of the process", "whole command s"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "go")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--workloads", default=",".join(DEVICES), help=f"of {', '.join(DEVICES)}")
    parser.add_argument("--tasks", default="placement,schedule,fusion")
    parser.add_argument("--policy", type=Path, help="of the parts on unseen workloads (default: trained here)")
    parser.add_argument("--iterations", type=int, default=200, help="episodes on one graph")
    parser.add_argument("--tune-iterations", type=int, default=49, help="episodes of fine-tuning")
    parser.add_argument("--tune-entropy", type=float, help="bonus in fine-tuning (default: that of hone go train)")
    parser.add_argument("--anneal-budgets", type=int, nargs="+", default=[3000, 20000],
                        help="simulations of annealing in the part convergence")  # fmt: skip
    parser.add_argument("--samples", type=int, default=16, help="of sampled evaluations")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--refinements", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stack", default="gnmt4", help="workload that is stacked for the table by size")
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    options.workloads = options.workloads.split(",")
    unknown = [w for w in options.workloads if w not in DEVICES] + [
        p for p in options.parts.split(",") if p not in PARTS
    ]
    if unknown:
        print(f"error: unknown: {', '.join(unknown)}", file=sys.stderr)
        return 2
    bench = Bench(options)
    print(f"{machine()}; commit {commit()}.\n")
    for part in options.parts.split(","):
        globals()[f"part_{part}"](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
