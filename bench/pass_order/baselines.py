#!/usr/bin/env python3
"""Baselines on a set of programs (data/benchmarks): random and greedy walks, the shipped policy, XLA's own order.

Each orders every program with as many passes as the others: one walk of 45, and ten. Their files of results, which
`hone gym leaderboard` compares with those of other agents, are written and replayed. Prints a Markdown table: means and
standard deviations over the seeds.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "bench"))

from harness import machine  # noqa: E402
from hone.gym_benchmarks import Results, benchmark  # noqa: E402

SEARCHES = ("random", "greedy")
POLICY = "shipped policy"
LENGTH = 45


def hone(options, *words, codes=(0,)):
    """The object that the command prints, which must end with one of the codes."""
    done = subprocess.run(
        [str(options.build / "hone"), *map(str, words)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in codes:
        raise SystemExit(f"hone {' '.join(map(str, words[:2]))}: exit code {done.returncode}")
    return json.loads(done.stdout)


def evaluate(options, programs, walks, seed):
    """The rows of hone gym eval of all baselines."""
    words = ["gym", "eval", *programs, "--policy-file", options.policy, "--walks", walks, "--length", LENGTH]
    words += [word for search in SEARCHES for word in ("--strategy", search)]
    return hone(options, *words, "--seed", seed, "--json", "--quiet")["programs"]


def write_results(rows, name, agent, by, file):
    results = Results(agent, name)
    for row in rows:
        if row["by"] == by and "error" not in row:
            results.add(row["program"], row["passes"], row["best"])
    results.write(file)


def standings(options, files):
    words = ["gym", "leaderboard", *files, "--json", "--quiet"]
    if options.root:
        words += ["--programs", options.root]
    return hone(options, *words, codes=(0, 1))["standings"]  # 1: a claim does not hold, and counts as untouched


def own_order(rows):
    """The standing of XLA's own order, which is no list of actions: from the counts of the evaluation."""
    counts = {row["program"]: (row["initial"], row["default"]) for row in rows if "error" not in row}
    logs = [math.log(initial / max(1, own)) for initial, own in counts.values()]
    shares = [1 - own / initial for initial, own in counts.values()]
    return math.exp(statistics.mean(logs)), statistics.mean(shares), len(counts)


def spread(values):
    deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def programs_of(name, root):
    try:
        return benchmark(name)
    except ValueError:  # its programs do not come with it
        return benchmark(name, root)


def table_of(options, name):
    programs = programs_of(name, options.root)
    by = {**{search: search for search in SEARCHES}, POLICY: str(options.policy)}
    lines, rows = [], []
    for walks in options.walks:
        files = {agent: [] for agent in by}
        for seed in options.seeds:
            rows = evaluate(options, programs, walks, seed)
            for agent, row_name in by.items():
                file = options.out / f"{name}-{agent.replace(' ', '-')}-{walks * LENGTH}-seed-{seed}.json"
                write_results(rows, name, f"{agent}, {walks * LENGTH} passes, seed {seed}", row_name, file)
                files[agent].append(file)
        for agent, of_agent in files.items():
            found = standings(options, of_agent)
            reduction = spread([standing["reduction"] for standing in found])
            removed = 100 * statistics.mean(standing["removed"] for standing in found)
            confirmed = sum(standing["confirmed"] for standing in found)
            of = sum(standing["programs"] for standing in found)
            lines.append(
                f"| {name} | {agent} | {walks * LENGTH} | {reduction} | {removed:.1f} % | {confirmed} of {of} |"
            )
    reduction, removed, count = own_order(rows)
    lines.append(
        f"| {name} | XLA's own order | fixed point | {reduction:.3f} | {100 * removed:.1f} % | {count} counted |"
    )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", help="names of sets in data/benchmarks")
    parser.add_argument("--root", type=Path, help="folder of the programs of sets that come without them")
    parser.add_argument("--walks", type=int, nargs="+", default=[1, 10], help="of 45 passes each")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--policy", type=Path, default=ROOT / "data" / "models" / "order" / "policy.safetensors")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files of results")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"Seeds {', '.join(map(str, options.seeds))}; {machine()}.\n")
    print("| set | by | passes run | reduction | removed | confirmed |\n|---|---|---:|---:|---:|---:|")
    for name in options.sets:
        print("\n".join(table_of(options, name)), flush=True)


if __name__ == "__main__":
    main()
