"""A PostgreSQL server for tests: Debian's postgresql package, in a temporary folder, on a Unix socket."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

PROGRAMS = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None)
MISSING = "SKIPPED: Debian's postgresql is not installed"


class Server:
    """PostgreSQL refuses to run as root: then it runs as another user."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-pg-"))
        self.user = None
        if os.geteuid() == 0:
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            self.user = names.get("postgres", names["nobody"])
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.url = f"postgresql://hone@/postgres?host={self.folder}"
        self.process = self.reader = None
        made = self._start(
            "initdb", "-D", self._data(), "-U", "hone", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        said, _ = made.communicate()
        if made.returncode != 0:
            self.close()
            raise unittest.SkipTest(f"SKIPPED: initdb does not work here: {said.strip().splitlines()[-1]}")

    def start(self):
        self.process = self._start(
            "postgres", "-D", self._data(), "-k", self.folder, "-c", "listen_addresses=", "-c", "shared_buffers=16MB",
            "-c", "fsync=off")  # fmt: skip
        for line in self.process.stdout:
            if "ready to accept connections" in line:
                self.reader = threading.Thread(
                    target=self.process.stdout.read, daemon=True
                )  # a full pipe would stop it
                self.reader.start()
                return
        raise AssertionError("the server did not start")

    def fresh(self, name):
        """The URL of an empty database of that name; one that there was is dropped."""
        for words in (f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name} STRATEGY = file_copy"):
            self.sql(self.url, words)
        return f"postgresql://hone@/{name}?host={self.folder}"

    @staticmethod
    def sql(url, *commands):
        """What psql prints for SQL, or its own commands, one after the other in one session."""
        words = [word for command in commands for word in ("-c", command)]
        done = subprocess.run(
            [str(PROGRAMS / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", *words, url],
            capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})  # fmt: skip
        return done.stdout

    def stop(self, how=signal.SIGQUIT):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            if self.reader is not None:
                self.reader.join()
            self.process.stdout.close()
            self.process = self.reader = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _data(self):
        return self.folder / "data"

    def _start(self, program, *arguments):
        libc = ctypes.CDLL(None)
        as_user = {}
        if self.user:
            as_user = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return subprocess.Popen(
            [str(PROGRAMS / program), *map(str, arguments)],
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: libc.prctl(1, signal.SIGQUIT),  # it does not outlive the test
            **as_user,
        )
