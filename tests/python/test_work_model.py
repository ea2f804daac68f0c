"""The weights of a kernel's work (scripts/work_model.py): what they recover, and that the shipped trees have them."""

import json
import struct
import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]
from work_model import counts_of, feature_names, features_of, fitted_weights, over_work, work_of  # noqa: E402


class WorkModelTest(unittest.TestCase):
    def test_times_that_are_sums_give_back_the_weights(self):
        random = np.random.default_rng(0)
        features = np.log1p(10 ** random.uniform(1, 6, size=(200, 3))).astype(np.float32)
        counts = counts_of(features, ["loads", "other", "stores"], ["stores", "loads", "constant"])
        self.assertEqual(counts.shape, (200, 3))
        ns = counts @ [0.5, 0.02, 100]
        weights = fitted_weights(counts, ns, np.ones(200))
        np.testing.assert_allclose(weights, [0.5, 0.02, 100], rtol=1e-3)
        found, shares = work_of(counts, weights)
        np.testing.assert_allclose(found, ns, rtol=1e-3)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)

    def test_what_would_make_kernels_faster_weighs_nothing(self):
        counts = np.array([[1, 0], [1, 1], [1, 2]], float)
        weights = fitted_weights(counts, np.array([3.0, 2.0, 1.0]), np.ones(3))
        self.assertEqual(weights[1], 0)

    def test_errors_are_relative_and_rows_have_weights(self):
        # Of one term, p - 1 - log(p) is least at the harmonic mean.
        for weight, mean in (((1, 1), 160), ((1, 3), 4 / (1 / 100 + 3 / 400))):
            found = fitted_weights(np.ones((2, 1)), np.array([100.0, 400.0]), np.array(weight, float))
            self.assertAlmostEqual(found[0], mean, delta=0.01)

    def test_trees_over_work_learn_what_the_sum_leaves(self):
        random = np.random.default_rng(0)
        features = np.log1p(10 ** random.uniform(2, 6, size=(100, 2))).astype(np.float32)
        ns = 0.5 * np.expm1(features[:, 1].astype(float)) + 100
        analytical = np.log(ns) + random.uniform(-2, 2, size=100)
        rows = (features, np.log(ns) - analytical, np.ones(100), analytical)
        (wider, target, weight, same), weights = over_work(rows, ["flops", "bytes"], ["bytes", "constant"])
        np.testing.assert_allclose(weights, [0.5, 100], rtol=1e-3)
        np.testing.assert_allclose(target, 0, atol=1e-3)
        np.testing.assert_array_equal(wider[:, :2], features)
        np.testing.assert_allclose(wider[:, 2], np.log(ns) - analytical, atol=1e-3)
        np.testing.assert_allclose(wider[:, 3:].sum(axis=1), 1, rtol=1e-5)
        self.assertEqual(wider.dtype, np.float32)
        self.assertIs(weight, rows[2])
        self.assertIs(same, analytical)

    def test_a_sum_far_over_the_estimate_is_not_believed(self):
        counts, analytical = np.array([[1e6, 1], [1000, 1]]), np.log([40.0, 40.0])
        log_ns, columns = features_of(counts, np.array([0.5, 10], np.float32), analytical, most_ratio=20)
        np.testing.assert_allclose(np.exp(log_ns), [800, 510])
        np.testing.assert_allclose(columns[:, 0], np.log([20, 510 / 40]), rtol=1e-6)
        np.testing.assert_allclose(columns[:, 1:].sum(axis=1), 1, rtol=1e-6)

    def test_the_shipped_trees_have_the_weights_and_their_features(self):
        lines = (ROOT / "src" / "cost" / "work_terms.def").read_text().splitlines()
        terms = [line[len("TERM(") : -1] for line in lines if line.startswith("TERM(")]
        files = sorted((ROOT / "data" / "models" / "code").glob("*.safetensors"))
        self.assertEqual(len(files), 3)
        for file in files:
            content = file.read_bytes()
            (size,) = struct.unpack("<Q", content[:8])
            header = json.loads(content[8 : 8 + size])
            names = feature_names([*terms, "constant"])
            self.assertEqual(json.loads(header["__metadata__"]["features"])[-len(names) :], names)
            self.assertEqual(header["work"]["shape"], [len(terms) + 1])


if __name__ == "__main__":
    unittest.main()
