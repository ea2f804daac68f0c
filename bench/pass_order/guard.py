#!/usr/bin/env python3
"""Do the orders of hone order run slower than default XLA, with and without its guard?

Runs hone order on the test programs, then what it returned once more against the untouched program, in a process and a
duel of its own, which the guard has not seen. The control without the guard is the best order of the same search. It is
measured anew as well, and so is XLA's own order. Every program is a line of --jsonl; a stopped run continues after the
last one. Prints a Markdown table.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "bench"))

import gymnasium  # noqa: E402
import hone.gym  # noqa: E402, F401
from harness import machine  # noqa: E402
from programs import chosen  # noqa: E402

SETS = ("diverse", "gpt_training")


def name_of(path):
    return Path(path).name.split(".")[0]


def order(options, path):
    words = [options.build / "hone", "order", path, "--budget", options.budget, "--metric", options.metric]
    words += ["--seed", options.seed, "--json", "--quiet"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"{path}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def duel(options, path, passes):
    """{"ratio", "interval", "verified"} of default XLA's run time over that after the passes, in a new process."""
    if not passes:
        return {"ratio": 1.0, "interval": [1.0, 1.0], "verified": True}
    distinct = list(dict.fromkeys(passes))
    kwargs = {"programs": [path], "passes": distinct, "traj_limit": len(passes), "measure_ms": options.measure_ms}
    env = gymnasium.make("hone/XlaPassOrderRunTime-v0", build=options.build, **kwargs).unwrapped
    try:
        env.reset(seed=0)
        for name in passes:
            info = env.step(distinct.index(name))[-1]
        ran = info.get("run_time")
        return {key: ran[key] for key in ("ratio", "interval", "verified")} if ran else None
    finally:
        env.close()


def row_of(options, path):
    result = order(options, path)
    slower = result["guard"]["slower"]
    untouched, own = result["initial"]["operations"], result["default"]["operations"]
    best = slower[0] if slower else result["found"]
    row = {
        "program": name_of(path),
        "initial": untouched,
        "default": own,
        "found": result["found"]["operations"],
        "best": best["operations"],
        "applications": result["applications"],
        "seconds": round(result["seconds"], 1),
        "refused": [[each["operations"], each["speedup"], each["speedup_interval"]] for each in slower],
        "skipped": result["guard"]["skipped"],
        "rejected": result["rejected"],
        "passes": result["passes"],
        "best_passes": best["passes"],
        "guard_duel": [result["found"]["speedup"], result["found"]["speedup_interval"]],
        "check": duel(options, path, result["passes"]),
    }
    row["check_unguarded"] = duel(options, path, best["passes"]) if slower else row["check"]
    row["check_own"] = duel(options, path, result["default"]["passes"])
    return row


def gain(row, left):
    return max(0.5, row["initial"] - row[left]) / (row["initial"] - row["default"])


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def shown(check):
    if not check:
        return "not run"
    low, high = check["interval"]
    return f"{check['ratio']:.3f} ({low:.3f} to {high:.3f})"


def refused(row):
    if not row["refused"]:
        return ""
    operations, ratio, _ = row["refused"][0]
    more = len(row["refused"]) - 1 + row["skipped"]
    return f"{operations}: {ratio:.3f}" + (f", and {more} more" if more else "")


def print_table(rows):
    columns = "program, I, D, R, gain, ratio, refused, gain without the guard, ratio without, XLA's own order"
    print("| " + columns.replace(", ", " | ") + " |\n|---|---:|---:|---:|---:|---:|---|---:|---:|---:|")
    for row in rows:
        cells = [row["program"], row["initial"], row["default"], row["found"], f"{gain(row, 'found'):.3f}"]
        cells += [shown(row["check"]), refused(row), f"{gain(row, 'best'):.3f}", shown(row["check_unguarded"])]
        cells.append(shown(row["check_own"]))
        print("| " + " | ".join(map(str, cells)) + " |")
    for title, left, check in (("guarded", "found", "check"), ("without the guard", "best", "check_unguarded")):
        print_means(rows, title, left, check)


def print_means(rows, title, left, check):
    """The gain, and the less of default XLA's run time and of that behind XLA's own order, over the result's."""
    measured = [row for row in rows if row[check] and row["check_own"]]
    ratios = [row[check]["ratio"] / max(1, row["check_own"]["ratio"]) for row in measured]
    if not ratios:
        return
    print(
        f"\n{title}: {len(rows)} programs, gain {mean([gain(row, left) for row in rows]):.3f}; run time beside the "
        f"faster of default XLA and its own order, {len(ratios)} programs: geometric mean {mean(ratios):.3f}, "
        f"least {min(ratios):.3f}, below 0.99: {sum(ratio < 0.99 for ratio in ratios)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="files (default: the test programs)")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--metric", default="operations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure-ms", type=float, default=1000, help="of the duel that checks a result")
    parser.add_argument("--jsonl", type=Path, required=True, help="rows so far; read first if it is there")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.jsonl.read_text().splitlines()] if options.jsonl.is_file() else []
    programs = options.programs or [path for name in SETS for path in chosen(name)]
    try:
        for path in programs:
            if name_of(path) in {row["program"] for row in rows}:
                continue
            rows.append(row_of(options, str(path)))
            with options.jsonl.open("a") as out:
                out.write(json.dumps(rows[-1]) + "\n")
            print(f"{rows[-1]['program']}: {shown(rows[-1]['check'])}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted; give --jsonl again to continue", file=sys.stderr)
    print(f"Budget {options.budget}, metric {options.metric}, seed {options.seed}; {machine()}.\n")
    if rows:
        print_table(rows)


if __name__ == "__main__":
    main()
