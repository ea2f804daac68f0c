"""Tuned programs from Python: against a fake runtime, and against the built one where it and JAX are there."""

import gc
import json
import os
import signal
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
from fake_build import BUILD, MISSING_PRODUCT, FakeBuild, aligned, misaligned, set_up_module

# isort: split
import hone
from hone import arrays, command, files, machine, runtime


def setUpModule():
    set_up_module("test_hone")


class TestRuntime(FakeBuild):
    def test_inputs_reach_the_program_without_a_copy(self):
        tuned = self.load()
        np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)
        self.assertEqual(self.fake.fake_last_input(0), self.x.ctypes.data)
        self.assertEqual(self.fake.fake_last_input(1), self.w.ctypes.data)
        np.testing.assert_array_equal(tuned(misaligned(self.x), self.w), 2 * self.x + 1)
        self.assertEqual(self.fake.fake_last_input(0) % arrays.ALIGNMENT, 0)

    def test_results_are_new_arrays(self):
        tuned = self.load()
        first, second = tuned(self.x, self.w), tuned(self.x, self.w)
        self.assertFalse(np.shares_memory(first, second))

    def test_weights_are_taken_once(self):
        tuned = self.load(weight=1)
        with self.assertRaisesRegex(hone.Error, "never set"):
            tuned(self.x, None)
        before = self.fake.fake_weights_set()
        for _ in range(3):
            np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)
        self.assertEqual(self.fake.fake_weights_set(), before + 1)
        self.assertIsNone(self.fake.fake_last_input(1))
        np.testing.assert_array_equal(tuned(self.x, None), 2 * self.x + 1)
        tuned.set_weights(aligned(np.full(8, 5)))
        self.assertEqual(self.fake.fake_weights_set(), before + 2)
        np.testing.assert_array_equal(tuned(self.x, None), 2 * self.x + 5)

    def test_compare_runs_both(self):
        answer = self.load(weight=1).compare(self.x, self.w, repeat=9)
        self.assertEqual(answer["max_difference"], 0)
        self.assertLessEqual(answer["speedup_interval"][0], answer["speedup"])
        self.assertLessEqual(answer["speedup"], answer["speedup_interval"][1])
        self.assertGreater(answer["tuned_ns"], 0)

    def test_compare_keeps_its_weights_from_other_threads(self):
        tuned = self.load(weight=1)
        other, done, failed = aligned(np.full(8, 5)), threading.Event(), []

        def call():
            while not done.is_set():
                if not np.array_equal(tuned(self.x, other), 2 * self.x + 5):
                    failed.append("a call got the weights of the comparison")

        caller = threading.Thread(target=call)
        caller.start()
        try:
            differences = {tuned.compare(self.x, self.w, repeat=2)["max_difference"] for _ in range(100)}
        finally:
            done.set()
            caller.join()
        self.assertEqual((differences, failed), ({0}, []))

    def test_compare_against_jaxlib_on_the_same_inputs(self):
        """By the command; a weight that was set before is an input there like any other."""
        tuned = self.load(weight=1)
        tuned.set_weights(self.w)
        answer = tuned.compare(self.x, None, against="jaxlib")
        words = ["run", str(tuned.path), "--compare", "--against", "jaxlib", "--threads", "1", "--inputs"]
        self.assertEqual(answer["arguments"][: len(words)], words)
        self.assertEqual(answer["inputs"], {"arr_0": ["<f4", 8], "arr_1": ["<f4", 8]})
        self.assertNotIn("--inputs", tuned.compare(against="jaxlib")["arguments"])

    def test_export_jax(self):
        tuned = self.load()
        words = ["export", str(tuned.path), "--to", "jax", "--output", "out"]
        self.assertEqual(tuned.export_jax("out")["arguments"], [*words, "--threads", "1", "--json"])
        options = ["--force", "--no-duel", "--threads", "1", "--json"]
        self.assertEqual(tuned.export_jax("out", duel=False, force=True)["arguments"], [*words, *options])

    def test_programs_are_freed(self):
        before = self.fake.fake_programs()
        tuned = self.load()
        self.assertEqual(self.fake.fake_programs(), before + 1)
        del tuned
        gc.collect()
        self.assertEqual(self.fake.fake_programs(), before)

    def test_save_and_load(self):
        tuned = self.load()
        with tempfile.TemporaryDirectory() as folder:
            tuned.save(Path(folder) / "copy.hone")
            again = hone.load(Path(folder) / "copy.hone", build=self.build)
            np.testing.assert_array_equal(again(self.x, self.w), tuned(self.x, self.w))
            self.assertEqual(again.decisions, tuned.decisions)
            with self.assertRaisesRegex(hone.Error, "already exists"):
                tuned.save(Path(folder) / "copy.hone")

    def test_bad_packages_and_builds_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(hone.Error, "not a tuned program"):
                hone.load(folder, build=self.build)
            (Path(folder) / "decisions.json").write_text("{")
            with self.assertRaisesRegex(hone.Error, "decisions.json: cannot be read"):
                hone.load(folder, build=self.build)
            (Path(folder) / "decisions.json").write_text('{"decisions": [], "target": {"threads": 1}}')
            with self.assertRaisesRegex(hone.Error, "no fake program there"):
                hone.load(folder, build=self.build)
            with self.assertRaisesRegex(hone.Error, "libhone_runtime.so not found"):
                hone.load(folder, build=folder)
            (Path(folder) / files.RUNTIME).write_text("no library")
            with self.assertRaisesRegex(hone.Error, "cannot be loaded"):
                runtime.open_library(Path(folder) / files.RUNTIME)


class TestCommand(FakeBuild):
    def test_tune_of_a_file(self):
        with tempfile.NamedTemporaryFile(suffix=".hlo") as program:
            tuned = hone.tune(
                program.name,
                self.x,
                self.w,
                budget=7,
                weights=1,
                threads=2,
                seed=3,
                name="a/b",
                allow_fast_math=True,
                quiet=True,
                build=self.build,
            )
        given = tuned.report["arguments"]
        for option, value in {"--budget": "7s", "--threads": "2", "--seed": "3", "--weights": "1"}.items():
            self.assertEqual(given[given.index(option) + 1], value)
        self.assertEqual(Path(given[1]).name, "a_b.hlo")
        self.assertIn("--allow-fast-math", given)
        self.assertIn("--quiet", given)
        self.assertNotIn("--db", given)
        self.assertEqual(tuned.report["inputs"], {"arr_0": ["<f4", 8], "arr_1": ["<f4", 8]})
        self.assertEqual(tuned.speedup, 1.5)
        np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)

    def test_optimize_of_a_file(self):
        with tempfile.NamedTemporaryFile(suffix=".hlo") as program:
            tuned = hone.optimize(
                program.name, self.x, self.w, weights=1, guard="2s", threads=3, no_layouts=True, build=self.build
            )
            default = hone.optimize(program.name, guard=0, build=self.build).report["arguments"]
        given = tuned.report["arguments"]
        self.assertEqual(given[0], "optimize")
        for option, value in {"--guard": "2s", "--threads": "3", "--weights": "1"}.items():
            self.assertEqual(given[given.index(option) + 1], value)
        self.assertIn("--no-layouts", given)
        self.assertNotIn("--budget", given)
        np.testing.assert_array_equal(tuned(self.x, self.w), 2 * self.x + 1)
        self.assertEqual(default[default.index("--guard") + 1], "0")
        self.assertEqual(int(default[default.index("--threads") + 1]), machine.usable_cores("/"))

    def test_the_package_lives_as_long_as_its_function(self):
        with tempfile.NamedTemporaryFile(suffix=".hlo") as program:
            tuned = hone.tune(program.name, build=self.build)
        path = tuned.path
        self.assertTrue(path.is_dir())
        del tuned
        gc.collect()
        self.assertFalse(path.exists())

    def test_inspect(self):
        self.assertEqual(hone.inspect("/a/b.hlo", build=self.build)["arguments"], ["inspect", "/a/b.hlo", "--json"])

    def test_failures_become_errors(self):
        with self.assertRaises(hone.Error) as raised:
            hone.tune("x.hlo", strategy="fail", build=self.build)
        self.assertEqual(str(raised.exception), "line 3: cannot parse (look there)")
        with self.assertRaisesRegex(hone.Error, "ended by signal 11"):
            hone.tune("x.hlo", strategy="crash", build=self.build)

    def test_failures_leave_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
            with self.assertRaises(hone.Error):
                hone.tune("x.hlo", self.x, self.w, strategy="fail", build=self.build)
            self.assertEqual(os.listdir(folder), [])

    def test_interrupt_is_passed_on_and_the_answer_kept(self):
        # A process started in the background of a shell ignores Ctrl-C, and so would this test.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        answer = command.run(["inspect", "x.hlo", "--strategy", "wait"], self.build)
        self.assertEqual(answer["speedup"], 1.5)


@unittest.skipIf(MISSING_PRODUCT, MISSING_PRODUCT)
class TestTuning(unittest.TestCase):
    """The built product on a small JAX function."""

    @classmethod
    def setUpClass(cls):
        import jax

        cls.database = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.database.cleanup)
        random = np.random.default_rng(0)
        cls.x, cls.y = (aligned(random.standard_normal((512, 512))) for _ in range(2))
        cls.function = staticmethod(lambda x, y: x.T * y + y)
        cls.expected = np.asarray(jax.jit(cls.function)(cls.x, cls.y))
        cls.tuned = hone.tune(
            cls.function,
            cls.x,
            cls.y,
            budget=8,
            threads=1,
            name="transposed",
            build=BUILD,
            db=f"{cls.database.name}/hone.db",
        )

    def test_results_equal_jax_s(self):
        np.testing.assert_allclose(self.tuned(self.x, self.y), self.expected, rtol=1e-6)
        np.testing.assert_allclose(self.tuned(misaligned(self.x), self.y), self.expected, rtol=1e-6)

    def test_denormal_numbers_are_zero_as_in_jax(self):
        import jax

        tiny = aligned(np.full((512, 512), 1e-39))
        self.assertEqual(np.abs(np.asarray(jax.jit(self.function)(self.x, tiny))).max(), 0)
        self.assertEqual(np.abs(self.tuned(self.x, tiny)).max(), 0)
        self.assertGreater(np.abs(tiny * np.float32(2)).max(), 0)  # the caller's arithmetic is its own again

    def test_report(self):
        self.assertGreater(self.tuned.speedup, 0)
        self.assertTrue(self.tuned.report["verified"])
        self.assertIsInstance(self.tuned.decisions, list)

    def test_inside_jit(self):
        import jax
        import jax.numpy as jnp

        composed = jax.jit(lambda x, y: jnp.sum(self.tuned.jax(x + 1, y), axis=0))
        expected = np.sum((self.x + 1).T * self.y + self.y, axis=0)
        np.testing.assert_allclose(composed(self.x, self.y), expected, rtol=1e-4, atol=1e-3)

    def test_compare(self):
        answer = self.tuned.compare(self.x, self.y, repeat=5)
        self.assertLess(answer["max_difference"], 1e-5)

    def test_saved_programs_run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.tuned.save(f"{folder}/saved.hone")
            again = hone.load(f"{folder}/saved.hone", build=BUILD)
            np.testing.assert_allclose(again(self.x, self.y), self.expected, rtol=1e-6)

    def test_inspect(self):
        self.assertGreater(hone.inspect(self.function, self.x, self.y, build=BUILD)["instructions"], 0)


@unittest.skipIf(MISSING_PRODUCT, MISSING_PRODUCT)
class TestWeights(unittest.TestCase):
    """Weights and structure on the built product."""

    def test_a_small_layer(self):
        import jax
        import jax.numpy as jnp

        random = np.random.default_rng(1)
        params = {"w": aligned(random.standard_normal((256, 128))), "b": aligned(random.standard_normal(128))}
        x = aligned(random.standard_normal((4, 256)))

        def layer(params, x):
            return jax.nn.relu(x @ params["w"] + params["b"]), jnp.max(x)

        with tempfile.TemporaryDirectory() as folder:
            tuned = hone.tune(layer, params, x, budget=8, threads=1, weights=0, build=BUILD, db=f"{folder}/hone.db")
        expected = layer(params, x)
        for result in (tuned(params, x), tuned(None, x), jax.jit(lambda x: tuned.jax(None, x))(x)):
            self.assertIsInstance(result, tuple)
            np.testing.assert_allclose(result[0], expected[0], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(result[1], expected[1])

    def test_a_layer_in_seconds(self):
        random = np.random.default_rng(2)
        params = {"w": aligned(random.standard_normal((256, 128))), "b": aligned(random.standard_normal(128))}
        x = aligned(random.standard_normal((4, 256)))

        def layer(params, x):
            return np.float32(2) * (x @ params["w"]) + params["b"]

        fast = hone.optimize(layer, params, x, weights=0, quiet=True, build=BUILD)
        self.assertTrue(fast.report["verified"])
        for result in (fast(params, x), fast(None, x)):
            np.testing.assert_allclose(result, layer(params, x), rtol=1e-4, atol=1e-4)

    def test_lower_precision_takes_weights_of_the_original(self):
        random = np.random.default_rng(3)
        x, weight = aligned(random.standard_normal((2, 256))), aligned(random.standard_normal((256, 64)))
        with tempfile.TemporaryDirectory() as folder:
            options = {"weights": 0, "build": BUILD, "db": f"{folder}/hone.db", "precision": "bf16"}
            tuned = hone.tune(lambda w, x: x @ w, weight, x, budget=2, threads=1, **options)
        self.assertEqual(tuned.report["precision"]["weights"], 1)
        result = tuned(weight, x)
        self.assertEqual(result.dtype, np.float32)
        difference = np.abs(result - x @ weight).mean() / np.abs(x @ weight).mean()
        self.assertGreater(difference, 1e-5)
        self.assertLess(difference, 1e-2)

    def test_weights_as_bytes_take_those_of_the_original(self):
        random = np.random.default_rng(4)
        x, weight = aligned(random.standard_normal((1, 256))), aligned(random.standard_normal((256, 128)))
        with tempfile.TemporaryDirectory() as folder:
            options = {"weights": 0, "build": BUILD, "db": f"{folder}/hone.db", "precision": "int8-weights"}
            tuned = hone.tune(lambda w, x: x @ w, weight, x, budget=2, threads=1, **options)
        self.assertEqual(tuned.report["precision"]["weights"], 1)
        other = aligned(random.standard_normal((256, 128)))
        for weights in (weight, other):
            factors = np.abs(weights).max(0) / np.float32(127)
            expected = x @ (np.rint(weights / factors) * factors)
            np.testing.assert_allclose(tuned(weights, x), expected, rtol=1e-3, atol=1e-3)
        self.assertLess(tuned.compare(weight, x, repeat=3)["max_difference"], 1e-3)

    def test_packed_weights_are_packed_anew_when_others_are_set(self):
        random = np.random.default_rng(2)
        x, first = aligned(random.standard_normal((4, 256))), aligned(random.standard_normal((256, 128)))
        with tempfile.TemporaryDirectory() as folder:
            tuned = hone.tune(
                lambda w, x: x @ w, first, x, budget=2, threads=1, weights=0, build=BUILD, db=f"{folder}/hone.db"
            )
            tuned.save(f"{folder}/packed.hone")
            file = Path(folder) / "packed.hone" / "decisions.json"
            changed = json.loads(file.read_text())
            changed["decisions"] = [{"kind": "weights", "key": "all", "value": "packed"}]
            file.write_text(json.dumps(changed))
            packed = hone.load(f"{folder}/packed.hone", build=BUILD)
            for run in range(6):
                for _ in range(run):  # memory of weights that were never read is free for the next
                    packed.set_weights(aligned(random.standard_normal((256, 128))))
                weight = aligned(random.standard_normal((256, 128)))
                packed.set_weights(weight)
                for _ in range(2):
                    np.testing.assert_allclose(packed(None, x), x @ weight, rtol=1e-4, atol=1e-4)

    @unittest.skipUnless((Path(sys.prefix) / "lib" / "libdnnl.so.3").exists(), "oneDNN is not installed")
    def test_weights_that_onednn_keeps_are_read_again_when_others_are_set(self):
        random = np.random.default_rng(4)
        x, first = aligned(random.standard_normal((16, 256))), aligned(random.standard_normal((256, 128)))
        key = "dot:f32[16,256]*f32[256,128]->f32[16,128]:lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        with tempfile.TemporaryDirectory() as folder:
            tuned = hone.tune(
                lambda w, x: x @ w, first, x, budget=2, threads=1, weights=0, build=BUILD, db=f"{folder}/hone.db"
            )
            tuned.save(f"{folder}/kept.hone")
            file = Path(folder) / "kept.hone" / "decisions.json"
            changed = json.loads(file.read_text())
            changed["decisions"] = [{"kind": "rewrite", "key": key, "value": "onednn"}]
            file.write_text(json.dumps(changed))
            kept = hone.load(f"{folder}/kept.hone", build=BUILD)
            for _ in range(3):
                weight = aligned(random.standard_normal((256, 128)))
                kept.set_weights(weight)
                for _ in range(2):
                    np.testing.assert_allclose(kept(None, x), x @ weight, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
