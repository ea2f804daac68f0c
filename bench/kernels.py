#!/usr/bin/env python3
"""The gain of tuning on single kernels: the geometric mean of the best verified ratio of each distinct kernel that the
tiled emitter takes, read from the database that bench/tune.py filled.

A kernel counts when default XLA needs more than --least-us for it and at least one of its tiles was timed. Its best is
the largest default/candidate ratio among its verified candidates, each candidate taken from its longest duel and only
if that had --rounds rounds or more (short duels screen candidates, and the best of many short ones is mostly noise).
Default XLA is a candidate too, so no kernel counts below 1.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from harness import ROOT, add_max_isa, commit, geometric_mean, machine, markdown_table, read_jsonl


@dataclass
class Kernel:
    """All records of one kernel at one thread count."""

    fingerprint: str
    baselines_ns: list[float] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)
    longest: dict[str, dict] = field(default_factory=dict)  # option -> its verified record of most rounds
    tiled: bool = False

    def add(self, record: dict) -> None:
        if record["baseline_ns"] > 0:
            self.baselines_ns.append(record["baseline_ns"])
        if record["decisions"] == "default":
            return
        self.statuses[record["status"]] += 1
        if record["status"] == "ok" and record["ratio"] > 0:
            self.tiled |= record["decisions"].startswith("tile=")
            known = self.longest.get(record["decisions"])
            if record["verified"] and (known is None or record["rounds"] >= known["rounds"]):
                self.longest[record["decisions"]] = record

    def default_us(self) -> float:
        return statistics.median(self.baselines_ns) / 1e3 if self.baselines_ns else 0

    def best(self, rounds: int) -> dict:
        """The fastest candidate whose duel was long enough; default XLA when none beats it."""
        default = {"decisions": "default", "ratio": 1.0, "ratio_low": 1.0, "rounds": 0}
        candidates = [record for record in self.longest.values() if record["rounds"] >= rounds]
        return max([default, *candidates], key=lambda record: record["ratio"])


def export(hone: Path, database: Path) -> list[dict]:
    run = subprocess.run([hone, "db", "export", "--db", database], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit((run.stderr.strip() or f"hone db export: exit code {run.returncode}").splitlines()[-1])
    return [json.loads(line) for line in run.stdout.splitlines()]


def kernels_of_set(path: Path, name: str) -> set[str]:
    """Fingerprints of all kernels of the programs of a set, from the raw rows of bench/tune.py."""
    return {kernel for row in read_jsonl(path) if name in ("all", row["set"]) for kernel in row.get("kernels", [])}


def limit_of(host: str) -> str | None:
    """The instruction set that measurements of this host were limited to; None = not."""
    return host.rpartition(", at most ")[2] if ", at most " in host else None


def collect(records: list[dict], wanted: set[str] | None, options: argparse.Namespace) -> list[Kernel]:
    kernels: dict[str, Kernel] = {}
    for record in records:
        fingerprint = record.get("kernel")
        if record.get("scope") != "kernel" or record["threads"] != options.threads:
            continue
        if limit_of(record["host"]) != options.max_isa:
            continue
        if wanted is None or fingerprint in wanted:
            kernels.setdefault(fingerprint, Kernel(fingerprint)).add(record)
    return list(kernels.values())


def mean_text(ratios: list[float]) -> str:
    return f"{geometric_mean(ratios):.3f}" if ratios else "-"


def summary(kernels: list[Kernel], counted: list[Kernel], options: argparse.Namespace) -> str:
    best = [kernel.best(options.rounds) for kernel in counted]
    statuses = sum((kernel.statuses for kernel in counted), Counter())
    faster = sum(record["ratio_low"] > 1 for record in best)
    with_tile = sum(record["decisions"].startswith("tile=") for record in best)
    lines = [
        ["distinct kernels measured", str(len(kernels))],
        ["of these timed with a tile", str(sum(kernel.tiled for kernel in kernels))],
        [f"of these above {options.least_us:g} us (counted)", str(len(counted))],
        ["candidates measured on them", str(statuses.total())],
        ["candidates by outcome", ", ".join(f"{name} {count}" for name, count in statuses.most_common()) or "-"],
        ["kernels faster beyond their interval", str(faster)],
        ["kernels whose best is a tile", str(with_tile)],
        ["kernels with no long enough duel (count as 1)", str(sum(not has_duel(k, options.rounds) for k in counted))],
        ["**geometric mean of the best ratio**", f"**{mean_text([r['ratio'] for r in best])}**"],
        ["of the interval's lower end", mean_text([max(1.0, r["ratio_low"]) for r in best])],
        ["of the best ratio, any length of duel", mean_text([k.best(1)["ratio"] for k in counted])],
    ]
    return markdown_table(["what", "value"], lines)


def has_duel(kernel: Kernel, rounds: int) -> bool:
    return any(record["rounds"] >= rounds for record in kernel.longest.values())


def top_table(counted: list[Kernel], options: argparse.Namespace) -> str:
    order = sorted(counted, key=lambda kernel: -kernel.best(options.rounds)["ratio"])
    lines = []
    for kernel in order[: options.top]:
        best = kernel.best(options.rounds)
        ratio = f"{best['ratio']:.3f}" + (
            f" [{best['ratio_low']:.3f}, {best['ratio_high']:.3f}]" if best["rounds"] else ""
        )
        tried = str(kernel.statuses.total())
        lines.append([kernel.fingerprint[:12], f"{kernel.default_us():.1f}", ratio, best["decisions"], tried])
    return markdown_table(["kernel", "default us", "best ratio", "option", "candidates"], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", type=Path, required=True, help="the tune database")
    parser.add_argument("--jsonl", type=Path, help="raw rows of bench/tune.py, which list the kernels of each program")
    parser.add_argument("--set", choices=["examples", "corpus", "all"], default="corpus", help="needs --jsonl")
    parser.add_argument("--threads", type=int, default=1)
    add_max_isa(parser)
    parser.add_argument("--least-us", type=float, default=5, help="kernels faster than this are left out")
    parser.add_argument("--rounds", type=int, default=20, help="rounds a duel must have to count (default 20)")
    parser.add_argument("--top", type=int, default=15, help="kernels to list")
    parser.add_argument("--out", type=Path, help="write here instead of to standard output")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    for path in filter(None, (options.db, options.jsonl)):
        if not path.exists():
            parser.error(f"{path}: no such file")
    wanted = kernels_of_set(options.jsonl, options.set) if options.jsonl else None
    kernels = collect(export(options.hone, options.db), wanted, options)
    counted = [kernel for kernel in kernels if kernel.tiled and kernel.default_us() > options.least_us]
    programs = f"the programs of the set {options.set}" if options.jsonl else "every program of the database"
    text = f"# Best verified ratio per kernel\n\n- Machine: {machine(options.max_isa)}\n- Commit: {commit()}\n"
    text += f"- Kernels of {programs}; threads: {options.threads}; duels of {options.rounds} rounds or more\n\n"
    text += summary(kernels, counted, options)
    if counted:
        text += "\n" + top_table(counted, options)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)
    else:
        print(text, end="")
    return 0 if counted else 1


if __name__ == "__main__":
    sys.exit(main())
