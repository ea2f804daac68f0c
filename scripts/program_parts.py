"""Parts of the programs in JAX: shapes of weights and inputs, and shared layers."""

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None  # only the wheel's C++ part is installed: keep Keras from importing it

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


class Program(NamedTuple):
    function: Callable[..., Any]  # f(weights, *inputs)
    weights: Any  # tree of jax.ShapeDtypeStruct
    inputs: tuple  # trees of jax.ShapeDtypeStruct
    constant: bool = True  # the weights stay the same from call to call


def f32(*dims: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, jnp.float32)


def i32(*dims: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, jnp.int32)


def dense_shapes(inputs: int, outputs: int) -> dict:
    return {"kernel": f32(inputs, outputs), "bias": f32(outputs)}


def norm_shapes(width: int) -> dict:
    return {"scale": f32(width), "bias": f32(width)}


def dense(w, x):
    return x @ w["kernel"] + w["bias"]


def layer_norm(w, x, axis=-1):
    mean = x.mean(axis, keepdims=True)
    variance = jnp.square(x - mean).mean(axis, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * w["scale"] + w["bias"]


def rms_norm(scale, x):
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale


def gelu(x):
    return jax.nn.gelu(x, approximate=True)


def split_heads(x, heads: int):
    """[batch, length, width] -> [batch, heads, length, width / heads]"""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def join_heads(x):
    """[batch, heads, length, size] -> [batch, length, heads * size]"""
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def attend(q, k, v, bias):
    """Scaled dot-product attention; all [batch, heads, length, size], bias added to the scores before the softmax."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1]) + bias
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def block_shapes(width: int, hidden: int) -> dict:
    return {
        "norm1": norm_shapes(width),
        "qkv": dense_shapes(width, 3 * width),
        "out": dense_shapes(width, width),
        "norm2": norm_shapes(width),
        "up": dense_shapes(width, hidden),
        "down": dense_shapes(hidden, width),
    }


def self_attention(w, x, heads: int, bias):
    q, k, v = (split_heads(part, heads) for part in jnp.split(dense(w["qkv"], x), 3, axis=-1))
    return dense(w["out"], join_heads(attend(q, k, v, bias)))
