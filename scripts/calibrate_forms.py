#!/usr/bin/env python3
"""Calibrates the forms of operations that `hone optimize` chooses by predicted run times (src/optimize/forms.h).

    scripts/calibrate_forms.py data/form-changes.jsonl.xz build/data/fusion/* --split data/splits/random.txt \\
        --programs data/programs.json --programs DRAWN/programs.json --machine "AMD avx512, one thread=FOLDER" ... \\
        --out data/models/form-gains.json

The rows are measured changes of one program each (`bench_variants measure`). Their margins must come from a model that
has not seen the program: trees over a sum of work (scripts/train_kernels.py --work) are trained without a fifth of the
training programs (all batch sizes of a model together), FOLDS times, and each predicts the programs it did not see;
those of the validation part and drawn ones, which none has seen, are predicted by the first. Test programs are refused.
"""

import argparse
import gzip
import hashlib
import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dataset import parts_of

FOLDS = 5
TREES = Path(__file__).with_name("train_kernels.py")


def fold_of(program: str) -> int:
    """All batch sizes of a model are in one fold."""
    model = re.sub(r"_b\d+$", "", program)
    return int(hashlib.sha256(model.encode()).hexdigest(), 16) % FOLDS


def train_folds(arguments: argparse.Namespace, parts: dict[str, str]) -> list[Path]:
    """Folders of trees; the one of a fold has not seen its programs. Those that are there are kept."""
    folders = []
    for fold in range(FOLDS):
        folder = arguments.work / f"fold-{fold}"
        folders.append(folder)
        weights = folder / "seed-0.safetensors"
        if weights.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        split = arguments.work / f"fold-{fold}.txt"
        left = {p: part for p, part in parts.items() if part != "train" or fold_of(p) != fold}
        split.write_text("".join(f"{part}\t{program}\n" for program, part in left.items()))
        command = [sys.executable, TREES, *arguments.datasets, "--work", "--more", *arguments.more]
        command += ["--split", split, "--seed", "0"]
        subprocess.run([*command, "--tool", arguments.rows_tool, "--out", weights], check=True)
    return folders


def predicted(
    arguments: argparse.Namespace, rows: list[dict], folders: list[Path], parts: dict[str, str]
) -> list[dict]:
    """The rows with their margins, predicted on the machine that measured them."""
    files = {
        entry["name"]: manifest.parent / entry["file"]
        for manifest in arguments.programs
        for entry in json.loads(manifest.read_text())
    }
    machines = dict(pair.rsplit("=", 1) for pair in arguments.machine)
    if unknown := {row["machine"] for row in rows} - machines.keys():
        raise SystemExit(f"no --machine for rows of {', '.join(sorted(unknown))}")
    # All programs of a machine and a fold at once.
    groups = {}
    for row in rows:
        model = folders[fold_of(row["program"]) if parts.get(row["program"]) == "train" else 0]
        groups.setdefault((row["machine"], model), []).append(row)
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for done, ((machine, model), its) in enumerate(sorted(groups.items(), key=lambda group: group[0])):
            programs = sorted({row["program"] for row in its})
            print(f"{done} of {len(groups)}: {len(programs)} programs, {machine}, {model.name}", file=sys.stderr)
            sources, of_group = [], Path(scratch, "rows.jsonl")
            for program in programs:
                source, content = Path(scratch, f"{program}.mlir"), files[program].read_bytes()
                source.write_bytes(gzip.decompress(content) if files[program].suffix == ".gz" else content)
                sources.append(source)
            of_group.write_text("".join(json.dumps(row) + "\n" for row in its))
            command = [arguments.tool, "predict", of_group, machines[machine], model, *sources]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found += [json.loads(line) for line in run.stdout.splitlines()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="measured rows of bench_variants (.jsonl, .jsonl.xz)")
    parser.add_argument("datasets", nargs="+", help="folders of hone collect export --kind fusion")
    parser.add_argument("--more", nargs="*", default=[], metavar="FOLDER", help="data sets that are not balanced")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--programs", type=Path, action="append", required=True, help="manifest of programs")
    parser.add_argument(
        "--machine",
        action="append",
        required=True,
        metavar="CLASS=FOLDER",
        help="folder with machine.json of a class that rows name as theirs: 'AMD avx512, one thread=...'",
    )
    parser.add_argument("--work", type=Path, default=Path("build/forms"), help="where trees of the folds are kept")
    parser.add_argument("--tool", default="build/bench_variants")
    parser.add_argument("--rows-tool", default="build/bench_kernel_rows")
    parser.add_argument("--hone", default="build/hone")
    parser.add_argument("--models", default="", help="folder with the trees (fusion) that the gains are of, as of hone")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    parts = parts_of(arguments.split)
    opened = lzma.open if arguments.rows.suffix == ".xz" else open
    with opened(arguments.rows, "rt") as file:
        rows = [json.loads(line) for line in file]
    tests = {row["program"] for row in rows if parts.get(row["program"]) == "test"}
    if tests:
        raise SystemExit(f"rows of test programs: {', '.join(sorted(tests))}")
    rows = predicted(arguments, rows, train_folds(arguments, parts), parts)
    margins = arguments.work / "predicted.jsonl"
    margins.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = ["--models", arguments.models] if arguments.models else []
    calibrate = [arguments.hone, "optimize", "--calibrate-forms", margins, *models]
    subprocess.run([*calibrate, "-o", arguments.out, "--force"], check=True)


if __name__ == "__main__":
    main()
