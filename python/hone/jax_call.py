"""Tuned programs in JAX programs, through XLA's foreign function interface."""

import ctypes
import functools
import os
import threading
import weakref
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
_keys: weakref.WeakKeyDictionary[Program, int] = weakref.WeakKeyDictionary()  # of programs that JAX has called
_taken: set[int] = set()  # those of all programs that there were: JAX may remember them
_kept: set[Program] = set()


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # the thread that may have held it is not in this process


os.register_at_fork(after_in_child=_forked)


def call(program: Program, values: Sequence[Any], build: str | Path | None = None) -> list[jax.Array]:
    """The program's outputs as JAX arrays, traced or not. `values`: one per input; None for weights set before.

    Code that JAX has compiled holds the program. Until then the caller has to, or to keep() it.
    """
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


def keep(program: Program) -> None:
    """For functions that JAX traces now and compiles later, when nobody else may hold the program any more."""
    _kept.add(program)


def is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def _key_of(program: Program, build: str | Path | None) -> int:
    """What a call names the program by: in another process that loads the same package the same, if it is free.

    JAX's cache of compiled code finds a call again by its text, in which an address would be new each time.
    """
    with _lock:
        if not _registered:
            _register(build)
        if program not in _keys:
            key = program.digest
            while key in _taken:  # another one of the same package: its weights may be others
                key = (key + 1) % 2**63
            _taken.add(key)
            _keys[program] = key
            handler, of = _registered[0], program.library
            functions = [_address(f) for f in (of.hone_program_run, of.hone_last_error, of.hone_program_free)]
            handler.hone_ffi_register(key, *functions, program.handle)
            program.give_away(functools.partial(handler.hone_ffi_release, key))
        return _keys[program]


def _register(build: str | Path | None) -> None:
    path = files.find(files.HANDLER, build)
    try:
        library = ctypes.CDLL(str(path))
        library.hone_ffi_register.argtypes = [ctypes.c_int64] + 4 * [ctypes.c_void_p]
        library.hone_ffi_release.argtypes = [ctypes.c_int64]
        parts = {name: getattr(library, f"hone_ffi_{name}") for name in ("type_id", "type_info")}
    except (OSError, AttributeError) as error:
        raise Error(f"cannot be loaded: {error}", str(path), "run 'make build'") from error
    jax.devices("cpu")  # a backend that begins later registers handlers before their types, and fails
    for part in parts.values():
        part.restype = ctypes.c_void_p
    jax.ffi.register_ffi_type(_TARGET, {name: _capsule(part()) for name, part in parts.items()}, platform="cpu")
    stages = {"instantiate": library.hone_ffi_compile, "execute": library.hone_ffi_call}
    capsules = {stage: jax.ffi.pycapsule(function) for stage, function in stages.items()}
    jax.ffi.register_ffi_target(_TARGET, capsules, platform="cpu")
    _registered.append(library)


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)


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
