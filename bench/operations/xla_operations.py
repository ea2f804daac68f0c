"""Single operations as JAX functions, and their exports to StableHLO. torch_operations.py has the same in PyTorch."""

import os
from collections.abc import Callable
from dataclasses import dataclass

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

IMAGES = ("NHWC", "HWIO", "NHWC")


@dataclass
class Operation:
    """One operation of arrays; all are f32 but those that `types` names."""

    function: Callable
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[type, ...] = ()
    most: int = 10  # integers are drawn below it


def convolution(strides=(1, 1), numbers=IMAGES, **options) -> Callable:
    def call(x, kernel):
        return lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=numbers, **options)

    return call


def largest_of_windows(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def standardized(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def normals(key):
    return jax.random.normal(jax.random.wrap_key_data(key), (1 << 20,))


MILLION = ((1 << 20,),)
SQUARE = ((1024, 1024),)
OPERATIONS = {
    "sort 1M": Operation(jnp.sort, MILLION),
    "argsort 256k": Operation(jnp.argsort, ((1 << 18,),)),
    "sort rows 1024x1024": Operation(jnp.sort, SQUARE),
    "top_k 64 of 16x32000": Operation(lambda x: lax.top_k(x, 64)[0], ((16, 32000),)),
    "cumsum 1M": Operation(jnp.cumsum, MILLION),
    "cumsum rows 1024x1024": Operation(lambda x: jnp.cumsum(x, -1), SQUARE),
    "scatter_add 100k rows of 64": Operation(
        lambda x, i: jnp.zeros((1000, 64), np.float32).at[i].add(x),
        ((100000, 64), (100000,)),
        (np.float32, np.int32),
        1000,
    ),
    "gather 100k rows of 64": Operation(lambda x, i: x[i], ((10000, 64), (100000,)), (np.float32, np.int32), 10000),
    "fft 64x4096": Operation(lambda x: jnp.abs(jnp.fft.rfft(x)), ((64, 4096),)),
    "fft2 8x256x256": Operation(lambda x: jnp.abs(jnp.fft.rfft2(x)), ((8, 256, 256),)),
    "conv_transpose 4x4 s2 28x28x128": Operation(
        lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=IMAGES),
        ((1, 28, 28, 128), (4, 4, 128, 64)),
    ),
    "conv3d 3x3x3 16x32x32x32": Operation(
        convolution((1, 1, 1), ("NDHWC", "DHWIO", "NDHWC")), ((1, 16, 32, 32, 32), (3, 3, 3, 32, 32))
    ),
    "conv1d 9 4000x64": Operation(convolution((1,), ("NWC", "WIO", "NWC")), ((1, 4000, 64), (9, 64, 64))),
    "conv grouped 32x8 28x28x256": Operation(convolution(feature_group_count=32), ((1, 28, 28, 256), (3, 3, 8, 256))),
    "conv dilated 2 28x28x64": Operation(convolution(rhs_dilation=(2, 2)), ((1, 28, 28, 64), (3, 3, 64, 64))),
    "maxpool 3x3 s2 112x112x64": Operation(largest_of_windows, ((1, 112, 112, 64),)),
    "maxpool grad": Operation(jax.grad(lambda x: largest_of_windows(x).sum()), ((1, 112, 112, 64),)),
    "normal 1M": Operation(normals, ((2,),), (np.uint32,)),
    "int8 dot 512": Operation(
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=np.int32),
        ((512, 512), (512, 512)),
        (np.int8, np.int8),
    ),
    "batched dot 4096x16x16": Operation(jnp.matmul, ((4096, 16, 16), (4096, 16, 16))),
    "dot 512": Operation(jnp.matmul, ((512, 512), (512, 512))),
    "transpose 4096x4096": Operation(lambda x: x.T + 0, ((4096, 4096),)),
    "argmax 1024x32000": Operation(lambda x: jnp.argmax(x, -1), ((1024, 32000),)),
    "erf 1M": Operation(lax.erf, MILLION),
    "exp 1M": Operation(jnp.exp, MILLION),
    "tanh 1M": Operation(jnp.tanh, MILLION),
    "log 1M": Operation(jnp.log, MILLION),
    "sin 1M": Operation(jnp.sin, MILLION),
    "pow 1M": Operation(lambda x: jnp.power(x, 2.3), MILLION),
    "sum 4M": Operation(jnp.sum, ((1 << 22,),)),
    "sum of columns 4096x1024": Operation(lambda x: jnp.sum(x, 0), ((4096, 1024),)),
    "softmax 1024x1024": Operation(jax.nn.softmax, SQUARE),
    "layernorm 1024x1024": Operation(standardized, SQUARE),
}


def types_of(operation: Operation) -> tuple[type, ...]:
    return operation.types or (np.float32,) * len(operation.shapes)


def text_of(name: str) -> str:
    """StableHLO of the operation alone."""
    operation = OPERATIONS[name]

    def function(*arrays):
        return operation.function(*arrays)

    function.__name__ = "".join(c if c.isalnum() else "_" for c in name)
    types = types_of(operation)
    specs = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in zip(operation.shapes, types, strict=True)]
    return jax.jit(function, keep_unused=True).lower(*specs).as_text()


def values_of(name: str, seed: int) -> list[np.ndarray]:
    """Floats are uniform between 0 and 1, integers between 0 and the operation's `most`."""
    operation, generator = OPERATIONS[name], np.random.default_rng(seed)

    def value(shape, kind):
        if np.issubdtype(kind, np.integer):
            return generator.integers(0, operation.most, shape).astype(kind)
        return generator.random(shape, np.float32)

    return [value(*spec) for spec in zip(operation.shapes, types_of(operation), strict=True)]
