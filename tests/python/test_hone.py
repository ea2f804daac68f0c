"""Tests of python/hone: against a fake runtime, and against the built one where it and JAX are there."""

import ctypes
import gc
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))

import hone  # noqa: E402
from hone import arrays, command, files, runtime, trees  # noqa: E402
from hone.signature import Signature  # noqa: E402

HAS_JAX = importlib.util.find_spec("jax") is not None


def missing(*names):
    """Why the tests of the built product cannot run, or an empty text."""
    absent = [name for name in names if not (BUILD / name).is_file()] + ([] if HAS_JAX else ["jax"])
    return f"NOT TESTED, missing: {', '.join(absent)}" if absent else ""


MISSING_PRODUCT = missing(files.PROGRAM, "hone-xla", files.RUNTIME)


def setUpModule():
    for why in {missing(), MISSING_PRODUCT} - {""}:
        print(f"test_hone: {why}", file=sys.stderr)
    # Handlers compiled by these tests go where nothing else looks.
    cache = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    unittest.enterModuleContext(unittest.mock.patch.dict("os.environ", XDG_CACHE_HOME=cache))


def misaligned(array):
    """The same values, 4 bytes past an aligned address."""
    raw = arrays.empty((array.nbytes + 64,), np.uint8)[4 : 4 + array.nbytes]
    out = raw.view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def aligned(values):
    out = arrays.empty(np.shape(values), np.float32)
    out[...] = values
    return out


class FakeBuild(unittest.TestCase):
    """A build folder with the fakes in it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.build = Path(cls.folder.name)
        subprocess.run(
            [
                "gcc",
                "-std=c11",
                "-O1",
                "-fPIC",
                "-shared",
                f"-I{ROOT / 'src'}",
                str(HERE / "fake_runtime.c"),
                "-o",
                str(cls.build / files.RUNTIME),
            ],
            check=True,
        )
        program = cls.build / files.PROGRAM
        program.write_text(f"#!{sys.executable}\n{(HERE / 'fake_hone.py').read_text()}")
        program.chmod(0o755)
        cls.fake = ctypes.CDLL(str(cls.build / files.RUNTIME))
        cls.fake.fake_last_input.restype = ctypes.c_void_p

    def setUp(self):
        self.x = aligned(np.arange(8))
        self.w = aligned(np.ones(8))

    def package(self, weight=0):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "decisions.json").write_text('{"decisions": [], "target": {"threads": 1}}')
        (Path(folder.name) / "fake.txt").write_text(f"8 2.0 {weight}")
        return folder.name

    def load(self, weight=0):
        return hone.load(self.package(weight), build=self.build)


class TestArrays(unittest.TestCase):
    def test_aligned_arrays_are_used_in_place(self):
        x = aligned(np.arange(12).reshape(3, 4))
        self.assertEqual(arrays.prepare(x, (3, 4), x.dtype, "x").ctypes.data, x.ctypes.data)

    def test_others_are_copied_to_an_aligned_place(self):
        x = aligned(np.arange(16).reshape(4, 4))
        for other in (misaligned(x), np.asfortranarray(x), aligned(np.arange(32).reshape(4, 8))[:, :4]):
            prepared = arrays.prepare(other, (4, 4), x.dtype, "x")
            self.assertFalse(np.shares_memory(prepared, other))
            self.assertEqual(prepared.ctypes.data % arrays.ALIGNMENT, 0)
            np.testing.assert_array_equal(prepared, other)

    def test_wrong_shape_and_type_are_refused(self):
        for wrong in (np.zeros((3, 5), np.float32), np.zeros((4, 3), np.complex64)):
            with self.assertRaisesRegex(TypeError, r"weight 3: expected float32\[4, 3\], got"):
                arrays.prepare(wrong, (4, 3), np.dtype(np.float32), "weight 3")

    def test_types_are_converted_within_a_kind(self):
        self.assertEqual(arrays.prepare(3, (), np.dtype(np.float16), "x"), np.float16(3))
        prepared = arrays.prepare(np.arange(3.0), (3,), np.dtype(np.float32), "x")
        self.assertEqual(prepared.dtype, np.float32)
        np.testing.assert_array_equal(prepared, [0, 1, 2])

    def test_empty_is_aligned(self):
        for shape in ((), (0, 3), (5,), (7, 1, 3)):
            self.assertEqual(arrays.empty(shape, np.float64).ctypes.data % arrays.ALIGNMENT, 0)
            self.assertEqual(arrays.empty(shape, np.float64).shape, shape)

    def test_every_dlpack_array_is_seen_on_its_own_memory(self):
        class Wrapped:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        x = aligned(np.arange(8))
        self.assertTrue(np.shares_memory(arrays.as_numpy(Wrapped(x)), x))


@unittest.skipUnless(importlib.util.find_spec("torch"), "NOT TESTED, missing: torch")
class TestTorch(unittest.TestCase):
    def test_tensors_come_and_go_on_their_own_memory(self):
        import torch

        for kind in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.int64, torch.complex64):
            for tensor in (torch.ones(3, 4).to(kind), torch.ones(()).to(kind)):
                array = arrays.as_numpy(tensor)
                self.assertEqual(array.ctypes.data, tensor.data_ptr())
                again = arrays.to_library(array, arrays.library_of(tensor))
                self.assertEqual(
                    (again.dtype, again.shape, again.data_ptr()), (tensor.dtype, tensor.shape, tensor.data_ptr())
                )
        self.assertEqual(arrays.as_numpy(torch.ones(3, requires_grad=True)).tolist(), [1, 1, 1])


class TestSignature(unittest.TestCase):
    def signature(self):
        params = trees.Structure({"b": 1, "a": [0, (2, None)]}, 3)
        return Signature([params, trees.LEAF], trees.Structure(({"y": 0}, [1]), 2), (0,))

    def test_round_trip_through_json(self):
        for signature in (self.signature(), Signature.flat(3, 2, (1,)), Signature.flat(0, 1)):
            again = Signature.from_json(json.loads(json.dumps(signature.to_json())))
            self.assertEqual(again.to_json(), signature.to_json())
            self.assertEqual([a.skeleton for a in again.arguments], [a.skeleton for a in signature.arguments])

    def test_flatten_and_unflatten(self):
        signature = self.signature()
        self.assertEqual(signature.flatten(({"a": ["p", ("q", None)], "b": "r"}, "x")), ["p", "r", "q", "x"])
        self.assertEqual(signature.flatten((None, "x")), [None, None, None, "x"])
        self.assertEqual(signature.weight_inputs(), [0, 1, 2])
        self.assertEqual(signature.results.unflatten(["u", "v"]), ({"y": "u"}, ["v"]))

    def test_other_structures_are_refused_with_the_place(self):
        signature = self.signature()
        with self.assertRaisesRegex(TypeError, "expected 2 arguments, got 1"):
            signature.flatten(({},))
        with self.assertRaisesRegex(TypeError, "argument 0: expected a dict with keys"):
            signature.flatten(({"a": 1}, "x"))
        with self.assertRaisesRegex(TypeError, r"argument 0\['a'\]\[1\]: expected a tuple of 2, got a list"):
            signature.flatten(({"a": ["p", ["q", None]], "b": "r"}, "x"))


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
            hone.tune("x.hlo", fail=True, build=self.build)
        self.assertEqual(str(raised.exception), "line 3: cannot parse (look there)")
        with self.assertRaisesRegex(hone.Error, "ended by signal 11"):
            hone.tune("x.hlo", crash=True, build=self.build)

    def test_failures_leave_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
            with self.assertRaises(hone.Error):
                hone.tune("x.hlo", self.x, self.w, fail=True, build=self.build)
            self.assertEqual(os.listdir(folder), [])

    def test_interrupt_is_passed_on_and_the_answer_kept(self):
        # A process started in the background of a shell ignores Ctrl-C, and so would this test.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        answer = command.run(["inspect", "x.hlo", "--wait"], self.build)
        self.assertEqual(answer["speedup"], 1.5)


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
        from collections import namedtuple

        from hone import jax_export

        pair = namedtuple("pair", "a b")
        _, signature, _ = jax_export.export(lambda p: pair(p.b, p.a), (pair(self.x, self.w),), ())
        self.assertEqual(signature.flatten((pair(1, 2),)), [1, 2])
        self.assertEqual(signature.results.unflatten([1, 2]), pair(1, 2))
        self.assertIsNone(signature.to_json())

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

    def test_the_handler_compiles_where_no_build_has_it(self):
        path = files.find_handler(self.build)
        self.assertTrue(str(path).startswith(os.environ["XDG_CACHE_HOME"]))
        self.assertTrue(hasattr(ctypes.CDLL(str(path)), "hone_ffi_call"))
        self.assertEqual(files.find_handler(self.build), path)


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
            cls.function, cls.x, cls.y, budget=8, name="transposed", build=BUILD, db=f"{cls.database.name}/hone.db"
        )

    def test_results_equal_jax_s(self):
        np.testing.assert_allclose(self.tuned(self.x, self.y), self.expected, rtol=1e-6)
        np.testing.assert_allclose(self.tuned(misaligned(self.x), self.y), self.expected, rtol=1e-6)

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
            tuned = hone.tune(layer, params, x, budget=8, weights=0, build=BUILD, db=f"{folder}/hone.db")
        expected = layer(params, x)
        for result in (tuned(params, x), tuned(None, x), jax.jit(lambda x: tuned.jax(None, x))(x)):
            self.assertIsInstance(result, tuple)
            np.testing.assert_allclose(result[0], expected[0], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(result[1], expected[1])


if __name__ == "__main__":
    unittest.main()
