"""hone verify: rows, exit codes, and folders that repeat a difference."""

import json
import pathlib
import shlex
import subprocess
import sys
import unittest

from cli_case import HONE, ROOT, WithWorker, interrupted, own_environment
from programs import ENDLESS
from test_reference import documented_keys

# x - x = 0 holds for finite numbers alone: `algsimp:real` is wrong for NaN and infinities.
DIFFERENCE = """HloModule difference
ENTRY main {
  a = f32[64] parameter(0)
  d = f32[64] subtract(a, a)
  i = f32[64] iota(), iota_dimension=0
  ROOT s = f32[64] add(d, i)
}
"""
WRONG = "passes order=algsimp:real"
# XLA:CPU adds the constants first, so that where it differs from the interpreter `found` is the input itself.
SHOWN = """HloModule shown
ENTRY main {
  a = f32[64] parameter(0)
  most = f32[] constant(1e30)
  up = f32[64] broadcast(most), dimensions={}
  least = f32[] constant(-1e30)
  down = f32[64] broadcast(least), dimensions={}
  s = f32[64] add(a, up)
  ROOT t = f32[64] add(s, down)
}
"""
LARGEST = """HloModule largest
max { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT m = f32[] maximum(x, y) }
ENTRY main {
  a = TYPE[64] parameter(0)
  f = f32[64] convert(a)
  size = f32[64] abs(f)
  zero = f32[] constant(0)
  l = f32[] reduce(size, zero), dimensions={0}, to_apply=max
  most = f32[] constant(1e30)
  s = f32[] add(l, most)
  least = f32[] constant(-1e30)
  ROOT t = f32[] add(s, least)
}
"""
LARGE_DOT = """HloModule large_dot
ENTRY main {
  a = f32[512,512] parameter(0)
  b = f32[512,512] parameter(1)
  ROOT d = f32[512,512] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
INTEGERS = """HloModule squares_of_integers
ENTRY main {
  a = s32[8,16] parameter(0)
  ROOT m = s32[8,16] multiply(a, a)
}
"""


class VerifyTest(WithWorker):
    def setUp(self):
        super().setUp()
        self.program = self.dir / "difference.hlo"
        self.program.write_text(DIFFERENCE)
        self.wrong = self.dir / "wrong.txt"
        self.wrong.write_text(WRONG + "\n")

    def verify(self, *words, **options):
        return self.json("verify", *words, "-q", **options)

    def test_a_sound_program_has_a_row_for_every_pair(self):
        result = self.verify(self.dir / "softmax.hlo", "-n", "6", "--kinds", "ordinary,special,zeros")
        self.assertEqual(result["counts"]["differs"], 0, result["rows"])
        self.assertEqual(sum(result["counts"].values()), len(result["rows"]))
        candidates = {row["decisions"] for row in result["rows"]} - {""}
        self.assertEqual(len(candidates), 6)
        pairs = {(row["against"], row["decisions"], row["inputs"]) for row in result["rows"]}
        self.assertEqual(len(pairs), len(result["rows"]))
        self.assertEqual(len(pairs), 3 * (6 + 2))  # and default XLA's own runs, and the interpreter's
        self.assertFalse(result["interrupted"])
        self.assertEqual(list(self.dir.glob("*.verify")), [])
        self.assertLessEqual(set(result), documented_keys()["hone verify"])

    def test_the_same_seed_draws_the_same_decisions(self):
        def drawn(seed):
            rows = self.verify(self.program, "-n", "4", "--kinds", "ordinary", "--seed", seed)["rows"]
            return [row["decisions"] for row in rows]

        self.assertEqual(drawn(3), drawn(3))
        self.assertNotEqual(drawn(3), drawn(4))

    def test_a_wrong_decision_is_found_kept_and_repeated(self):
        lines = self.dir / "rows.jsonl"
        result = self.verify(self.program, "-n", "0", "--decisions", self.wrong, "--jsonl", lines, code=1)
        wrong = [row for row in result["rows"] if row["status"] == "differs"]
        self.assertEqual([row["inputs"] for row in wrong], ["special"])
        self.assertEqual(result["counts"]["differs"], 1)
        row = wrong[0]
        self.assertEqual(row["decisions"], WRONG)
        self.assertEqual((row["output"], len(row["index"]), row["elements"]), (0, 1, 64))
        self.assertEqual(row["differing"], row["differing_special"])
        self.assertIn("nan", row["expected"])
        self.assertNotIn("nan", row["found"])

        kept = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertEqual([{k: v for k, v in r.items() if k in row} for r in kept], result["rows"])
        self.assertEqual({r["program"] for r in kept}, {"difference"})

        folder = self.dir / row["reproducer"]
        self.assertEqual((folder / "program.hlo").read_text(), DIFFERENCE)
        self.assertEqual(json.loads((folder / "row.json").read_text())["status"], "differs")
        words = shlex.split((folder / "command.txt").read_text())
        self.assertEqual(words[:2], ["hone", "verify"])
        again = subprocess.run(
            [HONE, *words[1:], "--json"], cwd=folder, capture_output=True, env=own_environment(self.dir), check=False
        )
        self.assertEqual(again.returncode, 1, again.stderr)
        repeated = [r for r in json.loads(again.stdout)["rows"] if r["status"] == "differs"]
        different = {"reproducer"}
        self.assertEqual(
            [{k: v for k, v in r.items() if k not in different} for r in repeated],
            [{k: v for k, v in row.items() if k not in different}],
        )

    def test_what_differs_is_printed_with_its_place(self):
        done = self.hone("verify", self.program, "-n", "0", "--decisions", self.wrong, "-o", "kept", "-q", code=1)
        text = done.stdout.decode()
        self.assertIn(f"differs on special inputs, {WRONG}", text)
        self.assertIn("instead of", text)
        self.assertIn("kept in kept/1", text)
        self.assertTrue((self.dir / "kept" / "1" / "decisions.txt").exists())

    def test_the_interpreter_agrees_where_it_runs_and_says_where_not(self):
        rows = self.verify(self.program, "-n", "0", "--kinds", "ordinary,zeros")["rows"]
        beside = [row for row in rows if row["against"] == "interpreter"]
        self.assertEqual([row["inputs"] for row in beside], ["ordinary", "zeros"])
        self.assertEqual(beside[0]["status"], "equal")
        self.assertIsNotNone(beside[0]["max_error"])
        rows = self.verify(self.program, "-n", "0", "--no-interpreter")["rows"]
        self.assertEqual({row["against"] for row in rows}, {"default"})
        large = self.dir / "large.hlo"
        large.write_text(LARGE_DOT)
        rows = self.verify(large, "-n", "0", "--kinds", "ordinary")["rows"]
        beside = [row for row in rows if row["against"] == "interpreter"]
        self.assertEqual(beside[0]["status"], "unverifiable")
        self.assertIn("too large", beside[0]["note"])

    def test_inputs_are_what_their_kinds_say(self):
        program = self.dir / "shown.hlo"
        program.write_text(SHOWN)
        rows = self.verify(program, "-n", "0", code=1)["rows"]
        rows = {row["inputs"]: row for row in rows if row["against"] == "interpreter"}
        self.assertEqual(list(rows), ["ordinary", "zeros", "ties", "special", "denormal", "large"])
        self.assertTrue(all(row["elements"] == 64 for row in rows.values()))
        found = {kind: float(row["found"] or 0) for kind, row in rows.items()}
        self.assertEqual(rows["ordinary"]["differing"], 64)
        self.assertLess(abs(found["ordinary"]), 10)
        self.assertEqual(rows["zeros"]["differing"], 0)
        self.assertEqual(rows["ties"]["differing"], 64)
        self.assertIn(found["ties"], (-1, 0.5, 1))
        self.assertLess(rows["special"]["differing"], 62)  # NaN and infinities stay what they are, and negative zeros
        self.assertLess(rows["denormal"]["differing"], 50)  # half are below what a float can tell from zero
        self.assertGreater(rows["denormal"]["differing"], 14)

    def largest(self, kind, of):
        """The largest magnitude among the inputs of this kind, of a parameter s32[64] or f32[64]."""
        program = self.dir / "largest.hlo"
        program.write_text(LARGEST.replace("TYPE", of))
        rows = self.verify(program, "-n", "0", "--kinds", kind, code=None)["rows"]
        return float([row for row in rows if row["against"] == "interpreter"][0]["found"])

    def test_large_inputs_are_large_and_integers_reach_their_extremes(self):
        self.assertLess(self.largest("ordinary", "f32"), 10)
        self.assertGreater(self.largest("large", "f32"), 1e6)
        self.assertLess(self.largest("ordinary", "s32"), 100)
        self.assertAlmostEqual(self.largest("large", "s32"), 2.0**31, delta=10)  # nine digits are printed

    def test_kinds_that_change_no_input_have_no_rows(self):
        program = self.dir / "integers.hlo"
        program.write_text(INTEGERS)
        kinds = [row["inputs"] for row in self.verify(program, "-n", "0", "--no-interpreter")["rows"]]
        self.assertEqual(kinds, ["ordinary", "zeros", "large"])

    def test_a_decision_that_does_not_compile_is_a_row(self):
        self.wrong.write_text("passes order=no-such-pass\n")
        result = self.verify(self.program, "-n", "0", "--decisions", self.wrong, "--kinds", "ordinary", code=1)
        self.assertEqual(result["counts"]["compile_failed"], 1)

    def test_what_takes_too_long_is_a_row(self):
        program = self.dir / "endless.hlo"
        program.write_text(ENDLESS)
        words = ["-n", "0", "--kinds", "ordinary", "--timeout", "2s", "--no-interpreter"]
        result = self.verify(program, *words)
        self.assertEqual([row["status"] for row in result["rows"]], ["unverifiable"])
        self.assertIn("default XLA", result["rows"][0]["note"])

    def test_bad_input_is_refused_in_one_line(self):
        (self.dir / "bad.txt").write_text("nonsense\n")
        for words, said in (
            (["--kinds", "nan"], "none of ordinary, zeros"),
            (["--decisions", "bad.txt"], "not a list of decisions"),
            (["--decisions", "missing.txt"], "missing.txt"),
            (["-n", "-1"], "--candidates"),
            (["--timeout", "soon"], "--timeout"),
        ):
            with self.subTest(words):
                done = self.hone("verify", self.program, *words, code=2)
                self.assertIn(said, done.stderr.decode())
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_ctrl_c_keeps_the_rows(self):
        lines = self.dir / "rows.jsonl"
        command = [
            HONE,
            "verify",
            ROOT / "examples" / "softmax_gelu_chain.mlir",
            "-n",
            "5000",
            "--json",
            "--jsonl",
            lines,
        ]
        code, result = interrupted(
            command, lambda line: "verifying" in line, env=own_environment(self.dir), cwd=self.dir
        )
        self.assertEqual(code, 1 if result["counts"]["differs"] else 0)
        self.assertTrue(result["interrupted"])
        self.assertGreater(len(result["rows"]), 0)
        self.assertEqual(len(lines.read_text().splitlines()), len(result["rows"]))


class ScriptTest(WithWorker):
    def test_pairs_are_counted_and_a_second_run_goes_on(self):
        script = ROOT / "tests" / "fuzz" / "verify_programs.py"
        folder = self.dir / "rows"

        def run(*words):
            command = [sys.executable, script, folder, "--hone", HONE, "--corpus", "missing", "--generated", "0"]
            command += ["--candidates", "1", *words]
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, env=own_environment(self.dir), check=True
            )
            return done.stdout

        run("--pairs", "10")
        rows = [json.loads(line) for line in pathlib.Path(folder, "rows.jsonl").read_text().splitlines()]
        self.assertGreaterEqual(len(rows), 10)
        first = {row["program"] for row in rows}
        text = run("--pairs", str(len(rows) + 1))
        more = [json.loads(line) for line in pathlib.Path(folder, "rows.jsonl").read_text().splitlines()]
        self.assertEqual(more[: len(rows)], rows)
        self.assertGreater(len(more), len(rows))
        self.assertFalse(first & {row["program"] for row in more[len(rows) :]})
        self.assertIn(f"{len(more)} pairs of", text)


if __name__ == "__main__":
    unittest.main()
