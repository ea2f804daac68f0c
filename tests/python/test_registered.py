"""Structures of classes registered with JAX, through a package and back."""

import collections
import dataclasses
import json
import sys
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fake_build import HAS_JAX, FakeBuild, set_up_module

# isort: split
import hone
from hone import registered, trees
from hone.signature import Signature
from hone.tuned import SIGNATURE_FILE

if HAS_JAX:
    import jax


def setUpModule():
    if not HAS_JAX:
        raise unittest.SkipTest("NOT TESTED, missing: jax")
    set_up_module("test_registered")


class Pair(NamedTuple):
    x: Any
    w: Any


@dataclasses.dataclass
class Box:
    x: Any
    w: Any
    kind: Any = "a"


class Ring:
    """A pytree of the user's own."""

    def __init__(self, items, sizes):
        self.items, self.sizes = items, sizes

    def tree_flatten(self):
        return (self.items,), self.sizes

    @classmethod
    def tree_unflatten(cls, sizes, children):
        return cls(children[0], sizes)


if HAS_JAX:
    jax.tree_util.register_dataclass(Box, data_fields=["x", "w"], meta_fields=["kind"])
    jax.tree_util.register_pytree_node_class(Ring)


def structure_of(value):
    return trees.from_treedef(jax.tree.structure(value))


def again(structure):
    return trees.from_json(json.loads(json.dumps(trees.to_json(structure))))


class TestStructures(unittest.TestCase):
    def test_come_back_as_what_they_were(self):
        for value in (
            Box(1, None, "b"),
            Box(Pair(1, 2), [3, (4, {}), ()], ("c", 3, None, 0.5, True)),
            {"b": Box(1, 2), "n": None},
            Ring([1, Pair(2, Box(3, 4))], {"k": [1, 2], 4: "x"}),
            collections.OrderedDict(z=1, a=2),
            (collections.OrderedDict(a=Ring((), None)), [Box(1, 2)]),
        ):
            with self.subTest(value):
                before, treedef = structure_of(value), jax.tree.structure(value)
                after = again(before)
                self.assertEqual(after.leaves, before.leaves)
                self.assertEqual(after.treedef, treedef)
                self.assertEqual(after.flatten(value, "x"), jax.tree.leaves(value))

    def test_static_values_are_part_of_them(self):
        after = again(structure_of(Box(1, 2, "b")))
        self.assertEqual(after.unflatten(["p", "q"]), Box("p", "q", "b"))
        with self.assertRaisesRegex(TypeError, "argument 0"):
            after.flatten(Box(1, 2, "c"), "argument 0")

    def test_classes_without_a_name_are_not_stored(self):
        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class Inner:
            x: Any

        self.assertIsNone(trees.to_json(structure_of(Inner(1))))
        self.assertIsNone(trees.to_json(structure_of([Box(1, 2, object())])))
        self.assertIsNone(trees.to_json(structure_of(Box(1, 2, np.float32(1)))))

    def test_nothing_is_imported(self):
        module = types.ModuleType("somewhere")
        stored = trees.to_json(structure_of(Box(1, 2)))
        stored["tree"]["module"] = "somewhere"
        with self.assertRaisesRegex(registered.UnknownClass, "somewhere.Box"):
            trees.from_json(stored)
        module.Box = type("Box", (), {})  # not registered with JAX
        with (
            unittest.mock.patch.dict(sys.modules, somewhere=module),
            self.assertRaisesRegex(registered.UnknownClass, "somewhere.Box"),
        ):
            trees.from_json(stored)
        with unittest.mock.patch.dict(sys.modules):
            del sys.modules["jax"]
            with self.assertRaisesRegex(registered.UnknownClass, "jax"):
                trees.from_json(trees.to_json(structure_of(Box(1, 2))))


class TestPackages(FakeBuild):
    def tuned(self):
        def function(box):
            return Ring([Pair(box.x * 2.0 + box.w, None)], (1, "r"))

        return hone.tune(function, Box(self.x, self.w, "b"), build=self.build, output=self.folder / "box.hone")

    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, result):
        self.assertEqual((type(result), result.sizes, type(result.items[0])), (Ring, (1, "r"), Pair))
        np.testing.assert_array_equal(result.items[0].x, 2 * self.x + self.w)

    def test_take_and_return_them_when_loaded(self):
        tuned = self.tuned()
        self.check(tuned(Box(self.x, self.w, "b")))
        self.check(hone.load(tuned.path, build=self.build)(Box(self.x, self.w, "b")))

    def test_are_flat_where_a_class_is_missing(self):
        package = self.tuned().path
        stored = (package / SIGNATURE_FILE).read_text()
        (package / SIGNATURE_FILE).write_text(stored.replace('"Ring"', '"Gone"'))
        with self.assertWarnsRegex(RuntimeWarning, "plain arrays, since .*Gone is not imported"):
            flat = hone.load(package, build=self.build)
        np.testing.assert_array_equal(flat(self.x, self.w), 2 * self.x + self.w)

    def test_signatures_of_older_versions_are_read(self):
        old = {"arguments": [{"leaves": 1, "skeleton": 0}], "results": {"leaves": 1, "skeleton": 0}, "weights": []}
        self.assertEqual(Signature.from_json(old).flatten(["p"]), ["p"])


if __name__ == "__main__":
    unittest.main()
