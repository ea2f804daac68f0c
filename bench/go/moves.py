#!/usr/bin/env python3
"""Trains and judges the scorer of moves of `hone place --strategy guided-moves` (src/sim/move_scorer.h).

    bench/go/moves.py graphs                                  # task graphs of all workloads, lowered once
    bench/go/moves.py collect --jobs 400                      # moves of searches on the training workloads
    bench/go/train_moves.py build/go/moves/rows/*.bin -o build/go/moves/weights.txt
    bench/go/moves.py compare --set validation shipped=shipped,32,0.1 new=build/go/moves/weights.txt,32,0.1
    bench/go/moves.py table --set validation

Workloads: bench/go/move_workloads.tsv. No family of a validation or test workload is trained on: recurrent language
models and translation by LSTMs, Transformer-XL, WaveNet, Inception, NASNet, BERT and its kin, ViT, DiT, EfficientNet,
3-D U-Nets. Finished graphs, jobs and searches are kept, and a command that was interrupted goes on.
Needs build/hone and build/bench_moves; workloads of the corpus are left out, with a line, where it is not there.
"""

import argparse
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import tpu_graph
import workloads
from search_tables import interval

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import harness  # noqa: E402

TOPOLOGIES = (
    "gpu2-nvlink",
    "gpu4-nvlink",
    "gpu8-nvlink",
    "gpu2-pcie",
    "gpu4-pcie",
    "gpu8-pcie",
    "tpu4",
    "gpu16-nvlink",
)
SCALES = (1, 1, 4, 16, 64)  # of a training graph's work and results, as if its batch were larger; not of parameters
COPIES = (1, 1, 2, 4, 8, 16)  # of a training graph, one behind the other
FEWEST, MOST = 200, 20_000  # operations of a training graph with its copies
ALL_TASKS, PLACEMENT, FUSED = "placement,fusion,schedule", "placement", "fused-placement"
TASKS = {PLACEMENT: "placement", FUSED: "placement, fused", ALL_TASKS: "three"}
PARAMETERS = ("copied", "home")
GENERATED_SEED = 11


def rows_of(which: str) -> list[dict]:
    with (Path(__file__).parent / "move_workloads.tsv").open() as table:
        return [row for row in csv.DictReader(table, delimiter="\t") if row["set"] == which]


def write_whole(path: Path, text: str) -> None:
    partial = path.with_suffix(".part")
    partial.write_text(text)
    partial.rename(path)


def varied(graph: dict, copies: int, scale: float) -> dict:
    """A deeper graph of a larger batch: copies one behind the other, each with parameters of its own, `scale` times the
    work and the results. A copy reads the largest result of the last tenth of the one before."""
    ops, edges = [], []
    size = len(graph["ops"])
    tail = range(size - max(1, size // 10), size)
    last = max(tail, key=lambda i: (graph["ops"][i]["kind"] != "input", graph["ops"][i]["output_bytes"]))
    matrices = [i for i, op in enumerate(graph["ops"]) if op["kind"] == "matrix"] or [last]
    first = matrices[: max(1, len(matrices) // 10)]
    for copy in range(copies):
        base = copy * size
        for op in graph["ops"]:
            grown = scale if op["kind"] != "input" else 1
            more = {key: op[key] * grown for key in ("flops", "special", "output_bytes", "written_bytes") if key in op}
            ops.append({**op, **more, "name": f"{op['name']}.{copy}"})
        edges += [[a + base, b + base, reads] for a, b, reads in graph["edges"]]
        if copy > 0:
            edges += [[last + base - size, to + base, 1.0] for to in first]
    return {**graph, "ops": ops, "edges": edges}


class Moves:
    def __init__(self, options: argparse.Namespace):
        self.options, self.folder = options, options.out
        for name in ("graphs", "rows", "searches"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    # Graphs

    def program(self, row: dict) -> Path:
        kind, _, path = row["source"].partition(":")
        if kind == "program":
            return ROOT / "data" / "programs" / f"{row['name']}.mlir.gz"
        if kind == "workload":
            return workloads.export(row["name"], self.folder / "workloads")
        if kind == "corpus":
            return workloads.CORPUS / path
        generated = self.folder / "generated"
        if not generated.exists():
            count = sum(other["source"] == "generated" for other in rows_of("training"))
            words = ["generate", "--kind", "program", "--count", count, "--seed", GENERATED_SEED, "-o", generated, "-q"]
            subprocess.run([str(self.options.hone), *map(str, words)], check=True)
        return sorted(generated.glob("*.hlo"))[int(row["name"].split("_")[1])]

    def graph(self, row: dict) -> Path | None:
        """The task graph, lowered without tiles; None where there is none."""
        path = self.folder / "graphs" / f"{row['name']}.json"
        if path.exists():
            return path
        if row["name"] in workloads.CORPUS_GRAPHS or row["source"].endswith(".npz"):
            source = workloads.CORPUS / workloads.CORPUS_GRAPHS.get(row["name"], row["source"].partition(":")[2])
            if not source.exists():
                return None
            tpu_graph.write(source, path, row["name"])
            return path
        if row["source"].startswith("copies:"):
            one = self.folder / "graphs" / f"{row['source'].partition(':')[2]}.json"
            if not one.exists():
                return None
            write_whole(path, json.dumps(varied(json.loads(one.read_text()), int(row["name"].rpartition("x")[2]), 1)))
            return path
        program = self.program(row)
        if not program.exists():
            return None
        words = ["place", program, "--devices", "gpu2-nvlink", "--strategy", "single", "--graph", path, "--json", "-q"]
        environment = dict(os.environ, XLA_FLAGS=workloads.NO_TILES_FLAGS)
        done = subprocess.run(
            [str(self.options.hone), *map(str, words)], capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode != 0:
            print(f"{row['name']}: {done.stderr.strip()[-200:]}", file=sys.stderr)
            return None
        return path

    def graphs(self, which: str) -> dict[str, Path]:
        rows = rows_of(which)
        found = {}
        for number, row in enumerate(rows):
            known = (self.folder / "graphs" / f"{row['name']}.json").exists()
            path = self.graph(row)
            if path is None:
                print(f"{row['name']}: left out", file=sys.stderr)
            else:
                found[row["name"]] = path
            if not known:
                print(f"{which}: {number + 1}/{len(rows)} {row['name']}", flush=True)
        return found

    def topology(self, name: str) -> Path:
        path = ROOT / "data" / "topologies" / f"{name}.toml"
        if path.exists():
            return path
        many = self.folder / f"{name}.toml"  # one of sixteen devices, joined as the eight are
        if not many.exists():
            text = (ROOT / "data" / "topologies" / "gpu8-nvlink.toml").read_text().replace("count = 8", "count = 16")
            eight, sixteen = (", ".join(f'"gpu{i}"' for i in range(count)) for count in (8, 16))
            write_whole(many, text.replace(eight, sixteen))
        return many

    # Searches

    def bench(self, words: list, jobs: list[str]) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".jobs") as file:
            file.write("\n".join(jobs) + "\n")
            file.flush()
            command = [str(self.options.bench), *(file.name if word == "JOBS" else str(word) for word in words)]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def collect(self) -> None:
        graphs = self.graphs("training")
        names = sorted(graphs)
        progress = harness.Progress(self.options.jobs)
        for number in range(self.options.first, self.options.first + self.options.jobs):
            out = self.folder / "rows" / f"{self.options.name}-{number:05}.bin"
            chance = random.Random(f"{self.options.name} {number}")
            name = names[number % len(names)]
            whole = json.loads(graphs[name].read_text())
            size = len(whole["ops"])
            fitting = [copies for copies in COPIES if FEWEST <= copies * size <= MOST] or [math.ceil(FEWEST / size)]
            drawn = chance.choice(fitting), chance.choice(SCALES)
            topology, tasks = chance.choice(TOPOLOGIES), chance.choice((PLACEMENT, ALL_TASKS))
            mode = chance.choice(PARAMETERS)
            progress.starting(f"{name} x{drawn[0]}, work x{drawn[1]}, {topology}, {tasks}, {mode}")
            if out.exists():
                progress.finished("known")
                continue
            with tempfile.TemporaryDirectory() as folder:
                graph = Path(folder) / "graph.json"
                graph.write_text(json.dumps(varied(whole, *drawn)))
                partial = out.with_suffix(".part")
                partial.unlink(missing_ok=True)
                job = f"{graph} {self.topology(topology)} {tasks} {mode}"
                said = self.bench(["collect", partial, self.options.steps, 1, self.options.weights, "JOBS"], [job])
            partial.rename(out)
            progress.finished(said.strip())

    def compare(self) -> None:
        out = self.folder / "searches" / f"{self.options.set}.jsonl"
        known = {key_of(row) for row in harness.read_jsonl(out)}
        graphs = self.graphs(self.options.set)
        rows = [row for row in rows_of(self.options.set) if row["name"] in graphs]
        for row in rows:
            for topology in row["topologies"].split(","):
                for tasks in self.options.tasks.split(":"):
                    for mode in self.options.parameters.split(","):
                        job = f"{graphs[row['name']]} {self.topology(topology)} {tasks} {mode}"
                        self._compare(job, (row["name"], topology, tasks, mode), known, out)

    def _compare(self, job: str, where: tuple, known: set, out: Path) -> None:
        """The searches of one job that are not known: block moves without a name, and the named ones."""
        steps, seeds = self.options.steps, self.options.seeds
        wanted = [w for w in self.options.searches if (*where, w.split("=")[0], steps, seeds - 1) not in known]
        runs = [["compare", steps, seeds, "JOBS", *wanted]] if wanted else []
        if (*where, "block-moves", steps, seeds - 1) not in known:
            runs += [["heuristics", "JOBS"], ["compare", steps, seeds, "JOBS"]]
        for words in runs:
            for line in self.bench(words, [job]).splitlines():
                row = {**json.loads(line), "parameters": where[3]}
                if key_of(row) not in known:
                    harness.append_row(out, row)
        print(*where, *(w.split("=")[0] for w in wanted), flush=True)


def key_of(row: dict) -> tuple:
    return tuple(row[k] for k in ("graph", "topology", "tasks", "parameters", "row", "steps", "seed"))


# Tables


def within(row: dict, cpu: float) -> float:
    """The best step time that a search knew after that much processor time."""
    return min((gain[2] for gain in row["gains"] if gain[1] <= cpu), default=row["gains"][0][2])


def ratios(
    rows: list[dict], name: str, control: str, key=lambda row, control: row["seconds"] / control["seconds"]
) -> dict:
    """Of each workload: the geometric mean over seeds of a search's step time over the control's."""
    controls = {(r["graph"], r["topology"], r["seed"]): r for r in rows if r["row"] == control}
    found: dict[tuple, list[float]] = {}
    for row in rows:
        at = (row["graph"], row["topology"], row["seed"])
        if row["row"] == name and at in controls:
            found.setdefault(at[:2], []).append(math.log(key(row, controls[at])))
    return {where: statistics.fmean(logs) for where, logs in found.items()}


def print_table(path: Path, control: str, whole: bool) -> None:
    rows = harness.read_jsonl(path)
    lines, each = [], []
    for mode in PARAMETERS:
        for tasks in TASKS:
            of = [r for r in rows if r["tasks"] == tasks and r["parameters"] == mode]
            steps = min((r["steps"] for r in of if r["steps"] > 1), default=0)
            seeds = {r["seed"] for r in of}
            few = [{**r, "seed": seed} for r in of if r["steps"] == 1 for seed in seeds]  # heuristics have none
            few += [r for r in of if r["steps"] == steps]
            for name in dict.fromkeys(r["row"] for r in few):
                found = ratios(few, name, control)
                if name == control or not found:
                    continue
                worst = max(found, key=found.get)
                lines.append([mode, TASKS[tasks], name, str(len(found)),
                              interval([math.exp(x) for x in found.values()]),
                              f"{worst[0]} {100 * math.expm1(found[worst]):+.0f} %",
                              same_time([r for r in of if r["steps"] > 1], name, control)])  # fmt: skip
                each += [[mode, TASKS[tasks], name, *where, f"{100 * math.expm1(x):+.1f}"]
                         for where, x in sorted(found.items())]  # fmt: skip
    head = [
        "parameters",
        "tasks",
        "search",
        "workloads",
        f"step time over {control}'s",
        "most",
        "at equal processor time",
    ]
    print(harness.markdown_table(head, lines))
    if whole:
        print(harness.markdown_table(["parameters", "tasks", "search", "workload", "topology", "%"], each))


def same_time(rows: list[dict], name: str, control: str) -> str:
    """Against the control's longest search, as far as it had come in the search's processor time."""
    steps, most = min(r["steps"] for r in rows), max(r["steps"] for r in rows if r["row"] == control)
    if most == steps:
        return "-"
    mixed = [r for r in rows if r["row"] == name and r["steps"] == steps]
    if not mixed:
        return "-"
    mixed += [r for r in rows if r["row"] == control and r["steps"] == most]
    found = ratios(mixed, name, control, lambda row, other: row["seconds"] / within(other, row["cpu"]))
    return interval([math.exp(x) for x in found.values()])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("graphs", "collect", "compare", "table"))
    parser.add_argument("searches", nargs="*", help="of compare: NAME=WEIGHTS|shipped|random,DRAWS,UNIFORM")
    parser.add_argument("--set", default="validation", choices=("validation", "test"))
    parser.add_argument("--steps", type=int, default=0, help="simulations of a search (collect: 800, compare: 300)")
    parser.add_argument("--seeds", type=int, default=3, help="of compare (default 3)")
    parser.add_argument(
        "--tasks", default=":".join(TASKS), help="of compare, separated by colons (default %(default)s)"
    )
    parser.add_argument("--parameters", default="copied,home", help="where parameters are (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=200, help="searches of collect (default 200)")
    parser.add_argument("--first", type=int, default=0, help="number of collect's first search (default 0)")
    parser.add_argument("--name", default="drawn", help="of collect's rows (default drawn)")
    parser.add_argument("--weights", default="-", help="of collect: the scorer that picks moves (default: none)")
    parser.add_argument("--control", default="block-moves", help="of table (default %(default)s)")
    parser.add_argument("--each", action="store_true", help="of table: every workload as well")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "go" / "moves")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--bench", type=Path, default=ROOT / "build" / "bench_moves")
    options = parser.parse_intermixed_args()
    options.steps = options.steps or {"collect": 800}.get(options.what, 300)
    moves = Moves(options)
    if options.what == "graphs":
        for which in ("training", "validation", "test"):
            moves.graphs(which)
    elif options.what == "table":
        print_table(moves.folder / "searches" / f"{options.set}.jsonl", options.control, options.each)
    else:
        getattr(moves, options.what)()
    return 0


if __name__ == "__main__":
    sys.exit(main())
