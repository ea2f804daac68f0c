"""Joint searches: passes and layouts with the other decisions, adaption and transfer for kernels, and --decide."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from programs import ELEMENTWISE, TWO_KERNELS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

# Two equal transposes and dots: passes and layouts have something to decide.
DOTS = """HloModule dots
ENTRY main {
  a = f32[128,256] parameter(0)
  b = f32[96,256] parameter(1)
  t = f32[256,96] transpose(b), dimensions={1,0}
  u = f32[256,96] transpose(b), dimensions={1,0}
  x = f32[128,96] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[128,96] dot(a, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[128,96] exponential(y)
  ROOT r = f32[128,96] add(x, e)
}
"""


# A search that ends by itself long before its budget, even on a busy machine.
SHORT = ("--tile-model", "analytical", "--top-k", "2", "--budget", "120s", "--quiet")


class JointTest(unittest.TestCase):
    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        folder = tempfile.TemporaryDirectory(prefix="hone-joint-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        for name, text in (("dots", DOTS), ("one", ELEMENTWISE), ("two", TWO_KERNELS)):
            (self.dir / f"{name}.hlo").write_text(text)

    def hone(self, *arguments, code=0):
        process = subprocess.run(
            [str(HONE), *map(str, arguments), "--json"], cwd=self.dir, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def test_only_what_is_asked_for_is_decided(self):
        report = self.hone(
            "tune", "dots.hlo", "--decide", "passes,layout", "--budget", "8s", "--db", "r.db", "-o", "p.hone"
        )
        self.assertTrue(report["verified"])
        self.assertLessEqual(set(report["decisions"]), {"passes", "layout"})
        self.assertNotIn("fusion_search", report)
        again = self.hone("run", "p.hone", "--compare")
        self.assertTrue(again["verified"])

    def test_all_is_one_list_of_decisions_and_replays(self):
        report = self.hone("tune", "dots.hlo", "--budget", "8s", "--db", "r.db", "-o", "p.hone")
        self.assertTrue(report["verified"])
        self.assertGreaterEqual(report["speedup"], 0.99)
        self.assertIn("transfer", report)
        self.assertTrue(self.hone("run", "p.hone", "--compare")["verified"])

    def test_passes_layouts_and_options_replay_from_one_list(self):
        self.hone("tune", "dots.hlo", "--db", "r.db", "--decide", "tile", *SHORT, "-o", "p.hone")
        path = self.dir / "p.hone" / "decisions.json"
        package = json.loads(path.read_text())
        layout = {"kind": "layout", "key": "x", "value": "0,1/-/-"}
        package["decisions"] = [
            {"kind": "option", "key": "vector_width", "value": "512"},
            layout,
            {"kind": "pass", "key": "order", "value": "cse,dce"},
        ]
        path.write_text(json.dumps(package))
        again = self.hone("run", "p.hone", "--compare")
        self.assertTrue(again["verified"])
        self.assertTrue(again["package"]["as_tuned"])
        layout["key"] = "u"  # which cse has made one with t
        path.write_text(json.dumps(package))
        other = self.hone("run", "p.hone", "--compare")["package"]
        self.assertFalse(other["as_tuned"])  # default XLA in its place
        self.assertIn("no instruction 'u'", other["differences"][0])

    def test_kinds_have_results_of_their_own(self):
        tune = ("tune", "one.hlo", "--db", "r.db", "--decide", "tile", *SHORT)
        first = self.hone(*tune, "-o", "a.hone")
        self.assertLessEqual(set(first["decisions"]), {"codegen"})
        known = self.hone(*tune, "-o", "b.hone")
        self.assertEqual(known["decisions"], first["decisions"])
        self.assertNotIn("transfer", known)  # nothing was searched
        self.assertEqual(self.hone("db", "info", "--db", "r.db")["tuned"], 1)

    def test_what_won_is_tried_first_on_another_size(self):
        tune = ("--db", "r.db", "--decide", "tile", *SHORT)
        first = self.hone("tune", "one.hlo", *tune)
        self.assertEqual(first["transfer"]["with_similar"], 0)
        (self.dir / "larger.hlo").write_text(ELEMENTWISE.replace("512", "768"))
        second = self.hone("tune", "larger.hlo", *tune)
        self.assertGreater(second["transfer"]["kernels"], 0)
        if "kernel" in first["decisions"]:
            self.assertGreater(second["transfer"]["with_similar"], 0)

    def test_measurements_are_kept_for_the_ranking_of_this_machine(self):
        tune = ("--db", "r.db", "--decide", "tile", *SHORT)
        report = self.hone("tune", "two.hlo", *tune)
        self.assertFalse(report["adaption"]["used"])  # too few kernels
        kept = report["adaption"]["kernels"]
        self.assertGreater(kept, 0)
        files = list(self.dir.glob("r.db.adaption-*.jsonl"))
        self.assertEqual(len(files), 1)
        lines = [json.loads(line) for line in files[0].read_text().splitlines()]
        self.assertEqual(len(lines), kept)
        with files[0].open("a") as file:
            file.write("half a li")
        again = self.hone("tune", "one.hlo", *tune)
        self.assertGreaterEqual(again["adaption"]["kernels"], kept)
        size = files[0].stat().st_size
        (self.dir / "new.hlo").write_text(ELEMENTWISE.replace("512", "320"))
        self.assertNotIn("adaption", self.hone("tune", "new.hlo", *tune, "--no-adaption"))
        self.assertEqual(files[0].stat().st_size, size)

    def test_bad_input(self):
        for arguments in (
            ("--decide", "tiles"),
            ("--decide", ""),
            ("--decide", "fusion,"),
            ("--decide", "tile", "--layout-model", "none.safetensors"),
            ("--decide", "tile", "--exhaustive"),
            ("--decide", "passes", "--fusion-only"),
            ("--decide", "fusion", "--no-fusion"),
            ("--pick", "luck"),
        ):
            with self.subTest(arguments):
                failed = self.hone("tune", "one.hlo", *arguments, "--db", "r.db", code=2)
                self.assertIn("message", failed["error"])


if __name__ == "__main__":
    unittest.main()
