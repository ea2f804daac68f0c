#!/usr/bin/env python3
"""What two host devices of this CPU cost beside their kernels: the numbers of data/topologies/cpu2.toml and the like.

    bench/go/copies.py

Runs small programs by `hone place --run`, the path that copies values of other programs too, each under two placements:
a relay, whose products alternate between the devices, so that each waits for the other, takes a copy and begins a
segment; and a hand-over, where the second device takes many values of the first after a long product, without waiting.
Prints the time of a hop and of a copy by size, a line through the copies' times (latency and bandwidth, least squares
of relative errors), and what a hop takes beside its copy. Needs a quiet machine with two cores."""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness

HOPS = 16
COLUMNS = 16
ROWS = (16, 1024, 4096, 16384, 65536)  # of f32[ROWS, COLUMNS]
LONG = 768  # of the product that the second device begins with


def product(name: str, rows: int, left: str, right: str, columns: int = COLUMNS) -> str:
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    return f"  {name} = f32[{rows},{columns}] dot({left}, {right}), {dims}"


def relay(rows: int) -> tuple[str, dict[str, int]]:
    """A chain of products, and the device of each."""
    lines = [f"  x = f32[{rows},{COLUMNS}] parameter(0)", f"  w = f32[{COLUMNS},{COLUMNS}] parameter(1)"]
    lines += [product(f"d{i}", rows, f"d{i - 1}" if i else "x", "w") for i in range(HOPS)]
    lines.append(f"  ROOT r = f32[{rows},{COLUMNS}] negate(d{HOPS - 1})")
    return "\n".join(["HloModule relay", "ENTRY main {", *lines, "}"]), {f"d{i}": i % 2 for i in range(HOPS)}


def hand_over(rows: int) -> tuple[str, dict[str, int]]:
    """Products of one device, each multiplied again by the other after a long product."""
    lines, devices = (
        [f"  big = f32[{LONG},{LONG}] parameter(0)", product("long", LONG, "big", "big", LONG)],
        {"long": 1},
    )
    for i in range(HOPS):
        lines.append(f"  x{i} = f32[{rows},{COLUMNS}] parameter({2 * i + 1})")
        lines.append(f"  w{i} = f32[{COLUMNS},{COLUMNS}] parameter({2 * i + 2})")
        lines += [product(f"y{i}", rows, f"x{i}", f"w{i}"), product(f"z{i}", rows, f"y{i}", f"w{i}")]
        devices |= {f"y{i}": 0, f"z{i}": 1}
    parts = [f"f32[{LONG},{LONG}]", *[f"f32[{rows},{COLUMNS}]"] * HOPS]
    names = ["long", *[f"z{i}" for i in range(HOPS)]]
    lines.append(f"  ROOT r = ({', '.join(parts)}) tuple({', '.join(names)})")
    return "\n".join(["HloModule hand_over", "ENTRY main {", *lines, "}"]), devices


def times(options: argparse.Namespace, made: tuple[str, dict[str, int]]) -> tuple[float, float]:
    """Seconds on one device and under the placement."""
    text, devices = made
    with tempfile.TemporaryDirectory() as folder:
        program, graph, plan = Path(folder, "p.hlo"), Path(folder, "g.json"), Path(folder, "plan.json")
        program.write_text(text)
        command = ["place", program, "--devices", options.devices, "--tasks", "placement", "--strategy", "single", "-q"]
        harness.call_hone(options.hone, [*command, "--graph", graph], 120)
        ops = json.loads(graph.read_text())["ops"]
        named = [next((d for name, d in devices.items() if op["name"].split(".")[0] == name), 1) for op in ops]
        plan.write_text(json.dumps({"device": named, "schedule": [], "fusion": []}))
        table = harness.call_hone(options.hone, [*command, "--from", plan, "--run"], 300)["table"]
    ran = {row["strategy"]: row["run"]["seconds"] for row in table}
    return ran["single"], ran["given"]


def line_through(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope that make the relative errors of (bytes, seconds) least."""
    weights = [1 / seconds**2 for _, seconds in points]
    total = sum(weights)
    x = sum(w * p[0] for w, p in zip(weights, points, strict=True)) / total
    y = sum(w * p[1] for w, p in zip(weights, points, strict=True)) / total
    above = sum(w * (p[0] - x) * (p[1] - y) for w, p in zip(weights, points, strict=True))
    slope = above / sum(w * (p[0] - x) ** 2 for w, p in zip(weights, points, strict=True))
    return y - slope * x, slope


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--devices", default="cpu2", help="topology of two host devices")
    options = parser.parse_args()
    copies, hops = [], []
    print("bytes, us: hop of the relay beside its product; copy of the hand-over", flush=True)
    for rows in ROWS:
        size = 4 * rows * COLUMNS
        single, relayed = times(options, relay(rows))
        hops.append((size, (relayed - single) / (HOPS - 1)))
        product_seconds = single / HOPS  # the first device's products run beside the long one
        single, handed = times(options, hand_over(rows))
        copies.append((size, (handed - single) / HOPS + product_seconds))
        print(f"{size:9d}  {hops[-1][1] * 1e6:8.1f}  {copies[-1][1] * 1e6:8.1f}", flush=True)
    latency, slope = line_through([p for p in copies if p[1] > 0])
    print(f"copy: {latency * 1e6:.1f} us + bytes at {1e-9 / slope:.1f} GB/s")
    rest = [hop[1] - copy[1] for hop, copy in zip(hops, copies, strict=True)]
    print(f"a segment and waking up: {1e6 * statistics.median(rest):.1f} us, the median of hops less copies")


if __name__ == "__main__":
    main()
