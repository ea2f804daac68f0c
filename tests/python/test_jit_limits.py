"""hone.jit against a fake build: what is freed, bounded, paused, and begun anew after a fork."""

import contextlib
import gc
import os
import select
import sqlite3
import threading
import unittest
import unittest.mock
import warnings
from pathlib import Path

import numpy as np
from fake_build import HAS_JAX, set_up_module
from jit_case import JitCase, scaled

# isort: split
import hone

if HAS_JAX:
    import jax
    from hone import jax_call
    from hone.jitted import background, store, turns

PATIENCE_S = 300.0  # for work at low priority on a loaded machine


def setUpModule():
    if not HAS_JAX:
        raise unittest.SkipTest("NOT TESTED, missing: jax")
    set_up_module("test_jit_limits")


def read_within(pipe: Path) -> str:
    """What is written into a named pipe."""
    descriptor = os.open(pipe, os.O_RDWR)  # which waits for nobody
    try:
        if not select.select([descriptor], [], [], PATIENCE_S)[0]:
            raise TimeoutError(f"nothing was written into {pipe}")
        return os.read(descriptor, 100).decode()
    finally:
        os.close(descriptor)


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


class TestPrograms(JitCase):
    def registered(self):
        gc.collect()
        return jax_call._registered[0].hone_ffi_registered()

    def test_are_freed_with_their_function(self):
        f = self.jit()
        f(self.x, self.w)
        before, programs = self.registered(), self.fake.fake_programs()
        answer = f(self.x, self.w)
        self.race.reset_mock()  # it remembers what it was called with
        del f
        self.assertLess(self.registered(), before)
        self.assertLess(self.fake.fake_programs(), programs)
        self.assert_scaled(answer)

    def test_are_freed_when_they_are_cleared(self):
        f = self.jit()
        f(self.x, self.w)
        before = self.registered()
        f.clear_cache()
        self.race.reset_mock()
        self.assertLess(self.registered(), before)
        self.assert_scaled(f(self.x, self.w))

    def test_live_as_long_as_compiled_code_that_calls_them(self):
        x, w = self.x, self.w
        inner = [self.jit()]
        inner[0](x, w)
        outer = jax.jit(lambda y: y + inner[0](x, w))
        package = self.package()
        loading = jax.jit(lambda x, w: hone.load(package, build=self.build).jax(x, w))
        self.assert_scaled(outer(np.float32(0)))
        self.assert_scaled(loading(x, w))
        self.race.reset_mock()
        inner.clear()
        gc.collect()
        self.assert_scaled(outer(np.float32(0)))
        self.assert_scaled(loading(x, w))

    def test_of_one_package_keep_their_own_weights(self):
        package, ones = self.package(weight=1), np.ones(8, np.float32)
        for factor in (1, 3, 5):
            tuned = hone.load(package, build=self.build)
            tuned.set_weights(factor * ones)
            result = jax.jit(lambda x, tuned=tuned: tuned.jax(x, None))(self.x)
            np.testing.assert_array_equal(result, 2 * self.x + factor)

    def test_clear_caches_of_jax_leaves_them(self):
        f = self.jit()
        f(self.x, self.w)
        jax.clear_caches()
        self.assertEqual(self.states(f), ["ready"])
        self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.tunes(), 1)


class TestTheQueue(JitCase):
    def test_drops_what_waits_longest(self):
        begun, let_go, run = threading.Event(), threading.Event(), hone.command.run

        def wait_and_run(*arguments):
            begun.set()
            let_go.wait(PATIENCE_S)
            return run(*arguments)

        with (
            unittest.mock.patch("hone.command.run", wait_and_run),
            unittest.mock.patch.object(background, "MOST_WAITING", 2),
        ):

            def g(x, w, kind):
                return scaled(x, w)

            f = self.jit(g, mode="background", static_argnames="kind")
            f(self.x, self.w, kind=0)
            self.assertTrue(begun.wait(PATIENCE_S))
            with self.assertWarnsRegex(RuntimeWarning, "signatures were waiting") as told:
                for kind in range(1, 6):
                    self.assert_scaled(f(self.x, self.w, kind=kind))
            self.assertEqual(len(told.warnings), 1)
            let_go.set()
            self.assertTrue(f.wait(PATIENCE_S))
        states = ["ready", "fallback", "fallback", "fallback", "ready", "ready"]
        self.assertEqual(self.states(f), states)
        self.assert_scaled(f(self.x, self.w, kind=1))

    def test_dropping_does_not_wait_for_a_search(self):
        f = self.jit(mode="background")
        with unittest.mock.patch.object(background, "submit") as submit:
            f(self.x, self.w)
        (entry,), drop = f._entries.values(), submit.call_args.args[1]
        with entry.lock:  # as Jitted.tune holds it in another thread
            dropping = threading.Thread(target=drop, daemon=True)
            dropping.start()
            dropping.join(20)
            self.assertFalse(dropping.is_alive())
        self.assertEqual(self.states(f), ["tuning"])
        with self.assertWarnsRegex(RuntimeWarning, "signatures were waiting"):
            drop()
        self.assertEqual(self.states(f), ["fallback"])

    def test_nothing_begins_after_the_end(self):
        pid = Path(str(self.cache) + ".pid")
        self.enterContext(unittest.mock.patch.dict(os.environ, FAKE_HONE=str(pid)))
        hang = ["tune", "x.hlo", "--strategy", "hang"]
        with unittest.mock.patch.object(hone.command, "_ended", False):
            hone.command.end_gentle(for_good=True)
            with self.assertRaisesRegex(hone.Error, "ended by signal 9"):
                hone.command.run(hang, self.build, True)


class TestTurns(JitCase):
    def test_pauses_are_counted(self):
        clock = self.enterContext(unittest.mock.patch.object(hone.command, "time")).monotonic
        clock.return_value = 10.0
        before = hone.command._stood_still_s()
        hone.command.pause_gentle(True)
        clock.return_value = 12.0
        self.assertEqual(hone.command._stood_still_s() - before, 2.0)
        clock.return_value = 13.0
        hone.command.pause_gentle(False)
        clock.return_value = 20.0
        self.assertEqual(hone.command._stood_still_s() - before, 3.0)

    def test_a_call_in_the_foreground_pauses_what_runs_behind(self):
        pid = Path(str(self.cache) + ".pid")
        os.mkfifo(pid)
        self.enterContext(unittest.mock.patch.dict(os.environ, FAKE_HONE=str(pid)))
        behind = self.jit(mode="background", strategy="hang")
        self.addCleanup(lambda: (hone.command.end_gentle(), behind.wait(PATIENCE_S)))
        behind(self.x, self.w)
        tuner, seen = int(read_within(pid)), []

        def race(*_):
            seen.append(state_of(tuner))
            return {"stock_ns": 2.0, "tuned_ns": 1.0, "speedup": 2.0}

        self.race.side_effect = race
        f = self.jit(lambda x, w: scaled(x, w) + 0.0)
        self.assert_scaled(f(self.x, self.w))
        self.assertEqual((self.states(f), seen, self.states(behind)), (["ready"], ["T"], ["tuning"]))
        self.assertNotEqual(state_of(tuner), "T")

    def test_a_pause_waits_for_the_end_of_a_transaction(self):
        """Else the search in the foreground finds the database locked."""
        pid, go, db = (Path(f"{self.cache}.{name}") for name in ("pid", "go", "db"))
        os.mkfifo(pid)
        os.mkfifo(go)
        self.enterContext(unittest.mock.patch.dict(os.environ, FAKE_HONE=str(pid), FAKE_GO=str(go)))
        behind = self.jit(mode="background", strategy="write", db=str(db))
        self.addCleanup(lambda: (hone.command.end_gentle(), behind.wait(PATIENCE_S)))
        behind(self.x, self.w)
        tuner = int(read_within(pid))  # in its transaction
        begun, connect, send = threading.Event(), sqlite3.connect, hone.command._signal

        def noted(function):
            def call(*arguments, **options):
                begun.set()
                return function(*arguments, **options)

            return call

        with (
            unittest.mock.patch("sqlite3.connect", noted(connect)),
            unittest.mock.patch("hone.command._signal", noted(send)),
        ):
            pausing = threading.Thread(target=hone.command.pause_gentle, args=(True,))
            pausing.start()
            self.assertTrue(begun.wait(PATIENCE_S))
        self.addCleanup(hone.command.pause_gentle, False)
        pipe = os.open(go, os.O_RDWR)  # does not wait for the other end, which may stand still
        self.addCleanup(os.close, pipe)
        os.write(pipe, b"x")
        pausing.join(PATIENCE_S)
        self.assertEqual(state_of(tuner), "T")
        with contextlib.closing(connect(db, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")

    def test_a_database_that_stays_locked_leaves_the_search_running(self):
        pid, db = Path(f"{self.cache}.pid"), Path(f"{self.cache}.db")
        os.mkfifo(pid)
        self.enterContext(unittest.mock.patch.dict(os.environ, FAKE_HONE=str(pid)))
        self.enterContext(unittest.mock.patch.object(hone.command, "_PATIENCE_S", 0.0))
        behind = self.jit(mode="background", strategy="hang", db=str(db))
        self.addCleanup(lambda: (hone.command.end_gentle(), behind.wait(PATIENCE_S)))
        behind(self.x, self.w)
        tuner = int(read_within(pid))
        with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            self.addCleanup(hone.command.pause_gentle, False)
            hone.command.pause_gentle(True)
            self.assertNotEqual(state_of(tuner), "T")
        hone.command.pause_gentle(False)
        hone.command.pause_gentle(True)
        self.assertEqual(state_of(tuner), "T")

    def test_what_begins_behind_waits(self):
        order, both, inside, waits = [], turns.Turns(), threading.Event(), threading.Event()
        wait_for = both._change.wait_for

        def noted(condition):
            waits.set()
            return wait_for(condition)

        def later():
            inside.wait(PATIENCE_S)
            with both.take(gently=True):
                order.append("behind")

        thread = threading.Thread(target=later)
        thread.start()
        with both.take(gently=False), unittest.mock.patch.object(both._change, "wait_for", noted):
            inside.set()
            self.assertTrue(waits.wait(PATIENCE_S))
            order.append("front")
        thread.join(PATIENCE_S)
        self.assertEqual(order, ["front", "behind"])


class TestForks(JitCase):
    def test_unfinished_signatures_begin_anew(self):
        let_go, run = threading.Event(), hone.command.run

        def wait_and_run(*arguments):
            let_go.wait(PATIENCE_S)
            return run(*arguments)

        with unittest.mock.patch("hone.command.run", wait_and_run):
            f = self.jit(mode="background")
            f(self.x, self.w)
            reader, writer = os.pipe()
            with warnings.catch_warnings(action="ignore"):  # of JAX: the child does not compute
                child = os.fork()
            if child == 0:
                os.write(writer, f"{f.wait(0.01)} {f.status()}".encode())
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as said:
                self.assertEqual(said.read(), "True []")
            os.waitpid(child, 0)
            self.assertEqual(self.states(f), ["tuning"])
            let_go.set()
            self.assertTrue(f.wait(PATIENCE_S))
        self.assertEqual(self.states(f), ["ready"])

    def test_do_not_hold_what_their_parent_locked(self):
        begun, let_go, run = threading.Event(), threading.Event(), hone.command.run

        def wait_and_run(*arguments):
            begun.set()
            let_go.wait(PATIENCE_S)
            return run(*arguments)

        with unittest.mock.patch("hone.command.run", wait_and_run):
            f = self.jit(mode="background")
            f(self.x, self.w)
            self.assertTrue(begun.wait(PATIENCE_S))  # by the thread that holds the lock
            reader, writer = os.pipe()
            with warnings.catch_warnings(action="ignore"):  # of JAX: the child compiles nothing
                child = os.fork()
            if child == 0:
                f(self.x, self.w)  # waits in its thread for the search of its parent, and finds what that has kept
                os.write(writer, b"called ")
                os.write(writer, f"{f.wait(60)} {self.states(f)}".encode())
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as said:
                self.assertEqual(said.read(7), "called ")
                let_go.set()
                self.assertTrue(f.wait(PATIENCE_S))
                self.assertEqual(said.read(), "True ['ready']")
            os.waitpid(child, 0)
        self.assertEqual((self.states(f), self.tunes()), (["ready"], 1))


class TestTheCache(JitCase):
    def test_verdicts_of_searches_that_stood_still_are_not_kept(self):
        self.speedup = 0.5
        for paused_s, kept in ((13.0, 0), (11.0, 1)):
            run = hone.command.run
            with unittest.mock.patch("hone.command.run", lambda *a, r=run, p=paused_s: r(*a) | {"paused_s": p}):
                f = self.jit(mode="background", budget="1m")
                f(self.x, self.w)
                self.assertTrue(f.wait(PATIENCE_S))
            self.assertEqual(self.states(f), ["fallback"])
            self.assertEqual(len(list(self.cache.glob(f"*/{store.ENTRY}"))), kept)

    def test_nor_is_machine_code_without_a_cache(self):
        before = self.fake.fake_unkept()
        self.jit()(self.x, self.w)
        self.assertEqual(self.fake.fake_unkept(), before)
        self.jit(cache=False)(self.x, self.w)
        self.assertEqual(self.fake.fake_unkept(), before + 1)

    def test_a_full_disk_leaves_the_tuned_program(self):
        full = OSError(28, "No space left on device")
        with unittest.mock.patch.object(store.Store, "save", side_effect=full):
            f = self.jit()
            with self.assertWarnsRegex(RuntimeWarning, "not kept: .*No space left"):
                self.assert_scaled(f(self.x, self.w))
        self.assertEqual(self.states(f), ["ready"])
        self.assertTrue(Path(f.status()[0]["path"]).is_dir())

    def test_removes_what_was_loaded_longest_ago(self):
        def call(zeros):  # another program for each number
            f = self.jit(lambda x, w: x * 2.0 + w + sum(w * 0.0 for _ in range(zeros)))
            f(self.x, self.w)
            return f

        paths = [Path(call(zeros).status()[0]["path"]).parent for zeros in (1, 2, 3)]
        for age, path in enumerate(paths):
            os.utime(path / store.ENTRY, (age + 1, age + 1))
        call(1)  # loads it: now the second is the oldest
        size = sum(file.stat().st_size for file in paths[0].rglob("*"))
        with unittest.mock.patch.object(store, "LIMIT_BYTES", int(3.5 * size)):
            new = Path(call(4).status()[0]["path"]).parent
        self.assertEqual([path.exists() for path in [*paths, new]], [True, False, False, True])
        self.assertEqual(self.tunes(), 4)
        self.assertEqual([path.name for path in self.cache.iterdir() if path.name.startswith(".")], [])

    def test_a_package_that_does_not_run_as_tuned_is_tuned_again(self):
        f = self.jit()
        f(self.x, self.w)
        package = Path(f.status()[0]["path"])
        entry = package.parent / store.ENTRY
        (package / "fake_warning.txt").write_text("it was tuned for another CPU")
        entry.write_text(
            entry.read_text().replace('"files": {', f'"files": {{"fake_warning.txt": "{digest(package)}",')
        )
        self.jit()(self.x, self.w)
        self.assertEqual(self.tunes(), 2)


def digest(package: Path) -> str:
    return store._digests(package)["fake_warning.txt"]


if __name__ == "__main__":
    unittest.main()
