"""hone.jit against a fake build: what is kept on disk, other processes, threads, tuning in the background."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
from fake_build import HAS_JAX, ROOT, set_up_module
from jit_case import JitCase, scaled

# isort: split
import hone

if HAS_JAX:
    import jax
    import jax.numpy as jnp

PROCESS = """
import os, sys, unittest.mock
import numpy as np
import hone
options = eval(sys.argv[1])
f = hone.jit(lambda x, w: x * 2.0 + w, **options)
x, w = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
race = {"stock_ns": 2.0, "tuned_ns": 1.0, "speedup": 2.0}
with unittest.mock.patch("hone.jitted.duel.race", return_value=race):
    right = bool((np.asarray(f(x, w)) == 2 * x + w).all())
print(right, [s["state"] for s in f.status()], flush=True)
if options.get("mode") == "background":
    while not os.path.exists(os.environ["FAKE_HONE"]):
        pass
    # after
    sys.stdin.read()
"""
FORK = """
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    print("forked", flush=True)
"""


def setUpModule():
    if not HAS_JAX:
        raise unittest.SkipTest("NOT TESTED, missing: jax")
    set_up_module("test_jit_cache")


def gone(process: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition, seconds=60.0):
    """Waits for what another process does; it fails after `seconds`, however loaded the machine is."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


class Processes(JitCase):
    def start(self, after="", **options):
        """A process that calls a function of hone.jit; `after`: what it runs between that and its end."""
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "FAKE_HONE": str(self.cache) + ".pid"}
        options = {"build": str(self.build), "cache": str(self.cache), "threads": 1, **options}
        command = [sys.executable, "-c", PROCESS.replace("# after", after), repr(options)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.enterContext(subprocess.Popen(command, **pipes, env=environment, text=True))
        self.addCleanup(process.kill)
        return process

    def tuner(self):
        """The process of the fake program that hangs."""
        path = Path(str(self.cache) + ".pid")
        wait_until(lambda: path.exists() and path.read_text())
        return int(path.read_text())


class TestCache(Processes):
    def entry(self):
        (folder,) = [path for path in self.cache.iterdir() if path.is_dir()]
        return folder

    def test_another_function_and_process_load_it(self):
        self.jit(threads=1)(self.x, self.w)
        with unittest.mock.patch("hone.jitted.program.duel.error", side_effect=AssertionError):
            f = self.jit(lambda x, v: scaled(x, v), threads=1)  # the same computation under other names
            f(self.x, self.w)
        self.assertEqual((self.states(f), self.tunes()), (["ready"], 1))
        answer, said = self.start().communicate(timeout=120)
        self.assertEqual((answer, self.tunes()), ("True ['ready']\n", 1), said)
        self.start(threads=3).communicate(timeout=120)
        self.assertEqual(self.tunes(), 2)

    def test_two_processes_at_once_tune_once(self):
        both = [self.start(), self.start()]
        for process in both:
            answer, said = process.communicate(timeout=120)
            self.assertEqual(answer, "True ['ready']\n", said)
        self.assertEqual(self.tunes(), 1)
        self.assertEqual([path for path in self.cache.iterdir() if path.name.startswith(".")], [])

    def test_damaged_entries_are_replaced(self):
        self.jit()(self.x, self.w)

        def cut():
            (self.entry() / "entry.json").write_text('{"format": 1, "st')

        def change():
            (self.entry() / "program.hone" / "fake.txt").write_text("8 3.0 0")

        def lose():
            (self.entry() / "program.hone" / "report.json").unlink()

        def empty():
            for path in [*(self.entry() / "program.hone").iterdir(), self.entry() / "entry.json"]:
                path.unlink()

        for number, damage in enumerate((cut, change, lose, empty), 2):
            damage()
            f = self.jit()
            with self.assert_silent():
                self.assert_scaled(f(self.x, self.w))
            self.assertEqual((self.states(f), self.tunes()), (["ready"], number))
            self.assert_scaled(self.jit()(self.x, self.w))
            self.assertEqual(self.tunes(), number)

    def test_what_does_not_load_is_tuned_again(self):
        self.jit()(self.x, self.w)
        with unittest.mock.patch(
            "hone.runtime.Program", side_effect=[hone.Error("no")] * 2 + [unittest.mock.DEFAULT]
        ) as load:
            load.return_value.inputs = []
            with self.assertWarnsRegex(RuntimeWarning, "other (inputs|results)"):
                self.assert_scaled(self.jit()(self.x, self.w))
        self.assertEqual((self.tunes(), load.call_count), (2, 3))

    def test_fresh_tunes_again(self):
        self.jit()(self.x, self.w)
        self.jit(fresh=True)(self.x, self.w)
        self.assertEqual(self.tunes(), 2)
        self.jit()(self.x, self.w)
        self.assertEqual(self.tunes(), 2)

    def test_keeps_nothing_if_told_so(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
            f = self.jit(cache=False)
            self.assert_scaled(f(self.x, self.w))
            self.assertTrue(Path(f.status()[0]["path"]).is_dir())
            self.assertFalse(self.cache.exists())
            report = json.loads((Path(f.status()[0]["path"]) / "report.json").read_text())
            self.assertIn("--no-cache", report["arguments"])
            database = Path(report["arguments"][report["arguments"].index("--db") + 1])
            self.assertTrue(database.is_relative_to(folder))
            self.assertFalse(database.parent.exists())
            jax.clear_caches()

    def test_folders_that_cannot_be_written_are_said(self):
        self.cache.write_text("a file")
        f = self.jit()
        with self.assertWarnsRegex(RuntimeWarning, "not kept: .*HONE_CACHE_DIR"):
            self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.states(f), ["ready"])

    def test_folders_that_cannot_be_written_are_read(self):
        self.jit()(self.x, self.w)
        with unittest.mock.patch("hone.jitted.store.Store.problem", return_value="not kept: read-only"):
            f = self.jit()
            with self.assert_silent():
                self.assert_scaled(f(self.x, self.w))
        self.assertEqual((self.states(f), self.tunes()), (["ready"], 1))
        self.assertTrue(Path(f.status()[0]["path"]).is_relative_to(self.cache))

    def test_verdicts_are_for_options_and_flags_of_xla(self):
        self.jit()(self.x, self.w)
        self.jit(donate_argnums=0)(self.x, self.w)
        self.assertEqual(self.tunes(), 1)
        self.jit(compiler_options={"xla_cpu_enable_fast_math": True})(self.x, self.w)
        self.assertEqual(self.tunes(), 2)
        with unittest.mock.patch.dict(os.environ, XLA_FLAGS="--xla_cpu_enable_fast_math=true"):
            self.jit()(self.x, self.w)
        self.assertEqual(self.tunes(), 3)

    def test_the_default_folder(self):
        with unittest.mock.patch.dict(os.environ, HONE_CACHE_DIR=str(self.cache / "own")):
            self.jit(cache=None)(self.x, self.w)
        self.assertEqual(len(list((self.cache / "own").glob("*/entry.json"))), 1)
        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.cache)):
            self.jit(cache=None)(self.x, self.w)
        self.assertEqual(len(list((self.cache / "hone" / "jit").glob("*/entry.json"))), 1)


class TestThreads(JitCase):
    def test_one_tune_for_all_of_them(self):
        results = []
        for mode in ("foreground", "background"):
            f = self.jit(mode=mode, cache=self.cache / mode)
            threads = [threading.Thread(target=lambda f=f: results.append(f(self.x, self.w))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertTrue(f.wait(60))
            self.assertEqual(self.states(f), ["ready"])
            results.append(f(self.x, self.w))
        for result in results:
            self.assert_scaled(result)
        self.assertEqual((len(results), self.tunes()), (18, 2))

    def test_an_interrupted_search_lets_others_go_on(self):
        begun, let_go, results = threading.Event(), threading.Event(), []
        run = hone.command.run

        def interrupted(*arguments):
            if begun.is_set():
                return run(*arguments)
            begun.set()
            let_go.wait(60)
            raise KeyboardInterrupt

        def call():
            try:
                results.append(f(self.x, self.w))
            except KeyboardInterrupt:
                results.append(None)

        f = self.jit()
        with unittest.mock.patch("hone.command.run", interrupted):
            threads = [threading.Thread(target=call)]
            threads[0].start()
            self.assertTrue(begun.wait(60))
            threads += [threading.Thread(target=call), threading.Thread(target=lambda: results.append(f.wait(60)))]
            for thread in threads[1:]:
                thread.start()
            time.sleep(0.1)  # both wait for the search
            let_go.set()
            for thread in threads:
                thread.join(60)
        self.assertEqual(len(results), 3)
        self.assertEqual(sum(result is None for result in results), 1)
        self.assertEqual(sum(result is True for result in results), 1)


class TestBackground(Processes):
    def test_jax_answers_until_it_is_ready(self):
        let_go = threading.Event()
        run = hone.command.run

        def wait_and_run(*arguments):
            let_go.wait(60)
            return run(*arguments)

        with unittest.mock.patch("hone.command.run", wait_and_run):
            f = self.jit(mode="background")
            self.assert_scaled(f(self.x, self.w))
            self.assertEqual((self.states(f), f.wait(0.01)), (["tuning"], False))
            self.assert_scaled(f(self.x, self.w))
            let_go.set()
            self.assertTrue(f.wait(60))
        self.assertEqual((self.states(f), self.tunes()), (["ready"], 1))
        self.assert_scaled(f(self.x, self.w))

    def test_arrays_may_change_meanwhile(self):
        x = self.x.copy()
        let_go, run = threading.Event(), hone.command.run

        def wait_and_run(*arguments):
            let_go.wait(60)
            return run(*arguments)

        with unittest.mock.patch("hone.command.run", wait_and_run):
            f = self.jit(mode="background")
            f(x, self.w)
            x[:] = np.nan
            let_go.set()
            self.assertTrue(f.wait(60))
        self.assertEqual(self.states(f), ["ready"])

    def test_failures_are_said_and_leave_jax(self):
        f = self.jit(mode="background", strategy="fail")
        with self.assertWarnsRegex(RuntimeWarning, "cannot parse"):
            self.assert_scaled(f(self.x, self.w))
            self.assertTrue(f.wait(60))
            wait_until(lambda: f._warned)
        self.assert_scaled(f(self.x, self.w))

    def test_the_end_of_the_interpreter_ends_the_tune(self):
        process = self.start(mode="background", strategy="hang")
        tuner = self.tuner()
        self.assertFalse(gone(tuner))
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, tuner), os.getpriority(os.PRIO_PROCESS, 0) + 10)
        answer, said = process.communicate(timeout=60)
        self.assertEqual((process.returncode, answer, said), (0, "True ['tuning']\n", ""))
        wait_until(lambda: gone(tuner))
        self.assertEqual([path.name for path in self.cache.iterdir() if path.is_dir()], [])
        self.assertEqual(self.start().communicate(timeout=120)[0], "True ['ready']\n")

    def test_so_does_its_death(self):
        for mode, number in (("background", signal.SIGKILL), ("foreground", signal.SIGTERM)):
            process = self.start(mode=mode, strategy="hang")
            tuner = self.tuner()
            process.send_signal(number)
            wait_until(lambda tuner=tuner: gone(tuner))
            Path(str(self.cache) + ".pid").unlink()

    def test_the_end_of_a_fork_does_not(self):
        process = self.start(FORK, mode="background", strategy="hang")
        tuner = self.tuner()
        self.assertEqual(process.stdout.readline(), "True ['tuning']\n")
        self.assertEqual(process.stdout.readline(), "forked\n")
        self.assertFalse(gone(tuner))
        work = Path(f"/proc/{tuner}/cmdline").read_text().split("\0")
        self.assertTrue(Path(next(word for word in work if word.endswith(".mlirbc"))).exists())
        process.communicate(timeout=60)
        wait_until(lambda: gone(tuner))


class TestAhead(JitCase):
    def test_of_shapes(self):
        f = self.jit()
        shape = jax.ShapeDtypeStruct((8,), jnp.float32)
        status = f.tune(shape, w=shape)
        self.assertEqual((status["state"], status["signature"]), ("ready", "float32[8], float32[8]"))
        self.assert_scaled(f(self.x, w=self.w))
        self.assertEqual(self.tunes(), 1)
        with self.assertRaisesRegex(TypeError, "no array"):
            f.tune("text", shape)

    def test_of_symbolic_shapes(self):
        size, twice = jax.export.symbolic_shape("b, 2*b")
        shapes = jax.ShapeDtypeStruct((twice,), jnp.float32), jax.ShapeDtypeStruct((size + 4,), jnp.float32)
        f = self.jit(shape={"b": 4})
        self.assertEqual(f.tune(*shapes)["state"], "ready")
        with self.assertRaisesRegex(hone.Error, "symbolic .*shape={'b': N}"):
            self.jit().tune(*shapes)

    def test_of_exported_functions(self):
        size = jax.export.symbolic_shape("b")
        for shape, options in {(8,): {}, size: {"shape": {"b": 8}}}.items():
            array = jax.ShapeDtypeStruct(shape, jnp.float32)
            exported = jax.export.export(jax.jit(scaled))(array, w=array)
            f = self.jit(exported, **options)
            self.assertEqual(f.tune()["state"], "ready")
            self.assert_scaled(f(self.x, w=self.w))
            self.assertEqual(len(f.status()), 1)


if __name__ == "__main__":
    unittest.main()
