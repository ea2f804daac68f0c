#!/usr/bin/env python3
"""hone.jit against stock jax.jit on the JAX functions of the examples, one process for each program.

In the process of a program hone.jit tunes with an empty cache and database, then both functions run in turns, and each
call is timed until its result is ready: with one thread by what the process computed, on which other processes have
little influence, with several by the clock; the last two columns are by the clock in any case. Rows are JSON, one a
line; programs that the file has are not measured again. At the end a Markdown table is printed.

--export measures the examples' files instead: stock jaxlib, what `hone tune` found in Hone (`hone run --against
jaxlib`), and what of it `hone export --to jax` carries to stock jaxlib, each in processes by turns.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts"), str(ROOT / "python")]

from harness import (  # noqa: E402
    HoneError,
    append_row,
    call_hone,
    commit,
    example_programs,
    geometric_mean,
    machine,
    markdown_table,
    read_jsonl,
)

FEWEST_ROUNDS = 20
HONE = ROOT / "build" / "hone"
LIMIT_S = 900  # of one command


def interleaved(sides: tuple, seconds: float, by_clock: bool) -> dict:
    """Times of two calls made in turns, each first every second time: speedups are of the second over the first.

    Without by_clock times are those that the process computed, in all its threads, unless a name says otherwise.
    """
    import jax
    import numpy as np

    times: list[list[int]] = [[], []]
    computed: list[list[int]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < FEWEST_ROUNDS:
        for i in (0, 1) if len(times[0]) % 2 == 0 else (1, 0):
            begin, computed_before = time.perf_counter_ns(), time.process_time_ns()
            jax.block_until_ready(sides[i]())
            computed[i].append(time.process_time_ns() - computed_before)
            times[i].append(time.perf_counter_ns() - begin)
    stock, tuned = (np.array(side) / 1e3 for side in (times if by_clock else computed))
    ratios, rounds = np.sort(stock / tuned), len(stock)
    clock = [np.array(side) / 1e3 for side in times]
    margin = 0.98 * np.sqrt(rounds)  # order statistics that enclose the median with 95 % confidence
    low, high = max(0, int(rounds / 2 - margin)), min(rounds - 1, int(np.ceil(rounds / 2 + margin)))
    return {
        "rounds": rounds,
        "speedup": float(np.median(ratios)),
        "interval": [float(ratios[low]), float(ratios[high])],
        "stock_us": float(np.median(stock)),
        "hone_us": float(np.median(tuned)),
        "clock_speedup": float(np.median(clock[0] / clock[1])),
        "clock_least_speedup": float(clock[0].min() / clock[1].min()),
    }


def measure(name: str, budget: float, seconds: float, threads: int) -> dict:
    """The row of one program, in this process."""
    import export_examples  # first: it sets what JAX reads when it is imported
    import hone
    import jax
    import numpy as np

    program = export_examples.EXAMPLES[name][0]()
    random = np.random.default_rng(0)
    weights = jax.device_put(export_examples.random_values(program.weights, random))
    inputs = jax.device_put(export_examples.random_values(program.inputs, random))
    stock = jax.jit(program.function)
    with tempfile.TemporaryDirectory() as folder:
        options = {"budget": budget, "threads": threads, "cache": folder, "db": f"{folder}/hone.db"}
        f = hone.jit(program.function, weights=0 if program.constant else None, **options)
        begin = time.perf_counter()
        f(weights, *inputs)
        spent = time.perf_counter() - begin
        (status,) = f.status()
        jax.block_until_ready(stock(weights, *inputs))
        row = interleaved((lambda: stock(weights, *inputs), lambda: f(weights, *inputs)), seconds, threads != 1)
    found = {"program": name, "state": status["state"], "duel": status["speedup"], "reason": status["reason"]}
    return found | row | {"first_call_s": spent, "budget_s": budget, "threads": threads, "commit": commit()}


def table(rows: list[dict]) -> str:
    """Markdown of the rows, the geometric mean and the worst."""
    cells = [
        [
            row["program"],
            row["state"],
            f"{row['stock_us']:.1f}",
            f"{row['hone_us']:.1f}",
            "{:.2f} [{:.2f}, {:.2f}]".format(row["speedup"], *row["interval"]),
            f"{row['clock_speedup']:.2f}",
            f"{row['clock_least_speedup']:.2f}",
        ]
        for row in rows
    ]
    for what, of in (("geometric mean", geometric_mean), ("worst", min)):
        means = (of([row[key] for row in rows]) for key in ("speedup", "clock_speedup", "clock_least_speedup"))
        cells.append([what, "", "", "", *(f"{mean:.2f}" for mean in means)])
    head = ["program", "state", "`jax.jit`, us", "`hone.jit`, us", "speed-up", "by the clock", "least by the clock"]
    return markdown_table(head, cells)


def measure_export(name: str, budget: float, seconds: float) -> dict:
    """The row of one example: tuned with an empty database and cache, then beside stock jaxlib, then exported."""
    program = next(program for program in example_programs() if program.name == name)
    with tempfile.TemporaryDirectory() as folder:
        package, common = f"{folder}/{name}.hone", ["--cache", f"{folder}/objects", "--quiet"]
        tuning = ["--budget", f"{budget}s", "--threads", "1", "--db", f"{folder}/hone.db", "-o", package]
        weights = ["--weights", program.weights] if program.weights else []
        tuned = call_hone(HONE, ["tune", program.path, *weights, *tuning, *common], LIMIT_S)
        duel = ["--budget", f"{seconds}s", *common]
        against = call_hone(HONE, ["run", package, "--compare", "--against", "jaxlib", *duel], LIMIT_S)["against"]
        row = {"program": name, "tuned": tuned["speedup"], "against": against, "export": None, "note": ""}
        try:
            row["export"] = call_hone(HONE, ["export", package, "-o", f"{folder}/out", *duel], LIMIT_S)
        except HoneError as error:  # no decision that stock JAX can take
            row["note"] = str(error)
    return row | {"budget_s": budget, "commit": commit()}


def export_table(rows: list[dict]) -> str:
    """Markdown of the rows; speed-ups are over stock jaxlib."""

    def cell(found: dict) -> str:
        return "{:.2f} [{:.2f}, {:.2f}]".format(found["speedup"], *found["speedup_interval"])

    cells = []
    for row in rows:
        made, stock = row["export"], f"{row['against']['stock_ns'] / 1e3:.1f}"
        carried = f"{made['carried']} of {len(made['decisions'])}" if made else "none"
        exported = cell(made["duel"]) if made else "-"
        cells.append([row["program"], stock, cell(row["against"]), exported, carried])
    for what, of in (("geometric mean", geometric_mean), ("worst", min)):
        tuned = of([row["against"]["speedup"] for row in rows])
        exported = of([row["export"]["duel"]["speedup"] if row["export"] else 1.0 for row in rows])
        cells.append([what, "", f"{tuned:.2f}", f"{exported:.2f}", ""])
    head = ["program", "stock jaxlib, us", "tuned, in Hone", "exported, in stock jaxlib", "decisions carried"]
    return markdown_table(head, cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=10, help="seconds of each search (default 10)")
    parser.add_argument("--seconds", type=float, default=3, help="of each comparison (default 3)")
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        choices=range(1, len(cores) + 1),
        help="of both, with as many cores (default 1)",
    )
    parser.add_argument("--programs", help="names, separated by commas (default: all)")
    parser.add_argument("--export", action="store_true", help="what hone export --to jax carries to stock jaxlib")
    parser.add_argument(
        "--out", type=Path, help="file of the rows (default build/bench/stock.jsonl, stock-export.jsonl)"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        amounts = (options.budget, options.seconds)
        row = (
            measure_export(options.one, *amounts) if options.export else measure(options.one, *amounts, options.threads)
        )
        print(json.dumps(row))
        return 0
    if options.export and options.threads > 1:
        parser.error("--export is measured with one thread")
    several = f"-{options.threads}-threads" if options.threads > 1 else ""
    file = "stock-export.jsonl" if options.export else f"stock{several}.jsonl"
    options.out = options.out or ROOT / "build" / "bench" / file
    names = [row["name"] for row in json.loads((ROOT / "examples" / "examples.json").read_text())]
    names = options.programs.split(",") if options.programs else names
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {row["program"] for row in read_jsonl(options.out)} if options.out.exists() else set()
    cpus = ",".join(str(core) for core in cores[: options.threads])
    for name in [name for name in names if name not in done]:
        command = ["taskset", "-c", cpus, sys.executable, __file__, "--one", name, "--threads", str(options.threads)]
        command += ["--budget", str(options.budget), "--seconds", str(options.seconds)] + ["--export"] * options.export
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        append_row(options.out, json.loads(answer.splitlines()[-1]))
        print(answer.splitlines()[-1], file=sys.stderr)
    print(machine())
    rows = [row for row in read_jsonl(options.out) if row["program"] in names]
    print((export_table if options.export else table)(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
