"""Shared by the autotuner benchmarks: test programs of a split, rows that survive an interrupt, a document's head."""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (
    ROOT,
    HoneError,
    Program,
    Progress,
    add_max_isa,
    append_row,
    commit,
    limited_file,
    machine,
    read_jsonl,
)


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "random.txt")
    parser.add_argument(
        "--programs", type=Path, default=ROOT / "data" / "programs.json", help="list of the split's programs"
    )
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="of the test programs, these")
    parser.add_argument("--max-programs", type=int, metavar="N", help="the first N")
    parser.add_argument("--out", type=Path, help="the table in Markdown (default: only printed)")
    add_max_isa(parser)
    parser.add_argument("--jsonl", type=Path, default=ROOT / "build" / "bench" / f"autotune-{name}.jsonl")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")


def add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--db", type=Path, help="the tune database (default: beside the raw rows)")


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    if "db" in options:
        options.db = options.db or limited_file(options.jsonl.with_suffix(".db"), options.max_isa)


def test_programs(options: argparse.Namespace) -> list[Program]:
    """The programs of the split's test part that have a file, in the split's order."""
    listed = {row["name"]: row for row in json.loads(options.programs.read_text())}
    wanted = set(filter(None, options.only.split(",")))
    programs = []
    for line in options.split.read_text().splitlines():
        part, _, name = line.partition("\t")
        if part != "test" or name not in listed or (wanted and name not in wanted):
            continue
        path = options.programs.parent / listed[name]["file"]
        if path.exists():
            programs.append(Program(name, "test", path, listed[name].get("weights", "")))
        else:
            print(f"{path}: not exported, left out", file=sys.stderr)
    return programs[: options.max_programs]


def run_missing(
    jobs: list[dict], keys: tuple[str, ...], run: Callable[[dict], None], options: argparse.Namespace
) -> tuple[list[dict], bool]:
    """Runs the jobs whose row is not in the file yet. Returns (the rows of all finished jobs, whether interrupted).
    A row also has the limit of the instruction set that it was measured under."""
    max_isa = getattr(options, "max_isa", None)
    for job in jobs:
        job["max_isa"] = max_isa

    def key_of(row: dict) -> tuple:
        return (*(row.get(key) for key in keys), row.get("max_isa"))

    done = {key_of(row): row for row in read_jsonl(options.jsonl)}
    missing = [job for job in jobs if key_of(job) not in done or (options.retry and "error" in done[key_of(job)])]
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} rows are in {options.jsonl}", file=sys.stderr)
    progress = Progress(len(missing))
    interrupted = False
    try:
        for job in missing:
            progress.starting(" ".join(str(job[key]) for key in keys))
            run(job)
            job.update(commit=commit(), load=round(os.getloadavg()[0], 2))
            append_row(options.jsonl, job)
            done[key_of(job)] = job
            progress.finished(job.get("error", "done"))
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted: finished rows are kept", file=sys.stderr)
    return [done[key_of(job)] for job in jobs if key_of(job) in done], interrupted


def head(title: str, rows: list[dict], wanted: int, max_isa: str | None = None) -> str:
    loads = [row["load"] for row in rows if "load" in row]
    commits = ", ".join(sorted({row["commit"] for row in rows if "commit" in row})) or commit()
    text = f"# {title}\n\n- Date: {datetime.date.today().isoformat()}\n- Machine: {machine(max_isa)}\n"
    if loads:
        text += f"- Load average of the machine after each run: {min(loads):.2f} to {max(loads):.2f}\n"
    text += f"- Command: `{Path(sys.argv[0]).name} {shlex.join(sys.argv[1:])}`\n- Commit: {commits} (+: with changes)\n"
    if rows and len(rows) < wanted:
        text += f"- **Incomplete: {len(rows)} of {wanted} results**\n"
    return text + "\n"


def failures(rows: list[dict], keys: tuple[str, ...]) -> str:
    bad = [row for row in rows if "error" in row]
    if not bad:
        return ""
    return "\nWithout a result:\n\n" + "".join(
        f"- {' '.join(str(row[key]) for key in keys)}: {row['error']}\n" for row in bad
    )


def finish(text: str, options: argparse.Namespace, interrupted: bool) -> int:
    print(text, end="")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)
        print(f"{options.out}: written", file=sys.stderr)
    return 130 if interrupted else 0


def export_larger(name: str, path: Path) -> int:
    """Writes a whole model of larger/ as StableHLO; how many of its first parameters are weights."""
    command = [sys.executable, Path(__file__).with_name("larger") / "programs.py", name, "-o", path]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode != 0:
        raise HoneError(f"larger/programs.py: {run.stderr.strip().splitlines()[-1:]}")
    return json.loads(run.stdout)["weights"]
