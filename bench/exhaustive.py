#!/usr/bin/env python3
"""Compares the kernel search with exhaustive measurement. Tunes programs twice: with the defaults, and with
--exhaustive, which measures every option of every kernel with careful duels. For each kernel that both finished, the
careful time of the option that the first search chose is compared with that of the best option. Both times are
noisy."""

import argparse
import datetime
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from harness import (
    ROOT,
    HoneError,
    Program,
    add_max_isa,
    call_hone,
    commit,
    example_programs,
    geometric_mean,
    isa_words,
    machine,
    markdown_table,
    seconds_of,
)

WITHIN = 1.03
LEAST_ROUNDS = 9  # of a careful duel


def careful_ratios(database: Path) -> dict[str, dict[str, float]]:
    """Per kernel: default/option ratio of every verified option, from its longest duel; the default is 1."""
    query = (
        "select kernel, decisions, ratio from records"
        " where scope = 'kernel' and status = 'ok' and rounds >= ? order by rounds"
    )
    kernels: dict[str, dict[str, float]] = {}
    with sqlite3.connect(database) as connection:
        for kernel, option, ratio in connection.execute(query, (LEAST_ROUNDS,)):
            kernels.setdefault(kernel, {"default": 1.0})[option] = ratio
    return kernels


def compare(hone: Path, program, options: argparse.Namespace, folder: Path) -> list[dict]:
    """One row per kernel of a program that both searches finished."""
    weights = ["--weights", program.weights] if program.weights else []
    package = folder / f"{program.name}.hone"
    arguments = ["tune", program.path, *weights, "--threads", 1, "--seed", options.seed, "-o", package, "--force"]
    arguments += isa_words(options)
    if options.generated:  # the kernels of XLA's own fusion are the subject, and all of the budget is theirs
        arguments.append("--no-fusion")
    timeout_s = 600 + 5 * seconds_of(options.reference_budget)
    call_hone(
        hone, [*arguments, "--budget", options.budget, "--db", folder / f"{program.name}.db", "--quiet"], timeout_s
    )
    found = json.loads((package / "report.json").read_text())["kernels"]
    reference_db = folder / f"{program.name}.reference.db"
    reference = [*arguments, "--budget", options.reference_budget, "--db", reference_db, "--exhaustive", "--quiet"]
    call_hone(hone, reference, timeout_s)
    covered = {k["fingerprint"] for k in json.loads((package / "report.json").read_text())["kernels"] if k["complete"]}
    ratios = careful_ratios(reference_db)
    rows = []
    for kernel in found:
        measured = ratios.get(kernel["fingerprint"], {})
        usable = kernel["complete"] and kernel["fingerprint"] in covered and kernel["chosen"] in measured
        if not usable or kernel["default_ns"] < 1e3 * options.least_us or kernel["options"] > options.most_options:
            continue
        if options.tiles and not any(option.startswith("tile=") for option in measured):
            continue
        best = max(measured, key=measured.get)
        rows.append(
            {
                "name": f"{program.name} {kernel['name']}",
                "options": kernel["options"],
                "chosen": kernel["chosen"],
                "best": best,
                "gain": measured[best],
                "loss": measured[best] / measured[kernel["chosen"]],
            }
        )
    return rows


def generated_programs(hone: Path, options: argparse.Namespace, folder: Path) -> list[Program]:
    """Small graphs of random operations, with one or two kernels of a few microseconds, unlike the examples."""
    arguments = ["--count", options.generated, "--seed", options.seed, "--max-elements", 262144]
    call_hone(hone, ["generate", "--kind", "kernel", *arguments, "-o", folder, "--quiet"], 60)
    return [Program(path.stem, "generated", path) for path in sorted(folder.glob("*.hlo"))]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=20, help="stop at this many (default 20)")
    parser.add_argument(
        "--most-options", type=int, default=60, help="spaces larger than this are left out (default 60)"
    )
    parser.add_argument("--tiles", action="store_true", help="only kernels that the tiled emitter takes")
    parser.add_argument("--generated", type=int, default=0, metavar="N", help="N generated programs, not the examples")
    parser.add_argument("--least-us", type=float, default=5, help="faster kernels are left out (default 5)")
    parser.add_argument("--budget", default="60s", help="of the search (default 60s)")
    parser.add_argument("--reference-budget", default="120s", help="of the exhaustive one (default 120s)")
    parser.add_argument("--seed", type=int, default=0)
    add_max_isa(parser)
    parser.add_argument(
        "--only", default="", metavar="SUBSTRING", help="examples whose name contains it (several: a,b)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "exhaustive.md", help="the table")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    return parser.parse_args()


def write(rows: list[dict], options: argparse.Namespace) -> int:
    """The table so far; how many kernels are within bounds."""
    within = sum(row["loss"] <= WITHIN for row in rows)
    table = [
        [r["name"], str(r["options"]), r["chosen"], r["best"], f"{r['gain']:.3f}", f"{r['loss']:.3f}"] for r in rows
    ]
    asked = f"--budget {options.budget} --reference-budget {options.reference_budget} --seed {options.seed}"
    asked += f" --kernels {options.kernels} --most-options {options.most_options} --least-us {options.least_us:g}"
    asked += " --tiles" if options.tiles else ""
    asked += f" --generated {options.generated}" if options.generated else ""
    asked += f" --only {options.only}" if options.only else ""
    asked += f" --max-isa {options.max_isa}" if options.max_isa else ""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        f"# The kernel search against exhaustive measurement\n\n"
        f"{datetime.date.today()}, {machine(options.max_isa)}, commit {commit()}, `bench/exhaustive.py {asked}`.\n"
        "*best gain*: default over the best option; "
        "*loss*: the best option's ratio over that of the option the search chose, both from the careful duels of the\n"
        f"exhaustive run. {within} of {len(rows)} kernels within {WITHIN - 1:.0%}; geometric mean of the loss "
        f"{geometric_mean([row['loss'] for row in rows]):.3f}.\n\n"
        + markdown_table(["kernel", "options", "chosen", "best", "best gain", "loss"], table)
    )
    return within


def main() -> int:
    options = parse_options()
    rows: list[dict] = []
    within = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = example_programs()
        if options.generated:
            programs = generated_programs(options.hone, options, Path(folder) / "generated")
        for program in programs:
            if not any(part in program.name for part in options.only.split(",")) or len(rows) >= options.kernels:
                continue
            try:
                fresh = compare(options.hone, program, options, Path(folder))
            except HoneError as failed:
                print(f"{program.name}: {failed}", file=sys.stderr)
                continue
            rows += fresh
            print(f"{program.name}: {len(fresh)} kernels, {len(rows)} in all", file=sys.stderr, flush=True)
            if fresh:  # a stopped run leaves a table
                within = write(rows, options)
    if not rows:
        print("exhaustive.py: no kernel was finished by both searches", file=sys.stderr)
        return 1
    print(options.out)
    return 0 if within == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
