"""Faults during a tune: a full disk, a folder that cannot be written, a second tune of the same program.
Each gives a clear message, keeps the measurements, and the same command continues the search."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

from programs import ELEMENTWISE

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

# A search that ends by itself long before its budget, even on a busy machine.
SHORT = ("--budget", "120s", "--no-fusion", "--tile-model", "analytical", "--top-k", "2", "--quiet")


class FaultsTest(unittest.TestCase):
    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        folder = tempfile.TemporaryDirectory(prefix="hone-faults-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "p.hlo").write_text(ELEMENTWISE)

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [str(HONE), *arguments], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    def hone(self, *arguments, code=0, **options):
        process = self.start(*arguments, "--json", **options)
        out, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, out + errors)
        return json.loads(out)

    def test_a_full_disk_keeps_what_was_measured(self):
        limit = 112 << 10  # bytes a file may have: the schema and some rows

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write that does not fit fails, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        tune = ("tune", "p.hlo", "--db", "r.db", *SHORT)
        failed = self.hone(*tune, code=1, preexec_fn=little_room)
        self.assertIn("the database cannot be written", failed["error"]["message"])
        self.assertIn("run the same command again", failed["error"]["hint"])
        kept = self.hone("db", "info", "--db", "r.db")["records"]
        self.assertGreater(kept, 0)
        self.assertTrue(self.hone("db", "check", "--db", "r.db")["ok"])
        self.assertTrue(self.hone(*tune)["verified"])
        self.assertGreater(self.hone("db", "info", "--db", "r.db")["records"], kept)

    def test_a_folder_that_cannot_be_written_is_refused_before_any_work(self):
        (self.dir / "closed").mkdir(mode=0o555)
        user = {}
        if os.geteuid() == 0:  # root can write every folder
            user = {"user": 65534, "group": 65534, "extra_groups": []}
            self.dir.chmod(0o755)
        for path, where in (("closed/p.hone", "closed"), ("closed/deep/p.hone", "closed"), ("p.hlo/p.hone", "p.hlo")):
            with self.subTest(path):
                failed = self.hone("tune", "p.hlo", "-o", path, "--db", "/dev/null/r.db", code=1, **user)
                self.assertIn("cannot be written", failed["error"]["message"])
                self.assertEqual(failed["error"]["where"], str(self.dir / where))
        failed = self.hone("tune", "p.hlo", "--db", "p.hlo/r.db", *SHORT, code=2)
        self.assertIn("the database's folder", failed["error"]["message"])

    def test_two_tunes_of_one_program_at_once(self):
        arguments = ("tune", "p.hlo", "--db", "r.db", "-o", "p.hone", "--json", *SHORT)
        both = [self.start(*arguments), self.start(*arguments)]
        for process in both:
            out, errors = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, errors)
            self.assertTrue(json.loads(out)["verified"])
        self.assertTrue(self.hone("db", "check", "--db", "r.db")["ok"])
        self.assertEqual(self.hone("db", "info", "--db", "r.db")["tuned"], 1)
        self.hone("run", "p.hone")  # complete, whichever tune was last
        self.assertEqual(sorted(os.listdir(self.dir)), ["p.hlo", "p.hone", *sorted(self.database_files())])

    def database_files(self):
        return [name for name in os.listdir(self.dir) if name.startswith("r.db")]


if __name__ == "__main__":
    unittest.main()
