#!/usr/bin/env python3
"""Measures other forms of operations in whole programs, which calibrate `hone optimize` (scripts/calibrate_forms.py).

    bench/autotune/form_changes.py build/form-changes.jsonl --programs data/programs.json --programs DRAWN/programs.json

Every change of one operation, and of all of a family together, that leads to another program is in a duel with default
XLA (`bench_variants measure`). Programs take turns by the hash of their names, so that a part of them is a sample. A
program that is finished is not measured again; test programs never are.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

from dataset import parts_of
from harness import REASON_LENGTH, ROOT, Program, add_max_isa, append_row, end_process, measure_programs

LIMIT_S = 900  # for one program


def programs_of(manifests: list[Path], parts: dict[str, str]) -> list[Program]:
    """Without test programs, in the order of measuring."""
    programs = [
        Program(entry["name"], "forms", manifest.parent / entry["file"])
        for manifest in manifests
        for entry in json.loads(manifest.read_text())
        if parts.get(entry["name"]) != "test"
    ]
    return sorted(programs, key=lambda program: hashlib.sha256(program.name.encode()).hexdigest())


def measure(arguments: argparse.Namespace, program: Program) -> dict:
    """Appends the rows of a program, and says how many they are and why they are not all."""
    command = [arguments.tool, "measure", program.path, arguments.max_isa or ""]
    command += [arguments.only] if arguments.only else []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
        failure = f"exit code {process.returncode}: {err.strip()[-REASON_LENGTH:]}" if process.returncode != 0 else ""
    except subprocess.TimeoutExpired:
        end_process(process)
        out, failure = "", f"no end in {LIMIT_S} s"
    except BaseException:
        end_process(process)
        raise
    rows = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
    for row in rows:
        append_row(arguments.rows, row)
    return {"program": program.name, "rows": len(rows), "error": failure}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="NAME.jsonl, to be appended to; NAME.done lists finished programs")
    parser.add_argument("--programs", type=Path, action="append", required=True, help="manifest of programs")
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "random.txt")
    parser.add_argument("--tool", default="build/bench_variants")
    parser.add_argument("--only", metavar="TRANSITION", help="changes of one transition: 'attention blocks'")
    add_max_isa(parser)
    arguments = parser.parse_args()
    programs = programs_of(arguments.programs, parts_of(arguments.split))
    measure_programs(
        programs,
        arguments.rows.with_suffix(".done"),
        lambda program: measure(arguments, program),
        lambda row: row["error"] or f"{row['rows']} changes",
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the programs so far are kept; the same command goes on")
