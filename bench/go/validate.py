#!/usr/bin/env python3
"""The simulator against this machine: simulated and measured run times of real programs on one core under XLA:CPU,
and of fusion plans of each program: XLA's own, none, and random ones.

    bench/go/validate.py --out build/validate --randoms 5 --programs 20

Runs `hone place PROGRAM --devices cpu1 --tasks fusion --strategy xla-fusion --measure` for every program, then asks for
the simulated times of the same plans under the other cost sources. Answers are stored in OUT/rows.jsonl, so a stopped
run can be continued. Writes OUT/report.md."""

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness

COSTS = ("roofline", "predicted", "measured")
NOTICED = 1.05  # a ratio of run times beyond this is not noise


def pearson(a: list[float], b: list[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return covariance / spread if spread else math.nan


def kendall(a: list[float], b: list[float]) -> float:
    """Tau-b: pairs in the same order less pairs in the other, ties left out of both."""
    agree = ties_a = ties_b = pairs = 0
    for i in range(len(a)):
        for j in range(i):
            pairs += 1
            sign = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
            agree += sign[0] * sign[1]
            ties_a += sign[0] == 0
            ties_b += sign[1] == 0
    scale = math.sqrt((pairs - ties_a) * (pairs - ties_b))
    return agree / scale if scale else math.nan


def ask(hone: Path, program: harness.Program, options: argparse.Namespace, extra: list[str]) -> dict:
    command = ["place", program.path, "--devices", "cpu1", "--tasks", "fusion", "--strategy", "xla-fusion", "-q"]
    command += ["--randoms", options.randoms, "--seed", options.seed, *extra]
    command += harness.isa_words(options)
    if program.weights:
        command += ["--weights", program.weights]
    return harness.call_hone(hone, command, options.timeout)


def measure(hone: Path, program: harness.Program, options: argparse.Namespace) -> dict:
    """One row: the measured seconds of every plan, and the simulated ones by cost source."""
    known = options.known.get(program.name)
    answer = ask(hone, program, options, [] if known else ["--measure"])
    row = {"program": program.name, "set": program.set, "operations": answer["operations"], "plans": {}}
    for line in answer["table"]:
        measured = line.get("measured", {"outcome": "not measured", "seconds": 0, "ratio": 0})
        row["plans"][line["strategy"]] = {
            "outcome": measured["outcome"],
            "seconds": measured["seconds"],
            "ratio": measured["ratio"],
            "kernels": line["kernels"],
            "roofline": line["step_seconds"],
        }
    row["default_seconds"] = known or answer["table"][0]["measured"]["default_seconds"]
    for costs in options.costs[1:]:
        try:
            for line in ask(hone, program, options, ["--costs", costs])["table"]:
                row["plans"][line["strategy"]][costs] = line["step_seconds"]
        except harness.HoneError as error:
            row[costs + "_error"] = str(error)
    return row


def plans_of(row: dict, costs: str) -> list[tuple[float, float]]:
    """(simulated seconds, measured seconds relative to default XLA) of the plans that ran."""
    found = []
    for plan in row["plans"].values():
        if plan["outcome"] == "ok" and plan["ratio"] > 0 and costs in plan:
            found.append((plan[costs], 1 / plan["ratio"]))
    return found


def whole_programs(rows: list[dict]) -> list[str]:
    lines = [
        "| costs | programs | Pearson | Pearson of logarithms | Kendall | median simulated/measured | "
        "median error once scaled |",
        "|---|---|---|---|---|---|---|",
    ]
    for costs in COSTS:
        pairs = [
            (row["plans"]["default"][costs], row["default_seconds"])
            for row in rows
            if costs in row["plans"]["default"] and row["default_seconds"] > 0
        ]
        if len(pairs) < 3:
            continue
        simulated, measured = [p[0] for p in pairs], [p[1] for p in pairs]
        logs = [[math.log(x) for x in values] for values in (simulated, measured)]
        ratios = sorted(s / m for s, m in pairs)
        middle = ratios[len(ratios) // 2]
        errors = sorted(abs(r / middle - 1) for r in ratios)
        lines.append(
            f"| {costs} | {len(pairs)} | {pearson(simulated, measured):.3f} | {pearson(*logs):.3f} | "
            f"{kendall(simulated, measured):.3f} | {middle:.2f} | {100 * errors[len(errors) // 2]:.0f} % |"
        )
    return lines


def fusion_plans(rows: list[dict]) -> list[str]:
    lines = [
        "| costs | programs | plans | mean Kendall per program | looks faster than default, measures slower | "
        "of those that look faster |",
        "|---|---|---|---|---|---|",
    ]
    for costs in COSTS:
        taus, plans, wrong, promising = [], 0, 0, 0
        for row in rows:
            pairs = plans_of(row, costs)
            if len(pairs) < 3:
                continue
            plans += len(pairs)
            tau = kendall([p[0] for p in pairs], [p[1] for p in pairs])
            if not math.isnan(tau):
                taus.append(tau)
            by_default = row["plans"]["default"][costs]
            for simulated, measured in pairs:
                if simulated * NOTICED < by_default:
                    promising += 1
                    wrong += measured > NOTICED
        if taus:
            lines.append(f"| {costs} | {len(taus)} | {plans} | {sum(taus) / len(taus):.3f} | {wrong} | {promising} |")
    return lines


def per_program(rows: list[dict]) -> list[str]:
    lines = [
        "| program | operations | default measured | roofline | predicted | measured costs | random plans, measured / "
        "default | Kendall of plans (roofline / predicted / measured) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        default = row["plans"]["default"]
        times = [f"{1e3 * default[c]:.3f}" if c in default else "-" for c in COSTS]
        randoms = [
            1 / plan["ratio"]
            for name, plan in row["plans"].items()
            if name.startswith("random") and plan["outcome"] == "ok" and plan["ratio"] > 0
        ]
        span = f"{min(randoms):.2f} to {max(randoms):.2f}" if randoms else "-"
        taus = []
        for costs in COSTS:
            pairs = plans_of(row, costs)
            taus.append(f"{kendall([p[0] for p in pairs], [p[1] for p in pairs]):.2f}" if len(pairs) > 2 else "-")
        lines.append(
            f"| {row['program']} | {row['operations']} | {1e3 * row['default_seconds']:.3f} ms | {' | '.join(times)} | "
            f"{span} | {' / '.join(taus)} |"
        )
    return lines


def report(rows: list[dict], options: argparse.Namespace) -> str:
    parts = [
        "# The simulator against this machine",
        f"`bench/go/validate.py --randoms {options.randoms} --seed {options.seed}`: {len(rows)} programs, one core of "
        f"{harness.machine(options.max_isa)}; commit {harness.commit()}.",
        "## Default XLA: simulated and measured run time over programs",
        "\n".join(whole_programs(rows)),
        "## Fusion plans of one program: simulated and measured order",
        "\n".join(fusion_plans(rows)) if any(plans_of(row, "roofline") for row in rows) else "Not measured.",
        "## Per program (milliseconds)",
        "\n".join(per_program(rows)),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--out", type=Path, default=harness.ROOT / "build" / "validate")
    parser.add_argument("--corpus", type=Path, default=harness.CORPUS)
    parser.add_argument("--programs", type=int, default=0, help="so many at most, examples first (default: all)")
    parser.add_argument("--only", nargs="+", help="names of programs")
    parser.add_argument("--randoms", type=int, default=5, help="random fusion plans of each program")
    parser.add_argument("--seed", type=int, default=0)
    harness.add_max_isa(parser)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one call of hone")
    parser.add_argument(
        "--known",
        type=Path,
        nargs="*",
        default=[],
        help="rows of bench/tune.py: run times of default XLA that need not be measured again; no fusion plans then",
    )
    parser.add_argument("--costs", nargs="+", choices=COSTS, default=list(COSTS), help="roofline is always among them")
    options = parser.parse_args()
    rows_known = [row for path in options.known for row in harness.read_jsonl(path)]
    options.known = {
        row["name"]: 1e-9 * row["tune"]["default_ns"]
        for row in rows_known
        if "tune" in row and row.get("max_isa") == options.max_isa
    }
    programs = harness.example_programs() + harness.corpus_programs(options.corpus)
    if options.only:
        programs = [program for program in programs if program.name in options.only]
    if options.known:
        programs = [program for program in programs if program.name in options.known]
    if options.programs:
        programs = programs[: options.programs]
    rows = harness.measure_programs(
        programs,
        harness.limited_file(options.out / "rows.jsonl", options.max_isa),
        lambda program: measure(options.hone, program, options),
        lambda row: f"{len(row['plans'])} plans",
    )
    if rows:
        harness.limited_file(options.out / "report.md", options.max_isa).write_text(report(rows, options))
        print(report(rows, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
