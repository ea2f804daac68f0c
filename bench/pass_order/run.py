#!/usr/bin/env python3
"""Figures 2 to 4 of Ganai et al. 2022 (XLA Gym) on Hone's programs: trains agents on some families of programs, then
lets them, random search and greedy search order the passes of programs of other families.

    bench/pass_order/run.py --quick                # a test of the whole benchmark in minutes
    bench/pass_order/run.py --paper                # the paper's agents, steps and networks: hours a seed; in background

Everything goes to --out (default build/pass_order): policies, one file of numbers per program and seed, summary.md,
results.csv and the figures. Finished parts are not repeated, so a stopped run can be continued. With more --steps than
before all agents but DQN, whose exploration depends on the number, go on where they ended, and are tested anew.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import programs
import summary

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import hone.files  # noqa: E402

# Name: options of `hone gym train`. Networks are 256 wide instead of the paper's 2048 (--layers says otherwise);
# rewards are ten times as large for all, since a whole program's are below one.
AGENTS = {
    "DQN": ["--agent", "dqn"],
    "REINFORCE": ["--agent", "reinforce"],
    "A2C": ["--agent", "a2c"],
    "TRPO": ["--agent", "trpo"],
    "PPO": ["--agent", "ppo"],
    "PPO + shaping": ["--agent", "ppo", "--shaping"],
    "PPO + value features": ["--agent", "ppo", "--environment", "hone/XlaPassOrderCosts-v0", "--value-features"],
    "PPO + taken": ["--agent", "ppo", "--environment", "hone/XlaPassOrderActionHistory-v0"],
    "PPO + GNN": ["--agent", "ppo", "--network", "gnn"],
}
GNN = ["--gnn-hidden", "32", "--gnn-layers", "2", "--batch", "64", "--epochs", "4", "--layers", "128"]
PAPER = ("DQN", "A2C", "TRPO", "PPO", "PPO + value features", "PPO + shaping", "PPO + GNN")
SEARCHES = ("random", "greedy")
CHECKPOINT_EVERY = 20480  # steps; a checkpoint of the paper's agents has 110 MB, DQN's in the end 290


def slug(name):
    return name.lower().replace(" + ", "-").replace(" ", "-")


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="of every agent's training (default 200,000)")
    parser.add_argument("--gnn-steps", type=int, help="of the graph network's, which are slow (default: --steps)")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--agents", help=f"some of: {', '.join(AGENTS)}")
    parser.add_argument("--layers", default="256,256", help="hidden layers; the paper has 2048,2048")
    parser.add_argument("--max-instructions", type=int, default=500, help="of training programs")
    parser.add_argument("--test-max-instructions", type=int, default=10**9)
    parser.add_argument("--rollout", type=int, help="steps per update of all but DQN and A2C (default: hone's, 2048)")
    parser.add_argument("--workers", type=int, help="processes that run XLA in training (default: hone's own)")
    parser.add_argument("--matmul-precision", choices=("highest", "medium"), default="highest", help="of wide layers")
    parser.add_argument("--walks", type=int, default=10, help="orders of 45 passes per program; the first is zero-shot")
    parser.add_argument("--programs", type=int, help="at most, of each test set")
    parser.add_argument("--corpus", type=Path, help="a corpus with RUNNABLE.tsv as a third test set")
    parser.add_argument("--shipped", type=Path, help="a policy to test as well, also behind XLA's own order")
    parser.add_argument("--measure-ms", type=float, default=0, help="of --shipped: run its orders, each so long")
    parser.add_argument("--bound", type=int, default=0, help="walks of a long genetic search beside them")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "pass_order")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--stage", choices=("all", "train", "test", "report"), default="all")
    parser.add_argument("--quick", action="store_true", help="2,000 steps, two seeds, three programs a set")
    parser.add_argument("--paper", action="store_true", help="200,000 steps, 2048 x 2048, the agents of the paper")
    options = parser.parse_args(arguments)
    if options.paper:
        options.layers = "2048,2048"
        options.agents = options.agents or ",".join(PAPER)
    if options.quick:
        options.steps, options.seeds, options.programs = 2000, "0,1", options.programs or 3
        options.test_max_instructions = min(options.test_max_instructions, 2500)
        options.walks, options.layers = 4, "64,64"
    options.steps = options.steps or 200000
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    options.agents = options.agents.split(",") if options.agents else list(AGENTS)
    unknown = [name for name in options.agents if name not in AGENTS]
    if unknown:
        parser.error(f"no such agent: {unknown[0]}")
    options.hone = hone.files.find("hone", options.build)
    return options


class Progress:
    """A line per piece of work, with an estimate of the time left."""

    def __init__(self, label, total):
        self.label, self.total, self.done, self.begin = label, total, 0, time.monotonic()

    def step(self, note):
        self.done += 1
        spent = time.monotonic() - self.begin
        left = spent / self.done * (self.total - self.done)
        print(f"{self.label} {self.done}/{self.total}, {spent:.0f} s, {left:.0f} s left: {note}", file=sys.stderr)


def call(options, *words):
    """One command of hone with --json. Its own progress line goes to standard error."""
    done = subprocess.run([options.hone, *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words[:3]))} failed: {done.stdout.strip()}")
    return json.loads(done.stdout)


def policy_of(options, name, seed):
    return options.out / "policies" / f"{slug(name)}-{seed}.safetensors"


def steps_of(policy):
    """Of the training of a finished policy; 0 without one."""
    report = policy.with_suffix(".json")
    return json.loads(report.read_text())["steps"] if policy.is_file() and report.is_file() else 0


def train_one(options, files, name, seed):
    """A policy, its report beside it as JSON, and the checkpoint from which more steps go on."""
    policy = policy_of(options, name, seed)
    policy.parent.mkdir(parents=True, exist_ok=True)
    gnn, part, checkpoint = "gnn" in AGENTS[name], policy.with_suffix(".part"), policy.with_suffix(".run")
    steps = (gnn and options.gnn_steps) or options.steps
    if steps_of(policy) >= steps:
        return
    if policy.is_file() and "dqn" in AGENTS[name]:
        checkpoint.unlink(missing_ok=True)
    wide = ("--layers", options.layers, "--matmul-precision", options.matmul_precision)
    words = ["gym", "train", *files, *AGENTS[name], *(GNN if gnn else wide)]
    words += ["--steps", steps, "--seed", seed, "--reward-scale", 10, "-o", part]
    words += ["--workers", options.workers] if options.workers else []
    if options.rollout and "dqn" not in AGENTS[name] and "a2c" not in AGENTS[name]:
        words += ["--rollout", options.rollout]
    words += ["--checkpoint", checkpoint, "--checkpoint-every", CHECKPOINT_EVERY, "--resume"]
    said = call(options, *words, "--log-dir", options.out / "logs")
    if said["interrupted"]:
        raise SystemExit("interrupted; the next run continues from the checkpoint")
    policy.with_suffix(".json").write_text(json.dumps(said, indent=1))
    part.rename(policy)


def train(options):
    """One policy per agent and seed."""
    files = programs.chosen("training", options.max_instructions)
    progress = Progress("training", len(options.agents) * len(options.seeds))
    for seed in options.seeds:  # a whole set of agents first, then the next seed
        for name in options.agents:
            train_one(options, files, name, seed)
            progress.step(f"{name}, seed {seed}")


def test_sets(options):
    sets = {name: programs.chosen(name) for name in ("gpt_training", "diverse")}
    if options.corpus:
        sets["corpus"] = programs.corpus(options.corpus)
    sizes = programs.sizes()
    for name, files in sets.items():
        files = [f for f in files if sizes.get(f.name.split(".")[0], 0) <= options.test_max_instructions]
        sets[name] = files[: options.programs] if options.programs else files
    return sets


def evaluate(options, folder, suffix, files, *words):
    """Rows of programs that have none yet, a file each; they share a worker. One that fails has rows with `error`."""
    policies = [Path(word) for word in words if str(word).endswith(".safetensors")]
    newest = max((policy.stat().st_mtime for policy in policies), default=0)

    def known(file):
        rows = folder / f"{file.name.split('.')[0]}{suffix}.json"
        return rows.is_file() and rows.stat().st_mtime >= newest

    missing = [file for file in files if not known(file)]
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    said = call(options, "gym", "eval", *missing, *words)
    rows = {}
    for row in said["programs"]:
        rows.setdefault(row["program"], []).append(row)
    for name, found in rows.items():
        if len(found) == len(said["means"]):  # a program that was interrupted is left for the next run
            (folder / f"{name}{suffix}.json").write_text(json.dumps(found, indent=1))
    if said["interrupted"]:
        raise KeyboardInterrupt


def test(options):
    """Every walker on every test program; walkers of one seed share a worker and its cached states."""
    sets = test_sets(options)
    progress = Progress("testing", len(sets) * len(options.seeds))
    for seed in options.seeds:
        names = [name for name in options.agents if policy_of(options, name, seed).is_file()]
        walkers = [word for name in names for word in ("--policy-file", policy_of(options, name, seed))]
        walkers += [word for search in SEARCHES for word in ("--strategy", search)]
        walkers += ["--walks", options.walks, "--seed", seed]
        for set_name, files in sets.items():
            evaluate(options, options.out / "tests" / set_name, f"-{seed}", files, *walkers)
            progress.step(f"{set_name}, seed {seed}")


def test_shipped(options):
    """A policy to ship: its own walks, those of both starts with run times, and a bound by a long search."""
    for set_name, files in test_sets(options).items():
        if options.shipped:
            words = ["--policy-file", options.shipped, "--start", "both", "--walks", 2 * options.walks]
            words += ["--measure-ms", options.measure_ms]
            evaluate(options, options.out / "shipped" / set_name, "", files, *words)
            words = ["--policy-file", options.shipped, "--walks", options.walks]
            evaluate(options, options.out / "shipped_alone" / set_name, "", files, *words)
        if options.bound:
            evaluate(
                options, options.out / "bound" / set_name, "", files, "--strategy", "genetic", "--walks", options.bound
            )


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        if options.stage in ("all", "train"):
            train(options)
        if options.stage in ("all", "test"):
            test(options)
            test_shipped(options)
    except KeyboardInterrupt:
        print("interrupted; the next run continues", file=sys.stderr)
        return 130
    names = {slug(name): name for name in AGENTS}
    print(summary.write(options.out, names, SEARCHES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
