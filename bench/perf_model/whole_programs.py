#!/usr/bin/env python3
"""How well `hone predict` knows how long whole programs take, on programs that nothing was trained on.

    bench/perf_model/whole_programs.py [--split data/splits/random.txt] [--only NAME[,NAME]] [--out FILE]

Each program of the split's test part is predicted and measured by default XLA on one thread. Columns: predicted over
measured time with every kernel once for each place that it stands at, with all steps of loops, with loops and cold
inputs, and with copies, which is what `hone predict` says; and the sum of kernels measured one by one, all warm,
without and with copies. Finished rows are kept.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "autotune")]
from common import add_options, check_options, failures, finish, head, run_missing, test_programs  # noqa: E402
from harness import HoneError, call_hone, geometric_mean, isa_words, markdown_table  # noqa: E402


def copies_ns(tune):
    return tune.get("predicted_moved_ns", 0)  # rows of versions before 2026-11-27 have none


COLUMNS = {
    "each place once": lambda tune: sum(k["count"] * k["predicted_ns"] for k in tune["kernels"]),
    "loops": lambda tune: tune["predicted_warm_ns"],
    "loops and cold inputs": lambda tune: tune["predicted_ns"] - copies_ns(tune),
    "and copies": lambda tune: tune["predicted_ns"],
    "kernels measured warm": lambda tune: tune["kernels_measured_ns"],
    "measured warm, and copies": lambda tune: tune["kernels_measured_ns"] + copies_ns(tune),
}


def measure(row, program, options):
    arguments = ["predict", program.path, "--measure", "--quiet", *isa_words(options)]
    try:
        row["predict"] = call_hone(options.hone, arguments, 900)
    except (HoneError, OSError) as error:
        row["error"] = str(error)


def ratios(rows, column):
    return [COLUMNS[column](row["predict"]) / row["predict"]["measured_ns"] for row in rows]


def table(rows):
    rows = [row for row in rows if "error" not in row and row["predict"]["measured_ns"]]
    lines = []
    for i, row in enumerate(rows):
        found = row["predict"]
        values = [f"{ratios(rows, column)[i]:.3f}" for column in COLUMNS]
        lines.append([row["name"], f"{found['measured_ns'] / 1e6:.3f}", *values, f"{100 * found['cold_share']:.0f} %"])
    text = markdown_table(["program", "measured ms", *COLUMNS, "cold"], lines) + "\n"
    summary = []
    for column in COLUMNS:
        found = ratios(rows, column)
        errors = [100 * abs(ratio - 1) for ratio in found]
        factor = geometric_mean([max(ratio, 1 / ratio) for ratio in found])
        within = sum(0.8 <= ratio <= 1.25 for ratio in found)
        summary.append(
            [column, f"{statistics.mean(errors):.1f}", f"{statistics.median(errors):.1f}", f"{100 * (factor - 1):.1f}"]
            + [f"{within} of {len(found)}"]
        )
    return text + "\n" + markdown_table(["", "mean error %", "median %", "geometric %", "within a quarter"], summary)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "whole-programs")
    options = parser.parse_args()
    check_options(parser, options)
    programs = test_programs(options)
    by_name = {program.name: program for program in programs}
    jobs = [{"name": program.name} for program in programs]
    rows, interrupted = run_missing(jobs, ("name",), lambda row: measure(row, by_name[row["name"]], options), options)
    text = head("Whole programs, predicted and measured", rows, len(jobs), options.max_isa) + table(rows)
    return finish(text + failures(rows, ("name",)), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
