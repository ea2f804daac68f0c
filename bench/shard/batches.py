#!/usr/bin/env python3
"""Does `hone shard` read the batch of the programs of data/programs that have it in their name, as train_gpt_b8 has?

    bench/shard/batches.py --out build/batches

Of a batch of 1 nothing is divided: 0 (no data at all) is right as well. Rows go to OUT/rows.jsonl, so a stopped run can
be continued; prints those that are read otherwise. Takes seconds for each of 276 programs.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness


def ask(path: Path, hone: Path) -> dict:
    name = path.name.removesuffix(".mlir.gz")
    row = {"program": name, "batch": int(re.search(r"_b(\d+)$", name)[1]), "read": None, "note": ""}
    try:
        command = ["shard", path, "--mesh", "2", "--steps", "1", "--no-products", "-q"]
        row["read"] = harness.call_hone(hone, command, 600)["batch"]
    except harness.HoneError as error:
        row["note"] = str(error)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for rows.jsonl")
    parser.add_argument("--hone", type=Path, default=harness.ROOT / "build" / "hone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "rows.jsonl"
    known = {row["program"] for row in harness.read_jsonl(store)}
    for path in sorted((harness.ROOT / "data" / "programs").glob("*.mlir.gz")):
        if path.name.removesuffix(".mlir.gz") not in known:
            harness.append_row(store, ask(path, options.hone))
    rows = harness.read_jsonl(store)
    read = [row for row in rows if row["read"] is not None]
    wrong = [row for row in read if row["read"] != row["batch"] and not (row["batch"] == 1 and row["read"] == 0)]
    for row in wrong:
        print(f"{row['program']}: {row['read']}")
    print(f"{len(read) - len(wrong)} of {len(read)} batches are read right; {len(rows) - len(read)} gave no answer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
