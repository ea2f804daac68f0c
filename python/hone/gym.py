"""XLA Gym: ordering XLA's own passes, for Gymnasium.

import gymnasium
import hone.gym  # registers the environments
env = gymnasium.make("hone/XlaPassOrder-v0", programs=["model.mlir"])
"""

import json
import os
from collections.abc import Sequence
from ctypes import byref, c_double, c_float, c_int, c_int32, c_int64, c_uint8
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import files
from .gym_benchmarks import Results, benchmark, benchmarks
from .gym_library import (
    LIBRARY,
    TERMINATED,
    TRUNCATED,
    observation_space,
    open_library,
    options_of,
    pointer,
    raise_error,
    read_state,
    write_state,
)
from .gym_vector import XlaPassOrderVector

__all__ = ["IDS", "Results", "XlaPassOrder", "XlaPassOrderVector", "benchmark", "benchmarks"]

_KINDS = ("", "Shaped", "Costs", "Graph", "ActionHistory", "ChangeHistory", "PredictedTime", "RunTime")
IDS = tuple(f"hone/XlaPassOrder{kind}-v0" for kind in _KINDS)


class XlaPassOrder(gymnasium.Env):
    """One program at a time; an action is a pass. The state is the program and the passes so far.

    programs: a file or a list of files; the seed of an episode selects one, or `reset(options={"program": NAME})`.
    passes: names of the actions; None is the default action set. Further options are those of PassEnvOptions
    (src/passorder/pass_env.h): traj_limit, reward_scale, gamma, shaping_scale, log_counts, action_history,
    change_history, failure_penalty, probe_masks, models, measure_ms, threads, max_isa.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}

    def __init__(
        self,
        kind: str = IDS[0],
        programs: str | os.PathLike | Sequence[str | os.PathLike] = (),
        passes: Sequence[str] | None = None,
        render_mode: str | None = None,
        build: str | os.PathLike | None = None,
        info: bool = True,
        _handle: int | None = None,
        **options: Any,
    ) -> None:
        self.render_mode, self._want_info, self._build = render_mode, info, build
        self._library = open_library(files.find(LIBRARY, build))
        self._handle = _handle
        if _handle is None:
            text = json.dumps(options_of(kind, programs, passes, build, {"info_costs": info} | options))
            self._handle = self._library.hone_env_make(text.encode())
        if not self._handle:
            raise_error(self._library)
        layout = json.loads(self._library.hone_env_spec(self._handle))
        self.passes, self.programs = layout["actions"], layout["programs"]
        self.action_space = spaces.Discrete(len(self.passes))
        width, costs, self._node_width = layout["observation_width"], layout["cost_width"], layout["node_width"]
        self._values = np.zeros(width, np.float32) if width else None
        self._costs = np.zeros(costs, np.float32) if costs else None
        self.observation_space = observation_space(width, costs, self._node_width)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        program = (options or {}).get("program", "")
        draw = int(self.np_random.integers(np.iinfo(np.int64).max))
        values, costs = pointer(self._values, c_float), pointer(self._costs, c_float)
        if not self._library.hone_env_reset(self._open(), draw, os.fsencode(program), values, costs):
            raise_error(self._library)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is out of range (0 to {len(self.passes) - 1})")
        reward, flags = c_double(), c_int()
        values, costs = pointer(self._values, c_float), pointer(self._costs, c_float)
        done = self._library.hone_env_step(self._open(), int(action), values, costs, byref(reward), byref(flags))
        if not done:
            raise_error(self._library)
        if self.render_mode == "human":
            print(self._text())
        terminated, truncated = bool(flags.value & TERMINATED), bool(flags.value & TRUNCATED)
        return self._observation(), reward.value, terminated, truncated, self._info()

    def render(self) -> str | None:
        if self.render_mode == "ansi":
            return self._text()
        if self.render_mode == "human":
            print(self._text())
        return None

    def action_masks(self) -> np.ndarray:
        """Bools [passes], False for passes that are known to leave the present state as it is.

        The convention of sb3-contrib's MaskablePPO. Known are passes that changed nothing in this state earlier in
        this episode; with `probe_masks=True` those of every pass, at the cost of running each once in every new
        state. Where no pass would change anything, all are True.
        """
        mask = np.empty(len(self.passes), np.uint8)
        if not self._library.hone_env_mask(self._open(), pointer(mask, c_uint8)):
            raise_error(self._library)
        return mask.astype(bool)

    def save(self, file: str | os.PathLike | None = None) -> dict[str, Any]:
        """The state of the episode as an object for JSON: the program, the passes, and the generator of seeds.

        It is written to `file`, too, if one is given. Raises ValueError if no episode has begun.
        """
        state = json.loads(self._library.hone_env_save(self._open()) or raise_error(self._library))
        return write_state(state | {"random": self.np_random.bit_generator.state}, file)

    def restore(self, state: dict[str, Any] | bytes | str | os.PathLike) -> tuple[Any, dict]:
        """Continues from `save`, also in another process: replays the passes. Returns the observation and the info.

        state: the object, its JSON in bytes, or the path of its file. Raises ValueError for what is no such state, and
        for one of another program, of passes that are no actions here, or of another XLA, whose passes lead elsewhere.
        """
        state = read_state(state)
        own = json.dumps({name: value for name, value in state.items() if name != "random"}).encode()
        values, costs = pointer(self._values, c_float), pointer(self._costs, c_float)
        if not self._library.hone_env_restore(self._open(), own, values, costs):
            raise_error(self._library)
        self.np_random.bit_generator.state = state["random"]
        return self._observation(), self._info()

    def write_episode(self, file: str | os.PathLike) -> None:
        """Writes the episode so far: its program and its passes, and what each left, for `hone gym replay`.

        Raises ValueError if no episode has begun.
        """
        text = self._library.hone_env_episode(self._open()) or raise_error(self._library)
        Path(file).write_text(json.dumps(json.loads(text), indent=1) + "\n")

    def clone(self) -> "XlaPassOrder":
        """An independent environment in the same state; shares the worker process."""
        copy = XlaPassOrder(
            render_mode=self.render_mode,
            build=self._build,
            info=self._want_info,
            _handle=self._library.hone_env_clone(self._open()) or raise_error(self._library),
        )
        return copy

    def info(self) -> dict[str, Any]:
        """The info that `step` returns, regardless of the option `info`."""
        return json.loads(self._library.hone_env_info(self._open()) or raise_error(self._library))

    def counters(self) -> dict[str, Any]:
        """Counters of the worker's session: steps, cached steps, changes, failures, restarts; ms in passes and calls.

        A restart is a worker process after the first, whether or not a step failed for it.
        """
        return json.loads(self._library.hone_env_spec(self._open()) or raise_error(self._library))["counters"]

    def close(self) -> None:
        if getattr(self, "_handle", None):
            self._library.hone_env_free(self._handle)
            self._handle = None

    def __del__(self):
        self.close()

    def _open(self):
        if not self._handle:
            raise RuntimeError("the environment is closed")
        return self._handle

    def _text(self):
        return (self._library.hone_env_render(self._open()) or raise_error(self._library)).decode()

    def _info(self):
        return self.info() if self._want_info else {}

    def _observation(self):
        if self._node_width:
            return self._graph()
        if self._costs is None:
            return self._values.copy()
        return {"counts": self._values.copy(), "costs": self._costs.copy()}

    def _graph(self):
        """Nodes [nodes, 1 + features]: the opcode's number, then src/features' columns; links [edges, 2]: from, to.

        Edges have no features; Gymnasium's space requires one, which is always 1.
        """
        nodes, edges = c_int64(), c_int64()
        self._library.hone_env_graph_size(self._open(), byref(nodes), byref(edges))
        opcodes = np.empty(nodes.value, np.uint8)
        features = np.empty((nodes.value, self._node_width), np.float32)
        links = np.empty((edges.value, 2), np.int32)
        self._library.hone_env_graph(
            self._open(), pointer(opcodes, c_uint8), pointer(features, c_float), pointer(links, c_int32)
        )
        nodes = np.column_stack([opcodes.astype(np.float32), features])
        return spaces.GraphInstance(nodes, np.ones((len(links), 1), np.float32), links)


FORMER_IDS = ("hone/XlaPassOrderTaken-v0",)  # XlaPassOrderActionHistory-v0 before version 0.2

for _id in IDS + FORMER_IDS:
    gymnasium.register(
        _id,
        entry_point="hone.gym:XlaPassOrder",
        vector_entry_point="hone.gym:XlaPassOrderVector",
        kwargs={"kind": _id},
        order_enforce=True,
    )
