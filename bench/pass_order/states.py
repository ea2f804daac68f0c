"""The states of one program under XLA's passes, as a graph that is explored once and kept on disk.

A state is a number; `after` runs a pass on a state, or looks up what it led to. Searches, the collection of orders and
the controls share these graphs, so that a pass is run on a state once, whoever asks.
"""

import ctypes
import json
import math
import os
import signal
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import hone.files  # noqa: E402
import hone.gym  # noqa: E402
from hone.gym_library import WORKER  # noqa: E402

OWN_ORDER = "simplification"  # XLA:CPU's own, as one action behind all others
UNKNOWN = -1
STEP_LIMIT_S = 600  # of a pass; beyond a pause of the whole machine, which must not count as a pass that hangs
LOADS = 3  # attempts to load a program
MOST_BYTES = 2 << 30  # of the XLA process, which keeps the states of all programs: it is ended then, and begins anew
LOOK_EVERY = 200  # passes


def end_large_workers():
    """The processes of XLA that this one started, where they are large; what they knew is sent again when needed."""
    children = (pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split())
    for pid in children:
        place = Path("/proc") / pid
        if place.joinpath("comm").read_text().strip() != WORKER:
            continue
        pages = int(place.joinpath("statm").read_text().split()[1])
        if pages * os.sysconf("SC_PAGE_SIZE") > MOST_BYTES:
            os.kill(int(pid), signal.SIGKILL)


class Worker:
    """An environment that runs passes on the programs of `files`, one XLA process."""

    def __init__(self, files, build=None):
        self.files = [str(path) for path in files]
        first = hone.gym.XlaPassOrder(programs=self.files[:1], info=False, build=build)
        self.passes = list(first.passes)
        first.close()
        actions = [*self.passes, OWN_ORDER]
        self.environment = hone.gym.XlaPassOrder(
            programs=self.files, passes=actions, info=False, build=build, traj_limit=10**9, step_limit_s=STEP_LIMIT_S
        )
        self.runs = 0  # passes that XLA ran

    def begin(self, path):
        env = self.environment
        values = env._values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        for _ in range(LOADS):
            if env._library.hone_env_reset(env._handle, 0, os.fsencode(str(path)), values, None):
                return
        raise RuntimeError(f"{path} cannot be loaded: {env._library.hone_gym_error().decode()}")

    def run(self, path, history, action):
        """Fingerprint, number of instructions and counts by opcode after `action`; None if it changes nothing."""
        env = self.environment
        self.begin(path)
        values = env._values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        reward, flags = ctypes.c_double(), ctypes.c_int()
        for step in (*history, action):
            if not env._library.hone_env_step(
                env._handle, int(step), values, None, ctypes.byref(reward), ctypes.byref(flags)
            ):
                raise RuntimeError(f"{path}: a step failed")
        self.runs += 1
        if self.runs % LOOK_EVERY == 0:
            end_large_workers()
        said = self.said()
        return (said["fingerprint"], said["instructions"], env._values.copy()) if said["changed"] else None

    def said(self):
        return json.loads(self.environment._library.hone_env_info(self.environment._handle))


class States:
    """The explored states of one program. Action `len(worker.passes)` is XLA's own order."""

    def __init__(self, worker, path, folder=None):
        self.worker, self.path = worker, str(path)
        self.name = Path(path).name.split(".")[0]
        self.width = len(worker.passes) + 1
        self.file = Path(folder) / f"{self.name}.npz" if folder else None
        self.saved = 0
        if self.file and self.file.is_file():
            self._load()
        else:
            worker.begin(path)
            said = worker.said()
            self.number = {said["fingerprint"]: 0}
            self.instructions, self.parent, self.via = [said["instructions"]], [0], [UNKNOWN]
            self.counts = [worker.environment._values.copy()]
            self.next = [[UNKNOWN] * self.width]
        self.steps = 0  # looked up or run
        self.own = self.after(0, self.width - 1)

    def history(self, state):
        """Actions that lead from the untouched program to a state, each of which changes something."""
        actions = []
        while state:
            actions.append(self.via[state])
            state = self.parent[state]
        return actions[::-1]

    def after(self, state, action):
        """The state after a pass; the same if it changes nothing or fails."""
        self.steps += 1
        known = self.next[state][action]
        if known != UNKNOWN:
            return known
        found = self.worker.run(self.path, self.history(state), action)
        reached = state
        if found is not None:
            fingerprint, instructions, counts = found
            reached = self.number.setdefault(fingerprint, len(self.instructions))
            if reached == len(self.instructions):
                self.instructions.append(instructions)
                self.parent.append(state)
                self.via.append(action)
                self.counts.append(counts)
                self.next.append([UNKNOWN] * self.width)
        self.next[state][action] = reached
        return reached

    def ratio(self, instructions):
        """(I - R) / (I - D), as reduction_ratio of passorder/order_trial.h: removing none counts as half a one."""
        removed = self.instructions[0] - self.instructions[self.own]
        return max(0.5, self.instructions[0] - instructions) / removed if removed > 0 else None

    def gain(self, instructions):
        ratio = self.ratio(instructions)
        return math.log(ratio) if ratio else 0.0

    def save(self):
        if not self.file or len(self.instructions) == self.saved:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part.npz")
        np.savez_compressed(
            part,
            fingerprints=np.array(list(self.number)),
            instructions=np.array(self.instructions, np.int32),
            parent=np.array(self.parent, np.int32),
            via=np.array(self.via, np.int16),
            counts=np.array(self.counts, np.int32),
            next=np.array(self.next, np.int32),
        )
        part.rename(self.file)
        self.saved = len(self.instructions)

    def _load(self):
        with np.load(self.file) as kept:
            self.number = {str(text): i for i, text in enumerate(kept["fingerprints"])}
            self.instructions, self.parent = kept["instructions"].tolist(), kept["parent"].tolist()
            self.via, self.next = kept["via"].tolist(), kept["next"].tolist()
            self.counts = list(kept["counts"].astype(np.float32))
        self.saved = len(self.instructions)


def walk(states, actions, begin=0):
    """Runs a fixed list of actions; the fewest instructions on the way and the final state."""
    state, least = begin, states.instructions[begin]
    for action in actions:
        state = states.after(state, action)
        least = min(least, states.instructions[state])
    return least, state


def changing(states, actions, begin=0):
    """The actions of a list that change the program there, up to its best state."""
    state, kept, best, cut = begin, [], states.instructions[begin], 0
    for action in actions:
        reached = states.after(state, action)
        if reached != state:
            kept.append(action)
            state = reached
            if states.instructions[state] < best:
                best, cut = states.instructions[state], len(kept)
    return kept[:cut]
