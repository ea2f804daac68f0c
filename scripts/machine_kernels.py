#!/usr/bin/env python3
"""Chooses the kernels that `hone collect machine` measures: data/machine-kernels.db.

    scripts/machine_kernels.py build/data/fusion/* --database build/data/kernels.db --split data/splits/random.txt \\
        --weights data/models/fusion/seed-0.safetensors --out data/machine-kernels.db

Of the training programs' kernels that all machines of the data sets measured, between 3 us and 2 ms on the first, those
are taken one after the other that add most to how well the others are represented (facility location): two kernels are
as near as the share of the weights' trees in which they fall into the same leaf, which is how a correction compares
them (src/cost/leaf_correction.h).
"""

import argparse
import sqlite3
from pathlib import Path

import numpy as np
from boosted_trees import leaves_of, read_trees
from dataset import parts_of
from train_kernels import kernels_of, names_of, read_rows
from work_model import counts_of, with_work

LEAST_NS, MOST_NS = 3e3, 2e6
DRAWN = 2500  # kernels that are looked at


def candidates(datasets, tool, parts):
    """Fingerprints, features and analytical estimates, ns, of a random part of the kernels that may be chosen."""
    every = [read_rows(tool, folder) for folder in datasets]
    common = set.intersection(*({fingerprint for fingerprint, _ in kernels_of(rows)} for rows in every))
    rows = every[0]
    fingerprints, programs = np.array(kernels_of(rows)).T
    training = np.array([parts.get(program) == "train" for program in programs])
    fits = training & (rows["runtime_ns"] >= LEAST_NS) & (rows["runtime_ns"] <= MOST_NS)
    pool = np.flatnonzero(fits & np.isin(fingerprints, list(common)))
    drawn = np.random.default_rng(0).choice(pool, min(DRAWN, len(pool)), replace=False)
    return fingerprints[drawn], rows["features"][drawn], rows["analytical_ns"][drawn]


def as_taken(features, analytical_ns, weights, tool):
    """Features as trees over a sum of work take them; as they are for other trees, which have no weights."""
    if weights is None:
        return features
    counts = counts_of(features, names_of(tool), names_of(tool, "kernel-work"))
    return with_work(features, counts, weights, np.log(analytical_ns))[0]


def representative(leaves, count):
    """Positions of those that represent all best, the most important first."""
    near = np.stack([(row == leaves).mean(axis=1) for row in leaves])
    best = np.zeros(len(leaves))
    chosen = []
    for _ in range(min(count, len(leaves))):
        gain = np.maximum(near - best[:, None], 0).sum(axis=0)
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        best = np.maximum(best, near[:, chosen[-1]])
    return chosen


def write(source, fingerprints, out):
    """A database of the same schema with these kernels alone."""
    out.unlink(missing_ok=True)
    with sqlite3.connect(out) as target:
        target.execute("ATTACH ? AS source", (f"file:{source}?mode=ro",))
        for pragma in ("application_id", "user_version"):
            value = target.execute(f"PRAGMA source.{pragma}").fetchone()[0]
            target.execute(f"PRAGMA main.{pragma} = {value}")
        for (sql,) in target.execute(
            "SELECT sql FROM source.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            target.execute(sql)
        for fingerprint in fingerprints:
            target.execute(
                "INSERT INTO main.kernels SELECT * FROM source.kernels WHERE fingerprint = ? AND threads = 1",
                (fingerprint,),
            )
        target.commit()
        target.execute("DETACH source")
        target.execute("VACUUM")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", help="folders of hone collect export")
    parser.add_argument("--database", type=Path, required=True, help="that they were exported from")
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=160)
    parser.add_argument("--tool", default="build/bench_kernel_rows")
    arguments = parser.parse_args()
    fingerprints, *seen = candidates(arguments.datasets, arguments.tool, parts_of(arguments.split))
    trees = read_trees(arguments.weights)
    features = as_taken(*seen, trees["work"], arguments.tool)
    chosen = representative(leaves_of(trees, features), arguments.count)
    write(arguments.database, fingerprints[chosen], arguments.out)
    print(f"{arguments.out}: {len(chosen)} of {len(fingerprints)} kernels, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
