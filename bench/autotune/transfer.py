#!/usr/bin/env python3
"""The gain of a tune from earlier ones, by each method alone: kernels measured before, winners of similar kernels
(transfer) and a ranking adapted to the machine (adaption).

For each model with several batch sizes among the test programs, the first program is tuned into one database, as for a
user who tunes several programs. The others are then tuned for a shorter time with copies of that database, so that they
do not share results. The speed-up is that of the final duels against default XLA: none is below 1. Each run is one row
of a file; finished rows are not run again.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from common import add_database, add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table, seconds_of

KEYS = ("name", "arm", "budget", "prior", "seed")
# arm -> (whether it has the database, the options that switch methods off)
ARMS = {
    "empty database": (False, ["--no-transfer", "--no-adaption"]),
    "same kernels": (True, ["--no-transfer", "--no-adaption"]),
    "and transfer": (True, ["--no-adaption"]),
    "and adaption": (True, ["--no-transfer"]),
    "and both": (True, []),
}


def tune(program: Program, budget: str, seed: int, database: Path, options: argparse.Namespace, more: list) -> dict:
    arguments = ["tune", program.path, "--budget", budget, "--seed", seed, "--db", database, "--quiet", *more]
    arguments += ["--threads", 1, *isa_words(options)]
    if program.weights:
        arguments += ["--weights", program.weights]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        return call_hone(options.hone, [*arguments, "-o", Path(folder) / "t.hone"], 600 + 5 * seconds_of(budget))


def families(options: argparse.Namespace) -> list[list[Program]]:
    """The test programs of each model, in the split's order; only models with more than one."""
    model = {row["name"]: row["model"] for row in json.loads(options.programs.read_text())}
    members: dict[str, list[Program]] = {}
    for program in test_programs(options):
        members.setdefault(model[program.name], []).append(program)
    return [programs for programs in members.values() if len(programs) > 1]


def make_prior(programs: list[Program], options: argparse.Namespace) -> None:
    """Tunes the programs that are not in the database yet; a file beside it lists those that are."""
    done_file = options.db.with_suffix(".programs")
    done = done_file.read_text().split() if done_file.exists() else []
    for program in programs:
        if program.name in done:
            continue
        print(f"before: {program.name}", file=sys.stderr, flush=True)
        tune(program, options.prior, 0, options.db, options, [])
        done.append(program.name)
        done_file.write_text("\n".join(done) + "\n")


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    with_database, without = ARMS[row["arm"]]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        if with_database:
            for file in options.db.parent.glob(options.db.stem + ".*"):  # including the samples of adaption
                shutil.copy(file, folder)
        try:
            answer = tune(program, row["budget"], row["seed"], Path(folder) / options.db.name, options, without)
        except (HoneError, OSError) as error:
            row["error"] = str(error)
            return
        row["tune"] = {field: answer.get(field) for field in ("speedup", "speedup_interval", "candidates", "verified")}
        for field in ("transfer", "adaption"):
            row[field] = answer.get(field)


def tables(rows: list[dict]) -> str:
    good = [row for row in rows if "error" not in row]

    def of(name: str, arm: str) -> list[float]:
        return [row["tune"]["speedup"] for row in good if row["name"] == name and row["arm"] == arm]

    names = [name for name in dict.fromkeys(row["name"] for row in good) if all(of(name, arm) for arm in ARMS)]
    lines = []
    for name in names:
        cells = [name]
        for arm in ARMS:
            values = of(name, arm)
            spread = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
            cells.append(f"{geometric_mean(values):.3f}{spread}")
        similar = [row["transfer"] for row in good if row["name"] == name and row.get("transfer")]
        cells.append(f"{similar[0]['with_similar']} of {similar[0]['kernels']}" if similar else "-")
        lines.append(cells)
    means = [geometric_mean([geometric_mean(of(name, arm)) for name in names]) for arm in ARMS]
    lines.append(["geometric mean", *(f"{mean:.3f}" for mean in means), ""])
    candidates = []
    for arm in ARMS:
        counts = [row["tune"]["candidates"] for row in good if row["arm"] == arm and row["name"] in names]
        candidates.append(f"{sum(counts) / len(counts):.0f}" if counts else "-")
    lines.append(["candidates of a run", *candidates, ""])
    text = "Speed-up over default XLA, geometric mean (least to most) of the runs:\n\n"
    text += markdown_table(["test program", *ARMS, "kernels with similar ones"], lines)
    adapted = [row["adaption"] for row in good if row.get("adaption")]
    if adapted:
        text += f"\nThe adapted ranking was used in {sum(bool(a['used']) for a in adapted)} of {len(adapted)} runs.\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "transfer")
    add_database(parser)
    parser.add_argument("--prior", default="30s", help="of each tune that fills the database (default 30s)")
    parser.add_argument("--budget", default="15s", help="of each tune that is compared (default 15s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each (default 3)")
    options = parser.parse_args()
    check_options(parser, options)
    groups = families(options)
    if not groups:
        print("no model with two programs to measure", file=sys.stderr)
        return 2
    options.db.parent.mkdir(parents=True, exist_ok=True)
    try:
        make_prior([group[0] for group in groups], options)
    except KeyboardInterrupt:
        print("interrupted: finished tunes are kept", file=sys.stderr)
        return 130
    programs = {program.name: program for group in groups for program in group[1:]}
    jobs = [
        {"name": name, "arm": arm, "budget": options.budget, "prior": options.prior, "seed": seed}
        for seed in range(options.seeds)
        for name in programs
        for arm in ARMS
    ]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("What a tune gains from those before it", rows, len(jobs), options.max_isa)
    return finish(text + (tables(rows) if rows else "") + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
