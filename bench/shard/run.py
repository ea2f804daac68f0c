#!/usr/bin/env python3
"""Shardings on host devices: is the faster of data- and tensor-parallel predicted, and is the order of all rows?

    bench/shard/run.py --out build/shard

For every program `hone shard --mesh 2 --run` divides it by the usual rules and by a search, runs them on two host
devices of one thread each, beside one device with one and with two threads, all taking turns, and compares their
outputs. Rows are stored in OUT/rows.jsonl, so a stopped run can be continued. Writes OUT/report.md: times of all rows,
the choice between data- and tensor-parallel, and Kendall's tau of predicted and measured times within each program.
Needs a quiet machine.
"""

import argparse
import itertools
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness

RULES = ("replicated", "data-parallel", "tensor-parallel", "fully-sharded")
ANSWER = "greedy"
# Training steps, encoders, decoders, perceptrons and recommenders, with batches of 1 and more; chosen before any run,
# the last four when programs of batch 1 were no choice between data- and tensor-parallel any more.
PROGRAMS = (
    "train_mlp_b256", "train_contrastive_b64", "train_gpt_b8", "train_bert_b4", "train_vit_b4", "bert_small_b1",
    "bert_small_b4", "gpt2_b1", "gpt2_b4", "llama_b1", "llama_b4", "mlp_mixer_b4", "vit_small_b4", "auto_rec_b256",
    "dinov2_b4", "conformer_b4", "deep_cross_b128", "interest_network_b256",
)  # fmt: skip
LEVEL = 0.03  # two shardings whose measured times differ by less are level: either choice is right


def ask(name: str, options: argparse.Namespace) -> dict:
    path = harness.ROOT / "data" / "programs" / f"{name}.mlir.gz"
    command = [
        "shard",
        path,
        "--mesh",
        options.mesh,
        "--steps",
        options.steps,
        "--threads",
        options.threads,
        "--run",
        "-q",
    ]
    if not options.products:
        command.append("--no-products")
    answer = harness.call_hone(options.hone, command, options.timeout)
    return {
        "program": name,
        "mesh": options.mesh,
        "one_device": answer["one_device"],
        "measured": answer["measured"],
        "search": answer["search"],
        "table": answer["table"],
        "answer": answer["answer"],
        "arguments": [a for a in answer["arguments"] if any(a["spec"])],
    }


def kendall(pairs: list[tuple[float, float]]) -> float:
    """Tau-a of (predicted, measured); NaN of fewer than two."""
    signs = [
        math.copysign(1, (a[0] - b[0]) * (a[1] - b[1])) if a[0] != b[0] and a[1] != b[1] else 0
        for a, b in itertools.combinations(pairs, 2)
    ]
    return sum(signs) / len(signs) if signs else math.nan


def measured_rows(row: dict) -> dict[str, dict]:
    return {r["name"]: r for r in row["table"] if r["measured"] and r["measured"]["outcome"] == "ok"}


def pairs_of(row: dict) -> list[tuple[float, float]]:
    """Predicted and measured times; an answer that is one of the rules counts once."""
    return sorted({(r["seconds"], r["measured"]["seconds"]) for r in measured_rows(row).values()})


def better_of_two(row: dict) -> tuple[str, str, str]:
    """Which of data- and tensor-parallel is predicted and measured to be faster, and whether the choice is right."""
    rows = {n: r for n, r in measured_rows(row).items() if n in ("data-parallel", "tensor-parallel")}
    if len(rows) < 2:
        return ("only " + next(iter(rows)), "-", "-") if rows else ("-", "-", "-")
    predicted = min(rows, key=lambda n: rows[n]["seconds"])
    measured = min(rows, key=lambda n: rows[n]["measured"]["seconds"])
    lost = rows[predicted]["measured"]["seconds"] / rows[measured]["measured"]["seconds"] - 1
    return predicted, measured, "yes" if predicted == measured else "level" if lost < LEVEL else f"no ({lost:+.0%})"


def time_table(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        one, measured = row["measured"], measured_rows(row)
        cells = [row["program"], f"{one['one_thread_seconds'] * 1e3:.1f}", f"{one['all_threads_seconds'] * 1e3:.1f}"]
        for name in (*RULES, ANSWER):
            r = measured.get(name)
            cells.append(f"{r['measured']['seconds'] * 1e3:.1f} ({r['seconds'] * 1e3:.1f})" if r else "-")
        lines.append(cells)
    return harness.markdown_table(["program", "one thread", "all threads", *RULES, "answer"], lines)


def gain_table(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        measured = measured_rows(row)
        predicted, best, right = better_of_two(row)
        answer = measured.get(ANSWER)
        cells = [row["program"], predicted, best, right, f"{kendall(pairs_of(row)):.2f}"]
        if answer:
            rules = [measured[n]["measured"]["seconds"] for n in RULES if n in measured]
            m = answer["measured"]
            cells += [f"{min(rules) / m['seconds']:.3f}", f"{m['to_one_thread']['ratio']:.3f}"]
            cells += [f"{m['to_all_threads']['ratio']:.3f}" if m["to_all_threads"] else "-"]
        else:
            cells += ["-"] * 3
        lines.append(cells)
    header = ["program", "predicted", "measured", "right", "tau", "answer / best rule", "/ one thread", "/ all threads"]
    return harness.markdown_table(header, lines)


def summary(rows: list[dict]) -> str:
    choices = [better_of_two(row)[2] for row in rows]
    right = sum(c in ("yes", "level") for c in choices)
    taus, ratios, outcomes = [], [], []
    for row in rows:
        pairs = pairs_of(row)
        if len(pairs) > 1:
            taus.append(kendall(pairs))
        ratios += [p / m for p, m in pairs]
        outcomes += [r["measured"]["outcome"] for r in row["table"] if r["measured"]]
    answers = [measured_rows(row).get(ANSWER) for row in rows]
    faster = [a["measured"]["to_all_threads"]["ratio"] for a in answers if a and a["measured"]["to_all_threads"]]
    once = [a["measured"]["to_one_thread"]["ratio"] for a in answers if a]
    both = sum(c != "-" for c in choices)
    return (
        f"The choice between data- and tensor-parallel is right for {right} of {both} programs that have both "
        f"(level: less than {LEVEL:.0%} apart). Kendall's tau within a program: mean {statistics.fmean(taus):.2f}. "
        f"Predicted over measured: median {statistics.median(ratios):.2f}. "
        f"Outputs equal to one device's: {outcomes.count('ok')} of {len(outcomes)}. "
        f"The answer is {harness.geometric_mean(once):.3f} times as fast as one device with one thread and "
        f"{harness.geometric_mean(faster):.3f} times as fast as one with all (geometric means).\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for rows.jsonl and report.md")
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--mesh", default="2")
    parser.add_argument("--threads", type=int, default=2, help="of one device with all threads (default 2)")
    parser.add_argument("--steps", type=int, default=30, help="shardings that the search evaluates (default 30)")
    parser.add_argument("--products", action="store_true", help="also decide about products")
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, help="names in data/programs")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one program")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "rows.jsonl"
    known = {row["program"] for row in harness.read_jsonl(store)}
    failed = []
    for name in options.programs:
        if name in known:
            continue
        try:
            harness.append_row(store, ask(name, options))
        except harness.HoneError as error:
            failed.append(f"{name}: {error}")
            print(failed[-1], file=sys.stderr)
    rows = [row for row in harness.read_jsonl(store) if row["program"] in options.programs]
    text = f"{harness.machine()}, commit {harness.commit()}\n\nTimes in ms, in brackets as predicted.\n\n"
    text += f"{time_table(rows)}\n"
    text += f"{gain_table(rows)}\n{summary(rows)}" + "".join(f"\nfailed: {line}" for line in failed)
    (options.out / "report.md").write_text(text)
    print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
