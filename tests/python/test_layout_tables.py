"""The statistics of bench/layout/table.py: ties, slowdowns, bootstraps, simple rankers, simulated repetitions; and that
no ranker of cross.py learns from what it ranks."""

import json
import random
import sqlite3
import sys
import tempfile
import types
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "layout"), str(ROOT / "scripts")]
import cross  # noqa: E402
import drawn_programs  # noqa: E402
import hand_features  # noqa: E402
import scoring  # noqa: E402
from ranking_table import Table  # noqa: E402
from repeats import Repeats  # noqa: E402

LAYOUT = ROOT / "data" / "layouts" / "gcn_b1.npz"


class Ranked:
    def __init__(self, name, times):
        self.name, self.times = name, np.array(times, float)


class Scoring(unittest.TestCase):
    def test_equal_scores_count_nothing(self):
        times = [1, 2, 3]
        self.assertEqual(scoring.tau([1, 2, 3], times), 1)
        self.assertEqual(scoring.tau([3, 2, 1], times), -1)
        self.assertEqual(scoring.tau([5, 5, 5], times), 0)
        self.assertAlmostEqual(scoring.tau([1, 1, 2], times), 2 / 3)
        self.assertEqual(scoring.tau([1, 2, 3], [1, 1, 2]), 1)  # pairs of equal run time are no pairs

    def test_slowdown_of_the_first(self):
        times = [30, 10, 20, 40]
        self.assertEqual(scoring.slower([0, 1, 2, 3], times, 1), 3)
        self.assertEqual(scoring.slower([0, 1, 2, 3], times, 2), 1)
        self.assertTrue(1 < scoring.slower([0, 0, 0, 0], times, 1) < 4)

    def test_geometric_and_arithmetic(self):
        self.assertEqual(scoring.percent([1, 4]), "150.0, 100.0, 150.0")

    def test_the_bootstrap_is_over_programs(self):
        means = scoring.resampled([0, 0, 0, 1])
        self.assertEqual(len(means), 10_000)
        self.assertAlmostEqual(means.std(), np.sqrt(3 / 16 / 4), delta=0.01)
        self.assertEqual(scoring.interval([0.5, 0.5]), "0.500 [0.500, 0.500]")


class Tables(unittest.TestCase):
    def test_rows_are_compared_with_the_best_trivial_one(self):
        graphs = [Ranked("a", [1, 2, 3]), Ranked("b", [3, 2, 1])]
        table = Table(graphs)
        table.add("random", [[np.array([1, 1, 2]), np.array([1, 2, 3])]])
        table.add("number of changed nodes", [[np.array([1, 2, 3]), np.array([1, 1, 1])]])
        table.add("network", [[np.array([1, 2, 3]), np.array([3, 2, 1])]])
        self.assertEqual(table.best_trivial(), "number of changed nodes")
        self.assertTrue(table.difference("network", "number of changed nodes").startswith("0.500 ["))
        table.add("elsewhere", [[None, np.array([3, 2, 1])]], ceiling=True)
        last = table.markdown().splitlines()[-1]
        self.assertIn("*elsewhere* | 1 | 1.000", last)

    def test_a_program_counts_by_the_mean_of_its_graphs(self):
        graphs = [Ranked("k1", [1, 2]), Ranked("k2", [1, 2]), Ranked("k3", [1, 2])]
        table = Table(graphs, ["p", "p", "q"])
        table.add("random", [[np.array([1, 2]), np.array([2, 1]), np.array([1, 2])]])
        self.assertEqual(table.by_program("random"), {"p": 0, "q": 1})


class Rankers(unittest.TestCase):
    def test_the_number_of_changed_nodes(self):
        graph = hand_features.Graph(LAYOUT)
        self.assertEqual(graph.changed[0], 0)  # XLA's own layouts
        self.assertTrue((graph.changed[1:] > 0).all())
        self.assertEqual(graph.features.shape, (len(graph.times), 38))
        self.assertFalse(graph.features[0, :6].any())
        self.assertEqual(len(graph.distinct().times), len(graph.times))

    def test_ridge_finds_a_line(self):
        rows = np.random.default_rng(0).normal(size=(60, 3))
        targets = rows @ [1, -2, 0] + 5
        ridge = hand_features.Ridge(rows, targets, np.arange(60))
        self.assertLess(np.abs(ridge.predict(rows) - targets).max(), 0.01)


class Repetitions(unittest.TestCase):
    def test_errors_are_found_by_run_time(self):
        graph = Ranked("p", [1000, 500, 2000])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "l.db"
            with sqlite3.connect(path) as connection:
                connection.execute(
                    "create table records (program, decisions, baseline_ns, ratio, ratio_low, ratio_high, status)"
                )
                rows = [("f", "layout a", 1000, 2, 2, 2, "ok"), ("f", "layout b", 1000, 0.5, 0.25, 1, "ok")]
                rows.append(("f", "layout c", 1000, 7, 1, 9, "mismatch"))
                connection.executemany("insert into records values (?, ?, ?, ?, ?, ?, ?)", rows)
            connection.close()
            repeats = Repeats(path, {"p": graph, "other": Ranked("other", [5, 6])})
        self.assertEqual(repeats.errors["p"][:2].tolist(), [0, 0])
        self.assertAlmostEqual(repeats.errors["p"][2], np.log(4) / 3.92)
        ((first,), (second,)) = repeats.simulated([graph], 2)
        self.assertEqual(first[0], second[0])  # the default and the exact one do not move
        self.assertNotEqual(first[2], second[2])
        self.assertIsNone(repeats.simulated([Ranked("other", [5, 6])], 1)[0][0])


class LearntFromTheOthers(unittest.TestCase):
    def test_every_program_is_in_one_fold(self):
        names = [f"program_{i}" for i in range(20)]
        folds = cross.folds_of(names, 6)
        self.assertEqual(sorted(folds), sorted(names))
        self.assertEqual(set(folds.values()), set(range(6)))
        self.assertEqual(folds, cross.folds_of(names[::-1], 6))  # whichever machine measured them

    def test_trees_of_a_fold_have_not_seen_its_models(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            rows = [{"name": f"{model}_b{batch}", "model": model} for model in ("gcn", "gat") for batch in (1, 8)]
            (folder / "programs.json").write_text(json.dumps(rows))
            (folder / "split.txt").write_text("".join(f"train\t{row['name']}\n" for row in rows))
            (folder / "drawn.txt").write_text("train\tdrawn_0\n")
            options = types.SimpleNamespace(
                list=folder / "programs.json", split=folder / "split.txt", drawn=[folder / "drawn.txt"], work=folder
            )
            kernels = cross.Kernels(options, {"gcn_b1": 0, "gat_b8": 1})
            learnt = {fold: set(cross.parts_of(kernels.split(fold))) for fold in (0, 1, cross.ALL)}
        self.assertEqual(learnt[0], {"gat_b1", "gat_b8", "drawn_0"})
        self.assertEqual(learnt[1], {"gcn_b1", "gcn_b8", "drawn_0"})
        self.assertEqual(learnt[cross.ALL], learnt[0] | learnt[1])


class DrawnPrograms(unittest.TestCase):
    def test_they_run_and_are_drawn_alike(self):
        for number in range(12):
            name = f"drawn_algebra_0_{number:03}"
            function, shapes = drawn_programs.program(random.Random(name))
            self.assertEqual(shapes, drawn_programs.program(random.Random(name))[1])
            result = np.asarray(function(*(np.full(shape, 0.5, np.float32) for shape in shapes)))
            self.assertEqual(result.dtype, np.float32)
            self.assertTrue(0 < result.size <= drawn_programs.MOST_ELEMENTS, name)


if __name__ == "__main__":
    unittest.main()
