#!/usr/bin/env python3
"""Trains a policy that follows one order of passes for all programs and leaves out those that would change nothing.

    bench/pass_order/follow.py --order build/pass_order/long.json -o data/models/order/policy.safetensors
    bench/pass_order/follow.py --order build/pass_order/long.json --folds     # walks on families that it did not see

A fixed order of 45 passes changes a program about ten times, so a walk of 45 has room for an order three times as long
if it knows which passes would do nothing. A network learns that from the states on walks of the order, where all its
passes are tried. What the policy does is in Follower: it needs the order, the passes so far, and the network's chances.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

import farm
import lessons
import numpy as np
import policy_network

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "hone/XlaPassOrderChangeHistory-v0"
DROPPED, WALKS = 0.1, 2  # share of changes left out on further walks for lessons, and their number
MEMBERS = 3  # networks whose mean decides


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--order", type=Path, required=True, help="of fixed_order.py, or several as those that ship")
    parser.add_argument("--orders", help="which of several, one behind the other: 2,0,1")
    parser.add_argument("--max-instructions", type=int, default=2500, help="of training programs")
    parser.add_argument("--steps", type=Path, help="folder of steps.py: training steps that belong to them, too")
    parser.add_argument("--least", type=float, default=0.01, help="chance of a change below which a pass is left out")
    parser.add_argument("--walk", type=int, default=50, help="passes in which it goes through the order")
    parser.add_argument("--presence", action="store_true", help="networks see counts cut at about five")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the networks")
    parser.add_argument("--folds", action="store_true", help="train without each fold of families and walk on it")
    parser.add_argument("--only-fold", type=int, help="of --folds one")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pass_order", help="of states")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--build", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    return parser.parse_args()


def order_of(file, which, passes):
    """Actions of one order or of several."""
    read = json.loads(file.read_text())
    orders = read.get("orders", [read])
    chosen = [int(place) for place in which.split(",")] if which else range(len(orders))
    return [passes.index(name) for place in chosen for name in orders[place]["passes"]]


def lessons_of(states, order):
    """Observations [rows, width] in the states of walks of the order; which passes change something [rows, actions].
    Passes that the order has not are not tried; they count as changing nothing."""
    rng = np.random.default_rng([0, sum(states.name.encode())])  # equal lessons for all seeds
    asked = set(order)
    actions, seen, rows, changes = states.width - 1, set(), [], []
    for number in range(1 + WALKS):
        state, history = 0, ()
        for action in [None, *order]:
            if action is not None:
                reached = states.after(state, action)
                if reached == state or (number and rng.random() < DROPPED):
                    continue
                state, history = reached, (*history, action)
            if (state, history) not in seen:
                seen.add((state, history))
                rows.append(lessons.observation(states, state, list(history), np.zeros(actions, bool)))
                changes.append([each in asked and states.after(state, each) != state for each in range(actions)])
    return np.array(rows, np.float32), np.array(changes, np.float32)


def walks_of(states, policy, count=1, seed=0):
    """Log gains of walks; the first takes what is next, the others draw."""
    rng = np.random.default_rng([seed, sum(states.name.encode())])
    return [states.gain(lessons.walk(states, policy, rng=rng if number else None)[0]) for number in range(count)]


def networks_of(found, names, options, presence):
    """Networks from the lessons of some programs; each counts as the root of its lessons."""
    rows, changes = (np.concatenate([found[name][i] for name in names]) for i in range(2))
    weight = np.concatenate([np.full(len(found[name][0]), len(found[name][0]) ** -0.5) for name in names])
    seeds = range(MEMBERS * options.seed, MEMBERS * (options.seed + 1))
    scale = policy_network.Presence if presence else policy_network.Scale
    return [policy_network.fit_changes((rows, changes, weight), seed, options.epochs, scale) for seed in seeds]


def train(found, names, order, options):
    """A policy from the lessons of some programs."""
    networks = networks_of(found, names, options, options.presence)
    return policy_network.Follower(policy_network.mean_of(networks), order, options.least, options.walk)


def report(what, gains):
    firsts = [gain[0] for gain in gains.values()]
    share = statistics.mean(gain > -1e-9 for gain in firsts)
    print(f"{what}: {math.exp(statistics.mean(firsts)):.4f}, {share:.0%} at least as good as D, {len(firsts)} programs")


def gain_of(states, order):
    return [states.gain(farm.explored.walk(states, order)[0])]


def try_folds(options, held, found, fold, order):
    """Walks of policies on programs of families that they did not see, and of the order itself."""
    results = {}
    for number in range(farm.FOLDS) if options.only_fold is None else [options.only_fold]:
        policy = train(found, [name for name in found if fold[name] != number], order, options)
        mine = [name for name in found if fold[name] == number]
        results |= held.call(walks_of, policy, names=mine)
        report(f"fold {number}", {name: results[name] for name in mine})
    for what, cut in (("the first 45 of the order", lessons.LENGTH), ("the whole order", len(order))):
        report(what, held.call(gain_of, order[:cut], names=list(results)))
    report("the policy", results)
    return results


def main():
    options = parse()
    files = farm.training_files(options.max_instructions, options.steps)
    fold = farm.folds_of(farm.training_files(farm.EVERY, options.steps))
    passes = farm.explored.Worker(files[:1], options.build).passes
    order = order_of(options.order, options.orders, passes)
    held = farm.Farm(files, options.processes, options.folder / "states", options.build)
    found = held.call(lessons_of, order)
    print(f"{sum(len(rows) for rows, _ in found.values())} lessons on {len(found)} programs", flush=True)
    if options.folds:
        try_folds(options, held, found, fold, order)
    if options.out:
        policy = train(found, list(found), order, options)
        command = f"bench/pass_order/follow.py {' '.join(sys.argv[1:])}"
        policy_network.save(options.out, policy, passes, ENVIRONMENT, command)
    held.close()


if __name__ == "__main__":
    main()
