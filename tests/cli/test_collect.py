"""hone generate and hone collect from outside: data sets of measured kernels, resuming, bad input.

Runs build/hone (or that of $HONE_BUILD_DIR). Needs only the standard library.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from cli_case import interrupted

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

PROGRAM = """HloModule transpose_add
ENTRY main {
  a = f32[64,96] parameter(0)
  b = f32[96,64] parameter(1)
  t = f32[64,96] transpose(b), dimensions={1,0}
  s = f32[64,96] add(a, t)
  e = f32[64,96] tanh(s)
  m = f32[64,96] multiply(e, a)
  ROOT r = f32[64,96] maximum(m, a)
}
"""


def hone(*arguments):
    done = subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.db = self.folder / "kernels.db"
        self.program = self.folder / "small.hlo"
        self.program.write_text(PROGRAM)

    def json(self, *arguments):
        code, out, err = hone(*arguments, "--json", "-q")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def error(self, *arguments):
        code, out, err = hone(*arguments, "--json", "-q")
        self.assertEqual(code, 2, err)
        self.assertEqual(len(err.strip().splitlines()), 1, err)
        return json.loads(out)["error"]


class Generate(Folder):
    def test_programs_and_their_manifest(self):
        out = self.folder / "made"
        report = self.json("generate", "--count", 3, "--seed", 7, "--kind", "program", "-o", out)
        manifest = json.loads(pathlib.Path(report["manifest"]).read_text())
        self.assertEqual(len(manifest), 3)
        first = (out / manifest[0]["file"]).read_text()
        self.assertTrue(first.startswith("HloModule"))
        again = self.folder / "again"
        self.json("generate", "--count", 1, "--seed", 7, "--kind", "program", "-o", again)
        self.assertEqual((again / manifest[0]["file"]).read_text(), first)

    def test_bad_input(self):
        out = self.folder / "made"
        self.assertEqual(self.error("generate", "-o", out, "--kind", "wrong")["where"], "--kind")
        self.assertEqual(self.error("generate", "-o", out, "--count", 0)["where"], "--count")
        self.assertIn("elements", self.error("generate", "-o", out, "--max-elements", 1)["message"])
        self.assertFalse(out.exists())


class Collect(Folder):
    def test_collect_resume_export(self):
        options = ["--db", self.db, "--configurations", 1, "--max-options", 6, "--budget", "5m"]
        first = self.json("collect", "tile", self.program, *options, "--output", self.folder / "tile")
        self.assertTrue(first["complete"])
        self.assertGreater(first["ok"], 1)
        self.assertEqual(first["measured"], first["planned"])
        self.assertGreaterEqual(first["out"]["kernels"], 1)
        self.assertEqual(first["out"]["refused"], 0)
        second = self.json("collect", "tile", self.program, *options)
        self.assertEqual(second["measured"], 0)
        self.assertEqual(second["known"], first["measured"])
        fusion = self.json("collect", "fusion", self.program, *options, "--output", self.folder / "fusion")
        self.assertGreaterEqual(fusion["out"]["kernels"], 1)
        self.assertEqual(fusion["out"]["options"], fusion["out"]["kernels"])
        out = self.folder / "again"
        exported = self.json("collect", "export", "--db", self.db, "--kind", "tile", "--output", out)
        self.assertEqual(exported["options"], first["out"]["options"])
        self.assertTrue(list(out.glob("*.shard")))
        self.assertIn("already", self.error("collect", "export", "--db", self.db, "--output", out)["message"])

    def test_winners_for_new_machines(self):
        self.json("collect", "tile", self.program, "--db", self.db, "--configurations", 1, "--max-options", 6)
        split, known = self.folder / "split.txt", self.folder / "known.db"
        split.write_text(f"train\t{self.program.stem}\n")
        made = self.json("collect", "known", "--db", self.db, "--split", split, "-o", known, "--isa", "avx2")
        self.assertEqual(made["isa"], "avx2")
        self.assertGreaterEqual(made["kernels"], 1)
        self.assertLessEqual(made["winners"], made["kernels"])
        self.assertGreaterEqual(made["kept"], made["structures"])
        with sqlite3.connect(f"file:{known}?immutable=1", uri=True) as rows:
            self.assertEqual(rows.execute("SELECT DISTINCT host FROM records").fetchall(), [("any with avx2",)])
        self.assertEqual(sorted(f.name for f in self.folder.glob("known.db*")), ["known.db"])  # one file
        split.write_text("test\tanother\n")
        none = self.json("collect", "known", "--db", self.db, "--split", split, "-o", self.folder / "none.db")
        self.assertEqual(none["kernels"], 0)

    def test_winners_of_bad_input(self):
        split = self.folder / "split.txt"
        split.write_text("train\ta\n")
        known = ["collect", "known", "--db", self.db, "-o", self.folder / "known.db"]
        self.json("collect", "tile", self.program, "--db", self.db, "--configurations", 1, "--max-options", 2)
        self.assertEqual(self.error(*known, "--split", split, "--isa", "avx9000")["where"], "--isa")
        split.write_text("learn\ta\n")
        self.assertIn("part", self.error(*known, "--split", split)["message"])

    def test_interrupt_keeps_what_was_measured(self):
        made = self.folder / "made"
        manifest = self.json("generate", "--count", 6, "-o", made)["manifest"]
        command = [
            HONE,
            "collect",
            "tile",
            "--manifest",
            manifest,
            "--db",
            self.db,
            "--json",
            "-v",
            "--max-options",
            "0",
        ]
        # The log names each candidate as it is measured.
        code, report = interrupted(command, lambda line: "kernel " in line and "rounds" in line)
        self.assertEqual(code, 0)
        self.assertTrue(report["interrupted"])
        self.assertFalse(report["complete"])
        with sqlite3.connect(self.db) as rows:
            stored = rows.execute("SELECT count(*) FROM records").fetchone()[0]
            watched = rows.execute("SELECT count(*) FROM records WHERE status = 'ok' AND core_ns > 0").fetchone()[0]
            timed = rows.execute("SELECT count(*) FROM records WHERE status = 'ok'").fetchone()[0]
        self.assertEqual(watched, timed)
        self.assertGreaterEqual(stored, 1)
        self.assertEqual(stored, report["measured"])

    def test_bad_input(self):
        self.assertIn("no program", self.error("collect", "tile", "--db", self.db)["message"])
        self.assertIn("no such file", self.error("collect", "tile", "missing.hlo", "--db", self.db)["message"])
        self.assertEqual(self.error("collect", "tile", self.program, "--budget", "soon")["where"], "--budget")
        self.assertEqual(self.error("collect", "tile", self.program, "--max-options", 1)["where"], "--max-options")
        self.assertEqual(
            self.error("collect", "export", "--db", self.db, "--output", self.folder / "x")["message"],
            "there is no database",
        )
        bad = self.folder / "bad.json"
        bad.write_text("[{}]")
        self.assertIn("entry 0", self.error("collect", "tile", "--manifest", bad)["where"])
        self.assertFalse(self.db.exists())
        self.program.write_text("no program")
        self.assertIn(
            "no program can be lowered", self.error("collect", "tile", self.program, "--db", self.db)["message"]
        )
        self.assertIn(
            "no kernels", self.error("collect", "export", "--db", self.db, "--output", self.folder / "x")["message"]
        )
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
