#!/usr/bin/env python3
"""Walks of 45 passes without a search: policies of imitate.py and fixed orders of fixed_order.py on the test programs.

    bench/pass_order/one_walk.py --policy P0 --policy P1 --policy P2 --order build/pass_order/fixed_order.json

A policy's first walk takes its best passes, the others draw them; a fixed order has one walk. Rows go to
--out/walks.jsonl, explored states to --out/states; a stopped run continues.
"""

import argparse
import json
import math
import statistics
from pathlib import Path

import controls
import farm
import lessons
import numpy as np
import policy_network
import states as explored

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 2500  # instructions of training programs


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", type=Path, action="append", default=[])
    parser.add_argument("--order", type=Path, action="append", default=[])
    parser.add_argument("--sets", default="diverse,gpt_training")
    parser.add_argument("--programs", type=int, help="at most, of each set, smallest first")
    parser.add_argument("--least", type=int, default=0, help="fewest instructions of a program of the set training")
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of drawn walks")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "pass_order")
    parser.add_argument("--build", type=Path)
    return parser.parse_args()


def orders_of(files):
    """By name: the order of a file of fixed_order.py, or those that ship (data/models/order/orders.json)."""
    found = {}
    for file in files:
        read = json.loads(file.read_text())
        for order in read.get("orders", [read]):
            found[f"fixed_order-{order['seed']}" if "seed" in order else file.stem] = order["passes"]
    return found


def walks_of(states, scores, count, seed):
    """Fewest instructions of each walk. The first is the policy's best guess; a fixed order has only one."""
    if isinstance(scores, list):
        return [explored.walk(states, scores)[0]]
    rng = np.random.default_rng([seed, sum(states.name.encode())])
    return [lessons.walk(states, scores, rng=rng if number else None)[0] for number in range(count)]


def table(rows):
    """Geometric means over programs of the first and of the best walk; share of first walks at least as good as D."""
    lines = ["| by | programs | first walk | walks | best | first at least as good as D |", "|---" * 6 + "|"]
    for by in dict.fromkeys(row["by"] for row in rows):
        some = [row for row in rows if row["by"] == by]
        means = [math.exp(statistics.mean(math.log(row[key]) for row in some)) for key in ("first", "best")]
        share = statistics.mean(row["first"] > 1 - 1e-9 for row in some)
        counts = "/".join(sorted({str(len(row["left"])) for row in some}))
        lines.append(f"| {by} | {len(some)} | {means[0]:.3f} | {counts} | {means[1]:.3f} | {share:.0%} |")
    return lines


def files_of(options, set_name):
    if set_name != "training":
        return controls.files_of(options, set_name)
    sizes = farm.programs.sizes()
    files = farm.training_files(LARGEST)
    return [file for file in files if sizes.get(farm.name_of(file), 0) >= options.least]


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "walks.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    done = {(row["program"], row["by"]) for row in rows}
    chosen = [(name, file) for name in options.sets.split(",") for file in files_of(options, name)]
    worker = explored.Worker([file for _, file in chosen], options.build)
    walkers = orders_of(options.order)
    walkers = {by: [worker.passes.index(name) for name in names] for by, names in walkers.items()}
    walkers |= {policy.stem: policy_network.load(policy) for policy in options.policy}
    with path.open("a") as out:
        for set_name, file in chosen:
            missing = [by for by in walkers if (file.name.split(".")[0], by) not in done]
            states = explored.States(worker, file, options.out / "states") if missing else None
            if states is None or states.ratio(0) is None:
                continue
            for by in missing:
                left = walks_of(states, walkers[by], options.walks, options.seed)
                row = {"set": set_name, "program": states.name, "by": by, "initial": states.instructions[0]}
                row |= {"default": states.instructions[states.own], "left": left}
                row |= {"first": states.ratio(left[0]), "best": states.ratio(min(left))}
                rows.append(row)
                out.write(json.dumps(row) + "\n")
            out.flush()
            states.save()
            print(f"{states.name}: {worker.runs} passes run so far", flush=True)
    for set_name in options.sets.split(","):
        print(f"\n## {set_name}\n", *table([row for row in rows if row["set"] == set_name]), sep="\n")


if __name__ == "__main__":
    main()
