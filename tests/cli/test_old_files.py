"""Packages and databases that version 0.1 wrote still load, with all their decisions."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"
OLD = ROOT / "tests" / "data" / "version-0.1"


class OldFilesTest(unittest.TestCase):
    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        folder = tempfile.TemporaryDirectory(prefix="hone-old-files-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def hone(self, *arguments):
        process = subprocess.run(
            [str(HONE), *map(str, arguments), "--json"], cwd=self.dir, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def test_a_package_is_run_under_its_decisions(self):
        plain = self.hone("inspect", OLD / "tiny.mlir")
        tuned = self.hone("inspect", OLD / "package")
        self.assertIn("convolution", plain["kernels"])
        self.assertNotIn("convolution", tuned["kernels"])  # the rewrite, then a library decision, is applied
        self.assertGreater(len(self.hone("run", OLD / "package", "--repeat", "3")), 0)

    def test_a_report_of_an_old_package_names_its_decisions(self):
        report = json.loads((OLD / "package" / "report.json").read_text())
        self.assertEqual(set(report["decisions"]), {"kernel", "library"})  # the fixture has the expected kinds
        page = self.dir / "report.html"
        self.hone("report", OLD / "package", "--output", page)
        self.assertIn("rouped convolution", page.read_text())

    def test_a_database_is_brought_up_to_date_and_keeps_its_rows(self):
        path = self.dir / "old.db"
        shutil.copy(OLD / "tiny.db", path)
        with sqlite3.connect(path) as old:
            before = [
                row[0] for row in old.execute("SELECT decisions FROM records WHERE scope = 'program' ORDER BY id")
            ]
        self.assertTrue(any("library convolution:" in text for text in before))
        program = OLD / "tiny.mlir"
        self.hone("tune", program, "--db", path, "--budget", "3s", "--no-fusion", "-o", self.dir / "tiny.hone")
        self.assertTrue(self.hone("db", "check", "--db", path)["ok"])
        with sqlite3.connect(path) as new:
            after = [row[0] for row in new.execute("SELECT decisions FROM records WHERE scope = 'program' ORDER BY id")]
        self.assertGreaterEqual(len(after), len(before))
        for old_text, new_text in zip(before, after, strict=False):
            self.assertEqual(
                sorted(old_text.split("|")),
                sorted(
                    part.replace("rewrite convolution:", "library convolution:").replace("codegen ", "kernel ")
                    for part in new_text.split("|")
                ),
            )
        self.assertFalse(any("library convolution:" in text or "kernel " in text for text in after))


if __name__ == "__main__":
    unittest.main()
