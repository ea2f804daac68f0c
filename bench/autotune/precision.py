#!/usr/bin/env python3
"""What `hone tune --precision` gains and costs, beside the same search at the program's own precision.

The programs are examples with declared weights and whole models of larger/; int8-weights is for those of a few rows.
"bf16 / tuned" is over a search of the same time at the original precision. Each program is one row of a JSONL file;
finished rows are not run again.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import export_larger, failures, finish, head, run_missing
from harness import ROOT, HoneError, call_hone, example_programs, geometric_mean, markdown_table, seconds_of

KEYS = ("name", "precision", "budget", "threads", "seed")
LARGER = ("bert_base", "gpt2", "vit_base", "llama_100m", "dlrm")
EXAMPLES = ("bert_encoder", "gpt_decode", "transformer_block", "llama_block", "mixer_block", "lstm_step")
LIMIT_S = 1800
FEW_ROWS = ("gpt_decode", "lstm_step", "llama_100m")


def program_of(name: str, folder: Path) -> tuple[Path, str]:
    """The program's file and which of its parameters are weights."""
    if name in EXAMPLES:
        program = next(program for program in example_programs() if program.name == name)
        return program.path, program.weights
    path = folder / f"{name}.mlir"
    return path, f"0-{export_larger(name, path) - 1}"


def measure(row: dict, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as work:
        try:
            path, weights = program_of(row["name"], Path(work))
            for kind, more in (("own", []), ("lowered", ["--precision", row["precision"]])):
                arguments = ["tune", path, "--weights", weights, "--budget", row["budget"], "--threads", row["threads"]]
                arguments += ["--seed", row["seed"], "--fresh", "--db", Path(work) / f"{kind}.db", *more]
                row[kind] = call_hone(options.hone, [*arguments, "-o", Path(work) / f"{kind}.hone"], LIMIT_S)
        except (HoneError, OSError) as error:
            row["error"] = " ".join(str(error).split())[:300]


def tables(rows: list[dict]) -> str:
    good = [row for row in rows if "error" not in row]
    if not good:
        return ""
    kind = good[0]["precision"]
    header = [
        "program",
        "default ms",
        "tuned",
        f"default {kind} / default",
        f"tuned {kind} / default",
        f"{kind} / tuned",
    ]
    header += ["mean error", "largest", "default's mean", "same argmax"]
    lines, gains, over = [], [], []
    for row in good:
        precision, own = row["lowered"]["precision"], row["own"]["speedup"]
        gains.append(precision["speedup"])
        over.append(precision["speedup"] / own)
        first = precision["outputs"][0]
        lowered = precision["original_ns"] / row["lowered"]["default_ns"]
        lines.append(
            [
                row["name"],
                f"{precision['original_ns'] / 1e6:.2f}",
                f"{own:.3f}",
                f"{lowered:.2f}",
                "{:.3f} [{:.3f}, {:.3f}]".format(precision["speedup"], *precision["speedup_interval"]),
                f"{over[-1]:.2f}",
                f"{first['mean_error']:.1e}",
                f"{first['largest_error']:.1e}",
                f"{first['default_mean_error']:.1e}",
                f"{100 * first['same_argmax']:.1f} %" if first["same_argmax"] >= 0 else "-",
            ]
        )
    means = f"{geometric_mean(gains):.3f} over default XLA on the original, {geometric_mean(over):.3f} over a search of"
    means += " the same time at the original precision"
    return markdown_table(header, lines) + f"\nGeometric means of {len(good)}: {means}. Errors: of the first output.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="of the programs, these (default: all)")
    parser.add_argument("--precision", default="bf16", choices=("bf16", "int8-weights"))
    parser.add_argument("--budget", default="30s", help="of each of the two searches (default 30s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--out", type=Path, help="the table in Markdown (default: only printed)")
    parser.add_argument("--jsonl", type=Path, default=ROOT / "build" / "bench" / "autotune-precision.jsonl")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    usual = [*EXAMPLES, *LARGER] if options.precision == "bf16" else FEW_ROWS
    names = options.only.split(",") if options.only else usual
    unknown = set(names) - {*EXAMPLES, *LARGER}
    if unknown:
        parser.error(f"--only: unknown programs: {', '.join(sorted(unknown))}")
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    seconds_of(options.budget)
    shared = {
        "precision": options.precision,
        "budget": options.budget,
        "threads": options.threads,
        "seed": options.seed,
    }
    jobs = [{"name": name, **shared} for name in names]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, options), options)
    text = head("Lower precision", rows, len(jobs)) + tables(rows) + failures(rows, KEYS)
    return finish(text, options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
