#!/usr/bin/env python3
"""Checks that the relative links of all Markdown pages resolve: the file is there, and so is the heading after #.

Paths to pages in backticks (`docs/...md`, from the root or from the page) are checked too. Prints one line per fault;
exit status 1 when there is any.
"""

import argparse
import re
import sys
from pathlib import Path

SKIPPED = {"build", "shared", "node_modules"}  # folders, beside hidden ones, whose pages are not ours
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")  # the text may begin on the line before
PAGE = re.compile(r"`((?:\.\./)*docs/[\w./-]+\.md)`")
FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)  # http:, mailto: and so on


def pages(root: Path) -> list[Path]:
    """All Markdown files below `root` outside of hidden and skipped folders."""

    def ours(path: Path) -> bool:
        folders = path.relative_to(root).parts[:-1]
        return not any(part in SKIPPED or part.startswith(".") for part in folders)

    return sorted(path for path in root.rglob("*.md") if ours(path))


def prose(page: Path) -> list[tuple[int, str]]:
    """The lines of a page with their numbers, without blocks of code."""
    lines, fenced = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            lines.append((number, line))
    return lines


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    headings = [found[1] for _, line in prose(page) if (found := HEADING.match(line))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_fault(page: Path, link: str) -> str | None:
    """The fault in a link of `page`; None when there is none or it points outside the repository."""
    if ELSEWHERE.match(link):
        return None
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{link}: no such heading"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    faults = []
    for page in pages(root):
        for number, line in prose(page):
            found = [fault for link in LINK.findall(line) if (fault := link_fault(page, link))]
            names = [
                name for name in PAGE.findall(line) if not ((root / name).exists() or (page.parent / name).exists())
            ]
            faults += [f"{page.relative_to(root)}:{number}: {fault}" for fault in found]
            faults += [f"{page.relative_to(root)}:{number}: {name}: no such page" for name in names]
    print("".join(f"{fault}\n" for fault in faults) + f"{len(pages(root))} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
