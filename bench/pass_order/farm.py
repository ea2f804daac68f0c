"""Explored programs spread over processes, each with an XLA worker of its own."""

import collections
import multiprocessing
import time

import programs
import states as explored

SAVE_EVERY_S = 120
FOLDS = 5
EVERY = 10**9  # instructions: no limit


def training_files(limit, steps=None):
    """Training programs up to a number of instructions and all of a folder (steps.py), smallest first; the untouched
    ones that D makes smaller."""
    sizes = programs.sizes()
    files = programs.chosen("training", limit)
    if steps:
        drawn = sorted(steps.glob("steps_*.mlir"))
        sizes |= {name_of(file): len(file.read_text().splitlines()) for file in drawn}
        files += drawn
    return sorted(files, key=lambda file: (sizes.get(name_of(file), 150), file.name))


def family_of(file):
    return programs.family_of(file) or f"example {name_of(file)}"


def folds_of(files):
    """Fold by program: whole families, the largest first, to the fold with the fewest programs."""
    sizes = collections.Counter(family_of(file) for file in files)
    load, fold = [0] * FOLDS, {}
    for family, count in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold[family] = load.index(min(load))
        load[fold[family]] += count
    return {name_of(file): fold[family_of(file)] for file in files}


def name_of(file):
    return file.name.split(".")[0]


def _save(held):
    for states in held.values():
        states.save()


def _serve(pipe, files, folder, build):
    worker = explored.Worker(files, build)
    held = {}
    for file in files:
        states = explored.States(worker, file, folder)
        if states.ratio(0) is not None:
            held[states.name] = states
        states.save()
    pipe.send(list(held))
    saved = time.monotonic()
    while (message := pipe.recv()) is not None:
        work, names, arguments = message
        results = {}
        for name in names:
            if name not in held:
                continue
            results[name] = work(held[name], *arguments)
            if time.monotonic() > saved + SAVE_EVERY_S:
                _save(held)
                saved = time.monotonic()
        pipe.send(results)
    _save(held)


class Farm:
    """`call` runs a function on the states of each named program, where they are held."""

    def __init__(self, files, processes, folder=None, build=None):
        # A worker of XLA must not be copied by a fork, nor an open library.
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for part in range(processes):
            mine, other = context.Pipe()
            arguments = (other, files[part::processes], folder, build)
            self.processes.append(context.Process(target=_serve, args=arguments, daemon=True))
            self.processes[-1].start()
            self.pipes.append(mine)
        self.names = [name for pipe in self.pipes for name in pipe.recv()]

    def call(self, work, *arguments, names=None):
        for pipe in self.pipes:
            pipe.send((work, self.names if names is None else names, arguments))
        results = {}
        for pipe in self.pipes:
            results.update(pipe.recv())
        return results

    def close(self):
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(None)
            process.join()
