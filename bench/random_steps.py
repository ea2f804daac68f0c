#!/usr/bin/env python3
"""Random orders of XLA's passes over many programs: counts steps that crash a process, fail, or change outputs.

Each episode takes 45 random passes of the default action set on one program; the result is compiled, run and compared
with the untouched program on equal inputs. Programs take turns until --steps are done. Every episode is a line of
--jsonl; a stopped run continues after the last one. Prints Markdown.
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import gymnasium  # noqa: E402
import hone.gym  # noqa: E402, F401

KIND = "hone/XlaPassOrderRunTime-v0"
DEATHS = ("the worker ",)


def episode(path, number, options):
    """One row: what happened in 45 steps on one program, and to its outputs."""
    kwargs = {"programs": [path], "traj_limit": options.length, "measure_ms": options.measure_ms, "step_limit_s": 20.0}
    if options.build:
        kwargs["build"] = options.build
    env = gymnasium.make(KIND, **kwargs).unwrapped
    row = {"program": Path(path).name.split(".")[0], "episode": number, "steps": 0, "changed": 0, "errors": []}
    try:
        env.reset(seed=number)
        chance = random.Random(f"{options.seed} {number} {row['program']}")
        done = False
        while not done:
            *_, terminated, truncated, info = env.step(chance.randrange(len(env.passes)))
            done = terminated or truncated
            row["steps"] += 1
            row["changed"] += info["changed"]
            if "error" in info and not done:
                row["errors"].append(f"{info['passes'][-1]}: {info['error']}")
        ran = info.get("run_time") or {}
        row |= {"verified": bool(ran.get("verified")), "speedup": ran.get("ratio", 0), "passes": info["passes"]}
        row["initial"], row["final"] = info["initial_instructions"], info["instructions"]
        if "error" in info:
            row["end"] = info["error"]
    finally:
        env.close()
    return row


def summary(rows):
    steps = sum(row["steps"] for row in rows)
    errors = [(row["program"], error) for row in rows for error in row["errors"]]
    deaths = [e for e in errors if any(word in e[1] for word in DEATHS)]
    unverified = [row for row in rows if not row.get("verified")]
    lines = [
        f"{steps} random steps in {len(rows)} episodes on {len({row['program'] for row in rows})} programs; "
        f"{sum(row['changed'] for row in rows)} steps changed the program.",
        "",
        f"- deaths of the worker: {len(deaths)}; of the environment's process: 0, or this would not stand here",
        f"- other steps that failed and left the program as it was: {len(errors) - len(deaths)}",
        f"- final programs compiled, run and compared: {len(rows)}; outputs right: {len(rows) - len(unverified)}",
    ]
    lines += [f"- {program}: {error}" for program, error in errors]
    lines += [f"- {row['program']} (episode {row['episode']}): {row.get('end', 'no outputs')}" for row in unverified]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--length", type=int, default=45, help="of an episode")
    parser.add_argument("--measure-ms", type=float, default=5.0, help="of a result's run; outputs are compared anyway")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jsonl", type=Path, help="rows so far; read first if it is there")
    parser.add_argument("--build")
    options = parser.parse_args()
    rows = []
    if options.jsonl and options.jsonl.is_file():
        rows = [json.loads(line) for line in options.jsonl.read_text().splitlines()]
    begin, already = time.monotonic(), sum(row["steps"] for row in rows)
    try:
        while (done := sum(row["steps"] for row in rows)) < options.steps:
            rows.append(episode(options.programs[len(rows) % len(options.programs)], len(rows), options))
            if options.jsonl:
                with options.jsonl.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
            done += rows[-1]["steps"]
            rate = (done - already) / (time.monotonic() - begin)
            left = max(0, options.steps - done) / rate
            print(
                f"{done}/{options.steps} steps, {rate:.1f}/s, {left:.0f} s left: {rows[-1]['program']}", file=sys.stderr
            )
    except KeyboardInterrupt:
        print("interrupted; give --jsonl again to continue", file=sys.stderr)
    print(summary(rows))


if __name__ == "__main__":
    main()
