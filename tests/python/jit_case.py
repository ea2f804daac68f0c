"""What tests of hone.jit share: a fake build, a cache of their own, and duels with a given outcome."""

import contextlib
import os
import tempfile
import unittest.mock
import warnings
from pathlib import Path

import numpy as np
from fake_build import FakeBuild

# isort: split
import hone


def scaled(x, w):
    """What the fake runtime computes."""
    return x * 2.0 + w


class JitCase(FakeBuild):
    """`speedup`: of the tuned program in every duel."""

    speedup = 2.0

    def setUp(self):
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.cache, self.log = Path(folder) / "cache", Path(folder) / "tunes"
        self.enterContext(
            unittest.mock.patch.dict(os.environ, FAKE_TUNES=str(self.log), XDG_DATA_HOME=f"{folder}/data")
        )
        self.race = self.enterContext(unittest.mock.patch("hone.jitted.duel.race"))
        self.race.side_effect = lambda *_: {"stock_ns": 1e3 * self.speedup, "tuned_ns": 1e3} | {"speedup": self.speedup}

    def jit(self, f=scaled, **options):
        return hone.jit(f, **{"build": self.build, "cache": self.cache, **options})

    def tunes(self):
        """How often the fake program has tuned in this test."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def states(self, f):
        return [entry["state"] for entry in f.status()]

    def assert_scaled(self, result, x=None, w=None):
        np.testing.assert_array_equal(result, 2 * (self.x if x is None else x) + (self.w if w is None else w))

    @contextlib.contextmanager
    def assert_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
