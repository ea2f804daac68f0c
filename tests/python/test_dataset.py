"""Records that scripts/dataset.py keeps, leaves out and packs."""

import sqlite3
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]
from dataset import bare, measured_only  # noqa: E402

RECORDS = [  # host, kernel, decisions, rounds, scope, status, created
    ("a", "k1", "default", 6, "kernel", "ok", "2026-11-27"),
    ("a", "k2", "default", 16, "kernel", "ok", "2026-11-27"),
    ("a", "k1", "tile=8", 3, "kernel", "ok", "2026-11-27"),
    ("a", "k1", "default", 6, "cold kernel", "ok", "2026-11-27"),
    ("b", "k1", "default", 6, "kernel", "ok", "2026-11-28"),
]


class DatasetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def database(self, name, records):
        with sqlite3.connect(self.folder / name) as made:
            made.execute("create table records (host, kernel, decisions, rounds, scope, status, created)")
            made.execute("create table machines (host, record)")
            made.executemany("insert into records values (?, ?, ?, ?, ?, ?, ?)", records)
            made.executemany("insert into machines values (?, '{}')", [(h,) for h in sorted({r[0] for r in records})])
        return self.folder / name

    def kept(self, path):
        with sqlite3.connect(path) as found:
            machines = [host for (host,) in found.execute("select host from machines order by host")]
            return found.execute("select * from records order by rowid").fetchall(), machines

    def test_records_that_others_are_in_place_of_are_left_out(self):
        watched = self.database("watched.db", [("a", "k1", "default", 9, "kernel", "ok", "2026-11-29")])
        whole, target = self.database("whole.db", RECORDS), self.folder / "target.db"
        bare(whole, target)
        self.assertEqual(self.kept(target), ([], ["a", "b"]))
        bare(whole, target, like=watched)  # the same kernels' defaults
        self.assertEqual(self.kept(target), (RECORDS[:1], ["a", "b"]))
        bare(whole, target, without=watched)  # the host's defaults and its machine, for both to be merged
        self.assertEqual(self.kept(target), (RECORDS[2:], ["b"]))
        self.assertEqual(self.kept(whole), (RECORDS, ["a", "b"]))

    def test_what_was_measured_since_a_day_has_its_machine(self):
        target = self.folder / "since.db"
        measured_only(self.database("whole.db", RECORDS), target, "kernel", since="2026-11-28")
        self.assertEqual(self.kept(target), (RECORDS[4:], ["b"]))


if __name__ == "__main__":
    unittest.main()
