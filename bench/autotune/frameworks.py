#!/usr/bin/env python3
"""Whole programs: default XLA and the result of `hone tune`, against stock JAX, PyTorch (eager and torch.compile), ONNX
Runtime, OpenVINO and TVM, on the same models with the same weights and inputs, interleaved in one process.

The models are the examples that frameworks_models.py has as PyTorch modules and, with --set larger, the whole models
of larger/modules.py. A contender whose outputs differ from default XLA's by more than the tolerance of their type is
left out and counted. With several threads a turn waits until those of the contender before sleep, and begins with a
call that is not timed. Each program is one row of a JSONL file; results of tuning are stored beside it, so that a
stopped run can be continued. --check only compares outputs.
"""

import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import export_larger, failures, finish, head, run_missing
from harness import ROOT, HoneError, call_hone, example_programs, geometric_mean, markdown_table, seconds_of

MISSING = ""
try:
    import frameworks_models
    from larger import modules
except ImportError as error:
    MISSING = str(error)

KEYS = ("name", "threads", "seed", "budget", "clock")
GROUP = ("threads", "clock", "budget")  # equal for all rows of one table
# key -> (column, distributions whose versions matter)
CONTENDERS = {
    "default": ("default XLA", ["tensorflow-cpu"]),
    "tuned": ("tuned", []),
    "call": ("tuned, `hone.load`", []),
    "jax": ("stock `jax.jit`", ["jax", "jaxlib"]),
    "eager": ("torch eager", ["torch"]),
    "compile": ("torch.compile", ["torch"]),
    "onnxruntime": ("ONNX Runtime", ["onnxruntime", "onnx", "onnxscript"]),
    "openvino": ("OpenVINO", ["openvino"]),
    "tvm": ("TVM", ["apache-tvm"]),
}
PEERS = ("jax", "compile", "onnxruntime", "openvino")  # the fastest of these is what tuned programs are held against
LEVEL = 0.97  # of the fastest peer's speed
MADE = "made.json"  # in a stage's folder: its times
STAGE_LIMIT_S = 900
AHEAD = ("compile", "onnxruntime", "openvino", "tvm")  # contenders with a stage before their first call


def run_stage(stage: str, row: dict, program: dict, folder: Path, options: argparse.Namespace) -> dict:
    """The answer of frameworks_stages.py, run in a separate process: a crash of one framework affects one program."""
    request = {
        "stage": stage,
        "name": row["name"],
        "threads": row["threads"],
        "seed": row["seed"],
        "rounds": options.rounds,
        "clock": row["clock"],
        "folder": str(folder),
        "build": str(options.hone.parent),
        "contenders": options.contenders,
        "tvm_budget_s": options.tvm_budget_s,
        "parameters": program["parameters"],
        "constants": program["constants"],
    }
    command = [sys.executable, str(Path(__file__).with_name("frameworks_stages.py")), json.dumps(request)]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "python"),
        "OMP_NUM_THREADS": str(row["threads"]),
        "TVM_NUM_THREADS": str(row["threads"]),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }
    log = folder / f"{stage}.log"
    with log.open("w") as errors:
        run = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, timeout=STAGE_LIMIT_S, check=False
        )
    try:
        return json.loads(run.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
        raise HoneError(f"{stage}: exit code {run.returncode}: {last[0][:300]}") from None


def facts(row: dict, folder: Path, options: argparse.Namespace) -> dict:
    """Where the program is and what its parameters are; the first ones are its weights."""
    if row["name"] in modules.MODELS:
        path = folder / "program.mlir"
        constants = export_larger(row["name"], path)
        weights = f"0-{constants - 1}"
    else:
        program = next(program for program in example_programs() if program.name == row["name"])
        path, weights = program.path, program.weights
        constants = int(weights.split("-")[-1]) + 1  # as scripts/export_examples.py has them
    found = call_hone(options.hone, ["inspect", path], STAGE_LIMIT_S)
    return {
        "path": str(path),
        "weights": weights,
        "constants": constants,
        "parameters": found["parameters"],
        "flops": found["flops"],
    }


def bytes_of(parameters: list[str]) -> int:
    """Of f32 and s32 arrays, written as f32[2,3]."""
    sizes = [text.rstrip("]").partition("[")[2].split(",") for text in parameters]
    return sum(4 * math.prod(int(size) for size in size_list if size) for size_list in sizes)


def package(row: dict, program: dict, folder: Path, options: argparse.Namespace) -> dict:
    """The program from hone tune or, to compare outputs only, from hone optimize, which takes a second or two."""
    to = ["--weights", program["weights"], "-o", folder / "tuned.hone", "--force"]
    arguments = ["optimize", program["path"], "--no-verify", *to]
    if not options.check:
        arguments = ["tune", program["path"], "--budget", row["budget"], "--threads", row["threads"], *to]
        arguments += ["--seed", row["seed"], "--fresh", "--db", folder / "tune.db"]
    begin = time.monotonic()
    answer = call_hone(options.hone, arguments, STAGE_LIMIT_S)
    known = {key: answer[key] for key in ("speedup", "verified", "candidates") if key in answer}
    return known | {"seconds": time.monotonic() - begin}


def once(name: str, folder: Path, make) -> dict:
    """The answer of make(), which is called only if the folder has none yet."""
    made = json.loads((folder / MADE).read_text()) if (folder / MADE).exists() else {}
    if name not in made:
        made[name] = make()
        (folder / MADE).write_text(json.dumps(made))
    return made[name]


def measure(row: dict, options: argparse.Namespace) -> None:
    folder = options.work / f"{row['name']}-{row['threads']}-{row['seed']}-{row['budget']}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        program = once("program", folder, lambda: facts(row, folder, options))
        row["flops"], row["parameter_bytes"] = program["flops"], bytes_of(program["parameters"])
        for stage in AHEAD:
            if stage in options.contenders:
                row[stage] = once(stage, folder, lambda stage=stage: prepare(stage, row, program, folder, options))
        if options.prepare:
            return
        row["tune"] = once("tune", folder, lambda: package(row, program, folder, options))
        row.update(run_stage("check" if options.check else "measure", row, program, folder, options))
    except (HoneError, OSError, subprocess.TimeoutExpired) as error:
        row["error"] = " ".join(str(error).split())[:300]


def prepare(stage: str, row: dict, program: dict, folder: Path, options: argparse.Namespace) -> dict:
    """The stage of a framework before its first call; a failure is recorded and affects only its own column."""
    try:
        return run_stage(stage, row, program, folder, options)
    except (HoneError, subprocess.TimeoutExpired) as error:
        return {"error": " ".join(str(error).split())[:300]}


def versions() -> str:
    found = {}
    for _, distributions in CONTENDERS.values():
        for name in distributions:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found[name] = "not installed"
    return ", ".join(f"{name} {version}" for name, version in found.items())


def ratio(row: dict, key: str) -> float | None:
    """Default XLA's run time divided by the contender's; None where it has no checked result."""
    got = row["contenders"].get(key, {})
    return got.get("speedup")


def time_table(rows: list[dict]) -> str:
    header = ["program, ms per call: median (least)"] + [column for column, _ in CONTENDERS.values()]
    lines = []
    for row in rows:
        cells = [row["name"]]
        for key in CONTENDERS:
            got = row["contenders"].get(key, {})
            cells.append(f"{got['ns'] / 1e6:.3f} ({got['least_ns'] / 1e6:.3f})" if "ns" in got else "-")
        lines.append(cells)
    return markdown_table(header, lines)


def ratio_table(rows: list[dict]) -> str:
    keys = [key for key in CONTENDERS if key != "default"]
    header = ["default XLA's time / its own"] + [CONTENDERS[key][0] for key in keys]
    lines = []
    for row in rows:
        cells = [row["name"]]
        for key in keys:
            got = row["contenders"].get(key, {})
            cells.append(
                "{:.2f} [{:.2f}, {:.2f}]".format(got["speedup"], *got["interval"]) if "speedup" in got else "-"
            )
        lines.append(cells)
    for label, pick in (("geometric mean", geometric_mean), ("best", max), ("worst", min)):
        cells = [label]
        for key in keys:
            values = [value for row in rows if (value := ratio(row, key)) is not None]
            cells.append(f"{pick(values):.3f} ({len(values)})" if values else "-")
        lines.append(cells)
    return markdown_table(header, lines)


def against_table(rows: list[dict]) -> str:
    """Tuned against each framework: geometric mean of its time over Hone's, and how many programs are faster with
    Hone."""
    lines = []
    for key, (column, _) in CONTENDERS.items():
        if key in ("tuned", "call"):
            continue
        values = []
        for row in rows:
            theirs, ours = row["contenders"].get(key, {}).get("ns"), row["contenders"].get("tuned", {}).get("ns")
            if theirs and ours:
                values.append((theirs / ours, row["name"]))
        if values:
            mean = geometric_mean([value for value, _ in values])
            ahead = sum(value > 1 for value, _ in values)
            least = "{:.2f} {}".format(*min(values))
            lines.append([column, f"{mean:.3f}", f"{ahead} of {len(values)}", "{:.2f} {}".format(*max(values)), least])
    return markdown_table(["its time / tuned", "geometric mean", "tuned is faster", "most", "least"], lines)


def fastest_peer(row: dict) -> tuple[float, str] | None:
    """The least time of the peers over the tuned program's, and which peer it is."""
    ours = row["contenders"].get("tuned", {}).get("ns")
    theirs = [(row["contenders"].get(key, {}).get("ns"), CONTENDERS[key][0]) for key in PEERS]
    theirs = [(ns, column) for ns, column in theirs if ns]
    return (min(theirs)[0] / ours, min(theirs)[1]) if ours and theirs else None


def rate_table(rows: list[dict]) -> str:
    """What bounds the tuned programs: arithmetic as XLA counts it, and what weights and inputs take, each read once."""
    lines = []
    for row in rows:
        ns = row["contenders"].get("tuned", {}).get("ns")
        if not ns or "flops" not in row:
            continue
        flops, size = row["flops"], row["parameter_bytes"]
        lines.append([row["name"], f"{flops / 1e9:.3g}", f"{flops / ns:.1f}", f"{size / 1e6:.3g}", f"{size / ns:.1f}"])
    header = ["program", "GFLOP", "GFLOP/s tuned", "MB of weights and inputs", "GB/s tuned"]
    return markdown_table(header, lines) if lines else ""


def peers_table(rows: list[dict]) -> str:
    found = [(row["name"], fastest_peer(row)) for row in rows]
    lines = [[name, peer[1], f"{peer[0]:.2f}"] for name, peer in found if peer]
    values = [peer[0] for _, peer in found if peer]
    if not values:
        return ""
    level = sum(value >= LEVEL for value in values)
    return markdown_table(["program", "fastest peer", "its time / tuned"], lines) + (
        f"\nAgainst the fastest of {', '.join(CONTENDERS[key][0] for key in PEERS)}: geometric mean "
        f"{geometric_mean(values):.3f}, level or ahead (>= {LEVEL}) on {level} of {len(values)}.\n"
    )


def effort_table(rows: list[dict]) -> str:
    header = ["program, seconds before the first call", "tuned (search)"]
    header += [f"{CONTENDERS[key][0]} (CPU)" for key in AHEAD] + ["TVM trials"]
    lines = []
    for row in rows:
        cells = [row["name"], f"{row['tune']['seconds']:.0f}"]
        made = [row.get(key, {}) for key in AHEAD]
        cells += [f"{answer['cpu_s']:.1f}" if "cpu_s" in answer else "-" for answer in made]
        tvm = row.get("tvm", {})
        cells.append(f"{tvm['trials']}" if "trials" in tvm else "-")
        if "searched" in tvm:  # a search that ran out of time may not have reached all
            cells[-1] += f", {tvm['searched']} of {tvm['tasks']} tasks"
        lines.append(cells)
    return markdown_table(header, lines)


def left_out(rows: list[dict]) -> str:
    """Contenders without a time, with the reason: it failed, or its outputs differ."""
    lines = []
    for row in rows:
        for key, got in row["contenders"].items():
            reason = row.get(key, {}).get("error") or got.get("error")
            if reason:
                lines.append(f"- {row['name']}, {CONTENDERS[key][0]}: {reason}\n")
    return f"\nLeft out, {len(lines)}:\n\n" + "".join(lines) if lines else "\nNothing was left out.\n"


def error_table(rows: list[dict]) -> str:
    header = ["largest difference, in tolerances"] + [column for column, _ in CONTENDERS.values()]
    lines = []
    for row in rows:
        got = row["contenders"]
        lines.append(
            [row["name"]]
            + [f"{got[key]['difference']:.3f}" if "difference" in got.get(key, {}) else "-" for key in CONTENDERS]
        )
    return markdown_table(header, lines)


def tables(rows: list[dict], check: bool) -> str:
    good = [row for row in rows if "error" not in row]
    if not good:
        return ""
    text = f"- Versions: {versions()}\n"
    if not check:
        for group in sorted({tuple(row[key] for key in GROUP) for row in good}):
            here = [row for row in good if tuple(row[key] for key in GROUP) == group]
            threads, clock, budget = group
            text += f"\n## {threads} thread{'s' if threads > 1 else ''}, {clock} time, search of {budget}\n\n"
            text += "\n".join(
                part(here) for part in (ratio_table, against_table, peers_table, rate_table, time_table, effort_table)
            )
    return text + "\n## Outputs against default XLA's\n\n" + error_table(good) + left_out(good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--set", choices=["examples", "larger"], default="examples", help="which models (default examples)"
    )
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="of these, only some")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), metavar="NAME[,NAME]", help="default: all")
    parser.add_argument("--budget", default="60s", help="of hone tune (default 60s)")
    parser.add_argument("--tvm-budget", help="of TVM's MetaSchedule; 0 is its default schedules (default as --budget)")
    parser.add_argument("--prepare", action="store_true", help="only make what the other frameworks need ahead")
    parser.add_argument("--threads", default="1", help="thread counts, as 1,2 (default 1)")
    parser.add_argument("--rounds", type=int, default=60, help="in each, every contender once (default 60)")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: the process's time, for one thread on a busy machine",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="only compare outputs with default XLA's, no times")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument("--out", type=Path, help="the tables in Markdown (default: only printed)")
    parser.add_argument("--jsonl", type=Path, help="raw rows (default build/bench/autotune-frameworks.jsonl)")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    kind = "frameworks-check" if options.check else "frameworks"
    options.jsonl = (options.jsonl or ROOT / "build" / "bench" / f"autotune-{kind}.jsonl").resolve()
    options.work = options.jsonl.with_suffix("")
    options.contenders = options.contenders.split(",")
    unknown = set(options.contenders) - set(CONTENDERS)
    if unknown or "default" not in options.contenders:
        parser.error(f"--contenders: default, and some of {', '.join(CONTENDERS)}")
    if not options.hone.exists():
        parser.error(f"{options.hone}: no such program; run make build")
    if MISSING:
        parser.error(f"{MISSING}: run scripts/setup.sh --bench")
    models = {"examples": frameworks_models, "larger": modules}[options.set].MODELS
    wanted = options.only.split(",") if options.only else list(models)
    if set(wanted) - set(models):
        parser.error(f"--only: no PyTorch module for {', '.join(sorted(set(wanted) - set(models)))}")
    try:
        seconds_of(options.budget)
        tvm_budget = options.tvm_budget or options.budget
        options.tvm_budget_s = 0.0 if options.check or tvm_budget in ("0", "0s") else seconds_of(tvm_budget)
        counts = [int(text) for text in options.threads.split(",")]
    except ValueError as error:
        parser.error(str(error))
    jobs = [
        {"name": name, "threads": threads, "seed": options.seed, "budget": options.budget, "clock": options.clock}
        for threads in counts
        for name in wanted
    ]
    if options.prepare:
        options.jsonl = options.jsonl.with_suffix(".prepare.jsonl")
    rows, interrupted = run_missing(jobs, KEYS, lambda row: measure(row, options), options)
    if options.prepare:
        return 130 if interrupted else 0
    text = head("Against other frameworks", rows, len(jobs)) + tables(rows, options.check) + failures(rows, KEYS)
    return finish(text, options, interrupted)


if __name__ == "__main__":
    sys.exit(main())
