"""Shared by the benchmarks: calling hone, listing programs, describing the machine, and small statistics."""

import argparse
import csv
import json
import math
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
GRACE_S = 5  # between asking a process to end and ending it
ISAS = {"avx512": "avx512f", "avx2": "avx2", "avx": "avx", "sse4.2": "sse4_2"}  # the widest first, and the CPU's flag
LIMITS = ("sse4.2", "avx2", "avx512")  # what --max-isa takes
NARROW_GLIBC = "glibc.cpu.hwcaps=-AVX512F,-AVX512BW,-AVX512VL"  # which looks at the CPU before anything is loaded
NARROWER = ("sse4.2", "avx", "avx2")  # what --cpu-isa takes
REASON_LENGTH = 300  # characters kept of an error


@dataclass
class Program:
    """One program to measure."""

    name: str  # short and unique within its set
    set: str  # "examples" or "corpus"
    path: Path
    weights: str = ""  # parameters that stay constant between calls, as for --weights
    run_ms: float | None = None  # of default XLA, where the corpus says it


def example_programs() -> list[Program]:
    """The programs of examples/examples.json."""
    listing = ROOT / "examples" / "examples.json"
    rows = json.loads(listing.read_text())
    return [Program(row["name"], "examples", listing.parent / row["file"], row["weights"]) for row in rows]


def short_names(files: list[str]) -> list[str]:
    """For each path its shortest unique ending of two parts or more."""

    def ending(file: str, parts: int) -> str:
        return "/".join(file.split("/")[-parts:])

    names = []
    for file in files:
        parts = 2
        while sum(ending(other, parts) == ending(file, parts) for other in files) > 1 and parts < file.count("/") + 1:
            parts += 1
        names.append(ending(file, parts))
    return names


def corpus_programs(corpus: Path) -> list[Program]:
    """The programs that RUNNABLE.tsv says compile; none when there is no such file."""
    listing = corpus / "RUNNABLE.tsv"
    if not listing.exists():
        print(f"{listing}: no such file; the corpus is left out", file=sys.stderr)
        return []
    with listing.open(newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        runnable = [row for row in rows if row["compile_ok"] == "1"]
    names = short_names([row["file"] for row in runnable])
    return [
        Program(name, "corpus", corpus / row["file"], run_ms=float(row["run_ms"]))
        for name, row in zip(names, runnable, strict=True)
    ]


class HoneError(Exception):
    """hone gave no answer; the text is its reason, in one line."""


def end_process(process: subprocess.Popen) -> None:
    """Ends a process started by call_hone, with its workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=GRACE_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def call_hone(hone: Path, arguments: list, timeout_s: float) -> dict:
    """The JSON object that `hone ARGUMENTS --json` prints; HoneError when it prints none or an error."""
    command = [str(hone), *map(str, arguments), "--json"]
    # A group of its own: an interrupt reaches this script alone, which then ends the whole group.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        end_process(process)
        raise HoneError(f"hone {arguments[0]}: no answer in {timeout_s:.0f} s") from None
    except BaseException:
        end_process(process)
        raise
    try:
        answer = json.loads(out)
    except json.JSONDecodeError:
        last = err.strip().splitlines()[-1:] or ["no output"]
        raise HoneError(f"hone {arguments[0]}: exit code {process.returncode}: {last[0][:REASON_LENGTH]}") from None
    if "error" in answer:
        error = answer["error"]
        message = error.get("message", "unknown error") if isinstance(error, dict) else str(error)
        raise HoneError(f"hone {arguments[0]}: {' '.join(message.split())[:REASON_LENGTH]}")
    return answer


def seconds_of(text: str) -> float:
    """Seconds of a duration as hone takes it: 90s, 2m, 1h, or a plain number of seconds."""
    scale = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    value = float(text[:-1]) * scale if scale else float(text)
    if not value > 0 or math.isinf(value):
        raise ValueError(f"{text}: not a duration")
    return value


def geometric_mean(values: list[float]) -> float:
    """NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


class NarrowCpu(argparse.Action):
    """Lets everything that is run see a CPU with less than this one has (narrow_cpu.cc), with caches of its own."""

    def __call__(self, parser, options, isa, option=None):
        build = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
        library, home = build / "libnarrow_cpu.so", build / f"narrow-{isa}"
        if not library.exists():
            parser.error(f"{library}: no such file; ninja -C {build} narrow_cpu builds it")
        os.environ.update(NARROW_CPU=isa, LD_AUDIT=str(library), LD_PRELOAD=str(library), GLIBC_TUNABLES=NARROW_GLIBC)
        os.environ.update(XDG_CACHE_HOME=str(home / "cache"), XDG_DATA_HOME=str(home / "data"))
        if subprocess.run(["true"]).returncode != 0:
            parser.error("--cpu-isa: this CPU or kernel cannot show a process less than it has")


def add_max_isa(parser: argparse.ArgumentParser) -> None:
    """--max-isa, for scripts that hand it to hone, and --cpu-isa, which what they run inherits."""
    parser.add_argument("--max-isa", choices=LIMITS, help="limit of the instruction set, of default XLA too")
    parser.add_argument("--cpu-isa", choices=NARROWER, action=NarrowCpu, help="as on a CPU that has no more")


def isa_words(options: argparse.Namespace) -> list[str]:
    """The limit of the instruction set as words for hone. Packages remember theirs and need none."""
    return ["--max-isa", options.max_isa] if options.max_isa else []


def limited_file(path: Path, max_isa: str | None) -> Path:
    """The file of that name for rows under the limit, which never stand beside those of the whole machine."""
    narrow = os.environ.get("NARROW_CPU")
    parts = [path.stem, max_isa, narrow and f"cpu-{narrow}"]
    return path.with_name("-".join(filter(None, parts)) + path.suffix)


def cpu_isa() -> str:
    """The widest instruction set of this CPU, or of what --cpu-isa leaves, as `hone worker --json` names it."""
    if narrow := os.environ.get("NARROW_CPU"):
        return narrow
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return next((name for name, flag in ISAS.items() if flag in flags), "sse2")


def machine(max_isa: str | None = None) -> str:
    """CPU model, cores, memory, system, and the instruction set of the code that XLA generates."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    isa = f"instruction set limited to {max_isa}" if max_isa else f"instruction set {cpu_isa()}"
    if narrow := os.environ.get("NARROW_CPU"):
        isa += f", as on a CPU with {narrow} alone"
    system = f"{platform.system()} {platform.release()}"
    return f"{model}, {os.cpu_count()} cores, {memory_bytes / 2**30:.0f} GiB, {system}, {isa}"


def commit() -> str:
    """The commit checked out, with + when tracked files differ from it; "unknown" outside git."""

    def git(*arguments: str) -> str:
        run = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
        return run.stdout.strip() if run.returncode == 0 else ""

    head = git("rev-parse", "--short=10", "HEAD")
    return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "") if head else "unknown"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """The first column flush left, the others flush right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def read_jsonl(path: Path) -> list[dict]:
    """The objects of a file of lines; an incomplete line is left out, with a message on standard error."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}: a line that is no row is left out", file=sys.stderr)
    return rows


def append_row(path: Path, row: dict) -> None:
    """Appends a line and syncs it to disk; begins a new line after an incomplete one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lines:
        if lines.tell() > 0:
            lines.seek(lines.tell() - 1)
            if lines.read(1) != "\n":  # cut off by a crash
                lines.write("\n")
        lines.write(json.dumps(row) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


class Progress:
    """Rate and time left, on standard error."""

    def __init__(self, total: int):
        self.total, self.done, self.start = total, 0, time.monotonic()

    def starting(self, what: str) -> None:
        print(f"[{self.done + 1}/{self.total}] {what}", file=sys.stderr, flush=True)

    def finished(self, result: str) -> None:
        self.done += 1
        elapsed = time.monotonic() - self.start
        left_s = elapsed / self.done * (self.total - self.done)
        rate = 3600 * self.done / elapsed
        print(f"    {result}; {rate:.0f} an hour, {left_s / 60:.1f} min left", file=sys.stderr, flush=True)


def measure_programs(
    programs: list[Program], log: Path, measure: Callable[[Program], dict], said: Callable[[dict], str]
) -> list[dict]:
    """The rows of `log` and one more for each program that has none there, stored as soon as it is measured; `said`
    describes a row in a few words. A program that fails is left out with a message."""
    log.parent.mkdir(parents=True, exist_ok=True)
    rows = read_jsonl(log)
    done = {row["program"] for row in rows}
    programs = [program for program in programs if program.name not in done]
    progress = Progress(len(programs))
    for program in programs:
        progress.starting(program.name)
        try:
            row = measure(program)
        except HoneError as error:
            progress.finished(f"left out: {error}")
            continue
        rows.append(row)
        append_row(log, row)
        progress.finished(said(row))
    return rows
