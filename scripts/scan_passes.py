#!/usr/bin/env python3
"""Measures which pass changes which program: every pass on every untouched program, then random sequences.

Prints one JSON object per program: for each pass the instructions it added, what failed, and what the sequences left.
With --table the arguments are files of such lines, which are summarised as docs/reference/passes.csv;
scripts/make_reference.py generates docs/reference/passes.md from it.
"""

import argparse
import collections
import csv
import json
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import gymnasium  # noqa: E402
import hone.command  # noqa: E402
import hone.gym  # noqa: E402, F401


def scan(path, options):
    """The effects of the passes on one program."""
    kwargs = {"programs": [path], "traj_limit": options.length, "step_limit_s": 20.0}
    if options.build:
        kwargs["build"] = options.build
    if options.passes:
        kwargs["passes"] = options.passes.split(",")
    env = gymnasium.make(options.id, **kwargs).unwrapped
    _, info = env.reset(seed=0)
    row = {"program": Path(path).name, "instructions": info["instructions"], "changed": {}, "later": {}, "failed": {}}
    start = time.monotonic()
    for action, name in enumerate(env.passes):
        copy = env.clone()
        *_, after = copy.step(action)
        if "error" in after:
            row["failed"][name] = after["error"]
        elif after["changed"]:
            row["changed"][name] = after["instructions"] - info["instructions"]
        copy.close()
    chance = random.Random(f"{options.seed} {Path(path).name}")
    later = collections.Counter()
    finals = []
    for episode in range(options.episodes):
        env.reset(seed=episode)
        done, steps = False, 0
        while not done:
            action = chance.randrange(len(env.passes))
            *_, terminated, truncated, after = env.step(action)
            done, steps = terminated or truncated, steps + 1
            if "error" in after:
                row["failed"].setdefault(env.passes[action], after["error"])
            elif after["changed"]:
                later[env.passes[action]] += 1
        finals.append([after["instructions"], after.get("run_time")])
    row["later"], row["finals"], row["seconds"] = dict(later), finals, round(time.monotonic() - start, 1)
    env.close()
    return row


def table(files, options):
    """Prints docs/reference/passes.csv: how many programs a pass changes, untouched and anywhere in a sequence."""
    rows = [json.loads(line) for name in files for line in Path(name).read_text().splitlines()]
    rows = [row for row in rows if "error" not in row]
    print(f"{len(rows)} programs", file=sys.stderr)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["pass", "changes", "in_sequences", "median_added"])
    for entry in hone.command.run(["passes"], build=options.build)["passes"]:
        name = entry["name"]
        if not entry["default"]:
            continue
        added = [100 * row["changed"][name] / row["instructions"] for row in rows if name in row["changed"]]
        later = sum(name in row["later"] for row in rows)
        out.writerow([name, len(added), later, f"{statistics.median(added):+.1f} %" if added else ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--id", default="hone/XlaPassOrder-v0", help="RunTime also runs each sequence's result")
    parser.add_argument("--passes", default="", help="default: the default action set")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--length", type=int, default=45)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        return table(options.programs, options)
    for path in options.programs:
        try:
            print(json.dumps(scan(path, options)), flush=True)
        except (RuntimeError, ValueError) as error:
            print(json.dumps({"program": Path(path).name, "error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
