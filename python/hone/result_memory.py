"""Memory of results, which comes back when the last array in it is gone.

The pages of a new array are given by the system as they are first written, which for the results of some programs takes
as long as the program; memory that was written before has them.
"""

import ctypes
import weakref
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from . import arrays

LEAST_BYTES = 128 << 10  # smaller arrays come from memory that the process has
MOST_KEPT = 1  # unused blocks: a result is in use while the next one is made


class _Lease:
    """A mixin of ctypes arrays: what the arrays of one result hold, and their views and tensors through them."""

    def __del__(self):
        kept = self.pool()
        if kept is not None and len(kept) < MOST_KEPT:
            kept.append(self.memory)


class ResultMemory:
    """That of one result of a program. Thread-safe."""

    def __init__(self, shape: Sequence[int], dtype: npt.DTypeLike) -> None:
        self._shape, self._dtype = tuple(shape), np.dtype(dtype)
        self._bytes = int(np.prod(shape, dtype=np.int64)) * self._dtype.itemsize
        self._kept = _Kept()
        self._lease = type("Lease", (_Lease, ctypes.c_ubyte * self._bytes), {})

    def take(self) -> np.ndarray:
        """An uninitialised aligned array in memory that no other array uses."""
        if self._bytes < LEAST_BYTES:
            return arrays.empty(self._shape, self._dtype)
        try:
            memory = self._kept.pop()
        except IndexError:
            memory = arrays.empty([self._bytes], np.uint8)
        lease = self._lease.from_buffer(memory)
        lease.memory, lease.pool = memory, weakref.ref(self._kept)
        return np.ndarray(self._shape, self._dtype, lease)


class _Kept(deque):
    """Unused blocks; not those of a program that is gone."""
