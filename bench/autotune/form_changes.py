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
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

from dataset import parts_of
from harness import ROOT, Progress, add_max_isa, append_row, read_jsonl

LIMIT_S = 900  # for one program


def programs_of(manifests: list[Path], parts: dict[str, str]) -> dict[str, Path]:
    """Files by name, without test programs, in the order of measuring."""
    files = {}
    for manifest in manifests:
        for entry in json.loads(manifest.read_text()):
            if parts.get(entry["name"]) != "test":
                files[entry["name"]] = manifest.parent / entry["file"]
    return dict(sorted(files.items(), key=lambda item: hashlib.sha256(item[0].encode()).hexdigest()))


def measure(arguments: argparse.Namespace, file: Path) -> tuple[list[dict], str]:
    """The rows of a program, and why they are not all."""
    command = [arguments.tool, "measure", file, arguments.max_isa or "", *([arguments.only] if arguments.only else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
        wrong = err.strip().splitlines()[-1] if process.returncode != 0 else ""
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        out, wrong = process.communicate()[0], f"no end in {LIMIT_S} s"
    except BaseException:
        process.send_signal(signal.SIGTERM)
        process.wait()
        raise
    return [json.loads(line) for line in out.splitlines() if line.endswith("}")], wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rows", type=Path, help="rows are appended here; ROWS.done lists the programs that are finished"
    )
    parser.add_argument("--programs", type=Path, action="append", required=True, help="manifest of programs")
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "random.txt")
    parser.add_argument("--tool", default="build/bench_variants")
    parser.add_argument("--only", metavar="TRANSITION", help="changes of one transition: 'attention blocks'")
    add_max_isa(parser)
    arguments = parser.parse_args()
    done_file = arguments.rows.with_suffix(".done")
    done = {row["program"] for row in read_jsonl(done_file)}
    programs = programs_of(arguments.programs, parts_of(arguments.split))
    missing = {name: file for name, file in programs.items() if name not in done}
    progress = Progress(len(missing))
    for name, file in missing.items():
        progress.starting(name)
        rows, wrong = measure(arguments, file)
        for row in rows:
            append_row(arguments.rows, row)
        append_row(done_file, {"program": name, "rows": len(rows), "error": wrong})
        progress.finished(wrong or f"{len(rows)} changes")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(f"interrupted: the programs so far are kept; the same command goes on (process {os.getpid()})")
