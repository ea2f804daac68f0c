"""Help texts, errors for a misspelt command line, and old spellings of options, which still work.

Runs build/hone (or that of $HONE_BUILD_DIR). Needs only the standard library, and no worker.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cli_case import HONE, ROOT, own_environment
from programs import ELEMENTWISE

sys.path.insert(0, str(ROOT / "scripts"))
from reference import decisions  # noqa: E402

# Names of values in help texts.
VALUES = {"N", "X", "NAME", "FILE", "FOLDER", "LIST", "DURATION", "GIB", "MS", "US", "ISA", "TYPE", "RULE", "START"}
VALUES |= {"ENGINE", "ADDRESS", "WHERE", "MESH"}
GROUPS_OF_TUNE = ["Positionals", "Program", "Search", "Models", "Database", "Output", "Advanced"]
# Options that --help does not show: old spellings, and options that processes of hone pass to each other.
HIDDEN = {
    ("train", "tile"): ["--out ", "--out,", "--rank", "--rendezvous"],
    ("gym", "train"): ["--out ", "--policy "],
    ("gym", "eval"): ["--policy "],
    ("go", "place"): ["--out ", "--policy "],
    ("collect", "export"): ["--out "],
    ("order",): ["--policy "],
    ("predict",): ["--weights"],
    ("eval", "layout"): ["--weights"],
    ("report",): ["--weights"],
    ("optimize",): ["--calibrate-windows"],
}


class HelpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not HONE.exists():
            raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")
        folder = tempfile.TemporaryDirectory(prefix="hone-help-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.dir = pathlib.Path(folder.name)

    def run_hone(self, *arguments):
        return subprocess.run(
            [str(HONE), *map(str, arguments)],
            cwd=self.dir,
            env=own_environment(self.dir),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def help(self, *words):
        done = self.run_hone(*words, "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        """The single line on standard error for a refused command line."""
        done = self.run_hone(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertLess(len(lines[0]), 400)
        return lines[0]

    def commands(self, *words):
        """Every command without subcommands, as words."""
        text = self.help(*words)
        listed = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        below = re.findall(r"^  ([a-z]\w*) +(\S.*)$", listed, re.MULTILINE)
        self.assertEqual(len(below), len(listed.strip().splitlines()), listed)  # each has its line
        if not below:
            return [words]
        return [leaf for name, _ in below for leaf in self.commands(*words, name)]

    def test_every_option_is_described(self):
        for words in self.commands():
            text = self.help(*words)
            flat = re.sub(r"\n {12,}", " ", text)
            for line in flat.splitlines():
                option = re.match(r"  (-\S+( [A-Z]+)*)( \.\.\.)?( REQUIRED)?( Excludes: \S+)? *(.*)$", line)
                if not option:
                    continue
                with self.subTest(f"{' '.join(words)} {option.group(1)}"):
                    self.assertGreater(len(option.group(6)), 5)
                    self.assertNotRegex(option.group(6), r"^(of|at most|which|that|its) ")
                    self.assertNotIn("TEXT", option.group(1))
            for line in text.splitlines():
                self.assertLessEqual(len(line), 120, line)

    def groups(self, text):
        return re.findall(r"^(\w.*):$", text, re.MULTILINE)

    def test_options_of_tune_stand_in_groups(self):
        self.assertEqual(self.groups(self.help("tune")), GROUPS_OF_TUNE)

    def test_every_command_has_its_output_options_in_a_group(self):
        for words in self.commands():
            with self.subTest(" ".join(words)):
                groups = self.groups(self.help(*words))
                last = [group for group in groups if group not in ("Advanced", "Positionals")][-1]
                self.assertEqual(last, "Output")
                output = self.help(*words).partition("\nOutput:\n")[2].partition("\n\n")[0]
                for name in ("--json", "--quiet", "--help"):
                    self.assertIn(name, output)

    def test_only_the_program_itself_speaks_of_completion(self):
        self.assertIn("hone completion bash", self.help())
        self.assertNotIn("completion", self.help("inspect"))

    def test_maintainers_ask_for_their_options(self):
        for command, option in (("optimize", "--calibrate"), ("tune", "--exhaustive")):
            text = self.help(command)
            self.assertNotIn(option, text)
            self.assertIn("--help-all", text)
            done = self.run_hone(command, "--help-all")
            self.assertEqual(done.returncode, 0)
            self.assertIn("For maintainers:", done.stdout)
            self.assertIn(option, done.stdout)

    def test_values_have_names_of_their_kinds(self):
        for words in self.commands():
            for line in self.help(*words).splitlines():
                value = re.match(r"  (?:-\w,)?(--[\w-]+) ([A-Z]+)\b", line)
                if value and value.group(2) != "REQUIRED":
                    self.assertIn(value.group(2), VALUES, f"{' '.join(words)}: {line}")
                if value and value.group(1) in ("--budget", "--fusion-budget"):
                    self.assertEqual(value.group(2), "DURATION", line)

    def test_every_kind_of_decision_is_named_with_what_it_decides(self):
        text = " ".join(self.help("tune").split())
        kinds, _ = decisions.tables(ROOT / "src" / "graph")
        self.assertGreater(len(kinds), 5)
        for kind in kinds:
            self.assertIn(f"{kind['name']} ({kind['words']})", text)

    def test_old_spellings_are_hidden(self):
        for words, names in HIDDEN.items():
            text = self.help(*words)
            for name in names:
                with self.subTest(f"{' '.join(words)} {name}"):
                    self.assertNotIn(name, text)

    def test_old_spellings_work(self):
        cases = [
            (("predict", "p.hlo", "--weights", "none.safetensors"), "none.safetensors"),
            (("eval", "tile", "none", "--split", "s", "--weights", "w"), "none"),
            (("report", "none.hone", "--weights", "w"), "none.hone"),
            (("report", "none.hone", "--weights", "w", "--analytical", "a"), "--analytical"),  # they exclude each other
            (("train", "tile", "none", "--split", "s", "--out", "w", "--model", "fast"), "none"),
            (("train", "layout", "none", "--out", "w"), "none"),
            (("gym", "train", "p.hlo", "--out", "w", "--policy", "cnn"), "must be mlp or gnn"),
            (("go", "place", "none.json", "--devices", "cpu1", "--policy", "w", "--out", "p"), "none.json"),
            (("collect", "export", "--db", "none.db", "--out", "f"), "none.db"),
            (("optimize", "--calibrate-windows", "m.json"), "--split"),
        ]
        for arguments, word in cases:
            with self.subTest(arguments):
                line = self.refused(*arguments)
                self.assertIn(word, line)
                self.assertNotIn("unknown option", line)

    def test_a_misspelt_word_is_told_what_it_is_near(self):
        cases = [
            (("tume", "x"), "unknown command 'tume', did you mean 'tune'?"),
            (("collect", "tiles"), "unknown command 'tiles', did you mean 'tile'?"),
            (("spell",), "unknown command 'spell'"),
            (("tune", "x.hlo", "--budgte", "3s"), "unknown option '--budgte', did you mean '--budget'?"),
            (("tune", "--fuson-model=none", "x.hlo"), "unknown option '--fuson-model', did you mean '--fusion-model'?"),
            (("tune", "x.hlo", "--zzz"), "unknown option '--zzz'"),
            (("tune", "x.hlo", "y.hlo"), "unexpected argument 'y.hlo'"),
            ((), "no command is given"),
            (("db",), "no command is given"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments):
                line = self.refused(*arguments)
                self.assertIn(message, line)
                self.assertIn("--help", line)
        self.assertNotIn("did you mean", self.refused("spell"))

    def test_values_out_of_range_are_told_so(self):
        self.assertRegex(
            self.refused("tune", "x.hlo", "--memory-limit", "0"), r": 0 is not above 0 .*\(--memory-limit\)"
        )
        self.assertIn("'hard' is none of expectation, score", self.refused("tune", "x.hlo", "--pick", "hard"))
        self.assertIn("cpu2-sockets", self.refused("place", "x.hlo", "--devices", "foo"))
        for limit in ("1e400", "99999999999999999999999", "nan"):
            self.assertLess(len(self.refused("tune", "x.hlo", "--memory-limit", limit)), 140)
        self.assertIn("'abc' is not a whole number", self.refused("tune", "x.hlo", "--top-k", "abc"))
        self.assertIn("'9999999999999999999999'", self.refused("tune", "x.hlo", "--top-k", "9999999999999999999999"))
        self.assertIn("'1e300h' is not a duration", self.refused("tune", "x.hlo", "--budget", "1e300h"))

    def test_a_misspelt_value_is_told_what_it_is_near_and_what_there_is(self):
        program = self.dir / "p.hlo"
        program.write_text(ELEMENTWISE)
        cases = [
            (("place", program, "--devices", "gpu2-nvlik"), "'gpu2-nvlink'?", "tpu4"),
            (("place", program, "--devices", "cpu1", "--strategy", "heff"), "'heft'?", "layerwise"),
            (("place", program, "--devices", "cpu1", "--tasks", "placemnt"), "'placement'?", "schedule"),
            (("go", "place", "p.json", "--devices", "cpu1", "--tasks", "fuson"), "'fusion'?", "placement"),
            (("tune", program, "--strategy", "anneall"), "'anneal'?", "genetic"),
            (("tune", program, "--decide", "fusion,codgen"), "'codegen'?", "library"),
            (("tune", program, "--max-isa", "avx3"), "'avx2'?", "sse4.2"),
            (("order", program, "--strategy", "geneti"), "'genetic'?", "beam"),
            (("order", program, "--metric", "operation"), "'operations'?", "run-time"),
            (("gym", "train", program, "--agent", "reinforse", "-o", "x"), "'reinforce'?", "trpo"),
            (("train", "layout", "d", "--model", "tgrap", "-o", "x"), "'tgraph'?", "linear"),
            (("generate", "--kind", "kernl", "-o", "x"), "'kernel'?", "program"),
        ]
        for arguments, near, known in cases:
            with self.subTest(arguments):
                line = self.refused(*arguments)
                self.assertIn(f"did you mean {near}", line)
                self.assertIn(known, line)

    def test_errors_hold_no_raw_bytes(self):
        name = b"a\x1b[31mred\x9b\xff\xe2\x80\xae.hlo"
        shown = "a\\x1b[31mred\\x9b\\xff\\u202e.hlo"
        for arguments in ([b"inspect", name], [name], [b"tune", b"x.hlo", b"--" + name], [b"inspect", name, b"--json"]):
            with self.subTest(arguments):
                done = subprocess.run([str(HONE).encode(), *arguments], capture_output=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(shown, done.stderr.decode())
                if b"--json" in arguments:
                    self.assertEqual(json.loads(done.stdout)["error"]["where"], shown)
        self.assertIn("cpu2-sockets", self.help("place"))


if __name__ == "__main__":
    unittest.main()
