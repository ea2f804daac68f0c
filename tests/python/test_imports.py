"""Tests import what `make setup-test` installs: packages of benchmarks are not there."""

import ast
import importlib.metadata
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "scripts", *(folder for folder in (ROOT / "bench").iterdir() if folder.is_dir()), ROOT / "bench"]


def installed_by(target: str) -> set[str]:
    """Distributions that the lists of a target of the Makefile pin, as pip normalises their names."""
    options = re.search(rf"^{target}:\n\t@scripts/setup.sh (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    setup = (ROOT / "scripts" / "setup.sh").read_text()
    lists = {"requirements.txt"}
    for option in options:
        line = re.search(rf"^ *{option}\) (.*);;$", setup, re.M)[1]
        lists.update(re.findall(r"requirements-\w+\.txt", line))
    pinned = "\n".join((ROOT / name).read_text() for name in lists)
    return {normal(name) for name in re.findall(r"^([\w.-]+)==", pinned, re.M)}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported_at_once(file: Path) -> set[str]:
    """Names of modules that importing the file imports, but for those whose absence it handles."""
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names


def files_of(name: str, beside: Path) -> list[Path]:
    """What the project has under a module's name: one file, the files of a package, or none."""
    for folder in [beside, *FOLDERS]:
        if (folder / f"{name}.py").exists():
            return [folder / f"{name}.py"]
        if (folder / name / "__init__.py").exists():
            return sorted((folder / name).glob("*.py"))
    return []


class ImportsTest(unittest.TestCase):
    def test_no_test_needs_what_only_benchmarks_have(self):
        pinned = installed_by("setup-test")
        self.assertIn("jax", pinned)
        self.assertNotIn("matplotlib", pinned)
        of_module = importlib.metadata.packages_distributions()
        seen, waiting, missing = set(), [*ROOT.glob("tests/python/*.py"), *ROOT.glob("tests/cli/*.py")], []
        while waiting:
            file = waiting.pop()
            if file in seen:
                continue
            seen.add(file)
            for name in imported_at_once(file) - sys.stdlib_module_names:
                ours = files_of(name, file.parent)
                waiting += ours
                if not ours and name != "hone" and not {normal(d) for d in of_module.get(name, [])} & pinned:
                    missing.append(f"{file.relative_to(ROOT)}: {name}")
        self.assertIn(ROOT / "scripts" / "work_model.py", seen)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
