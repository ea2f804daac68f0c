#!/usr/bin/env python3
"""Compares the results of two builds: hone optimize, hone order and hone place on every example, with fixed seeds and
limits.

No limit depends on the clock. Prints one line for each command; exit status 1 when any differs in more than measured
times and the names of decisions."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Fields that depend on the clock, and paths.
VARYING = {"seconds", "output", "run_ns", "speedup", "speedup_interval", "cpu_seconds", "elapsed_seconds"}
NAMES = {"kernel": "codegen", "pass": "passes"}  # kinds of decisions before version 0.2


def settled(value, key=""):
    """Without fields that vary from run to run, with current names of kinds, and rewrites separate from libraries."""
    if isinstance(value, dict):
        out = {k: settled(v, k) for k, v in value.items() if k not in VARYING and not k.endswith(("_ms", "_s"))}
        if key == "decisions" and set(out) <= {
            *NAMES,
            *NAMES.values(),
            "fusion",
            "library",
            "rewrite",
            "weights",
            "option",
        }:
            flat = {}
            for kind, choices in out.items():
                name = NAMES.get(kind, kind)
                for what, choice in choices.items():
                    rewrite = name == "library" and what.startswith(("convolution:", "reduce-window:"))
                    flat[f"{'rewrite' if rewrite else name} {what}"] = choice
            return flat
        return out
    if isinstance(value, list):
        return [settled(v) for v in value]
    return value


def run(build: Path, arguments: list[str]):
    done = subprocess.run([str(build / "hone"), *arguments, "--json", "-q"], capture_output=True, text=True)
    return settled(json.loads(done.stdout)) if done.stdout.startswith("{") else done.stderr


def commands(example: dict, examples: Path, folder: str):
    file, weights = str(examples / example["file"]), example.get("weights", "")
    constant = ["--weights", weights] if weights else []
    yield "optimize", ["optimize", file, *constant, "--no-verify", "--force", "-o", f"{folder}/p.hone"]
    yield (
        "order",
        ["order", file, "--strategy", "greedy", "--budget", "600s", "--max-applications", "400", "--seed", "0"],
    )
    yield "place", ["place", file, "--devices", "gpu2-nvlink", "--tasks", "placement,fusion", "--strategy", "anneal",
                    "--steps", "200", "--seed", "0"]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="build folder before the change")
    parser.add_argument("new", type=Path, help="build folder after it")
    parser.add_argument("--examples", type=Path, default=ROOT / "examples")
    options = parser.parse_args()
    differing = 0
    with tempfile.TemporaryDirectory(prefix="hone-compare-") as folder:
        for example in json.loads((options.examples / "examples.json").read_text()):
            for name, arguments in commands(example, options.examples, folder):
                old, new = run(options.old, arguments), run(options.new, arguments)
                differing += old != new
                print(f"{example['name']:32} {name:10} {'same' if old == new else 'DIFFERS'}", flush=True)
                if old != new:
                    print(f"  {json.dumps(old)[:600]}\n  {json.dumps(new)[:600]}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
