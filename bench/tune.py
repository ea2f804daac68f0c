#!/usr/bin/env python3
"""Default XLA against `hone tune`, over the examples and the runnable programs of the corpus.

Every program is tuned, then the package is confirmed by a duel against default XLA in another process
(`hone run PACKAGE --compare`): the speed-ups of the table are those of this second duel. Each program is one row of a
JSONL file, written as soon as it is known; finished rows are not run again. Ctrl-C keeps them.
"""

import argparse
import datetime
import json
import math
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

from harness import (
    CORPUS,
    ROOT,
    HoneError,
    Program,
    Progress,
    add_max_isa,
    append_row,
    call_hone,
    commit,
    corpus_programs,
    example_programs,
    geometric_mean,
    isa_words,
    limited_file,
    machine,
    markdown_table,
    read_jsonl,
    seconds_of,
)

SLOWER = 0.99  # a program below this became slower


def parse_options() -> argparse.Namespace:
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="120s", help="of each search, as 90s or 2m (default 120s)")
    parser.add_argument("--confirm", default="10s", help="of each confirmation duel (default 10s)")
    parser.add_argument("--threads", default="1", help="thread counts, the first in full: 1,2 (default 1)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="programs whose name or path contains it")
    parser.add_argument("--set", choices=["examples", "corpus", "all"], default="all")
    parser.add_argument("--weights", default="", metavar="LIST", help="declared in place of the programs' own: 0-199")
    parser.add_argument("--max-programs", type=int, metavar="N", help="the first N")
    parser.add_argument(
        "--run-ms", default="", metavar="LEAST,MOST", help="programs whose listed run time is in between"
    )
    add_max_isa(parser)
    parser.add_argument(
        "--without",
        default="",
        metavar="PARTS",
        help="controls, with commas: operations, operation-model, packing, in-place, known, prepare, transfer, "
        "adaption, cache, fusion",
    )
    parser.add_argument("--out", type=Path, help=f"the table (default: build/bench/tune-{today}.md)")
    parser.add_argument("--jsonl", type=Path, help="raw rows (default: in build/bench/, named like the table)")
    parser.add_argument("--db", type=Path, help="the tune database (default: beside the raw rows)")
    parser.add_argument("--retry", action="store_true", help="run programs that failed before again")
    parser.add_argument("--timeout", type=float, help="seconds per command (default 600 + 5 budgets)")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    options = parser.parse_args()
    try:
        options.budget_s = seconds_of(options.budget)
        seconds_of(options.confirm)
        options.thread_counts = [int(text) for text in options.threads.split(",")]
        options.run_ms = [float(text) for text in options.run_ms.split(",")] if options.run_ms else []
        if len(options.run_ms) not in (0, 2):
            raise ValueError("--run-ms: two numbers, as 50,2000")
    except ValueError as error:
        parser.error(str(error))
    if min(options.thread_counts) < 1:
        parser.error("--threads: at least one thread")
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    options.timeout = options.timeout or 600 + 5 * options.budget_s
    options.out = options.out or limited_file(ROOT / "build" / "bench" / f"tune-{today}.md", options.max_isa)
    options.jsonl = options.jsonl or ROOT / "build" / "bench" / f"{options.out.stem}.jsonl"
    options.db = options.db or options.jsonl.with_suffix(".db")
    return options


def select_programs(options: argparse.Namespace) -> list[Program]:
    programs = example_programs() if options.set != "corpus" else []
    if options.set != "examples":
        programs += corpus_programs(options.corpus)
    chosen = [program for program in programs if options.only in program.name or options.only in str(program.path)]
    if options.run_ms:
        least, most = options.run_ms
        chosen = [program for program in chosen if program.run_ms is not None and least <= program.run_ms <= most]
    return chosen[: options.max_programs]


def key_of(row: dict) -> tuple:
    fields = ("set", "name", "weights", "threads", "seed", "budget_s")
    return (*(row[field] for field in fields), row.get("max_isa"), row.get("without", ""))


def new_row(program: Program, threads: int, options: argparse.Namespace) -> dict:
    return {
        "set": program.set,
        "name": program.name,
        "file": os.path.relpath(program.path, ROOT),
        "weights": options.weights or program.weights,
        "threads": threads,
        "seed": options.seed,
        "budget_s": options.budget_s,
        "max_isa": options.max_isa,
        "without": options.without,
    }


def best_so_far(timeline: list[dict]) -> list[list[float]]:
    """Seconds and gain over default XLA whenever a duel of the search found a surely faster program. Duels that timed
    kernels count if their candidate became the baseline of others."""
    adopted = {trial.get("against", -1) for trial in timeline}
    gains, curve = [], []
    for at, trial in enumerate(timeline):
        gain = 0.0
        if trial["scope"] == "program" and trial.get("outcome", "ok") == "ok" and trial.get("ratio"):
            against = trial.get("against", -1)
            gain = trial["ratio"] * (1.0 if against == -1 else gains[against] if against >= 0 else 0.0)
            surely = trial.get("interval", [0, 0])[0] > 1 and (not trial.get("in_place") or at in adopted)
            if surely and not trial.get("confirms") and gain > (curve[-1][1] if curve else 1.0):
                curve.append([round(trial["end_s"], 2), round(gain, 4)])
        gains.append(gain)
    return curve


def seconds_to(share: float, curve: list[list[float]]) -> float | None:
    """When the search had that share of its final gain, on a logarithmic scale; None without a gain."""
    if not curve:
        return None
    wanted = share * math.log(curve[-1][1])
    return next(seconds for seconds, gain in curve if math.log(gain) >= wanted)


def without(part: str) -> str:
    """The option of hone tune that leaves a part out."""
    return f"--{part}=none" if part.endswith("-model") else f"--no-{part}"


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    """Tunes and confirms one program, into `row`; "error" says why there is no result."""
    start = time.monotonic()
    row.update(commit=commit(), load=round(os.getloadavg()[0], 2))
    row["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        package = Path(folder) / "tuned.hone"
        arguments = ["tune", program.path, "--budget", options.budget, "--threads", row["threads"]]
        arguments += ["--seed", options.seed, "-o", package, "--force", "--db", options.db]
        arguments += isa_words(options)
        arguments += [without(part) for part in options.without.split(",") if part]
        if row["weights"]:
            arguments += ["--weights", row["weights"]]
        try:
            row["tune"] = call_hone(options.hone, arguments, options.timeout)
            report = json.loads((package / "report.json").read_text())
            row["kernels"] = sorted({kernel["fingerprint"] for kernel in report["kernels"]})
            row["kernel_options"] = sum(kernel.get("tried", 0) for kernel in report["kernels"])
            row["curve"] = best_so_far(report["timeline"])
            row["schedule"] = report.get("schedule", [])
            duel = ["run", package, "--compare", "--budget", options.confirm]
            row["confirm"] = call_hone(options.hone, duel, options.timeout)
            if not row["confirm"]["speedup"] > 0:
                row["error"] = "confirmation: " + row["confirm"].get("note", "nothing was timed")
        except (HoneError, OSError) as error:
            row["error"] = str(error)
    row["wall_s"] = round(time.monotonic() - start, 1)


def verified(row: dict) -> bool:
    return row["tune"]["verified"] and row["confirm"]["verified"]


def credited(row: dict) -> float:
    """The speed-up for the means: 1 for a gain without verified outputs."""
    speedup = row["confirm"]["speedup"]
    return speedup if verified(row) else min(1.0, speedup)


def speedup_text(row: dict) -> str:
    duel = row["confirm"]
    low, high = duel["speedup_interval"]
    return f"{duel['speedup']:.3f} [{low:.3f}, {high:.3f}]"


def yes_or_no(value: bool) -> str:
    return "yes" if value else "NO"


def milliseconds(nanoseconds: float) -> str:
    """Four significant digits."""
    value = nanoseconds / 1e6
    digits = 3 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{min(6, max(0, digits))}f}"


def result_line(row: dict) -> list[str]:
    tune, duel = row["tune"], row["confirm"]
    times = [milliseconds(duel["default_ns"]), milliseconds(duel["tuned_ns"])]
    counts = [str(tune[field]) for field in ("candidates", "rejected", "failed")]
    seconds = f"{tune['seconds']:.0f}" + ("*" if tune["known"] else "")
    to_most = seconds_to(0.9, row.get("curve", []))
    most = [str(row.get("kernel_options", "-")), "-" if to_most is None else f"{to_most:.1f}"]
    return [row["name"], *times, speedup_text(row), yes_or_no(verified(row)), *counts, *most, seconds]


def set_table(rows: list[dict], counts: list[int]) -> str:
    """The rows of one set: the first thread count in full, each further one as the columns after it."""
    header = [
        "program",
        "default ms",
        "tuned ms",
        "speed-up",
        "verified",
        "candidates",
        "rejected",
        "failed",
        "kernel options",
        "s to 90 %",
        "seconds",
    ]
    for threads in counts[1:]:
        header += [f"{threads} threads: default ms", "tuned ms", "speed-up", "verified"]
    by_name: dict[str, dict[int, dict]] = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["threads"]] = row
    lines = []
    for name, columns in by_name.items():
        line = result_line(columns[counts[0]]) if counts[0] in columns else [name] + ["-"] * 10
        for threads in counts[1:]:
            row = columns.get(threads)
            line += [*result_line(row)[1:5]] if row else ["-"] * 4
        lines.append(line)
    return markdown_table(header, lines)


def summary_line(label: str, threads: int, rows: list[dict]) -> list[str]:
    good = [row for row in rows if "error" not in row]
    speedups = [credited(row) for row in good]
    cells = [label, str(threads), str(len(good)), str(len(rows) - len(good))]
    if not good:
        return cells + ["-"] * 7
    best, worst = max(good, key=credited), min(good, key=credited)
    share = sum(map(verified, good)) / len(good)
    slower = sum(speedup < SLOWER for speedup in speedups)
    return cells + [
        f"{geometric_mean(speedups):.3f}",
        f"{credited(best):.3f} {best['name']}",
        f"{credited(worst):.3f} {worst['name']}",
        str(slower),
        f"{share:.1%}",
        str(sum(row["tune"]["candidates"] for row in good)),
        f"{sum(row['tune']['seconds'] for row in good):.0f}",
    ]


def summary_table(rows: list[dict], counts: list[int]) -> str:
    header = ["set", "threads", "programs", "without result", "geometric mean", "best", "worst"]
    header += [f"below {SLOWER}", "verified", "candidates", "seconds"]
    sets = sorted({row["set"] for row in rows}, reverse=True)
    lines = []
    for threads in counts:
        here = [row for row in rows if row["threads"] == threads]
        groups = [("all", here)] if len(sets) > 1 else []
        groups += [(name, [row for row in here if row["set"] == name]) for name in sets]
        lines += [summary_line(label, threads, group) for label, group in groups]
    return markdown_table(header, lines)


def distinct(rows: list[dict], field: str) -> str:
    return ", ".join(sorted({str(row[field]) for row in rows})) or "-"


def document(rows: list[dict], wanted: int, options: argparse.Namespace) -> str:
    loads = [row["load"] for row in rows]
    text = "# Default XLA against tuned\n\n"
    text += f"- Date: {distinct([{'day': row['date'][:10]} for row in rows], 'day')}\n"
    text += f"- Machine: {machine(options.max_isa)}\n"
    if loads:
        text += f"- Load average of the machine before each program: {min(loads):.2f} to {max(loads):.2f}\n"
    text += f"- Command: `bench/tune.py {shlex.join(sys.argv[1:])}`\n"
    text += f"- Search budget: {options.budget_s:g} s; confirmation duel: {options.confirm}; seeds: {options.seed}\n"
    text += f"- Commit: {distinct(rows, 'commit')} (+: with changes)\n"
    if len(rows) < wanted:
        text += f"- **Incomplete: {len(rows)} of {wanted} results**\n"
    text += (
        "\nSpeed-ups are default/tuned run time, interleaved, from a duel in a process of its own after the search,"
        " with its confidence interval: medians over the rounds, while milliseconds are the fastest run. Verified: the"
        " outputs equal default XLA's in the search and in that duel; an"
        " unverified gain counts as 1 in the means. Seconds are those of the search, * where the result was known from"
        " the database; s to 90 %: when the search had nine tenths of the gain it ended with. Programs without a result"
        " are listed at the end and are in no mean.\n\n"
    )
    text += summary_table(rows, options.thread_counts)
    good = [row for row in rows if "error" not in row]
    for name in sorted({row["set"] for row in good}, reverse=True):
        text += f"\n## {name.capitalize()}\n\n"
        text += set_table([row for row in good if row["set"] == name], options.thread_counts)
    bad = [[row["name"], row["set"], str(row["threads"]), row["error"]] for row in rows if "error" in row]
    if bad:
        text += "\n## Without a result\n\n" + markdown_table(["program", "set", "threads", "reason"], bad)
    return text


def outcome(row: dict) -> str:
    if "error" in row:
        return f"no result: {row['error']}"
    return speedup_text(row) + ("" if verified(row) else " NOT verified") + f", {row['wall_s']:.0f} s"


def run_missing(jobs: list[tuple[dict, Program]], done: dict[tuple, dict], options: argparse.Namespace) -> None:
    """Runs what is not in `done` yet and adds it there and to the file of rows."""
    keys = {key_of(row) for row, _ in jobs}
    stale = {key for key in keys & done.keys() if options.retry and "error" in done[key]}
    missing = [(row, program) for row, program in jobs if key_of(row) not in done.keys() - stale]
    if len(missing) < len(jobs):
        known = len(jobs) - len(missing)
        print(f"{known} of {len(jobs)} rows are in {options.jsonl} and are not run again", file=sys.stderr)
    progress = Progress(len(missing))
    for row, program in missing:
        progress.starting(f"{row['set']} {row['name']}, {row['threads']} thread(s)")
        measure(row, program, options)
        append_row(options.jsonl, row)
        done[key_of(row)] = row
        progress.finished(outcome(row))


def main() -> int:
    options = parse_options()
    programs = select_programs(options)
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    jobs = [(new_row(program, threads, options), program) for program in programs for threads in options.thread_counts]
    done = {key_of(row): row for row in read_jsonl(options.jsonl)}  # the last of each key
    interrupted = False
    options.jsonl.parent.mkdir(parents=True, exist_ok=True)
    try:
        run_missing(jobs, done, options)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted: finished rows are kept", file=sys.stderr)
    rows = [done[key_of(row)] for row, _ in jobs if key_of(row) in done]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(document(rows, len(jobs), options))
    print(summary_table(rows, options.thread_counts), end="")
    print(f"{options.out}: written", file=sys.stderr)
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
