#!/usr/bin/env python3
"""Runs the fuzz targets one after the other and ends with a table: `make fuzz MINUTES=60 [TARGET=name]`.

Inputs that reach new code are kept in BUILD/corpus/TARGET and are where the next run goes on, also after Ctrl-C. A
finding ends its target: its input is in BUILD/findings/TARGET. BUILD/runs.jsonl gets a line for each run of a target.
Exit status 1 with findings, 130 when interrupted.
"""

import argparse
import dataclasses
import json
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import seeds
import words

HERE = Path(__file__).resolve().parent
LIMITS = ["-max_len=32768", "-timeout=30", "-rss_limit_mb=2048", "-malloc_limit_mb=512"]
STATUS = re.compile(r"^#(\d+)\s.*?cov: (\d+)(?:.*?exec/s: (\d+))?")
WRITTEN = re.compile(r"Test unit written to (.+)$")
SHOW_SECONDS = 1.0


@dataclasses.dataclass
class Run:
    target: str
    executions: int = 0
    edges: int = 0
    seconds: float = 0  # of processor time
    finding: str = ""  # the input's path


def target_names() -> list[str]:
    table = (HERE / "targets/targets.def").read_text()
    return re.findall(r"^TARGET\((\w+)", table, re.MULTILINE)


def total(runs_file: Path) -> dict[str, Run]:
    """All runs so far, by target."""
    sums: dict[str, Run] = {}
    for line in runs_file.read_text().splitlines() if runs_file.exists() else []:
        run = Run(**json.loads(line))
        into = sums.setdefault(run.target, Run(run.target))
        into.executions += run.executions
        into.seconds += run.seconds
        into.edges = max(into.edges, run.edges)
        into.finding = into.finding or run.finding
    return sums


class Screen:
    """One line that says where the run stands: rewritten on a terminal, a line each half minute elsewhere."""

    def __init__(self, end: float) -> None:
        self.end, self.shown, self.live = end, 0.0, sys.stderr.isatty()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.shown < (SHOW_SECONDS if self.live else 30):
            return
        self.shown = now
        left = max(0, int(self.end - now))
        line = f"{text}, {left // 60}:{left % 60:02} left"
        print(f"\r\033[K{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def folders_of(build: Path, target: str) -> list[Path]:
    """The growing corpus first, then those that are only read."""
    corpus = build / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    (build / "findings" / target).mkdir(parents=True, exist_ok=True)
    read = [build / "seeds" / target, HERE / "corpus" / target]
    return [corpus, *(folder for folder in read if folder.is_dir())]


def fuzz(build: Path, target: str, seconds: float, screen: Screen) -> Run:
    findings = build / "findings" / target
    command = [str(build / f"fuzz_{target}"), *LIMITS, f"-max_total_time={max(1, int(seconds))}"]
    if (dictionary := build / "words" / f"{target}.dict").exists():
        command.append(f"-dict={dictionary}")
    command += [f"-artifact_prefix={findings}/", "-print_final_stats=1", *map(str, folders_of(build, target))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = Run(target)
    log = findings / "log"
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    with subprocess.Popen(command, **pipes) as p, log.open("w") as kept:
        for line in p.stderr:
            kept.write(line)
            if status := STATUS.match(line):
                run.executions, run.edges = int(status[1]), int(status[2])
                screen.show(f"{target}: {run.executions} executions, {status[3] or 0}/s, {run.edges} edges")
            if line.startswith("stat::number_of_executed_units:"):
                run.executions = int(line.split()[1])
            if (written := WRITTEN.search(line)) and not Path(written[1]).name.startswith("slow-unit"):
                run.finding = written[1]
    if p.returncode not in (0, -signal.SIGINT) and not run.finding and not interrupted:
        run.finding = str(log)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    run.seconds = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    return run


interrupted = False


def on_interrupt(*_: object) -> None:
    global interrupted
    interrupted = True  # the target gets the signal, too, and ends


def table(runs: list[Run]) -> str:
    lines = [f"{'target':<18}{'executions':>12}{'edges':>8}{'CPU min':>9}  finding"]
    for run in runs:
        lines.append(
            f"{run.target:<18}{run.executions:>12}{run.edges:>8}{run.seconds / 60:>9.1f}  {run.finding or 'none'}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60, help="for all targets together")
    parser.add_argument("--target", help="only this one")
    parser.add_argument("--totals", action="store_true", help="print the table of all runs so far")
    args = parser.parse_args()
    runs_file = args.build / "runs.jsonl"
    if args.totals:
        print(table(sorted(total(runs_file).values(), key=lambda run: run.target)))
        return 0
    names = target_names()
    if args.target and args.target not in names:
        parser.error(f"no target {args.target}: {', '.join(names)}")
    names = [args.target] if args.target else names
    if not (args.build / "seeds").is_dir():
        seeds.write(args.build / "seeds")
    words.write(args.build / "words")
    signal.signal(signal.SIGINT, on_interrupt)
    screen = Screen(time.monotonic() + args.minutes * 60)
    runs = []
    for name in names:
        if interrupted:
            break
        runs.append(fuzz(args.build, name, args.minutes * 60 / len(names), screen))
        with runs_file.open("a") as out:
            out.write(json.dumps(dataclasses.asdict(runs[-1])) + "\n")
    screen.clear()
    print(table(runs))
    findings = [run.finding for run in runs if run.finding]
    for path in findings:
        print(f"finding: {path}", file=sys.stderr)
    return 1 if findings else 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
