"""Tuned programs in JAX programs, through XLA's foreign function interface."""

import ctypes
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
_registered = []  # the handler library once loaded: JAX keeps its targets for the lifetime of the process
_called = {}  # handle -> program: compiled JAX code holds handles, so programs must stay alive


def call(program: Program, values: Sequence[Any], build: str | Path | None = None) -> list[jax.Array]:
    """The program's outputs as JAX arrays, traced or not. `values`: one per input; None for weights set before."""
    if not _registered:
        _register(build)
    _called[program.handle] = program
    positions = [i for i, value in enumerate(values) if value is not None]
    operands = [_operand(program.inputs[i], values[i], i) for i in positions]
    results = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in program.outputs]
    function = jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")
    return function(
        *operands,
        run=_address(program.library.hone_program_run),
        last_error=_address(program.library.hone_last_error),
        program=np.int64(program.handle),
        inputs=np.int64(len(program.inputs)),
        positions=np.array(positions, np.int64),
    )


def is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def _register(build):
    path = files.find_handler(build)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Error(f"cannot be loaded: {error}", str(path)) from error
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


def _address(function):
    return np.int64(ctypes.cast(function, ctypes.c_void_p).value)
