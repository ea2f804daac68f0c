#!/usr/bin/env python3
"""Single convolutions and poolings, as XLA:CPU computes them and by shifted slices (docs/decisions/0013).

Each is a separate program that `hone tune --decide rewrite` searches; the ratio is that of the duel of shifted slices
against default XLA, even if it was slower. Each operation is one row of a file; finished rows are not run again.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from common import failures, finish, head, run_missing
from harness import ROOT, HoneError, add_max_isa, call_hone, isa_words, markdown_table

KEYS = ("name", "budget", "seed")


def window(size: list[int], stride: int, pad: bool) -> tuple[str, list[tuple[int, int]]]:
    """XLA's text of a window, and its padding per dimension: as for "SAME", the larger half at the end."""
    around = [max(0, s - stride) if pad else 0 for s in size]
    pads = [(total // 2, total - total // 2) for total in around]
    text = f"size={'x'.join(map(str, size))}"
    if stride > 1:
        text += " stride=" + "x".join([str(stride)] * len(size))
    if any(around):
        text += " pad=" + "x".join(f"{low}_{high}" for low, high in pads)
    return text, pads


def out_size(n: int, size: int, stride: int, pads: tuple[int, int]) -> int:
    return (n + sum(pads) - size) // stride + 1


def f32(dims: list[int]) -> str:
    return f"f32[{','.join(map(str, dims))}]"


def program(lines: list[str], before: str = "") -> str:
    return "HloModule operation\n" + before + "ENTRY e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def convolution(batch: int, space: list[int], features: int, size: list[int], stride: int, per_group: int = 1) -> str:
    text, pads = window(size, stride, pad=True)
    out = [out_size(n, s, stride, p) for n, s, p in zip(space, size, pads, strict=True)]
    numbers = "".join(map(str, range(len(space))))
    shapes = [[batch, *space, features], [*size, per_group, features], [batch, *out, features]]
    labels = f"b{numbers}f_{numbers}io->b{numbers}f"
    return program(
        [
            f"x = {f32(shapes[0])} parameter(0)",
            f"w = {f32(shapes[1])} parameter(1)",
            f"ROOT c = {f32(shapes[2])} convolution(x, w), window={{{text}}}, dim_labels={labels}, "
            f"feature_group_count={features // per_group}",
        ]
    )


def weights_gradient(batch: int, space: list[int], features: int, size: list[int]) -> str:
    """Of a depthwise convolution of stride 1, as JAX's transpose rule writes it: one group of batches per feature."""
    pads = "x".join(f"{s // 2}_{s // 2}" for s in size)
    shape = f32([batch, *space, features])
    return program(
        [
            f"x = {shape} parameter(0)",
            f"g = {shape} parameter(1)",
            f"ROOT c = {f32([*size, 1, features])} convolution(x, g), "
            f"window={{size={'x'.join(map(str, space))} pad={pads}}}, dim_labels=f01b_i01o->01bf, "
            f"batch_group_count={features}",
        ]
    )


def pooling(kind: str, batch: int, space: list[int], features: int, size: list[int], stride: int, pad: bool) -> str:
    _, pads = window(size, stride, pad)
    out = [out_size(n, s, stride, p) for n, s, p in zip(space, size, pads, strict=True)]
    start = {"maximum": "-inf", "add": "0"}[kind]
    text = f"size=1x{'x'.join(map(str, size))}x1 stride=1x{'x'.join([str(stride)] * len(size))}x1"
    if any(map(any, pads)):
        text += " pad=0_0x" + "x".join(f"{low}_{high}" for low, high in pads) + "x0_0"
    body = "r {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n" + f"  ROOT c = f32[] {kind}(a, b)\n" + "}\n"
    return program(
        [
            f"x = {f32([batch, *space, features])} parameter(0)",
            f"i = f32[] constant({start})",
            f"ROOT p = {f32([batch, *out, features])} reduce-window(x, i), window={{{text}}}, to_apply=r",
        ],
        body,
    )


OPERATIONS = {
    "depthwise 3x3, 112x112x32": convolution(1, [112, 112], 32, [3, 3], 1),
    "depthwise 3x3 stride 2, 112x112x64": convolution(1, [112, 112], 64, [3, 3], 2),
    "depthwise 3x3, 56x56x128": convolution(1, [56, 56], 128, [3, 3], 1),
    "depthwise 3x3, 28x28x256": convolution(1, [28, 28], 256, [3, 3], 1),
    "depthwise 3x3, 14x14x512": convolution(1, [14, 14], 512, [3, 3], 1),
    "depthwise 3x3, 7x7x1024": convolution(1, [7, 7], 1024, [3, 3], 1),
    "depthwise 5x5, 28x28x240": convolution(1, [28, 28], 240, [5, 5], 1),
    "depthwise 7x7, 56x56x96": convolution(1, [56, 56], 96, [7, 7], 1),
    "depthwise 31, 200x256": convolution(1, [200], 256, [31], 1),
    "grouped 3x3, 56x56x128, 4 a group": convolution(1, [56, 56], 128, [3, 3], 1, per_group=4),
    "weights' gradient of depthwise 3x3, 8x28x28x64": weights_gradient(8, [28, 28], 64, [3, 3]),
    "maximum 3x3 stride 2, 112x112x64": pooling("maximum", 1, [112, 112], 64, [3, 3], 2, True),
    "maximum 2x2 stride 2, 56x56x128": pooling("maximum", 1, [56, 56], 128, [2, 2], 2, False),
    "maximum 3x3 stride 1, 28x28x192": pooling("maximum", 1, [28, 28], 192, [3, 3], 1, True),
    "sum 3x3 stride 1, 35x35x192": pooling("add", 1, [35, 35], 192, [3, 3], 1, True),
    "sum 2x2 stride 2, 56x56x128": pooling("add", 1, [56, 56], 128, [2, 2], 2, False),
}


def measure(row: dict, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        source, package = Path(folder) / "operation.hlo", Path(folder) / "o.hone"
        source.write_text(OPERATIONS[row["name"]])
        arguments = ["tune", source, "--decide", "rewrite", "--budget", row["budget"], "--seed", row["seed"], "--quiet"]
        arguments += ["--threads", 1, *isa_words(options)]
        try:
            call_hone(options.hone, [*arguments, "--db", Path(folder) / "o.db", "-o", package], 1800)
            report = json.loads((package / "report.json").read_text())
            # The first duel is against default XLA; later ones of the same name are against the best so far.
            shifted = [step for step in report["steps"] if step["what"].endswith(" shifted")]
            if not shifted:
                row["error"] = "no decision by shifted slices was tried"
                return
            row["duel"] = shifted[0]
            row["final"] = report["speedup"]
        except (HoneError, OSError) as error:
            row["error"] = str(error)


def table(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        if "error" in row:
            continue
        duel = row["duel"]
        low, high = duel["interval"]
        ok = duel["outcome"] == "ok"
        lines.append(
            [
                row["name"],
                f"{duel['baseline_ns'] / 1e6:.3f}",
                f"{duel['candidate_ns'] / 1e6:.3f}",
                f"{duel['ratio']:.2f} [{low:.2f}, {high:.2f}]" if ok else duel["outcome"],
                f"{row['final']:.2f}",
            ]
        )
    return markdown_table(["operation, f32", "default XLA ms", "shifted ms", "ratio", "kept"], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="operations whose name contains it")
    parser.add_argument("--budget", default="4s", help="of each search (default 4s)")
    parser.add_argument("--seed", type=int, default=0)
    add_max_isa(parser)
    parser.add_argument("--out", type=Path, help="the table in Markdown (default: only printed)")
    parser.add_argument("--jsonl", type=Path, default=ROOT / "build" / "bench" / "autotune-rewrites.jsonl")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    names = [name for name in OPERATIONS if options.only in name]
    jobs = [{"name": name, "budget": options.budget, "seed": options.seed} for name in names]
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, options), options)
    text = head("Convolutions and poolings, one by one", rows, len(jobs), options.max_isa) + table(rows)
    return finish(text + failures(rows, KEYS), options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
