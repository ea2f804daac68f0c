"""Dictionaries for libFuzzer: the words that a target's sources compare with, and values that readers must refuse."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROW = re.compile(r'^TARGET\((\w+), "[^"]*", "([^"]*)"\)$', re.MULTILINE)
# A literal that a file may hold: messages, which have blanks, and formats, which have braces, are none.
LITERAL = re.compile(r'"([\w.,:;=/*+<>\[\]()$%&|#!?-]{2,40})"')
VALUES = ("null", "true", "[]", "{}", "-1", "0.5", "1e300", "-1e300", "1e-320", "9223372036854775807",
          "-9223372036854775808", "18446744073709551616", "2147483648", "nan", "inf", "\\u0000", "\xff")  # fmt: skip


def sources(row: str) -> list[Path]:
    """The files of src that a row of targets.def names: sources, and all of a folder."""
    paths = []
    for source in row.split():
        path = ROOT / "src" / source
        paths += sorted(path.glob("*.cc")) if path.is_dir() else [path.with_name(path.name + ".cc")]
    return paths


def words() -> dict[str, list[str]]:
    """By target, sorted."""
    found = {}
    for target, row in ROW.findall((HERE / "targets/targets.def").read_text()):
        text = "\n".join(path.read_text() for path in sources(row))
        literals = {word for word in LITERAL.findall(text) if not word.endswith((".h", ".hpp"))}
        found[target] = sorted(literals | set(VALUES))
    return found


def quoted(word: str) -> str:
    escaped = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\x{ord(c):02X}" for c in word)
    return f'"{"".join(escaped)}"'


def write(folder: Path) -> None:
    """FOLDER/TARGET.dict for each target, as libFuzzer's -dict takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for target, found in words().items():
        (folder / f"{target}.dict").write_text("".join(f"{quoted(word)}\n" for word in found))
