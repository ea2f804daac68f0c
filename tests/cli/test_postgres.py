"""`--db postgresql://...` from outside: a tune on a real server that stops during it, and rows copied to a file.

Skipped where Debian's postgresql is missing.
"""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

from postgres_server import MISSING, PROGRAMS, Server
from programs import ELEMENTWISE

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

# A search that ends by itself long before its budget, even on a busy machine.
SHORT = ("--budget", "120s", "--no-fusion", "--tile-model", "analytical", "--top-k", "2")


@unittest.skipUnless(PROGRAMS, MISSING)
class PostgresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not HONE.exists():
            raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hone-pg-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "p.hlo").write_text(ELEMENTWISE)

    def hone(self, *arguments, code=0):
        done = subprocess.run(
            [str(HONE), *map(str, arguments), "--json"], cwd=self.dir, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def db(self, action, *arguments, **options):
        return self.hone("db", action, *arguments, "--db", self.server.url, **options)

    def test_a_server_that_ends_in_the_middle_of_a_tune(self):
        url = self.server.url
        process = subprocess.Popen(
            [str(HONE), "tune", "p.hlo", "--db", url, "-v", *SHORT],
            cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        said = []
        measured = 0
        for line in process.stderr:  # a line for every candidate, its row is stored right after
            said.append(line)
            measured += "debug: " in line and "rounds" in line and "program :" not in line
            if measured == 3:
                self.server.stop()
        process.stderr.close()
        self.assertEqual(process.wait(), 1, "".join(said))
        self.assertIn("the database server is gone", said[-1])
        self.assertTrue(said[-1].startswith("hone: error: "), said[-1])
        self.assertFalse((self.dir / "p.hone").exists())

        gone = self.db("info", code=2)
        self.assertIn("is the server running", gone["error"]["hint"])
        self.server.start()
        kept = self.db("info")
        self.assertGreaterEqual(kept["records"], 2)
        self.assertTrue(self.db("check")["ok"])

        # The same command continues the search; the next one begins with the result.
        tune = ("tune", "p.hlo", "--db", url, "--quiet", "--force", *SHORT)
        first = self.hone(*tune)
        self.assertTrue(first["verified"])
        info = self.db("info")
        self.assertGreater(info["records"], kept["records"])
        self.assertEqual(info["tuned"], 1)
        self.assertEqual(info["path"], url)
        again = self.hone(*tune)
        self.assertLess(again["candidates"], max(2, first["candidates"]))

        # All rows can be copied to a file.
        stored = self.db("info")["records"]
        self.assertEqual(self.db("compact", "--keep", "1000")["records_removed"], 0)
        self.assertEqual(self.db("info")["records"], stored)
        merged = self.hone("db", "merge", url, "--db", "copy.db")
        self.assertEqual(merged["refused"], 0)
        self.assertEqual(merged["tuned_added"], 1)
        exported = [json.loads(line) for line in self._export(url)]
        copied = [json.loads(line) for line in self._export("copy.db")]
        self.assertEqual(sorted(map(self._row, exported)), sorted(map(self._row, copied)))

    def _export(self, db):
        done = subprocess.run(
            [str(HONE), "db", "export", "--db", db],
            cwd=self.dir,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout.splitlines()

    def _row(self, row):
        return json.dumps({key: value for key, value in row.items() if key != "id"}, sort_keys=True)

    def test_the_process_list_shows_no_password(self):
        # The server never answers: the command waits until it is killed.
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"postgresql://u:secret@127.0.0.1:{server.getsockname()[1]}/d?password=hidden"
            for words in (["--db", url], [f"--db={url}"]):
                process = subprocess.Popen([str(HONE), "db", "info", *words], stderr=subprocess.DEVNULL)
                connection, _ = server.accept()
                shown = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
                process.kill()
                process.wait()
                connection.close()
                self.assertIn("postgresql://u:xxxxxx@127", shown)
                self.assertIn("password=xxxxxx", shown)

    def test_bad_urls_are_one_line_and_code_2(self):
        for url in ("postgresql://u:secret@/d?host=/nowhere", "postgres://h:port/d", "postgresql://h/d?bogus=1"):
            with self.subTest(url):
                done = subprocess.run(
                    [str(HONE), "db", "info", "--db", url], capture_output=True, text=True, timeout=60
                )
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertNotIn("secret", done.stderr)


if __name__ == "__main__":
    unittest.main()
