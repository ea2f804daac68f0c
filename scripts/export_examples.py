#!/usr/bin/env python3
"""Writes the example programs as StableHLO text (examples/NAME.mlir) and their list (examples/examples.json).

The weights are the first parameters of each program; `weights` in the list names them as `hone tune --weights` takes
them, empty where they change from call to call. With --time each program also runs under JAX on one core.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

EXAMPLES_DIR = Path(__file__).resolve().parent.parent / "examples"
MAX_BYTES = 200_000

# One thread, and no accelerator: the text must not depend on the machine it is written on.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from example_programs import EXAMPLES, Program  # noqa: E402


def export(name: str, program: Program) -> str:
    """StableHLO text of the program; the weights are its first parameters."""

    def function(weights, *inputs):
        return program.function(weights, *inputs)

    function.__name__ = name
    text = jax.jit(function, keep_unused=True).lower(program.weights, *program.inputs).as_text()
    if len(text) > MAX_BYTES:
        raise SystemExit(f"{name}: {len(text)} bytes of text, at most {MAX_BYTES}: is an array a constant?")
    return text


def random_values(shapes, generator: np.random.Generator):
    def value(shape):
        if np.issubdtype(shape.dtype, np.integer):
            return generator.integers(0, 2, shape.shape).astype(shape.dtype)
        return np.abs(generator.standard_normal(shape.shape)).astype(shape.dtype) * 0.1

    return jax.tree.map(value, shapes)


def time_ms(program: Program) -> float:
    """Best of 20 runs under JAX, and a check that the outputs are finite."""
    generator = np.random.default_rng(0)
    weights = jax.device_put(random_values(program.weights, generator))
    inputs = jax.device_put(random_values(program.inputs, generator))
    run = jax.jit(program.function)
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(run(weights, *inputs))):
        raise SystemExit(f"{program.function}: outputs are not finite")
    times = []
    for _ in range(20):
        start = time.perf_counter()
        jax.block_until_ready(run(weights, *inputs))
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=EXAMPLES_DIR, help="folder to write to")
    parser.add_argument("--time", action="store_true", help="also run each program under JAX on one core")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, (make, about) in EXAMPLES.items():
        program = make()
        text = export(name, program)
        (options.output / f"{name}.mlir").write_text(text)
        last = len(jax.tree.leaves(program.weights)) - 1
        weights = ("0" if last == 0 else f"0-{last}") if program.constant else ""
        rows.append({"name": name, "file": f"{name}.mlir", "weights": weights, "about": about})
        timing = f"  {time_ms(program):6.2f} ms" if options.time else ""
        print(f"{name:22} {len(text):7} bytes  weights {weights or '-':6}{timing}")
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    (options.output / "examples.json").write_text(f"[\n  {lines}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
