#!/usr/bin/env python3
"""Checks the order of the source tree: which folders may include which, and that links match includes.

A folder of src/ includes itself and folders of lower rank, and so do the rooms of a folder that has any. XLA's headers
stay in src/xla, torch's in src/learn. There are no include cycles. Prints one line per fault; exit status 1 when there
is any. Limits of files and functions: check_size.py.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RANKS = {
    "base": 0,
    "graph": 1,
    "kernels": 1,
    "wire": 1,
    "xla": 2,
    "features": 2,
    "sim": 2,
    "data": 3,
    "search": 3,
    "options": 4,
    "cost": 5,
    "go": 5,
    "passorder": 6,
    "learn": 7,
    "tune": 7,
    "report": 8,
    "collect": 9,
    "place": 9,
    "sharding": 9,
    "optimize": 10,
    "request": 10,
    "cli": 11,
}
SAME_RANK = {("wire", "graph")}  # beside each folder's own headers
# Folders with subfolders (rooms). A header directly in such a folder includes none of its rooms, a source includes any.
ROOMS = {
    "xla": {"shim": 0, "passes": 0, "decisions": 1, "measure": 2, "service": 3},
    "learn": {"nets": 0, "train": 1, "layout": 2, "go": 2, "agents": 2},
    "tune": {"session": 0, "kernel": 1, "program": 2},
}
XLA_PREFIXES = ("xla/", "tsl/", "tensorflow/", "mlir/", "absl/", "stablehlo/", "llvm/")
TORCH_PREFIXES = ("torch/", "ATen/", "c10/")
# Where a folder's links are declared, and how.
LINKS_OF = {
    "learn": ("src/learn/CMakeLists.txt", re.compile(r"\bset\(learn_links\s+([^)]*)\)")),
    "xla": ("src/xla/CMakeLists.txt", re.compile(r"\bset\(xla_links\s+([^)]*)\)")),
}
LIBRARY = re.compile(r"^\s*hone_library\((\w+)\s*([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SOURCES = {".h", ".cc", ".def"}


@dataclass(frozen=True)
class Include:
    """An #include line: the file (a path below src/) and its target."""

    source: Path
    line: int
    target: str  # as written
    own: Path | None  # below src/, when the target is a header of the project

    @property
    def place(self) -> str:
        return f"src/{self.source}:{self.line}"

    @property
    def folder(self) -> str:
        return self.source.parts[0]


def own_header(folder: str, target: str) -> Path | None:
    """The file below src/ that an include of `target` from src/`folder` refers to; None for other headers."""
    if "/" not in target:
        return None
    first = target.split("/")[0]
    if folder == "xla":  # names its own headers from its own folder on, so the prefix xla/ is always the compiler's
        if first in ROOMS["xla"] or target == "status.h":
            return Path("xla") / target
        return Path(target) if first in RANKS and first != "xla" else None
    return Path(target) if first in RANKS else None


def includes_of(src: Path) -> Iterator[Include]:
    """Every include of every source below `src`, in the order of paths."""
    for path in sorted(src.rglob("*")):
        if path.suffix not in SOURCES or len(path.relative_to(src).parts) < 2:
            continue
        source = path.relative_to(src)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if match := INCLUDE.match(line):
                yield Include(source, number, match.group(2), own_header(source.parts[0], match.group(2)))


def may_include(folder: str, other: str) -> bool:
    """Whether sources of src/`folder` may include headers of src/`other`."""
    return folder == other or (folder, other) in SAME_RANK or RANKS[other] < RANKS[folder]


def room_fault(include: Include) -> str | None:
    """The fault in an include of a header of the same folder, or None."""
    ranks = ROOMS.get(include.folder, {})
    room, other = (path.parts[1] if len(path.parts) > 2 else None for path in (include.source, include.own))
    if other is None or room == other or (room is None and include.source.suffix == ".cc"):
        return None
    for name in (room, other):
        if name is not None and name not in ranks:
            return f"src/{include.folder}/{name}: unknown room, give it a rank"
    if room is None:
        return f"{include.target}: a header directly in src/{include.folder} may not include its rooms"
    if ranks[other] >= ranks[room]:
        return f"{include.target}: {room} (room {ranks[room]}) may not include {other} (room {ranks[other]})"
    return None


def include_fault(include: Include) -> str | None:
    """The fault in an include, or None."""
    folder, target = include.folder, include.target
    if target.startswith(XLA_PREFIXES):
        return None if folder == "xla" else f"{target} is XLA's: only src/xla may include it"
    if target.startswith(TORCH_PREFIXES):
        return None if folder == "learn" else f"{target} is torch's: only src/learn may include it"
    if target.startswith("../") or "/../" in target:
        return f"{target} steps out of its folder: include from src/"
    if include.own is None:
        return None
    other = include.own.parts[0]
    if not may_include(folder, other):
        return f"{target}: {folder} (rank {RANKS[folder]}) may not include {other} (rank {RANKS[other]})"
    return room_fault(include) if other == folder else None


def find_circle(includes: list[Include]) -> list[str] | None:
    """An include cycle of modules (foo.h, foo.cc and foo.def are one), with the first module repeated at the end."""
    graph: dict[str, set[str]] = {}
    for include in includes:
        if include.own is not None:
            source, target = (str(path.with_suffix("")) for path in (include.source, include.own))
            if source != target:
                graph.setdefault(source, set()).add(target)
    done: set[str] = set()
    for start in sorted(graph):
        path, left = [start], [iter(sorted(graph[start]))]  # a walk in depth, without recursion
        while path:
            following = next(left[-1], None)
            if following is None:
                done.add(path.pop())
                left.pop()
            elif following in path:
                return path[path.index(following) :] + [following]
            elif following not in done:
                path.append(following)
                left.append(iter(sorted(graph.get(following, ()))))
    return None


def links_of(root: Path) -> dict[str, tuple[str, set[str]]]:
    """Folder -> (the file that declares its links, the folders it links)."""
    links = {}
    top = root / "CMakeLists.txt"
    for match in LIBRARY.finditer(top.read_text(encoding="utf-8") if top.is_file() else ""):
        named, linked = False, set()
        for word in match.group(2).split():
            if word in ("LINKS", "LIBRARIES", "EXCLUDE"):
                named = word == "LINKS"
            elif named:
                linked.add(word)
        links[match.group(1)] = ("CMakeLists.txt", linked)
    for folder, (name, pattern) in LINKS_OF.items():
        path = root / name
        if path.is_file():
            match = pattern.search(path.read_text(encoding="utf-8"))
            links[folder] = (name, {word.removeprefix("hone_") for word in match.group(1).split()} if match else set())
    return links


def link_faults(root: Path, includes: list[Include]) -> list[str]:
    """Links without includes, and includes without links."""
    first: dict[tuple[str, str], str] = {}  # (folder, folder it includes) -> where first
    for include in includes:
        if include.own is not None and include.own.parts[0] != include.folder:
            first.setdefault((include.folder, include.own.parts[0]), include.place)
    faults = []
    for folder, (name, linked) in sorted(links_of(root).items()):
        included = {other for source, other in first if source == folder}
        for other in sorted(included - linked):
            faults.append(f"{name}: {folder} includes {other} ({first[folder, other]}) without linking it")
        for other in sorted(linked - included):
            faults.append(f"{name}: {folder} links {other} without including any of its headers")
    return faults


def check_tree(root: Path) -> list[str]:
    """The faults of the project at `root`."""
    src = root / "src"
    folders = sorted(path.name for path in src.iterdir() if path.is_dir())
    faults = [f"src/{folder}: unknown folder, give it a rank" for folder in folders if folder not in RANKS]
    includes = [include for include in includes_of(src) if include.folder in RANKS]
    for include in includes:
        if fault := include_fault(include):
            faults.append(f"{include.place}: {fault}")
    faults += link_faults(root, includes)
    if circle := find_circle(includes):
        faults.append("a circle of includes: " + " -> ".join(circle))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the project")
    faults = check_tree(parser.parse_args().root)
    for line in faults:
        print(line, file=sys.stderr)
    print(f"layers: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
