#!/usr/bin/env python3
"""Task graphs of the TpuGraphs data set's programs: a layout collection's .npz, written as `hone place --graph` writes.

Its programs are larger than published HLO programs. They are described by the features of their instructions
(opcode, element type, shape, axes: github.com/google-research-datasets/tpu_graphs, README, "Features";
src/features/node_features.def has the columns), which is enough for the sizes, the roofline's work and the edges of the
entry computation. What is not recorded is inferred or left out:

- the axes of a dot, from the sizes of its operands and its result (the result is batch, then left, then right);
- the elements of a tuple that is a parameter are inputs of their own, as parameters of a JAX program are;
- fusions and custom calls count only the bytes that they read and write.

Work is counted as in src/place/place_graph.cc.
"""

import argparse
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Columns of node_feat (src/features/node_features.def).
IS_ROOT, TYPES, DIMS, AXES, WINDOW = 0, slice(2, 21), slice(21, 27), slice(31, 37), slice(37, 43)
KERNEL_INPUT_FEATURE, KERNEL_SPATIAL = 98, slice(100, 104)
TYPE_BYTES = [0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0, 0]  # invalid, pred, s8, ..., token

INPUTS = {"parameter", "constant", "partition-id", "replica-id"}
ALIASES = {"bitcast", "tuple", "get-tuple-element", "after-all", "domain", "add-dependency"}
KINDS = {
    "matrix": {"dot", "convolution"},
    "reduce": {"reduce", "reduce-window"},
    "move": {"reshape", "transpose", "copy", "slice", "dynamic-slice", "dynamic-update-slice", "concatenate", "pad",
             "reverse", "gather"},
    "control": {"while", "conditional", "call"},
    "other": {"scatter", "sort", "custom-call", "rng", "rng-bit-generator", "fft", "cholesky", "triangular-solve",
              "select-and-scatter", "all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter",
              "infeed", "outfeed", "send", "recv", "map", "rng-get-and-update-state", "batch-norm-training",
              "batch-norm-inference", "fusion"},
}  # fmt: skip
SPECIAL = {"exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "power", "sqrt", "rsqrt",
           "cbrt", "cosine", "sine", "atan2", "divide", "remainder"}  # fmt: skip
NO_ARITHMETIC = {"broadcast", "iota", "convert", "bitcast-convert", "copy"}


def opcode_names() -> dict:
    rows = (ROOT / "src" / "features" / "opcodes.def").read_text()
    return {int(number): name for number, name in re.findall(r'^OPCODE\((\d+), "([^"]+)"\)', rows, re.M)}


def kind_of(opcode: str) -> str:
    if opcode in INPUTS:
        return "input"
    return next((kind for kind, opcodes in KINDS.items() if opcode in opcodes), "elementwise")


def contracted(one: list, other: list, out: list) -> float:
    """Elements summed for one output element of a dot; neither its axes nor the order of its operands are recorded."""
    for batch in range(len(out) + 1):
        for split in range(batch, len(out) + 1):
            needs_left, needs_right = Counter(out[:split]), Counter(out[:batch] + out[split:])
            for left, right in ((Counter(one), Counter(other)), (Counter(other), Counter(one))):
                summed = left - needs_left
                if summed == right - needs_right and not (needs_left - left or needs_right - right):
                    return math.prod(summed.elements())
    return math.sqrt(math.prod(one) * math.prod(other) / math.prod(out))  # no axes fit: as without a batch


class Program:
    """The entry computation of one program: the nodes after the last root but one."""

    def __init__(self, arrays):
        names, features = opcode_names(), arrays["node_feat"]
        roots = [i for i, flag in enumerate(features[:, IS_ROOT]) if flag > 0]
        self.first, self.size = (roots[-2] + 1 if len(roots) > 1 else 0), len(features)
        self.root = roots[-1]
        self.features = features
        self.opcode = [names.get(int(number), "other") for number in arrays["node_opcode"]]
        self.dims = [[int(d) for d in row if d > 0] for row in features[:, DIMS]]
        self.item = [TYPE_BYTES[int(row.argmax())] for row in features[:, TYPES]]
        self.operands = [[] for _ in self.opcode]
        for consumer, producer in arrays["edge_index"].tolist():
            if producer >= self.first:  # else the root of a computation that it calls
                self.operands[consumer].append(producer)

    def elements(self, i: int) -> int:
        return math.prod(self.dims[i])

    def is_input(self, i: int) -> bool:
        """Constants, and the elements of parameters; a parameter that is a tuple is no operation itself."""
        if self.opcode[i] == "get-tuple-element":
            return any(self.opcode[producer] == "parameter" for producer in self.operands[i])
        return self.opcode[i] in INPUTS and not self.is_tuple(i)

    def is_tuple(self, i: int) -> bool:
        return bool(self.features[i, TYPES][16])

    def is_alias(self, i: int) -> bool:
        return not self.is_input(i) and (self.opcode[i] in ALIASES or (self.opcode[i] in INPUTS and self.is_tuple(i)))

    def contracted(self, i: int) -> float:
        sides = [self.dims[producer] for producer in self.operands[i]]
        if len(sides) == 1:
            sides *= 2  # an array times itself
        return contracted(*sides[:2], self.dims[i]) if sides else 1

    def work(self, i: int) -> tuple:
        """(floating-point operations, special functions) of one instruction."""
        opcode, out = self.opcode[i], self.elements(i)
        if opcode == "dot":
            return 2 * out * self.contracted(i), 0
        if opcode == "convolution" and len(self.operands[i]) > 1:
            kernel = self.dims[self.operands[i][1]]
            axes = [KERNEL_INPUT_FEATURE, *range(KERNEL_SPATIAL.start, KERNEL_SPATIAL.start + max(0, len(kernel) - 2))]
            sizes = [kernel[int(self.features[i, axis])] for axis in axes]
            return 2 * out * math.prod(sizes), 0
        if opcode in {"reduce", "scatter"}:
            return max((self.elements(producer) for producer in self.operands[i]), default=out), 0
        if opcode in {"reduce-window", "select-and-scatter"}:
            return out * math.prod(max(1, int(size)) for size in self.features[i, WINDOW]), 0
        if opcode in SPECIAL:
            return 0, out
        return (out, 0) if kind_of(opcode) == "elementwise" and opcode not in NO_ARITHMETIC else (0, 0)

    def reads(self, i: int, producer: int) -> float:
        """How often one evaluation of a consumer reads each element of a producer."""
        share = self.elements(i) / max(1, self.elements(producer))
        if self.opcode[i] in {"broadcast", "slice", "dynamic-slice"}:
            return share
        return share * self.contracted(i) if self.opcode[i] == "dot" else 1

    def producers(self, i: int) -> set:
        """The operations that compute a node's value, skipping those that only forward values."""
        if not self.is_alias(i):
            return {i}
        return set().union(*(self.producers(operand) for operand in self.operands[i]), set())


def task_graph(arrays, name: str) -> dict:
    program = Program(arrays)
    outputs = program.producers(program.root)
    ops, edges, place = [], [], {}
    for i in range(program.first, program.size):
        if program.is_alias(i):
            continue
        is_input = program.is_input(i)
        size = program.item[i] * program.elements(i)
        flops, special = (0, 0) if is_input else program.work(i)
        op = {
            "name": f"{program.opcode[i]}.{i}", "opcode": "parameter" if is_input else program.opcode[i],
            "kind": "input" if is_input else kind_of(program.opcode[i]), "dims": program.dims[i], "flops": flops,
            "special": special, "output_bytes": size, "written_bytes": 0 if is_input else size,
        }  # fmt: skip
        place[i] = len(ops)
        ops.append(op | ({"is_output": True} if i in outputs else {}))
        reads = {}
        for operand in [] if is_input else program.operands[i]:
            for producer in program.producers(operand):
                reads[producer] = max(reads.get(producer, 0), program.reads(i, operand))
        edges += [[place[producer], place[i], times] for producer, times in sorted(reads.items())]
    return {"name": name, "ops": ops, "edges": edges}


def write(source: Path, path: Path, name: str) -> None:
    import numpy

    with numpy.load(source) as arrays:
        graph = task_graph({key: arrays[key] for key in ("node_feat", "node_opcode", "edge_index")}, name)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(graph))
    partial.rename(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="an .npz of the layout collection")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the task graph (JSON)")
    options = parser.parse_args()
    if not options.program.exists():
        print(f"error: no such file: {options.program}", file=sys.stderr)
        return 2
    write(options.program, options.output, options.program.stem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
