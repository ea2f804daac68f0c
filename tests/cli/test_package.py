"""Packages that were made elsewhere: what runs, what is said, and what `--json` has about it."""

import json
import os
import shutil
import unittest

from cli_case import WithWorker


class PackagesOfOthers(WithWorker):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kept = None

    def package(self):
        """A tuned package of this machine; made once for all tests."""
        target = self.dir / "softmax.hone"
        if PackagesOfOthers.kept is None:
            self.tune("softmax", "--budget", "4s", "-o", target)
            PackagesOfOthers.kept = {file.name: file.read_bytes() for file in target.iterdir()}
            shutil.rmtree(target)
        target.mkdir(exist_ok=True)
        for name, content in PackagesOfOthers.kept.items():
            (target / name).write_bytes(content)
        return target

    def changed(self, change):
        package = self.package()
        decisions = json.loads((package / "decisions.json").read_text())
        change(decisions)
        (package / "decisions.json").write_text(json.dumps(decisions))
        return package

    def run_package(self, package, *arguments):
        """(the object of the run, what was said)."""
        done = self.hone("run", package, "--repeat", "2", *arguments, "--json")
        return json.loads(done.stdout), done.stderr.decode()

    def test_of_this_machine_run_in_silence(self):
        answer, said = self.run_package(self.package())
        self.assertEqual(said, "")
        package = answer["package"]
        self.assertEqual((package["as_tuned"], package["differences"], package["unmatched"]), (True, [], []))
        made = package["made_with"]
        self.assertEqual(made["xla"], self.json("worker")["xla_version"])
        self.assertEqual(made["hone"], self.hone("--version").stdout.decode().split()[1])
        self.assertIn(made["isa"], " ".join(["sse4.2", "avx", "avx2", "avx512"]))
        self.assertIn("ynnpack", made["libraries"])
        self.assertTrue(made["cpu_features"])
        text = self.hone("inspect", self.package()).stdout.decode()
        self.assertIn(f"Hone {made['hone']}, XLA of {made['xla']}", text)
        self.assertIn(" ".join(made["cpu_features"]), text)

    def test_more_threads_than_cores_are_said(self):
        threads = len(os.sched_getaffinity(0)) + 1
        answer, said = self.run_package(self.package(), "--threads", threads)
        self.assertTrue(answer["package"]["as_tuned"])
        self.assertIn(f"it runs on {threads} threads", " ".join(answer["package"]["differences"]))
        for text in (said, self.run_package("softmax.hlo", "--threads", threads)[1]):
            self.assertEqual(text.count("\n"), 1, text)
            self.assertRegex(text, f"it runs on {threads} threads, and this process may use [0-9]+ cores")
        self.assertEqual(self.run_package("softmax.hlo", "--threads", 1)[1], "")

    def test_for_other_cpus_run_as_default_xla(self):
        def change(decisions):
            decisions["made_with"]["cpu_features"].append("avx9000")
            decisions["target"]["max_isa"] = "avx512"  # which the CPU may lack, too
            decisions["decisions"] = [{"kind": "rewrite", "key": "sort:no such", "value": "highway"}]

        package = self.changed(change)
        answer, said = self.run_package(package)
        self.assertFalse(answer["package"]["as_tuned"])
        self.assertEqual(said.count("default XLA runs in its place"), 1, said)
        self.assertIn("this CPU lacks avx9000", said)
        default = self.json("run", self.dir / "softmax.hlo", "--repeat", "1")
        self.assertEqual(answer["fingerprint"], default["fingerprint"])
        self.assertIn("not run as tuned here", self.hone("inspect", package).stdout.decode())
        page = self.json("report", package, "-o", self.dir / "page.html")
        self.assertFalse(page["package"]["as_tuned"])
        self.assertFalse(page["graphs"])

    def test_of_another_xla_run_as_default_xla(self):
        def change(decisions):
            decisions["xla_version"] = decisions["made_with"]["xla"] = "tensorflow-cpu 2.20.0"

        answer, said = self.run_package(self.changed(change), "--compare", "--budget", "1s")
        self.assertFalse(answer["package"]["as_tuned"])
        self.assertIn("tuned for XLA of tensorflow-cpu 2.20.0", said)

    def test_of_older_versions_say_so_and_run(self):
        answer, said = self.run_package(self.changed(lambda decisions: decisions.pop("made_with")))
        self.assertTrue(answer["package"]["as_tuned"])
        self.assertIsNone(answer["package"]["made_with"])
        self.assertIn("does not say where it was made", said)
        inspected = self.hone("inspect", self.changed(lambda decisions: decisions.pop("made_with")))
        self.assertIn("does not say where it was made", inspected.stdout.decode())

    def test_decisions_that_match_nothing_are_named(self):
        stray = [
            {"kind": "codegen", "key": "0123456789abcdef", "value": "loop"},
            {"kind": "fusion", "key": "nobody>no_one", "value": "fuse"},
            {"kind": "library", "key": "reduce:no such", "value": "ynn"},
        ]
        answer, said = self.run_package(self.changed(lambda decisions: decisions["decisions"].extend(stray)))
        self.assertTrue(answer["package"]["as_tuned"])
        by_kind = sorted(answer["package"]["unmatched"], key=lambda decision: decision["kind"])
        self.assertEqual(by_kind, stray)
        self.assertIn("3 of its decisions match nothing in the program", said)
        self.assertIn("fusion nobody>no_one=fuse", said)

    def test_decisions_that_do_not_fit_leave_default_xla(self):
        stray = {"kind": "rewrite", "key": "sort:no such", "value": "highway"}
        answer, said = self.run_package(self.changed(lambda decisions: decisions["decisions"].append(stray)))
        self.assertFalse(answer["package"]["as_tuned"])
        self.assertIn("its decisions do not fit the program", said)

    def test_new_ones_have_no_decisions_that_match_nothing(self):
        package = self.package()
        self.assertEqual(self.json("inspect", package)["package"]["unmatched"], [])


if __name__ == "__main__":
    unittest.main()
