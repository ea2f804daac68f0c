"""Base class for tests of the command line: runs hone in a temporary folder on small programs."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from programs import DOT, ELEMENTWISE, LOOP, SOFTMAX

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

PROGRAMS = {"elementwise": ELEMENTWISE, "softmax": SOFTMAX, "dot": DOT, "loop": LOOP}


# That a worker passed its self-test, which takes a second, is kept from the first test for those after it.
PASSED = tempfile.TemporaryDirectory(prefix="hone-cli-test-passed-")
KEPT = pathlib.Path(PASSED.name) / "self-tests"


def passed_self_tests(folder):
    """Where workers under own_environment(folder) keep that."""
    return folder / "cache" / "hone" / "objects" / "self-tests"


def own_environment(folder):
    """The environment of a hone whose database and compiled code lie in `folder`, not in the user's folders."""
    return dict(os.environ, XDG_DATA_HOME=str(folder / "data"), XDG_CACHE_HOME=str(folder / "cache"))


def interrupted(command, begun, timeout=300, **options):
    """Ctrl-C at the first line of standard error for which begun(line): the exit code, and the object it printed."""
    command = list(map(str, command))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:  # fmt: skip
        for line in process.stderr:
            if begun(line):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=timeout)
    return process.returncode, json.loads(out)


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not HONE.exists():
            raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hone-cli-test-")
        self.dir = pathlib.Path(self.folder.name)
        self.db = self.dir / "test.db"
        for name, text in PROGRAMS.items():
            (self.dir / f"{name}.hlo").write_text(text)

    def tearDown(self):
        self.folder.cleanup()

    def arguments(self, *arguments):
        """The command line; of programs one thread where the test does not say, so that searches are the same."""
        words = [str(word) for word in arguments]
        programs = words[:1] in (["tune"], ["run"], ["inspect"])
        return [str(HONE), *words, *(["--threads", "1"] if programs and "--threads" not in words else [])]

    def hone(self, *arguments, code=0, stdin=None, timeout=300):
        """Runs hone in the test's folder and returns the finished process. code=None: any exit code is fine."""
        done = subprocess.run(
            self.arguments(*arguments),
            cwd=self.dir,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env=own_environment(self.dir),
            check=False,
        )
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout.decode()}\n{done.stderr.decode()}")
        return done

    def json(self, *arguments, **options):
        return json.loads(self.hone(*arguments, "--json", **options).stdout)

    def tune(self, name, *arguments, **options):
        return self.json("tune", self.dir / f"{name}.hlo", "--db", self.db, "--quiet", *arguments, **options)


class WithWorker(CliTest):
    begins_with_cache = True  # that has the passed self-test alone

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (BUILD / "hone-xla").exists():
            print(f"SKIPPED: {BUILD}/hone-xla is missing: no test ran a program", file=sys.stderr)
            raise unittest.SkipTest("build/hone-xla is missing")

    def setUp(self):
        super().setUp()
        if self.begins_with_cache and KEPT.exists():
            shutil.copytree(KEPT, passed_self_tests(self.dir))

    def tearDown(self):
        if not KEPT.exists() and passed_self_tests(self.dir).exists():
            shutil.copytree(passed_self_tests(self.dir), KEPT)
        super().tearDown()
