"""Models of other frameworks: the Python code of docs/howto runs as it is written, and what it makes is right."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fake_build import BUILD, MISSING_PRODUCT, ROOT, set_up_module

# What the pages find in their folder.
MAKE_ONNX = """
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
rng = np.random.default_rng(0)
arrays = {"w": rng.normal(size=(8, 3, 3, 3)), "b": rng.normal(size=8), "f": rng.normal(size=(8, 5))}
graph = helper.make_graph(
    [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["q"]),
        helper.make_node("Gemm", ["q", "f"], ["y"]),
    ],
    "net",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
    [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.save(model, "model.onnx")
"""
CHECK_ONNX = """
padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
w, b, f = (onnx.numpy_helper.to_array(i) for i in model.graph.initializer)
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
hidden = np.maximum(np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None], 0)
np.testing.assert_allclose(y, hidden.mean((2, 3)) @ f, rtol=1e-4, atol=1e-4)
"""
MAKE_TENSORFLOW = """
import numpy as np, tensorflow as tf
class Net(tf.Module):
    def __init__(self):
        rng = np.random.default_rng(1)
        self.w, self.v = (tf.Variable(rng.normal(size=s).astype(np.float32)) for s in ((16, 32), (32, 4)))
        self.b = tf.Variable(rng.normal(size=32).astype(np.float32))
    @tf.function(input_signature=[tf.TensorSpec([None, 16])])
    def __call__(self, x):
        return tf.nn.softmax(tf.nn.relu(x @ self.w + self.b) @ self.v)
net = Net()
tf.saved_model.save(net, "saved_model")
x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
np.save("expected.npy", net(x).numpy())
"""
CHECK_TENSORFLOW = 'np.testing.assert_allclose(y, np.load("expected.npy"), rtol=1e-4, atol=1e-5)\n'
# The page's builds and databases are the user's; here they are the test's, and searches are short.
BEFORE = """
import functools
import hone.model_files, hone.tuner
def tune(*arguments, _tune=hone.tune, **options):
    return _tune(*arguments, **{{**options, "budget": 6, "build": {build!r}, "db": "hone.db", "quiet": True}})
hone.tune = hone.model_files.tune = tune
hone.jit = functools.partial(hone.jit, build={build!r}, cache=False, db="hone.db", budget=6)
"""
MAKE_KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None
import keras, numpy as np
layers = [keras.Input((6, 6, 4)), keras.layers.Conv2D(8, 3), keras.layers.Flatten(), keras.layers.Dense(3)]
model = keras.Sequential(layers)
images = np.random.default_rng(0).normal(size=(2, 6, 6, 4)).astype(np.float32)
"""
CHECK_KERAS = "np.testing.assert_allclose(y, model(images), rtol=1e-4, atol=1e-5)\n"


def setUpModule():
    if MISSING_PRODUCT:
        raise unittest.SkipTest(MISSING_PRODUCT)
    set_up_module("test_frameworks")


def needs(*modules):
    absent = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(absent, f"NOT TESTED, missing: {', '.join(absent)}")


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "howto" / page).read_text(), re.DOTALL | re.MULTILINE)


class TestPages(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_python(self, *parts):
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(parts)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(self.folder / "cache")},
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stdout[-1500:] + done.stderr[-3000:])
        return done.stdout

    @property
    def before(self):
        return BEFORE.format(build=str(BUILD.resolve()))

    @needs("torch", "torch_mlir")
    def test_pytorch(self):
        page = blocks("use-with-pytorch.md")
        self.assertEqual(len(page), 3)
        self.assertIn("hone tune model.mlir --weights 0-14", self.run_python(self.before, *page))

    @needs("torch", "torch_mlir")
    def test_pytorch_model_that_cannot_be_exported(self):
        code = """
import torch, hone
from hone import torch_model
class Odd(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
for model in (Odd(), Odd().eval()):
    try:
        torch_model.tune(model, torch.ones(3))
    except hone.Error as error:
        print(error.where, "|", error.message)
"""
        first, second = self.run_python(code).splitlines()
        self.assertEqual(first, "Odd | the model is in training mode")
        self.assertRegex(second, r"^Odd \| cannot be exported: \S")

    @needs("onnx", "jaxonnxruntime", "jax")
    def test_onnx(self):
        self.run_python(MAKE_ONNX)
        page = blocks("use-with-onnx.md")
        self.assertEqual(len(page), 2)
        if importlib.util.find_spec("torch_mlir") is None:
            print("test_frameworks: NOT TESTED, missing: torch_mlir", file=sys.stderr)
            page.pop()
        self.run_python(self.before, *page, CHECK_ONNX)

    @needs("keras", "jax")
    def test_keras(self):
        inference, as_function = blocks("use-with-keras.md")
        self.run_python(MAKE_KERAS, self.before, inference, CHECK_KERAS, as_function, CHECK_KERAS)

    @needs("wrapt", "astunparse", "grpc", "keras")
    def test_tensorflow(self):
        self.run_python(MAKE_TENSORFLOW)
        export, tune = blocks("use-with-tensorflow.md")
        self.assertIn("hone tune model.pb --weights 1-3", self.run_python(export))
        self.run_python(self.before, tune, CHECK_TENSORFLOW)
