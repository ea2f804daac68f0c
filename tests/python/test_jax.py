"""JAX functions as tuned programs, against a fake runtime."""

import dataclasses
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fake_build import HAS_JAX, ROOT, FakeBuild, set_up_module

# isort: split
import hone


def setUpModule():
    set_up_module("test_jax")


class Point(NamedTuple):
    x: Any
    y: Any


@unittest.skipUnless(HAS_JAX, "NOT TESTED, missing: jax")
class TestJax(FakeBuild):
    def function(self, params, x):
        return {"y": x * 2.0 + params["w"]}

    def tuned(self, **options):
        return hone.tune(self.function, {"w": self.w}, self.x, build=self.build, quiet=True, **options)

    def package_of_two(self, weight):
        """Like tuned(), with the fake's order of inputs: x, then w."""
        return hone.tune(
            lambda x, params: {"y": x * 2.0 + params["w"]},
            self.x,
            {"w": self.w},
            build=self.build,
            weights=1 if weight else None,
        )

    def test_functions_are_exported_with_their_structure(self):
        tuned = self.tuned(weights=0)
        given = tuned.report["arguments"]
        self.assertEqual(given[given.index("--weights") + 1], "0")
        self.assertEqual(Path(given[1]).name, "function.mlirbc")
        self.assertEqual(tuned.report["inputs"], {"arr_0": ["<f4", 8], "arr_1": ["<f4", 8]})

    def test_unused_arguments_stay_inputs(self):
        from hone import jax_export

        module, signature, leaves = jax_export.export(lambda a, b, c: c, (self.x, self.w, 1.0), ())
        self.assertEqual(len(leaves), 3)
        self.assertEqual(module[:4], b"ML\xefR")
        self.assertEqual(signature.to_json()["results"], {"leaves": 1, "skeleton": 0})

    def test_custom_structures_work_until_stored(self):
        import jax
        from hone import jax_export

        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class Pair:
            a: object
            b: object

        _, signature, _ = jax_export.export(lambda p: Pair(p.b, p.a), (Pair(self.x, self.w),), ())
        self.assertEqual(signature.flatten((Pair(1, 2),)), [1, 2])
        self.assertEqual(signature.results.unflatten([1, 2]), Pair(1, 2))
        self.assertIsNone(signature.to_json())

    def test_named_tuples_and_number_keys_are_stored(self):
        tuned = hone.tune(
            lambda p: {0: Point(p.x[3] * 2.0 + p.y, None)}, Point({3: self.x}, self.w), build=self.build, quiet=True
        )
        with tempfile.TemporaryDirectory() as folder:
            tuned.save(f"{folder}/saved.hone")
            again = hone.load(f"{folder}/saved.hone", build=self.build)
        result = again(Point({3: self.x}, self.w))
        self.assertEqual(list(result), [0])
        self.assertIsInstance(result[0], Point)
        np.testing.assert_array_equal(result[0].x, 2 * self.x + 1)
        self.assertIsNone(result[0].y)

    def test_shapes_keys_and_exported_functions(self):
        import jax
        import jax.numpy as jnp

        shape = jax.ShapeDtypeStruct((8,), jnp.float32)
        tuned = hone.tune(lambda x, w: x * 2.0 + w, shape, shape, weights=1, build=self.build)
        self.assertNotIn("--inputs", tuned.report["arguments"])
        np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)
        symbolic = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b"), jnp.float32)
        exported = jax.export.export(jax.jit(lambda x, w: x * 2.0 + w))(symbolic, symbolic)
        tuned = hone.tune(exported, self.x, self.w, build=self.build)
        self.assertEqual(Path(tuned.report["arguments"][1]).name, "lambda.mlir")
        np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)
        with self.assertRaisesRegex(hone.Error, "keys are no arrays.*key_data"):
            hone.tune(lambda k: jax.random.normal(k, (8,)), jax.random.key(0), build=self.build)

    def test_results_have_the_function_s_structure_and_library(self):
        import jax
        import jax.numpy as jnp

        tuned = self.package_of_two(weight=False)
        self.assertIsInstance(tuned(self.x, {"w": self.w})["y"], np.ndarray)
        x = jnp.arange(8, dtype=jnp.float32)
        result = tuned(x, {"w": self.w})["y"]
        self.assertIsInstance(result, jax.Array)
        self.assertEqual(self.fake.fake_last_input(0), x.unsafe_buffer_pointer())
        with tempfile.TemporaryDirectory() as folder:
            tuned.save(f"{folder}/saved.hone")
            again = hone.load(f"{folder}/saved.hone", build=self.build)
            np.testing.assert_array_equal(again(x, {"w": self.w})["y"], result)

    def test_inside_jit_vmap_and_by_itself(self):
        import jax
        import jax.numpy as jnp

        tuned = self.package_of_two(weight=False)
        x, w = jnp.arange(8, dtype=jnp.float32), jnp.ones(8)
        np.testing.assert_array_equal(tuned.jax(x, {"w": w})["y"], 2 * x + 1)
        total = jax.jit(lambda x: jnp.sum(tuned.jax(x + 1, {"w": w})["y"] * 3))
        self.assertEqual(float(total(x)), float(np.sum((2 * (np.arange(8) + 1) + 1) * 3)))
        rows = jnp.stack([x, x + 1])
        mapped = jax.vmap(lambda x: tuned.jax(x, {"w": w})["y"])(rows)
        np.testing.assert_array_equal(mapped, 2 * rows + 1)
        jax.jit(lambda x: tuned.jax(x, {"w": w}))(x)
        with self.assertRaisesRegex(TypeError, "input 0: expected"):
            tuned.jax(x[:4], {"w": w})

    def test_jit_outlives_the_tuned_program(self):
        import jax

        tuned = self.package_of_two(weight=False)
        step = jax.jit(lambda x, tuned_jax=tuned.jax: tuned_jax(x, {"w": self.w})["y"])
        step(self.x)
        del tuned
        gc.collect()
        np.testing.assert_array_equal(step(self.x), 2 * self.x + 1)

    def test_calls_are_the_same_text_in_another_process(self):
        import jax

        tuned = self.package_of_two(weight=False)
        code = (
            "import sys, jax, numpy as np, hone\n"
            "tuned, x = hone.load(sys.argv[1], build=sys.argv[2]), np.arange(8, dtype=np.float32)\n"
            "print(jax.jit(lambda x, w: tuned.jax(x, {'w': w})).lower(x, x).as_text())"
        )
        command = [sys.executable, "-c", code, str(tuned.path), str(self.build)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        own = jax.jit(lambda x, w: tuned.jax(x, {"w": w})).lower(self.x, self.w).as_text()
        self.assertIn("hone_call", own)
        self.assertEqual(done.stdout.strip(), own.strip(), done.stderr)
        again = hone.load(tuned.path, build=self.build)  # may have other weights
        self.assertNotEqual(jax.jit(lambda x, w: again.jax(x, {"w": w})).lower(self.x, self.w).as_text(), own)
        np.testing.assert_array_equal(again.jax(self.x, {"w": self.w})["y"], 2 * self.x + 1)

    def test_the_folder_may_go_after_loading(self):
        package = self.package()
        tuned = hone.load(package, build=self.build)
        shutil.rmtree(package)
        np.testing.assert_array_equal(tuned.jax(self.x, self.w), 2 * self.x + 1)
        os.mkdir(package)  # for the end of the test

    def test_weights_in_jit(self):
        import jax

        tuned = self.package_of_two(weight=True)
        before = self.fake.fake_weights_set()
        step = jax.jit(lambda x: tuned.jax(x, {"w": self.w})["y"])
        for _ in range(2):
            np.testing.assert_array_equal(step(self.x), 2 * self.x + 1)
        np.testing.assert_array_equal(jax.jit(lambda x: tuned.jax(x, None)["y"])(self.x), 2 * self.x + 1)
        self.assertEqual(self.fake.fake_weights_set(), before)  # tune() took the example's over
        with self.assertRaisesRegex(hone.Error, "traced"):
            jax.jit(lambda w: tuned.jax(self.x, {"w": w}))(self.w)
        with self.assertRaisesRegex(hone.Error, "cannot be replaced"):
            tuned(self.x, {"w": self.w.copy()})


if __name__ == "__main__":
    unittest.main()
