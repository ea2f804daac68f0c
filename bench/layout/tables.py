#!/usr/bin/env python3
"""Layout rankers compared: trains every model with several seeds, evaluates all of them on the same held-out part, and
prints the tables of the TGraph paper (ranking, ablations) as Markdown.

    bench/layout/tables.py FILE.npz... --steps 400 --seeds 3 -o build/layout
    bench/layout/tables.py data/layouts --split data/splits/layout.txt --steps 1500 --folds 6 --unpruned-steps 1500

Every file or folder is a separate collection, as in the paper. Finished runs are not repeated; a stopped one continues
from its checkpoint.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAIN = {name: ["--model", name] for name in ("tgraph-code", "tgraph", "sage", "linear", "frequent")}
ABLATIONS = {
    "no channel attention": ["--no-channel-attention"],
    "no cross attention": ["--no-cross-attention"],
    "no edges": ["--no-edges"],
    "not pruned": ["--no-prune"],
}


def run(command):
    """The command's JSON; its progress is let through."""
    print("+", " ".join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {done.stdout}")
    return json.loads(done.stdout)


def collection_name(path):
    """layout/xla/random/valid/x.npz -> xla:random; anything else by its name."""
    parts = Path(path).parts
    return ":".join(parts[-4:-2]) if parts[-1].endswith(".npz") and len(parts) > 4 else Path(path).stem


def train(args, data, name, words, seed, steps):
    folder = args.out / collection_name(data).replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / f"{name.replace(' ', '-')}-{seed}.safetensors"
    log = weights.with_suffix(".json")
    if not log.exists():
        command = [str(args.hone), "train", "layout", data, *words, "--seed", str(seed), "--split", args.split]
        if args.split in ("configs", "graphs"):
            command += ["--hold-out", str(args.hold_out)]
        if "sage" not in words:  # which keeps its own
            command += args.options.split()
        command += [
            "--folds",
            str(args.folds),
            "--train-folds",
            str(args.train_folds),
        ]
        command += ["--steps", str(steps), "--validate-every", str(max(1, steps // 8)), "--json", "-o", str(weights)]
        command += ["--checkpoint", str(weights.with_suffix(".checkpoint")), "--resume", "--threads", str(args.threads)]
        log.write_text(json.dumps(run(command)))
    return str(weights)


def judge(args, data, weights):
    command = [
        str(args.hone),
        "eval",
        "layout",
        data,
        "--json",
        "--augment",
        str(args.augment),
        "--threads",
        str(args.threads),
    ]
    for path in weights:
        command += ["--model-file", path]
    return run(command)


def row(label, cell):
    tau = f"{cell['kendall_tau']:.3f} ± {cell['kendall_tau_spread']:.3f}"
    names = ("pair_accuracy", "slowdown_top1", "slowdown_top10")
    shares = [f"{100 * cell[name]:.2f} ± {100 * cell[name + '_spread']:.2f}" for name in names]
    return f"| {label} | {tau} | " + " | ".join(shares) + f" | {cell['tile_score']:.4f} |"


def table(title, result):
    print(f"\n### {title}\n")
    print("| model | tau | ordered pairs % | top 1 slower % | top 10 % | 2 - top 5 / best |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for label in sorted(result["models"], key=lambda name: -result["mean"][name]["kendall_tau"]):
        print(row(label, result["mean"][label]))
    if len(result["graphs"]) > 1:
        for graph in result["graphs"]:
            print(f"\n{graph['graph']}, {graph['configurations']} configurations")
            for label, cell in graph["models"].items():
                print(row(label, cell))
    count = sum(graph["configurations"] for graph in result["graphs"])
    print(f"\n{count} held-out configurations ({result['held_out']}), {len(result['graphs'])} graphs.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help=".npz files or folders")
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "layout")
    parser.add_argument("--split", default="configs", help="configs, graphs, or a split file of programs")
    parser.add_argument("--hold-out", type=float, default=0.2)
    parser.add_argument("--folds", type=int, default=20)
    parser.add_argument("--train-folds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--ablation-steps", type=int, default=0, help="0 = as --steps")
    parser.add_argument("--unpruned-steps", type=int, default=0, help="of those not pruned; 0 = an eighth")
    parser.add_argument("--options", default="", help="of hone train layout, for all but sage: '--hidden 32'")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--augment", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-ablations", action="store_true")
    parser.add_argument("--base", default="tgraph-code", help="the model that ablations are of")
    args = parser.parse_args()
    begin = time.time()
    for data in args.data:
        weights = [train(args, data, n, w, s, args.steps) for s in range(args.seeds) for n, w in MAIN.items()]
        table(f"{collection_name(data)}, {args.steps} steps", judge(args, data, weights))
        if args.no_ablations:
            continue
        steps = args.ablation_steps or args.steps
        base = ["--model", args.base]
        whole = args.base if steps == args.steps else f"base{steps}"  # finished runs are not repeated
        weights = [train(args, data, whole, base, s, steps) for s in range(args.seeds)]
        for name, words in ABLATIONS.items():
            count = (args.unpruned_steps or steps // 8) if name == "not pruned" else steps
            weights += [train(args, data, f"{name}{count}", base + words, s, count) for s in range(args.seeds)]
        table(f"{collection_name(data)}: ablations of {args.base}, {steps} steps", judge(args, data, weights))
    print(f"\n{time.time() - begin:.0f} s in all.")


if __name__ == "__main__":
    main()
