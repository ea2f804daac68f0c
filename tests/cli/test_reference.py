"""The pages of docs/reference agree with the program: the generated ones, and the keys of --json in json.md."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from programs import TWO_KERNELS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"
MAKE = ROOT / "scripts" / "make_reference.py"

sys.path.insert(0, str(ROOT / "scripts"))
from reference import commands, decisions, python_api  # noqa: E402

HELP = """Does a thing.
Usage: hone thing [OPTIONS] PROGRAM

Positionals:
  PROGRAM TEXT REQUIRED       a file

Options:
  -h,--help                   Print this help message and exit
  --preset TEXT:{small,paper} small: 64 wide; paper: 256
  --memory-limit FLOAT:POSITIVE
                              GiB a worker may use

Search:
  --budget TEXT               time

Examples:
  hone thing model.mlir --budget 60s
"""


def documented_keys():
    """Name of a command -> keys of its object, from the first column of the tables below its heading in json.md."""
    keys, names = {}, []
    for line in (ROOT / "docs" / "reference" / "json.md").read_text().splitlines():
        if line.startswith("#"):
            names = re.findall(r"`(hone [^`]*)`", line)
        row = re.match(r"^\| (`[^|]*) \|", line)
        if row:
            for name in names:
                keys.setdefault(name, set()).update(re.findall(r"`(\w+)[^`]*`", row.group(1)))
    return keys


def anchors(page):
    """The anchors of the page's headings, by the rules of GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class ReferenceTest(unittest.TestCase):
    def test_pages_are_up_to_date(self):
        done = subprocess.run([sys.executable, MAKE, "--hone", HONE, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_help_texts_are_read_whole(self):
        command = commands.parse("hone thing", HELP)
        self.assertEqual(command.summary, "Does a thing.")
        self.assertEqual([(row.name, row.about) for row in command.positionals], [("PROGRAM TEXT REQUIRED", "a file")])
        self.assertEqual(list(command.groups), ["Options", "Search"])
        options = {row.name: row.about for row in command.options}
        self.assertEqual(options["--preset TEXT:{small,paper}"], "small: 64 wide; paper: 256")
        self.assertEqual(options["--memory-limit FLOAT:POSITIVE"], "GiB a worker may use")
        self.assertEqual(options["--budget TEXT"], "time")
        self.assertEqual(command.texts, {"Examples": ["  hone thing model.mlir --budget 60s"]})
        self.assertEqual(command.subcommands, [])

    def test_tables_of_decisions_are_read_whole(self):
        text = """// DECISION(enumerator, name) in a comment.
DECISION(One, "one", "", "has, a comma",
         "and a second line")
DECISION(Two, "two", "former", "words", "")
"""
        columns = ("enumerator", "name", "former", "words", "keys")
        one, two = decisions.rows(text, "DECISION", columns)
        self.assertEqual(list(one.values()), ["One", "one", "", "has, a comma", "and a second line"])
        self.assertEqual(list(two.values()), ["Two", "two", "former", "words", ""])
        for damaged in (text.replace("Two, ", ""), text.replace('"words", "")', '"words", "")x')):
            with self.assertRaises(ValueError):
                list(decisions.rows(damaged, "DECISION", columns))

    def test_page_of_decisions_has_every_kind_family_scope_and_stage(self):
        source = ROOT / "src" / "graph"
        kinds, families = decisions.tables(source)
        page = decisions.page(source)
        names = (source / "decision.h").read_text()
        for what, words in (("DecisionScope", decisions.SCOPES), ("DecisionStage", decisions.STAGES)):
            enumerators = re.search(rf"enum class {what} : int8_t {{ (.*?) }};", names).group(1).split(", ")
            self.assertEqual(list(words), enumerators)
        for kind in kinds:
            self.assertIn(f"| `{kind['name']}` | {kind['words']} |", page)
            self.assertGreater(page.count(f"| `{kind['name']}` |"), 1, "no line about its keys")
        for family in families:
            self.assertIn(f"({family['words']})", page)

    def test_python_page_shows_all_that_is_exported(self):
        page = python_api.page(ROOT / "python" / "hone")
        exported = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/hone/__init__.py").read_text(), re.DOTALL)
        for name in re.findall(r'"(\w+)"', exported.group(1)):
            self.assertIn(f"### hone.{name}\n", page)

    def test_links_lead_somewhere(self):
        pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
        pages += [page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.parts]
        for page in pages:
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if "://" in link:
                    continue
                path, _, anchor = link.partition("#")
                target = page.parent / path if path else page
                with self.subTest(f"{page.relative_to(ROOT)}: {link}"):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_json_keys_are_documented(self):
        known = documented_keys()
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.hlo"
            program.write_text(TWO_KERNELS)
            for words in (
                ["inspect", program],
                ["run", program, "--repeat", "3"],
                ["run", program, "--compare", "--budget", "1s"],
                ["run", program, "--profile"],
                ["opt", program, "--passes", "cse,dce"],
                ["passes"],
                ["predict", program],
                ["order", program, "--strategy", "random", "--max-applications", "50"],
                ["place", program, "--devices", "cpu1", "--strategy", "single"],
                ["generate", "--count", "1", "-o", pathlib.Path(folder) / "made"],
                ["worker"],
                ["verify", program, "-n", "1", "--kinds", "ordinary"],
            ):
                with self.subTest(words[0]):
                    done = subprocess.run([HONE, *words, "--json"], capture_output=True, text=True, timeout=300)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertLessEqual(set(json.loads(done.stdout)), known[f"hone {words[0]}"])


if __name__ == "__main__":
    unittest.main()
