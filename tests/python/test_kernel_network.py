"""The network beside trees for run times (scripts/kernel_network.py): trained by torch, scored without it."""

import sys
import unittest
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))
import kernel_network  # noqa: E402


def drawn_rows(count, seed):
    """Rows of four features, one of them constant and one huge, and a smooth target of two of them."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, 4)).astype(np.float32)
    features[:, 2] = 3
    features[:, 3] *= 1e4
    return features, np.sin(features[:, 0]) + 0.5 * features[:, 1]


class KernelNetworkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.features, cls.target = drawn_rows(3000, seed=0)
        cls.tensors = kernel_network.trained(cls.features, cls.target, np.ones(3000), seed=0)

    def test_it_learns_what_other_rows_confirm(self):
        features, target = drawn_rows(500, seed=1)
        found = kernel_network.predicted(self.tensors, features)
        self.assertLess(np.abs(found - target).mean(), 0.2 * np.abs(target - target.mean()).mean())

    def test_it_is_scored_as_torch_scores_it(self):
        features, _ = drawn_rows(50, seed=2)
        values = torch.from_numpy(kernel_network.standardised(features, self.tensors))
        tensors = {name: torch.from_numpy(array) for name, array in self.tensors.items()}
        for layer in range(len(kernel_network.LAYERS)):
            name = f"network.{layer}"
            values = torch.nn.functional.linear(values, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
            scale, shift = tensors[f"{name}.norm.weight"], tensors[f"{name}.norm.bias"]
            values = torch.relu(torch.nn.functional.layer_norm(values, values.shape[1:], scale, shift))
        name = f"network.{len(kernel_network.LAYERS)}"
        values = torch.nn.functional.linear(values, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
        np.testing.assert_allclose(kernel_network.predicted(self.tensors, features), values[:, 0], atol=1e-4)

    def test_what_lies_beyond_the_training_rows_counts_as_their_edge(self):
        beyond, _ = drawn_rows(1, seed=3)
        beyond[0, 0], beyond[0, 2] = 100, -1e6
        edge = beyond.copy()
        edge[0, 0], edge[0, 2] = self.features[:, 0].max(), 3
        found = kernel_network.predicted(self.tensors, np.concatenate([beyond, edge]))
        self.assertEqual(found[0], found[1])
        outlier = np.zeros((1000, 1), dtype=np.float32)
        outlier[::2], outlier[0] = 1, 1e6
        scale = kernel_network.scale_of(outlier)
        self.assertLess(kernel_network.standardised(outlier, scale).max(), kernel_network.MOST_DEVIATIONS + 1e-3)

    def test_a_seed_gives_the_same_bytes(self):
        features, target = self.features[:300], self.target[:300]
        one = kernel_network.trained(features, target, np.ones(300), seed=4)
        other = kernel_network.trained(features, target, np.ones(300), seed=4)
        self.assertEqual({n: a.tobytes() for n, a in one.items()}, {n: a.tobytes() for n, a in other.items()})

    def test_weights_count(self):
        features = np.zeros((400, 2), dtype=np.float32)
        target = np.tile([1.0, -1.0], 200)
        weight = np.tile([1.0, 0.0], 200)
        tensors = kernel_network.trained(features, target, weight, seed=0)
        self.assertGreater(kernel_network.predicted(tensors, features[:1])[0], 0.5)


if __name__ == "__main__":
    unittest.main()
