#!/usr/bin/env python3
"""Speed of learned models: hone's C++ against the same networks in PyTorch, on the same machine in the same run.

Builds and runs bench_perf_model, measures the networks below in turn with it, and prints a Markdown table. The Python
networks are in the usual style of PyTorch: nodes repeated for every option, mean aggregation by index_add (and by
torch_geometric where it is installed: `pip install torch_geometric`). Times are CPU times of one thread.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import machine

try:
    from torch_geometric.utils import scatter
except ImportError:
    scatter = None

ROOT = Path(__file__).resolve().parent.parent.parent
NODE_FEATURES, STATIC_FEATURES, TILE_FEATURES = 227, 4, 24
HIDDEN, OPCODE, LAYERS, NODES = 128, 256, 3, 40


def kernel_graph(generator, nodes):
    """A random DAG: (producers, users) with one or two producers for every node but the first."""
    source, target = [], []
    for node in range(1, nodes):
        for _ in range(1 + int(torch.randint(2, (), generator=generator))):
            source.append(int(torch.randint(node, (), generator=generator)))
            target.append(node)
    return torch.tensor(source), torch.tensor(target)


class Batch:
    """Kernels x options as one flat graph."""

    def __init__(self, kernels, options):
        generator = torch.Generator().manual_seed(1)
        self.copies, self.options = kernels * options, options
        source, target, opcodes, features = [], [], [], []
        for kernel in range(kernels):
            s, t = kernel_graph(generator, NODES)
            x = torch.rand(NODES, NODE_FEATURES, generator=generator)
            op = torch.randint(120, (NODES,), generator=generator)
            for option in range(options):
                first = (kernel * options + option) * NODES
                source.append(s + first)
                target.append(t + first)
                opcodes.append(op)
                features.append(x)
        self.source, self.target = torch.cat(source), torch.cat(target)
        self.opcodes, self.features = torch.cat(opcodes), torch.cat(features)
        self.static = torch.rand(kernels, STATIC_FEATURES, generator=generator).repeat_interleave(options, 0)
        self.tiles = torch.rand(self.copies, TILE_FEATURES, generator=generator)
        self.copy_of = torch.arange(self.copies).repeat_interleave(NODES)
        self.runtime = torch.rand(self.copies, generator=generator)
        rows = self.copies * NODES
        self.degree = {}
        for name, index in (("in", self.target), ("out", self.source)):
            self.degree[name] = torch.zeros(rows).index_add(0, index, torch.ones(len(index))).clamp_min(1).unsqueeze(1)


class Sage(nn.Module):
    """The grid's GraphSAGE networks, see src/learn/nets/grid.cc and sage.cc."""

    def __init__(self, reduction, geometric):
        super().__init__()
        width = OPCODE + NODE_FEATURES + STATIC_FEATURES + TILE_FEATURES

        def dense(a, b):
            return nn.Linear(a, b, bias=False)

        self.reduction, self.geometric = reduction, geometric
        self.embedding = nn.Embedding(256, OPCODE)
        self.first = dense(width, HIDDEN)
        self.producer = nn.ModuleList([dense(HIDDEN, HIDDEN) for _ in range(LAYERS)])
        self.user = nn.ModuleList([dense(HIDDEN, HIDDEN) for _ in range(LAYERS)])
        self.combine = nn.ModuleList([dense(3 * HIDDEN, HIDDEN) for _ in range(LAYERS)])
        self.final = nn.ModuleList([dense(HIDDEN, HIDDEN) for _ in range(3)])
        self.dropout = nn.Dropout(0.1)
        if reduction == "lstm":
            self.lstm = nn.LSTM(HIDDEN, HIDDEN, bias=False, batch_first=True)
        if reduction == "transformer":
            self.encoder = nn.TransformerEncoderLayer(HIDDEN, 4, 4 * HIDDEN, dropout=0.0, batch_first=True, bias=False)
        self.output = dense(2 * HIDDEN if reduction == "column-wise" else HIDDEN, 1)

    def mean(self, x, batch, source, target, degree):
        if self.geometric:
            return scatter(x[source], target, 0, x.shape[0], reduce="mean")
        return torch.zeros_like(x).index_add(0, target, x.index_select(0, source)) / degree

    def forward(self, batch):
        kernel = torch.cat([batch.static, batch.tiles], 1)
        x = torch.cat([self.embedding(batch.opcodes), batch.features, kernel[batch.copy_of]], 1)
        x = torch.relu(self.first(x))
        for producer, user, combine in zip(self.producer, self.user, self.combine, strict=False):
            a = self.mean(torch.relu(producer(x)), batch, batch.source, batch.target, batch.degree["in"])
            b = self.mean(torch.relu(user(x)), batch, batch.target, batch.source, batch.degree["out"])
            x = self.dropout(torch.relu(combine(torch.cat([x, a, b], 1))))
        for layer in self.final:
            x = self.dropout(torch.relu(layer(x)))
        if self.reduction == "per-node":
            return torch.zeros(batch.copies, 1).index_add(0, batch.copy_of, self.output(x)).squeeze(1)
        nodes = x.view(batch.copies, NODES, HIDDEN)
        if self.reduction == "column-wise":
            y = torch.cat([nodes.mean(1), nodes.amax(1)], 1)
        elif self.reduction == "lstm":
            y = self.lstm(nodes)[1][0].squeeze(0)
        else:
            y = self.encoder(nodes).sum(1)
        return self.output(y).squeeze(1)


def rank_loss(predicted, runtime, options):
    p, y = predicted.view(-1, options), runtime.view(-1, options)
    slower = (y.unsqueeze(2) > y.unsqueeze(1)).float()
    loss = (torch.relu(1 - (p.unsqueeze(2) - p.unsqueeze(1))) * slower).sum((1, 2))
    return (loss / (options * (options - 1) / 2)).mean()


def measure(reduction, geometric, kernels, options, repeats):
    torch.manual_seed(0)
    network, batch = Sage(reduction, geometric), Batch(kernels, options)
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        adam.zero_grad()
        y = network(batch)
        loss = rank_loss(y, batch.runtime, options) if options > 1 else nn.functional.mse_loss(y, batch.runtime)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        adam.step()
        times.append((time.process_time() - start) * 1e3)
    times = sorted(times[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"min_ms": times[0], "median_ms": times[len(times) // 2], "peak_mib": peak}


def run_ours(binary, what, repeats):
    output = subprocess.run([binary, what, str(repeats)], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def run_python(reduction, geometric, kernels, options, repeats):
    """Runs in a separate process to measure its peak memory."""
    command = [
        sys.executable,
        __file__,
        "--one",
        reduction,
        str(int(geometric)),
        str(kernels),
        str(options),
        str(repeats),
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build" / "bench_perf_model"))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.one:
        reduction, geometric, kernels, options, repeats = args.one
        print(json.dumps(measure(reduction, geometric == "1", int(kernels), int(options), int(repeats))))
        return
    print(f"{machine()}\n")
    for row in run_ours(args.binary, "rank", args.repeats):
        count = 10000 if row["model"] == "fast" else 100
        print(
            f"ranking {count} options of a 40-node kernel, {row['model']}: {row['min_ms']:.2f} ms "
            f"(median {row['median_ms']:.2f})"
        )
    print("\n| network | batch | hone ms | PyTorch index_add ms | torch_geometric ms | ratio to the best | MiB |")
    print("|---|---|---|---|---|---|---|")
    for reduction in ("per-node", "column-wise", "lstm", "transformer"):
        ours = run_ours(args.binary, "sage+" + reduction, args.repeats)
        for row, (kernels, options) in zip(ours, ((8, 32), (64, 1)), strict=False):
            plain = run_python(reduction, False, kernels, options, args.repeats)
            other = run_python(reduction, True, kernels, options, args.repeats) if scatter else None
            best = min(p["min_ms"] for p in (plain, other) if p)
            print(
                f"| sage+{reduction} | {kernels} x {options} | {row['min_ms']:.1f} | {plain['min_ms']:.1f} | "
                f"{other['min_ms'] if other else float('nan'):.1f} | {best / row['min_ms']:.2f} | "
                f"{row['peak_mib']:.0f} / {plain['peak_mib']:.0f} |"
            )


if __name__ == "__main__":
    main()
