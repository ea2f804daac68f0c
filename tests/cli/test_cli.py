"""The command line from outside: JSON contracts and exit codes of everything but tuning (test_tune.py).

Runs build/hone (or that of $HONE_BUILD_DIR) on small programs. Needs only the standard library.
"""

import array
import contextlib
import math
import re
import subprocess
import unittest
import uuid
import zipfile
from pathlib import Path

from cli_case import HONE, PROGRAMS, CliTest, WithWorker, own_environment
from programs import SOFTMAX


class WithoutWorker(CliTest):
    def test_help_and_version(self):
        self.assertIn(b"inspect", self.hone("--help").stdout)
        self.assertRegex(
            self.hone("--version").stdout.decode(),
            r"^hone \d+\.\d+\.\d+ \((commit [0-9a-f]{7,40}(-dirty)?, )?XLA of tensorflow-cpu [\d.]+\)\n$",
        )
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
            ("tune", "elementwise.hlo", "--max-isa", "sse9"),
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

    def test_a_limit_of_the_instruction_set_is_one_of_three(self):
        commands = "inspect, run, tune, optimize, order, place, predict, collect tile, collect fusion, collect layout, "
        commands += "go fuse, gym eval, tpugraphs export, verify"
        for command in commands.split(", "):
            with self.subTest(command):
                done = self.hone(*command.split(), "dot.hlo", "--max-isa", "neon", code=2)
                self.assertIn(b"'neon' is none of sse4.2, avx2, avx512", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertEqual(self.hone(*command.split(), "--help").stdout.count(b"--max-isa"), 1)

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


class OnePass(WithWorker):
    def test_worker(self):
        hello = self.json("worker")
        self.assertTrue(hello["xla_version"])
        self.assertGreaterEqual(hello["cores"], 1)
        self.assertIn(hello["isa"], ("sse2", "sse4.2", "avx", "avx2", "avx512"))
        self.assertTrue(all({"name", "ok", "why"} <= set(seam) for seam in hello["seams"]))

    def test_inspect(self):
        found = self.json("inspect", "softmax.hlo")
        self.assertEqual(found["opcodes"]["reduce"], 2)
        self.assertEqual(found["opcodes"]["exponential"], 1)
        self.assertGreater(found["transcendentals"], 0)
        for field in ("instructions", "kernels", "flops", "bytes", "spaces"):
            self.assertIn(field, found)
        self.assertGreater(sum(kind["total"] for kind in found["kernels"].values()), 0)
        self.assertGreater(found["spaces"]["codegen"]["dimensions"], 0)
        for kind, space in found["spaces"].items():
            self.assertGreater(len(space["words"]), len(kind))
        table = self.hone("inspect", "softmax.hlo").stdout.decode()
        self.assertIn("opcodes", table)
        for kind, space in found["spaces"].items():  # a line for each with something to decide
            line = rf"(?m)^    {kind} +{space['dimensions']} dimensions, .* {re.escape(space['words'])}$"
            (self.assertRegex if space["dimensions"] else self.assertNotRegex)(table, line)
        self.assertEqual(self.json("inspect", "-", stdin=SOFTMAX.encode())["fingerprint"], found["fingerprint"])

    def test_constants_left_out_of_a_file_become_parameters(self):
        text = """module @m {
          func.func public @main(%arg0: tensor<2x3xf32> {a.name = "x)"}) -> tensor<2x4xf32> {
            %0 = stablehlo.constant dense_resource<__elided__> : tensor<3x4xf32>
            %cst = stablehlo.constant dense<2.0> : tensor<2x4xf32>
            %1 = stablehlo.dot %arg0, %0 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
            %2 = stablehlo.constant dense_resource<__elided__> : tensor<2x4xf32>
            %3 = stablehlo.add %1, %2 : tensor<2x4xf32>
            %4 = stablehlo.multiply %3, %cst : tensor<2x4xf32>
            return %4 : tensor<2x4xf32>
          }
        }"""
        found = self.json("inspect", "-", stdin=text.encode())
        self.assertEqual(found["parameters"], ["f32[2,3]", "f32[3,4]", "f32[2,4]"])
        without = text.replace('%arg0: tensor<2x3xf32> {a.name = "x)"}', "").replace("%arg0,", "%2,")
        without = without.replace("tensor<2x3xf32>", "tensor<2x4xf32>").replace("tensor<3x4xf32>", "tensor<4x4xf32>")
        lines = without.splitlines()
        lines.insert(2, lines.pop(5))  # %2 before its use
        self.assertEqual(
            self.json("inspect", "-", stdin="\n".join(lines).encode())["parameters"], ["f32[2,4]", "f32[4,4]"]
        )

    def test_complex_constants_left_out_of_a_file_become_parameters(self):
        text = """module @m {
          func.func public @main(%arg0: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
            %0 = stablehlo.constant dense_resource<__elided__> : tensor<4xcomplex<f32>>
            %1 = stablehlo.multiply %arg0, %0 : tensor<4xcomplex<f32>>
            return %1 : tensor<4xcomplex<f32>>
          }
        }"""
        self.assertEqual(self.json("inspect", "-", stdin=text.encode())["parameters"], ["c64[4]", "c64[4]"])

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

    def test_a_limit_of_the_instruction_set_holds_for_default_xla(self):
        (self.dir / "fma.hlo").write_text(
            "HloModule f\nENTRY main { x = f32[1024] parameter(0)  y = f32[1024] parameter(1)\n"
            "p = f32[1024] multiply(x, y)  ROOT r = f32[1024] add(p, x) }\n"
        )
        own = self.json("worker")["isa"]
        whole = self.json("run", "fma.hlo", "--repeat", "1", "--outputs", "whole.npz")
        limited = self.json("run", "fma.hlo", "--repeat", "1", "--outputs", "limited.npz", "--max-isa", "sse4.2")
        self.assertEqual((whole["isa"], limited["isa"]), (own, "sse4.2"))
        self.assertEqual(whole["fingerprint"], limited["fingerprint"])  # the same program, other machine code
        if own in ("avx2", "avx512"):
            # Without FMA instructions the product is rounded before the sum.
            self.assertNotEqual((self.dir / "whole.npz").read_bytes(), (self.dir / "limited.npz").read_bytes())
        duel = self.json("run", "fma.hlo", "--compare", "--budget", "200ms", "--max-isa", "sse4.2")
        self.assertTrue(duel["verified"])
        self.assertEqual(duel["isa"], "sse4.2")
        self.assertEqual(duel["max_error"], 0)  # both sides are under the limit
        found = self.json("inspect", "fma.hlo", "--max-isa", "sse4.2")
        self.assertEqual((found["isa"], found["max_isa"]), ("sse4.2", "sse4.2"))
        if own not in ("avx2", "avx512"):
            self.skipTest(f"SKIPPED: the CPU has no FMA instructions ({own}): outputs were not compared")
        found = self.json("inspect", "fma.hlo")
        self.assertEqual((found["isa"], found["max_isa"]), (own, None))

    def test_a_limit_beyond_the_cpu_is_refused(self):
        own = self.json("worker")["isa"]
        if own == "avx512":
            self.skipTest("SKIPPED: the CPU has every instruction set there is a limit for")
        done = self.hone("run", "dot.hlo", "--max-isa", "avx512", code=2)
        self.assertIn(f"this CPU has no avx512 (--max-isa): the widest it has is {own}", done.stderr.decode())

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
        mark = f"HONE_TEST_MARK={uuid.uuid4()}".encode()  # other tests have workers meanwhile

        def workers():
            found = set()
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if (process / "comm").read_text() == "hone-xla\n" and mark in (process / "environ").read_bytes():
                        found.add(process.name)
            return found

        name, value = mark.decode().split("=")
        command = [HONE, "inspect", self.dir / "dot.hlo"]
        seen = set()
        with subprocess.Popen(
            command, env=own_environment(self.dir) | {name: value}, stdout=subprocess.DEVNULL
        ) as running:
            while running.poll() is None:
                seen |= workers()
        self.assertEqual(running.returncode, 0)
        self.assertTrue(seen)
        self.assertEqual(workers(), set())


if __name__ == "__main__":
    unittest.main()
