#!/usr/bin/env python3
"""The simulator against two host devices: are plans in the order that it says?

    bench/go/executed.py run --out ROWS.jsonl [--programs a,b]      needs a quiet machine with two cores
    bench/go/executed.py simulate --out ROWS.jsonl [--costs roofline]     the recorded plans again, by today's simulator
    bench/go/executed.py report --out ROWS.jsonl

For every program `hone place --devices cpu2 --run` runs plans of several kinds (one device, by layers, METIS, HEFT,
alternating, random, a search, contiguous cuts and blocks drawn by the program's name) beside one device, all taking
turns in one process, and compares outputs. A row holds the placements, the measured and the simulated seconds, so a
stopped run can be continued and plans can be simulated again. Kendall's tau is of simulated and measured seconds over
the distinct plans of a program; means over programs with a bootstrap interval over programs. Of the programs every
other one is for finding out what the simulator misses, the others are for the report."""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness
from validate import kendall

# Chosen by family and size before any was run: those of even position are for finding out, the others for the report.
PROGRAMS = (
    "masked_attention", "transformer_block", "mixer_block", "conv_block", "train_step", "keras_resnet_block",
    "BertTiny/BW/input.mlir", "bert_encoder", "hlo/diffrax.b380012920.hlo", "bert/bert_single_graph_2.hlo",
    "two_tower_b64", "segmentation_unet_b1", "gat_b1", "vit_small_b4", "train_mlp_b256", "bilstm_tagger_b8",
    "mixtral_b1", "deep_cross_b1024", "dlrm_b512", "swin_micro_b1",
)  # fmt: skip
CUTS = (1, 1, 2, 3)  # contiguous cuts of a plan: to one device and back
BLOCKS = (4, 8, 16)  # contiguous blocks, each on a device that is drawn
STEPS = 2000
RESAMPLES = 10000


def program_path(name: str, corpus: Path) -> Path:
    for path in (
        harness.ROOT / "examples" / f"{name}.mlir",
        harness.ROOT / "data" / "programs" / f"{name}.mlir.gz",
    ):
        if path.exists():
            return path
    for program in harness.corpus_programs(corpus):
        if program.name == name or str(program.path).endswith(name):
            return program.path
    raise SystemExit(f"{name}: no such program")


def command_of(path: Path, strategy: str, devices: str = "cpu2") -> list:
    words = ["place", path, "--devices", devices, "--tasks", "placement", "-q"]
    return [*words, "--strategy", strategy, *(["--steps", STEPS] if strategy != "single" else [])]


def drawn_plans(name: str, graph: dict) -> dict[str, list[int]]:
    """Devices of the operations (which are in topological order) by the name of the plan."""
    rng = random.Random(name)
    working = [i for i, op in enumerate(graph["ops"]) if op.get("kind") != "input"]
    plans = {}
    for number, cuts in enumerate(CUTS):
        places = sorted(rng.sample(range(1, max(2, len(working))), min(cuts, len(working) - 1)))
        devices = [0] * len(graph["ops"])
        for at, op in enumerate(working):
            devices[op] = sum(at >= place for place in places) % 2
        plans[f"cut-{cuts}-{number}"] = devices
    for blocks in BLOCKS:
        drawn = [rng.randrange(2) for _ in range(blocks)]
        devices = [0] * len(graph["ops"])
        for at, op in enumerate(working):
            devices[op] = drawn[at * blocks // len(working)]
        plans[f"blocks-{blocks}"] = devices
    return plans


def with_plans(plans: list[list[int]], folder: str) -> list:
    words = []
    for number, devices in enumerate(plans):
        file = Path(folder, f"plan-{number}.json")
        file.write_text(json.dumps({"device": devices, "schedule": [], "fusion": []}))
        words += ["--from", file]
    return words


def run_program(name: str, options: argparse.Namespace) -> dict:
    path = program_path(name, options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        graph_file = Path(folder, "graph.json")
        harness.call_hone(options.hone, [*command_of(path, "single"), "--graph", graph_file], options.timeout)
        graph = json.loads(graph_file.read_text())
        drawn = drawn_plans(name, graph)
        words = with_plans(list(drawn.values()), folder)
        answer = harness.call_hone(options.hone, [*command_of(path, "block-moves"), *words, "--run"], options.timeout)
    row = {"program": name, "operations": answer["operations"], "costs": answer["costs"], "plans": []}
    names = list(drawn)
    for line in answer["table"]:
        if line["strategy"].startswith("given-"):
            line["strategy"] = names[int(line["strategy"].removeprefix("given-"))]
        ran = line["run"]
        placement = ran["placement"] or [0] * len(graph["ops"])
        if any(placement == plan["placement"] for plan in row["plans"]):
            continue
        row["plans"].append(
            {
                "plan": line["strategy"],
                "simulated": line["step_seconds"],
                "measured": ran["seconds"],
                "outcome": ran["outcome"],
                "note": ran["note"],
                "max_error": ran["max_error"],
                "to_one_thread": ran["to_one_thread"],
                "to_all_threads": ran["to_all_threads"],
                "rounds": ran["rounds"],
                "placement": placement,
            }
        )
    return row


def simulate(row: dict, options: argparse.Namespace) -> dict:
    path = program_path(row["program"], options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        words = with_plans([plan["placement"] for plan in row["plans"]], folder)
        command = [
            *command_of(path, "single", options.devices),
            *words,
            *(["--costs", options.costs] if options.costs else []),
        ]
        table = harness.call_hone(options.hone, command, options.timeout)["table"]
    seconds = [line["step_seconds"] for line in table if line["strategy"].startswith("given")]
    plans = [dict(plan, simulated=s) for plan, s in zip(row["plans"], seconds, strict=True)]
    return dict(row, plans=plans, costs=options.costs or row["costs"])


def ran_plans(row: dict) -> list[dict]:
    return [p for p in row["plans"] if p["outcome"] == "ok" and p["rounds"]]


def slowness(plan: dict) -> float:
    """Times that it takes of one device's, the median of the ratios of rounds."""
    return 1 / plan["to_one_thread"]["ratio"]


def tau_of(row: dict) -> float:
    ran = ran_plans(row)
    return kendall([p["simulated"] for p in ran], [slowness(p) for p in ran])


def mean_with_interval(values: list[float]) -> str:
    rng = random.Random(0)
    means = sorted(sum(rng.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    mean = sum(values) / len(values)
    return f"{mean:.2f} ({means[RESAMPLES // 40]:.2f} to {means[-RESAMPLES // 40]:.2f}), {len(values)} programs"


def report(rows: list[dict]) -> None:
    print("| program | half | kernels | plans | tau | fastest / one device | plan | simulated best / one device |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |")
    halves: dict[str, list[float]] = {"finding out": [], "report": []}
    for row in rows:
        half = "finding out" if PROGRAMS.index(row["program"]) % 2 == 0 else "report"
        ran, tau = ran_plans(row), tau_of(row)
        halves[half].append(tau)
        fastest, chosen = min(ran, key=slowness), min(ran, key=lambda p: p["simulated"])
        print(
            f"| {row['program']} | {half} | {row['operations']} | {len(ran)} | {tau:.2f} | "
            f"{1 / slowness(fastest):.2f} | {fastest['plan']} | {1 / slowness(chosen):.2f} |"
        )
    halves["all"] = [tau for values in halves.values() for tau in values]
    for half, values in halves.items():
        if values:
            print(f"\n{half}: mean tau {mean_with_interval(values)}")
    failed = [(row["program"], p["plan"], p["outcome"]) for row in rows for p in row["plans"] if p["outcome"] != "ok"]
    print(f"\nplans: {sum(len(row['plans']) for row in rows)}, of these not ok: {failed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "simulate", "report"))
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    parser.add_argument("--corpus", type=Path, default=harness.CORPUS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--costs", help="of simulate: roofline, predicted or measured")
    parser.add_argument("--devices", default="cpu2", help="of simulate: another topology of two host devices")
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    rows = harness.read_jsonl(options.out)
    if options.what == "run":
        for name in options.programs.split(","):
            if any(row["program"] == name for row in rows):
                continue
            try:
                row = run_program(name, options)
            except harness.HoneError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            rows.append(row)
            harness.append_row(options.out, row)
            print(f"{name}: {len(row['plans'])} plans, tau {tau_of(row):.2f}", flush=True)
    if options.what == "simulate":
        rows = [simulate(row, options) for row in rows if row["program"] in options.programs.split(",")]
    if options.what != "run":
        report(rows)


if __name__ == "__main__":
    main()
