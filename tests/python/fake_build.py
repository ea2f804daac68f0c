"""What tests of python/hone share: a build folder with a fake runtime, and arrays at good and bad addresses."""

import ctypes
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))

import hone  # noqa: E402
from hone import arrays, files  # noqa: E402

HAS_JAX = importlib.util.find_spec("jax") is not None


def missing(*names):
    """Why the tests of the built product cannot run, or an empty text."""
    absent = [name for name in names if not (BUILD / name).is_file()] + ([] if HAS_JAX else ["jax"])
    return f"NOT TESTED, missing: {', '.join(absent)}" if absent else ""


MISSING_PRODUCT = missing(files.PROGRAM, "hone-xla", files.RUNTIME)


def set_up_module(module):
    """Says what a module leaves out; what its tests keep goes where nothing else looks."""
    for why in {missing(), MISSING_PRODUCT} - {""}:
        print(f"{module}: {why}", file=sys.stderr)
    cache = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    unittest.enterModuleContext(unittest.mock.patch.dict("os.environ", XDG_CACHE_HOME=cache))


def misaligned(array):
    """The same values, 4 bytes past an aligned address."""
    raw = arrays.empty((array.nbytes + 64,), np.uint8)[4 : 4 + array.nbytes]
    out = raw.view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def aligned(values):
    out = arrays.empty(np.shape(values), np.float32)
    out[...] = values
    return out


class FakeBuild(unittest.TestCase):
    """A build folder with the fakes in it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.build = Path(cls.folder.name)
        subprocess.run(
            [
                "gcc",
                "-std=c11",
                "-O1",
                "-fPIC",
                "-shared",
                f"-I{ROOT / 'src'}",
                str(HERE / "fake_runtime.c"),
                "-o",
                str(cls.build / files.RUNTIME),
            ],
            check=True,
        )
        program = cls.build / files.PROGRAM
        program.write_text(f"#!{sys.executable}\n{(HERE / 'fake_hone.py').read_text()}")
        program.chmod(0o755)
        (cls.build / files.HANDLER).symlink_to((BUILD / files.HANDLER).resolve())
        cls.fake = ctypes.CDLL(str(cls.build / files.RUNTIME))
        cls.fake.fake_last_input.restype = ctypes.c_void_p

    def setUp(self):
        self.x = aligned(np.arange(8))
        self.w = aligned(np.ones(8))

    def package(self, weight=0):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "decisions.json").write_text('{"decisions": [], "target": {"threads": 1}}')
        (Path(folder.name) / "fake.txt").write_text(f"8 2.0 {weight}")
        return folder.name

    def load(self, weight=0):
        return hone.load(self.package(weight), build=self.build)
