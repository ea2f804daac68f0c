"""hone on a CPU without AVX-512 or AVX2: this one, whose CPUID instruction says less (bench/narrow_cpu.cc)."""

import json
import os
import subprocess
import unittest

from cli_case import BUILD, HONE, WithWorker, own_environment

LIBRARY = BUILD / "libnarrow_cpu.so"


def narrow(environment, isa):
    return dict(environment, NARROW_CPU=isa, LD_AUDIT=str(LIBRARY), LD_PRELOAD=str(LIBRARY))


class NarrowCpuTest(WithWorker):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not LIBRARY.exists():
            raise unittest.SkipTest(f"SKIPPED: {LIBRARY} is missing, ninja -C {BUILD} narrow_cpu builds it")
        if subprocess.run(["true"], env=narrow(os.environ, "avx2"), stderr=subprocess.DEVNULL).returncode != 0:
            raise unittest.SkipTest("SKIPPED: this CPU or kernel cannot show a process less than it has")

    def on(self, isa, *arguments):
        """The answer of hone on such a CPU, with caches of its own: what it compiles is not for this one."""
        environment = narrow(own_environment(self.dir / isa), isa)
        command = [HONE, *map(str, arguments), "--json"]
        done = subprocess.run(
            command, cwd=self.dir, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        return json.loads(done.stdout), done

    def test_the_cpu_has_no_more(self):
        for isa in ("avx2", "avx"):
            checks = {check["name"]: check for check in self.on(isa, "doctor")[0]["checks"]}
            self.assertEqual(checks["instruction set"]["detail"].split(",")[0].split()[0], isa)
            self.assertEqual(checks["seams"]["status"], "ok", checks["seams"])
            self.assertEqual(checks["own kernels"]["status"], "ok", checks["own kernels"])

    def test_tunes_and_runs(self):
        for isa in ("avx2", "avx"):
            for name in ("softmax", "dot"):
                package = self.dir / f"{name}-{isa}.hone"
                words = ("--budget", "3s", "--threads", "1", "--seed", "0", "-o", package)
                answer, done = self.on(isa, "tune", self.dir / f"{name}.hlo", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((answer["isa"], answer["verified"]), (isa, True))
                answer, done = self.on(isa, "run", package, "--compare", "--budget", "1s")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((answer["isa"], answer["verified"]), (isa, True))

    def test_optimizes(self):
        for isa in ("avx2", "avx"):
            answer, done = self.on(isa, "optimize", self.dir / "softmax.hlo", "-o", self.dir / f"{isa}.hone")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(answer["verified"])

    def test_a_limit_beyond_it_is_refused(self):
        answer, done = self.on("avx2", "inspect", self.dir / "dot.hlo", "--max-isa", "avx512")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this CPU has no avx512", answer["error"]["message"])

    def test_one_without_avx_is_told(self):
        answer, done = self.on("sse4.2", "doctor")
        checks = {check["name"]: check for check in answer["checks"]}
        self.assertEqual(done.returncode, 1)
        self.assertEqual(checks["worker"]["status"], "failed")
        self.assertIn("AVX", checks["worker"]["hint"])

    def test_other_names_are_refused(self):
        done = subprocess.run([HONE, "--version"], env=narrow(os.environ, "avx3"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none of avx2, avx, sse4.2", done.stderr)


if __name__ == "__main__":
    unittest.main()
