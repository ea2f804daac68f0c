"""hone.jit with the built product: real tunes of small functions, the README's first lines, Keras."""

import functools
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np
from fake_build import BUILD, MISSING_PRODUCT, ROOT, set_up_module

# isort: split
import hone

if not MISSING_PRODUCT:
    import jax
    import jax.numpy as jnp

HAS_KERAS = importlib.util.find_spec("keras") is not None
FASTER = {"stock_ns": 2.0, "tuned_ns": 1.0, "speedup": 2.0}  # what is faster here changes from run to run

KERAS_MODEL = """
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None
import unittest.mock
import keras, numpy as np
import hone

model = keras.Sequential([
    keras.Input((6, 6, 4)), keras.layers.SeparableConv2D(8, 3), keras.layers.BatchNormalization(),
    keras.layers.ReLU(), keras.layers.GlobalAveragePooling2D(), keras.layers.Dropout(0.5), keras.layers.Dense(3),
])
images = np.random.default_rng(0).normal(size=(2, 6, 6, 4)).astype(np.float32)
f = hone.jit(model, **eval(sys.argv[1]))
with unittest.mock.patch("hone.jitted.duel.race", return_value={"stock_ns": 2.0, "tuned_ns": 1.0, "speedup": 2.0}):
    np.testing.assert_allclose(f(images), model(images), rtol=1e-4, atol=1e-5)
model.compile("sgd", "mse")
model.fit(images, np.ones((2, 3), np.float32), epochs=2, verbose=0)
np.testing.assert_allclose(f(images), model(images), rtol=1e-4, atol=1e-5)
(status,) = f.status()
assert f.wait(0)
print(status["state"], len(hone.load(status["path"])._program.weights), len(model.variables))
"""


def setUpModule():
    if MISSING_PRODUCT:
        raise unittest.SkipTest(MISSING_PRODUCT)
    set_up_module("test_jit_product")


class TestProduct(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.options = {"build": BUILD, "cache": f"{folder}/cache", "db": f"{folder}/hone.db", "budget": 2}
        self.random = np.random.default_rng(0)

    def normal(self, *shape):
        return jnp.asarray(self.random.standard_normal(shape), jnp.float32)

    def test_a_layer_with_weights_keys_and_numbers(self):
        @functools.partial(hone.jit, weights="params", static_argnames="act", **self.options)
        def layer(params, x, key, scale, *, act):
            noise, key = jax.random.normal(key, x.shape), jax.random.split(key)[1]
            y = {"gelu": jax.nn.gelu, "relu": jax.nn.relu}[act]((x + scale * noise) @ params["w"] + params["b"])
            return {"y": y.astype(jnp.bfloat16), "key": key, "count": {7: jnp.arange(3), 8: None}}

        params, x, key = {"w": self.normal(64, 32), "b": self.normal(32)}, self.normal(4, 64), jax.random.key(5)
        with unittest.mock.patch("hone.jitted.duel.race", return_value=FASTER):
            results = [layer(params, x, key, 0.5, act="gelu")]
        self.assertEqual([s["state"] for s in layer.status()], ["ready"])
        other = {"w": self.normal(64, 32), "b": params["b"]}
        results += [layer(params, x, key, 0.25, act="gelu"), layer(other, x, key, 0.25, act="gelu")]
        stock = functools.partial(jax.jit(layer.__wrapped__, static_argnames="act"), act="gelu")
        expected = [stock(p, x, key, s) for p, s in ((params, 0.5), (params, 0.25), (other, 0.25))]
        for got, want in zip(results, expected, strict=True):
            self.assertEqual(jax.tree.structure(got), jax.tree.structure(want))
            self.assertEqual(jax.tree.map(jax.typeof, got), jax.tree.map(jax.typeof, want))
            np.testing.assert_allclose(*(np.asarray(r["y"], np.float32) for r in (got, want)), rtol=0.02, atol=0.02)
            self.assertTrue(bool(got["key"] == want["key"]))

    def test_symbolic_shapes_of_an_exported_function(self):
        shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 16"), jnp.float32)
        exported = jax.export.export(jax.jit(lambda x: jnp.tanh(x.sum(0)) @ x.T))(shape)
        f, x = hone.jit(exported, shape={"b": 8}, **self.options), self.normal(8, 16)
        with unittest.mock.patch("hone.jitted.duel.race", return_value=FASTER):
            self.assertEqual(f.tune()["state"], "ready")
        np.testing.assert_allclose(f(x), exported.call(x), rtol=1e-4, atol=1e-5)

    def test_what_cannot_be_tuned(self):
        f = hone.jit(lambda x: x + jax.pure_callback(np.sin, jax.typeof(x), x), **self.options)
        x = np.float32([1, 2])
        with self.assertWarnsRegex(RuntimeWarning, r"hone.jit\(lambda\): jax.jit answers, since .*callback"):
            np.testing.assert_allclose(f(x), x + np.sin(x), rtol=1e-6)
        self.assertEqual([s["state"] for s in f.status()], ["fallback"])

    def test_a_real_duel_decides(self):
        f, x = hone.jit(lambda x: jnp.tanh(x).sum(), **self.options), self.normal(64, 64)
        np.testing.assert_allclose(f(x), np.tanh(x).sum(), rtol=1e-4)
        (status,) = f.status()
        self.assertGreater(status["speedup"], 0)
        self.assertEqual(status["state"] == "ready", status["speedup"] >= 1.01)

    def test_the_readme_s_first_lines(self):
        first = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
        self.assertLessEqual(len(first.strip().splitlines()), 6)
        self.assertIn("hone.jit(", first)
        names = {
            "model": lambda params, x: jnp.tanh(x @ params),
            "params": self.normal(16, 16),
            "x": self.normal(4, 16),
        }
        short = functools.partial(hone.jit, **self.options)
        with unittest.mock.patch("hone.jit", lambda *args, **kwargs: short(*args, **{**kwargs, "budget": 2})):
            exec(first, names)
        np.testing.assert_allclose(names["y"], names["model"](names["params"], names["x"]), rtol=1e-4, atol=1e-5)
        self.assertEqual(len(names["f"].status()), 1)

    @unittest.skipUnless(HAS_KERAS, "NOT TESTED, missing: keras")
    def test_keras_models(self):
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        command = [sys.executable, "-c", KERAS_MODEL, repr({**self.options, "build": str(BUILD)})]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        state, weights, variables = done.stdout.split()
        self.assertEqual(state, "ready", done.stderr)
        self.assertGreaterEqual(int(weights), int(variables) - 1)  # dropout's seed may be of no use


if __name__ == "__main__":
    unittest.main()
