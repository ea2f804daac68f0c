#!/usr/bin/env python3
"""Writes a named set of programs, data/benchmarks/NAME.json, for agents that order passes.

    scripts/make_benchmark.py examples-v1 "the programs of examples/" examples/*.mlir --root ../../examples
    scripts/make_benchmark.py corpus-v1 "..." ../shared/corpus/a/b.hlo ... --folder ../shared/corpus

Without --root the programs do not come with hone, and users name their folder. A set that exists is never written
again: another version has another name. Needs build/ and Gymnasium.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

MAX_PASSES = 45


def program_rows(files, folder):
    """A row for each program: name, file below `folder`, SHA-256 of its bytes, and instructions as XLA reads it."""
    from hone.gym import XlaPassOrder

    env = XlaPassOrder(programs=files)
    for file, name in zip(files, env.programs, strict=True):
        _, info = env.reset(options={"program": str(file)})
        yield {
            "name": name,
            "file": str(file.resolve().relative_to(folder)),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "instructions": info["instructions"],
        }
    env.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="NAME-vN")
    parser.add_argument("about", help="what the programs are")
    parser.add_argument("programs", type=Path, nargs="+")
    parser.add_argument("--root", help="folder of the programs, relative to the written file")
    parser.add_argument("--folder", type=Path, help="folder that users name (without --root)")
    options = parser.parse_args()
    path = ROOT / "data" / "benchmarks" / f"{options.name}.json"
    if path.exists():
        parser.error(f"{path} exists: a set never changes, give the next version a name of its own")
    if (options.root is None) == (options.folder is None):
        parser.error("give --root or --folder")
    folder = (path.parent / options.root if options.root else options.folder).resolve()
    rows = list(program_rows(options.programs, folder))
    if len({row["name"] for row in rows}) < len(rows):
        parser.error("two programs have one name")
    content = {"format": "hone-benchmark-1", "name": options.name, "about": options.about, "max_passes": MAX_PASSES}
    if options.root:
        content["root"] = options.root
    path.write_text(json.dumps(content | {"programs": rows}, indent=1) + "\n")
    print(f"{path}: {len(rows)} programs")


if __name__ == "__main__":
    main()
