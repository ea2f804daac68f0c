"""hone export --to jax and hone run --against jaxlib from outside. Needs a build with its worker, and jax."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import unittest

from cli_case import BUILD, HONE, ROOT, WithWorker, own_environment
from programs import ENDLESS
from test_reference import documented_keys

try:
    import flatbuffers  # noqa: F401  what jax.export writes its files with
    import jax  # noqa: F401

    MISSING = ""
except ImportError as error:
    MISSING = f"SKIPPED: {error}"

DEPTHWISE = """HloModule depthwise
ENTRY main {
  x = f32[1,24,24,64] parameter(0)
  k = f32[3,3,1,64] parameter(1)
  ROOT c = f32[1,24,24,64] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
    feature_group_count=64
}
"""

DENSE = """HloModule dense
ENTRY main {
  x = f32[1,12,12,16] parameter(0)
  k = f32[3,3,16,16] parameter(1)
  ROOT c = f32[1,12,12,16] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
"""

BYTES = """HloModule bytes
ENTRY main {
  x = s8[64,128] parameter(0)
  k = s8[128,64] parameter(1)
  ROOT d = s32[64,64] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

# What a user does in the folder, and the convolution as JAX has it.
USER = """
import sys
import jax
import numpy as np
import load
random = np.random.default_rng(0)
x, k = (random.normal(size=shape).astype("float32") for shape in [(1, 24, 24, 64), (3, 3, 1, 64)])
y = load.load()(x, k)
expected = jax.lax.conv_general_dilated(
    x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64)
print(float(abs(y - expected).max()), float(abs(expected).max()), "hone" in sys.modules)
"""


@unittest.skipIf(MISSING, MISSING)
class Stock(WithWorker):
    def package(self, decisions, program=DEPTHWISE):
        """A package of the program with these decisions, as if a tune had found them."""
        (self.dir / "depthwise.hlo").write_text(program)
        self.tune("depthwise", "--budget", "1s", "--decide", "option", "--force")
        listed = self.dir / "depthwise.hone" / "decisions.json"
        content = json.loads(listed.read_text())
        content["decisions"] = [dict(zip(("kind", "key", "value"), decision, strict=True)) for decision in decisions]
        listed.write_text(json.dumps(content))
        return self.dir / "depthwise.hone"

    def shifted(self):
        (self.dir / "depthwise.hlo").write_text(DEPTHWISE)
        [key] = [row["key"] for row in self.json("inspect", "depthwise.hlo")["operation_list"]]
        return "rewrite", key, "shifted"

    def against(self, program):
        return "run", self.dir / program, "--compare", "--against", "jaxlib", "--budget", "1s", "--threads", "1", "-q"

    def python_that(self, first):
        """The text of a program that is Python, which first runs these lines."""
        wrapper = self.dir / "wrapper.py"
        wrapper.write_text(
            f"import runpy, sys\n{first}\nsys.argv = sys.argv[2:]  # of: wrapper.py -m hone.stock --fd N\n"
            'runpy.run_module("hone.stock", run_name="__main__", alter_sys=True)\n'
        )
        return f'#!/bin/sh\nexec "{sys.executable}" "{wrapper}" "$@"\n'

    def wrong_python(self):
        """Of a jaxlib whose outputs are wrong."""
        return self.python_that(
            "import numpy\nright = numpy.savez\n"
            "numpy.savez = lambda file, *arrays: right(file, *(array + 1 for array in arrays))"
        )

    def beside_python(self, python):
        """A copy of hone beside which this is Python."""
        tree = self.dir / "tree"
        (tree / "build").mkdir(parents=True)
        (tree / ".venv" / "bin").mkdir(parents=True)
        shutil.copy(HONE, tree / "build" / "hone")
        (tree / "build" / "hone-xla").symlink_to(BUILD / "hone-xla")
        (tree / "python").symlink_to(ROOT / "python")
        (tree / ".venv" / "bin" / "python").write_text(python)
        (tree / ".venv" / "bin" / "python").chmod(0o755)
        return tree / "build" / "hone"

    def with_python(self, python, *arguments):
        """Runs such a copy."""
        return subprocess.run(
            [self.beside_python(python), *arguments],
            cwd=self.dir,
            env=own_environment(self.dir),
            capture_output=True,
            text=True,
            check=False,
        )

    def use(self):
        """The largest error of the export in a process without Hone, by the largest value."""
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "XLA_FLAGS")}
        # Flatbuffers may lie elsewhere than jax.
        environment["PYTHONPATH"] = str(pathlib.Path(flatbuffers.__file__).parent.parent)
        done = subprocess.run(
            [sys.executable, "-c", USER],
            cwd=self.dir / "out.jax",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        error, largest, has_hone = done.stdout.split()
        self.assertEqual(has_hone, "False")
        return float(error) / float(largest)


class Export(Stock):
    def test_end_to_end(self):
        package = self.package(
            [
                self.shifted(),
                ("option", "vector_width", "128"),
                ("option", "huge_pages", "on"),
                ("codegen", "0" * 32, "loop"),
            ]
        )
        found = self.json("export", package, "--to", "jax", "-o", "out.jax", "--budget", "1s")
        self.assertLessEqual(set(found), documented_keys()["hone export"])
        by = {decision["key"]: decision["carried_by"] for decision in found["decisions"]}
        # With the vector width or, where the program is faster without it, without.
        width = by.pop("vector_width")
        self.assertEqual(by, {self.shifted()[1]: "program", "huge_pages": None, "0" * 32: None})
        self.assertEqual(all(bool(d["why"]) != bool(d["carried_by"]) for d in found["decisions"]), True)
        self.assertEqual(found["compiler_options"], {"xla_cpu_prefer_vector_width": "128"} if width else {})
        self.assertEqual(found["carried"], 2 if width else 1)
        self.assertEqual(found["inputs"], ["float32[1,24,24,64]", "float32[3,3,1,64]"])
        self.assertEqual(found["xla_flags"], "")
        low, high = found["duel"]["speedup_interval"]
        self.assertTrue(0 < low <= found["duel"]["speedup"] <= high)
        self.assertLessEqual(found["duel"]["max_error"], 1)
        self.assertEqual(found, json.loads((self.dir / "out.jax" / "export.json").read_text()))
        text = (self.dir / "out.jax" / "program.mlir").read_text()
        self.assertNotIn("stablehlo.convolution", text)
        self.assertIn("stablehlo.multiply", text)
        self.assertLess(self.use(), 1e-5)
        # A second one needs --force, which replaces only exports.
        self.hone("export", package, "-o", "out.jax", "--no-duel", code=2)
        again = self.json("export", package, "-o", "out.jax", "--no-duel", "--force")
        self.assertIsNone(again["duel"])
        self.assertEqual(again["carried"], 2)
        self.assertEqual(again["compiler_options"], {"xla_cpu_prefer_vector_width": "128"})
        self.assertLess(self.use(), 1e-5)
        self.hone("export", package, "-o", package, "--no-duel", "--force", code=2)
        self.assertTrue((package / "decisions.json").exists())

    def test_flags_of_the_process(self):
        """Options that jax.jit does not take: load.py sets them, and the duel has a second process with them."""
        package = self.package([("option", "loop_unrolling", "off")])
        found = self.json("export", package, "-o", "out.jax", "--budget", "1s")
        self.assertEqual([d["carried_by"] for d in found["decisions"]], ["flags"])
        self.assertEqual(found["compiler_options"], {})
        self.assertEqual(found["xla_flags"], "--xla_backend_extra_options=xla_cpu_disable_loop_unrolling=true")
        self.assertGreaterEqual(found["duel"]["turns"], 8)
        self.assertLess(self.use(), 1e-5)

    def test_another_form(self):
        """An operation that a kernel of Hone computes is written in a form of plain operations."""
        kind, key, _ = self.shifted()
        package = self.package([(kind, key, "onednn")])
        [decision] = self.json("export", package, "-o", "out.jax", "--no-duel")["decisions"]
        self.assertEqual((decision["carried_by"], decision["instead"]), ("another form", "shifted"))
        self.assertNotIn("custom_call", (self.dir / "out.jax" / "program.mlir").read_text())
        self.assertLess(self.use(), 1e-5)

    def test_the_same_method_without_the_kernel(self):
        (self.dir / "depthwise.hlo").write_text(DENSE)
        [key] = [row["key"] for row in self.json("inspect", "depthwise.hlo")["operation_list"]]
        package = self.package([("rewrite", key, "kernel-winograd=2")], DENSE)
        found = self.json("export", package, "-o", "out.jax", "--budget", "1s")
        self.assertEqual([d["instead"] for d in found["decisions"]], ["winograd=2"])
        self.assertLessEqual(found["duel"]["max_error"], 1)
        self.assertNotIn("custom_call", (self.dir / "out.jax" / "program.mlir").read_text())

    def test_calls_of_onednn(self):
        """A call that XLA's own passes write for oneDNN is no plain operation either."""
        (self.dir / "depthwise.hlo").write_text(BYTES)
        [key] = [row["key"] for row in self.json("inspect", "depthwise.hlo")["operation_list"]]
        package = self.package([("rewrite", key, "onednn")], BYTES)
        error = self.hone("export", package, "-o", "out.jax", "--no-duel", code=1).stderr.decode()
        self.assertIn("none of the package's 1 decisions can be carried", error)

    def test_wrong_outputs(self):
        """Where jaxlib's outputs differ, nothing is written."""
        package = self.package([self.shifted()])
        done = self.with_python(self.wrong_python(), "export", package, "-o", "out.jax", "--budget", "1s", "-q")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("outputs are not those of default XLA", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(list(self.dir.glob("*out.jax*")), [])

    def test_errors(self):
        package = self.package([("codegen", "0" * 32, "loop")])
        nothing = self.hone("export", package, "-o", "out.jax", "--no-duel", code=1).stderr.decode()
        self.assertIn("none of the package's 1 decisions can be carried", nothing)
        self.assertEqual(nothing.count("\n"), 1)
        self.hone("export", "depthwise.hlo", "-o", "out.jax", code=2)
        self.hone("export", package, "--to", "torch", code=2)
        self.assertEqual(list(self.dir.glob("*out.jax*")), [])


class Against(Stock):
    def test_three_by_turns(self):
        package = self.package([self.shifted()])
        found = self.json("run", package, "--compare", "--against", "jaxlib", "--budget", "1s")
        against = found["against"]
        self.assertLessEqual(set(found), documented_keys()["hone run"])
        self.assertEqual((against["runtime"], against["clock"], against["verified"]), ("jaxlib", "cpu", True))
        for name in ("speedup", "default_speedup"):
            low, high = against[f"{name}_interval"]
            self.assertTrue(0 < low <= against[name] <= high)
        self.assertGreater(min(against["stock_ns"], against["default_ns"], against["tuned_ns"]), 0)
        self.assertGreaterEqual(against["turns"], 8)
        text = self.hone("run", package, "--compare", "--against", "jaxlib", "--budget", "1s", "-q").stdout.decode()
        self.assertIn(f"stock jaxlib {against['version']}", text)
        self.hone("run", package, "--against", "jaxlib", code=2)
        self.hone("run", package, "--compare", "--against", "torch", code=2)

    def test_no_orphan(self):
        """Whether hone is interrupted or killed, the process of jaxlib goes with it."""
        (self.dir / "endless.hlo").write_text(ENDLESS.replace("2000000000", "20000"))
        os.mkfifo(self.dir / "begun")
        python = f"""#!/bin/sh
            case "$*" in *hone.stock*) echo $$ > '{self.dir}/begun' ;; esac
            exec '{sys.executable}' "$@"
            """
        program = self.beside_python(python)
        for how in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(how):
                hone = subprocess.Popen(
                    [program, "run", "endless.hlo", "--compare", "--against", "jaxlib", "--budget", "500s"],
                    cwd=self.dir,
                    env=own_environment(self.dir),
                    stderr=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
                stock = os.pidfd_open(self.begun())
                hone.send_signal(how)
                hone.wait(60)
                self.wait_for(stock)  # it can be read when the process has ended
                os.close(stock)

    def begun(self):
        """The process of jaxlib, which says so when it begins."""
        pipe = os.open(self.dir / "begun", os.O_RDWR)  # which waits for nobody
        self.wait_for(pipe)
        said = os.read(pipe, 100)
        os.close(pipe)
        return int(said)

    def wait_for(self, descriptor, seconds=120):
        self.assertTrue(select.select([descriptor], [], [], seconds)[0], "nothing within two minutes")

    def test_no_jax(self):
        """A Python without the package, beside a copy of the program."""
        python = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'jax'\" >&2\nexit 1\n"
        done = self.with_python(python, *self.against("dot.hlo"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("No module named 'jax'", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_wrong_outputs(self):
        done = self.with_python(self.wrong_python(), *self.against("dot.hlo"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("jaxlib's outputs NOT verified", done.stdout)

    def test_no_inputs(self):
        """A program without parameters: NumPy reads no file without arrays."""
        (self.dir / "none.hlo").write_text(
            "HloModule none\nENTRY main { ROOT i = f32[8,8] iota(), iota_dimension=0 }\n"
        )
        found = self.json(*self.against("none.hlo"))
        self.assertEqual(found["against"]["verified"], True)

    def test_programs_that_jaxlib_cannot_run(self):
        """The error names the program, not the installation."""
        (self.dir / "int4.hlo").write_text(
            "HloModule int4\nENTRY main { p = s4[8] parameter(0) ROOT c = s8[8] convert(p) }\n"
        )
        error = self.hone(*self.against("int4.hlo"), code=2).stderr.decode()
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn("int4", error)
        self.assertIn("'s4'", error)
        python = self.python_that(
            "import hone.stock.session as s\ndef wrong(*_): raise ValueError('too odd')\ns.exported = wrong\n"
        )
        done = self.with_python(python, *self.against("dot.hlo"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("dot", done.stderr)
        self.assertIn("too odd", done.stderr)
        self.assertNotIn("pip install", done.stderr)
        self.assertNotIn("does not run", done.stderr)


if __name__ == "__main__":
    unittest.main()
