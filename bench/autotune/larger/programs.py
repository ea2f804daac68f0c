#!/usr/bin/env python3
"""Whole models in JAX for frameworks.py, at their published sizes where no other size is given, in f32.

As the examples (scripts/example_programs.py): functions f(weights, *inputs) of shapes, exported to StableHLO when they
are measured. modules.py has the same models in PyTorch.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "scripts")]

import jax  # noqa: E402
from larger import other, transformers, vision  # noqa: E402
from program_parts import Program  # noqa: E402

PROGRAMS: dict[str, Callable[[], Program]] = {
    "resnet50": vision.resnet50,
    "bert_base": transformers.bert_base,
    "gpt2": transformers.gpt2,
    "vit_base": transformers.vit_base,
    "whisper_tiny": transformers.whisper_tiny,
    "llama_100m": transformers.llama_100m,
    "lstm": other.lstm,
    "dlrm": other.dlrm,
    "mobilenet": vision.mobilenet,
    "unet": vision.unet,
    "resnet18": vision.resnet18,
}


def in_f16(text: str) -> str:
    """The same program with f16 in place of f32."""
    return text.replace("0xFF800000", "0xFC00").replace("f32", "f16")


def main() -> int:
    """Writes a program's StableHLO and prints how many of its parameters are weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("--f16", action="store_true", help="in f16, weights included")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to write")
    options = parser.parse_args()
    program = PROGRAMS[options.name]()
    text = jax.jit(program.function, keep_unused=True).lower(program.weights, *program.inputs).as_text()
    options.output.write_text(in_f16(text) if options.f16 else text)
    print(json.dumps({"weights": len(jax.tree.leaves(program.weights))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
