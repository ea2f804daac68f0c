"""Results of tuned programs: written in place, right whatever they share, and the caller's for good."""

import json
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
from fake_build import BUILD, MISSING_PRODUCT, set_up_module

# isort: split
import hone

# One result by itself, one twice, an input passed through, a constant, and one that is a part of nothing else.
SHARED = """HloModule shared
ENTRY e { x = f32[512,128]{1,0} parameter(0)
  y = f32[512,128]{1,0} parameter(1)
  s = f32[512,128]{1,0} add(x, y)
  t = f32[512,128]{1,0} tanh(s)
  k = f32[4]{0} constant({1, 2, 3, 4})
  n = f32[512,128]{1,0} negate(t)
  ROOT o = (f32[512,128]{1,0}, f32[512,128]{1,0}, f32[512,128]{1,0}, f32[4]{0}, f32[512,128]{1,0})
    tuple(t, t, x, k, n) }
"""
# The first result takes the memory of the first input.
DONATED = """HloModule donated, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY e { x = f32[512,128]{1,0} parameter(0)
  y = f32[512,128]{1,0} parameter(1)
  s = f32[512,128]{1,0} add(x, y)
  p = f32[512,128]{1,0} multiply(x, y)
  ROOT o = (f32[512,128]{1,0}, f32[512,128]{1,0}) tuple(s, p) }
"""


def setUpModule():
    set_up_module("test_outputs")


def shared(x, y):
    t = np.tanh(x + y)
    return t, t, x, np.array([1, 2, 3, 4], np.float32), -t


def donated(x, y):
    return x + y, x * y


@unittest.skipIf(MISSING_PRODUCT, MISSING_PRODUCT)
class TestOutputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        texts = {shared: SHARED, donated: DONATED}
        cls.programs = {function: cls.load(function.__name__, text) for function, text in texts.items()}

    @classmethod
    def load(cls, name, text):
        """A package without decisions: default XLA's program."""
        package = cls.folder / f"{name}.hone"
        (cls.folder / f"{name}.hlo").write_text(text)
        options = {"budget": 1, "threads": 1, "quiet": True, "db": cls.folder / "hone.db"}
        hone.tune(cls.folder / f"{name}.hlo", output=package, build=BUILD, **options)
        content = json.loads((package / "decisions.json").read_text())
        (package / "decisions.json").write_text(json.dumps(content | {"decisions": []}))
        return hone.load(package, build=BUILD)

    def inputs(self, seed):
        random = np.random.default_rng(seed)
        arrays = [hone.arrays.empty((512, 128), np.dtype(np.float32)) for _ in range(2)]
        for array in arrays:
            array[:] = random.standard_normal(array.shape)
        return arrays

    def check(self, results, expected):
        for result, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-6)

    def test_old_results_stay_when_the_program_runs_again(self):
        for function, program in self.programs.items():
            with self.subTest(function.__name__):
                given = [self.inputs(seed) for seed in range(4)]
                untouched = [[array.copy() for array in inputs] for inputs in given]
                kept = [program(*inputs) for inputs in given]
                for inputs, before, results in zip(given, untouched, kept, strict=True):
                    self.check(results, function(*before))
                    self.check(inputs, before)  # none is written to
                memory = [result for results in kept for result in results]
                for i, one in enumerate(memory):
                    for other in memory[:i]:
                        self.assertFalse(np.shares_memory(one, other))

    def test_results_go_where_they_are_asked_for(self):
        """Aligned or not, the same memory again, that of another result, and other memory in between."""
        for function, tuned in self.programs.items():
            with self.subTest(function.__name__):
                program = tuned._program
                raw = [np.zeros(4 * 512 * 128 + 128, np.uint8) for _ in program.outputs]
                for run, offset in enumerate((0, 4, 0, 0, 8, 0)):
                    inputs, places = self.inputs(run), []
                    blocks = raw if run % 2 == 0 else raw[::-1]
                    for block, spec in zip(blocks, program.outputs, strict=True):
                        start = -block.ctypes.data % 64 + offset
                        array = block[start : start + 4 * int(np.prod(spec.shape))].view(spec.dtype).reshape(spec.shape)
                        places.append(unittest.mock.Mock(take=lambda array=array: array))
                    with unittest.mock.patch.object(program, "_results", places):
                        results = program.run(inputs)
                    self.check(results, function(*inputs))
                self.check(tuned(*inputs), function(*inputs))

    def test_threads_have_their_own(self):
        for function, program in self.programs.items():
            wrong, begin = [], threading.Barrier(4)

            def call(seed, function=function, program=program, wrong=wrong, begin=begin):
                kept = []
                begin.wait(60)
                for run in range(20):
                    inputs = self.inputs(100 * seed + run)
                    kept.append((program(*inputs), function(*inputs)))
                for results, expected in kept:
                    if not all(np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(results, expected, strict=True)):
                        wrong.append(seed)

            threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(300)
            self.assertEqual(wrong, [], function.__name__)

    def test_in_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("NOT TESTED, missing: jax")
        for function, program in self.programs.items():
            call = jax.jit(lambda x, y, program=program: program.jax(x, y))
            given = [self.inputs(seed) for seed in range(4)]
            kept = [call(*inputs) for inputs in given]
            donating = jax.jit(lambda x, y, program=program: program.jax(x * 1.0, y)[0], donate_argnums=0)
            for inputs, results in zip(given, kept, strict=True):
                self.check(results, function(*inputs))
                first = donating(jax.numpy.array(inputs[0]), inputs[1])
                np.testing.assert_allclose(first, function(*inputs)[0], rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
