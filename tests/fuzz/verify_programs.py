#!/usr/bin/env python3
"""Runs `hone verify` on many programs until enough pairs of decisions and inputs are compared, and counts causes.

Programs: tests/fuzz/programs, those of `hone generate`, and the corpus (RUNNABLE.tsv, small ones that XLA runs).
Every pair is a line of rows.jsonl in the folder; a run that was interrupted goes on where it stopped. In every
second round parameters of two dimensions but the first are declared weights. `--causes` repeats pairs that differ
or fail with each of their decisions alone; those that still do are the cause. Everything follows from --seed.
"""

import argparse
import collections
import csv
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import harness  # noqa: E402

FAULTS = ("differs", "compile_failed", "crashed", "timed_out", "run_failed")
MOST_MS = 60  # of a run of a program of the corpus
MOST_COMPILE_MS = 2500


def corpus_programs(corpus: pathlib.Path) -> list[pathlib.Path]:
    """Those that XLA compiles and runs in little time, smallest first."""
    if not (corpus / "RUNNABLE.tsv").exists():
        return []
    with (corpus / "RUNNABLE.tsv").open() as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["compile_ok"] == "1"]
    rows = [row for row in rows if float(row["run_ms"]) < MOST_MS and float(row["compile_ms"]) < MOST_COMPILE_MS]
    rows.sort(key=lambda row: int(row["instructions"]))
    return [corpus / row["file"] for row in rows if (corpus / row["file"]).exists()]


def programs(options: argparse.Namespace, folder: pathlib.Path) -> list[pathlib.Path]:
    own = sorted((ROOT / "tests/fuzz/programs").glob("*.hlo"))
    generated = folder / "generated"
    if options.generated and not generated.exists():
        command = [
            options.hone,
            "generate",
            "--count",
            options.generated,
            "--seed",
            options.seed,
            "-o",
            generated,
            "-q",
        ]
        subprocess.run([str(word) for word in command], check=True)
    made = sorted(generated.glob("*.hlo"))[: options.generated]
    return own + corpus_programs(options.corpus) + made


def verify(options: argparse.Namespace, program: pathlib.Path, seed: int, words: list) -> dict:
    """The object that hone verify prints; {"error": ...} where it ends without one."""
    command = [options.hone, "verify", program, "--seed", seed, "--timeout", f"{options.timeout}s", "--json", "-q"]
    command += words
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=options.program_timeout,
            check=False,
        )
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": {"message": f"no end within {options.program_timeout} s"}}
    except json.JSONDecodeError:
        return {"error": {"message": done.stderr.strip()[-300:] or f"exit code {done.returncode}"}}


@functools.cache
def parameters_of(hone: pathlib.Path, program: pathlib.Path) -> list[str]:
    """Shapes as HLO writes them, or nothing where the program cannot be read."""
    done = subprocess.run([str(hone), "inspect", str(program), "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["parameters"] if done.returncode == 0 else []


def weights_of(options: argparse.Namespace, program: pathlib.Path) -> str:
    shapes = parameters_of(options.hone, program)
    return ",".join(str(n) for n, shape in enumerate(shapes) if n > 0 and shape.count(",") == 1 and "(" not in shape)


def key_of(row: dict) -> tuple:
    return row["program"], row["seed"], row["inputs"], row["decisions"]


def run(options: argparse.Namespace, folder: pathlib.Path) -> None:
    rows_file, runs_file = folder / "rows.jsonl", folder / "runs.jsonl"
    ended = {(run["program"], run["seed"]) for run in harness.read_jsonl(runs_file)}
    pairs = len(harness.read_jsonl(rows_file))
    start, before = time.monotonic(), pairs
    names = programs(options, folder)
    for seed in range(options.seed, options.seed + options.rounds):
        for program in names:
            name = program.name if ROOT not in program.parents else str(program.relative_to(ROOT))
            if pairs >= options.pairs:
                return
            if (name, seed) in ended:
                continue
            words = ["-n", options.candidates]
            weights = weights_of(options, program) if (seed - options.seed) % 2 == 1 else ""
            words += ["--weights", weights] if weights else []
            words += ["-o", folder / "differences" / f"{program.stem}-{seed}"]
            began = time.monotonic()
            result = verify(options, program, seed, words)
            for row in result.get("rows", []):
                harness.append_row(rows_file, {"program": name, "path": str(program), "weights": weights, **row})
            pairs += len(result.get("rows", []))
            error = result.get("error", {}).get("message", "")
            ended_run = {"program": name, "seed": seed, "pairs": len(result.get("rows", [])), "error": error}
            harness.append_row(runs_file, ended_run | {"seconds": round(time.monotonic() - began, 2)})
            rate = (pairs - before) / (time.monotonic() - start)
            print(f"{pairs}/{options.pairs} pairs, {rate:.1f}/s, {name} seed {seed} {error}", flush=True)


def family(decision: str) -> str:
    """ "rewrite convolution" of "rewrite convolution:f32[...]=winograd=4", "codegen tile" of a kernel's option."""
    kind, _, rest = decision.partition(" ")
    key, _, value = rest.partition("=")
    if kind in ("rewrite", "library") and ":" in key:
        return f"{kind} {key.split(':')[0]} {value.split(';')[0]}"
    if kind in ("codegen", "library"):
        return f"{kind} {value.split('=')[0].split(';')[0]}"
    if kind in ("option", "library", "weights"):
        return f"{kind} {key if kind == 'option' else ''} {value}".replace("  ", " ")
    return kind


def alone(options: argparse.Namespace, row: dict) -> list[str]:
    """The families of those of the row's decisions that differ or fail by themselves."""
    decisions = row["decisions"].split("|")
    if len(decisions) == 1 or any("\\" in decision for decision in decisions):
        return [family(decisions[0])] if len(decisions) == 1 else ["(not divided)"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "each.txt")
        file.write_text("\n".join(decisions) + "\n")
        words = ["-n", 0, "--kinds", row["inputs"], "--decisions", file, "--no-interpreter", "-o", f"{folder}/out"]
        words += ["--weights", row["weights"]] if row["weights"] else []
        result = verify(options, pathlib.Path(row["path"]), row["seed"], words)
    found = [r["decisions"] for r in result.get("rows", []) if r["decisions"] and r["status"] in FAULTS]
    return sorted({family(decision) for decision in found}) or ["(together)"]


def find_causes(options: argparse.Namespace, folder: pathlib.Path) -> None:
    causes_file = folder / "causes.jsonl"
    known = {key_of(cause) for cause in harness.read_jsonl(causes_file)}
    for row in harness.read_jsonl(folder / "rows.jsonl"):
        if row["status"] not in FAULTS or not row["decisions"] or key_of(row) in known:
            continue
        cause = alone(options, row)
        harness.append_row(causes_file, {"program": row["program"], "seed": row["seed"], "inputs": row["inputs"],
                             "decisions": row["decisions"], "cause": cause})  # fmt: skip
        print(f"{row['program']} {row['inputs']}: {', '.join(cause)}", flush=True)


def print_table(folder: pathlib.Path) -> None:
    rows = harness.read_jsonl(folder / "rows.jsonl")
    causes = {key_of(cause): cause["cause"] for cause in harness.read_jsonl(folder / "causes.jsonl")}
    print(f"{len(rows)} pairs of {len({row['program'] for row in rows})} programs\n")
    print("| beside | inputs | " + " | ".join(("equal", "allowed", "unverifiable", *FAULTS)) + " |")
    print("| --- | --- |" + " ---: |" * (3 + len(FAULTS)))
    tables = collections.defaultdict(collections.Counter)
    for row in rows:
        what = row["against"] if row["decisions"] or row["against"] != "default" else "itself"
        tables[what, row["inputs"]][row["status"]] += 1
    for (what, inputs), counts in sorted(tables.items()):
        numbers = " | ".join(str(counts[status]) for status in ("equal", "allowed", "unverifiable", *FAULTS))
        print(f"| {what} | {inputs} | {numbers} |")
    found = collections.defaultdict(lambda: [0, set(), collections.Counter()])
    for row in rows:
        if row["status"] not in FAULTS:
            continue
        cause = f"default XLA beside {row['against']}"
        if row["decisions"]:
            cause = ", ".join(causes.get(key_of(row), ["not looked for"]))
        entry = found[row["status"], cause]
        entry[0] += 1
        entry[1].add(row["program"])
        entry[2][row["inputs"]] += 1
    print("\n| status | cause | pairs | programs | inputs |\n| --- | --- | ---: | ---: | --- |")
    for (status, cause), (count, names, inputs) in sorted(found.items(), key=lambda item: -item[1][0]):
        kinds = ", ".join(f"{kind} {n}" for kind, n in inputs.most_common())
        print(f"| {status} | {cause} | {count} | {len(names)} | {kinds} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="rows, generated programs and differences are kept here")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--candidates", type=int, default=14, help="lists of decisions of a program and seed")
    parser.add_argument("--generated", type=int, default=60, help="programs of hone generate")
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "../shared/corpus")
    parser.add_argument("--rounds", type=int, default=100, help="most seeds of a program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=20, help="seconds of one comparison")
    parser.add_argument("--program-timeout", type=float, default=600, help="seconds of one program and seed")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build/hone")
    parser.add_argument("--causes", action="store_true", help="find the causes of what is known, then print the table")
    parser.add_argument("--table", action="store_true", help="print the table of what is known")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.causes and not options.table:
        run(options, options.folder)
    if options.causes:
        find_causes(options, options.folder)
    print_table(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
