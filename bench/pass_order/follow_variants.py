#!/usr/bin/env python3
"""Compares variants of the policy that follows an order (follow.py) on training families held out in turn.

    bench/pass_order/follow_variants.py --orders 2,0 --max-instructions 6000

A variant says on which programs its networks learn (at most so many instructions), what they see (counts, or counts
cut at about five, so that a larger program looks like a small one), how several decide (their mean, or the likeliest:
a pass is then left out only if all agree), from which chance on a pass is taken, and how many passes the walk has time
for. Besides the five folds of families there is one more: all training steps, by networks that saw inference alone.
Gains are of walks of 45 passes, on the same programs for all. Networks are kept in --out; a stopped run continues.
"""

import argparse
import itertools
import json
import math
import pickle
import statistics
from pathlib import Path

import farm
import follow
import policy_network

ROOT = Path(__file__).resolve().parents[2]
SIZES = (2500, farm.EVERY)  # of programs of lessons; at most --max-instructions are explored
LEAST, WALKS = (0.003, 0.01), (50, 75)
STEPS = "training steps"  # the fold that is no fold of families


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--order", type=Path, default=ROOT / "data" / "models" / "order" / "orders.json")
    parser.add_argument("--orders", default="2,0")
    parser.add_argument("--max-instructions", type=int, default=6000, help="of explored programs")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "pass_order")
    parser.add_argument("--build", type=Path)
    return parser.parse_args()


def is_step(name):
    return name.startswith("train_")


def networks_of(options, found, sizes, fold):
    """{(largest, capped, fold): networks}, from the file where they are there."""
    path = options.out / f"variants-{options.orders}-{options.seed}.pickle"
    kept = pickle.loads(path.read_bytes()) if path.is_file() else {}
    for largest, capped, number in itertools.product(SIZES, (False, True), [*range(farm.FOLDS), STEPS]):
        key = largest, capped, number
        if key in kept:
            continue

        held = {name for name in found if (is_step(name) if number == STEPS else fold[name] == number)}
        names = [name for name in found if sizes.get(name, 0) <= largest and name not in held]
        kept[key] = follow.networks_of(found, names, options, capped)
        path.write_bytes(pickle.dumps(kept))
        print(f"networks {key}", flush=True)
    return kept


def walked(states, policies):
    """Log gain of the first walk of each policy."""
    return {key: follow.walks_of(states, policy)[0] for key, policy in policies.items()}


def variants(networks, order, number):
    """Policies by (largest, capped, agree, least, walk) with the networks that did not see a fold."""
    made = {}
    for (largest, capped, fold), some in networks.items():
        if fold != number or largest not in SIZES:
            continue
        for agree in (False, True):
            network = policy_network.Likeliest(some) if agree else policy_network.mean_of(some)
            for least, walk in itertools.product(LEAST, WALKS):
                made[largest, capped, agree, least, walk] = policy_network.Follower(network, order, least, walk)
    return made


def report(results, sizes):
    """Rows of all variants, best first by the mean over folds of families."""
    rows = []
    for key in next(iter(results[0].values())):
        folds = [[gains[key] for gains in results[number].values()] for number in range(farm.FOLDS)]
        large = [g[key] for n in range(farm.FOLDS) for name, g in results[n].items() if sizes.get(name, 0) > 1000]
        every = [gain for fold in folds for gain in fold]
        steps = [gains[key] for gains in results[STEPS].values()]
        means = [math.exp(statistics.mean(part)) for part in (every, large, steps)]
        share = statistics.mean(gain > -1e-9 for gain in every)
        by_fold = [round(math.exp(statistics.mean(part)), 3) for part in folds if part]
        row = dict(zip(("largest", "capped", "agree", "least", "walk"), key, strict=True))
        row |= {"gain": means[0], "above_1000": means[1], "training_steps": means[2], "share": share, "folds": by_fold}
        rows.append(row | {"programs": [len(every), len(large), len(steps)]})
    return sorted(rows, key=lambda row: -row["gain"])


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    files = farm.training_files(options.max_instructions)
    sizes = farm.programs.sizes()
    fold = farm.folds_of(farm.training_files(farm.EVERY))
    passes = farm.explored.Worker(files[:1], options.build).passes
    order = follow.order_of(options.order, options.orders, passes)
    held = farm.Farm(files, 1, options.out / "states", options.build)
    found = held.call(follow.lessons_of, order)
    print(f"{sum(len(rows) for rows, _ in found.values())} lessons on {len(found)} programs", flush=True)
    networks = networks_of(options, found, sizes, fold)
    path = options.out / f"variant-walks-{options.orders}-{options.seed}.pickle"
    results = pickle.loads(path.read_bytes()) if path.is_file() else {}
    for number in [*range(farm.FOLDS), STEPS]:
        if number in results:
            continue
        names = [name for name in held.names if (is_step(name) if number == STEPS else fold[name] == number)]
        results[number] = held.call(walked, variants(networks, order, number), names=names)
        path.write_bytes(pickle.dumps(results))
        print(f"walks of {number}", flush=True)
    rows = report(results, sizes)
    (options.out / f"variants-{options.orders}-{options.seed}.json").write_text(json.dumps(rows, indent=1))
    for row in rows[:20]:
        print(json.dumps(row))
    held.close()


if __name__ == "__main__":
    main()
