#!/usr/bin/env python3
"""What an all-reduce of two host devices costs, by its bytes and by the number of arrays that XLA combined into one.

    bench/shard/exchange.py --out build/exchange

Each program sums K arrays [2, N] over their first dimension, which `hone shard --mesh 2 --run` divides: each device has
a row of every array, and all it does is exchange them in one combined all-reduce. The control negates the same arrays
where they lie. Rows go to OUT/rows.jsonl; prints both times, their difference, and the predicted exchange.
Needs two quiet cores.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness

KIB = 1024
CASES = [(k, kib * KIB) for kib in (64, 2048, 8192) for k in (1, 4, 16, 64)]  # arrays, bytes in all

ADD = "HloModule exchange\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }"


def program(arrays: int, total: int, exchanges: bool) -> str:
    n = total // arrays // 4
    lines = [ADD, "ENTRY main {", "  zero = f32[] constant(0)"]
    for i in range(arrays):
        lines.append(f"  p{i} = f32[2,{n}] parameter({i})")
        if exchanges:
            lines.append(f"  r{i} = f32[{n}] reduce(p{i}, zero), dimensions={{0}}, to_apply=add")
        else:
            lines.append(f"  r{i} = f32[2,{n}] negate(p{i})")
    shape = f"f32[{n}]" if exchanges else f"f32[2,{n}]"
    results = ", ".join(f"r{i}" for i in range(arrays))
    lines.append(f"  ROOT all = ({', '.join([shape] * arrays)}) tuple({results})")
    return "\n".join([*lines, "}"])


def ask(options: argparse.Namespace, arrays: int, total: int, exchanges: bool) -> dict:
    path = options.out / "program.hlo"
    path.write_text(program(arrays, total, exchanges))
    command = ["shard", path, "--mesh", "2", "--steps", "1", "--threads", "1", "--no-products", "--run", "-q"]
    answer = harness.call_hone(options.hone, command, 600)
    row = next(r for r in answer["table"] if r["name"] == "data-parallel")
    return {
        "arrays": arrays,
        "bytes": total,
        "exchanges": exchanges,
        "collectives": row["collectives"],
        "collective_seconds": row["collective_seconds"],
        "measured": row["measured"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for rows.jsonl")
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = []
    for arrays, total in CASES:
        both = [ask(options, arrays, total, exchanges) for exchanges in (True, False)]
        for row in both:
            harness.append_row(options.out / "rows.jsonl", row)
        one, control = (row["measured"]["seconds"] * 1e6 for row in both)
        predicted = both[0]["collective_seconds"] * 1e6
        numbers = [f"{total:,}", arrays, f"{one:.0f}", f"{control:.0f}", f"{one - control:.0f}", f"{predicted:.0f}"]
        lines.append([str(n) for n in numbers])
    header = ["bytes", "arrays", "all-reduce, us", "control, us", "difference", "predicted"]
    print(f"{harness.machine()}, commit {harness.commit()}\n\n{harness.markdown_table(header, lines)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
