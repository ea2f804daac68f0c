#!/usr/bin/env python3
"""Steps per second of the pass-ordering environment under random actions, and where the time goes.

Each program gets a fresh worker, so that the first episodes find nothing in memory; an episode has 45 steps.
Prints a Markdown table; with --profile a second one, from samples of the worker's stacks (Linux perf).
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import gymnasium  # noqa: E402
import hone.gym  # noqa: E402, F401
from harness import machine  # noqa: E402
from hone.gym_library import WORKER  # noqa: E402

# The parts of a worker's step: a row's name, and the function whose callees it counts.
PARTS = {
    "passes": "hone::xla_side::run_pass",
    "copying modules": "xla::HloModule::Clone",
    "freeing modules": "xla::HloModule::~HloModule",
    "fingerprints": "hone::xla_side::state_fingerprint",
    "cost analysis": "xla::HloComputation::Accept<xla::HloInstruction const*>",
}


def workers():
    """Processes of the worker program that this process has started."""
    children = (pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split())
    return [pid for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == WORKER]


def cpu_seconds():
    """CPU time of this process and of its worker so far: independent of other load on the machine."""
    own = time.process_time()
    for pid in workers():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        own += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own


class Profile:
    """Samples of the worker's stacks while the block runs; nothing when it is off."""

    def __init__(self, on):
        self.on, self.shares = on, {}

    def __enter__(self):
        if self.on:
            self.file = tempfile.NamedTemporaryFile(suffix=".perf")  # noqa: SIM115, lives until __exit__
            command = ["perf", "record", "-q", "-F", "999", "-g", "-o", self.file.name, "-p", ",".join(workers())]
            self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 10
            while not os.path.getsize(self.file.name) and self.process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
        return self

    def __exit__(self, *_):
        if not self.on:
            return
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        command = ["perf", "report", "-i", self.file.name, "--children", "--stdio", "-g", "none", "--sort", "symbol"]
        report = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for line in report.splitlines():
            share, _, _, *symbol = line[:300].split(maxsplit=3) if line[:300].count("%") > 1 else (0, 0, 0)
            function = "".join(symbol).replace("[abi:cxx11]", "").split("  ")[0].strip()
            for part, wanted in PARTS.items():
                if function.split("(")[0].strip() == wanted:
                    self.shares[part] = max(self.shares.get(part, 0), float(share.rstrip("%")))
        self.file.close()


def measure(path, options):
    """One row: steps/s of the first episodes (nothing cached) and of all, by wall time and by CPU time."""
    kwargs = {"programs": [path], "info": False, "kind": options.id}
    if options.build:
        kwargs["build"] = options.build
    env = gymnasium.make("hone/XlaPassOrder-v0", **kwargs).unwrapped
    _, _ = env.reset(seed=0)
    instructions = env.info()["instructions"]
    chance = random.Random(options.seed)
    with Profile(options.profile) as profile:
        before, begin, cpu, steps, first = env.counters(), time.perf_counter(), cpu_seconds(), 0, None
        for episode in range(options.episodes):
            env.reset(seed=episode)
            done = False
            while not done:
                *_, terminated, truncated, _ = env.step(chance.randrange(len(env.passes)))
                done, steps = terminated or truncated, steps + 1
            if episode + 1 == options.first:
                first = steps / (time.perf_counter() - begin)
            if time.perf_counter() - begin > options.seconds:
                break
        seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    spent = {key: value - before[key] for key, value in env.counters().items()}
    env.close()
    return {
        "program": Path(path).name.split(".")[0],
        "instructions": instructions,
        "steps": steps,
        "first": first,
        "rate": steps / seconds,
        "cpu_rate": steps / cpu,
        "cached": spent["cached"] / steps,
        "changed": spent["changed"] / steps,
        "failed": spent["failed"],
        "pass": spent["pass_ms"] / steps,
        "worker": (spent["call_ms"] - spent["pass_ms"]) / steps,
        "rest": (1e3 * seconds - spent["call_ms"]) / steps,
        "shares": profile.shares,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--id", default="hone/XlaPassOrder-v0")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--first", type=int, default=3, help="episodes that count as cold")
    parser.add_argument("--seconds", type=float, default=60, help="per program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1, help="of each program; the fastest by the clock is shown")
    parser.add_argument("--build")
    parser.add_argument("--profile", action="store_true", help="where the worker's time goes, by perf")
    options = parser.parse_args()
    if options.profile and not shutil.which("perf"):
        parser.error("--profile needs perf (Debian: linux-perf)")
    which = f", the fastest of {options.repeats} by the clock" if options.repeats > 1 else ""
    print(
        f"Random actions, {options.episodes} episodes of 45 steps, one worker, seed {options.seed}{which}; {machine()}."
    )
    print()
    columns = (
        "program, instructions, steps, first episodes: steps/s, steps/s, steps per CPU second, from memory, changed"
    )
    columns += ", failed, pass: ms/step, rest of the worker, rest"
    print("| " + columns.replace(", ", " | ") + " |\n" + "|---" * 12 + "|")
    rows = []
    for path in options.programs:
        row = max((measure(path, options) for _ in range(options.repeats)), key=lambda each: each["rate"])
        rows.append(row)
        first = f"{row['first']:.0f}" if row["first"] else ""
        cells = [
            row["program"],
            row["instructions"],
            row["steps"],
            first,
            f"{row['rate']:.0f}",
            f"{row['cpu_rate']:.0f}",
        ]
        cells += [f"{row['cached']:.0%}", f"{row['changed']:.0%}", row["failed"]]
        cells += [f"{row[part]:.2f}" for part in ("pass", "worker", "rest")]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if options.profile:
        print("\nShares of the worker's processor time:\n\n| program | " + " | ".join(PARTS) + " |")
        print("|---" * (1 + len(PARTS)) + "|")
        for row in rows:
            print(f"| {row['program']} | " + " | ".join(f"{row['shares'].get(part, 0):.0f} %" for part in PARTS) + " |")


if __name__ == "__main__":
    main()
