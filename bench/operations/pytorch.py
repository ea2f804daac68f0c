#!/usr/bin/env python3
"""Single operations: default XLA and the result of `hone tune`, against PyTorch on the same inputs, one thread.

Each operation is tuned, then default XLA, the tuned program and PyTorch take turns in one process. One whose outputs
differ from default XLA's by more than the tolerance of their type is left out; random numbers are not compared. Each
operation is one row of a JSONL file; finished rows are not run again. Needs requirements-examples.txt and
requirements-gym.txt.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "autotune"))
from common import failures, finish, head, run_missing
from harness import (
    ROOT,
    HoneError,
    add_max_isa,
    call_hone,
    geometric_mean,
    isa_words,
    markdown_table,
    seconds_of,
)

KEYS = ("name", "seed", "budget", "without")
UNCOMPARED = ("normal 1M",)
LIMIT_S = 600
SLOWER = 1.2  # times PyTorch's time: more is counted


def measure(request: dict) -> dict:
    """In a process of its own: nanoseconds of each contender by turns, and how far outputs are from default XLA's."""
    import numpy as np
    import torch
    from frameworks_stages import Case, Contender, difference, interleave, make_default, make_tuned
    from hone import arrays
    from torch_operations import OPERATIONS
    from xla_operations import values_of

    class Single(Case):
        """The inputs of one operation instead of those of a model."""

        def __init__(self):
            self.request, self.folder, self.threads, self.constants = request, Path(request["folder"]), 1, 0
            self.package = self.folder / "tuned.hone"
            self.values = [self.aligned(value) for value in values_of(request["name"], request["seed"])]

        @staticmethod
        def aligned(value: np.ndarray) -> np.ndarray:
            """Else each call of a program would copy it."""
            copy = arrays.empty(value.shape, value.dtype)
            copy[...] = value
            return copy

    torch.set_num_threads(1)
    with torch.no_grad():
        case = Single()
        default, tuned = make_default(case), make_tuned(case)
        call = OPERATIONS[request["name"]](*[torch.from_numpy(value) for value in case.values])
        expected = [value.copy() for value in default.results(default.call())]
        errors = {"tuned": difference(expected, tuned.results(tuned.call()))}
        if request["name"] not in UNCOMPARED:
            errors["torch"] = difference(expected, [call().contiguous().numpy()])
        contenders = {"default": default, "tuned": tuned, "torch": Contender(call, lambda out: [out.numpy()])}
        times = interleave(contenders, request["rounds"], time.perf_counter_ns)
    least = {name: float(values.min()) for name, values in times.items()}
    return {"ns": least, "differences": errors}


def measure_apart(request: dict) -> dict:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", json.dumps(request)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False)
    try:
        return json.loads(run.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        last = run.stderr.strip().splitlines()[-1:] or ["no output"]
        raise HoneError(f"measuring: exit code {run.returncode}: {last[0][:300]}") from None


def run(row: dict, options: argparse.Namespace) -> None:
    from xla_operations import text_of

    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        program, package = Path(folder) / "program.mlir", Path(folder) / "tuned.hone"
        program.write_text(text_of(row["name"]))
        arguments = ["tune", program, "--budget", row["budget"], "--threads", 1, "--seed", row["seed"]]
        arguments += ["-o", package, "--force", "--db", options.db, *isa_words(options)]
        arguments += [f"--no-{part}" for part in row["without"].split(",") if part]
        try:
            tuned = call_hone(options.hone, arguments, LIMIT_S)
            row["speedup"], row["verified"] = tuned["speedup"], tuned["verified"]
            decisions = json.loads((package / "decisions.json").read_text())["decisions"]
            row["decisions"] = [f"{d['kind']} {d['key']}={d['value']}" for d in decisions]
            request = {key: row[key] for key in ("name", "seed")} | {"folder": folder, "rounds": options.rounds}
            row |= measure_apart(request | {"build": str(options.hone.parent)})
        except (HoneError, OSError, subprocess.TimeoutExpired) as error:
            row["error"] = " ".join(str(error).split())[:300]


def table(rows: list[dict]) -> str:
    lines, ratios = [], {"default": [], "tuned": []}
    for row in sorted((r for r in rows if "ns" in r), key=lambda r: -r["ns"]["tuned"] / r["ns"]["torch"]):
        ns = row["ns"]
        over = {name: ns[name] / ns["torch"] for name in ratios}
        for name, values in ratios.items():
            values.append(over[name])
        wrong = [name for name, value in row["differences"].items() if value > 1]
        note = "differs: " + ", ".join(wrong) if wrong else ""
        microseconds = [f"{ns[name] / 1e3:.0f}" for name in ("default", "tuned", "torch")]
        lines.append([row["name"], *microseconds, f"{over['default']:.2f}", f"{over['tuned']:.2f}", note])
    header = ["operation", "default us", "tuned us", "PyTorch us", "default / PyTorch", "tuned / PyTorch", ""]
    text = markdown_table(header, lines) + "\n"
    for name, values in ratios.items():
        slower = sum(value > SLOWER for value in values)
        text += (
            f"{name.capitalize()} over PyTorch: geometric mean {geometric_mean(values):.3f}, "
            f"{slower} of {len(values)} more than {SLOWER} times as long.\n"
        )
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="20s", help="of each search (default 20s)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of the comparison (default 15)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="operations whose name contains it")
    parser.add_argument("--without", default="", metavar="PARTS", help="a control, as for bench/tune.py")
    parser.add_argument("--jsonl", type=Path, default=ROOT / "build" / "bench" / "pytorch-operations.jsonl")
    parser.add_argument("--db", type=Path, help="the tune database (default: beside the raw rows)")
    parser.add_argument("--out", type=Path, help="the table in Markdown (default: only printed)")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--measure", metavar="REQUEST", help=argparse.SUPPRESS)
    add_max_isa(parser)
    options = parser.parse_args()
    if options.measure:
        warnings.filterwarnings("ignore")
        print(json.dumps(measure(json.loads(options.measure))))
        return 0
    seconds_of(options.budget)
    options.db = options.db or options.jsonl.with_suffix(".db")
    from xla_operations import OPERATIONS

    jobs = [
        {"name": name, "seed": options.seed, "budget": options.budget, "without": options.without}
        for name in OPERATIONS
        if options.only in name
    ]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: run(row, options), options)
    text = head("Single operations", rows, len(jobs), options.max_isa) + table(rows) + failures(rows, KEYS)
    return finish(text, options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
