"""hone.jit against a fake build: signatures, arguments, weights, what falls back."""

import dataclasses
import json
import re
import threading
import unittest
import unittest.mock
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fake_build import HAS_JAX, aligned, set_up_module
from jit_case import JitCase, scaled

# isort: split
import hone

if HAS_JAX:
    import jax
    import jax.numpy as jnp


def setUpModule():
    if not HAS_JAX:
        raise unittest.SkipTest("NOT TESTED, missing: jax")
    set_up_module("test_jit")


class Pair(NamedTuple):
    x: Any
    w: Any


class TestCalls(JitCase):
    def test_is_called_as_the_function(self):
        f = self.jit()
        with self.assert_silent():
            self.assert_scaled(f(self.x, self.w))
            self.assert_scaled(f(self.x + 1, self.w), self.x + 1)
        self.assertEqual(self.tunes(), 1)
        (status,) = f.status()
        self.assertEqual((status["state"], status["speedup"], status["reason"]), ("ready", 2.0, ""))
        self.assertEqual(status["signature"], "float32[8], float32[8]")
        self.assertEqual(hone.load(status["path"], build=self.build).speedup, 1.5)

    def test_arrays_of_all_kinds_are_one_signature(self):
        f = self.jit()
        for kind in (jnp.asarray, np.asarray, lambda a: np.asarray(a, np.float64)):
            result = f(kind(self.x), kind(self.w))
            self.assertIsInstance(result, jax.Array)
            self.assertEqual(result.dtype, np.float32)
            self.assert_scaled(result)
        self.assertEqual(self.tunes(), 1)

    def test_is_a_decorator(self):
        @hone.jit
        def plain(x):
            "Says what it does."
            return x

        options = {"build": self.build, "cache": self.cache}

        @hone.jit(weights="w", **options)
        def named(x, w):
            return scaled(x, w)

        class Holder:
            @hone.jit(static_argnums=0, **options)
            def method(self, x, w):
                return scaled(x, w)

        self.assertEqual((plain.__name__, plain.__doc__), ("plain", "Says what it does."))
        for f in (named, Holder().method):
            self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.tunes(), 2)  # the same program, once with weights
        self.assertIn("stablehlo.add", named.lower(self.x, self.w).as_text())

    def test_keywords_and_defaults(self):
        f = self.jit(lambda x, z=self.w, *, up=0.0: scaled(x, z) + up)
        self.assert_scaled(f(self.x, self.w))
        self.assert_scaled(f(z=self.w, x=self.x))
        self.assert_scaled(f(self.x, z=self.w))
        self.assertEqual(self.states(f), ["ready"] * 3)
        self.assertEqual(self.tunes(), 1)

    def test_static_arguments_have_a_signature_each(self):
        seen = []

        def function(x, kind, w, *, other=None):
            seen.append((kind, other))
            return scaled(x, w)

        for selected in ({"static_argnums": 1}, {"static_argnames": "kind"}, {"static_argnums": -2}):
            f = self.jit(function, **{"static_argnames": "other", **selected})
            if "other" in str(f._parameters._static):
                self.assert_scaled(f(self.x, "a", self.w, other=(1,)))
            self.assert_scaled(f(self.x, "a", self.w))
            self.assert_scaled(f(self.x, "b", self.w))
            self.assert_scaled(f(self.x, w=self.w, kind="a"))
            self.assertGreaterEqual(len(f.status()), 3)
        self.assertIn(("b", None), seen)
        self.assertIn(("a", (1,)), seen)
        self.assertEqual(self.tunes(), 1)  # all compute the same: one program on disk
        with self.assertRaisesRegex(ValueError, "hashable"):
            f(self.x, [], self.w)

    def test_structures_are_jax_s(self):
        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class Box:
            x: Any
            w: Any

        cases = [
            (lambda p: {"y": scaled(p.x, p.w), "none": None}, (Pair(self.x, self.w),)),
            (lambda p: Pair(scaled(p.x, p.w), ()), (Box(self.x, self.w),)),
            (lambda p: {3: [scaled(p[1], p[2])]}, ({1: self.x, 2: self.w},)),
            (lambda p, q: Box((scaled(p["x"], q[1]),), None), ({"x": self.x, "n": None}, (None, self.w))),
        ]
        for function, args in cases:
            f, expected = self.jit(function), jax.jit(function)(*args)
            for _ in range(2):
                result = f(*args)
                self.assertEqual(jax.tree.structure(result), jax.tree.structure(expected))
                self.assert_scaled(jax.tree.leaves(result)[0])
            self.assertEqual(self.states(f), ["ready"])

    def test_wrong_calls_raise_what_jax_raises(self):
        f = self.jit()
        with self.assert_silent():
            for wrong in ((self.x,), (self.x, "text"), (self.x, self.w[:3])):
                with self.assertRaises(TypeError) as expected:
                    jax.jit(scaled)(*wrong)
                with self.assertRaises(TypeError) as raised:
                    f(*wrong)
                first, second = (re.sub("0x[0-9a-f]+", "", str(e.exception)) for e in (raised, expected))
                self.assertEqual(first.splitlines()[0], second.splitlines()[0])
        self.assertEqual(self.tunes(), 0)

    def test_an_engine_on_other_machines_gets_one_thread(self):
        """As in hone.tune: the cores of this machine are not theirs."""
        cases = [({"engine": "ray"}, 1), ({"engine": "local"}, 7), ({}, 7), ({"engine": "ray", "threads": 3}, 3)]
        for options, threads in cases:
            with self.subTest(options), unittest.mock.patch("hone.machine.usable_cores", return_value=7):
                f = self.jit(cache=self.cache / str(threads) / options.get("engine", ""), **options)
                f(self.x, self.w)
                words = json.loads((Path(f.status()[0]["path"]) / "report.json").read_text())["arguments"]
                self.assertEqual(words[words.index("--threads") + 1], str(threads))

    def test_donated_arguments_are_accepted(self):
        for mode in ("foreground", "background"):
            f = self.jit(donate_argnums=0, mode=mode, cache=self.cache / mode)
            for _ in range(2):
                self.assert_scaled(f(jnp.array(self.x), self.w))
                self.assertTrue(f.wait(60))
            self.assertEqual(self.states(f), ["ready"])

    def test_modes_of_jax_are_part_of_the_signature(self):
        f = self.jit()
        f(self.x, self.w)
        with jax.enable_x64(True), self.assertWarnsRegex(RuntimeWarning, "other (inputs|results)"):  # of the fake
            self.assertEqual(f(np.asarray(self.x, np.float64), self.w).dtype, np.float64)
        self.assertEqual([s["signature"] for s in f.status()][1], "float64[8], float32[8]")


class TestTransformations(JitCase):
    def test_go_through_the_original(self):
        f, rows = self.jit(), jnp.stack([self.x, self.x + 1])
        with self.assert_silent():
            np.testing.assert_array_equal(jax.grad(lambda x: f(x, self.w).sum())(self.x), np.full(8, 2.0))
            np.testing.assert_array_equal(jax.vmap(f, (0, None))(rows, self.w), 2 * rows + 1)
            self.assert_scaled(jax.jit(f)(self.x, self.w))
            last, _ = jax.lax.scan(lambda x, _: (f(x, self.w), None), jnp.zeros(8), None, 3)
            np.testing.assert_array_equal(last, np.full(8, 7.0))
            self.assertEqual(jax.eval_shape(f, self.x, self.w).shape, (8,))
            with jax.disable_jit():
                self.assert_scaled(f(self.x, self.w))
        self.assertEqual((self.tunes(), f.status()), (0, []))
        self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.tunes(), 1)  # also after the same shapes were traced

    def test_known_arguments_inside_another_function(self):
        f = self.jit(weights="w")
        f(self.x, self.w)
        outer = jax.jit(lambda y: y + f(self.x, self.w))
        self.assert_scaled(outer(jnp.zeros(8)))
        f(self.x, self.w + 5)  # does not change what was compiled
        self.assert_scaled(outer(jnp.zeros(8)))
        self.assert_scaled(jax.grad(lambda x: (x * f(self.x, self.w)).sum())(self.x))

    def test_after_jax_alone_answers(self):
        self.speedup = 0.5
        f = self.jit()
        f(self.x, self.w)
        self.assertTrue(f._plain)
        np.testing.assert_array_equal(jax.vmap(f, (0, None))(jnp.stack([self.x] * 3), self.w)[2], 2 * self.x + 1)
        jax.jit(f)(self.x.reshape(2, 4), self.w.reshape(2, 4))
        with self.assertWarnsRegex(RuntimeWarning, "other (inputs|results)"):  # of the fake, which has one shape
            f(self.x.reshape(2, 4), self.w.reshape(2, 4))
        self.assertEqual(len(f.status()), 2)


class TestWeights(JitCase):
    def test_are_set_when_other_arrays_come(self):
        for weights in (1, "w", ("w",), [1]):
            f = self.jit(weights=weights)
            self.assert_scaled(f(self.x, self.w))
            before = self.fake.fake_weights_set()
            for _ in range(3):
                self.assert_scaled(f(self.x, self.w))
            self.assertEqual(self.fake.fake_weights_set(), before)
            self.assert_scaled(f(self.x, self.w + 4), w=self.w + 4)
            self.assertEqual(self.fake.fake_weights_set(), before + 1)
            self.assert_scaled(f(self.x, w=self.w))
        self.assertEqual(self.tunes(), 1)

    def test_may_be_structures(self):
        f = self.jit(lambda x, params: scaled(x, params["w"]), weights="params")
        self.assert_scaled(f(self.x, {"w": self.w}))
        before = self.fake.fake_weights_set()
        self.assert_scaled(f(self.x, {"w": self.w}))
        self.assertEqual(self.fake.fake_weights_set(), before)
        self.assertEqual(hone.load(f.status()[0]["path"], build=self.build)._program.weights, [1])

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(ValueError, "weights: the function has no argument 'v': did you mean 'vw'"):
            self.jit(lambda x, vw: x, weights="v")

    def test_threads_with_other_weights_have_their_own_results(self):
        f, faults = self.jit(weights=1), []
        f(self.x, self.w)

        def work(number):
            mine = aligned(np.full(8, number))
            for _ in range(50):
                if not np.array_equal(f(self.x, mine), 2 * self.x + number):
                    faults.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])


class TestFallback(JitCase):
    def test_no_build(self):
        f = self.jit(build=self.cache)
        with self.assertWarnsRegex(
            RuntimeWarning, r"hone.jit\(scaled\): jax.jit answers.*not found.*make build"
        ) as told:
            self.assert_scaled(f(self.x, self.w))
        self.assertEqual(told.filename, __file__)
        with self.assert_silent():  # it is said once
            self.assert_scaled(f(self.x, self.w))
            self.assert_scaled(f(np.stack([self.x] * 2), self.w)[1])
        self.assertEqual(self.states(f), ["fallback", "fallback"])

    def test_programs_that_cannot_be_tuned(self):
        f = self.jit(strategy="fail")
        with self.assertWarnsRegex(RuntimeWarning, "jax.jit answers, since line 3: cannot parse .look there."):
            self.assert_scaled(f(self.x, self.w))
        f = self.jit(strategy="crash")
        with self.assertWarnsRegex(RuntimeWarning, "ended by signal 11"):
            self.assert_scaled(f(self.x, self.w))
        for function, why in {
            lambda x, w: [scaled(x, w), 1.0]: "weak type",
            lambda x, w: (jax.debug.print("{}", x), scaled(x, w))[1]: "side effects",
        }.items():
            f = self.jit(function)
            with self.assertWarnsRegex(RuntimeWarning, why):
                self.assertEqual(jax.tree.structure(f(self.x, self.w)), jax.tree.structure(function(self.x, self.w)))
        self.assertEqual(self.tunes(), 0)

    def test_not_faster_is_silent_and_kept(self):
        self.speedup = 1.0
        for _ in range(2):  # the second from the cache
            f = self.jit()
            with self.assert_silent():
                self.assert_scaled(f(self.x, self.w))
            (status,) = f.status()
            self.assertEqual((status["state"], status["speedup"]), ("fallback", 1.0))
            self.assertEqual(status["reason"], "not faster than jax.jit: 1.00 times its speed")
        self.assertEqual((self.tunes(), self.race.call_count), (1, 1))

    def test_other_results_are_not_used(self):
        f = self.jit(lambda x, w: x * 2.001 + w)
        with self.assertWarnsRegex(RuntimeWarning, "results differ from jax.jit's by .*fresh=True"):
            np.testing.assert_allclose(f(self.x, self.w), self.x * 2.001 + self.w, rtol=1e-6)
        self.assertEqual(self.states(f), ["fallback"])
        self.race.assert_not_called()

    def test_other_reasons_of_jax(self):
        f = self.jit(out_shardings=jax.sharding.SingleDeviceSharding(jax.devices()[0]))
        with self.assertWarnsRegex(RuntimeWarning, "out_shardings is given"):
            self.assert_scaled(f(self.x, self.w))

    def test_an_interrupted_search_begins_anew(self):
        f = self.jit()
        interrupted = unittest.mock.patch("hone.command.run", side_effect=KeyboardInterrupt)
        with interrupted, self.assertRaises(KeyboardInterrupt):
            f(self.x, self.w)
        self.assertEqual((f.status(), f.wait(0.01)), ([], True))
        self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.states(f), ["ready"])

    def test_warnings_as_errors_leave_the_answers(self):
        f = self.jit(strategy="fail")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(RuntimeWarning, "cannot parse"):
                f(self.x, self.w)
            self.assert_scaled(f(self.x, self.w))


if __name__ == "__main__":
    unittest.main()
