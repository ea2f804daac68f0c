"""Completion scripts and manual pages, made from the tables of the help. zsh, fish and groff run where installed."""

import json
import re
import shutil
import subprocess
import unittest

from cli_case import ROOT, CliTest

SERVICE = """
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hone
printf '%s\\n' "${COMPREPLY[@]}"
"""


class CompletionTest(CliTest):
    def script(self, shell):
        path = self.dir / f"hone.{shell}"
        path.write_bytes(self.hone("completion", shell).stdout)
        return path

    def complete(self, *words):
        """What bash offers after these words, of which the last is being typed."""
        done = subprocess.run(
            ["bash", "-c", SERVICE, "bash", str(self.script("bash")), "hone", *words],
            cwd=self.dir,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")[:-1]

    def test_bash_completes_commands_options_and_values(self):
        self.assertIn("tune", self.complete("t"))
        self.assertNotIn("man", self.complete("ma"))  # not listed by help either
        self.assertEqual(self.complete("collect", "fus"), ["fusion"])
        self.assertEqual(self.complete("tune", "--budg"), ["--budget"])
        self.assertNotIn("--passes", self.complete("tune", "--p"))
        self.assertEqual(self.complete("order", "--pas"), ["--passes"])
        self.assertEqual(self.complete("tune", "--strategy", "ann"), ["anneal", "anneal-linear"])
        self.assertEqual(self.complete("tune", "--strategy", "=", "gen"), ["genetic"])
        self.assertEqual(self.complete("tune", "--decide", "fusion,co"), ["fusion,codegen"])
        self.assertIn("gpu2-nvlink", self.complete("place", "x.hlo", "--devices", "gpu2"))
        self.assertIn("--resume", self.complete("train", "tile", "--res"))

    def test_bash_completes_files(self):
        (self.dir / "a folder").mkdir()
        self.assertEqual(self.complete("tune", "elem"), ["elementwise.hlo"])
        self.assertEqual(self.complete("run", "dot.hlo", "--inputs", "soft"), ["softmax.hlo"])
        self.assertEqual(self.complete("run", "dot.hlo", "--cache", "a"), ["a folder"])
        self.assertEqual(self.complete("run", "dot.hlo", "--repeat", ""), [""])

    def test_every_option_that_help_shows_is_completed(self):
        for words in (["inspect"], ["train", "tile"], ["gym", "train"], ["tpugraphs", "export"]):
            shown = set(
                re.findall(r"^  (?:-\w,)?(--[\w-]+)", self.hone(*words, "--help").stdout.decode(), re.MULTILINE)
            )
            self.assertLessEqual(shown, set(self.complete(*words, "--")))

    def test_other_shells_read_their_scripts(self):
        missing = [shell for shell in ("zsh", "fish") if not shutil.which(shell)]
        for shell in ("zsh", "fish"):
            script = self.script(shell)
            self.assertIn("budget", script.read_text())
            if shell not in missing:
                done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        if missing:
            self.skipTest(f"SKIPPED: not installed: {', '.join(missing)}")

    def test_an_unknown_shell_is_refused(self):
        self.assertIn(b"did you mean 'bash'?", self.hone("completion", "bsh", code=2).stderr)

    def test_manual_pages(self):
        self.hone("man", "-o", "man")
        pages = {path.name for path in (self.dir / "man").iterdir()}
        self.assertLessEqual({"hone.1", "hone-tune.1", "hone-collect.1", "hone-collect-tile.1"}, pages)
        text = (self.dir / "man" / "hone-tune.1").read_text()
        self.assertIn('.SH "SEARCH"', text)
        self.assertIn("\\fB\\-\\-budget\\fR \\fIDURATION\\fR", text)
        if not shutil.which("groff"):
            self.skipTest("SKIPPED: groff is not installed: pages were not formatted")
        for page in sorted(pages):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", self.dir / "man" / page], capture_output=True, check=False
            )
            self.assertEqual((done.returncode, done.stderr), (0, b""), page)


class VersionTest(CliTest):
    def test_the_version_names_commit_and_xla(self):
        found = json.loads(self.hone("--version", "--json").stdout)
        self.assertEqual(set(found), {"version", "commit", "xla_version"})
        cmake = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(hone VERSION {found['version']} ", cmake)
        wheel = re.search(r"^tensorflow-cpu==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE).group(1)
        self.assertEqual(found["xla_version"], f"tensorflow-cpu {wheel}")
        if found["commit"] is not None:
            self.assertRegex(found["commit"], r"^[0-9a-f]{7,40}(-dirty)?$")


if __name__ == "__main__":
    unittest.main()
