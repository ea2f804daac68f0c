"""Every shipped model has a card that is about the file at hand, and every third party has a notice."""

import hashlib
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "data" / "models"
PARTS = ("What it does.", "Trained on", "Command", "Accuracy", "Limits.")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class ModelCardsTest(unittest.TestCase):
    def test_every_folder_has_a_card_with_all_parts(self):
        folders = [folder for folder in MODELS.iterdir() if folder.is_dir()]
        self.assertGreater(len(folders), 4)
        for folder in folders:
            with self.subTest(folder.name):
                card = (folder / "README.md").read_text()
                for part in PARTS:
                    self.assertIn(f"**{part}", card)
                self.assertRegex(card, r"docs/results/[\w-]+\.md")
                self.assertIn(f"({folder.name}/README.md)", (MODELS / "README.md").read_text())

    def test_cards_are_about_the_shipped_files(self):
        for card in (MODELS / "README.md", *MODELS.glob("*/README.md")):
            named = dict(re.findall(r"^\| `([\w.-]+)` \| `([0-9a-f]{16})` \|$", card.read_text(), re.MULTILINE))
            files = [file for file in card.parent.iterdir() if file.suffix in (".json", ".safetensors")]
            self.assertEqual(named, {file.name: digest(file) for file in files}, card)

    def test_splits_are_named_by_their_bytes(self):
        for folder in ("tile", "fusion", "layout"):
            card = (MODELS / folder / "README.md").read_text()
            name, hash_ = re.search(r"`data/splits/(\w+)\.txt` \(SHA-256 `([0-9a-f]{16})`", card).groups()
            self.assertEqual(hash_, digest(ROOT / "data" / "splits" / f"{name}.txt"))


class NoticeTest(unittest.TestCase):
    def test_every_package_that_set_up_installs_is_named(self):
        notice = (ROOT / "NOTICE").read_text()
        named = set(re.findall(r"[\w.+-]+", notice.lower()))
        lists = sorted((ROOT / "scripts").glob("apt-packages*.txt")) + sorted(ROOT.glob("requirements*.txt"))
        self.assertGreater(len(lists), 6)
        for file in lists:
            for line in file.read_text().splitlines():
                package = re.match(r"[\w.+-]+", line)
                if package and not line.startswith(("#", "-")):
                    self.assertIn(package.group().lower().partition("==")[0], named, f"{file.name}: not in NOTICE")


if __name__ == "__main__":
    unittest.main()
