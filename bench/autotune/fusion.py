#!/usr/bin/env python3
"""Fusion autotuning as in Kaufman et al. 2021, section 7.3: annealing that measures every configuration, against
annealing on a model's predictions followed by a shorter time of measuring; from XLA's own fusion and from a random one.

All other decisions are XLA's own. The speed-up is that of the final duels against default XLA, which is the result if
nothing is faster: none is below 1. Each run is one row of a file; finished rows are not run again. Every run has a
database and a cache of its own: none knows what another has measured or compiled.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from common import add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table, seconds_of

KEYS = ("name", "start", "hardware", "model", "by", "seed")


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    hardware_s, model_s = seconds_of(row["hardware"]), seconds_of(row["model"]) if row["model"] else 0
    arguments = ["tune", program.path, "--fusion-only", "--fusion-start", row["start"], "--seed", row["seed"]]
    arguments += [
        "--threads",
        1,
        "--budget",
        f"{hardware_s + model_s}s",
        "--quiet",
        *isa_words(options),
    ]
    if model_s:
        arguments += ["--fusion-model", row["by"], "--fusion-budget", row["model"]]
    else:
        arguments += ["--fusion-model", "none"]
    if program.weights:
        arguments += ["--weights", program.weights]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        try:
            row["tune"] = call_hone(
                options.hone,
                [
                    *arguments,
                    *("--db", Path(folder) / "own.db", "--cache", Path(folder) / "objects"),
                    *("-o", Path(folder) / "f.hone"),
                ],
                600 + 5 * (hardware_s + model_s),
            )
        except (HoneError, OSError) as error:
            row["error"] = str(error)


def mode_name(hardware: str, model: str, by: str) -> str:
    if not model:
        return f"hardware {hardware}"
    words = "model" if by == "shipped" else f"model {by}"
    return f"{words} {model} + hardware {hardware}"


def mean_and_best(rows: list[dict]) -> str:
    speedups = [row["tune"]["speedup"] for row in rows if "error" not in row]
    if not speedups:
        return "-"
    mean = f"{sum(speedups) / len(speedups):.3f}"
    return mean if len(speedups) == 1 else f"{mean} / {max(speedups):.3f}"


def tables(rows: list[dict], modes: list[tuple[str, str, str]], starts: list[str]) -> str:
    names = list(dict.fromkeys(row["name"] for row in rows))
    columns = [(start, *mode) for start in starts for mode in modes]

    def of(name: str | None, column: tuple[str, str, str, str]) -> list[dict]:
        def column_of(row: dict) -> tuple[str, str, str, str]:
            return row["start"], row["hardware"], row["model"], row["by"]

        found = [row for row in rows if column_of(row) == column and "error" not in row]
        return [row for row in found if name in (None, row["name"])]

    header = ["test program"] + [f"{start}: {mode_name(*mode)}" for start, *mode in columns]
    lines = [[name] + [mean_and_best(of(name, column)) for column in columns] for name in names]
    lines.append(
        ["geometric mean of all runs"]
        + [f"{geometric_mean([row['tune']['speedup'] for row in of(None, column)]):.3f}" for column in columns]
    )
    text = "Speed-up over default XLA, mean and best of the runs:\n\n" + markdown_table(header, lines)
    scored = [row["tune"]["fusion_search"] for row in rows if "fusion_search" in row.get("tune", {})]
    if scored:
        rates = sorted(search["per_minute"] for search in scored)
        shares = sorted(search["model_s"] / search["seconds"] for search in scored if search["seconds"] > 0)
        text += (
            f"\nConfigurations scored a minute: {rates[0]:.0f} to {rates[-1]:.0f}, median {rates[len(rates) // 2]:.0f};"
        )
        text += (
            f" of that time in the model: median {100 * shares[len(shares) // 2]:.0f} %, the rest is lowering by XLA.\n"
        )
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "fusion")
    parser.add_argument(
        "--hardware", default="60s,300s,600s", help="budgets of measuring alone (default 60s,300s,600s)"
    )
    parser.add_argument("--with-model", default="60s", help="budgets of measuring after the model (default 60s)")
    parser.add_argument("--model-time", default="120s", help="the model's own time (default 120s)")
    parser.add_argument(
        "--by",
        default="shipped,analytical",
        metavar="MODEL[,...]",
        help="models of hone tune --fusion-model (default shipped, and as the control without learning analytical)",
    )
    parser.add_argument("--starts", default="default,random")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each (default 10)")
    options = parser.parse_args()
    check_options(parser, options)
    programs = {program.name: program for program in test_programs(options)}
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    modes = [(hardware, "", "") for hardware in filter(None, options.hardware.split(","))]
    modes += [
        (hardware, options.model_time, by)
        for hardware in filter(None, options.with_model.split(","))
        for by in options.by.split(",")
    ]
    starts = options.starts.split(",")
    jobs = [
        {"name": name, "start": start, "hardware": hardware, "model": model, "by": by, "seed": seed}
        for seed in range(options.seeds)
        for name in programs
        for start in starts
        for hardware, model, by in modes
    ]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("Fusion autotuning", rows, len(jobs), options.max_isa)
    if rows:
        text += tables(rows, modes, starts)
    return finish(text + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
