"""The runner of the fuzz targets, with programs that behave as libFuzzer does, and the table of targets."""

import math
import re
import tempfile
import time
import unittest
from pathlib import Path

import fuzz
import seeds
import words

ROOT = fuzz.HERE.parents[1]
CLEAN = """echo '#8192  pulse  cov: 120 ft: 300 corp: 12/3Kb exec/s: 4096 rss: 30Mb' >&2
echo 'stat::number_of_executed_units: 9000' >&2"""
CRASH = """echo '#77  NEW    cov: 7 ft: 9 corp: 2/3b exec/s: 0 rss: 30Mb' >&2
echo 'artifact_prefix; Test unit written to /tmp/crash-1' >&2; exit 77"""


class TableTest(unittest.TestCase):
    def setUp(self):
        self.table = (fuzz.HERE / "targets/targets.def").read_text()

    def test_every_target_has_a_file_and_every_file_a_row(self):
        files = {path.stem for path in (fuzz.HERE / "targets").glob("*.cc")} - {"target", "fuzz_main"}
        self.assertEqual(files, set(fuzz.target_names()))

    def test_sources_exist(self):
        for sources in re.findall(r'^TARGET\(\w+, "[^"]*", "([^"]*)"\)$', self.table, re.MULTILINE):
            for source in sources.split():
                path = ROOT / "src" / (source + ".cc" if "/" in source else source)
                self.assertTrue(path.exists(), path)

    def test_every_row_is_read(self):
        self.assertEqual(len(fuzz.target_names()), self.table.count("\nTARGET("))

    def test_every_target_has_kept_inputs(self):
        for name in fuzz.target_names():
            self.assertTrue(any((fuzz.HERE / "corpus" / name).iterdir()), name)

    def test_seeds_are_of_targets(self):
        self.assertLessEqual(set(seeds.SEEDS), set(fuzz.target_names()))


class WordsTest(unittest.TestCase):
    def test_words_are_what_the_sources_compare_with(self):
        found = words.words()
        self.assertEqual(set(found), set(fuzz.target_names()))
        self.assertLessEqual({"memory_gib", "link", "1e300"}, set(found["topology"]))
        self.assertNotIn("sim/topology.h", found["topology"])
        self.assertIn("data_offsets", found["policies"] + found["safetensors"])

    def test_a_dictionary_is_one_that_libfuzzer_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            words.write(Path(folder))
            for path in Path(folder).iterdir():
                for line in path.read_text().splitlines():
                    self.assertRegex(line, r'^"([ !#-\[\]-~]|\\x[0-9A-F]{2})+"$')

    def test_what_libfuzzer_takes_for_its_own_is_escaped(self):
        self.assertEqual(words.quoted('a"\\\xff'), r'"a\x22\x5C\xFF"')


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        self.screen = fuzz.Screen(time.monotonic())
        self.screen.shown = math.inf  # says nothing

    def run_target(self, script: str) -> fuzz.Run:
        program = self.build / "fuzz_npz"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return fuzz.fuzz(self.build, "npz", 1, self.screen)

    def test_counts_what_libfuzzer_says(self):
        run = self.run_target(CLEAN)
        self.assertEqual((run.executions, run.edges, run.finding), (9000, 120, ""))

    def test_a_finding_is_its_input(self):
        run = self.run_target(CRASH)
        self.assertEqual((run.executions, run.finding), (77, "/tmp/crash-1"))

    def test_a_slow_input_is_none(self):
        run = self.run_target(f"{CLEAN}\necho 'Test unit written to /tmp/slow-unit-1' >&2")
        self.assertEqual(run.finding, "")

    def test_an_end_without_an_input_is_a_finding(self):
        self.assertEqual(self.run_target("exit 1").finding, str(self.build / "findings/npz/log"))

    def test_the_growing_corpus_comes_first(self):
        run = self.run_target(
            f'{CLEAN}\nfor a; do case $a in -*) ;; *) echo "$a" > {self.build}/first; break;; esac; done'
        )
        self.assertEqual(run.finding, "")
        self.assertEqual((self.build / "first").read_text().strip(), str(self.build / "corpus/npz"))

    def test_the_words_of_a_target_are_its_dictionary(self):
        script = f'{CLEAN}\nfor a; do case $a in -dict=*) echo "$a" >> {self.build}/said;; esac; done'
        self.run_target(script)
        self.assertFalse((self.build / "said").exists())
        words.write(self.build / "words")
        self.run_target(script)
        self.assertEqual((self.build / "said").read_text(), f"-dict={self.build}/words/npz.dict\n")

    def test_totals_add_up(self):
        runs = self.build / "runs.jsonl"
        line = '{"target": "npz", "executions": 5, "edges": %d, "seconds": 1.5, "finding": ""}\n'
        runs.write_text(line % 7 + line % 9)
        total = fuzz.total(runs)["npz"]
        self.assertEqual((total.executions, total.edges, total.seconds), (10, 9, 3.0))


if __name__ == "__main__":
    unittest.main()
