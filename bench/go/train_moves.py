#!/usr/bin/env python3
"""Trains the scorer of moves of guided-moves (src/sim/move_scorer.h) and writes its weights as text, or, to a
name in .def, as the source of the shipped ones.

Rows come from `moves.py collect`. The target is what the move gains: the logarithm of the step's time before over
that after, 0 where it is no shorter, at most 0.1, times 30; squared error. One of ten blocks of 2,000 rows is held out.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

FEATURES, HIDDEN, BATCH = 48, 24, 1024


def source(weights: np.ndarray) -> str:
    """Elements of a C++ initializer, in lines of at most 120 characters."""
    words = [f"{weight:#.6g}f," for weight in weights]
    words[-1] = words[-1].rstrip(",")
    lines = ["// Weights of the shipped scorer of moves: make go-moves (docs/results/placement.md).", ""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > 120:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    o = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(o.seed)
    rows = np.concatenate([np.fromfile(path, dtype=np.float32).reshape(-1, FEATURES + 1) for path in o.rows])
    held_out = np.arange(len(rows)) // 2000 % 10 == 3
    x, y = torch.tensor(rows[:, :FEATURES]), torch.clamp(torch.tensor(rows[:, FEATURES]), max=0.1) * 30
    mean, deviation = x.mean(0), x.std(0) + 1e-3
    x = (x - mean) / deviation
    layers = [torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Linear(HIDDEN, 1)]
    net = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    train, test = torch.tensor(np.where(~held_out)[0]), torch.tensor(np.where(held_out)[0])
    steps, total = 0, o.epochs * len(train) // BATCH
    for _ in range(o.epochs):
        order = train[torch.randperm(len(train))]
        for at in range(0, len(order), BATCH):
            for group in optimizer.param_groups:
                group["lr"] = 2e-3 * (1 - steps / (total + 1)) + 1e-5
            batch = order[at : at + BATCH]
            optimizer.zero_grad()
            ((net(x[batch])[:, 0] - y[batch]) ** 2).mean().backward()
            optimizer.step()
            steps += 1
    with torch.no_grad():
        print(f"{len(rows)} rows; squared error on held-out rows {((net(x[test])[:, 0] - y[test]) ** 2).mean():.5f}")
        first = layers[0].weight / deviation
        parts = [first.T, layers[0].bias - first @ mean, layers[1].weight.T, layers[1].bias, layers[2].weight.T]
        weights = np.concatenate([part.reshape(-1).numpy() for part in [*parts, layers[2].bias]])
    if o.output.endswith(".def"):
        Path(o.output).write_text(source(weights))
    else:
        np.savetxt(o.output, weights, fmt="%.6g")


if __name__ == "__main__":
    main()
