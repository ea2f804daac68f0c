"""hone.load: what of a package runs on this machine, its machine code, and calls from several threads."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from fake_build import BUILD, MISSING_PRODUCT, ROOT, FakeBuild, set_up_module

# isort: split
import hone

PROGRAM = """HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[64,96]{1,0} parameter(0)
  w = f32[96,48]{1,0} parameter(1)
  d = f32[64,48]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,48]{1,0} tanh(d)
  z = f32[] constant(0)
  r = f32[64]{0} reduce(t, z), dimensions={1}, to_apply=add
  ROOT o = (f32[64,48]{1,0}, f32[64]{0}) tuple(t, r) }
"""
OTHER_PROCESS = """
import sys, numpy as np, hone
results = hone.load(sys.argv[1], build=sys.argv[2])(*np.load(sys.argv[3]).values())
np.savez(sys.argv[4], *results)
"""


def setUpModule():
    set_up_module("test_loading")


class TestWarnings(FakeBuild):
    def test_what_differs_is_said_once_for_the_line_that_loads(self):
        package = Path(self.package())
        (package / "fake_warning.txt").write_text("it was tuned for more")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tuned = hone.load(package, build=self.build)
            tuned(self.x, self.w)
            tuned(self.x, self.w)
        self.assertEqual([warning.filename for warning in told], [__file__])
        self.assertEqual(str(told[0].message), f"{package.name}: it was tuned for more")
        self.assertFalse(tuned.as_tuned)

    def test_threads_with_other_weights_have_their_own_results(self):
        tuned, run, wrong = self.load(weight=1), hone.runtime.Program.run, []
        begin = threading.Barrier(4)

        def slowly(program, values):
            time.sleep(0.002)  # for others to set their weights
            return run(program, values)

        def call(factor):
            weight = factor * self.w
            begin.wait(60)
            for _ in range(10):
                if not np.array_equal(tuned(self.x, weight), 2 * self.x + factor):
                    wrong.append(factor)

        with unittest.mock.patch("hone.runtime.Program.run", slowly), ThreadPoolExecutor(4) as pool:
            for running in [pool.submit(call, factor) for factor in range(1, 5)]:
                running.result(60)
        self.assertEqual(wrong, [])

    def test_a_fork_has_its_own_locks(self):
        tuned = self.load(weight=1)
        held, let_go = threading.Event(), threading.Event()

        def hold():
            with tuned._lock:
                held.set()
                let_go.wait(60)

        with ThreadPoolExecutor(1) as pool:
            pool.submit(hold)
            self.assertTrue(held.wait(60))
            with warnings.catch_warnings(action="ignore"):  # of JAX, where other tests have loaded it
                child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(0 if np.array_equal(tuned(self.x, self.w), 2 * self.x + 1) else 1)
            let_go.set()
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_machine_code_is_not_kept_if_told_so(self):
        before = self.fake.fake_unkept()
        hone.load(self.package(), build=self.build)
        hone.tune("x.hlo", build=self.build)
        self.assertEqual(self.fake.fake_unkept(), before)
        hone.load(self.package(), build=self.build, cache=False)
        hone.tune("x.hlo", build=self.build, no_cache=True)
        self.assertEqual(self.fake.fake_unkept(), before + 2)

    def test_nothing_is_said_where_nothing_differs(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertTrue(self.load().as_tuned)


@unittest.skipIf(MISSING_PRODUCT, MISSING_PRODUCT)
class TestTheProduct(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "m.hlo").write_text(PROGRAM)
        options = {"threads": 1, "budget": 2, "build": BUILD, "quiet": True, "db": cls.folder / "hone.db"}
        cls.tuned = hone.tune(cls.folder / "m.hlo", **options)
        random = np.random.default_rng(0)
        cls.inputs = [random.standard_normal(shape).astype(np.float32) for shape in ((64, 96), (96, 48))]
        dots = np.tanh(cls.inputs[0].astype(np.float64) @ cls.inputs[1])
        cls.expected = dots, dots.sum(axis=1)

    def package(self, change=None):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        package = Path(folder) / "m.hone"
        self.tuned.save(package)
        if change:
            decisions = json.loads((package / "decisions.json").read_text())
            change(decisions)
            (package / "decisions.json").write_text(json.dumps(decisions))
        return package

    def load(self, package, said=None):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tuned = hone.load(package, build=BUILD)
            self.assert_right(tuned(*self.inputs))
        self.assertEqual(len(told), 0 if said is None else 1, [str(warning.message) for warning in told])
        if said:
            self.assertRegex(str(told[0].message), said)
        return tuned

    def assert_right(self, results):
        for result, expected in zip(results, self.expected, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)

    def test_packages_of_this_machine_load_in_silence(self):
        self.assertTrue(self.load(self.package()).as_tuned)

    def test_packages_for_other_cpus_run_as_default_xla(self):
        def change(decisions):
            decisions["made_with"]["cpu_features"].append("avx9000")
            decisions["decisions"] = [{"kind": "rewrite", "key": "sort:no such", "value": "highway"}]

        tuned = self.load(self.package(change), "this CPU lacks avx9000: default XLA runs in its place")
        self.assertFalse(tuned.as_tuned)

    def test_packages_of_another_xla_run_as_default_xla(self):
        def change(decisions):
            decisions["xla_version"] = decisions["made_with"]["xla"] = "tensorflow-cpu 2.20.0"

        self.assertFalse(self.load(self.package(change), "tuned for XLA of tensorflow-cpu 2.20.0").as_tuned)

    def test_older_packages_say_so_and_run(self):
        package = self.package(lambda decisions: decisions.pop("made_with"))
        self.assertTrue(self.load(package, "does not say where it was made").as_tuned)

    def test_decisions_that_match_nothing_are_named(self):
        stray = {"kind": "fusion", "key": "nobody>no_one", "value": "fuse"}
        package = self.package(lambda decisions: decisions["decisions"].append(stray))
        self.assertTrue(self.load(package, "1 of its decisions matches nothing in the program: fusion nobody").as_tuned)

    def test_decisions_that_do_not_fit_leave_default_xla(self):
        stray = {"kind": "rewrite", "key": "sort:no such", "value": "highway"}
        package = self.package(lambda decisions: decisions["decisions"].append(stray))
        self.assertFalse(self.load(package, "its decisions do not fit the program").as_tuned)

    def test_so_do_those_that_are_met_with_the_weights(self):
        def change(package):
            package["target"]["weights"] = [1]
            package["decisions"] = [
                {"kind": "weights", "key": "all", "value": "constant"},
                {"kind": "rewrite", "key": "sort:no such", "value": "highway"},
            ]

        tuned = self.load(self.package(change), "its decisions do not fit the program")
        self.assertFalse(tuned.as_tuned)
        x, w = self.inputs
        np.testing.assert_allclose(tuned(x, 2 * w)[0], np.tanh(x @ (2 * w)), rtol=1e-4, atol=1e-4)
        self.assert_right(tuned(x, w.copy()))

    def elsewhere(self, package, cache):
        given, found = package.parent / "in.npz", package.parent / "out.npz"
        np.savez(given, *self.inputs)
        words = [sys.executable, "-c", OTHER_PROCESS, package, BUILD, given, found]
        subprocess.run(
            words, check=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(cache)}
        )
        with np.load(found) as results:
            return [results[name] for name in results.files]

    def compiled_package(self):
        """Of decisions that leave code to be compiled, which the fastest ones need not: libraries may do all of it."""
        option = {"kind": "option", "key": "loop_unrolling", "value": "off"}
        return self.package(lambda decisions: decisions.update(decisions=[option]))

    def kept_code(self, cache):
        return [path for path in (cache / "hone" / "objects").rglob("*") if path.is_file()]

    def test_machine_code_is_kept_and_found_by_other_processes(self):
        package = self.compiled_package()
        cache, before = package.parent / "cache", set(package.rglob("*"))
        first = self.elsewhere(package, cache)
        files = self.kept_code(cache)
        self.assertTrue(files)
        for path in files:
            os.utime(path, (1, 1))
        second = self.elsewhere(package, cache)
        self.assert_right(second)
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)
        self.assertEqual(set(self.kept_code(cache)), set(files))
        self.assertTrue(all(path.stat().st_mtime > 1 for path in files))  # reading counts as use
        self.assertEqual(set(package.rglob("*")), before)

    def test_code_that_comes_with_a_package_is_not_run(self):
        package = self.compiled_package()
        cache = package.parent / "cache"
        self.elsewhere(package, cache)
        shutil.copytree(cache / "hone" / "objects", package / "code")
        for path in (package / "code").rglob("*"):
            os.utime(path, (1, 1))
        self.assert_right(self.elsewhere(package, package.parent / "another"))
        self.assertTrue(all(path.stat().st_mtime == 1 for path in (package / "code").rglob("*")))
        self.assertTrue(self.kept_code(package.parent / "another"))

    def test_no_code_is_kept_if_told_so(self):
        cache = self.enterContext(tempfile.TemporaryDirectory())
        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
            self.assert_right(hone.load(self.compiled_package(), build=BUILD, cache=False)(*self.inputs))
            self.assertEqual(list(Path(cache).rglob("*")), [])
            hone.load(self.compiled_package(), build=BUILD)
            self.assertTrue(self.kept_code(Path(cache)))

    def test_damaged_code_is_compiled_again(self):
        package = self.compiled_package()
        cache = package.parent / "cache"
        self.elsewhere(package, cache)
        files = self.kept_code(cache)
        self.assertTrue(files)
        for path in files:
            path.write_bytes(path.read_bytes()[:-7] + b"changed")
        self.assert_right(self.elsewhere(package, cache))
        self.assertTrue(all(not path.read_bytes().endswith(b"changed") for path in files))

    def test_calls_of_many_threads_have_their_own_results(self):
        for options in ({"threads": 1}, {"threads": 2}):
            tuned = hone.load(self.package(), build=BUILD, **options)
            inputs = [[value * (1 + i) for value in self.inputs] for i in range(8)]
            expected, wrong = [tuned(*given) for given in inputs], []
            begin = threading.Barrier(8)

            def call(i, tuned=tuned, begin=begin, inputs=inputs, expected=expected, wrong=wrong):
                begin.wait(60)
                for _ in range(50):
                    results = tuned(*inputs[i])
                    if not all(map(np.array_equal, results, expected[i])):
                        wrong.append(i)

            with ThreadPoolExecutor(8) as pool:
                for running in [pool.submit(call, i) for i in range(8)]:
                    running.result(120)
            self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
