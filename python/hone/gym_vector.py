"""Environments of XLA Gym that are stepped together by the library, one call for all."""

import json
import os
from collections.abc import Sequence
from ctypes import c_double, c_float, c_int, c_int64, c_uint8
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import files
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

_SEEDS = np.iinfo(np.int64).max


class XlaPassOrderVector(VectorEnv):
    """`num_envs` environments as one; `gymnasium.make_vec(ID, N, "vector_entry_point", programs=...)` makes it, too.

    Rows of observations, rewards and flags belong to an environment each. An episode that ends is followed by the next
    one in the same step (AutoresetMode.SAME_STEP): the observation is the first of the new episode, the last one of
    the old stands in info["final_obs"] and its info in info["final_info"]. The seed of `reset` and the number of an
    environment and of its episode determine the program of every episode.

    kind, programs, passes, build and options: as of XlaPassOrder, but no environments whose observations are graphs.
    workers: processes that run XLA (default: one per CPU of the process, at most one per environment).
    info: whether `step` returns info of all environments, and not only of those whose episode ended.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(
        self,
        num_envs: int = 1,
        kind: str = "hone/XlaPassOrder-v0",
        programs: str | os.PathLike | Sequence[str | os.PathLike] = (),
        passes: Sequence[str] | None = None,
        workers: int | None = None,
        build: str | os.PathLike | None = None,
        info: bool = False,
        **options: Any,
    ) -> None:
        self._handle, self.num_envs, self._want_info = None, num_envs, info
        self._library = open_library(files.find(LIBRARY, build))
        if workers is None:
            workers = min(num_envs, len(os.sched_getaffinity(0)))
        options = {"info_costs": info} | options
        made = options_of(kind, programs, passes, build, options) | {"count": num_envs, "workers": workers}
        self._handle = self._library.hone_vec_make(json.dumps(made).encode())
        if not self._handle:
            raise_error(self._library)
        layout = json.loads(self._library.hone_vec_spec(self._handle))
        self.passes, self.programs = layout["actions"], layout["programs"]
        width, costs = layout["observation_width"], layout["cost_width"]
        self._values = np.zeros((num_envs, width), np.float32)
        self._costs = np.zeros((num_envs, costs), np.float32) if costs else None
        self.single_observation_space = observation_space(width, costs)
        self.single_action_space = spaces.Discrete(len(self.passes))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        if options:
            raise ValueError(f"there are no options of reset: {', '.join(options)}")
        draw = seed if seed is not None else int(self.np_random.integers(_SEEDS))
        pointers = pointer(self._values, c_float), pointer(self._costs, c_float)
        if not self._library.hone_vec_reset(self._open(), draw, *pointers):
            raise_error(self._library)
        return self._observation(self._values, self._costs), self._infos()

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        actions = self._checked(actions)
        rewards, flags = np.zeros(self.num_envs, np.float64), np.zeros(self.num_envs, np.int32)
        last = np.zeros_like(self._values)
        last_costs = None if self._costs is None else np.zeros_like(self._costs)
        done = self._library.hone_vec_step(
            self._open(),
            pointer(actions, c_int64),
            pointer(self._values, c_float),
            pointer(self._costs, c_float),
            pointer(rewards, c_double),
            pointer(flags, c_int),
            pointer(last, c_float),
            pointer(last_costs, c_float),
        )
        if not done:
            raise_error(self._library)
        terminated, truncated = (flags & TERMINATED) != 0, (flags & TRUNCATED) != 0
        infos = self._infos()
        for i in np.flatnonzero(terminated | truncated):
            final = self._observation(last[i], None if last_costs is None else last_costs[i])
            about = json.loads(self._library.hone_vec_last_info(self._open(), int(i)) or raise_error(self._library))
            infos = self._add_info(infos, {"final_obs": final, "final_info": about}, int(i))
        return self._observation(self._values, self._costs), rewards, terminated, truncated, infos

    def _checked(self, actions):
        """The actions as int64 [num_envs]; ValueError before any environment steps if one of them is none."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions have shape {actions.shape}, not ({self.num_envs},)")
        if actions.dtype.kind not in "iu":
            raise ValueError(f"actions are of type {actions.dtype}, not integers")
        outside = actions[(actions < 0) | (actions >= len(self.passes))]
        if len(outside):
            raise ValueError(f"action {outside[0]} is out of range (0 to {len(self.passes) - 1})")
        return np.ascontiguousarray(actions, np.int64)

    def action_masks(self) -> np.ndarray:
        """Bools [num_envs, passes], as XlaPassOrder.action_masks of every environment."""
        masks = np.empty((self.num_envs, len(self.passes)), np.uint8)
        if not self._library.hone_vec_mask(self._open(), pointer(masks, c_uint8)):
            raise_error(self._library)
        return masks.astype(bool)

    def save(self, file: str | os.PathLike | None = None) -> dict[str, Any]:
        """The state as an object for JSON, which is written to `file`, too, if one is given.

        It has the seed, the episode, actions and fingerprint of every environment, the generator of later seeds, and
        the passes and programs, which `restore` compares.
        """
        state = json.loads(self._library.hone_vec_save(self._open()) or raise_error(self._library))
        return write_state(state | {"random": self.np_random.bit_generator.state}, file)

    def restore(self, state: dict[str, Any] | bytes | str | os.PathLike) -> tuple[Any, dict]:
        """Continues from `save` of as many environments with the same options. Returns the observations and infos.

        state: the object, its JSON in bytes, or the path of its file. Raises ValueError that names what differs, for a
        state of other passes, programs or numbers of environments, or of another XLA, whose passes lead elsewhere.
        """
        state = read_state(state)
        own = {name: value for name, value in state.items() if name != "random"}
        pointers = pointer(self._values, c_float), pointer(self._costs, c_float)
        if not self._library.hone_vec_restore(self._open(), json.dumps(own).encode(), *pointers):
            raise_error(self._library)
        self.np_random.bit_generator.state = state["random"]
        return self._observation(self._values, self._costs), self._infos()

    def close_extras(self, **kwargs: Any) -> None:
        if self._handle:
            self._library.hone_vec_free(self._handle)
            self._handle = None

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close_extras()

    def _open(self):
        if not self._handle:
            raise RuntimeError("the environments are closed")
        return self._handle

    @staticmethod
    def _observation(values, costs):
        return values.copy() if costs is None else {"counts": values.copy(), "costs": costs.copy()}

    def _infos(self):
        infos = {}
        for i in range(self.num_envs if self._want_info else 0):
            about = json.loads(self._library.hone_vec_info(self._open(), i) or raise_error(self._library))
            infos = self._add_info(infos, about, i)
        return infos
