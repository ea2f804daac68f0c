"""hone.stock: StableHLO as what stock JAX calls and stores. Needs jax, and no build."""

import pathlib
import tempfile
import unittest

import numpy as np

try:
    import jax
    import jax.export
    from hone.stock import folder
    from hone.stock.exported import exported, is_wide
    from hone.stock.session import Stock
except ImportError as error:
    raise unittest.SkipTest(f"SKIPPED: {error}") from None

try:
    import flatbuffers  # noqa: F401  what jax.export writes its files with
except ImportError:
    flatbuffers = None

from hone import Error, trees
from hone.signature import Signature

TWO = """module @two {
  func.func public @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %a, %b : tensor<3xf32>
    %1 = stablehlo.multiply %a, %b : tensor<3xf32>
    return %0, %1 : tensor<3xf32>, tensor<3xf32>
  }
}
"""
# An operation of chlo, as XLA's conversion and JAX write it.
TOP = """module @top {
  func.func public @main(%a: tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = chlo.top_k(%a, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi32>)
    return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
  }
}
"""
A, B = np.array([1, 2, 3], np.float32), np.array([4, 5, 7], np.float32)


class Exported(unittest.TestCase):
    def check(self, made):
        total, product = jax.jit(made.call)(A, B)
        np.testing.assert_array_equal(total, A + B)
        np.testing.assert_array_equal(product, A * B)

    def test_call(self):
        self.check(exported(TWO, "two"))

    @unittest.skipIf(flatbuffers is None, "SKIPPED: no flatbuffers: jax.export writes no file")
    def test_stored_form(self):
        self.check(jax.export.deserialize(exported(TWO, "two").serialize()))

    def test_other_dialects(self):
        values, places = jax.jit(exported(TOP, "top").call)(A)
        np.testing.assert_array_equal(values, [3, 2])
        np.testing.assert_array_equal(places, [2, 1])

    def test_no_gradient(self):
        """Not that of a function that only has the same types."""
        made = exported(TWO, "two")
        with self.assertRaisesRegex(ValueError, "VJP|vjp|differentiat"):
            jax.grad(lambda a: made.call(a, B)[0].sum())(A)

    def test_structures(self):
        signature = Signature([trees.Structure({"a": 0, "b": 1}, 2)], trees.Structure([0, (1,)], 2))
        total, (product,) = exported(TWO, "two", signature).call({"a": A, "b": B})
        np.testing.assert_array_equal(total, A + B)
        np.testing.assert_array_equal(product, A * B)

    def test_types(self):
        self.assertFalse(is_wide(exported(TWO, "two")))
        with jax.enable_x64(True):
            self.assertTrue(is_wide(exported(TWO.replace("f32", "f64"), "two")))
        half = exported(TWO.replace("f32", "bf16"), "two")
        self.assertEqual({aval.dtype.name for aval in half.in_avals}, {"bfloat16"})

    def test_errors(self):
        for text in ("module {", TWO.replace("@main", "@other"), TWO.replace("tensor<3xf32>", "tensor<?xf32>")):
            with self.assertRaises(Error, msg=text):
                exported(text, "two")


class Programs(unittest.TestCase):
    def test_without_inputs(self):
        self.addCleanup(jax.config.update, "jax_enable_x64", jax.config.jax_enable_x64)
        with tempfile.TemporaryDirectory() as folder:
            text, outputs = pathlib.Path(folder) / "one.mlir", pathlib.Path(folder) / "outputs.npz"
            text.write_text(
                "module { func.func public @main() -> tensor<2xf32> {"
                " %0 = stablehlo.constant dense<1.0> : tensor<2xf32> return %0 : tensor<2xf32> } }"
            )
            programs = Stock()
            programs.open("one", str(text), {})
            self.assertEqual(len(programs.run("one", 3, cpu=False, outputs=str(outputs))["times_ns"]), 3)
            with np.load(outputs) as arrays:
                np.testing.assert_array_equal(arrays["arr_0"], [1, 1])


class Folder(unittest.TestCase):
    def test_options_have_types(self):
        options = {"xla_cpu_prefer_vector_width": "128", "xla_cpu_enable_fast_math": "true", "xla_cpu_max_isa": "AVX2"}
        typed = folder.typed(options)
        self.assertEqual(list(typed.values()), [128, True, "AVX2"])

    def test_loader_is_python(self):
        text = folder.loader("name", {"xla_cpu_prefer_vector_width": 128}, "--xla_backend_extra_options=a=true", True)
        compile(text, "load.py", "exec")
        self.assertIn("OPTIONS = {'xla_cpu_prefer_vector_width': 128}", text)
        self.assertIn('FLAGS = "--xla_backend_extra_options=a=true"', text)


if __name__ == "__main__":
    unittest.main()
