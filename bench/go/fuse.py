#!/usr/bin/env python3
"""Fusion by the graph policy on the real compiler: `hone go fuse` on the examples and the corpus.

    bench/go/fuse.py --out build/go/fuse --policy data/models/go/policy.safetensors --programs 20

For every program the policy proposes plans, the simulator selects the best, XLA:CPU compiles them, and each is measured
in duels against default XLA with outputs compared; a plan that is surely faster is confirmed in three processes, else
default XLA is the result. Answers are stored in OUT/rows.jsonl, so a stopped run can be continued. Writes
OUT/report.md."""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness


def ask(program: harness.Program, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = ["go", "fuse", program.path, "-o", Path(folder) / "out.hone", "--db", Path(folder) / "fuse.db", "-q"]
        command += ["--samples", options.samples, "--iterations", options.iterations, "--seed", options.seed]
        command += ["--candidates", options.candidates, "--budget", options.budget, "--costs", options.costs]
        command += harness.isa_words(options)
        if options.policy:
            command += ["--policy-file", options.policy]
        if program.weights:
            command += ["--weights", program.weights]
        answer = harness.call_hone(options.hone, command, options.timeout)
    return {
        "program": program.name,
        "set": program.set,
        "default_ns": answer["default_ns"],
        "speedup": answer["speedup"],
        "verified": answer["verified"],
        "fusion": answer["fusion"],
    }


def report(rows: list[dict], options: argparse.Namespace) -> str:
    lines, measured, promised, held = [], [], 0, 0
    kept = [row["speedup"] for row in rows]
    for row in rows:
        fusion = row["fusion"]
        head = [row["program"], f"{row['default_ns'] / 1e6:.3f} ms"]
        for plan in fusion["plans"]:
            simulated = fusion["default"]["simulated_seconds"] / plan["simulated_seconds"]
            duel = plan.get("measured", {"outcome": "not measured"})
            gain = duel["outcome"]
            if gain == "ok":
                measured.append(duel["ratio"])
                gain = f"{duel['ratio']:.3f} ({duel['interval'][0]:.3f} to {duel['interval'][1]:.3f})"
                promised += simulated > 1.01
                held += simulated > 1.01 and duel["ratio"] > 1
            kernels = f"{plan['simulated_kernels']} / {plan['kernels']} / {fusion['default']['kernels']}"
            lines.append([*head, f"{simulated:.3f}", kernels, gain, f"{row['speedup']:.3f}" if head[0] else ""])
            head = ["", ""]
        if not fusion["plans"]:
            lines.append([*head, "no other plan", "", "", f"{row['speedup']:.3f}"])
    columns = ["program", "default", "simulated gain", "kernels simulated / XLA's / default's", "measured gain", "kept"]
    parts = [
        "# Fusion by the graph policy on XLA:CPU",
        f"`bench/go/fuse.py --samples {options.samples} --candidates {options.candidates} --costs {options.costs} "
        f"--seed {options.seed}`, one core of {harness.machine(options.max_isa)}; commit {harness.commit()}.",
        f"{len(rows)} programs: geometric mean {harness.geometric_mean(kept):.3f} times the speed of default XLA, "
        f"which stays where nothing is surely faster ({sum(k > 1 for k in kept)} programs gain). {len(measured)} plans "
        f"measured, geometric mean {harness.geometric_mean(measured):.3f}; of {promised} that the simulator calls more "
        f"than 1 % faster, {held} are faster.",
        harness.markdown_table(columns, lines),
    ]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--out", type=Path, default=harness.ROOT / "build" / "go" / "fuse")
    parser.add_argument("--corpus", type=Path, default=harness.CORPUS)
    parser.add_argument("--policy", type=Path, help="default: the shipped one")
    parser.add_argument("--programs", type=int, default=0, help="so many at most, examples first (default: all)")
    parser.add_argument("--only", nargs="+", help="names of programs")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=0, help="of training on each program")
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--costs", default="roofline")
    parser.add_argument("--budget", default="20s", help="of the measurements of one program")
    parser.add_argument("--seed", type=int, default=0)
    harness.add_max_isa(parser)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one call of hone")
    options = parser.parse_args()
    programs = harness.example_programs() + harness.corpus_programs(options.corpus)
    if options.only:
        programs = [program for program in programs if program.name in options.only]
    if options.programs:
        programs = programs[: options.programs]
    rows = harness.measure_programs(
        programs,
        harness.limited_file(options.out / "rows.jsonl", options.max_isa),
        lambda program: ask(program, options),
        lambda row: f"{row['speedup']:.3f}x, {len(row['fusion']['plans'])} plans",
    )
    if rows:
        harness.limited_file(options.out / "report.md", options.max_isa).write_text(report(rows, options))
        print(report(rows, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
