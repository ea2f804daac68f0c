#!/usr/bin/env python3
"""Searches without learning at equal numbers of pass applications: random, greedy, annealing and genetic, from the
untouched program and from XLA's own order (D), at 45, 450 and 2,700 applications, three seeds, on the test programs.

    bench/pass_order/controls.py                       # everything; a stopped run continues
    bench/pass_order/controls.py --sets diverse --programs 5 --applications 45,450
    bench/pass_order/controls.py --report              # the table of what is there

Rows go to --out/controls.jsonl, explored states to --out/states. D itself is free for searches that start from it, so
their ratio is 1 at least; the searches from the untouched program do not know D.
"""

import argparse
import json
import math
import random
import statistics
from pathlib import Path

import programs
import searches
import states as explored

ROOT = Path(__file__).resolve().parents[2]
STARTS = ("untouched", "default")


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="diverse,gpt_training")
    parser.add_argument("--programs", type=int, help="at most, of each set, smallest first")
    parser.add_argument("--searches", default=",".join(searches.SEARCHES))
    parser.add_argument("--starts", default=",".join(STARTS))
    parser.add_argument("--applications", default="45,450,2700")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--part", default="0/1", help="I/N: every Nth program, for N processes side by side")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "pass_order")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args(arguments)
    options.applications = sorted(int(count) for count in options.applications.split(","))
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    options.part = tuple(int(number) for number in options.part.split("/"))
    return options


def rows_of(folder):
    files = sorted(folder.glob("controls*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def files_of(options, set_name):
    sizes = programs.sizes()
    files = sorted(programs.chosen(set_name), key=lambda file: sizes.get(file.name.split(".")[0], 0))
    return files[: options.programs] if options.programs else files


def trials(options):
    """(search, start, seed, checkpoints); annealing has a schedule, so that each number of applications is a run."""
    for seed in options.seeds:
        for start in options.starts.split(","):
            for name in options.searches.split(","):
                separate = name == "annealing"
                for counts in [[count] for count in options.applications] if separate else [options.applications]:
                    yield name, start, seed, counts


def run_program(options, states, set_name, done, out):
    for name, start, seed, counts in trials(options):
        if all((states.name, name, start, seed, count) in done for count in counts):
            continue
        begin = states.own if start == "default" else 0
        trial = searches.Trial(states, begin, counts)
        found = searches.run(searches.SEARCHES[name], trial, random.Random(f"{seed} {states.name} {name} {start}"))
        for count, least in found.items():
            row = {"set": set_name, "program": states.name, "search": name, "start": start, "seed": seed}
            row |= {"applications": count, "initial": states.instructions[0]}
            row |= {"default": states.instructions[states.own], "least": least, "ratio": states.ratio(least)}
            out.write(json.dumps(row) + "\n")
        out.flush()


def run(options):
    options.out.mkdir(parents=True, exist_ok=True)
    keys = ("program", "search", "start", "seed", "applications")
    done = {tuple(row[key] for key in keys) for row in rows_of(options.out)}
    part, of = options.part
    chosen = [(set_name, file) for set_name in options.sets.split(",") for file in files_of(options, set_name)]
    chosen = chosen[part::of]
    worker = explored.Worker([file for _, file in chosen], options.build)
    with (options.out / f"controls-{part}-{of}.jsonl").open("a") as out:
        for set_name, file in chosen:
            states = explored.States(worker, file, options.out / "states")
            if states.ratio(0) is not None:
                run_program(options, states, set_name, done, out)
            states.save()
            print(f"{states.name}: {len(states.instructions)} states, {worker.runs} passes run so far", flush=True)


def table(rows):
    """Geometric means over programs: mean and deviation over seeds, share of programs at least as good as D."""
    lines = ["| search | start | applications | programs | seeds | gain | at least as good as D |", "|---" * 7 + "|"]
    for key in sorted({(row["search"], row["start"], row["applications"]) for row in rows}, key=lambda k: (k[2], k)):
        some = [row for row in rows if (row["search"], row["start"], row["applications"]) == key and row["ratio"]]
        seeds = sorted({row["seed"] for row in some})
        means = [math.exp(statistics.mean(math.log(r["ratio"]) for r in some if r["seed"] == seed)) for seed in seeds]
        spread = statistics.stdev(means) if len(means) > 1 else 0.0
        share = sum(row["least"] <= row["default"] for row in some) / len(some)
        cells = [*key, len({row["program"] for row in some}), len(seeds)]
        cells += [f"{statistics.mean(means):.3f} ± {spread:.3f}", f"{share:.0%}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main():
    options = parse()
    if not options.report:
        run(options)
    rows = rows_of(options.out)
    for set_name in options.sets.split(","):
        print(f"\n## {set_name}\n", *table([row for row in rows if row["set"] == set_name]), sep="\n")


if __name__ == "__main__":
    main()
