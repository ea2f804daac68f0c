"""Ctrl-C while the rows of a fleet are merged, with a program in the place of hone."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from hone.fleet import tune  # noqa: E402


class FleetInterruptsTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Shells start what they run in the background with interrupts ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def fleet(self, hone):
        files = {"program": "many.hlo", "db": "fleet.db", "output": "many.hone"}
        request = {name: str(self.dir / file) for name, file in files.items()}
        return tune.Fleet([], request | {"hone": str(hone), "budget_s": 60, "options": []})

    def test_an_interrupt_waits_for_rows_that_are_being_merged(self):
        begun, go, done = (self.dir / name for name in ("begun", "go", "done"))
        os.mkfifo(begun)
        os.mkfifo(go)
        merge = self.dir / "merge"
        merge.write_text(f"#!/bin/sh\necho > '{begun}'\nread line < '{go}'\ntouch '{done}'\necho '{{}}'\n")
        merge.chmod(0o755)

        def interrupt():
            begun.read_text()
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(1)  # longer than subprocess.run() waits before it kills
            go.write_text("go\n")

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        fleet = self.fleet(merge)
        with self.assertRaises(KeyboardInterrupt):
            fleet.merge(self.dir / "rows.db", into="user.db")
        self.assertTrue(done.exists())
        thread.join()

    def test_one_as_the_merge_begins_waits_as_well(self):
        done, merge, begin = self.dir / "done", self.dir / "merge", subprocess.Popen.__init__
        merge.write_text(f"#!/bin/sh\nsleep 0.5\ntouch '{done}'\necho '{{}}'\n")
        merge.chmod(0o755)

        def interrupted(*arguments, **options):
            begin(*arguments, **options)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # for the signal to be handled before this ends

        fleet = self.fleet(merge)
        with (
            unittest.mock.patch.object(subprocess.Popen, "__init__", interrupted),
            self.assertRaises(KeyboardInterrupt),
        ):
            fleet.merge(self.dir / "rows.db", into="user.db")
        self.assertTrue(done.exists())


if __name__ == "__main__":
    unittest.main()
