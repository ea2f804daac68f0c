"""Training steps drawn for agents that order passes (bench/pass_order/steps.py): drawn alike, and what they bring."""

import importlib.util
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "pass_order")]
if importlib.util.find_spec("jax"):
    import steps


@unittest.skipUnless(importlib.util.find_spec("jax"), "NOT TESTED, missing: jax")
class TrainingStepsTest(unittest.TestCase):
    def test_a_number_draws_the_same_program_again(self):
        self.assertEqual(steps.text_of("dense", 5), steps.text_of("dense", 5))
        self.assertNotEqual(steps.text_of("dense", 5), steps.text_of("dense", 1))

    def test_every_kind_brings_what_inference_has_not(self):
        barrier, case, half = "optimization_barrier", "stablehlo.case", "bf16"
        for kind in steps.KINDS:
            for number, brings in ((0, {barrier}), (1, set()), (2, {barrier, case, half})):
                with self.subTest(kind=kind, number=number):
                    text = steps.text_of(kind, number)
                    self.assertEqual({words for words in (barrier, case, half) if words in text}, brings)


if __name__ == "__main__":
    unittest.main()
