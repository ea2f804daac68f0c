#!/usr/bin/env python3
"""Exports the corpus of programs as StableHLO text (data/programs/NAME.mlir.gz) and lists them in data/programs.json.

Weights are parameters, known by shape only. Each program is run once by `hone run` on XLA:CPU; the list has the run
time and the size. Programs that are exported and listed already are skipped, so an interrupted run can be continued.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_CONSTANT_BYTES = 32_768  # of text in one line: a longer one is a constant array
MAX_PARAMETER_BYTES = 400_000_000

# One thread, and no accelerator: the text must not depend on the machine it is written on.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class ExportError(Exception):
    """One program cannot be exported; the message is one line."""


def one_line(text) -> str:
    return " ".join(str(text).split())[:300]


def load_entries() -> dict:
    try:
        import models.all  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"error: {one_line(error)}: run scripts/setup.sh --models first") from None
    from models.registry import ENTRIES

    return ENTRIES


def program_text(entry) -> tuple[str, int]:
    """StableHLO text of the program, and how many of its first parameters are weights."""
    import jax

    program = entry.make(entry.batch)

    def function(weights, *inputs):
        return program.function(weights, *inputs)

    function.__name__ = entry.name
    leaves = jax.tree.leaves((program.weights, program.inputs))
    parameter_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
    if parameter_bytes > MAX_PARAMETER_BYTES:
        raise ExportError(f"parameters take {parameter_bytes / 1e6:.0f} MB, at most {MAX_PARAMETER_BYTES / 1e6:.0f}")
    text = jax.jit(function, keep_unused=True).lower(program.weights, *program.inputs).as_text()
    longest = max(len(line) for line in text.splitlines() if "dense<" in line or "func.func" not in line)
    if longest > MAX_CONSTANT_BYTES:
        raise ExportError(f"a line of {longest} bytes: is an array a constant?")
    return text, len(jax.tree.leaves(program.weights)) if program.constant else 0


def file_name(name: str) -> str:
    return f"{name}.mlir.gz"


def labels(entry, out: Path) -> dict:
    """The part of a row that does not depend on the export; the file's path is relative to the list."""
    return {
        "name": entry.name,
        "file": f"{out.name}/{file_name(entry.name)}",
        "family": entry.family,
        "model": entry.model,
        "batch": entry.batch,
        "library": entry.library,
        "about": entry.about,
    }


def write_packed(path: Path, text: str) -> int:
    """Writes gzip atomically and without a date, so equal programs give equal files."""
    packed = gzip.compress(text.encode(), 9, mtime=0)
    partial = path.with_suffix(".partial")
    partial.write_bytes(packed)
    partial.replace(path)
    return len(packed)


def hone_json(hone: Path, *arguments: str, timeout_s: float) -> dict:
    try:
        result = subprocess.run(
            [str(hone), *arguments, "--json", "-q"], capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise ExportError(f"hone {arguments[0]} took more than {timeout_s:.0f} s") from None
    except OSError as error:
        raise SystemExit(f"error: {hone}: {error.strerror}: run make build, or give --no-run") from None
    try:
        reply = json.loads(result.stdout)
    except ValueError:
        raise ExportError(f"hone {arguments[0]}: {one_line(result.stderr or 'no output')}") from None
    if result.returncode != 0:
        error = reply.get("error", {})
        if "worker program is missing" in str(error.get("message")):
            raise SystemExit(f"error: {one_line(error['message'])}: run make build, or give --no-run")
        raise ExportError(f"hone {arguments[0]}: {one_line(error.get('message'))} {one_line(error.get('where') or '')}")
    return reply


def bad_outputs(path: Path) -> int:
    """The number of outputs with an infinity or a NaN."""
    import numpy as np

    with np.load(path) as arrays:
        return sum(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays.values())


def verify(hone: Path, path: Path) -> dict:
    """Runs the program once on XLA:CPU and counts its instructions."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs.npz"
        run = hone_json(
            hone, "run", str(path), "--threads", "1", "--repeat", "1", "--outputs", str(outputs), timeout_s=180
        )
        seconds = time.perf_counter() - start
        not_finite = bad_outputs(outputs)
    inspect = hone_json(hone, "inspect", str(path), timeout_s=180)
    return {
        "instructions": inspect["instructions"],
        "kernels": sum(kind["distinct"] for kind in inspect["kernels"].values()),
        "run_ms": float(f"{run['min_ns'] / 1e6:.3g}"),
        "first_run_s": float(f"{seconds:.2g}"),
        "finite": not_finite == 0,
    }


def export(entry, out: Path, hone: Path | None) -> dict:
    """Writes and checks one program; its row of the list. The file is removed again if it does not run."""
    path = out / file_name(entry.name)
    try:
        text, weights = program_text(entry)
    except ExportError:
        raise
    except Exception as error:  # from any library: the other programs can still be exported
        raise ExportError(f"{type(error).__name__}: {one_line(error)}") from error
    row = labels(entry, out) | {
        "weights": f"0-{weights - 1}" if weights > 1 else "0" if weights else "",
        "bytes": write_packed(path, text),
    }
    if hone is not None:
        try:
            row |= verify(hone, path)
        except ExportError:
            path.unlink()
            raise
    return row


def read_list(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    try:
        return {row["name"]: row for row in json.loads(path.read_text())}
    except (ValueError, TypeError, KeyError) as error:
        raise SystemExit(f"error: {path}: not a list of programs ({one_line(error)}): remove it") from None


def kept_rows(rows: dict[str, dict], entries: dict, out: Path) -> dict[str, dict]:
    """The rows whose program still exists, as a file and in the table, with their current labels."""
    return {
        name: row | labels(entries[name], out)
        for name, row in rows.items()
        if name in entries and (out / file_name(name)).exists()
    }


def write_list(path: Path, rows: dict[str, dict], order) -> None:
    lines = ",\n  ".join(json.dumps(rows[name]) for name in order if name in rows)
    partial = path.with_suffix(".partial")
    partial.write_text(f"[\n  {lines}\n]\n")
    partial.replace(path)


def progress_line(done: int, total: int, start: float) -> str:
    elapsed = time.perf_counter() - start
    rate = done / elapsed if elapsed > 0 else 0
    left = (total - done) / rate if rate else 0
    return f"{done}/{total}  {rate * 60:.1f} a minute, {left / 60:.1f} min left"


def export_all(entries: list, rows: dict, options, order, list_path: Path) -> list[str]:
    """Exports the entries, with the list written after each; the names that failed."""
    import keras

    failed = []
    start = time.perf_counter()
    for done, entry in enumerate(entries, 1):
        try:
            row = rows[entry.name] = export(entry, options.out, None if options.no_run else options.hone)
            write_list(list_path, rows, order)
            note = f"{row['bytes']:7} bytes"
            if "run_ms" in row:
                note += f"  {row['instructions']:5} instructions  {row['run_ms']:8.3g} ms"
                note += "" if row["finite"] else "  outputs not finite"
        except ExportError as error:
            failed.append(entry.name)
            if rows.pop(entry.name, None):
                write_list(list_path, rows, order)
            note = f"error: {error}"
        keras.backend.clear_session()
        print(f"{entry.name:28} {note}  [{progress_line(done, len(entries), start)}]", flush=True)
    return failed


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Exit code: 0, 1 when a program failed, 2 for bad arguments."
    )
    parser.add_argument("--only", metavar="REGEX", default="", help="only programs whose name or family matches")
    parser.add_argument("--out", type=Path, metavar="FOLDER", default=ROOT / "data/programs", help="folder to write to")
    parser.add_argument("--hone", type=Path, default=ROOT / "build/hone", help="the program that checks each export")
    parser.add_argument("--no-run", action="store_true", help="export only: no run, no instruction count")
    parser.add_argument("--force", action="store_true", help="export again what exists")
    parser.add_argument("--list", action="store_true", help="print names and families, export nothing")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    entries = load_entries()
    try:
        pattern = re.compile(options.only)
    except re.error as error:
        print(f"error: --only {options.only}: {error}", file=sys.stderr)
        return 2
    chosen = [entry for entry in entries.values() if pattern.search(entry.name) or pattern.search(entry.family)]
    if not chosen:
        print(f"error: --only {options.only}: no program has such a name or family; see --list", file=sys.stderr)
        return 2
    if options.list:
        for entry in chosen:
            print(f"{entry.name:28} {entry.family:16} {entry.library:10} {entry.about}")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    list_path = options.out.parent / f"{options.out.name}.json"
    rows = kept_rows(read_list(list_path), entries, options.out)
    done = {name for name, row in rows.items() if options.no_run or "finite" in row}  # exported, and run if asked for
    todo = [entry for entry in chosen if options.force or entry.name not in done]
    seen = set() if options.force else {rows[name]["model"] for name in done}
    todo.sort(key=lambda entry: entry.model in seen or bool(seen.add(entry.model)))  # every model once, then the rest
    print(f"{len(chosen)} programs, {len(chosen) - len(todo)} exported before", flush=True)
    failed = export_all(todo, rows, options, list(entries), list_path)
    write_list(list_path, rows, list(entries))
    print(f"{len(rows)} programs in {list_path}, {sum(row['bytes'] for row in rows.values()) / 1e6:.2f} MB")
    if failed:
        print(f"error: {len(failed)} failed: {' '.join(failed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:  # the folder cannot be written
        sys.exit(f"error: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        print("interrupted: run again to continue", file=sys.stderr)
        sys.exit(130)
