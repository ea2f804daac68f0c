#!/usr/bin/env python3
"""Repeatability of the measuring protocol: the same program measured by independent processes.

Two figures per program. Runs: each process times the program --repeat times and keeps the least; the spread is
(largest - smallest) / median over the processes. Duels: each process duels default XLA against itself; the error is
the largest distance of a ratio from 1. Both should stay within 2 % on a quiet machine.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from harness import (
    ROOT,
    HoneError,
    Program,
    Progress,
    add_max_isa,
    call_hone,
    commit,
    example_programs,
    isa_words,
    machine,
    markdown_table,
)

DEFAULT_PROGRAMS = "softmax_gelu_chain,layer_norm_chain,mixer_block,heat_stencil"
TARGET = 0.02


def spread(values: list[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)


def measure(program: Program, options: argparse.Namespace, progress: Progress) -> tuple[list[float], list[float]]:
    """(least time in ns, ratio of default XLA to itself) of each process."""
    common = [program.path, "--threads", options.threads, "--seed", options.seed, *isa_words(options)]
    if program.weights:
        common += ["--weights", program.weights]
    least_ns, ratios = [], []
    for number in range(options.processes):
        progress.starting(f"{program.name}, process {number + 1}")
        run = call_hone(options.hone, ["run", *common, "--repeat", options.repeat], options.timeout)
        duel = call_hone(options.hone, ["run", *common, "--compare", "--budget", options.budget], options.timeout)
        least_ns.append(run["min_ns"])
        ratios.append(duel["speedup"])
        progress.finished(f"least {least_ns[-1] / 1e6:.3f} ms, itself over itself {ratios[-1]:.4f}")
    return least_ns, ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=DEFAULT_PROGRAMS, help="names of examples (default %(default)s)")
    parser.add_argument("--processes", type=int, default=10, metavar="N", help="per program (default 10)")
    parser.add_argument("--repeat", type=int, default=100, metavar="R", help="runs per process (default 100)")
    parser.add_argument("--budget", default="3s", help="of each duel (default 3s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    add_max_isa(parser)
    parser.add_argument("--timeout", type=float, default=300, help="seconds per process")
    parser.add_argument("--out", type=Path, help="write here instead of to standard output")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    known = {program.name: program for program in example_programs()}
    names = options.programs.split(",")
    if options.processes < 2 or not all(name in known for name in names):
        parser.error("at least 2 processes, and programs of examples/examples.json")
    progress = Progress(len(names) * options.processes)
    lines, within, load = [], True, os.getloadavg()[0]
    for name in names:
        try:
            least_ns, ratios = measure(known[name], options, progress)
        except HoneError as error:
            print(f"{name}: {error}", file=sys.stderr)
            lines.append([name, "no result", *["-"] * 4])
            within = False
            continue
        error = max(abs(ratio - 1) for ratio in ratios)
        within &= spread(least_ns) <= TARGET and error <= TARGET
        middle = statistics.median(least_ns) / 1e6
        ends = f"{min(ratios):.4f} to {max(ratios):.4f}"
        lines.append([name, f"{middle:.3f}", f"{spread(least_ns):.2%}", ends, f"{error:.2%}", str(len(ratios))])
    text = f"# Repeatability\n\n- Machine: {machine(options.max_isa)}\n- Commit: {commit()}\n"
    text += f"- {options.threads} thread(s), seed {options.seed}, {options.repeat} runs and a duel of {options.budget}"
    text += " per process\n"
    text += f"- Load average of the machine before: {load:.2f}\n"
    text += f"- Target: {TARGET:.0%}, {'reached' if within else 'NOT reached'}\n\n"
    header = ["program", "least ms", "spread of the least", "itself over itself", "largest error", "processes"]
    text += markdown_table(header, lines)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)
    else:
        print(text, end="")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
