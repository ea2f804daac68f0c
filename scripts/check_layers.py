#!/usr/bin/env python3
"""Checks the order of the source tree: who may include whom, and how long a file may be.

A folder of src/ includes itself and folders of lower rank. XLA's headers stay in src/xla, torch's in src/learn. Prints one line per fault; exit status 1 when there is any.
"""

import argparse
import re
import sys
from pathlib import Path

RANKS = {
    "base": 0,
    "graph": 1,
    "wire": 1,
    "xla": 2,
    "features": 2,
    "sim": 2,
    "data": 3,
    "search": 3,
    "options": 4,
    "cost": 5,
    "passorder": 6,
    "learn": 7,
    "tune": 7,
    "report": 8,
    "collect": 9,
    "place": 9,
    "optimize": 10,
    "request": 10,
    "cli": 11,
}
SAME_RANK = {("wire", "graph")}  # beside each folder's own headers
XLA_PREFIXES = ("xla/", "tsl/", "tensorflow/", "mlir/", "absl/", "stablehlo/", "llvm/")
TORCH_PREFIXES = ("torch/", "ATen/", "c10/")
TORCH_FOLDERS = {"learn"}
MAX_LINES = 500
MAX_HEADER_LINES = 150  # a warning: a header that outgrows it may still be one promise
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SOURCES = {".h", ".cc", ".def"}


def may_include(folder: str, other: str) -> bool:
    """Whether sources of src/`folder` may include headers of src/`other`."""
    return folder == other or (folder, other) in SAME_RANK or RANKS[other] < RANKS[folder]


def include_fault(folder: str, target: str) -> str | None:
    """What is wrong with an include of `target` from a source of src/`folder`; None when nothing is."""
    if target.startswith(XLA_PREFIXES):
        # src/xla names its own headers from its own folder on, so the prefix xla/ is always the compiler's.
        return None if folder == "xla" else f"{target} is XLA's: only src/xla may include it"
    if target.startswith(TORCH_PREFIXES):
        return None if folder in TORCH_FOLDERS else f"{target} is torch's: only {', '.join(sorted(TORCH_FOLDERS))} may"
    if target.startswith("../") or "/../" in target:
        return f"{target} steps out of its folder: include from src/"
    other = target.split("/")[0]
    if "/" in target and other in RANKS and not may_include(folder, other):
        return f"{target}: {folder} (rank {RANKS[folder]}) may not include {other} (rank {RANKS[other]})"
    return None


def check_file(folder: str, path: Path, name: str) -> tuple[list[str], list[str]]:
    """(faults, warnings) of one source file of src/`folder`, each beginning with `name`."""
    faults, warnings = [], []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        fault = match and include_fault(folder, match.group(2))
        if fault:
            faults.append(f"{name}:{number}: {fault}")
    if len(lines) > MAX_LINES:
        faults.append(f"{name}: {len(lines)} lines, at most {MAX_LINES}")
    elif path.suffix == ".h" and len(lines) > MAX_HEADER_LINES:
        warnings.append(f"{name}: {len(lines)} lines in a header, aim for {MAX_HEADER_LINES}")
    return faults, warnings


def check_tree(root: Path) -> tuple[list[str], list[str]]:
    """(faults, warnings) of the project at `root`."""
    faults, warnings = [], []
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if folder.name not in RANKS:
            faults.append(f"src/{folder.name}: unknown folder, give it a rank")
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix not in SOURCES:
                continue
            found = check_file(folder.name, path, str(path.relative_to(root)))
            faults += found[0]
            warnings += found[1]
    for beside in ("tests", "python", "scripts", "bench"):
        for path in sorted((root / beside).rglob("*")):
            if path.suffix in SOURCES | {".py", ".sh"} and path.is_file():
                count = len(path.read_text(encoding="utf-8", errors="replace").splitlines())
                if count > MAX_LINES:
                    faults.append(f"{path.relative_to(root)}: {count} lines, at most {MAX_LINES}")
    return faults, warnings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the project")
    faults, warnings = check_tree(parser.parse_args().root)
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    for line in faults:
        print(line, file=sys.stderr)
    print(f"layers: {len(faults)} faults, {len(warnings)} warnings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
