"""The library of XLA Gym's environments through its C interface (src/passorder/gym_api.h)."""

import ctypes
import json
import os
from collections.abc import Iterable, Mapping
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from gymnasium import spaces

from . import files

LIBRARY = "libhone_gym.so"
WORKER = "hone-xla"

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
    "hone_env_mask": (c_int, [c_void_p, POINTER(c_uint8)]),
    "hone_env_save": (c_char_p, [c_void_p]),
    "hone_env_restore": (c_int, [c_void_p, c_char_p, POINTER(c_float), POINTER(c_float)]),
    "hone_env_episode": (c_char_p, [c_void_p]),
    "hone_env_graph_size": (None, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "hone_env_graph": (None, [c_void_p, POINTER(c_uint8), POINTER(c_float), POINTER(c_int32)]),
}
_VECTOR_FUNCTIONS = {
    "hone_vec_make": (c_void_p, [c_char_p]),
    "hone_vec_free": (None, [c_void_p]),
    "hone_vec_spec": (c_char_p, [c_void_p]),
    "hone_vec_reset": (c_int, [c_void_p, c_uint64, POINTER(c_float), POINTER(c_float)]),
    "hone_vec_step": (
        c_int,
        [
            c_void_p,
            POINTER(c_int64),
            *[POINTER(c_float)] * 2,
            POINTER(c_double),
            POINTER(c_int),
            *[POINTER(c_float)] * 2,
        ],
    ),
    "hone_vec_info": (c_char_p, [c_void_p, c_int64]),
    "hone_vec_last_info": (c_char_p, [c_void_p, c_int64]),
    "hone_vec_mask": (c_int, [c_void_p, POINTER(c_uint8)]),
    "hone_vec_save": (c_char_p, [c_void_p]),
    "hone_vec_restore": (c_int, [c_void_p, c_char_p, POINTER(c_float), POINTER(c_float)]),
}
TERMINATED, TRUNCATED, FAILED = 1, 2, 4

_libraries = {}


def open_library(path: str | os.PathLike) -> ctypes.CDLL:
    """The environments' library; calls release the GIL, since it is not a PyDLL."""
    path = os.path.realpath(path)
    if path not in _libraries:
        library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        for name, (result, arguments) in (_FUNCTIONS | _VECTOR_FUNCTIONS).items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _libraries[path] = library
    return _libraries[path]


def raise_error(library: ctypes.CDLL) -> NoReturn:
    """Bad input is a ValueError, everything else a RuntimeError."""
    error = json.loads(library.hone_gym_error())
    text = f"{error['where']}: {error['message']}" if error.get("where") else error.get("message", "failed")
    text += f" ({error['hint']})" if error.get("hint") else ""
    raise (ValueError if error.get("kind") == "input" else RuntimeError)(text)


def pointer(array: np.ndarray | None, kind: type) -> Any:
    return None if array is None else array.ctypes.data_as(POINTER(kind))


def options_of(
    kind: str,
    programs: str | os.PathLike | Iterable[str | os.PathLike],
    passes: Iterable[str] | None,
    build: str | os.PathLike | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The JSON object of the C interface for the arguments of an environment."""
    programs = [programs] if isinstance(programs, (str, os.PathLike)) else programs
    options = dict(options) | {
        "id": kind,
        "programs": [os.fspath(p) for p in programs],
        "worker": str(files.find(WORKER, build)),
    }
    if options.get("models") is None:
        options["models"] = str(files.shared("models"))
    return options | ({} if passes is None else {"passes": list(passes)})


def read_state(state: Mapping[str, Any] | bytes | str | os.PathLike) -> dict[str, Any]:
    """A saved state as an object: of JSON in bytes or of a file where it is none yet. Raises ValueError for others."""
    if isinstance(state, (str, os.PathLike)):
        state = Path(state).read_bytes()
    if isinstance(state, bytes):
        try:
            state = json.loads(state)
        except ValueError as e:
            raise ValueError(f"not a saved state: {e}") from None
    if not isinstance(state, Mapping) or not isinstance(state.get("random"), Mapping):
        raise ValueError("not a saved state")
    return dict(state)


def write_state(state: dict[str, Any], file: str | os.PathLike | None) -> dict[str, Any]:
    """Writes the state to the file, if there is one, and returns it."""
    if file is not None:
        Path(file).write_text(json.dumps(state) + "\n")
    return state


def observation_space(width: int, costs: int, node_width: int = 0) -> spaces.Space:
    """The space of one environment's observations."""
    if node_width:
        high = np.finfo(np.float32).max
        nodes, edges = (node_width + 1,), (1,)
        return spaces.Graph(spaces.Box(-high, high, nodes, np.float32), spaces.Box(0, 1, edges, np.float32))
    counts = spaces.Box(0, _HIGH, (width,), np.float32)
    if not costs:
        return counts
    return spaces.Dict({"counts": counts, "costs": spaces.Box(0, _HIGH, (costs,), np.float32)})
