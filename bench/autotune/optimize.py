#!/usr/bin/env python3
"""Compile-time mode (`hone optimize`) on the test programs of a split: its time, and its gain in a duel against default
XLA in another process. A program without changed kernels is default XLA itself: its ratio is 1.
Each program is one row of a file; finished rows are not run again.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from common import add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table

KEYS = ("name", "confirm", "seed")
SLOWER = 0.99


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    arguments = ["optimize", program.path, "--seed", row["seed"], "--quiet", *isa_words(options)]
    if program.weights:
        arguments += ["--weights", program.weights]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        package = Path(folder) / "o.hone"
        start = time.monotonic()
        try:
            answer = call_hone(options.hone, [*arguments, "-o", package], 1800)
            row["wall_s"] = time.monotonic() - start
            for field in ("instructions", "applied", "verified", "lowering_s", "ranking_s", "verifying_s", "seconds"):
                row[field] = answer[field]
            row["kernels"] = len(answer["kernels"])
            row["shifted"] = sum(rewrite["applied"] for rewrite in answer["rewrites"])
            row["rewrites"] = len(answer["rewrites"])
            row["transitions"] = sorted({kernel["transition"] for kernel in answer["kernels"] if kernel["applied"]})
            if answer["applied"]:
                duel = ["run", package, "--compare", "--budget", row["confirm"]]
                row["duel"] = call_hone(options.hone, duel, 1800)
        except (HoneError, OSError) as error:
            row["error"] = str(error)


def ratio(row: dict) -> float:
    return row["duel"]["speedup"] if "duel" in row else 1.0


def tables(rows: list[dict]) -> str:
    good = [row for row in rows if "error" not in row]
    if not good:
        return ""
    lines = []
    for row in good:
        low, high = row["duel"]["speedup_interval"] if "duel" in row else (1, 1)
        model_s = row["lowering_s"] + row["ranking_s"]
        lines.append(
            [
                row["name"],
                str(row["instructions"]),
                f"{row['applied'] - row['shifted']}/{row['kernels']}",
                f"{row['shifted']}/{row['rewrites']}" if row["rewrites"] else "",
                f"{row['lowering_s']:.2f}",
                f"{row['ranking_s']:.2f}",
                f"{1000 * model_s / row['instructions']:.2f}",
                f"{row['verifying_s']:.1f}",
                "yes" if row["verified"] else "no",
                f"{ratio(row):.3f} [{low:.3f}, {high:.3f}]" if "duel" in row else "1 (unchanged)",
            ]
        )
    header = ["test program", "instructions", "kernels changed", "shifted", "lowering s", "ranking s", "s per 1,000"]
    text = markdown_table([*header, "check s", "verified", "ratio"], lines)
    changed = [ratio(row) for row in good if "duel" in row]
    text += f"\nGeometric mean of all {len(good)} programs {geometric_mean([ratio(row) for row in good]):.4f}"
    if changed:
        text += f", of the {len(changed)} changed ones {geometric_mean(changed):.4f}, best {max(changed):.3f}, worst "
        text += f"{min(changed):.3f}; {sum(value < SLOWER for value in changed)} below {SLOWER}"
    seconds = sum(row["lowering_s"] + row["ranking_s"] for row in good)
    instructions = sum(row["instructions"] for row in good)
    text += f".\nWithout the check {1000 * seconds / instructions:.2f} s per 1,000 instructions over all programs.\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "optimize")
    parser.add_argument("--confirm", default="10s", help="of each duel (default 10s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    check_options(parser, options)
    programs = {program.name: program for program in test_programs(options)}
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    jobs = [{"name": name, "confirm": options.confirm, "seed": options.seed} for name in programs]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("Compile-time mode", rows, len(jobs), options.max_isa) + tables(rows) + failures(rows, KEYS)
    return finish(text, options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
