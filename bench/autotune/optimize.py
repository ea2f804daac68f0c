#!/usr/bin/env python3
"""Compile-time mode (`hone optimize`) on the test programs of a split: its time, and its gain in a duel against default
XLA in another process. A program without changed kernels is default XLA itself: its ratio is 1.
Each program is one row of a file; finished rows are not run again.
"""

import argparse
import shlex
import sys
import tempfile
import time
from pathlib import Path

from common import add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table

KEYS = ("name", "words", "confirm", "seed", "run")
SLOWER = 0.99


def label(choice: dict) -> str:
    if choice["transition"] == "threads":
        return f"{choice['name']} {choice['chosen']} {choice['gain']:.3f}"
    return choice["transition"]


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    arguments = ["optimize", program.path, "--seed", row["seed"], "--quiet", *isa_words(options)]
    arguments += shlex.split(row["words"])
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
            row["guard"] = answer["guard"]
            row["grouped"] = any(":groups" in c["name"] for c in answer["rewrites"] + answer["operations"])
            for field in ("kernels", "operations", "forms", "thread_options", "layouts"):
                choices = answer.get(field, [])  # of thread_options none in versions before 2026-11-27
                row[f"{field}_chosen"] = sorted({label(c) for c in choices if c["applied"]})
                row[f"{field}_dropped"] = sorted({c["note"] for c in choices if "note" in c and not c["applied"]})
            if answer["applied"]:
                duel = ["run", package, "--compare", "--budget", row["confirm"]]
                row["duel"] = call_hone(options.hone, duel, 1800)
        except (HoneError, OSError) as error:
            row["error"] = str(error)


def ratio(row: dict) -> float:
    return row["duel"]["speedup"] if "duel" in row else 1.0


def program_rows(good: list[dict]) -> str:
    lines = []
    for row in good:
        low, high = row["duel"]["speedup_interval"] if "duel" in row else (1, 1)
        model_s = row["lowering_s"] + row["ranking_s"]
        chosen = row["forms_chosen"] + row["operations_chosen"] + row["kernels_chosen"]
        chosen += row.get("thread_options_chosen", []) + row.get("layouts_chosen", [])
        lines.append(
            [
                row["name"],
                str(row["run"]),
                str(row["instructions"]),
                ", ".join(chosen + ["shifted"] * bool(row["shifted"])),
                f"{1000 * model_s / row['instructions']:.2f}",
                f"{row['verifying_s']:.1f}",
                f"{row['guard']['speedup']:.3f}" if row["guard"] else "",
                f"{ratio(row):.3f} [{low:.3f}, {high:.3f}]" if "duel" in row else "1 (unchanged)",
            ]
        )
    header = ["test program", "run", "instructions", "changes", "s per 1,000", "check s", "guard", "ratio"]
    return markdown_table(header, lines)


def summary(good: list[dict]) -> str:
    """A row for each run and one for all together; means also without programs that have grouped convolutions."""
    runs = sorted({row["run"] for row in good})
    lines = []
    for run in [*runs, None] if len(runs) > 1 else runs:
        its = [row for row in good if run is None or row["run"] == run]
        ratios = [ratio(row) for row in its]
        rest = [ratio(row) for row in its if not row["grouped"]]
        seconds = sum(row["lowering_s"] + row["ranking_s"] for row in its)
        lines.append(
            [
                "all" if run is None else str(run),
                str(len(its)),
                f"{geometric_mean(ratios):.4f}",
                f"{geometric_mean(rest):.4f} ({len(rest)})",
                str(sum("duel" in row for row in its)),
                f"{max(ratios):.3f}",
                f"{min(ratios):.3f}",
                str(sum(value < SLOWER for value in ratios)),
                f"{1000 * seconds / sum(row['instructions'] for row in its):.2f}",
                f"{sum(row['wall_s'] for row in its) / len(its):.1f}",
            ]
        )
    header = ["run", "programs", "geometric mean", "without grouped convolutions", "changed", "best", "worst"]
    return markdown_table([*header, f"below {SLOWER}", "choosing, s per 1,000 instructions", "s in all"], lines)


def tables(rows: list[dict]) -> str:
    good = [row for row in rows if "error" not in row]
    return f"{summary(good)}\n{program_rows(good)}" if good else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "optimize")
    parser.add_argument("--confirm", default="10s", help="of each duel (default 10s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1, help="of each program (default 1)")
    parser.add_argument("--words", default="", help="more options of hone optimize, as '--no-forms'")
    options = parser.parse_args()
    check_options(parser, options)
    programs = {program.name: program for program in test_programs(options)}
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    same = {"words": options.words, "confirm": options.confirm, "seed": options.seed}
    jobs = [{"name": name, "run": run, **same} for run in range(options.runs) for name in programs]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("Compile-time mode", rows, len(jobs), options.max_isa) + tables(rows) + failures(rows, KEYS)
    return finish(text, options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
