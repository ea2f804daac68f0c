"""The package as a whole: its version, its types, the options it knows."""

import ast
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fake_build import BUILD, ROOT, FakeBuild

# isort: split
import hone
from hone import files, machine, options, tuner

PACKAGE = ROOT / "python" / "hone"
NO_PROGRAM = "" if (BUILD / files.PROGRAM).is_file() else f"NOT TESTED, missing: {files.PROGRAM}"


def is_public(name: str, prefix: str) -> bool:
    return not name.startswith("_") or (name in ("__init__", "__call__") and prefix.count(".") > 2)


def public_functions(body: list, prefix: str):
    """(name, definition) of functions, of methods of public classes, and of __init__ and __call__ of these."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and is_public(node.name, prefix):
            yield prefix + node.name, node


class ThePackage(unittest.TestCase):
    def test_every_public_function_is_annotated(self):
        checked, faults = 0, []
        for path in sorted(PACKAGE.rglob("*.py")):
            for name, node in public_functions(ast.parse(path.read_text()).body, f"{path.name}:."):
                a = node.args
                arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
                bare = [arg.arg for arg in arguments if arg.annotation is None and arg.arg not in ("self", "cls")]
                checked += 1
                if bare or node.returns is None:
                    faults.append(f"{name} {bare}")
        self.assertEqual(faults, [])
        self.assertGreater(checked, 100)

    def test_is_marked_as_typed(self):
        self.assertTrue((PACKAGE / "py.typed").is_file())

    def test_has_one_version(self):
        built = re.search(r"^project\(hone VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        told = re.search(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
        self.assertEqual((built, told), (hone.__version__, hone.__version__))

    @unittest.skipIf(NO_PROGRAM, NO_PROGRAM)
    def test_has_the_version_of_the_program(self):
        said = subprocess.run([BUILD / files.PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.split()[1], hone.__version__)

    def test_importing_it_imports_no_framework(self):
        code = "import sys, hone; print([m for m in ('jax', 'keras', 'torch', 'tensorflow') if m in sys.modules])"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
        )
        self.assertEqual(done.stdout.strip(), "[]")


class TheOptions(FakeBuild):
    @unittest.skipIf(NO_PROGRAM, NO_PROGRAM)
    def test_are_those_of_the_command(self):
        def given(command):
            text = subprocess.run([BUILD / files.PROGRAM, command, "--help-all"], capture_output=True, text=True).stdout
            return {name.replace("-", "_") for name in re.findall(r"^ +(?:-\w,)?-?-?,?--([\w-]+)", text, re.MULTILINE)}

        self.assertEqual(given("tune"), options.TUNE | options.OWN | options.UNSUITED)
        self.assertFalse(options.TUNE & (options.OWN | options.UNSUITED))
        self.assertEqual(given("optimize"), options.OPTIMIZE | options.OPTIMIZE_OWN | options.OPTIMIZE_UNSUITED)
        self.assertFalse(options.OPTIMIZE & (options.OPTIMIZE_OWN | options.OPTIMIZE_UNSUITED))

    def test_misspelt_ones_are_named_with_the_nearest(self):
        for wrong, near in {"stratgy": "strategy", "budgt": "budget", "weight": "weights"}.items():
            with self.assertRaisesRegex(TypeError, f"hone.tune.*'{wrong}': did you mean '{near}'"):
                hone.tune("x.hlo", build=self.build, **{wrong: 3.0})
        with self.assertRaisesRegex(TypeError, "'zzyzx': 'hone tune --help' lists the options"):
            hone.tune("x.hlo", build=self.build, zzyzx=3.0)
        with self.assertRaisesRegex(TypeError, "'zzyzx': 'hone optimize --help' lists the options"):
            hone.optimize("x.hlo", build=self.build, zzyzx=3.0)
        with self.assertRaisesRegex(TypeError, r"hone.optimize\(\).*'gard': did you mean 'guard'"):
            hone.optimize("x.hlo", build=self.build, gard=3.0)
        with self.assertRaisesRegex(TypeError, r"hone.jit\(\).*'static_argnms': did you mean 'static_argnums'"):
            hone.jit(lambda x: x, static_argnms=0)

    def test_weights_are_positions_of_arguments(self):
        with self.assertRaisesRegex(TypeError, "weights 'w': hone.tune takes positions"):
            hone.tune(lambda w: w, self.w, weights="w", build=self.build)
        with self.assertRaisesRegex(TypeError, r"weights \[1\]: there are 1 arguments"):
            hone.tune(lambda w: w, self.w, weights=1, build=self.build)

    def test_threads_are_all_cores_by_default(self):
        for given in ({}, {"threads": None}):
            words = hone.tune("x.hlo", build=self.build, **given).report["arguments"]
            self.assertEqual(words[words.index("--threads") + 1], str(machine.usable_cores()))

    def test_an_engine_on_other_machines_gets_one_thread(self):
        for engine, threads in (("ray", 1), ("local", machine.usable_cores())):
            words = hone.tune("x.hlo", build=self.build, engine=engine).report["arguments"]
            self.assertEqual(words[words.index("--threads") + 1], str(threads))
        words = hone.tune("x.hlo", build=self.build, engine="ray", threads=3).report["arguments"]
        self.assertEqual(words[words.index("--threads") + 1], "3")

    def test_budgets_are_read_as_the_command_line_reads_them(self):
        for given, seconds in ((2, 2), ("90", 90), ("1.5m", 90), ("500ms", 0.5), ("2min", 120), ("1h", 3600)):
            self.assertAlmostEqual(tuner.seconds(given), seconds)

    def test_usable_cores_are_at_most_those_of_the_control_group(self):
        cores = len(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(machine.usable_cores(root), cores)
            group = Path(root) / "sys/fs/cgroup"
            (group / "cpu").mkdir(parents=True)
            for quota, usable in (("-1", cores), ("50000", 1), (str(100000 * cores + 1), cores)):
                (group / "cpu/cpu.cfs_quota_us").write_text(quota)
                (group / "cpu/cpu.cfs_period_us").write_text("100000")
                self.assertEqual(machine.usable_cores(root), usable)
            for limit, usable in (("max 100000", cores), ("20000 100000", 1), ("nonsense", cores)):
                (group / "cpu.max").write_text(limit)
                self.assertEqual(machine.usable_cores(root), usable)


if __name__ == "__main__":
    unittest.main()
