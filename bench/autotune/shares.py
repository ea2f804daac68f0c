#!/usr/bin/env python3
"""The share of a program's time that Hone can change: default XLA under XLA's profiler, by opcode.

Dots, convolutions and other operations of libraries can only be moved to another library; fusion, tiles, layouts and
slices change the rest. The table also has the speed-up if all the rest took no time. Each program is one row of a file;
finished rows are not run again.
"""

import argparse
import sys
from pathlib import Path

from common import failures, finish, head, run_missing
from harness import (
    CORPUS,
    ROOT,
    HoneError,
    add_max_isa,
    call_hone,
    corpus_programs,
    example_programs,
    isa_words,
    markdown_table,
    read_jsonl,
)

KEYS = ("set", "name", "repeat")


def measure(row: dict, program, options: argparse.Namespace) -> None:
    arguments = ["run", program.path, "--threads", 1, "--profile", "--repeat", row["repeat"], *isa_words(options)]
    if program.weights:
        arguments += ["--weights", program.weights]
    try:
        answer = call_hone(options.hone, arguments, options.timeout)
    except (HoneError, OSError) as error:
        row["error"] = str(error)
        return
    row["run_ns"], row["library_share"] = answer["run_ns"], answer["library_share"]
    row["opcodes"] = answer["opcodes"]


def table(rows: list[dict], tuned: dict[str, float]) -> str:
    lines = []
    for row in sorted((row for row in rows if "error" not in row), key=lambda row: row["library_share"]):
        share = row["library_share"]
        whole = sum(opcode["ns"] for opcode in row["opcodes"]) or 1
        most = ", ".join(f"{o['opcode']} {100 * o['ns'] / whole:.0f}" for o in row["opcodes"][:3])
        limit = f"{1 / share:.2f}" if share > 0.01 else "> 100"
        gained = tuned.get(row["name"])
        lines.append(
            [
                row["name"],
                f"{row['run_ns'] / 1e6:.4g}",
                f"{100 * share:.0f} %",
                limit,
                f"{gained:.3f}" if gained else "-",
                most,
            ]
        )
    return markdown_table(["program", "default ms", "in libraries", "if the rest were free", "tuned", "most, %"], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=["examples", "corpus", "all"], default="all")
    parser.add_argument("--repeat", type=int, default=5, help="profiled runs of each (default 5)")
    add_max_isa(parser)
    parser.add_argument("--tuned", type=Path, nargs="*", default=[], help="raw rows of bench/tune.py: its speed-ups")
    parser.add_argument("--timeout", type=float, default=300, help="seconds per program (default 300)")
    parser.add_argument("--out", type=Path, help="the table in Markdown (default: only printed)")
    parser.add_argument("--jsonl", type=Path, default=ROOT / "build" / "bench" / "autotune-shares.jsonl")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    options = parser.parse_args()
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    programs = example_programs() if options.set != "corpus" else []
    if options.set != "examples":
        programs += corpus_programs(options.corpus)
    by_key = {(program.set, program.name): program for program in programs}
    jobs = [{"set": group, "name": name, "repeat": options.repeat} for group, name in by_key]
    rows, interrupted = run_missing(
        jobs, KEYS, lambda row: measure(row, by_key[row["set"], row["name"]], options), options
    )
    tuned = {
        row["name"]: row["confirm"]["speedup"]
        for path in options.tuned
        for row in read_jsonl(path)
        if "error" not in row and row["threads"] == 1 and row.get("max_isa") == options.max_isa
    }
    text = head("What share of a program's time can be touched", rows, len(jobs), options.max_isa)
    return finish(text + table(rows, tuned) + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
