"""libhone_runtime.so through its C interface (src/xla/service/runtime_api.h)."""

import ctypes
import hashlib
import os
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays
from .errors import Error
from .result_memory import ResultMemory

_MAX_RANK = 16

_FUNCTIONS = {  # name: (result, arguments)
    "hone_last_error": (c_char_p, []),
    "hone_program_load": (c_void_p, [c_char_p, c_int]),
    "hone_program_load_unkept": (c_void_p, [c_char_p, c_int]),
    "hone_program_load_default": (c_void_p, [c_char_p, c_int]),
    "hone_program_free": (None, [c_void_p]),
    "hone_program_as_tuned": (c_int, [c_void_p]),
    "hone_program_warning": (c_char_p, [c_void_p]),
    "hone_program_num_inputs": (c_int, [c_void_p]),
    "hone_program_num_outputs": (c_int, [c_void_p]),
    "hone_program_input_info": (c_int, [c_void_p, c_int, POINTER(c_int), POINTER(c_int), POINTER(c_int64)]),
    "hone_program_output_info": (c_int, [c_void_p, c_int, POINTER(c_int), POINTER(c_int), POINTER(c_int64)]),
    "hone_program_input_is_weight": (c_int, [c_void_p, c_int]),
    "hone_program_set_weight": (c_int, [c_void_p, c_int, c_void_p]),
    "hone_program_run": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
}

_libraries = {}  # path -> library: XLA's state is per process, so each file is opened once


def open_library(path: str | os.PathLike) -> ctypes.CDLL:
    """The runtime at `path`; its symbols are separate from those of jaxlib and others."""
    path = os.path.realpath(path)
    if path in _libraries:
        return _libraries[path]
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    except OSError as error:
        raise Error(f"cannot be loaded: {error}", path) from error
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    _libraries[path] = library
    return library


@dataclass(frozen=True)
class Spec:
    """Shape and NumPy type of an input or output."""

    shape: tuple
    dtype: np.dtype


class Program:
    """One compiled program. Calls may come from several threads; see runtime_api.h.

    `keep`: whether machine code is read from and kept in the user's cache folder; default XLA's never is.
    `digest`: a number below 2**63 for the contents of the package when it was loaded; the folder may go afterwards.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        package: str | os.PathLike,
        threads: int = 1,
        default: bool = False,
        keep: bool = True,
    ) -> None:
        self._library, self._handle, self._package = library, None, Path(package)
        kept = library.hone_program_load if keep else library.hone_program_load_unkept
        load = library.hone_program_load_default if default else kept
        self._handle = load(os.fsencode(package), threads)
        if not self._handle:
            raise self._error(str(package))
        inputs = self._checked(library.hone_program_num_inputs(self._handle))
        outputs = self._checked(library.hone_program_num_outputs(self._handle))
        self.inputs = [self._spec(library.hone_program_input_info, i) for i in range(inputs)]
        self.outputs = [self._spec(library.hone_program_output_info, i) for i in range(outputs)]
        self.weights = [
            i for i in range(inputs) if self._checked(library.hone_program_input_is_weight(self._handle, i))
        ]
        self._results = [ResultMemory(spec.shape, spec.dtype) for spec in self.outputs]
        self.digest = _digest(self._package)

    def __del__(self):
        if self._handle:
            self._free()

    def give_away(self, release: Callable[[], None]) -> None:
        """From now on the program is freed by someone else, after `release`, which ends with this object."""
        self._free = release

    def _free(self):
        self._library.hone_program_free(self._handle)

    @property
    def handle(self) -> int:
        """The program's handle in the C interface."""
        return self._handle

    @property
    def package(self) -> Path:
        """The folder that it was loaded from."""
        return self._package

    @property
    def as_tuned(self) -> bool:
        """Whether the tuned program runs; else default XLA does, as the package was made for something else."""
        return bool(self._checked(self._library.hone_program_as_tuned(self._handle)))

    @property
    def warning(self) -> str:
        """What differs from where the package was made, and decisions that match nothing; empty without any."""
        text = self._library.hone_program_warning(self._handle)
        if text is None:
            raise self._error(str(self._package))
        return text.decode(errors="replace")

    @property
    def library(self) -> ctypes.CDLL:
        return self._library

    def prepare(self, i: int, value: Any) -> np.ndarray:
        """Input i in a form that the runtime reads in place; see arrays.prepare."""
        return arrays.prepare(value, self.inputs[i].shape, self.inputs[i].dtype, f"input {i}")

    def set_weight(self, i: int, value: Any) -> None:
        array = self.prepare(i, value)
        if self._library.hone_program_set_weight(self._handle, i, array.ctypes.data) != 0:
            raise self._error(f"weight {i}")

    def run(self, values: Sequence[Any]) -> list[np.ndarray]:
        """Runs on one value per input (None for weights) and returns new aligned NumPy arrays."""
        prepared = [None if value is None else self.prepare(i, value) for i, value in enumerate(values)]
        results = [memory.take() for memory in self._results]
        if self._library.hone_program_run(self._handle, _pointers(prepared), _pointers(results)) != 0:
            raise self._error("")
        return results

    def _spec(self, info, i):
        kind, rank, dims = c_int(), c_int(), (c_int64 * _MAX_RANK)()
        if info(self._handle, i, byref(kind), byref(rank), dims) != 0:
            raise self._error("")
        return Spec(tuple(dims[: rank.value]), arrays.dtype_of(kind.value))

    def _checked(self, number):
        if number < 0:
            raise self._error("")
        return number

    def _error(self, where):
        message = self._library.hone_last_error() or b"failed without a reason"
        return Error(message.decode(errors="replace"), where)


def _digest(package: Path) -> int:
    digest = hashlib.sha256()
    try:
        for path in sorted(package.iterdir()):
            if path.is_file() and not path.name.startswith("report"):
                digest.update(path.name.encode() + path.read_bytes())
    except OSError as error:
        raise Error(f"cannot be read: {error}", str(package)) from error
    return int.from_bytes(digest.digest()[:8], "big") % 2**63


def _pointers(values):
    return (c_void_p * len(values))(*[None if value is None else value.ctypes.data for value in values])
