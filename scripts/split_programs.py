#!/usr/bin/env python3
"""Divides the programs of data/programs.json into train, validation and test: data/splits/random.txt and manual.txt.

The batch sizes of one model always stay together: they share most of their kernels.
"""

import argparse
import json
import random
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
MIN_TEST = 8

RANDOM_NOTE = """\
# Random split: models, with all their batch sizes, shuffled with seed {seed}; about 80 : 10 : 10 programs.
# Test models may have relatives in training (another ResNet, another decoder), never the same model at another batch.
"""

MANUAL_NOTE = """\
# Manual split: the test programs come from families with no relative in training.
#   graph          segment sums and softmaxes over edge lists, filters over all pairs of atoms. Of the training
#                  programs only the training steps (gradients of lookups) and maxwell (fixed slices) scatter at all
#   particles      all-pairs forces by broadcasts and reductions, no matrix product
#   recommendation embedding bags and wide, shallow arithmetic on large batches; the training step of a factorisation
#                  machine is a relative and stands in validation
#   wavenet        gated, dilated and transposed 1-D convolutions; temporal convolution networks are relatives and stand
#                  in validation
# One program of each of eight models is tested, the rest of these families is used nowhere. Dots, softmaxes and
# elementwise chains as such occur everywhere: a family is unlike the others by how it combines them.
# Validation has families of its own too, some nearer to training (Swin to ViT, Inception to ResNet).
"""

MANUAL_TEST = [
    "gat_b1",
    "schnet_b32",
    "n_body_b4",
    "hydrodynamics_b1",
    "dlrm_b512",
    "interest_network_b256",
    "wavenet_b4",
    "vocoder_b1",
]
VALIDATION_FAMILIES = {"temporal_conv", "train_recommendation", "data_mining", "gan", "flow", "swin", "inception"}


class SplitError(Exception):
    """The list of programs does not allow the split; the message is one line."""


def random_split(programs: list[dict], seed: int) -> dict[str, list[str]]:
    models = sorted({program["model"] for program in programs})
    random.Random(seed).shuffle(models)
    wanted = max(MIN_TEST, round(0.1 * len(programs)))
    parts: dict[str, list[str]] = {"test": [], "validation": [], "train": []}
    for model in models:
        part = next((name for name in ("test", "validation") if len(parts[name]) < wanted), "train")
        parts[part] += [program["name"] for program in programs if program["model"] == model]
    return parts


def manual_split(programs: list[dict]) -> dict[str, list[str]]:
    family = {program["name"]: program["family"] for program in programs}
    missing = [name for name in MANUAL_TEST if name not in family]
    if missing:
        raise SplitError(f"not in the list of programs: {' '.join(missing)}")
    held_out = {family[name] for name in MANUAL_TEST}
    validation = [name for name in family if family[name] in VALIDATION_FAMILIES]
    train = [name for name in family if family[name] not in held_out | VALIDATION_FAMILIES]
    return {"test": MANUAL_TEST, "validation": validation, "train": train}


def split_text(note: str, parts: dict[str, list[str]]) -> str:
    lines = [f"{part}\t{name}\n" for part in ("train", "validation", "test") for name in sorted(parts[part])]
    return note + "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, default=DATA / "programs.json", help="the list to divide")
    parser.add_argument("--out", type=Path, default=DATA / "splits", help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the random split")
    options = parser.parse_args()
    try:
        programs = json.loads(options.programs.read_text())
        splits = {
            "random": (RANDOM_NOTE.format(seed=options.seed), random_split(programs, options.seed)),
            "manual": (MANUAL_NOTE, manual_split(programs)),
        }
    except (OSError, ValueError, KeyError, TypeError, SplitError) as error:
        print(f"error: {options.programs}: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (note, parts) in splits.items():
        (options.out / f"{name}.txt").write_text(split_text(note, parts))
        print(f"{name:8}" + "".join(f"  {part} {len(names)}" for part, names in parts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
