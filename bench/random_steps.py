#!/usr/bin/env python3
"""Random orders of XLA's passes over many programs: counts steps that crash a process, fail, or change outputs.

Each episode takes 45 random passes of the default action set on one program; the result is compiled, run and compared
with the untouched program on equal inputs. Programs take turns until --steps are done, --together episodes of one at a
time in one environment, whose worker then has more to remember. Every episode is a line of --jsonl; a stopped run
continues after the last one. Prints Markdown.
"""

import argparse
import json
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import gymnasium  # noqa: E402
import hone.gym  # noqa: E402, F401

KIND = "hone/XlaPassOrderRunTime-v0"
DEATHS = ("the worker ",)
SHOWN = 5  # programs of a cause


def environment(path, options):
    kwargs = {"programs": [path], "traj_limit": options.length, "measure_ms": options.measure_ms, "step_limit_s": 20.0}
    if options.build:
        kwargs["build"] = options.build
    return gymnasium.make(KIND, **kwargs).unwrapped


def episode(env, name, number, options):
    """One row: what happened in 45 steps on one program, and to its outputs."""
    row = {"program": name, "episode": number, "steps": 0, "changed": 0, "errors": []}
    env.reset(seed=number)
    restarts = env.counters()["restarts"]
    chance = random.Random(f"{options.seed} {number} {name}")
    done = False
    while not done:
        *_, terminated, truncated, info = env.step(chance.randrange(len(env.passes)))
        done = terminated or truncated
        row["steps"] += 1
        row["changed"] += info["changed"]
        if "error" in info and not done:
            row["errors"].append(f"{info['passes'][-1]}: {info['error']}")
    ran = info.get("run_time") or {}
    row |= {"verified": bool(ran.get("verified")), "speedup": ran.get("ratio", 0)}
    row["restarts"] = env.counters()["restarts"] - restarts
    if row["errors"] or not row["verified"]:
        row["passes"] = info["passes"]
    row["initial"], row["final"] = info["initial_instructions"], info["instructions"]
    if "error" in info:
        row["end"] = info["error"]
    return row


def causes(errors):
    """Lines of the form "3 x cause: programs" of errors, which are (program, text); numbers in a text do not count."""
    found = {}
    for program, error in errors:
        found.setdefault(re.sub(r"\d+", "N", error), []).append(program)
    for cause, where in sorted(found.items(), key=lambda item: -len(item[1])):
        names = sorted(set(where))
        yield f"  - {len(where)} x {cause}: {', '.join(names[:SHOWN])}{' ...' if len(names) > SHOWN else ''}"


def summary(rows):
    steps = sum(row["steps"] for row in rows)
    errors = [(row["program"], error) for row in rows for error in row["errors"]]
    deaths = [e for e in errors if any(word in e[1] for word in DEATHS)]
    others = [e for e in errors if e not in deaths]
    counted = [row for row in rows if "restarts" in row]
    restarts = sum(row["restarts"] for row in counted)
    unverified = [(row["program"], row.get("end", "no outputs")) for row in rows if not row.get("verified")]
    lines = [
        f"{steps} random steps in {len(rows)} episodes on {len({row['program'] for row in rows})} programs; "
        f"{sum(row['changed'] for row in rows)} steps changed the program.",
        "",
        "- deaths of the environment's process: 0, or this would not stand here",
        f"- deaths of the worker: {len(deaths)}",
        *causes(deaths),
        f"- restarts of the worker, those of requests that were sent again included: {restarts} "
        f"in the {sum(row['steps'] for row in counted)} steps that counted them",
        f"- other steps that failed and left the program as it was: {len(others)}",
        *causes(others),
        f"- final programs compiled, run and compared: {len(rows)}; outputs right: {len(rows) - len(unverified)}",
        *causes(unverified),
    ]
    return "\n".join(lines)


def run(options, rows):
    """Adds rows until the steps are done."""
    begin, already = time.monotonic(), sum(row["steps"] for row in rows)
    done, turn = already, -1
    env = None
    try:
        while done < options.steps:
            number = len(rows)
            if env is None or number // options.together != turn:
                turn = number // options.together
                path = options.programs[turn % len(options.programs)]
                if env is not None:
                    env.close()
                env = environment(path, options)
            rows.append(episode(env, Path(path).name.split(".")[0], number, options))
            if options.jsonl:
                with options.jsonl.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
            done += rows[-1]["steps"]
            rate = (done - already) / (time.monotonic() - begin)
            left = max(0, options.steps - done) / rate
            print(
                f"{done}/{options.steps} steps, {rate:.1f}/s, {left:.0f} s left: {rows[-1]['program']}", file=sys.stderr
            )
    finally:
        if env is not None:
            env.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--length", type=int, default=45, help="of an episode")
    parser.add_argument("--together", type=int, default=1, help="episodes of a program in one environment")
    parser.add_argument("--measure-ms", type=float, default=5.0, help="of a result's run; outputs are compared anyway")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jsonl", type=Path, help="rows so far; read first if it is there")
    parser.add_argument("--build")
    options = parser.parse_args()
    rows = []
    if options.jsonl and options.jsonl.is_file():
        rows = [json.loads(line) for line in options.jsonl.read_text().splitlines()]
    try:
        run(options, rows)
    except KeyboardInterrupt:
        print("interrupted; give --jsonl again to continue", file=sys.stderr)
    print(summary(rows))


if __name__ == "__main__":
    main()
