"""hone.jit against a fake build: what has to be as with jax.jit: settings, traces, errors, copies, options."""

import copy
import functools
import pickle
import threading
import time
import types
import unittest
import unittest.mock
import warnings

import numpy as np
from fake_build import HAS_JAX, set_up_module
from jit_case import JitCase, scaled

# isort: split
import hone

if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from hone.jitted import context, duel, program
    from hone.jitted.flat import Flat


def setUpModule():
    if not HAS_JAX:
        raise unittest.SkipTest("NOT TESTED, missing: jax")
    set_up_module("test_jit_as_jax")


class TestSettings(JitCase):
    def search(self, f, *args):
        """Calls `f`, and returns the program that is searched for in the background."""
        seen = []

        def find(flat, *_):
            seen.append(flat.text)
            return program.Outcome()

        with unittest.mock.patch("hone.jitted.program._find", find), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(*args)
            self.assertTrue(f.wait(60))
        return seen[0]

    def test_are_those_of_the_caller_in_the_background(self):
        def function(x, w):
            return scaled(x, w) + jnp.outer(x, x) @ jnp.zeros(8)

        f = self.jit(function, mode="background")
        with jax.default_matmul_precision("highest"):
            self.assertIn("HIGHEST", self.search(f, self.x, self.w))
        self.assertNotIn("HIGHEST", self.search(f, self.x, self.w))
        with jax.enable_x64(True):
            self.assertIn("tensor<8xf64>", self.search(f, self.x, self.w))

    def test_judged_under_them_too(self):
        stock = []

        def error(expected, *_):
            stock.append(expected.dtype)
            return 2.0

        f = self.jit(lambda x, w: scaled(x, w) + 0 * jnp.zeros(8).astype(np.float32), mode="background")
        judged = unittest.mock.patch("hone.jitted.duel.error", error)
        with judged, jax.enable_x64(True), self.assertWarnsRegex(RuntimeWarning, "results differ"):
            f(self.x, self.w)
            self.assertTrue(f.wait(60))
            while not f._warned:
                time.sleep(0.01)
        self.assertEqual(stock, [np.float32])

    def test_each_is_part_of_the_signature(self):
        def function(x, w):
            return scaled(x, w) + (0 if jax.config.jax_threefry_partitionable else 100)

        f = self.jit(function)
        with jax.threefry_partitionable(True):
            self.assert_scaled(f(self.x, self.w))
        with jax.threefry_partitionable(False), self.assertWarnsRegex(RuntimeWarning, "results differ"):
            np.testing.assert_array_equal(f(self.x, self.w), 2 * self.x + self.w + 100)
        f = self.jit(lambda x, w: x * jnp.asarray(2, jnp.int32) + w)
        f(self.x, self.w)
        with jax.numpy_dtype_promotion("strict"), self.assertRaisesRegex(Exception, "promotion"):
            f(self.x, self.w)

    def test_a_version_of_jax_without_its_list(self):
        with unittest.mock.patch.multiple(
            context, config_states={}, trace_context=context._public, current=context._public
        ):
            before = context.current()
            with jax.enable_x64(True), jax.default_matmul_precision("high"):
                inside, captured = context.current(), context.Captured()
            self.assertNotEqual(before, inside)
            with captured.entered() as same:
                self.assertEqual((same, context.current()), (True, inside))
            self.assertEqual(context.current(), before)

    def test_settings_that_stay_with_a_thread(self):
        mine = jax.make_user_context(0) if hasattr(jax, "make_user_context") else None
        if mine is None:
            self.skipTest("this JAX has no contexts of users")
        with mine(1):
            captured, seen = context.Captured(), []

            def enter():
                with captured.entered() as same:
                    seen.append(same)

            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
        self.assertEqual(seen, [False])


class TestTraces(JitCase):
    def test_the_function_is_traced_once(self):
        for options in ({}, {"mode": "background"}, {"donate_argnums": 0}, {"mode": "background", "donate_argnums": 0}):
            traces = []

            def function(x, w, traces=traces):
                traces.append(1)
                return scaled(x, w)

            f = self.jit(function, cache=False, **options)
            self.assert_scaled(f(jnp.array(self.x), self.w))
            self.assertTrue(f.wait(60))
            self.assertEqual((self.states(f), len(traces)), (["ready"], 1), options)

    def test_errors_come_from_one_trace(self):
        traces = []

        def function(x, w):
            traces.append(1)
            raise ValueError("mine")

        for mode in ("foreground", "background"):
            f = self.jit(function, mode=mode)
            with self.assert_silent(), self.assertRaisesRegex(ValueError, "mine"):
                f(self.x, self.w)
            self.assertEqual((len(traces), f.status(), f.wait(1)), (1, [], True))
            traces.clear()

    def test_functions_that_can_be_traced_only_once(self):
        @functools.cache
        def table():
            return jnp.arange(8, dtype=jnp.float32) * 0

        f = self.jit(lambda x, w: scaled(x, w) + table())
        with self.assert_silent():
            self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.states(f), ["ready"])

    def test_weak_types_of_donated_arguments(self):
        f = self.jit(lambda a, b: a * b, mode="background", donate_argnums=0)
        weak = jnp.full((8,), 2.0)
        self.assertTrue(weak.weak_type)
        (given, _), _ = f._lasting_arguments((weak, self.w), {})
        self.assertEqual(jax.api_util.shaped_abstractify(given), weak.aval)
        self.assertEqual(given.sharding, weak.sharding)
        traced = f.trace(weak, jnp.ones(8, jnp.bfloat16))
        leaves, tree = jax.tree_util.tree_flatten(((given, jnp.ones(8, jnp.bfloat16)), {}))
        flat = Flat(traced, tree, leaves)
        self.assertEqual([aval.dtype for aval in flat.out_avals], [jnp.bfloat16])
        self.assertTrue(flat.leaves()[0].weak_type)

    def test_other_types_than_those_traced_are_not_used(self):
        f = self.jit()
        _, key = f._key((self.x, self.w), {})
        outcome = f._outcome(key, jax.jit(scaled).trace(1.0, self.w), (self.x, self.w), {})
        self.assertRegex(outcome.reason, "other types")
        self.assertTrue(outcome.warn)

    def test_clear_cache(self):
        factor = [2.0]
        f = self.jit(lambda x, w: x * factor[0] + w)
        self.assert_scaled(f(self.x, self.w))
        factor[0] = 5.0
        self.assert_scaled(f(self.x, self.w))
        f.clear_cache()
        self.assertEqual(f.status(), [])
        with self.assertWarnsRegex(RuntimeWarning, "results differ"):
            np.testing.assert_array_equal(f(self.x, self.w), 5 * self.x + self.w)

    def test_background_warnings_name_the_line_of_the_call(self):
        f = self.jit(mode="background", strategy="fail")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            f(self.x, self.w)
            self.assertTrue(f.wait(60))
            while not told:
                time.sleep(0.01)
        self.assertEqual([warning.filename for warning in told], [__file__])


class TestObjects(JitCase):
    def test_attributes_of_callable_objects_stay_apart(self):
        class Net:
            def __init__(self):
                self.status, self._key, self._entries = "ok", 1, 2

            def __call__(self, x, w):
                return scaled(x, w)

        f = self.jit(Net())
        self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.states(f), ["ready"])

    def test_copies(self):
        f = self.jit(weights="w")
        f(self.x, self.w)
        for again in (copy.deepcopy(f), copy.copy(f), pickle.loads(pickle.dumps(f))):
            self.assertEqual(again.status(), [])
            self.assert_scaled(again(self.x, self.w))
            self.assertEqual(self.states(again), ["ready"])
        self.assertEqual(self.tunes(), 1)

    def test_weights_that_the_function_lacks(self):
        for weights in (5, (0, 2), -3):
            with self.assertRaisesRegex(ValueError, "no argument .* takes 2"):
                self.jit(weights=weights)
        self.assert_scaled(self.jit(lambda *all: scaled(*all), weights=1)(self.x, self.w))
        for static in ({"static_argnums": 1}, {"static_argnames": "w"}, {"static_argnums": -1}):
            for weights in (1, "w"):
                with self.assertRaisesRegex(ValueError, "is static too"):
                    self.jit(weights=weights, **static)

    def test_integers_are_compared_exactly(self):
        with jax.enable_x64(True):
            one, other = jnp.asarray([2**60]), jnp.asarray([2**60 + 1])
            self.assertEqual((duel.error(one, one), duel.error(one, other)), (0.0, float("inf")))
        yes, no = jnp.asarray([True]), jnp.asarray([False])
        self.assertEqual((duel.error(yes, yes), duel.error(yes, no)), (0.0, float("inf")))
        one, other = jax.random.key(1), jax.random.key(2)
        self.assertEqual((duel.error(one, one), duel.error(one, other)), (0.0, float("inf")))

    def test_options_that_name_arguments_of_a_keras_model(self):
        def body(namespace):
            namespace |= {"__module__": "keras.models", "stateless_call": scaled, "trainable_variables": ()}

        model = types.new_class("Model", exec_body=body)()
        named = ("weights", "donate_argnums", "donate_argnames", "static_argnums", "static_argnames")
        for name in named:
            with self.assertRaisesRegex(ValueError, f"{name} cannot be given with a Keras model .leave it out"):
                hone.jit(model, **{name: "x" if "names" in name else 0})


if __name__ == "__main__":
    unittest.main()
