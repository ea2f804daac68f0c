#!/usr/bin/env python3
"""Where the outputs of a divided program differ from one device's, and whether either is nearer to f64.

    bench/shard/differences.py train_bert_b4 --set 28=0 --out build/differences

Runs a program of data/programs with JAX: on one host device in f32 and in f64, on two devices with all parameters
replicated, and on two with the shardings that `hone shard --mesh 2` answers. Prints, for the outputs that differ most,
the largest difference in units of the tolerance of `hone shard --run` (1024 units of f32, relative to an output's root
mean square) and how many elements are beyond it. Inputs are seeded; `--set N=VALUE` gives a scalar parameter a value.
Writes OUT/rows.jsonl and OUT/inputs.npz, which `hone shard --run --inputs` takes. Needs the package jax.
"""

import argparse
import gzip
import os
import re
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness
import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

TOLERANCE = 1024 * 2.0**-23
TYPES = {"f32": np.float32, "i32": np.int32, "i1": np.bool_}
INTEGERS = 2000  # below the sizes of the tables that the training steps look up


def signature(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Types of the parameters; types and names of the results."""
    whole = re.search(r"func.func public @main\((.*?)\) -> \((.*?)\) \{\n", text, re.DOTALL)
    parameters = re.findall(r"%arg\d+: tensor<([^>]*)>", whole[1])
    return parameters, re.findall(r'tensor<([^>]*)> \{jax.result_info = "([^"]*)"\}', whole[2])


def inputs_for(parameters: list[str], values: dict[int, int], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    out = []
    for number, text in enumerate(parameters):
        *sizes, kind = text.split("x")
        dims = [int(size) for size in sizes]
        if not dims:
            out.append(np.array(values.get(number, 0), TYPES[kind]))
        elif kind == "f32":
            scale = 0.5 if len(dims) < 2 else 1 / np.sqrt(dims[0])
            out.append((rng.standard_normal(dims) * scale).astype(np.float32))
        else:
            out.append(rng.integers(0, 2 if kind == "i1" else INTEGERS, dims).astype(TYPES[kind]))
    return out


def in_f64(text: str) -> str:
    text = text.replace("xf32>", "xf64>").replace("tensor<f32>", "tensor<f64>")
    return text.replace("0x7FC00000", "0x7FF8000000000000").replace("0xFF800000", "0xFFF0000000000000")


def run(text: str, inputs: list[np.ndarray], arguments: list[dict] | None = None) -> list[np.ndarray]:
    """Outputs on one device, or on two with `arguments` of an answer of hone shard."""
    devices = jax.devices("cpu")[: 2 if arguments else 1]
    for a in arguments or []:
        sharding = f' {{mhlo.sharding = "{a["sharding"]}"}}'
        text = re.sub(rf"(%arg{a['number']}: tensor<[^>]*>)([,)])", rf"\1{sharding}\2", text, count=1)
    text = text.replace("mhlo.num_partitions = 1", f"mhlo.num_partitions = {len(devices)}", 1)
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
    client = devices[0].client
    options = compiler.get_compile_options(1, len(devices))
    build = options.executable_build_options
    build.use_spmd_partitioning = len(devices) > 1
    build.use_shardy_partitioner = False
    build.allow_spmd_sharding_propagation_to_output = [True]
    placed = xla_client.DeviceList(tuple(client.local_devices()[: len(devices)]))
    executable = compiler.backend_compile_and_load(client, module, placed, options, [])
    mesh = Mesh(np.array(devices), ("x",))
    buffers = []
    for number, array in enumerate(inputs):
        spec = arguments[number]["spec"] if arguments else []
        buffers.append(jax.device_put(array, NamedSharding(mesh, PartitionSpec(*spec)) if arguments else devices[0]))
    outputs = []
    shardings = executable.get_output_shardings() or []
    for i, parts in enumerate(executable.execute_sharded(buffers).disassemble_into_single_device_arrays()):
        arrays = [np.asarray(part) for part in parts]
        tiles = re.findall(r"tile_assignment_dimensions: (\d+)", str(shardings[i])) if arguments else []
        divided = [d for d, count in enumerate(tiles) if int(count) > 1]
        outputs.append(np.concatenate(arrays, axis=divided[0]) if divided else arrays[0])
    return outputs


def differences(name: str, results: list[tuple[str, str]], one: list, other: list) -> list[dict]:
    rows = []
    for (kind, result), a, b in zip(results, one, other, strict=True):
        if a.dtype.kind != "f":
            continue
        root_mean_square = float(np.sqrt(np.mean(np.square(b, dtype=np.float64)))) or 1.0
        error = np.abs(a.astype(np.float64) - b) / root_mean_square / TOLERANCE
        where = [int(k) for k in np.unravel_index(error.argmax(), error.shape)]
        beyond = int((error > 1).sum())
        rows.append(
            {"of": name, "result": result, "type": kind, "most": float(error.max()), "at": where, "beyond": beyond}
        )
    return sorted(rows, key=lambda row: -row["most"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="name in data/programs")
    parser.add_argument("--set", nargs="*", default=[], metavar="N=VALUE", help="values of scalar parameters")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder for rows.jsonl and inputs.npz")
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_enable_x64", True)
    path = harness.ROOT / "data" / "programs" / f"{options.program}.mlir.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    parameters, results = signature(text)
    values = {int(n): int(value) for n, value in (pair.split("=") for pair in options.set)}
    inputs = inputs_for(parameters, values, options.seed)
    np.savez(options.out / "inputs.npz", **{f"arr_{i}": array for i, array in enumerate(inputs)})
    answer = harness.call_hone(options.hone, ["shard", path, "--mesh", "2", "--steps", "1", "--no-products", "-q"], 600)
    replicated = [{**a, "sharding": "{replicated}", "spec": []} for a in answer["arguments"]]
    one = run(text, inputs)
    wide = run(in_f64(text), [a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs])
    two, divided = run(text, inputs, replicated), run(text, inputs, answer["arguments"])
    for name, a, b in (
        ("one device from f64", one, wide),
        ("divided from f64", divided, wide),
        ("divided from one device", divided, one),
        ("replicated on two from one device", two, one),
    ):
        rows = differences(name, results, a, b)
        print(name)
        for row in rows:
            harness.append_row(options.out / "rows.jsonl", {"program": options.program, "set": options.set, **row})
        for row in rows[:3]:
            print(f"  {row['most']:.3g} {row['result']} {row['type']} at {row['at']}, {row['beyond']} elements beyond")
    return 0


if __name__ == "__main__":
    sys.exit(main())
