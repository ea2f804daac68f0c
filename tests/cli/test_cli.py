"""The command line from outside: JSON contracts, exit codes, the database, Ctrl-C and dying workers.

Runs build/hone (or that of $HONE_BUILD_DIR) on small programs written here. Needs only the standard library.
"""

import array
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from programs import ELEMENTWISE

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

# Runs for minutes.
ENDLESS = """HloModule endless
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[8] sine(x)
  ROOT t = (s32[], f32[8]) tuple(n, y)
}
more {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(2000000000)
  ROOT c = pred[] compare(i, most), direction=LT
}
ENTRY main {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, x)
  w = (s32[], f32[8]) while(t), condition=more, body=body
  ROOT y = f32[8] get-tuple-element(w), index=1
}
"""

SOFTMAX = """HloModule softmax
max { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] maximum(x, y) }
sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
ENTRY main {
  x = f32[256,512] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[256] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[256,512] broadcast(m), dimensions={0}
  d = f32[256,512] subtract(x, mb)
  e = f32[256,512] exponential(d)
  s = f32[256] reduce(e, zero), dimensions={1}, to_apply=sum
  sb = f32[256,512] broadcast(s), dimensions={0}
  ROOT r = f32[256,512] divide(e, sb)
}
"""

DOT = """HloModule dot
ENTRY main {
  a = f32[64,256] parameter(0)
  b = f32[256,128] parameter(1)
  d = f32[64,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[64,128] tanh(d)
}
"""

# Weights that only a loop's body contracts.
LOOP = """HloModule loop
body {
  s = (s32[], f32[4,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,256] get-tuple-element(s), index=1
  w = f32[256,256] get-tuple-element(s), index=2
  d = f32[4,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[4,256] tanh(d)
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT r = (s32[], f32[4,256], f32[256,256]) tuple(n, t, w)
}
condition {
  s = (s32[], f32[4,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(8)
  ROOT r = pred[] compare(i, k), direction=LT
}
ENTRY main {
  x = f32[4,256] parameter(0)
  w = f32[256,256] parameter(1)
  z = s32[] constant(0)
  s = (s32[], f32[4,256], f32[256,256]) tuple(z, x, w)
  l = (s32[], f32[4,256], f32[256,256]) while(s), condition=condition, body=body
  y = f32[4,256] get-tuple-element(l), index=1
  c = f32[256,256] copy(w)
  ROOT r = (f32[4,256], f32[256,256]) tuple(y, c)
}
"""

PROGRAMS = {"elementwise": ELEMENTWISE, "softmax": SOFTMAX, "dot": DOT, "loop": LOOP}

SUMMARY_FIELDS = {
    "program",
    "fingerprint",
    "default_ns",
    "tuned_ns",
    "speedup",
    "speedup_interval",
    "verified",
    "candidates",
    "rejected",
    "failed",
    "seconds",
    "seed",
    "decisions",
    "output",
}


def children(pid):
    """Process ids of the direct children of `pid`."""
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not HONE.exists():
            raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hone-cli-test-")
        self.dir = pathlib.Path(self.folder.name)
        self.db = self.dir / "test.db"
        for name, text in PROGRAMS.items():
            (self.dir / f"{name}.hlo").write_text(text)

    def tearDown(self):
        self.folder.cleanup()

    def arguments(self, *arguments):
        return [str(HONE), *map(str, arguments)]

    def hone(self, *arguments, code=0, stdin=None, timeout=300):
        """Runs hone in the test's folder and returns the finished process."""
        environment = dict(os.environ, XDG_DATA_HOME=str(self.dir / "data"))
        done = subprocess.run(
            self.arguments(*arguments),
            cwd=self.dir,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env=environment,
            check=False,
        )
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout.decode()}\n{done.stderr.decode()}")
        return done

    def json(self, *arguments, **options):
        return json.loads(self.hone(*arguments, "--json", **options).stdout)

    def tune(self, name, *arguments, **options):
        return self.json("tune", self.dir / f"{name}.hlo", "--db", self.db, "--quiet", *arguments, **options)


class WithoutWorker(CliTest):
    def test_help_and_version(self):
        self.assertIn(b"inspect", self.hone("--help").stdout)
        self.assertRegex(self.hone("--version").stdout.decode(), r"^hone \d+\.\d+\.\d+\n$")
        for command in ("inspect", "run", "tune", "db", "worker"):
            self.assertIn(command.encode(), self.hone(command, "--help").stdout)

    def test_bad_command_lines_are_one_line_and_code_2(self):
        (self.dir / "empty").mkdir()
        cases = [
            (),
            ("tune", "empty"),
            ("spell",),
            ("tune",),
            ("tune", "missing.hlo"),
            ("tune", "elementwise.hlo", "--budget", "soon"),
            ("tune", "elementwise.hlo", "--budget", "0s"),
            ("tune", "elementwise.hlo", "--strategy", "magic"),
            ("run", "elementwise.hlo", "--repeat", "0"),
            ("run", "elementwise.hlo", "--threads", "0"),
            ("run", "elementwise.hlo", "--weights", "a-b"),
            ("db",),
            ("db", "info", "--db", "none.db"),
            ("inspect", "elementwise.hlo", "--inputs", "none.npz"),
        ]
        for arguments in cases:
            done = self.hone(*arguments, code=2)
            lines = done.stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertTrue(lines[0].startswith("hone: error: "), lines)
            self.assertEqual(done.stdout, b"")
        left = sorted(p.name for p in self.dir.iterdir())
        self.assertEqual(
            left, ["dot.hlo", "elementwise.hlo", "empty", "loop.hlo", "softmax.hlo"]
        )  # no package, no database

    def test_errors_as_json(self):
        error = self.json("inspect", "missing.hlo", code=2)["error"]
        self.assertEqual(set(error), {"message", "where", "hint"})
        self.assertIn("missing.hlo", error["where"])
        self.assertIn("error", self.json("tune", code=2))

    def test_an_output_that_is_not_ours_is_refused_before_any_work(self):
        (self.dir / "elementwise.hone").write_text("mine")
        self.hone("tune", "elementwise.hlo", "--db", self.db, code=2)
        self.assertEqual((self.dir / "elementwise.hone").read_text(), "mine")
        self.assertFalse(self.db.exists())


class WithWorker(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (BUILD / "hone-xla").exists():
            print(f"SKIPPED: {BUILD}/hone-xla is missing: no test ran a program", file=sys.stderr)
            raise unittest.SkipTest("build/hone-xla is missing")


class OnePass(WithWorker):
    def test_worker(self):
        hello = self.json("worker")
        self.assertTrue(hello["xla_version"])
        self.assertGreaterEqual(hello["cores"], 1)
        self.assertTrue(all({"name", "ok", "why"} <= set(seam) for seam in hello["seams"]))

    def test_inspect(self):
        found = self.json("inspect", "softmax.hlo")
        self.assertEqual(found["opcodes"]["reduce"], 2)
        self.assertEqual(found["opcodes"]["exponential"], 1)
        self.assertGreater(found["transcendentals"], 0)
        for field in ("instructions", "kernels", "flops", "bytes", "spaces"):
            self.assertIn(field, found)
        self.assertGreater(sum(kind["total"] for kind in found["kernels"].values()), 0)
        self.assertGreater(found["spaces"]["kernel"]["dimensions"], 0)
        self.assertIn(b"opcodes", self.hone("inspect", "softmax.hlo").stdout)
        self.assertEqual(self.json("inspect", "-", stdin=SOFTMAX.encode())["fingerprint"], found["fingerprint"])

    def test_inspect_of_a_program_that_is_none(self):
        (self.dir / "bad.hlo").write_text("HloModule m\nENTRY main { ROOT r = f32[2] add(x, y) }\n")
        done = self.hone("inspect", "bad.hlo", code=2)
        self.assertEqual(len(done.stderr.decode().splitlines()), 1)
        self.hone("inspect", "-", stdin=bytes(range(256)), code=2)

    def test_run(self):
        ran = self.json("run", "dot.hlo", "--repeat", "5", "--outputs", "out.npz")
        self.assertEqual(len(ran["times_ns"]), 5)
        self.assertGreater(ran["median_ns"], 0)
        self.assertTrue((self.dir / "out.npz").exists())
        again = self.json("run", "dot.hlo", "--repeat", "1", "--outputs", "again.npz")
        self.assertEqual(again["fingerprint"], ran["fingerprint"])
        self.assertEqual(
            (self.dir / "out.npz").read_bytes(), (self.dir / "again.npz").read_bytes()
        )  # same seed, same inputs
        self.json("run", "dot.hlo", "--repeat", "1", "--outputs", "other.npz", "--seed", "1")
        self.assertNotEqual((self.dir / "out.npz").read_bytes(), (self.dir / "other.npz").read_bytes())

    def test_where_the_time_of_a_run_goes(self):
        profile = self.json("run", "dot.hlo", "--profile", "--repeat", "3")
        shares = {row["opcode"]: row for row in profile["opcodes"]}
        self.assertTrue(shares["dot"]["library"])
        self.assertGreater(shares["dot"]["ns"], 0)
        whole = sum(row["ns"] for row in profile["opcodes"])
        libraries = sum(row["ns"] for row in profile["opcodes"] if row["library"])
        self.assertAlmostEqual(profile["library_share"], libraries / whole, places=6)
        self.assertEqual(self.json("run", "elementwise.hlo", "--profile")["library_share"], 0)
        self.assertIn(b"in libraries", self.hone("run", "dot.hlo", "--profile").stdout)
        self.hone("run", "dot.hlo", "--profile", "--compare", code=2)

    def test_kernels_are_recognised_by_another_process(self):
        for name in PROGRAMS:
            first, second = (self.json("inspect", f"{name}.hlo") for _ in range(2))
            kernels = [kernel["fingerprint"] for kernel in first["kernel_list"]]
            self.assertGreater(len(kernels), 0)
            self.assertEqual([kernel["fingerprint"] for kernel in second["kernel_list"]], kernels)
            self.assertEqual(second["lowered_fingerprint"], first["lowered_fingerprint"])

    def test_generated_weights_keep_a_loop_tame(self):
        """Unit-variance weights make a recurrence chaotic: then outputs differ between any two correct programs."""
        self.json("run", "loop.hlo", "--repeat", "1", "--outputs", "out.npz")
        with zipfile.ZipFile(self.dir / "out.npz") as arrays:
            weights = array.array("f", arrays.read(sorted(arrays.namelist())[1])[-4 * 256 * 256 :])
        deviation = math.sqrt(sum(w * w for w in weights) / len(weights))
        self.assertAlmostEqual(deviation, 1 / 16, delta=0.005)

    def test_a_program_beyond_the_memory_limit_fails_in_one_line(self):
        (self.dir / "big.hlo").write_text(
            "HloModule big\nENTRY main { z = f32[] parameter(0)\n"
            "ROOT b = f32[1073741824] broadcast(z), dimensions={} }\n"
        )
        done = self.hone("run", "big.hlo", "--memory-limit", "1", code=1)
        self.assertEqual(len(done.stderr.decode().splitlines()), 1, done.stderr)
        self.assertIn(b"memory", done.stderr)
        self.hone("run", "dot.hlo", "--memory-limit", "0", code=2)

    def test_a_clamp_with_scalar_bounds_runs(self):
        """The wheel's XLA aborts on it; the seam hands it to the loop emitter."""
        (self.dir / "clamp.hlo").write_text(
            "HloModule c\nENTRY main { x = f32[64,64] parameter(0)  y = f32[64,64] parameter(1)\n"
            "a = f32[] constant(-1)\n"
            "b = f32[] constant(1)  c = f32[64,64] clamp(a, x, b)  ROOT r = f32[64,64] multiply(c, y) }\n"
        )
        self.assertEqual(len(self.json("run", "clamp.hlo", "--repeat", "2")["times_ns"]), 2)

    def test_inputs_must_match(self):
        self.json("run", "dot.hlo", "--repeat", "1", "--outputs", "out.npz")  # one array of another shape
        self.hone("run", "dot.hlo", "--inputs", "out.npz", code=2)
        self.hone("run", "dot.hlo", "--weights", "7", code=2)

    def test_no_worker_outlives_its_command(self):
        before = subprocess.run(["pgrep", "-cx", "hone-xla"], capture_output=True, check=False).stdout
        self.hone("inspect", "dot.hlo")
        after = subprocess.run(["pgrep", "-cx", "hone-xla"], capture_output=True, check=False).stdout
        self.assertLessEqual(int(after), int(before))


class Tune(WithWorker):
    def check_summary(self, summary):
        self.assertLessEqual(SUMMARY_FIELDS, set(summary))
        self.assertTrue(summary["verified"])
        low, high = summary["speedup_interval"]
        self.assertLessEqual(low, summary["speedup"])
        self.assertLessEqual(summary["speedup"], high)
        # Never slower than default XLA. A known result is only checked again, by a duel too short to prove small gains.
        self.assertGreaterEqual(high if summary["known"] else low, 1)
        self.assertGreater(summary["default_ns"], 0)
        self.assertGreater(summary["tuned_ns"], 0)

    def check_database(self):
        self.assertEqual(self.json("db", "check", "--db", self.db), {"ok": True, "problems": []})

    def test_tune_run_and_database(self):
        first = self.tune("elementwise", "--budget", "25s")
        self.check_summary(first)
        self.assertFalse(first["known"])
        self.assertGreater(first["candidates"], 5)
        if first["decisions"]:  # small enough for XLA's interpreter to judge the winner as well
            self.assertTrue(json.loads((self.dir / "elementwise.hone/report.json").read_text())["interpreted"])
        package = self.dir / "elementwise.hone"
        for name in ("program.pb", "tuned.hlo", "decisions.json", "report.json", "report.txt"):
            self.assertGreater((package / name).stat().st_size, 0, name)
        self.assertEqual(json.loads((package / "report.json").read_text())["fingerprint"], first["fingerprint"])

        compared = self.json("run", "elementwise.hone", "--compare", "--budget", "2s")
        self.assertEqual(
            {
                "program",
                "speedup",
                "speedup_interval",
                "verified",
                "default_ns",
                "tuned_ns",
                "rounds",
                "seed",
                "threads",
            }
            - set(compared),
            set(),
        )
        self.assertTrue(compared["verified"])
        if first["decisions"]:
            self.assertGreater(compared["speedup"], 0.9)
        tuned = self.json("run", "elementwise.hone", "--repeat", "3", "--outputs", "tuned.npz")
        self.assertGreater(tuned["median_ns"], 0)

        second = self.tune("elementwise", "--budget", "25s")
        self.check_summary(second)
        self.assertTrue(second["known"])
        self.assertEqual(second["decisions"], first["decisions"])
        self.assertLess(second["candidates"], first["candidates"])

        info = self.json("db", "info", "--db", self.db)
        self.assertGreater(info["records"], 5)
        self.assertEqual(info["tuned"], 1)
        rows = [json.loads(line) for line in self.hone("db", "export", "--db", self.db).stdout.splitlines()]
        self.assertEqual(len(rows), info["records"] + info["tuned"])
        merged = self.json("db", "merge", self.db, "--db", self.dir / "other.db")
        self.assertEqual(merged["records_added"], info["records"])
        self.check_database()

        # The kernels are known, the search is not: quicker, and nothing about a kernel is measured again.
        fresh = self.tune("elementwise", "--budget", "25s", "--seed", "1")
        self.check_summary(fresh)
        self.assertFalse(fresh["known"])

    def test_other_programs(self):
        for name in ("softmax", "dot"):
            self.check_summary(self.tune(name, "--budget", "12s", "-o", self.dir / f"out/{name}.hone"))
            self.assertTrue((self.dir / f"out/{name}.hone/decisions.json").exists())
        self.check_database()

    def test_declared_weights_and_strategy(self):
        summary = self.tune("dot", "--budget", "12s", "--weights", "1", "--strategy", "greedy")
        self.check_summary(summary)
        decisions = json.loads((self.dir / "dot.hone/decisions.json").read_text())
        self.assertEqual(decisions["target"]["weights"], [1])
        self.assertTrue(self.json("run", "dot.hone", "--compare", "--budget", "1s")["verified"])

    def start_tune(self, name, budget):
        environment = dict(os.environ, XDG_DATA_HOME=str(self.dir / "data"))
        return subprocess.Popen(
            self.arguments("tune", self.dir / f"{name}.hlo", "--db", self.db, "--budget", budget, "--json"),
            cwd=self.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )

    def wait_for_rows(self, process, count):
        """Until the database has `count` rows: the search is under way."""
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if self.db.exists():
                done = subprocess.run(
                    self.arguments("db", "info", "--json", "--db", self.db), capture_output=True, check=False
                )
                if done.returncode == 0 and json.loads(done.stdout)["records"] >= count:
                    return
            time.sleep(0.05)
        self.fail("the tune ended before it measured anything")

    def test_interrupt_returns_the_best_so_far(self):
        process = self.start_tune("elementwise", "300s")
        self.wait_for_rows(process, 10)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
        self.assertEqual(process.returncode, 0, err.decode())
        summary = json.loads(out)
        self.check_summary(summary)
        self.assertTrue(summary["stopped"])
        self.assertLess(summary["seconds"], 200)
        self.assertTrue((self.dir / "elementwise.hone/decisions.json").exists())
        self.check_database()
        self.assertEqual(self.json("db", "info", "--db", self.db)["tuned"], 0)  # a search cut short is no final result

    def test_interrupt_of_a_program_that_runs_for_minutes(self):
        """Default XLA has not run once: there is nothing to keep, and nobody waits for minutes."""
        (self.dir / "endless.hlo").write_text(ENDLESS)
        process = self.start_tune("endless", "2s")  # the budget does not end what there is no result without
        time.sleep(6)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err.decode())
        self.assertIn("before there was a result", json.loads(out)["error"]["message"])
        self.assertFalse((self.dir / "endless.hone").exists())

    def test_killed_workers_cost_one_candidate_each(self):
        process = self.start_tune("softmax", "20s")
        killed = set()

        def kill_now_and_then():
            for pause in (0.1, 0.3, 0.7, 1.1, 1.9, 2.3, 3.1):
                time.sleep(pause)
                for child in children(process.pid):
                    try:
                        os.kill(child, signal.SIGKILL)
                        killed.add(child)
                    except ProcessLookupError:
                        pass

        self.wait_for_rows(process, 2)
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        out, err = process.communicate(timeout=180)
        killer.join()
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertGreater(len(killed), 2)
        self.check_summary(json.loads(out))
        self.check_database()

    def test_a_killed_tune_leaves_a_sound_database(self):
        process = self.start_tune("elementwise", "60s")
        self.wait_for_rows(process, 5)
        process.kill()
        process.communicate(timeout=30)
        self.check_database()
        self.assertEqual([p.name for p in self.dir.glob("*.hone")] + [p.name for p in self.dir.glob(".*.hone.*")], [])
        self.assertGreaterEqual(self.json("db", "info", "--db", self.db)["records"], 5)


if __name__ == "__main__":
    unittest.main()
