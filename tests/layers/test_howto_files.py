"""The pages "Add a ..." name files that exist, so that a newcomer finds what to touch."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "howto").glob("add-a*.md"))
FOLDERS = ("src", "tests", "docs", "data", "bench", "scripts", "python")
PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[A-Za-z0-9_./-]*)`((?:, `\.[a-z]+`)*)")


def named_files(text: str) -> list[str]:
    """Paths in backticks; `a/b.h`, `.cc` names two files."""
    files = []
    for path, endings in PATH.findall(text):
        files.append(path)
        files += [str(pathlib.PurePath(path).with_suffix(ending)) for ending in re.findall(r"`(\.[a-z]+)`", endings)]
    return files


def exists(path: str) -> bool:
    """Whether there is such a file or folder; of a name to be chosen (NAME), its folder."""
    while "NAME" in path or "NNNN" in path:
        path = str(pathlib.PurePath(path).parent)
    return (ROOT / path).exists()


class HowtoFilesTest(unittest.TestCase):
    def test_there_is_a_page_for_each_thing_of_which_there_are_many(self):
        names = {page.stem for page in PAGES}
        for name in ("decision", "model", "pass", "command", "feature", "search-strategy"):
            self.assertIn(f"add-a-{name}", names)
        self.assertIn("add-an-agent", names)

    def test_every_file_they_name_is_there(self):
        for page in PAGES:
            files = named_files(page.read_text())
            self.assertGreater(len(files), 2, page.name)
            for path in files:
                with self.subTest(page=page.name, path=path):
                    self.assertTrue(exists(path))

    def test_names_are_read(self):
        self.assertEqual(named_files("`src/a/b.h`, `.cc` and `x/y`"), ["src/a/b.h", "src/a/b.cc"])
        self.assertFalse(exists("src/graph/no_such_file.h"))
        self.assertTrue(exists("src/xla/decisions/NAME_expander.cc"))


if __name__ == "__main__":
    unittest.main()
