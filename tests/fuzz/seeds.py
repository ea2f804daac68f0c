#!/usr/bin/env python3
"""Writes seeds of the fuzz targets, FOLDER/TARGET/*, from the data and examples of the repository.

Small sound inputs of every form that a target reads; real files are cut down. What cannot be made here, and every
input that once did harm, is kept in tests/fuzz/corpus.
"""

import argparse
import gzip
import io
import json
import math
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 20_000  # of a seed: longer ones make every execution slow


def kernels(count: int) -> list[tuple[bytes, bytes]]:
    """HLO text and serialised module of the smallest stored kernels."""
    path = ROOT / "data/machine-kernels.db"
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as rows:
        packed = rows.execute("SELECT hlo, module_proto FROM kernels ORDER BY length(module_proto)").fetchall()
    chosen = packed[:: max(1, len(packed) // count)]
    return [(zlib.decompress(hlo[8:]), zlib.decompress(proto[8:])) for hlo, proto in chosen]


def npy(dtype: str, shape: tuple[int, ...], data: bytes, fortran: bool = False) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def archive(members: dict[str, bytes], packed: bool) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


def npz() -> dict[str, bytes]:
    plain = npy("<f4", (2, 3), bytes(range(24)))
    big_endian = npy(">i2", (3,), b"\0\1\0\2\0\3")
    turned = npy("<f8", (2, 2), bytes(32), fortran=True)
    return {
        "plain": plain,
        "turned": turned,
        "stored": archive({"a.npy": plain, "b.npy": big_endian, "notes.txt": b"x"}, False),
        "deflated": archive({"a.npy": plain, "c.npy": turned, "d.npy": npy("|b1", (), b"\1")}, True),
    }


def safetensors(metadata: dict[str, str], tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: dict = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def opened(path: str) -> tuple[dict[str, str], dict[str, tuple[str, list[int], bytes]]]:
    content = (ROOT / path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length :]
    return metadata, {k: (v["dtype"], v["shape"], data[slice(*v["data_offsets"])]) for k, v in header.items()}


def packed_layouts() -> dict[str, bytes]:
    tensors = {
        "a_configs": ("I64", [2, 1], struct.pack("<2q", 0, 5)),
        "b_config_runtime": ("F64", [2], struct.pack("<2d", 1.0, 2.0)),
        "edge_index": ("I32", [1, 2], struct.pack("<2i", 1, 0)),
        "node_config_ids": ("I32", [1], struct.pack("<i", 1)),
        "node_feat": ("F32", [2, 140], struct.pack("<280f", *([1.0] * 280))),
        "node_opcode": ("U8", [2], b"\x02\x3f"),
    }
    return {"small": safetensors({"format": "hone-layouts-1", "name": "small"}, tensors)}


def trees() -> dict[str, bytes]:
    small = {
        "feature": ("I16", [3], struct.pack("<3h", 0, -1, -1)),
        "left": ("I32", [3], struct.pack("<3i", 1, 0, 0)),
        "roots": ("I32", [1], struct.pack("<i", 0)),
        "value": ("F32", [3], struct.pack("<3f", 1.0, 2.0, 3.0)),
    }
    grown = {"feature": [0, 1, -1, -1, -1], "value": [3.5, 1, 0.1, -0.2, 2], "left": [1, 3, 0, 0, 0]}
    text = {"base": 0.1, "trees": [{"feature": [0, -1, -1], "value": [3.5, 0.1, -0.2], "left": [1, 0, 0]}, grown]}
    seeds = {"json": b"\0" + json.dumps(text).encode()}
    metadata, _ = opened("data/models/fusion/seed-0.safetensors")
    metadata = {k: metadata[k] for k in ("format", "task", "predicts", "features", "feature_version", "base")}
    names = json.loads(metadata["features"])
    of_kernels = names[: names.index("work_over_analytical")]
    metadata |= {"predicts": "run time", "features": json.dumps(of_kernels)}
    seeds["tensors"] = b"\1" + safetensors(metadata, small)
    table = (ROOT / "src/cost/kernel_work_terms.def").read_text()
    terms = [*re.findall(r"^TERM\((\w+)\)", table, re.MULTILINE), "constant"]
    metadata |= {"predicts": "run time over work", "features": json.dumps(names)}
    work = ("F32", [len(terms)], struct.pack(f"<{len(terms)}f", *[0.5] * len(terms)))
    seeds["over-work"] = b"\1" + safetensors(metadata, small | {"work": work})
    network = {f"network.{name}": [len(names)] for name in ("least", "most", "mean", "deviation")}
    network["network.0.weight"] = [2, len(names)]
    network |= {f"network.0.{name}": [2] for name in ("bias", "norm.weight", "norm.bias")}
    network |= {"network.1.weight": [1, 2], "network.1.bias": [1]}
    for name, shape in network.items():
        count = math.prod(shape)
        network[name] = ("F32", shape, struct.pack(f"<{count}f", *[0.5] * count))
    seeds["network"] = b"\1" + safetensors(metadata, small | {"work": work} | network)
    return seeds


def model_files() -> dict[str, bytes]:
    operations = json.loads((ROOT / "data/models/operations.json").read_text())
    for group in operations["groups"]:
        for part in ("low", "middle", "high"):
            group[part]["trees"] = [{"feature": [0, -1, -1], "value": [1, 0, 1], "left": [1, 0, 0]}]
    machine = {"host": "h", "cpu": "c", "isa": "avx2", "cpu_isa": "avx512", "properties": {"threads": 1}, "speed": {}}
    columns = [{"name": "flops", "scale": "log", "min": 0, "max": 1}]
    return {
        "operations": b"\1" + json.dumps(operations).encode(),
        "tile-gains": b"\2" + (ROOT / "data/models/tile-gains.json").read_bytes(),
        "rewrite-gains": b"\2" + (ROOT / "data/models/rewrite-gains.json").read_bytes(),
        "scaler": b"\3" + json.dumps({"feature_version": 1, "columns": columns}).encode(),
        "machine": b"\4" + json.dumps(machine).encode(),
    }


def policies() -> dict[str, bytes]:
    seeds = {}
    for name in ("order/policy", "order/one-walk", "go/policy", "layout/ranker"):
        metadata, tensors = opened(f"data/models/{name}.safetensors")
        metadata = {k: v for k, v in metadata.items() if k not in ("command", "split")} | {"command": "x"}
        small = {k: v for k, v in tensors.items() if len(v[2]) < 300}
        seeds[name.replace("/", "-")] = safetensors(metadata, small)
    spec = {"id": "x", "actions": 2, "observation_width": 3, "cost_width": 0, "node_width": 0}
    small_policy = {
        "policy.layer0.weight": ("F32", [2, 3], bytes(24)),
        "policy.layer0.bias": ("F32", [2], bytes(8)),
        "scale.values.count": ("F64", [1], struct.pack("<d", 1)),
        "scale.values.mean": ("F64", [3], bytes(24)),
        "scale.values.square": ("F64", [3], bytes(24)),
    }
    metadata = {
        "format": "hone-policy-1",
        "options": json.dumps({"agent": "ppo", "layers": []}),
        "spec": json.dumps(spec),
        "environment": "{}",
    }
    return seeds | {"small": safetensors(metadata, small_policy)}


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def tuning_data() -> dict[str, bytes]:
    proto = kernels(4)[0][1]
    tile = block(1, block(1, block(1, b"\x08\x08") + block(2, b"\x08"))) + block(4, number(5, 100)) + number(5, 1)
    axes = block(1, block(1, b"\0\1"))
    layout = block(2, block(1, block(1, axes + axes + axes))) + block(4, number(5, 7)) + number(5, 1)
    tiles = block(1, proto) + number(2, 5) + block(3, tile)
    return {
        "tile": tiles,
        "layout": block(1, proto) + block(3, layout) + number(4, 1),
        "many": block(1, tiles) + block(1, tiles),
    }


def gym_files() -> dict[str, bytes]:
    seeds = {"set": b"\2" + (ROOT / "data/benchmarks/examples-v1.json").read_bytes()}
    step = {"pass": "dce", "instructions": 3, "fingerprint": "f"}
    texts = [
        {"format": "hone-gym-episode-1", "program": "p", "sha256": "s", "instructions": 4, "steps": [step]},
        {"format": "hone-gym-result-1", "agent": "a", "benchmark": "b", "entries": [
            {"program": "p", "passes": ["dce"], "instructions": 3}]},
        {"id": "hone/XlaPassOrder-v0", "programs": ["p"], "traj_limit": 45, "shaping": True, "gamma": 0.9},
        [{"name": "p", "file": "f", "family": "g"}],
    ]  # fmt: skip
    for choice, text in zip((0, 1, 3, 4), texts, strict=True):
        seeds[f"json-{choice}"] = bytes([choice]) + json.dumps(text).encode()
    return seeds


def task_graph() -> dict[str, bytes]:
    ops = [{"name": "a", "kind": "input", "output_bytes": 8}, {"name": "b", "flops": 9, "output_bytes": 8, "dims": [2]},
           {"name": "c", "kind": "matrix", "flops": 9, "output_bytes": 8, "is_output": True}]  # fmt: skip
    graph = {"name": "g", "ops": ops, "edges": [["a", "b"], [1, 2, 0.5]]}
    columns = {"name": ["a", "b"], "opcode": ["add", "add"], "flops": [1, 2], "special": [0, 0],
               "output_bytes": [4, 4], "is_output": [False, True], "written_bytes": [-1, -1], "dims": [[2], [2]],
               "kind": ["elementwise", "reduce"]}  # fmt: skip
    device = {"name": "d", "memory_bytes": 1e9, "matrix_flops": 1e9, "vector_flops": 1e9, "special_per_second": 1e9,
              "bytes_per_second": 1e9, "launch_seconds": 0, "overlap": 0.9}  # fmt: skip
    stored = {
        "graph": {"name": "g", "ops": columns, "edges": {"from": [0], "to": [1], "reads": [1]}},
        "topology": {"name": "t", "devices": [device, device | {"name": "e"}], "routes": [[], [0], [0], []],
                     "links": [{"name": "l", "bytes_per_second": 1e9, "latency_seconds": 0}]},
        "plan": {"device": [0, 1], "schedule": [1, 2], "fusion": [0, 1]},
    }  # fmt: skip
    return {"graph": b"\0" + json.dumps(graph).encode(), "stored": b"\1" + json.dumps(stored).encode()}


def wire_reply() -> dict[str, bytes]:
    dimension = {"kind": "Codegen", "key": "k", "options": ["default", "loop"], "weights": [1]}
    kernel = {"fingerprint": "f", "name": "n", "kind": "fusion", "count": 2, "hlo": "x", "dimension": dimension,
              "instructions": ["a"], "module_proto": [1, 2]}  # fmt: skip
    bodies = {
        "LowerReply": {"fingerprint": "f", "kernels": [kernel], "dimensions": [dimension], "of_weights": ["w"],
                       "unmatched": [{"kind": "Option", "key": "k", "value": "v"}]},
        "MeasureReply": {"verdict": "Ok", "stage": "Run", "ratio": 1.5, "in_place": [{"rounds": 2}]},
        "ListKernelsReply": {"fingerprint": "f", "kernels": [kernel, kernel]},
        "ListLayoutsReply": {"module_proto": [8, 1], "dimensions": [dimension]},
        "RunReply": {"times_ns": [1, 2], "outputs": [{"type": "f32", "dims": [2], "data": [0, 0, 0, 0]}]},
        "LoadReply": {"program": "p", "opcodes": [{"name": "add", "count": 2}], "parameters": ["f32[2]"]},
        "ApplyReply": {"fingerprint": "f", "changed": [True], "hlo": "x"},
    }  # fmt: skip
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, body in bodies.items():
            message = {"id": 1, "body_type": name, "body": body}
            file = Path(folder, name + ".json")
            file.write_text(json.dumps(message))
            subprocess.run(["flatc", "--binary", "-o", folder, ROOT / "src/wire/hone.fbs", file], check=True)
            reply = Path(folder, name + ".bin").read_bytes()
            seeds[name] = b"\0" + reply
        seeds["frames"] = b"\1" + 2 * (struct.pack("<I", len(reply)) + reply)
    return seeds


def columns() -> list[dict[str, int]]:
    """The first column of each feature of an instruction, a kernel and an option, and under "" how many there are."""
    tables = (ROOT / "docs/reference/features.md").read_text().split("\n## ")[1:4]
    found = []
    for table in tables:
        rows = re.findall(r"^\| (\d+)(?:-(\d+))? \| `(\w+)`", table, re.MULTILINE)
        found.append({name: int(first) for first, _, name in rows} | {"": int(rows[-1][1] or rows[-1][0]) + 1})
    return found


def shard_of(dimension: float) -> bytes:
    """A shard of one kernel: a parameter that is broadcast along `dimension`."""
    node, static, tile = columns()
    opcodes = re.findall(r'^OPCODE\((\d+), "([^"]+)"', (ROOT / "src/features/opcodes.def").read_text(), re.MULTILINE)
    numbers = {name: int(number) for number, name in opcodes}
    rows = [[0.0] * node[""] for _ in range(2)]
    for row in rows:
        for axis in range(6):
            row[node["layout"] + axis] = 0.0 if axis == 0 else -1.0
        row[node["shape_dims"]] = row[node["element_bytes"]] = 4.0
    rows[1][node["is_output"]], rows[1][node["dimensions"]] = 1.0, dimension
    file, offsets = bytearray(64), []
    arrays = [b"fpfusion", bytes([numbers["parameter"], numbers["broadcast"]])]
    arrays += [
        struct.pack(f"<{2 * node['']}f", *rows[0], *rows[1]),
        struct.pack(f"<{static['']}f", *[1.0] * static[""]),
    ]
    arrays += [struct.pack("<i", 0), struct.pack("<i", 1), bytes(4 * tile[""]), struct.pack("<d", 5.0)]
    for array in arrays:
        file += bytes(-len(file) % 64)
        offsets.append(len(file))
        file += array
    file += bytes(-len(file) % 64)
    index = len(file)
    file += struct.pack("<11Q4IiI", *offsets, 2, 1, 1, 1, 1, 0, 6, 0, 0)
    head = (b"HONESHRD", 1, 1, node[""], static[""], tile[""], 0, 1, index, len(file), 0, 0)
    file[:64] = struct.pack("<8s6I3QII", *head)
    return bytes(file)


def machine_code() -> dict[str, bytes]:
    source = """#include <math.h>
    void scale(float* x, long n) { for (long i = 0; i < n; ++i) x[i] = x[i] * 2 + expf(x[i]); }
    double sum(const double* x) { double s = 0; for (int i = 0; i < 100; ++i) s += x[i]; return s; }"""
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        for flags in ("-O1", "-O3 -mavx2 -mfma -ffast-math", "-O3 -mavx512f -ffast-math"):
            out = Path(folder, "code.o")
            command = ["g++", "-x", "c++", "-c", "-o", out, *flags.split(), "-fno-asynchronous-unwind-tables", "-"]
            subprocess.run(command, input=source.encode(), check=True)
            name = flags.replace(" ", "")
            seeds["object" + name] = b"\0" + out.read_bytes()
            subprocess.run(["objcopy", "-O", "binary", "-j", ".text", out, Path(folder, "text")], check=True)
            seeds["text" + name] = b"\1" + Path(folder, "text").read_bytes()
    return seeds


def files(*patterns: str, prefix: bytes = b"") -> dict[str, bytes]:
    return {path.name: prefix + path.read_bytes()[:MOST_BYTES] for p in patterns for path in sorted(ROOT.glob(p))}


SEEDS = {
    "npz": npz,
    "safetensors": lambda: packed_layouts() | {k: v[1:] for k, v in trees().items() if k == "tensors"},
    "packed_layouts": packed_layouts,
    "topology": lambda: files("data/topologies/*.toml"),
    "task_graph": task_graph,
    "trees": trees,
    "model_files": model_files,
    "policies": policies,
    "hlo_graph": lambda: {f"kernel-{i}": proto for i, (_, proto) in enumerate(kernels(20))},
    "hlo_text": lambda: {f"kernel-{i}": text for i, (text, _) in enumerate(kernels(20))},
    "tuning_data": tuning_data,
    "tpu_graph": lambda: dict(list(files("data/layouts/*.npz").items())[:8]),
    "stablehlo_text": lambda: files("examples/*.mlir"),
    "wire_reply": wire_reply,
    "shard": lambda: {"sound": shard_of(0), "outside": shard_of(-2e9)},
    "split": lambda: files("data/splits/*.txt"),
    "machine_code": machine_code,
    "gym_files": gym_files,
    "packed_file": lambda: {"text": b"plain", "packed": gzip.compress(b"x" * 1000, mtime=0)},
}


def write(folder: Path) -> None:
    for target, make in SEEDS.items():
        into = folder / target
        into.mkdir(parents=True, exist_ok=True)
        for name, seed in make().items():
            (into / name).write_bytes(seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
