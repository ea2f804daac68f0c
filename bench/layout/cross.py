#!/usr/bin/env python3
"""Rankers of layouts on every measured program, each by what was learnt from the others: `make cross-layout`.

    bench/layout/cross.py build/data/layouts-epyc --machine build/data/fusion/amd-epyc-2-cores --kernels ROWS... \\
        --database build/data/layouts-epyc.db --seeds 0 1 2

The programs of the folder are divided into --folds parts. Rankers of configurations (changed nodes, ridge and trees on
hand features, TGraph) learn from the layouts of the other parts. Predicted run times after lowering are by trees of
kernels that learn from --kernels, folders of `hone collect export`: of the training programs of data/splits/random.txt
less the models of the part, at any batch size, and of drawn programs. They learn from run times of kernels, never from
layouts of whole programs; each --way is a row of other trees. --unseen is a folder of layouts of programs that nothing
learns from, a table of its own. --again is the database of a second collection: a table of the layouts that both
measured, with the second as a ranker.

Tau, intervals and slowdowns as in table.py. What was trained is kept in --work.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import hand_features  # noqa: E402
import table  # noqa: E402
from dataset import parts_of  # noqa: E402
from harness import Progress  # noqa: E402
from ranking_table import Table  # noqa: E402
from repeats import Repeats  # noqa: E402

ALL = "all"  # the fold of what learns from every program: for --unseen


def folds_of(names, count):
    """Name -> its part; alike for every machine that measured these programs."""
    order = np.random.default_rng(0).permutation(len(names))
    return {name: int(place) % count for name, place in zip(sorted(names), order, strict=True)}


class Kernels:
    """Trees of kernels that have not seen the models of a fold."""

    def __init__(self, options, folds):
        self.options, self.folds = options, folds
        self.model_of = {row["name"]: row["model"] for row in json.loads(options.list.read_text())}

    def split(self, fold):
        """The random split, and the drawn programs as training programs, without the models of the fold."""
        held = {self.model_of[name] for name, of in self.folds.items() if of == fold}
        parts = parts_of(self.options.split)
        for other in self.options.drawn:
            parts |= parts_of(other)
        file = self.options.work / f"kernels-{fold}.txt"
        lines = [f"{part}\t{name}\n" for name, part in parts.items() if self.model_of.get(name, name) not in held]
        file.write_text("".join(lines))
        return file

    def trained(self, label, words, fold, seed):
        folder = self.options.work / f"{label}-{fold}-{seed}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=self.options.work) as scratch:
                command = [sys.executable, ROOT / "scripts" / "train_kernels.py", *words, "--split", self.split(fold)]
                weights = Path(scratch, f"seed-{seed}.safetensors")
                command += ["--seed", seed, "--tool", self.options.rows_tool, "--out", weights]
                subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
                folder.mkdir()
                weights.rename(folder / weights.name)
        return folder

    def scores(self, label, words, fold, seed, graph, programs, data):
        """Predicted run times of a graph's layouts; None where one of them cannot be lowered."""
        file = self.options.work / f"{label}-{fold}-{seed}-{graph.name}.jsonl"
        if not file.exists():
            program = next(programs.glob(f"{graph.name}.mlir*"))
            model = self.trained(label, words, fold, seed)
            command = [self.options.tool, program, data / f"{graph.name}.npz", self.options.machine, model]
            done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
            file.write_text(done.stdout)
        known = {}
        for line in file.read_text().splitlines():
            row = json.loads(line)
            known[int(row["runtime_ns"])] = row["predicted_ns"]
        values = [known.get(int(time)) for time in graph.times]
        return None if any(value is None for value in values) else np.array(values)


def network(options, folds, fold, seed):
    """TGraph that learnt from the other folds."""
    split = options.work / f"layouts-{fold}.txt"
    lines = [f"{'test' if of == fold else 'train'}\t{name}\n" for name, of in folds.items()]
    split.write_text("".join(lines) + ("test\tnone of them\n" if fold == ALL else ""))  # there must be a test part
    options.models = options.work
    words = f"{table.OWN_TRAINING} --split {split}"
    return table.trained(options, options.data, f"tgraph-{fold}", seed, words)


def judged(options, graphs, data, programs, learn, kernels):
    """A table of `graphs`; learn(graph) says from which fold's others, and which graphs, its rankers learn."""
    rows = Table(graphs)
    found = {}
    for fold in dict.fromkeys(learn(graph)[0] for graph in graphs):
        of_fold = [graph for graph in graphs if learn(graph)[0] == fold]
        learnt = table.trivial(of_fold, learn(of_fold[0])[1], options.seeds)
        paths = [data / f"{graph.name}.npz" for graph in of_fold]
        if not options.no_network:
            weights = [network(options, kernels.folds, fold, seed) for seed in options.seeds]
            places = [table.ranks_by_hone(options, paths, each) for each in weights]
            learnt["tgraph-code"] = [[each[graph.name] for graph in of_fold] for each in places]
        for label, scores in learnt.items():
            for graph, each in zip(of_fold, zip(*scores, strict=True), strict=True):
                found.setdefault(label, {})[graph.name] = each
    for label, scores in found.items():
        seeds = len(next(iter(scores.values())))
        rows.add(label, [[scores[graph.name][seed] for graph in graphs] for seed in range(seeds)])
    progress = Progress(len(options.ways) * len(graphs) * len(options.seeds))
    for label, words in options.ways.items():
        scores = []
        for seed in options.seeds:
            scores.append([])
            for graph in graphs:
                progress.starting(f"{graph.name}, {label}, seed {seed}")
                scores[-1].append(kernels.scores(label, words, learn(graph)[0], seed, graph, programs, data))
                progress.finished("done")
        rows.add(f"run times predicted after lowering, {label}", scores)
    return rows


def graphs_of(folder):
    return [graph for graph in map(hand_features.Graph, sorted(folder.glob("*.npz"))) if len(graph.times) > 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--kernels", type=Path, nargs="+", required=True)
    parser.add_argument(
        "--drawn-kernels", type=Path, nargs="*", default=[], help="of drawn programs, a row of their own"
    )
    parser.add_argument(
        "--way",
        action="append",
        default=[],
        metavar="NAME=WORDS",
        help="trees by these data sets and options of train_kernels.py",
    )
    parser.add_argument("--no-network", action="store_true", help="leave TGraph out")
    parser.add_argument("--drawn", type=Path, nargs="*", default=[], help="splits that name the drawn programs")
    parser.add_argument("--machine", type=Path, required=True)
    parser.add_argument("--database", type=Path, help="the measurements behind the files, with their intervals")
    parser.add_argument(
        "--again", type=Path, help="a second collection of these layouts or some of them: a table of those"
    )
    parser.add_argument("--unseen", type=Path, nargs=2, metavar=("LAYOUTS", "PROGRAMS"))
    parser.add_argument("--unseen-database", type=Path)
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "random.txt")
    parser.add_argument("--list", type=Path, default=ROOT / "data" / "programs.json")
    parser.add_argument("--programs", type=Path, default=ROOT / "data" / "programs")
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "layout" / "cross")
    parser.add_argument("--tool", type=Path, default=ROOT / "build" / "bench_layout_lowered")
    parser.add_argument("--rows-tool", type=Path, default=ROOT / "build" / "bench_kernel_rows")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.ways = {"kernels of models": options.kernels}
    if options.drawn_kernels:
        options.ways["and of drawn programs"] = [*options.kernels, *options.drawn_kernels]
    options.ways |= {name: shlex.split(words) for name, words in (way.split("=", 1) for way in options.way)}
    graphs = graphs_of(options.data)
    folds = folds_of([graph.name for graph in graphs], options.folds)
    kernels = Kernels(options, folds)

    def of_others(graph):
        return folds[graph.name], [other for other in graphs if folds[other.name] != folds[graph.name]]

    rows = judged(options, graphs, options.data, options.programs, of_others, kernels)
    show(rows, f"{len(graphs)} programs, each by what was learnt from the others", graphs, options.database)
    if options.again:
        show_again(rows, graphs, Repeats(options.database, {graph.name: graph for graph in graphs}), options.again)
    if options.unseen:
        layouts, programs = options.unseen
        unseen = graphs_of(layouts)
        rows = judged(options, unseen, layouts, programs, lambda graph: (ALL, graphs), kernels)
        show(rows, f"{len(unseen)} programs that nothing learns from", unseen, options.unseen_database)


def show_again(rows, graphs, repeats, database):
    """The same rows for the layouts that a second collection has measured as well, and what that says of the first."""
    both = repeats.once_more(graphs, database)
    some = rows.of_some([None if each is None else each[0] for each in both])
    times = [each[1] for each in both if each is not None]
    some.add("measured once more", [[np.log(each) for each in times]], ceiling=True)
    count = sum(len(each) - 1 for each in times)
    print(f"### {count} layouts of {len(times)} programs that were measured twice\n\n{some.markdown()}\n", flush=True)


def show(rows, title, graphs, database):
    if database:
        repeats = Repeats(database, {graph.name: graph for graph in graphs})
        rows.add("this machine once more, simulated from the intervals", repeats.simulated(graphs, 3), ceiling=True)
    print(f"### {title}\n\n{rows.markdown()}\n\n{rows.by_name()}\n", flush=True)


if __name__ == "__main__":
    main()
