#!/usr/bin/env python3
"""Trains a policy that orders passes by imitation: lessons (lessons.py) in the states of good walks and of the policy's
own, then a network on them (policy_network.py), and again (DAgger; Ross et al. 2011).

    bench/pass_order/imitate.py --rounds 3 -o data/models/order/policy.safetensors

The teacher's orders are those of --orders, found on the same programs by fixed_order.py. Families are held out in
turn: a program's own walks are those of a network that saw no program of its fold, so that each round reports how walks
on unseen families do, and teaches the states they lead to. The last network is trained on all. Lessons are kept in
--out; a stopped run continues.
"""

import argparse
import functools
import json
import math
import pickle
import statistics
from pathlib import Path

import farm
import lessons
import numpy as np
import policy_network

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "hone/XlaPassOrderChangeHistory-v0"
SAMPLED, DEFAULT_FROM = 2, 2  # walks drawn per round; from this round on also from D


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-instructions", type=int, default=2500, help="of training programs")
    parser.add_argument("--orders", type=Path, default=Path(__file__).with_name("teachers.json"))
    parser.add_argument("--rounds", type=int, default=3, help="of walks by the policy, after the teacher's")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pass_order", help="of states and lessons")
    parser.add_argument("--build", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "pass_order" / "imitation.safetensors")
    return parser.parse_args()


class Notes:
    """Lessons of one program, each state and history once."""

    def __init__(self, states, orders):
        self.states, self.teacher = states, lessons.Teacher(states, orders)
        self.seen, self.rows = set(), []

    def add(self, state, history):
        key = (state, tuple(history))
        if key in self.seen:
            return
        self.seen.add(key)
        worth = self.teacher.lessons(state)
        if not np.isnan(worth).all():
            untried = np.zeros(self.states.width - 1, bool)
            seen = lessons.observation(self.states, state, history, untried)
            self.rows.append((seen, worth, self.states.gain(self.states.instructions[state])))

    def lists(self, gains):
        columns = [np.array([row[i] for row in self.rows], np.float32) for i in range(3)] if self.rows else []
        return {"columns": columns, "gains": gains}


def taught(states, orders):
    """The teacher's own walk."""
    notes = Notes(states, orders)
    path, end = notes.teacher.expert()
    history = []
    for state, action, _ in path:
        notes.add(state, history)
        history = [*history, action]
    notes.add(end, history)
    least = min(states.instructions[state] for state in [end, *(step[0] for step in path)])
    return notes.lists([states.gain(least)])


def walked(states, orders, networks, seed, from_default):
    """Walks of a network that knows no program of this family: the best passes, then drawn ones; and from D."""
    notes, network = Notes(states, orders), networks[states.name]
    rng = np.random.default_rng([seed, sum(states.name.encode())])
    gains = []
    for number in range(1 + SAMPLED):
        least, visited = lessons.walk(states, network, rng=rng if number else None)
        gains.append(states.gain(least))
        for state, history in visited:
            notes.add(state, history)
    if from_default:
        for state, history in lessons.walk(states, network, begin=states.own)[1]:
            notes.add(state, [states.width - 1, *history])
    return notes.lists(gains)


def train(found, keep, options):
    """A network on the lessons of the programs that `keep` accepts; each program counts as the root of its lessons."""
    columns, weights = [], []
    for results in found:
        for name, result in sorted(results.items()):
            if result["columns"] and keep(name):
                columns.append(result["columns"])
                count = len(result["columns"][0])
                weights.append(np.full(count, 1 / math.sqrt(count)))
    data = [np.concatenate([column[i] for column in columns]) for i in range(3)]
    return policy_network.fit(data, np.concatenate(weights), options.seed, options.epochs), len(data[0])


def report(round_number, results):
    firsts = [result["gains"][0] for result in results.values()]
    bests = [max(result["gains"]) for result in results.values()]
    share = statistics.mean(gain > -1e-9 for gain in firsts)
    means = [math.exp(statistics.mean(gains)) for gains in (firsts, bests)]
    print(
        f"round {round_number}: first walk {means[0]:.4f}, best {means[1]:.4f}, {share:.0%} at least as good as D, "
        f"{len(results)} programs",
        flush=True,
    )


def round_of(options, held, number, work, arguments):
    """Results of a round by program, from its file if there is one; else `held` and `arguments` are made."""
    path = options.folder / (f"lessons-{number}-{options.seed}.pickle" if number else "lessons-0.pickle")
    if path.is_file():
        results = pickle.loads(path.read_bytes())
    else:
        results = held().call(work, *arguments())
        path.write_bytes(pickle.dumps(results))
    report(number, results)
    return results


def main():
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    files = farm.training_files(options.max_instructions)
    fold = farm.folds_of(files)
    passes = farm.explored.Worker(files[:1], options.build).passes
    named = json.loads(options.orders.read_text())["orders"]
    orders = [[passes.index(name) for name in order] for order in named]

    @functools.cache
    def held():
        return farm.Farm(files, options.processes, options.folder / "states", options.build)

    def lesson_arguments(number):
        apart = [train(found, lambda name, f=f: fold[name] != f, options)[0] for f in range(farm.FOLDS)]
        return orders, {name: apart[fold[name]] for name in fold}, number, number >= DEFAULT_FROM

    found = [round_of(options, held, 0, taught, lambda: (orders,))]
    for number in range(1, options.rounds + 1):
        found.append(round_of(options, held, number, walked, lambda number=number: lesson_arguments(number)))
    if held.cache_info().currsize:
        held().close()
    network, rows = train(found, lambda name: True, options)
    print(f"{rows} lessons")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    command = f"bench/pass_order/imitate.py --rounds {options.rounds} --epochs {options.epochs} --seed {options.seed}"
    policy_network.save(options.out, network, passes, ENVIRONMENT, command)


if __name__ == "__main__":
    main()
