"""Tests of the corpus: its list, its splits, and the script that exports it (where the model libraries are there)."""

import gzip
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
SCRIPT = ROOT / "scripts" / "export_models.py"
sys.path.insert(0, str(ROOT / "scripts"))

import export_models  # noqa: E402
import split_programs  # noqa: E402

HAS_LIBRARIES = all(importlib.util.find_spec(name) for name in ("jax", "keras", "keras_hub", "optax"))


def programs() -> list[dict]:
    return json.loads((DATA / "programs.json").read_text())


def parts_of(path: Path) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            part, name = line.split("\t")
            parts.setdefault(part, []).append(name)
    return parts


class TheList(unittest.TestCase):
    def test_has_many_programs_of_many_families(self):
        rows = programs()
        self.assertGreaterEqual(len(rows), 100)
        self.assertGreaterEqual(len({row["family"] for row in rows}), 20)
        self.assertGreaterEqual(sum(count > 1 for count in Counter(row["model"] for row in rows).values()), 30)
        self.assertEqual(len({row["name"] for row in rows}), len(rows))

    def test_every_program_was_run(self):
        for row in programs():
            with self.subTest(row["name"]):
                self.assertGreater(row["run_ms"], 0)
                self.assertGreater(row["instructions"], 10)
                self.assertGreater(row["kernels"], 0)

    def test_files_are_modules_without_arrays(self):
        total = 0
        for row in programs():
            with self.subTest(row["name"]):
                packed = (DATA / row["file"]).read_bytes()
                total += len(packed)
                text = gzip.decompress(packed).decode()
                self.assertTrue(text.startswith(f"module @jit_{row['name']}"))
                lines = [line for line in text.splitlines() if "func.func" not in line]
                self.assertLessEqual(max(map(len, lines)), export_models.MAX_CONSTANT_BYTES)
        self.assertLess(total, 8_000_000)

    def test_no_file_without_a_row(self):
        files = {f"programs/{path.name}" for path in (DATA / "programs").iterdir()}
        self.assertEqual(files, {row["file"] for row in programs()})


class Splits(unittest.TestCase):
    def test_files_are_those_of_the_script(self):
        random_text = split_programs.split_text(
            split_programs.RANDOM_NOTE.format(seed=0), split_programs.random_split(programs(), 0)
        )
        self.assertEqual((DATA / "splits/random.txt").read_text(), random_text)
        manual_text = split_programs.split_text(split_programs.MANUAL_NOTE, split_programs.manual_split(programs()))
        self.assertEqual((DATA / "splits/manual.txt").read_text(), manual_text)

    def test_random_split_keeps_models_together(self):
        model = {row["name"]: row["model"] for row in programs()}
        parts = parts_of(DATA / "splits/random.txt")
        self.assertEqual(sorted(sum(parts.values(), [])), sorted(model))
        models = {part: {model[name] for name in names} for part, names in parts.items()}
        self.assertFalse(models["train"] & (models["validation"] | models["test"]))
        self.assertFalse(models["validation"] & models["test"])
        for part in ("validation", "test"):
            self.assertGreaterEqual(len(parts[part]), 8)
            self.assertLess(len(parts[part]), 0.15 * len(model))

    def test_manual_split_keeps_families_apart(self):
        family = {row["name"]: row["family"] for row in programs()}
        parts = parts_of(DATA / "splits/manual.txt")
        families = {part: {family[name] for name in names} for part, names in parts.items()}
        self.assertEqual(len(parts["test"]), 8)
        self.assertFalse(families["train"] & (families["validation"] | families["test"]))
        self.assertFalse(families["validation"] & families["test"])

    def test_another_seed_gives_another_split(self):
        first, second = (split_programs.random_split(programs(), seed) for seed in (0, 1))
        self.assertNotEqual(first["test"], second["test"])

    def test_a_list_without_the_test_programs_is_refused(self):
        with self.assertRaisesRegex(split_programs.SplitError, "not in the list of programs: gat_b1"):
            split_programs.manual_split([{"name": "a", "model": "a", "family": "b"}])


class Pieces(unittest.TestCase):
    def test_progress_has_rate_and_time_left(self):
        start = export_models.time.perf_counter() - 60.0
        self.assertEqual(export_models.progress_line(30, 60, start), "30/60  30.0 a minute, 1.0 min left")

    def test_packed_files_are_equal_for_equal_text(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder) / "a.mlir.gz", Path(folder) / "b.mlir.gz"
            self.assertEqual(export_models.write_packed(first, "module"), export_models.write_packed(second, "module"))
            self.assertEqual(first.read_bytes(), second.read_bytes())
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir()), ["a.mlir.gz", "b.mlir.gz"])

    def test_a_damaged_list_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "programs.json"
            path.write_text("[{]")
            with self.assertRaisesRegex(SystemExit, "not a list of programs"):
                export_models.read_list(path)


@unittest.skipUnless(HAS_LIBRARIES, "the model libraries are not installed (scripts/setup.sh --models)")
class Script(unittest.TestCase):
    def export(self, *arguments: str):
        return subprocess.run(
            [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False, timeout=300
        )

    def test_exports_equal_text_and_goes_on_where_it_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "programs"
            arguments = ("--only", "^(heat_3d|tcn)_b1$", "--no-run", "--out", str(out))
            first = self.export(*arguments)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertIn("2 programs, 0 exported before", first.stdout)
            for name in ("heat_3d_b1", "tcn_b1"):
                text = gzip.decompress((out / f"{name}.mlir.gz").read_bytes())
                self.assertEqual(text, gzip.decompress((DATA / f"programs/{name}.mlir.gz").read_bytes()))
            second = self.export(*arguments)
            self.assertIn("2 programs, 2 exported before", second.stdout)
            rows = {row["name"]: row for row in json.loads((Path(folder) / "programs.json").read_text())}
            self.assertEqual(rows["tcn_b1"]["family"], "temporal_conv")
            self.assertEqual(rows["heat_3d_b1"]["weights"], "")

    def test_unknown_names_are_bad_arguments(self):
        result = self.export("--only", "no_such_program")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len([line for line in result.stderr.splitlines() if line.startswith("error:")]), 1)

    def test_a_folder_that_cannot_be_made_is_one_line(self):
        with tempfile.NamedTemporaryFile() as file:
            result = self.export("--only", "heat_3d_b1", "--no-run", "--out", f"{file.name}/programs")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.splitlines()[-1], "^error: .*: Not a directory$")

    def test_lists_what_the_committed_list_has(self):
        result = self.export("--list")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {line.split()[0] for line in result.stdout.splitlines()}
        self.assertLessEqual({row["name"] for row in programs()}, names)


if __name__ == "__main__":
    unittest.main()
