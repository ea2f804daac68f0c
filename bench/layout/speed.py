#!/usr/bin/env python3
"""Speed and memory of ranking and training layout configurations.

    bench/layout/speed.py FILE.npz WEIGHTS.safetensors --configs 10000 --threads 2

Ranking: --configs configurations of FILE's program, with each node's layouts drawn from those in FILE, are written to a
separate file and ranked once by `hone eval layout`. rank_s is embedding and scoring without reading the file; wall and
CPU seconds and the peak memory of the whole process are given as well. "same_network" is one
network of the default width, 64, whose training steps are timed. With --torch the published network of that width is
also written in the usual style of PyTorch and torch_geometric (nodes repeated for every configuration, SAGEConv)
and run on the same configurations; SAGEConv is replaced by its own two lines where torch_geometric is not installed,
and the output says so.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import machine

ROOT = Path(__file__).resolve().parent.parent.parent


def more_configs(data, count, seed):
    """Arrays of the file with `count` random configurations."""
    rng = np.random.default_rng(seed)
    given = data["node_config_feat"]
    nodes = given.shape[1]
    chosen = given[rng.integers(0, len(given), size=(count, nodes)), np.arange(nodes)]
    return {**data, "node_config_feat": chosen, "config_runtime": rng.integers(1, 10**9, size=count)}


def rank(args, path, weights):
    command = [
        str(args.hone),
        "eval",
        "layout",
        str(path),
        "--model-file",
        str(weights),
        "--part",
        "all",
        "--json",
        "-q",
    ]
    command += ["--threads", str(args.threads), "--batch", str(args.batch)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    wall = time.time() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (model,) = json.loads(done.stdout)["models"].values()
    return {
        "rank_s": model["seconds"],
        "members": model["members"],
        "process_wall_s": wall,
        "process_cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_MiB": after.ru_maxrss / 1024,
    }


def torch_network(torch, features):
    """tgraph-code, 64 wide, as in src/learn/layout/tgraph.cc, in plain PyTorch."""
    nn = torch.nn
    try:
        from torch_geometric.nn import SAGEConv as Convolution
    except ImportError:

        class Convolution(nn.Module):
            """SAGEConv with mean aggregation: W1 x_i + W2 mean of x_j."""

            def __init__(self, wide, out):
                super().__init__()
                self.own, self.other = nn.Linear(wide, out), nn.Linear(wide, out, bias=False)

            def forward(self, x, edges):
                degree = torch.zeros(x.shape[-2]).index_add(0, edges[1], torch.ones(edges.shape[1])).clamp_min(1)
                mean = torch.zeros_like(x).index_add(-2, edges[1], x.index_select(-2, edges[0])) / degree[:, None]
                return self.own(x) + self.other(mean)

    class Attention(nn.Module):
        def __init__(self, wide):
            super().__init__()
            self.squeeze, self.expand = nn.Linear(wide, wide // 8), nn.Linear(wide // 8, wide)
            self.temperature = nn.Parameter(torch.tensor(0.5))

        def forward(self, x):
            x = x * torch.sigmoid(self.expand(torch.relu(self.squeeze(x))))
            return torch.cat([x, x * torch.softmax(x / self.temperature, 0)], 2)

    def norm(x):
        return nn.functional.instance_norm(x.transpose(1, 2)).transpose(1, 2)

    class Network(nn.Module):
        def __init__(self, wide=64):
            super().__init__()
            self.opcodes, self.axes = nn.Embedding(135, 16), nn.Embedding(8, 4)
            self.first, self.second = nn.Linear(features, wide // 2), nn.Linear(wide, wide // 2)
            self.convolutions = nn.ModuleList([Convolution(wide, wide // 2) for _ in range(2)])
            self.attentions = nn.ModuleList([Attention(wide // 2) for _ in range(4)])
            self.last = nn.Linear(wide, 1)

        def forward(self, numeric, layout, opcode, axes, edges):
            configs = axes.shape[0]
            fixed = torch.cat([numeric, self.axes(layout).flatten(1), self.opcodes(opcode)], 1)
            x = torch.cat([fixed.expand(configs, -1, -1), self.axes(axes).flatten(2)], 2)
            x = nn.functional.gelu(self.attentions[0](norm(self.first(x))))
            x = nn.functional.gelu(self.attentions[1](norm(self.second(x))))
            for convolution, attention in zip(self.convolutions, self.attentions[2:], strict=True):
                x = nn.functional.gelu(attention(convolution(norm(x), edges)) + x)
            return self.last(x.mean(1)).flatten()

    return Network()


def pruned(data):
    """Configurable nodes, their neighbours and the edges between them; and the new indices of the former."""
    ids, edges = data["node_config_ids"], data["edge_index"]
    touches = np.isin(edges, ids).any(1)
    kept = np.unique(np.concatenate([ids, edges[touches].ravel()]))
    place = np.full(len(data["node_opcode"]), -1)
    place[kept] = np.arange(len(kept))
    return kept, place[edges[touches]], place[ids]


def rank_in_torch(args, data):
    import torch

    torch.set_num_threads(args.threads)
    kept, edges, ids = pruned(data)
    numeric = data["node_feat"][kept][:, :134]
    numeric = torch.tensor((numeric - numeric.mean(0)) / np.maximum(numeric.std(0), 1e-9)).clamp(-10, 10)
    layout = torch.tensor(data["node_feat"][kept][:, 134:] + 1).long()
    opcode = torch.tensor(data["node_opcode"][kept]).long()
    edge = torch.tensor(edges.T.copy())
    network = torch_network(torch, 134 + 24 * 4 + 16)

    def batch(first, last):
        axes = torch.full((last - first, len(kept), 18), 7)
        axes[:, ids] = torch.tensor(data["node_config_feat"][first:last] + 1).long()
        return numeric, layout, opcode, axes, edge

    result = {}
    with torch.inference_mode():
        begin, cpu = time.time(), time.process_time()
        for first in range(0, args.configs, args.batch):
            network(*batch(first, min(first + args.batch, args.configs)))
        result["torch_rank_s"], result["torch_rank_cpu_s"] = time.time() - begin, time.process_time() - cpu
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-5)
    runtime = torch.tensor(data["config_runtime"]).float()
    begin, cpu = time.time(), time.process_time()
    for step in range(args.steps):
        first = step * 64 % (args.configs - 64)
        scores, slower = network(*batch(first, first + 64)), runtime[first : first + 64]
        pairs = (slower[:, None] > slower[None]).float()
        loss = (torch.relu(1 - (scores[:, None] - scores[None])) * pairs).sum() / (64 * 63 / 2)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1)
        optimizer.step()
    cpu_s = time.process_time() - cpu
    result["torch_train_ms_per_step"], result["torch_train_cpu_ms_per_step"] = (
        1e3 * (time.time() - begin) / args.steps,
        1e3 * cpu_s / args.steps,
    )
    result["torch_peak_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    try:
        import torch_geometric

        result["torch_geometric"] = torch_geometric.__version__
    except ImportError:
        result["torch_geometric"] = None
    return result


def train(args, path, folder):
    """Milliseconds of a step of hone train layout, from the difference of two runs."""
    command = [
        str(args.hone),
        "train",
        "layout",
        str(path),
        "--model",
        "tgraph-code",
        "--split",
        "configs",
        "--configs",
        "64",
    ]
    command += ["--train-folds", "1", "--threads", str(args.threads), "--validation-configs", "2", "--json", "-q"]
    seconds = []
    for steps in (args.steps, 2 * args.steps):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = ["--steps", str(steps), "--validate-every", str(steps), "-o", f"{folder}/w.safetensors"]
        done = subprocess.run(command + words, stdout=subprocess.PIPE, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        seconds.append((json.loads(done.stdout)["seconds"], cpu))
    return {
        "train_ms_per_step": 1e3 * (seconds[1][0] - seconds[0][0]) / args.steps,
        "train_cpu_ms_per_step": 1e3 * (seconds[1][1] - seconds[0][1]) / args.steps,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("weights")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("--configs", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20, help="training steps to time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torch", action="store_true", help="the same network in PyTorch too")
    args = parser.parse_args()
    data = more_configs(dict(np.load(args.data)), args.configs, args.seed)
    result = {"configs": args.configs, "nodes": len(data["node_opcode"]), "threads": args.threads}
    result["machine"] = machine()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.npz"
        np.savez_compressed(path, **data)
        result |= rank(args, path, args.weights)
        result |= train(args, path, folder)
        result["same_network"] = rank(args, path, Path(folder) / "w.safetensors")
    if args.torch:
        result |= rank_in_torch(args, data)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
