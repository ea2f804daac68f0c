#!/usr/bin/env python3
"""Tile autotuning as in Kaufman et al. 2021, section 7.2: every option of every kernel is measured once (`hone tune
--exhaustive`), and the same measurements give the results of measuring only the ten best ranked options, and of taking
the best ranked one, for the shipped model, for the analytical one, and for XLA's own choice.

A kernel counts when all its options were tried and its default takes --least-us or more. An option that failed or gave
other outputs counts as the default, as in a tune. The best of many duels is partly noise, which favours `exhaustive`
most. Each program is one row of a file; finished rows are not measured again.

With --dataset nothing is measured: the table is about the kernels of the test programs in a data set of `hone collect`,
with at most 24 options each; there the analytical model is fitted on the validation programs.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from common import add_database, add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import ROOT, HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table, seconds_of

KEYS = ("name", "budget", "seed")
RANKERS = {
    "model": ["--tile-model", ROOT / "data" / "models" / "tile"],  # what hone tune ranks by
    "analytical": ["--tile-model", "analytical"],
}
COLUMNS = ["exhaustive", "top-10 model", "top-1 model", "top-10 analytical", "top-1 analytical", "compile-time mode"]


def measured_ratios(database: Path, fingerprint: str) -> dict[str, float]:
    """Default over option run time of every verified option, from its longest duel."""
    query = (
        "select decisions, ratio from records where scope = 'kernel' and kernel = ? and status = 'ok' and rounds > 0"
        " order by rounds, id"
    )
    with sqlite3.connect(database) as connection:
        return dict(connection.execute(query, (fingerprint,)).fetchall())


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    weights = ["--weights", program.weights] if program.weights else []
    common = [program.path, *weights, "--threads", 1, "--seed", row["seed"], "--quiet", *isa_words(options)]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        package = Path(folder) / "exhaustive.hone"
        try:
            arguments = ["tune", *common, "--exhaustive", "--budget", row["budget"], "--db", options.db, "-o", package]
            call_hone(options.hone, arguments, 600 + 5 * seconds_of(row["budget"]))
            reports = json.loads((package / "report.json").read_text())["kernels"]
            rankings = {
                name: call_hone(options.hone, ["optimize", *common, "--rank-only", "--max-options", 0, *extra], 900)
                for name, extra in RANKERS.items()
            }
            chosen = call_hone(options.hone, ["optimize", *common, "--no-verify", "-o", Path(folder) / "o.hone"], 900)
        except (HoneError, OSError) as error:
            row["error"] = str(error)
            return
    orders = {name: {k["fingerprint"]: k["order"] for k in r["kernels"]} for name, r in rankings.items()}
    applied = {k["fingerprint"]: k["chosen"] for k in chosen["kernels"] if k["applied"]}
    row["rank_s"] = {name: ranking["ranking_s"] for name, ranking in rankings.items()}
    row["kernels"] = []
    for report in reports:
        fingerprint, default = report["fingerprint"], report["default"]
        ratios = measured_ratios(options.db, fingerprint)
        order = {name: [o for o in kernels.get(fingerprint, []) if o != default] for name, kernels in orders.items()}
        best = {name: max([1.0] + [ratios.get(o, 1.0) for o in o10[:10]]) for name, o10 in order.items()}
        # The best ranked option, which may be the default.
        first = {name: kernels.get(fingerprint, [default])[:1] for name, kernels in orders.items()}
        row["kernels"].append(
            {
                "fingerprint": fingerprint,
                "kind": report["kind"],
                "count": report["count"],
                "default_ns": report["default_ns"],
                "options": report["options"],
                "tried": report["tried"],
                "complete": report["complete"],
                "exhaustive": max([1.0, *ratios.values()]),
                **{f"top-10 {name}": ratio for name, ratio in best.items()},
                **{f"top-1 {name}": ratios.get(f[0], 1.0) if f else 1.0 for name, f in first.items()},
                "compile-time mode": ratios.get(applied.get(fingerprint, default), 1.0),
                "applied": fingerprint in applied,
            }
        )


def counted(row: dict, options: argparse.Namespace) -> list[dict]:
    return [k for k in row["kernels"] if k["complete"] and k["default_ns"] >= 1e3 * options.least_us]


def over_time(kernels: list[dict], column: str) -> float:
    """Speed-up of all these kernels together, each as often as it occurs."""
    default = sum(k["count"] * k["default_ns"] for k in kernels)
    return default / sum(k["count"] * k["default_ns"] / k[column] for k in kernels)


def tables(rows: list[dict], options: argparse.Namespace) -> str:
    good = [row for row in rows if "error" not in row and counted(row, options)]
    kernels = [k for row in good for k in counted(row, options)]
    if not kernels:
        return "No kernel was covered within its budget.\n"
    lines = []
    for row in good:
        mine = counted(row, options)
        lines.append([row["name"], str(len(mine))] + [f"{over_time(mine, c):.3f}" for c in COLUMNS])
    text = "Speed-up of a program's counted kernels together over XLA's own choice (1.000):\n\n"
    text += markdown_table(["test program", "kernels", *COLUMNS], lines)
    everything = sum(k["options"] - 1 for k in kernels)
    measurements = {
        "exhaustive": everything,
        "top-10 model": sum(min(10, k["options"] - 1) for k in kernels),
        "top-1 model": 0,
        "top-10 analytical": sum(min(10, k["options"] - 1) for k in kernels),
        "top-1 analytical": 0,
        "compile-time mode": 0,
    }
    lines = []
    for column in COLUMNS:
        programs = [over_time(counted(row, options), column) for row in good]
        gap = geometric_mean(
            [over_time(counted(row, options), "exhaustive") / p for row, p in zip(good, programs, strict=True)]
        )
        single = [k[column] for k in kernels]
        lines.append(
            [
                column,
                f"{geometric_mean(programs):.3f}",
                f"{min(programs):.3f}",
                f"{100 * (gap - 1):.1f} %",
                f"{geometric_mean(single):.3f}",
                f"{min(single):.3f}",
                str(measurements[column]),
            ]
        )
    header = ["", "programs, geometric mean", "worst", "slower than exhaustive"]
    header += ["kernels, geometric mean", "worst", "measurements"]
    text += f"\n{len(kernels)} kernels of {len(good)} programs:\n\n" + markdown_table(header, lines)
    taken = [k["compile-time mode"] for k in kernels if k["applied"]]
    if taken:
        text += f"\nCompile-time mode changed {len(taken)} of {len(kernels)} kernels: geometric mean "
        text += f"{geometric_mean(taken):.3f}, {sum(t < 0.99 for t in taken)} of them below 0.99.\n"
    return text


def from_dataset(options: argparse.Namespace) -> int:
    common = [options.dataset, "--split", options.split]
    answer = call_hone(options.hone, ["eval", "tile", *common, "--model-file", options.weights, "--analytical"], 1800)
    judged = call_hone(options.hone, ["optimize", "--calibrate", *common, "--part", "test", "--judge"], 1800)
    compile_time = {row["program"]: row for row in judged["programs"]}

    def speedups(row: dict) -> list[float]:
        def slower(column: str, top: str) -> float:
            return 1 + row[column][top] / 100  # than the best option measured

        default = slower("xla", "ape_top1")
        ranked = [(name, top) for name in ("learned", "analytical") for top in ("ape_top10", "ape_top1")]
        return [default, *(default / slower(*key) for key in ranked), compile_time[row["program"]]["gain"]]

    values = [speedups(row) for row in answer["programs"]]
    lines = [
        [row["program"], str(row["kernels"]), *(f"{value:.3f}" for value in mine)]
        for row, mine in zip(answer["programs"], values, strict=True)
    ]
    text = head("Tile autotuning, from measured kernels", [], 0)
    text += "Speed-up of all kernels of a program together, each counted once, over XLA's own choice (1.000):\n\n"
    text += markdown_table(["test program", "kernels", *COLUMNS], lines) + "\n"
    options_in_all = sum(row["options"] - row["kernels"] for row in answer["programs"])
    at_most_ten = sum(min(row["options"] - row["kernels"], 10 * row["kernels"]) for row in answer["programs"])
    measurements = [options_in_all, at_most_ten, 0, at_most_ten, 0, 0]
    lines = []
    for i, column in enumerate(COLUMNS):
        mine = [row[i] for row in values]
        gap = geometric_mean([row[0] / row[i] for row in values])
        cells = [f"{geometric_mean(mine):.3f}", f"{min(mine):.3f}", f"{100 * (gap - 1):.1f} %", str(measurements[i])]
        lines.append([column, *cells])
    header = ["", "geometric mean", "worst", "slower than exhaustive", "measurements, at most"]
    text += markdown_table(header, lines)
    changed = [row for row in judged["programs"] if row["changed"]]
    text += f"\nCompile-time mode changed {sum(row['changed'] for row in changed)} kernels of {len(changed)} programs; "
    text += (
        f"the one that lost most ran at {min([1.0] + [row['worst'] for row in changed]):.3f} of its default's speed.\n"
    )
    return finish(text, options, interrupted=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "tile")
    add_database(parser)
    parser.add_argument("--budget", default="300s", help="for measuring all options of one program (default 300s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least-us", type=float, default=5, help="kernels faster than this do not count (default 5)")
    parser.add_argument("--dataset", type=Path, help="take the measurements from here instead of making them")
    parser.add_argument("--weights", type=Path, default=ROOT / "data" / "models" / "tile", help="of --dataset")
    options = parser.parse_args()
    check_options(parser, options)
    if options.dataset:
        return from_dataset(options)
    programs = {program.name: program for program in test_programs(options)}
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    jobs = [{"name": name, "budget": options.budget, "seed": options.seed} for name in programs]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("Tile autotuning", rows, len(jobs), options.max_isa) + tables(rows, options)
    return finish(text + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
