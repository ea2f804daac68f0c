"""Conversion of arrays to and from a program: aligned NumPy views of the user's arrays, without copies if possible."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64  # bytes; XLA reads inputs with this alignment in place

# XLA's PrimitiveType numbers. Types that NumPy lacks have their names in ml_dtypes.
_NUMPY_TYPES = {
    1: "bool",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "complex64",
    18: "complex128",
}
_ML_TYPES = {
    16: "bfloat16",
    19: "float8_e5m2",
    20: "float8_e4m3fn",
    23: "float8_e4m3b11fnuz",
    24: "float8_e5m2fnuz",
    25: "float8_e4m3fnuz",
    28: "float8_e4m3",
    29: "float8_e3m4",
    33: "float8_e8m0fnu",
}


def dtype_of(primitive_type: int) -> np.dtype:
    """The NumPy dtype of an XLA element type."""
    if primitive_type in _NUMPY_TYPES:
        return np.dtype(_NUMPY_TYPES[primitive_type])
    if primitive_type in _ML_TYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_TYPES[primitive_type]))
    raise TypeError(f"XLA element type {primitive_type} has no NumPy equivalent")


def empty(shape: Sequence[int], dtype: npt.DTypeLike) -> np.ndarray:
    """An uninitialised aligned array."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, raw, -raw.ctypes.data % ALIGNMENT)


def library_of(value: Any) -> str:
    """The library of an array: "torch", "jax" or "numpy" (for everything else)."""
    root = type(value).__module__.partition(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(root, "numpy")


def as_numpy(value: Any) -> np.ndarray:
    """A NumPy array of the same values, sharing memory if the other library allows it."""
    if isinstance(value, np.ndarray):
        return value
    if library_of(value) == "torch":
        return _torch_as_numpy(value)
    if library_of(value) == "numpy" and hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):
            pass  # read-only, or a type DLPack lacks: the array protocol below copies if necessary
    return np.asarray(value)


def prepare(value: Any, shape: Sequence[int], dtype: npt.DTypeLike, name: str) -> np.ndarray:
    """An aligned, dense array with these values: `value`'s own memory if that is aligned and dense, else a copy.

    Python numbers get the requested type, and arrays are converted if NumPy's "same_kind" rule allows it (float64 to
    float32), as in JAX. TypeError for another kind or shape.
    """
    array = np.asarray(value, dtype) if isinstance(value, (bool, int, float, complex)) else as_numpy(value)
    if array.shape != tuple(shape) or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(
            f"{name}: expected {np.dtype(dtype).name}{list(shape)}, got {array.dtype.name}{list(array.shape)}"
        )
    if array.dtype == dtype and array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0:
        return array
    aligned = empty(shape, dtype)
    aligned[...] = array
    return aligned


def to_library(array: np.ndarray, library: str) -> Any:
    """`array` as a torch tensor or JAX array, on the same memory."""
    if library == "torch":
        return _numpy_as_torch(array)
    if library == "jax":
        import jax.numpy as jnp

        return jnp.asarray(array)
    return array


def _torch_as_numpy(tensor):
    tensor = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _ML_TYPES.values():
        return tensor.numpy()
    import ml_dtypes
    import torch

    bits = torch.int16 if tensor.element_size() == 2 else torch.uint8
    return tensor.view(bits).numpy().view(getattr(ml_dtypes, name))


def _numpy_as_torch(array):
    import torch

    if array.dtype.name not in _ML_TYPES.values():
        return torch.from_numpy(array)
    bits = np.int16 if array.itemsize == 2 else np.uint8
    return torch.from_numpy(array.view(bits)).view(getattr(torch, array.dtype.name))
