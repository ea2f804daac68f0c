"""Transformers in JAX."""

from larger.parts import convolve
from larger.sizes import BERT, GPT2, LLAMA, VIT, WHISPER, Transformer
from program_parts import (
    Program,
    attend,
    block_shapes,
    dense,
    dense_shapes,
    f32,
    gelu,
    i32,
    join_heads,
    layer_norm,
    norm_shapes,
    rms_norm,
    self_attention,
    split_heads,
)

# isort: split
import jax
import jax.numpy as jnp


def causal_bias(length: int) -> jax.Array:
    return jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)


def pre_norm(w, x, heads: int, bias):
    x = x + self_attention(w, layer_norm(w["norm1"], x), heads, bias)
    return x + dense(w["down"], gelu(dense(w["up"], layer_norm(w["norm2"], x))))


def transformer_shapes(sizes: Transformer) -> list[dict]:
    return [block_shapes(sizes.width, 4 * sizes.width) for _ in range(sizes.layers)]


def bert_base() -> Program:
    def run(w, tokens, segments, mask):
        x = layer_norm(w["norm"], w["tokens"][tokens] + w["segments"][segments] + w["positions"])
        bias = jnp.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in w["layers"]:
            x = layer_norm(layer["norm1"], x + self_attention(layer, x, BERT.heads, bias))
            hidden = jax.nn.gelu(dense(layer["up"], x), approximate=False)
            x = layer_norm(layer["norm2"], x + dense(layer["down"], hidden))
        return x, jnp.tanh(dense(w["pooler"], x[:, 0]))

    weights = {
        "tokens": f32(BERT.vocabulary, BERT.width),
        "segments": f32(2, BERT.width),
        "positions": f32(BERT.length, BERT.width),
        "norm": norm_shapes(BERT.width),
        "layers": transformer_shapes(BERT),
        "pooler": dense_shapes(BERT.width, BERT.width),
    }
    return Program(run, weights, (i32(1, BERT.length),) * 3)


def gpt2() -> Program:
    """All tokens of a prompt; the embedding is also the last dot."""

    def run(w, tokens):
        x = w["tokens"][tokens] + w["positions"]
        for layer in w["layers"]:
            x = pre_norm(layer, x, GPT2.heads, causal_bias(GPT2.length))
        return layer_norm(w["norm"], x) @ w["tokens"].T

    weights = {
        "tokens": f32(GPT2.vocabulary, GPT2.width),
        "positions": f32(GPT2.length, GPT2.width),
        "layers": transformer_shapes(GPT2),
        "norm": norm_shapes(GPT2.width),
    }
    return Program(run, weights, (i32(1, GPT2.length),))


def vit_base() -> Program:
    def run(w, x):
        patch = jax.lax.conv_general_dilated(
            x, w["patch"]["kernel"], (16, 16), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        patches = (patch + w["patch"]["bias"]).reshape(x.shape[0], -1, VIT.width)
        x = jnp.concatenate([w["class"][None, None], patches], axis=1) + w["positions"]
        for layer in w["layers"]:
            x = pre_norm(layer, x, VIT.heads, 0.0)
        return dense(w["head"], layer_norm(w["norm"], x)[:, 0])

    weights = {
        "patch": {"kernel": f32(16, 16, 3, VIT.width), "bias": f32(VIT.width)},
        "class": f32(VIT.width),
        "positions": f32(VIT.length, VIT.width),
        "layers": transformer_shapes(VIT),
        "norm": norm_shapes(VIT.width),
        "head": dense_shapes(VIT.width, 1000),
    }
    return Program(run, weights, (f32(1, 224, 224, 3),))


def whisper_tiny() -> Program:
    """The encoder over 30 seconds of sound and the decoder over the first tokens."""
    heads, width = WHISPER.heads, WHISPER.width

    def cross(w, x, sound):
        q = split_heads(dense(w["query"], x), heads)
        k, v = (split_heads(part, heads) for part in jnp.split(dense(w["keys_values"], sound), 2, axis=-1))
        return dense(w["out"], join_heads(attend(q, k, v, 0.0)))

    def run(w, mel, tokens):
        x = gelu(convolve(w["conv1"]["kernel"], mel) + w["conv1"]["bias"])
        x = gelu(convolve(w["conv2"]["kernel"], x, 2) + w["conv2"]["bias"]) + w["frames"]
        for layer in w["encoder"]:
            x = pre_norm(layer, x, heads, 0.0)
        sound = layer_norm(w["encoded"], x)
        y = w["tokens"][tokens] + w["positions"]
        for layer in w["decoder"]:
            inner = layer["block"]
            y = y + self_attention(inner, layer_norm(inner["norm1"], y), heads, causal_bias(WHISPER.tokens))
            y = y + cross(layer["cross"], layer_norm(layer["cross"]["norm"], y), sound)
            y = y + dense(inner["down"], gelu(dense(inner["up"], layer_norm(inner["norm2"], y))))
        return layer_norm(w["decoded"], y) @ w["tokens"].T

    cross_shapes = {
        "norm": norm_shapes(width),
        "query": dense_shapes(width, width),
        "keys_values": dense_shapes(width, 2 * width),
        "out": dense_shapes(width, width),
    }
    weights = {
        "conv1": {"kernel": f32(3, 80, width), "bias": f32(width)},
        "conv2": {"kernel": f32(3, width, width), "bias": f32(width)},
        "frames": f32(WHISPER.length, width),
        "encoder": transformer_shapes(WHISPER),
        "encoded": norm_shapes(width),
        "tokens": f32(WHISPER.vocabulary, width),
        "positions": f32(WHISPER.tokens, width),
        "decoder": [{"block": block, "cross": cross_shapes} for block in transformer_shapes(WHISPER)],
        "decoded": norm_shapes(width),
    }
    return Program(run, weights, (f32(1, 2 * WHISPER.length, 80), i32(1, WHISPER.tokens)))


def llama_100m() -> Program:
    """One token of a decoder of 100 million weights: grouped queries, rotary positions, SwiGLU, a cache of keys and
    values in which the position is written."""
    size = LLAMA.width // LLAMA.heads

    def rotate(x, position):
        half = size // 2
        angles = position * 10000.0 ** (-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate(
            [a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], axis=-1
        )

    def attention(w, x, cache, position):
        where = position.astype(jnp.float32)
        q = rotate(split_heads(x @ w["query"], LLAMA.heads), where)
        k = rotate(split_heads(x @ w["key"], LLAMA.groups), where)
        v = split_heads(x @ w["value"], LLAMA.groups)
        keys = jax.lax.dynamic_update_slice(cache["keys"], k, (0, 0, position, 0))
        values = jax.lax.dynamic_update_slice(cache["values"], v, (0, 0, position, 0))
        grouped = q.reshape(1, LLAMA.groups, -1, size)
        bias = jnp.where(jnp.arange(LLAMA.length) <= position, 0.0, -1e9)
        mixed = attend(grouped, keys, values, bias).reshape(1, LLAMA.heads, 1, size)
        return join_heads(mixed) @ w["out"], {"keys": keys, "values": values}

    def run(w, token, position, caches):
        x, written = w["tokens"][token][:, None, :], []
        for layer, cache in zip(w["layers"], caches, strict=True):
            mixed, cache = attention(layer, rms_norm(layer["norm1"], x), cache, position)
            written.append(cache)
            x = x + mixed
            h = rms_norm(layer["norm2"], x)
            x = x + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"]
        return rms_norm(w["norm"], x[:, 0]) @ w["tokens"].T, written

    width, narrow = LLAMA.width, LLAMA.groups * size
    layer = {
        "norm1": f32(width),
        "query": f32(width, width),
        "key": f32(width, narrow),
        "value": f32(width, narrow),
        "out": f32(width, width),
        "norm2": f32(width),
        "gate": f32(width, LLAMA.hidden),
        "up": f32(width, LLAMA.hidden),
        "down": f32(LLAMA.hidden, width),
    }
    weights = {"tokens": f32(LLAMA.vocabulary, width), "layers": [layer] * LLAMA.layers, "norm": f32(width)}
    kept = f32(1, LLAMA.groups, LLAMA.length, size)
    return Program(run, weights, (i32(1), i32(), [{"keys": kept, "values": kept}] * LLAMA.layers))
