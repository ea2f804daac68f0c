"""XLA Gym: ordering XLA's own passes, for Gymnasium.

import gymnasium
import hone.gym  # registers the environments
env = gymnasium.make("hone/XlaPassOrder-v0", programs=["model.mlir"])
"""

import ctypes
import json
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import files

LIBRARY = "libhone_gym.so"
WORKER = "hone-xla"
IDS = tuple(f"hone/XlaPassOrder{kind}-v0" for kind in ("", "Shaped", "Costs", "Graph", "ActionHistory", "RunTime"))

_HIGH = 1e9  # upper bound of counts and costs: more instructions than any module has
_FUNCTIONS = {  # name: (result, arguments); see src/passorder/gym_api.h
    "hone_gym_error": (c_char_p, []),
    "hone_env_make": (c_void_p, [c_char_p]),
    "hone_env_clone": (c_void_p, [c_void_p]),
    "hone_env_free": (None, [c_void_p]),
    "hone_env_spec": (c_char_p, [c_void_p]),
    "hone_env_info": (c_char_p, [c_void_p]),
    "hone_env_render": (c_char_p, [c_void_p]),
    "hone_env_reset": (c_int, [c_void_p, c_uint64, c_char_p, POINTER(c_float), POINTER(c_float)]),
    "hone_env_step": (
        c_int,
        [c_void_p, c_int64, POINTER(c_float), POINTER(c_float), POINTER(c_double), POINTER(c_int)],
    ),
    "hone_env_graph_size": (None, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "hone_env_graph": (None, [c_void_p, POINTER(c_uint8), POINTER(c_float), POINTER(c_int32)]),
}
_TERMINATED, _TRUNCATED, _FAILED = 1, 2, 4

_libraries = {}


def _open_library(path):
    """The environments' library; calls release the GIL, since it is not a PyDLL."""
    path = os.path.realpath(path)
    if path not in _libraries:
        library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _libraries[path] = library
    return _libraries[path]


def _raise(library):
    """Bad input is a ValueError, everything else a RuntimeError."""
    error = json.loads(library.hone_gym_error())
    text = f"{error['where']}: {error['message']}" if error.get("where") else error.get("message", "failed")
    text += f" ({error['hint']})" if error.get("hint") else ""
    raise (ValueError if error.get("kind") == "input" else RuntimeError)(text)


def _pointer(array, kind):
    return None if array is None else array.ctypes.data_as(POINTER(kind))


class XlaPassOrder(gymnasium.Env):
    """One program at a time; an action is a pass. The state is the program and the passes so far.

    programs: a file or a list of files; the seed of an episode selects one, or `reset(options={"program": NAME})`.
    passes: names of the actions; None is the default action set. Further options are those of PassEnvOptions
    (src/passorder/pass_env.h): traj_limit, reward_scale, gamma, shaping_scale, log_counts, action_history,
    failure_penalty, measure_ms, threads, max_isa.
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
        self._library = _open_library(files.find(LIBRARY, build))
        self._handle = _handle
        if _handle is None:
            programs = [programs] if isinstance(programs, (str, os.PathLike)) else programs
            options |= {
                "id": kind,
                "programs": [os.fspath(p) for p in programs],
                "worker": str(files.find(WORKER, build)),
            }
            if passes is not None:
                options["passes"] = list(passes)
            self._handle = self._library.hone_env_make(json.dumps(options).encode())
        if not self._handle:
            _raise(self._library)
        layout = json.loads(self._library.hone_env_spec(self._handle))
        self.passes, self.programs = layout["actions"], layout["programs"]
        self.action_space = spaces.Discrete(len(self.passes))
        width, costs, self._node_width = layout["observation_width"], layout["cost_width"], layout["node_width"]
        self._values = np.zeros(width, np.float32) if width else None
        self._costs = np.zeros(costs, np.float32) if costs else None
        self.observation_space = self._space(width, costs)

    def _space(self, width, costs):
        if self._node_width:
            high = np.finfo(np.float32).max
            nodes, edges = (self._node_width + 1,), (1,)
            return spaces.Graph(spaces.Box(-high, high, nodes, np.float32), spaces.Box(0, 1, edges, np.float32))
        counts = spaces.Box(0, _HIGH, (width,), np.float32)
        if not costs:
            return counts
        return spaces.Dict({"counts": counts, "costs": spaces.Box(0, _HIGH, (costs,), np.float32)})

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        program = (options or {}).get("program", "")
        draw = int(self.np_random.integers(np.iinfo(np.int64).max))
        values, costs = _pointer(self._values, c_float), _pointer(self._costs, c_float)
        if not self._library.hone_env_reset(self._open(), draw, os.fsencode(program), values, costs):
            _raise(self._library)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is out of range (0 to {len(self.passes) - 1})")
        reward, flags = c_double(), c_int()
        values, costs = _pointer(self._values, c_float), _pointer(self._costs, c_float)
        done = self._library.hone_env_step(self._open(), int(action), values, costs, byref(reward), byref(flags))
        if not done:
            _raise(self._library)
        if self.render_mode == "human":
            print(self._text())
        terminated, truncated = bool(flags.value & _TERMINATED), bool(flags.value & _TRUNCATED)
        return self._observation(), reward.value, terminated, truncated, self._info()

    def render(self) -> str | None:
        if self.render_mode == "ansi":
            return self._text()
        if self.render_mode == "human":
            print(self._text())
        return None

    def clone(self) -> "XlaPassOrder":
        """An independent environment in the same state; shares the worker process."""
        copy = XlaPassOrder(
            render_mode=self.render_mode,
            build=self._build,
            info=self._want_info,
            _handle=self._library.hone_env_clone(self._open()) or _raise(self._library),
        )
        return copy

    def info(self) -> dict[str, Any]:
        """The info that `step` returns, regardless of the option `info`."""
        return json.loads(self._library.hone_env_info(self._open()) or _raise(self._library))

    def counters(self) -> dict[str, Any]:
        """Counters of the worker's session: steps, cached steps, changes, failures; ms in passes and in calls."""
        return json.loads(self._library.hone_env_spec(self._open()) or _raise(self._library))["counters"]

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
        return (self._library.hone_env_render(self._open()) or _raise(self._library)).decode()

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
            self._open(), _pointer(opcodes, c_uint8), _pointer(features, c_float), _pointer(links, c_int32)
        )
        nodes = np.column_stack([opcodes.astype(np.float32), features])
        return spaces.GraphInstance(nodes, np.ones((len(links), 1), np.float32), links)


FORMER_IDS = ("hone/XlaPassOrderTaken-v0",)  # XlaPassOrderActionHistory-v0 before version 0.2

for _id in IDS + FORMER_IDS:
    gymnasium.register(_id, entry_point="hone.gym:XlaPassOrder", kwargs={"kind": _id}, order_enforce=True)
