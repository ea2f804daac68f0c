#!/usr/bin/env python3
"""Feeds `hone` inputs that are broken in every way we could think of, and checks that each gets a civil answer.

A case passes when hone ends by itself with exit code 0 (the mutation left a valid program), 2 (bad input) or 1 (the
input was readable but the run failed), says why in one line or one JSON error, and leaves no file behind. Everything
follows from --seed. The last line reads `N passed, N failed`.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mutations

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 120
TUNE_EVERY = 10  # one case in so many also goes through `hone tune`


class Verdict(collections.namedtuple("Verdict", "kind command code fault")):
    """kind of mutation, subcommand, exit code, and what was wrong with the answer ('' = nothing)."""


def find_corpus(folder: Path) -> list[Path]:
    """Programs of at most 1 MB to mutate: the examples, and the corpus when it is there."""
    paths = sorted((ROOT / "examples").glob("*.mlir"))
    if folder.is_dir():
        suffixes = {".hlo", ".mlir", ".txt", ".pb", ".pbtxt"}
        paths += sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())
    return [path for path in paths if path.stat().st_size <= 1_000_000]


def complaint(code: int, stdout: str, stderr: str) -> str:
    """What is wrong with an answer; '' when it is civil."""
    if code < 0:
        return f"ended by signal {-code}"
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code == 0:
        try:
            return "" if isinstance(json.loads(stdout), dict) else "the result is not a JSON object"
        except json.JSONDecodeError:
            return "exit code 0 without a JSON result"
    if stdout.strip():
        try:
            message = json.loads(stdout)["error"]["message"]
        except (json.JSONDecodeError, KeyError, TypeError):
            return "the answer is not a JSON error"
        return "" if isinstance(message, str) and message.strip() else "the JSON error says nothing"
    lines = stderr.strip().splitlines()
    return "" if len(lines) == 1 else f"{len(lines)} lines on standard error instead of one"


def run_case(hone: Path, kind: str, data: bytes | None, command: str) -> Verdict:
    """Runs one input through `hone inspect` or `hone tune` in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="hone-fuzz-") as folder:
        cwd, tmp, given = Path(folder, "cwd"), Path(folder, "tmp"), Path(folder, "input")
        for path in (cwd, tmp, given):
            path.mkdir()
        program = given / "program"
        if kind == "directory":
            program.mkdir()
        elif data is not None:
            program.write_bytes(data)
        line = [hone, command, program, "--json"]
        if command == "tune":
            line += ["--budget", "2s", "--db", given / "records.db", "-o", given / "out.hone"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "TMPDIR": str(tmp)}
        environment["XDG_CACHE_HOME"] = str(given / "cache")  # the one place where hone keeps something for later
        try:
            run = subprocess.run(line, cwd=cwd, env=environment, capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return Verdict(kind, command, None, f"no answer in {TIMEOUT_S} s")
        text = [stream.decode(errors="replace") for stream in (run.stdout, run.stderr)]
        fault = complaint(run.returncode, *text)
        left = sorted(path.name for path in (*cwd.iterdir(), *tmp.iterdir()))
        if run.returncode != 0 and (given / "out.hone").exists():
            left.append("out.hone")
        if not fault and left:
            fault = f"left behind: {', '.join(left)[:80]}"
        return Verdict(kind, command, run.returncode, fault)


def save_failure(folder: Path, number: int, verdict: Verdict, data: bytes | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if data is not None:
        (folder / f"{number:04}-{verdict.kind}").write_bytes(data)


def print_table(verdicts: list[Verdict]) -> None:
    columns = ("ok", "run failed", "bad input", "fault")
    rows = collections.defaultdict(collections.Counter)
    for verdict in verdicts:
        column = "fault" if verdict.fault else columns[verdict.code]
        rows[f"{verdict.kind} ({verdict.command})"][column] += 1
    print(f"{'mutation':34}" + "".join(f"{column:>12}" for column in columns))
    for kind in sorted(rows):
        print(f"{kind:34}" + "".join(f"{rows[kind][column]:12}" for column in columns))
    totals = sum(rows.values(), collections.Counter())
    print(f"{'total':34}" + "".join(f"{totals[column]:12}" for column in columns))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", type=Path, default=ROOT / "build/hone", help="the program under test")
    parser.add_argument("--corpus", type=Path, default=ROOT / "../shared/corpus", help="more programs to mutate")
    parser.add_argument("-n", "--count", type=int, default=500, help="number of inputs")
    parser.add_argument("--short", action="store_true", help="40 inputs of the examples only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    options = parser.parse_args()
    hone = options.hone.resolve()
    if not shutil.which(hone):
        print(f"{hone}: not built", file=sys.stderr)
        return 2
    seeds = find_corpus(Path("/nonexistent") if options.short else options.corpus)
    count = 40 if options.short else options.count
    cases = list(mutations.make(seeds, count, random.Random(options.seed)))

    work = [(kind, data, "inspect") for kind, data in cases]
    work += [(kind, data, "tune") for kind, data in cases[::TUNE_EVERY]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = list(pool.map(lambda case: run_case(hone, *case), work))
    for number, (verdict, (_, data, _)) in enumerate(zip(verdicts, work, strict=True)):
        if verdict.fault:
            print(f"case {number}: {verdict.kind} ({verdict.command}): {verdict.fault}")
            if options.keep:
                save_failure(options.keep, number, verdict, data)
    print_table(verdicts)
    failed = sum(bool(verdict.fault) for verdict in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
