#!/usr/bin/env python3
"""The gain of layouts in `hone tune`, each way with the same budget, on the held-out programs of a split.

With `--decide layout` they are ranked by the model that comes with hone, drawn at random, and searched greedily; beside
all other decisions they are decided (`--ways all`) or left out (`all but layouts`). A ratio is that of the final duels
against default XLA, 1 if nothing was confirmed. Each run is one row of a file; finished rows are not run again.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "autotune"))
from common import add_options, check_options, failures, finish, head, run_missing, test_programs
from harness import ROOT, HoneError, Program, call_hone, geometric_mean, isa_words, markdown_table

# Where one layout alone gained most: of 46 training programs by single duels, and of short_axes.py's by hone optimize.
PAYING = (
    "asian_option_b4096", "projection_flow_b1", "wave_2d_b1", "gat_b1", "multi_query_b1", "interest_network_b256",
    "heston_b8192", "particle_filter_b2048",
)  # fmt: skip
PAYING_SHORT = ("rigid_bodies", "ensemble", "leapfrog", "em_mixture")
KEYS = ("name", "way", "budget", "seed")
WAYS = {
    "ranked": ["--decide", "layout"],
    "random": ["--decide", "layout", "--layout-model", "none", "--strategy", "random"],
    "greedy": ["--decide", "layout", "--layout-model", "none", "--strategy", "greedy"],
    "all": [],
    "all but layouts": ["--layout-model", "none"],
}
FIELDS = ("speedup", "speedup_interval", "candidates", "failed", "rejected", "seconds", "verified")


def paying_programs(folder: Path) -> list[Program]:
    """Those of data/programs.json and those that short_axes.py wrote."""
    listed = {row["name"]: row for row in json.loads((ROOT / "data" / "programs.json").read_text())}
    found = [
        Program(name, "test", ROOT / "data" / listed[name]["file"], listed[name].get("weights", "")) for name in PAYING
    ]
    return found + [Program(name, "test", folder / f"{name}.mlir", "") for name in PAYING_SHORT]


def measure(row: dict, program: Program, options: argparse.Namespace) -> None:
    arguments = ["tune", program.path, "--threads", 1, *WAYS[row["way"]]]
    arguments += ["--budget", row["budget"], "--seed", row["seed"], "--quiet", *isa_words(options)]
    if program.weights:
        arguments += ["--weights", program.weights]
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        try:
            # A separate database, so that runs do not share results.
            answer = call_hone(options.hone, [*arguments, "--db", f"{folder}/o.db", "-o", f"{folder}/o.hone"], 1800)
        except (HoneError, OSError) as error:
            row["error"] = str(error)
            return
    row.update({field: answer[field] for field in FIELDS}, decisions=len(answer["decisions"]))
    row["layouts"] = answer["decisions"].get("layout", {})


def cell(row: dict) -> str:
    low, high = row["speedup_interval"]
    gain = f"{row['speedup']:.3f} [{low:.3f}, {high:.3f}]" if row["decisions"] else "1"
    return f"{gain} ({row['candidates']})"


def table(rows: list[dict], ways: list[str]) -> str:
    found = {tuple(row[key] for key in KEYS): row for row in rows if "error" not in row}
    runs = sorted({(name, budget, seed) for name, _, budget, seed in found})
    lines, gains = [], {way: [] for way in ways}
    for name, budget, seed in runs:
        of_run = [found.get((name, way, budget, seed)) for way in ways]
        lines.append([name, *(cell(row) if row else "-" for row in of_run)])
        if all(of_run):
            for way, row in zip(ways, of_run, strict=True):
                gains[way].append(row["speedup"])
    complete = len(next(iter(gains.values())))
    if complete:
        lines.append([f"geometric mean ({complete})", *(f"{geometric_mean(gains[way]):.4f}" for way in ways)])
    text = markdown_table(["test program", *(f"{way} (candidates)" for way in ways)], lines)
    bad = [row for row in rows if row.get("rejected")]
    return text + f"\nCandidates with other outputs, never returned: {sum(row['rejected'] for row in bad)}.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "layout")
    parser.set_defaults(split=ROOT / "data" / "splits" / "layout.txt")
    parser.add_argument("--budget", default="60s", help="of each search (default 60s)")
    parser.add_argument("--ways", default="ranked,random,greedy", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--paying", type=Path, help="in place of a split: the programs where layouts pay; folder of short_axes.py"
    )
    options = parser.parse_args()
    check_options(parser, options)
    ways = options.ways.split(",")
    if unknown := [way for way in ways if way not in WAYS]:
        parser.error(f"no such way: {unknown[0]}; {', '.join(WAYS)}")
    chosen = paying_programs(options.paying) if options.paying else test_programs(options)
    programs = {program.name: program for program in chosen}
    if not programs:
        print("no program to measure", file=sys.stderr)
        return 2
    jobs = [
        {"name": name, "way": way, "budget": options.budget, "seed": options.seed} for name in programs for way in ways
    ]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, programs[row["name"]], options), options)
    text = head("Layouts inside hone tune", rows, len(jobs), options.max_isa) + table(rows, ways)
    return finish(text + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
