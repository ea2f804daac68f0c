#!/usr/bin/env python3
"""What one call of a tuned program computes: NumPy arrays in and out, and inside a jax.jit.

One process a measurement, calls one after the other on generated inputs; each result is dropped before the next call,
or with --keep after it. Times are computing times of the process. With several --build folders they take turns,
--rounds times; the table has the least and the median of all calls.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]


def inputs_of(program):
    from hone import arrays

    random = np.random.default_rng(0)
    values = [arrays.empty(spec.shape, spec.dtype) for spec in program.inputs]
    for value in values:
        value[...] = random.standard_normal(value.shape) * 0.1 if value.dtype.kind == "f" else 0
    return values


def times_ns(call, calls, keep):
    for _ in range(5):
        call()
    times, kept = [], []
    for _ in range(calls):
        start = time.process_time_ns()
        kept.append(call())
        del kept[: None if not keep else -1]
        times.append(time.process_time_ns() - start)
    return times


def measure(options):
    """One process: {"numpy": times, "jax": times}."""
    import hone

    tuned = hone.load(options.package, build=options.build[0])
    values = inputs_of(tuned._program)
    rows = {"numpy": times_ns(lambda: tuned._program.run(values), options.calls, options.keep)}
    try:
        import jax
    except ImportError:
        return rows
    inside, given = jax.jit(tuned.jax), [jax.device_put(value) for value in values]
    return rows | {"jax": times_ns(lambda: jax.block_until_ready(inside(*given)), options.calls, options.keep)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="a program with one argument per input")
    parser.add_argument("--build", type=Path, action="append", help="folder of libraries (default build/)")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="drop a result after the next call")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build = options.build or [ROOT / "build"]
    if options.one:
        print(json.dumps(measure(options)))
        return 0
    all_times = {}
    for _ in range(options.rounds):
        for build in options.build:
            words = [sys.executable, __file__, options.package, "--one", "--build", build]
            words += ["--calls", str(options.calls)]
            words += ["--keep"] * options.keep
            said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            for way, times in json.loads(said.splitlines()[-1]).items():
                all_times.setdefault((build, way), []).extend(times)
    print("| libraries | call | least | median |\n| --- | --- | ---: | ---: |")
    for (build, way), times in all_times.items():
        print(f"| {build} | {way} | {min(times) / 1e6:.2f} ms | {np.median(times) / 1e6:.2f} ms |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
