#!/usr/bin/env python3
"""The best Kendall's tau-b a ranker of layout configurations can have on files whose run times fall into levels.

    bench/layout/ceiling.py FILE.npz... [--gap-ms 1]

Levels are groups of run times without a gap of --gap-ms. If the order inside a level is chance, the mean tau of a
ranker that knows the levels and gives a strict order inside them is the share of pairs from two levels. A ranker that
gives equal scores inside levels reaches its square root, which is the maximum: every pair from two levels that is tied
or ordered wrongly loses more than it gains. Configurations measured several times show whether the order is chance: ICC
is the share of the variance inside a level that is due to the configuration.
"""

import argparse
from pathlib import Path

import numpy as np


def icc(groups):
    """One-way random effects, unequal sizes (Searle 1971): between over total variance."""
    sizes = np.array([len(g) for g in groups])
    total, count = sizes.sum(), len(groups)
    mean = np.concatenate(groups).mean()
    between = sum(len(g) * (g.mean() - mean) ** 2 for g in groups) / (count - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (total - count)
    each = (total - (sizes**2).sum() / total) / (count - 1)
    return (between - within) / (between + (each - 1) * within)


def ceiling(path, gap_ns):
    data = np.load(path)
    runtime = data["config_runtime"].astype(float)
    _, which = np.unique(data["node_config_feat"].reshape(len(runtime), -1), axis=0, return_inverse=True)
    which = which.ravel()
    least = np.full(which.max() + 1, np.inf)
    np.minimum.at(least, which, runtime)
    ordered = np.sort(least)
    level = np.digitize(least, ordered[1:][np.diff(ordered) > gap_ns])
    sizes = np.bincount(level)
    pairs = len(least) * (len(least) - 1) / 2
    share = 1 - (sizes * (sizes - 1) / 2).sum() / pairs
    print(f"{path}: {len(least)} distinct configurations, levels of {', '.join(map(str, sizes))}")
    print(f"  tau of the levels with a strict order inside {share:.3f}, with ties inside {np.sqrt(share):.3f}")
    counts = np.bincount(which)
    for number in range(len(sizes)):
        groups = [runtime[which == i] for i in np.flatnonzero((counts > 1) & (level == number))]
        if len(groups) >= 10:
            print(f"  level {number}: {len(groups)} configurations measured several times, ICC {icc(groups):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--gap-ms", type=float, default=1)
    args = parser.parse_args()
    for path in args.files:
        ceiling(path, args.gap_ms * 1e6)


if __name__ == "__main__":
    main()
