#!/usr/bin/env python3
"""Steps per second of the pass-ordering environment under random actions, and where the time goes.

Each program gets a fresh worker, so that the first episodes find nothing in memory; an episode has 45 steps.
Prints a Markdown table.
"""

import argparse
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import gymnasium  # noqa: E402
import hone.gym  # noqa: E402, F401


def cpu_seconds():
    """Processor time of this process and of its worker so far: what the steps cost whatever else the machine does."""
    own = time.process_time()
    for child in Path("/proc/self/task").glob("*/children"):
        for pid in child.read_text().split():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            own += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own


def measure(path, options):
    """One row: steps/s of the first episodes (nothing known) and of all, by the clock and by processor time."""
    kwargs = {"programs": [path], "info": False, "kind": options.id}
    if options.build:
        kwargs["build"] = options.build
    env = gymnasium.make("hone/XlaPassOrder-v0", **kwargs).unwrapped
    _, _ = env.reset(seed=0)
    instructions = env.info()["instructions"]
    chance = random.Random(options.seed)
    before, begin, cpu, steps, first = env.counters(), time.perf_counter(), cpu_seconds(), 0, None
    for episode in range(options.episodes):
        env.reset(seed=episode)
        done = False
        while not done:
            *_, terminated, truncated, _ = env.step(chance.randrange(len(env.passes)))
            done, steps = terminated or truncated, steps + 1
        if episode + 1 == options.first:
            first = steps / (time.perf_counter() - begin)
        if time.perf_counter() - begin > options.seconds:
            break
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    spent = {key: value - before[key] for key, value in env.counters().items()}
    env.close()
    return {
        "program": Path(path).name.split(".")[0],
        "instructions": instructions,
        "steps": steps,
        "first": first,
        "rate": steps / seconds,
        "cpu_rate": steps / cpu,
        "cached": spent["cached"] / steps,
        "changed": spent["changed"] / steps,
        "failed": spent["failed"],
        "pass": spent["pass_ms"] / steps,
        "worker": (spent["call_ms"] - spent["pass_ms"]) / steps,
        "rest": (1e3 * seconds - spent["call_ms"]) / steps,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--id", default="hone/XlaPassOrder-v0")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--first", type=int, default=3, help="episodes that count as cold")
    parser.add_argument("--seconds", type=float, default=60, help="per program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build")
    options = parser.parse_args()
    print(f"Random actions, {options.episodes} episodes of 45 steps, one worker, seed {options.seed}.\n")
    columns = (
        "program, instructions, steps, first episodes: steps/s, steps/s, steps per CPU second, from memory, changed"
    )
    columns += ", failed, pass: ms/step, rest of the worker, rest"
    print("| " + columns.replace(", ", " | ") + " |\n" + "|---" * 12 + "|")
    for path in options.programs:
        row = measure(path, options)
        first = f"{row['first']:.0f}" if row["first"] else ""
        cells = [
            row["program"],
            row["instructions"],
            row["steps"],
            first,
            f"{row['rate']:.0f}",
            f"{row['cpu_rate']:.0f}",
        ]
        cells += [f"{row['cached']:.0%}", f"{row['changed']:.0%}", row["failed"]]
        cells += [f"{row[part]:.2f}" for part in ("pass", "worker", "rest")]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
