#!/usr/bin/env python3
"""Programs that are served: many threads call loaded packages while others are tuned, loaded and dropped.

    bench/serving.py --seconds 3600 --threads 8

First the calls a second of one thread and of --threads threads, each program with one thread of its own. Then for
--seconds all threads call programs with inputs drawn from a few, while one thread tunes a program anew every
--retune seconds, loads the new package, notes what it answers, and puts it in the old one's place, which is
unloaded when its last call ends. Every result is compared, bit for bit, with what the same package answered to the
same inputs before it was served. Prints one JSON object; exit code 1 if a result differed, a call failed, or the
process grew by more than --most-megabytes over the second half."""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import calls
import harness

PROGRAMS = ("softmax_gelu_chain", "layer_norm_chain", "masked_attention")
VARIANTS = 4


class Served:
    """A loaded package with what it answers to each variant of its inputs before it is served."""

    def __init__(self, package: Path, build: Path):
        import hone

        self.tuned = hone.load(package, build=build, threads=1)
        base = calls.inputs_of(self.tuned._program)
        self.inputs = [[scaled(value, 1 + i / VARIANTS) for value in base] for i in range(VARIANTS)]
        self.expected = [self.tuned._program.run(values) for values in self.inputs]

    def differs(self, variant: int) -> bool:
        results = self.tuned._program.run(self.inputs[variant])
        return not all(map(np.array_equal, results, self.expected[variant]))


def scaled(value, factor: float):
    out = value.copy()
    if out.dtype.kind == "f":
        out *= out.dtype.type(factor)
    return out


def tuned_package(name: str, folder: Path, seed: int, options: argparse.Namespace) -> Path:
    package = folder / f"{name}-{seed}.hone"
    program = harness.ROOT / "examples" / f"{name}.mlir"
    words = ["tune", program, "--budget", "3s", "--threads", 1, "--seed", seed, "--fresh", "--db", folder / "s.db"]
    harness.call_hone(options.build / "hone", [*words, "-o", package, "--quiet"], 120)
    return package


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def calls_per_second(served: list[Served], threads: int, seconds: float) -> float:
    count, until = [0] * threads, time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < until:
            served[(number + count[number]) % len(served)].differs(0)
            count[number] += 1

    run_all([threading.Thread(target=work, args=(number,)) for number in range(threads)])
    return sum(count) / seconds


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Soak:
    def __init__(self, names: list[str], served: list[Served], folder: Path, options: argparse.Namespace):
        self.names, self.served, self.folder, self.options = names, served, folder, options
        self.until = time.monotonic() + options.seconds
        self.done, self.differences, self.failures = [0] * options.threads, [], []
        self.retuned, self.memory = 0, []

    def call(self, number: int) -> None:
        chance = random.Random(f"{self.options.seed} {number}")
        while time.monotonic() < self.until:
            which, variant = chance.randrange(len(self.served)), chance.randrange(VARIANTS)
            try:
                if self.served[which].differs(variant):
                    self.differences.append([self.names[which], variant])
            except Exception as error:  # whatever it is, serving must not end by it
                self.failures.append(f"{type(error).__name__}: {error}")
            self.done[number] += 1

    def retune(self) -> None:
        while time.monotonic() < self.until - 10:
            which = self.retuned % len(self.names)
            package = tuned_package(self.names[which], self.folder, 100 + self.retuned, self.options)
            self.served[which] = Served(package, self.options.build)
            self.retuned += 1
            self.memory.append(resident_megabytes())
            time.sleep(self.options.retune)

    def run(self) -> dict:
        work = [threading.Thread(target=self.call, args=(number,)) for number in range(self.options.threads)]
        run_all([*work, threading.Thread(target=self.retune)])
        half = self.memory[len(self.memory) // 2 :]
        growth = half[-1] - half[0] if len(half) > 1 else 0.0
        return {
            "calls": sum(self.done), "differences": len(self.differences), "failures": self.failures[:5],
            "retuned": self.retuned, "growth_megabytes": round(growth, 1), "megabytes": round(resident_megabytes(), 1),
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--retune", type=float, default=5, help="seconds between tunes (default 5)")
    parser.add_argument("--speed-seconds", type=float, default=10, help="of each measurement of speed (default 10)")
    parser.add_argument("--most-megabytes", type=float, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", type=Path, default=harness.ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hone-serving-") as folder:
        names = list(PROGRAMS)
        packages = [tuned_package(name, Path(folder), 0, options) for name in names]
        served = [Served(package, options.build) for package in packages]
        alone = calls_per_second(served, 1, options.speed_seconds)
        together = calls_per_second(served, options.threads, options.speed_seconds)
        report = {"calls_per_second": {"1": round(alone), str(options.threads): round(together)}}
        report |= Soak(names, served, Path(folder), options).run()
    print(json.dumps(report))
    bad = report["differences"] or report["failures"] or report["growth_megabytes"] > options.most_megabytes
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
