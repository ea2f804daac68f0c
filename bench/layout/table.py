#!/usr/bin/env python3
"""Tables of layouts and tiles with trivial rankers, the shipped one, ceilings and bootstraps: `make tables-layout`.

    bench/layout/table.py own FOLDER --name "AMD EPYC" --database layouts-epyc.db --other data/layouts
    bench/layout/table.py public FILE.npz...
    bench/layout/table.py tiles FOLDER

own: measured layouts of programs (docs/reference/dataset.md); rankers learn from the training programs of --split and
are judged on its test programs. public: layout files of the TpuGraphs data set, one program each: five folds of its
configurations. tiles: files of the tile collection, each kernel ranked by what was learnt from the others.

Kendall's tau is over pairs of different run time, and equal scores count 0. Intervals (95 %) resample programs 10,000
times; "over the best trivial" is paired by program, against the trivial ranker with the largest mean tau on the same
test programs. ± is the standard deviation over seeds. Slowdowns: of the configuration predicted fastest (top 1) and of
the best of the ten predicted fastest, arithmetic mean, geometric mean and median over programs. Ceilings are rows in
italics, and each says what it is the ceiling of.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import hand_features  # noqa: E402
import scoring  # noqa: E402
from dataset import parts_of  # noqa: E402
from ranking_table import Table  # noqa: E402
from repeats import Repeats  # noqa: E402

OWN_TRAINING = "--steps 300 --hidden 32 --configs 32 --validate-every 50 --folds 6 --train-folds 1"


def trivial(graphs, train, seeds):
    """Label -> for each seed the scores of `graphs` by a ranker that has learnt from `train`."""
    rows = np.concatenate([g.features for g in train])
    targets = np.concatenate([g.targets() for g in train])
    groups = np.concatenate([np.full(len(g.times), i) for i, g in enumerate(train)])
    found = {"random": [[np.random.default_rng(seed).random(len(g.times)) for g in graphs] for seed in seeds]}
    if graphs[0].tile:
        sizes = [g.configurations[:, 15] for g in train]
        sign = np.sign(sum(scoring.tau(size, g.times) for size, g in zip(sizes, train, strict=True))) or 1
        found["size of the tile"] = [[sign * g.configurations[:, 15] for g in graphs]]
    else:
        found["number of changed nodes"] = [[g.changed for g in graphs]]
    ridge = hand_features.Ridge(rows, targets, groups)
    found["ridge on hand features"] = [[ridge.predict(g.features) for g in graphs]]
    trees = [hand_features.boosted(rows, targets, seed) for seed in seeds]
    found["trees on hand features"] = [[model(g.features) for g in graphs] for model in trees]
    return found


def ranks_by_hone(options, paths, weights):
    """Name of the file -> the place of each configuration in the order of `hone tpugraphs rank`."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.csv"
        command = [options.hone, "tpugraphs", "rank", *paths, "-o", answer, "--collection", "layout:table", "-q"]
        command += ["--model-file", weights] if weights else []
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        with open(answer, newline="") as file:
            rows = list(csv.DictReader(file))
    return {row["ID"].split(":")[-1]: np.argsort([int(i) for i in row["TopConfigs"].split(";")]) for row in rows}


def trained(options, data, name, seed, words):
    """Weights of `hone train layout`; those of an earlier run if they are there."""
    weights = options.models / f"{name}-{seed}.safetensors"
    if not weights.exists():
        options.models.mkdir(parents=True, exist_ok=True)
        command = [options.hone, "train", "layout", data, "--model", "tgraph-code", "--seed", seed, "-o", weights]
        command += ["--checkpoint", weights.with_suffix(".checkpoint"), "--resume", "-q", *words.split()]
        subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr)
    return weights


def own(options):
    parts = parts_of(options.split)
    graphs = {path.stem: hand_features.Graph(path) for path in sorted(options.data.glob("*.npz"))}
    test = [graph for name, graph in graphs.items() if parts.get(name) == "test"]
    train = [graph for name, graph in graphs.items() if parts.get(name) == "train"]
    if not test or not train:
        sys.exit(f"{options.data}: no graphs of the training and of the test part of {options.split}")
    table = Table(test)
    for label, scores in trivial(test, train, options.seeds).items():
        table.add(label, scores)
    paths = [options.data / f"{graph.name}.npz" for graph in test]

    def of_hone(weights):
        places = ranks_by_hone(options, paths, weights)
        return [places[graph.name] for graph in test]

    table.add("tgraph-code, shipped (learnt on the Xeon)", [of_hone(None)])
    if not options.without_training:
        words = f"{OWN_TRAINING} --split {options.split}"
        weights = [trained(options, options.data, options.data.name, seed, words) for seed in options.seeds]
        table.add("tgraph-code, learnt on this machine", [of_hone(path) for path in weights])
    for label, path in options.scores:
        table.add(label, [scores_of(path, test)])
    repeats = Repeats(options.database, graphs) if options.database else None
    if repeats:
        table.add("this machine once more, simulated from the intervals", repeats.simulated(test, 3), ceiling=True)
    if options.other:
        others = {path.stem: hand_features.Graph(path) for path in sorted(options.other.glob("*.npz"))}
        matched = [run_times_elsewhere(graph, others.get(graph.name)) for graph in test]
        table.add("run times measured on the other machine", [matched], ceiling=True)
    print(f"### Layouts, {options.name}: {len(train)} programs train, {len(test)} test\n")
    print(table.markdown(), "\n\n", table.by_name(), "\n", sep="")


def run_times_elsewhere(graph, other):
    """Run times of the same configurations in another collection; None unless it has all of them."""
    if other is None or other.configurations.shape[1:] != graph.configurations.shape[1:]:
        return None
    found = {c.tobytes(): t for c, t in zip(other.configurations, other.times, strict=True)}
    times = [found.get(c.tobytes()) for c in graph.configurations]
    return None if any(t is None for t in times) else np.array(times)


def scores_of(path, graphs):
    """Scores from a file as docs/results/raw/layouts-lowered.jsonl; None for a graph without all of them."""
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    found = {
        row["program"]: {r[0]: r[-1] for r in row["runtime_changed_predicted"]} for row in rows if "program" in row
    }
    scores = []
    for graph in graphs:
        known = found.get(graph.name, {})
        values = [known.get(int(time)) for time in graph.times]
        scores.append(None if any(v is None for v in values) else np.array(values, float))
    return scores


# ---- configurations of one program


def one_hot(graph):
    """[configurations, nodes x values]: which value each axis of each node has; constant columns are left out."""
    flat = graph.configurations.reshape(len(graph.times), -1)
    columns = [flat == value for value in range(-1, 6)]
    matrix = np.concatenate(columns, 1)
    varies = (matrix != matrix[:1]).any(0)
    return matrix[:, varies].astype(np.float32)


def levels_of(times, gap):
    """The number of each run time's level: levels are groups without a gap."""
    ordered = np.sort(times)
    return np.digitize(times, ordered[1:][np.diff(ordered) > gap])


def rounded(scores, times, gap):
    """Scores replaced by the nearest level of the given run times."""
    level = levels_of(times, gap)
    centres = np.array([np.log(times[level == i]).mean() for i in range(level.max() + 1)])
    return np.abs(scores[:, None] - centres).argmin(1)


def folds_of(count):
    return np.random.default_rng(0).permutation(count) % 5


def cross_validated(graph, rows, learn):
    """Predictions of each fold by what `learn` makes of the others."""
    folds, scores = folds_of(len(graph.times)), np.zeros(len(graph.times))
    for fold in range(5):
        held = folds == fold
        scores[held] = learn(rows[~held], graph.times[~held], np.flatnonzero(~held))(rows[held])
    return scores


def public_file(options, path):
    graph = hand_features.Graph(path).distinct()
    table = Table([graph])
    hot, count = one_hot(graph), len(graph.times)

    def ridge(rows, times, groups):
        return hand_features.Ridge(rows, np.log(times), groups).predict

    def levels(rows, times, groups):
        model = hand_features.Ridge(rows, np.log(times), groups)
        return lambda others: rounded(model.predict(others), times, options.gap_ms * 1e6)

    table.add("random", [[np.random.default_rng(seed).random(count)] for seed in options.seeds])
    table.add("number of changed nodes", [[graph.changed]])
    table.add("ridge on hand features", [[cross_validated(graph, graph.features, ridge)]])
    table.add("ridge on one-hot layouts", [[cross_validated(graph, hot, ridge)]])
    of_levels = cross_validated(graph, hot, levels)
    table.add("ridge on one-hot layouts, rounded to levels", [[of_levels]])
    for label, rows in (("trees on hand features", graph.features), ("trees on one-hot layouts", hot)):
        table.add(label, [[cross_validated(graph, rows, trees_of(seed))] for seed in options.seeds])
    all_places = ranks_by_hone(options, [path], None)[graph.name]
    table.add("tgraph-code, shipped (learnt on XLA:CPU)", [[first_of(path, all_places)]])
    level = levels_of(graph.times, options.gap_ms * 1e6)
    table.add("levels of run times, equal scores inside: the largest tau-b", [[level]], ceiling=True)
    print(f"### {'/'.join(Path(path).parts[-4:])}: {count} distinct configurations, saturated\n")
    print(table.markdown(), "\n")
    taus = tau_b(of_levels, graph.times), tau_b(level, graph.times)
    print(f"Tau-b, the data set's own metric: ridge rounded {taus[0]:.3f}, the levels themselves {taus[1]:.3f}.\n")


def trees_of(seed):
    return lambda rows, times, groups: hand_features.boosted(rows, np.log(times), seed)


def first_of(path, places):
    """The places of the first of equal configurations, in the order of distinct()."""
    flat = np.load(path)["node_config_feat"]
    _, first = np.unique(flat.reshape(len(flat), -1), axis=0, return_index=True)
    return places[np.sort(first)]


def tau_b(scores, times):
    """Kendall's tau-b, which does not count pairs of equal scores against a ranker: the data set's own metric."""
    from scipy.stats import kendalltau

    return kendalltau(scores, times).statistic


# ---- tiles


def tiles(options):
    graphs = [hand_features.Graph(path).distinct() for path in sorted(options.data.rglob("*.npz"))]
    graphs = [graph for graph in graphs if graph.tile and len(np.unique(graph.times)) > 1]
    rows = {}
    for i, graph in enumerate(graphs):
        for label, scores in trivial([graph], graphs[:i] + graphs[i + 1 :], options.seeds).items():
            rows.setdefault(label, []).append([seed[0] for seed in scores])
    table = Table(graphs)
    for label, scores in rows.items():
        table.add(label, [list(seed) for seed in zip(*scores, strict=True)])
    print(f"### Tiles of {options.name}: {len(graphs)} kernels, each ranked by what was learnt from the others\n")
    print(table.markdown(), "\n", table.by_name(), "\n", sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("own", "public", "tiles"))
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--name", default="this machine", help="of the machine that measured")
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "layout.txt")
    parser.add_argument("--database", type=Path, help="the measurements behind the files, with their intervals")
    parser.add_argument("--other", type=Path, help="the same layouts measured on another machine")
    parser.add_argument("--scores", nargs=2, action="append", default=[], metavar=("LABEL", "FILE"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--gap-ms", type=float, default=1, help="between two levels of run times")
    parser.add_argument("--without-training", action="store_true", help="no networks but the shipped one")
    parser.add_argument("--models", type=Path, default=ROOT / "build" / "layout" / "models")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    options = parser.parse_args()
    if options.what == "public":
        for path in options.data:
            public_file(options, path)
        return
    (options.data,) = options.data
    (own if options.what == "own" else tiles)(options)


if __name__ == "__main__":
    main()
