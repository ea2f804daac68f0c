"""Memory of results: used again when the last array in it is gone, and not before."""

import gc
import pickle
import threading
import unittest
import weakref

import numpy as np
from fake_build import set_up_module

# isort: split
from hone import arrays
from hone.result_memory import LEAST_BYTES, ResultMemory

try:
    import jax.numpy as jnp
except ImportError:
    jnp = None
try:
    import torch
except ImportError:
    torch = None


def setUpModule():
    set_up_module("test_result_memory")


class TestResultMemory(unittest.TestCase):
    def setUp(self):
        self.memory = ResultMemory((256, 256), np.float32)

    def take(self, value=0.0):
        array = self.memory.take()
        array[...] = value
        return array

    def assert_held_by(self, make):
        """While `make` of a result lives, no later result is in its memory; afterwards the next one is."""
        result = self.take(3.0)
        address, other = result.ctypes.data, make(result)
        del result
        gc.collect()
        later = [self.take(5.0) for _ in range(3)]
        self.assertNotIn(address, [array.ctypes.data for array in later])
        self.assertEqual(float(np.asarray(other).max()), 3.0)
        del other
        gc.collect()
        self.assertEqual(self.take().ctypes.data, address)

    def test_is_used_again(self):
        result = self.take()
        self.assertEqual((result.shape, result.dtype), ((256, 256), np.float32))
        self.assertEqual(result.ctypes.data % arrays.ALIGNMENT, 0)
        self.assertTrue(result.flags.writeable and result.flags.c_contiguous)
        address = result.ctypes.data
        del result
        self.assertEqual(self.take().ctypes.data, address)

    def test_is_held_by_what_is_made_of_a_result(self):
        self.assert_held_by(lambda result: result)
        self.assert_held_by(lambda result: result[3:9, ::2].T[:5])
        self.assert_held_by(lambda result: result[1:].view(np.ndarray).squeeze())
        self.assert_held_by(memoryview)
        self.assert_held_by(np.from_dlpack)
        self.assert_held_by(lambda result: [result[5]])
        if torch is not None:
            self.assert_held_by(lambda result: torch.from_numpy(result)[2:])
            self.assert_held_by(torch.from_dlpack)

    @unittest.skipIf(jnp is None, "NOT TESTED, missing: jax")
    def test_arrays_of_jax_keep_their_values(self):
        made = [jnp.asarray(self.take(float(i))) for i in range(4)]
        for i, array in enumerate(made):
            self.assertEqual((float(array.min()), float(array.max())), (i, i))

    def test_little_is_kept(self):
        held = [self.take() for _ in range(5)]
        addresses = {array.ctypes.data for array in held}
        blocks = [weakref.ref(array.base.memory) for array in held]
        del held
        gc.collect()
        self.assertEqual(sum(block() is not None for block in blocks), 1)
        self.assertIn(self.take().ctypes.data, addresses)

    def test_ends_with_the_program(self):
        result = self.take(7.0)
        block = weakref.ref(result.base.memory)
        del self.memory
        self.assertEqual(float(result.sum()), 7.0 * 256 * 256)
        del result
        gc.collect()
        self.assertIsNone(block())

    def test_small_results_are_plain_arrays(self):
        self.assertIsInstance(ResultMemory((LEAST_BYTES // 4 - 1,), np.float32).take().base, np.ndarray)
        self.assertEqual(ResultMemory((0, 3), np.float64).take().shape, (0, 3))

    def test_can_be_copied_and_pickled(self):
        result = self.take(2.0)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)), result)

    def test_threads_never_share_it(self):
        wrong = []

        def work(value):
            for _ in range(200):
                result = self.take(value)
                if not (result == value).all():
                    wrong.append(value)

        threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
