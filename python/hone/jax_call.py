"""Tuned programs in JAX programs, through XLA's foreign function interface."""

import ctypes
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import files
from .errors import Error
from .runtime import Program

_TARGET = "hone_call"
_lock = threading.Lock()
_registered: list[ctypes.CDLL] = []  # the handler library once loaded: JAX keeps its targets
_called: dict[
    int, tuple[int, Program]
] = {}  # handle -> (key, program): compiled JAX code has keys, so programs live on
_keys: set[int] = set()


def call(program: Program, values: Sequence[Any], build: str | Path | None = None) -> list[jax.Array]:
    """The program's outputs as JAX arrays, traced or not. `values`: one per input; None for weights set before."""
    key = _key_of(program, build)
    positions = [i for i, value in enumerate(values) if value is not None]
    operands = [_operand(program.inputs[i], values[i], i) for i in positions]
    results = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in program.outputs]
    function = jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")
    return function(
        *operands,
        program=np.int64(key),
        inputs=np.int64(len(program.inputs)),
        positions=np.array(positions, np.int64),
    )


def is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def _key_of(program: Program, build: str | Path | None) -> int:
    """What a call names the program by: in another process that loads the same package the same, if it is free.

    JAX's cache of compiled code finds a call again by its text, in which an address would be new each time.
    """
    with _lock:
        if not _registered:
            _register(build)
        if program.handle not in _called:
            key = _digest(program.package)
            while key in _keys:  # another one of the same package: its weights may be others
                key = (key + 1) % 2**63
            _keys.add(key)
            _called[program.handle] = key, program
            run, last_error = program.library.hone_program_run, program.library.hone_last_error
            _registered[0].hone_ffi_register(key, _address(run), _address(last_error), program.handle)
        return _called[program.handle][0]


def _digest(package: Path) -> int:
    digest = hashlib.sha256()
    for path in sorted(package.iterdir()):
        if path.is_file() and not path.name.startswith("report"):
            digest.update(path.name.encode() + path.read_bytes())
    return int.from_bytes(digest.digest()[:8], "big") % 2**63


def _register(build: str | Path | None) -> None:
    path = files.find(files.HANDLER, build)
    try:
        library = ctypes.CDLL(str(path))
        library.hone_ffi_register.argtypes = [ctypes.c_int64] + 3 * [ctypes.c_void_p]
    except (OSError, AttributeError) as error:
        raise Error(f"cannot be loaded: {error}", str(path), "run 'make build'") from error
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(library.hone_ffi_call), platform="cpu")
    _registered.append(library)


def _operand(spec, value, i):
    if isinstance(value, (bool, int, float, complex)):
        return jnp.asarray(value, spec.dtype)
    array = jnp.asarray(value)
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise TypeError(
            f"input {i}: expected {spec.dtype.name}{list(spec.shape)}, got {array.dtype.name}{list(array.shape)}"
        )
    return array


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value
