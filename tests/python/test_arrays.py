"""Arrays and structures of python/hone, without a build."""

import collections
import importlib.util
import json
import unittest

import numpy as np
from fake_build import aligned, misaligned

# isort: split
from hone import arrays, trees
from hone.signature import Signature


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

    def test_named_tuples_of_unknown_classes_become_alike(self):
        known = trees.Structure(collections.namedtuple("Known", "first second")(0, {3: 1}), 2)
        stored = json.loads(json.dumps(trees.to_json(known)))
        again = trees.from_json(stored)  # no module has this class
        self.assertEqual((again.skeleton.first, again.skeleton.second), (0, {3: 1}))
        self.assertEqual(again.flatten(known.unflatten(["p", "q"]), "x"), ["p", "q"])
        with self.assertRaisesRegex(TypeError, "x: expected a named tuple of first, second, got a tuple of 2"):
            again.flatten((1, 2), "x")

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


if __name__ == "__main__":
    unittest.main()
