#!/usr/bin/env python3
"""One order of 45 passes for all programs: the best that a local search finds on the training programs.

    bench/pass_order/fixed_order.py --seconds 600 -o build/pass_order/fixed_order.json
    bench/pass_order/fixed_order.py --length 135 --begin data/models/order/orders.json --orders 2,0,1 --validation 4

It needs neither features nor a policy: the control for a policy's walk of 45 passes, and a teacher of one (imitate.py).
The search begins with two rounds of XLA's own order, or with given orders one behind the other, and changes one or two
places at a time; a change is kept if the mean log gain does not fall. A stopped search continues from its file. Longer
orders are for a policy that follows one and leaves out passes which would change nothing (follow.py).
"""

import argparse
import json
import math
import random
import statistics
import time
from pathlib import Path

import farm
import lessons
import states as explored

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = 24  # programs that a change must pass before it is tried on all


def gain_of(states, order):
    return states.gain(explored.walk(states, order)[0])


def changed(order, actions, rng):
    order = list(order)
    for _ in range(1 if rng.random() < 0.6 else 2):
        kind, at = rng.random(), rng.randrange(len(order))
        if kind < 0.35:
            order[at] = rng.randrange(actions)
        elif kind < 0.7:
            order.insert(at, rng.randrange(actions))
            order.pop(rng.randrange(len(order)))
        elif kind < 0.85:
            order.insert(rng.randrange(len(order)), order.pop(at))
        else:
            order.append(order.pop(at))
    return order


def search(held, order, actions, seconds, rng):
    """Yields (order, gains by program) whenever the mean log gain has grown."""
    gains = held.call(gain_of, order)
    mean = statistics.mean(gains.values())
    yield order, gains
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        other = changed(order, actions, rng)
        some = rng.sample(held.names, min(SAMPLE, len(held.names)))
        found = held.call(gain_of, other, names=some)
        if sum(found[name] - gains[name] for name in some) < 0:
            continue
        found |= held.call(gain_of, other, names=[name for name in held.names if name not in found])
        now = statistics.mean(found.values())
        if now < mean - 1e-12:
            continue
        better = now > mean + 1e-9
        order, gains, mean = other, found, now
        if better:
            yield order, gains


def beginning(options, passes):
    """The actions of the first order."""
    if options.out.is_file():
        names = json.loads(options.out.read_text())["passes"]
    elif options.begin:
        orders = json.loads(options.begin.read_text())["orders"]
        names = [name for place in options.orders.split(",") for name in orders[int(place)]["passes"]]
    else:
        own = lessons.own_order(passes)
        return own + own[2 : 2 + options.length - len(own)]
    return [passes.index(name) for name in names][: options.length]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-instructions", type=int, default=2500, help="of training programs")
    parser.add_argument("--steps", type=Path, help="folder of steps.py: training steps that belong to them, too")
    parser.add_argument("--only", help="programs of families whose name begins so")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=lessons.LENGTH)
    parser.add_argument("--begin", type=Path, help="file of orders")
    parser.add_argument("--orders", default="0", help="which of them, in this order")
    parser.add_argument(
        "--validation", type=int, help="number of a fold of families (0 to 4, farm.py) that the search does not see"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--states", type=Path, default=ROOT / "build" / "pass_order" / "states")
    parser.add_argument("--build", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "pass_order" / "fixed_order.json")
    options = parser.parse_args()
    files = farm.training_files(options.max_instructions, options.steps)
    if options.only:
        files = [file for file in files if farm.programs.family_of(file).startswith(options.only)]
    if options.validation is not None:
        fold = farm.folds_of(farm.training_files(farm.EVERY, options.steps))
        files = [file for file in files if fold[farm.name_of(file)] != options.validation]
    passes = explored.Worker(files[:1], options.build).passes
    begin = beginning(options, passes)
    held = farm.Farm(files, options.processes, options.states, options.build)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for order, gains in search(held, begin, len(passes), options.seconds, random.Random(options.seed)):
        share = statistics.mean(value > -1e-9 for value in gains.values())
        gain = math.exp(statistics.mean(gains.values()))
        print(f"{gain:.4f} on {len(gains)} programs, {share:.0%} at least as good as D", flush=True)
        kept = {"gain": gain, "share": share, "passes": [passes[action] for action in order], "gains": gains}
        options.out.write_text(json.dumps(kept, indent=1))
    held.close()


if __name__ == "__main__":
    main()
