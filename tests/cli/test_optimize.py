"""hone optimize from outside: choices without measuring, checked outputs, errors.

Needs only the standard library; tests that need the shipped weights are skipped with a message without them.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import HONE, ROOT, own_environment
from programs import TWO_KERNELS

# One convolution that is large enough for a rewrite and one that is not.
DEPTHWISE = """HloModule depthwise
ENTRY main {
  x = f32[1,28,28,64] parameter(0)
  w = f32[3,3,1,64] parameter(1)
  y = f32[1,2,2,2] parameter(2)
  v = f32[2,2,1,2] parameter(3)
  a = f32[1,28,28,64] convolution(x, w), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f, feature_group_count=64
  b = f32[1,1,1,2] convolution(y, v), window={size=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=2
  ROOT r = (f32[1,28,28,64], f32[1,1,1,2]) tuple(a, b)
}
"""

SORT = """HloModule sort
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
ENTRY main {
  x = f32[16,4096] parameter(0)
  ROOT s = f32[16,4096] sort(x), dimensions={1}, to_apply=less
}
"""

MODELS = ROOT / "data" / "models"


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not HONE.exists():
            raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")
        cls.folder = tempfile.TemporaryDirectory(prefix="hone-optimize-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.dir = pathlib.Path(cls.folder.name)
        (cls.dir / "p.hlo").write_text(TWO_KERNELS)

    def hone(self, *arguments):
        command = [str(HONE), *map(str, arguments)]
        if arguments[0] in ("optimize", "tune") and "--models" not in arguments and MODELS.is_dir():
            command += ["--models", str(MODELS)]
        return subprocess.run(
            command,
            cwd=self.dir,
            env=own_environment(self.dir),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def answer(self, *arguments):
        done = self.hone(*arguments, "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def need_weights(self):
        if not (MODELS / "tile-gains.json").exists():
            self.skipTest(f"SKIPPED: no weights or known gains in {MODELS}")

    def assert_refused(self, done, word):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)


class OptimizeTest(CommandTest):
    def test_help(self):
        short, whole = (self.hone("optimize", option) for option in ("--help", "--help-all"))
        self.assertEqual((short.returncode, whole.returncode), (0, 0))
        for option in ("--no-verify", "--rank-only", "--guard"):
            self.assertIn(option, short.stdout)
        for option in ("--gains", "--calibrate"):  # for maintainers
            self.assertNotIn(option, short.stdout)
            self.assertIn(option, whole.stdout)

    def test_package_runs_and_is_right(self):
        self.need_weights()
        answer = self.answer("optimize", "p.hlo", "-o", "p.hone")
        self.assertTrue(answer["verified"])
        self.assertGreater(answer["instructions"], 0)
        chosen = [k for kind in ("kernels", "rewrites", "operations", "forms") for k in answer[kind]]
        self.assertGreaterEqual(answer["applied"], sum(k["applied"] for k in chosen))
        for kernel in answer["kernels"]:
            if kernel["applied"]:
                self.assertNotEqual(kernel["chosen"], kernel["default"])
                self.assertGreater(kernel["gain"] - kernel["error"], 1)
        run = self.answer("run", "p.hone", "--compare", "--budget", "200ms")
        self.assertTrue(run["verified"])

    def test_a_limit_of_the_instruction_set_is_remembered(self):
        self.need_weights()
        answer = self.answer("optimize", "p.hlo", "--max-isa", "sse4.2", "-o", "limited.hone")
        self.assertTrue(answer["verified"])
        self.assertEqual(answer["isa"], "sse4.2")
        self.assertEqual(self.answer("run", "limited.hone", "--repeat", "1")["isa"], "sse4.2")
        self.assert_refused(self.hone("optimize", "p.hlo", "--max-isa", "avx"), "sse4.2, avx2, avx512")

    def test_same_choice_every_time_and_without_a_check(self):
        self.need_weights()
        once = self.answer("optimize", "p.hlo", "--no-verify", "-o", "a.hone")
        again = self.answer("optimize", "p.hlo", "--no-verify", "-o", "b.hone")
        self.assertEqual(once["decisions"], again["decisions"])
        self.assertFalse(once["verified"])
        self.assertIn(
            "neither measured nor verified", json.loads((self.dir / "a.hone/report.json").read_text())["note"]
        )

    def test_nothing_is_taken_that_does_not_pay(self):
        self.need_weights()
        gains = json.loads((MODELS / "tile-gains.json").read_text())
        for one in gains["classes"]:
            for trust in one["transitions"].values():
                trust["low"] = -1
        (self.dir / "hopeless.json").write_text(json.dumps(gains))
        answer = self.answer("optimize", "p.hlo", "--gains", "hopeless.json", "--no-forms", "-o", "none.hone")
        self.assertEqual(answer["applied"], 0)
        self.assertEqual(answer["decisions"], {})
        self.assertTrue(answer["verified"])

    def test_gains_of_similar_machines_are_taken_only_where_a_duel_decides(self):
        self.need_weights()
        gains = json.loads((MODELS / "tile-gains.json").read_text())
        isa = self.answer("inspect", "p.hlo")["isa"]
        for one in gains["classes"]:
            one["machine"] = f"Another {isa}, one thread"
        (self.dir / "elsewhere.json").write_text(json.dumps(gains))
        elsewhere = ("optimize", "p.hlo", "--gains", "elsewhere.json", "--no-forms")
        answer = self.answer(*elsewhere, "--guard", "0", "-o", "elsewhere.hone")
        self.assertEqual(answer["decisions"], {})
        self.assertIn("no gains of kernels are known", answer["note"])
        self.assertIn("class of machines", json.loads((self.dir / "elsewhere.hone/report.json").read_text())["note"])
        answer = self.answer(*elsewhere, "-o", "elsewhere.hone", "--force")
        self.assertIn(f"those of Another {isa}, one thread", answer["note"])

    def test_a_form_that_gains_is_taken_after_a_duel(self):
        self.need_weights()
        if not (MODELS / "form-gains.json").exists():
            self.skipTest(f"SKIPPED: no known gains of forms in {MODELS}")
        (self.dir / "sort.hlo").write_text(SORT)
        answer = self.answer("optimize", "sort.hlo", "-o", "sort.hone")
        if answer["isa"] not in ("avx2", "avx512"):
            self.skipTest(f"SKIPPED: no gains of forms are known for {answer['isa']}")
        chosen = [form["chosen"] for form in answer["forms"] if form["applied"]]
        if answer["isa"] == "avx2" and "forbid" in chosen:  # of duplicates in fusions, which gains there alone
            chosen.remove("forbid")
        self.assertEqual(chosen, ["highway"])
        self.assertTrue(answer["verified"])
        self.assertGreaterEqual(answer["guard"]["speedup"], 1)
        self.assertGreater(answer["guard"]["rounds"], 1)
        self.assertIn("duel", json.loads((self.dir / "sort.hone/report.json").read_text())["note"])
        without = self.answer("optimize", "sort.hlo", "--guard", "0", "-o", "sort.hone")
        self.assertEqual((without["forms"], without["guard"]), ([], None))

    def test_a_large_depthwise_convolution_becomes_shifted_slices(self):
        self.need_weights()
        if not (MODELS / "rewrite-gains.json").exists():
            self.skipTest(f"SKIPPED: no known gains of rewrites in {MODELS}")
        (self.dir / "depthwise.hlo").write_text(DEPTHWISE)
        answer = self.answer("optimize", "depthwise.hlo", "-o", "depthwise.hone")
        self.assertTrue(answer["verified"])
        # The small one by the rule, since no bound of the model holds for it; the large one by the model if it has one.
        rows = answer["rewrites"] + answer["operations"]
        chosen = {row["name"].split("*")[0]: row["chosen"] for row in rows}
        self.assertEqual(set(chosen), {"convolution:f32[1,28,28,64]", "convolution:f32[1,2,2,2]"})
        self.assertEqual([row["chosen"] for row in answer["rewrites"] if "f32[1,2,2,2]" in row["name"]], ["default"])
        self.assertIn(chosen["convolution:f32[1,28,28,64]"], ("shifted", "onednn"))
        run = self.answer("run", "depthwise.hone", "--compare", "--budget", "200ms")
        self.assertTrue(run["verified"])

    def test_rewrites_are_calibrated_on_held_back_programs(self):
        (self.dir / "depthwise.hlo").write_text(DEPTHWISE)
        (self.dir / "programs.json").write_text(json.dumps([{"name": "one", "file": "depthwise.hlo"}]))
        (self.dir / "split.txt").write_text("validation\tone\n")
        arguments = ("optimize", "--calibrate-rewrites", "programs.json", "--split", "split.txt")
        answer = self.answer(*arguments, "-o", "gains.json")
        self.assertEqual(answer["transitions"]["grouped convolution"]["seen"], 2)
        self.assertIsNone(answer["transitions"]["grouped convolution"]["from"])  # two of one program are too few
        self.assertEqual(json.loads((self.dir / "gains.json").read_text()), answer)
        self.assert_refused(self.hone(*arguments, "--part", "test"), "no program")
        self.assert_refused(self.hone("optimize", "--calibrate-rewrites", "programs.json"), "--split")

    def test_rank_only_writes_nothing(self):
        before = sorted(self.dir.iterdir())
        answer = self.answer("optimize", "p.hlo", "--rank-only", "--tile-model", "analytical", "--max-options", "0")
        self.assertEqual(sorted(self.dir.iterdir()), before)
        ranked = [k for k in answer["kernels"] if len(k["order"]) > 1]
        self.assertTrue(ranked)
        for kernel in ranked:
            self.assertEqual(len(kernel["order"]), kernel["options"])
            self.assertIn(kernel["default"], kernel["order"])

    def test_models_come_from_the_folder_that_is_named(self):
        self.need_weights()
        (self.dir / "models").mkdir()
        (self.dir / "models" / "tile-gains.json").write_text("{")
        done = self.hone("optimize", "p.hlo", "--models", self.dir / "models")
        self.assert_refused(done, "models/tile-gains.json")
        self.assert_refused(self.hone("optimize", "p.hlo", "--models", "nowhere"), "--models")

    def test_refusals(self):
        self.assert_refused(self.hone("optimize"), "PROGRAM")
        self.assert_refused(
            self.hone("optimize", "missing.hlo", "--rank-only", "--tile-model", "analytical"), "missing"
        )
        self.assert_refused(self.hone("optimize", "p.hlo", "--max-options", "1"), "--max-options")
        self.assert_refused(self.hone("optimize", "p.hlo", "--guard", "soon"), "--guard")
        self.assert_refused(self.hone("optimize", "p.hlo", "--guard", "2h"), "--guard")
        self.assert_refused(self.hone("optimize", "p.hlo", "--tile-model", "analytical"), "analytical")
        self.assert_refused(self.hone("optimize", "--calibrate", "nowhere"), "--split")

    def test_gains_of_another_model_are_refused(self):
        self.need_weights()
        gains = json.loads((MODELS / "tile-gains.json").read_text())
        for one in gains["classes"]:
            one["model"] = "0" * 32
        (self.dir / "other.json").write_text(json.dumps(gains))
        self.assert_refused(self.hone("optimize", "p.hlo", "--gains", "other.json"), "not known")
        (self.dir / "broken.json").write_text("{")
        self.assert_refused(self.hone("optimize", "p.hlo", "--gains", "broken.json"), "JSON")


class FusionModelTest(CommandTest):
    """hone tune with a model of fusion, on the same program."""

    def test_search_is_reported(self):
        answer = self.answer(
            *("tune", "p.hlo", "--fusion-only", "--fusion-model", "analytical", "--budget", "30s"),
            *("--fusion-budget", "1s", "--db", "f.db", "-o", "f.hone"),
        )
        self.assertTrue(answer["verified"])
        self.assertGreaterEqual(answer["speedup"], 0.99)
        search = answer["fusion_search"]
        self.assertGreater(search["configurations"], 0)
        self.assertEqual(search["failed"], 0)
        self.assertEqual(set(answer["decisions"]) - {"fusion"}, set())

    def test_refusals_of_tune(self):
        self.assert_refused(self.hone("tune", "p.hlo", "--fusion-only", "--no-fusion"), "--fusion-only")
        self.assert_refused(self.hone("tune", "p.hlo", "--fusion-budget", "soon"), "--fusion-budget")
        self.assert_refused(self.hone("tune", "p.hlo", "--fusion-model", "nowhere"), "nowhere")


if __name__ == "__main__":
    unittest.main()
