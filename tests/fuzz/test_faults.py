"""Kills and failing system calls, a few of each, and the judgement itself on programs that misbehave in known ways."""

import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

import clock_jumps
import failing_calls
import faults
import kills
import postgres_server
from failing_calls import Fault

BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", faults.ROOT / "build"))
ROWS = "CREATE TABLE records (id INTEGER PRIMARY KEY, ratio REAL); INSERT INTO records (ratio) VALUES (1), (2)"


class JudgementTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hone = self.folder / "hone"
        self.script("case $1 in db) echo '{\"ok\": true}';; esac")
        self.inputs = faults.Inputs(self.hone, self.folder / "inputs")

    def script(self, text):
        self.hone.write_text(f"#!/bin/sh\n{text}\n")
        self.hone.chmod(0o755)

    def trial(self, name="tune"):
        return faults.Trial(self.inputs, name, self.folder / "trial")

    def with_rows(self):
        trial = self.trial()
        with sqlite3.connect(trial.folder / "rows.db") as writer:
            writer.executescript(ROWS)
        writer.close()
        with subprocess.Popen(["true"]) as ended:
            trial.look(ended)
        self.assertEqual(trial.committed.total(), 2)
        self.assertEqual(trial.problems(), [])
        return trial

    def test_rows_that_are_lost_or_changed_are_seen(self):
        for change in ("DELETE FROM records WHERE id = 1", "UPDATE records SET ratio = 3 WHERE id = 2"):
            with self.subTest(change):
                trial = self.with_rows()
                with sqlite3.connect(trial.folder / "rows.db") as writer:
                    writer.execute(change)
                writer.close()
                self.assertEqual(trial.problems(), ["1 committed rows of records are lost or changed"])
                (trial.folder / "rows.db").unlink()
        self.assertEqual(trial.problems(), ["the database is gone, with 2 rows"])

    def test_an_unsound_database_is_seen(self):
        trial = self.with_rows()
        self.script("echo '{\"ok\": false}'")
        self.assertEqual(len(trial.problems()), 1)

    def test_a_package_that_is_not_whole_is_seen(self):
        trial = self.trial()
        (trial.folder / "p.hone").mkdir()
        self.assertEqual(trial.problems(), [])
        self.script('echo "no decisions" >&2; exit 2')
        self.assertEqual(trial.problems(), ["the package is not whole: no decisions"])

    def test_a_process_that_lives_on_is_seen(self):
        self.script("sleep 60 & sleep 60")
        trial = self.trial()
        process = trial.start()
        while len(trial.processes) < 2:
            trial.look(process)
        process.kill()
        process.wait()
        found = trial.problems()
        self.assertTrue(found and all("lives on" in line for line in found), found)
        for pid in trial.processes:
            os.kill(pid, signal.SIGKILL)

    def test_files_that_are_left_are_seen(self):
        trial = self.trial()
        (trial.folder / "tmp" / "hone.abc").mkdir()
        (trial.folder / "p.hone.part").write_text("")
        self.assertEqual(sorted(trial.left_files()), ["p.hone.part", "tmp/hone.abc"])


class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (BUILD / "hone-xla").exists():
            raise unittest.SkipTest(f"SKIPPED: {BUILD}/hone-xla is missing, build it first")
        cls.folder = tempfile.TemporaryDirectory(prefix="hone-faults-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.inputs = faults.Inputs(BUILD / "hone", pathlib.Path(cls.folder.name))

    def test_kills_lose_nothing(self):
        for name, victim, moment_s in (("tune", "main", 1.2), ("tune", "worker", 1.5), ("merge", "main", 0.1)):
            with self.subTest(command=name, victim=victim):
                row = kills.one_round(self.inputs, name, victim, moment_s, again=victim == "main")
                self.assertEqual(row["problems"], [])

    @unittest.skipUnless(postgres_server.PROGRAMS, postgres_server.MISSING)
    def test_kills_lose_nothing_on_a_server(self):
        server = postgres_server.Server()
        self.addCleanup(server.close)
        server.start()
        inputs = faults.Inputs(BUILD / "hone", pathlib.Path(self.folder.name, "on-server"), server)
        trial = faults.Trial(inputs, "merge", pathlib.Path(self.folder.name, "merge-on-server"))
        process = trial.start()
        self.assertEqual(process.wait(faults.PATIENCE_S), 0, trial.errors())
        trial.look(process)
        self.assertGreater(trial.committed.total(), 100)
        self.assertEqual(trial.problems(), [])
        server.sql(trial.database, "DELETE FROM hone.records WHERE ctid = (SELECT min(ctid) FROM hone.records)")
        self.assertEqual(trial.problems(), ["1 committed rows of records are lost or changed"])
        row = kills.one_round(inputs, "collect", "main", 2.5, again=True)
        self.assertEqual(row["problems"], [])

    def test_clocks_that_jump_lose_nothing(self):
        if shutil.which("cc") is None:
            self.skipTest("SKIPPED: there is no C compiler")
        library = clock_jumps.built(pathlib.Path(self.folder.name))
        for name, at in (("collect", 0), ("tune", 50)):
            with self.subTest(command=name):
                jumps = {"every": 1, "seed": 3, "forward": 86400 if at else 0, "at": at}
                row = clock_jumps.one_trial(self.inputs, library, name, jumps, again=True)
                self.assertEqual(row["problems"], [], row)
                self.assertGreater(row["steady_readings"], at)
                if at == 0:  # a day ahead, time is over before a row has a date
                    self.assertGreater(row["wall_jumps"], 0)

    def test_a_failing_call_is_said_and_loses_nothing(self):
        if shutil.which("cc") is None:
            self.skipTest("SKIPPED: there is no C compiler")
        library = failing_calls.built(pathlib.Path(self.folder.name))
        calls = failing_calls.one_trial(self.inputs, library, "merge", Fault())["calls"]
        self.assertGreater(calls, 100)
        failed = 0
        places = ((2, "EACCES", False), (calls // 2, "EIO", False), (calls // 3, "ENOSPC", True))
        for at, error, sticky in places:
            fault = Fault("hone", at, error, sticky)
            row = failing_calls.one_trial(self.inputs, library, "merge", fault, again=sticky)
            self.assertEqual(row["problems"], [], row)
            self.assertNotEqual(row["kind"], "none", row)
            failed += row["code"] != 0
        self.assertGreater(failed, 0)
        row = failing_calls.one_trial(self.inputs, library, "tune", Fault(failing_calls.WORKER, 3, "EIO", True))
        self.assertEqual((row["code"], row["problems"]), (0, []), row)


if __name__ == "__main__":
    unittest.main()
