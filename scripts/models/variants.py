"""Single layers: kinds of normalisation and of attention, at sizes where they matter."""

import jax
import jax.numpy as jnp
import numpy as np
from program_parts import Program, attend, dense, dense_shapes, f32, i32, join_heads, norm_shapes, split_heads

from .registry import program


def scaled(w, x):
    return x * w["scale"] + w["bias"]


def standardised(x, axes, epsilon=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.square(x - mean).mean(axes, keepdims=True) + epsilon)


@program("normalisation", (1, 8), "two batch norms with batch statistics and running averages, ReLU between")
def batch_norm(batch: int) -> Program:
    def run(w, x):
        running = []
        for layer in w:
            mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
            running.append((0.9 * layer["mean"] + 0.1 * mean, 0.9 * layer["variance"] + 0.1 * variance))
            x = jax.nn.relu(scaled(layer, (x - mean) * jax.lax.rsqrt(variance + 1e-5)))
        return x, running

    layer = norm_shapes(64) | {"mean": f32(64), "variance": f32(64)}
    return Program(run, [layer] * 2, (f32(batch, 48, 48, 64),))


@program("normalisation", (1, 4), "group norm and instance norm with SiLU on 40x40x96 images")
def group_norm(batch: int) -> Program:
    def run(w, x):
        grouped = x.reshape(batch, 1600, 8, 12)
        x = jax.nn.silu(scaled(w["group"], standardised(grouped, (1, 3)).reshape(x.shape)))
        return jax.nn.silu(scaled(w["instance"], standardised(x, (1, 2))))

    return Program(run, {"group": norm_shapes(96), "instance": norm_shapes(96)}, (f32(batch, 40, 40, 96),))


@program("normalisation", (64, 512), "RMS norm, gate, layer norm and residuals on rows of 768")
def row_norms(batch: int) -> Program:
    def run(w, x, y):
        x = x + y * jax.nn.sigmoid(w["gate"])
        h = x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * w["rms"]
        x = x + jax.nn.gelu(h)
        return scaled(w["norm"], standardised(x, -1)), x

    return Program(run, {"gate": f32(768), "rms": f32(768), "norm": norm_shapes(768)}, (f32(batch, 768),) * 2)


@program("normalisation", (4,), "local response normalisation and 3x3 max pooling, as in AlexNet")
def response_norm(batch: int) -> Program:
    def run(_, x):
        squares = jax.lax.reduce_window(jnp.square(x), 0.0, jax.lax.add, (1, 1, 1, 5), (1, 1, 1, 1), "SAME")
        x = jax.nn.relu(x) * (2.0 + 1e-4 * squares) ** -0.75
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")

    return Program(run, {}, (f32(batch, 27, 27, 96),), constant=False)


@program("normalisation", (1, 4), "weight-standardised 3x3 convolutions with group norm (big transfer)")
def weight_standardised(batch: int) -> Program:
    def run(w, x):
        for layer in w:
            kernel = standardised(layer["kernel"], (0, 1, 2))
            h = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            h = standardised(h.reshape(batch, 576, 8, 8), (1, 3)).reshape(x.shape)
            x = x + jax.nn.relu(scaled(layer, h))
        return x

    return Program(run, [norm_shapes(64) | {"kernel": f32(3, 3, 64, 64)}] * 2, (f32(batch, 24, 24, 64),))


@program("normalisation", (8, 64), "softmax, log-softmax, entropy and top-value masking of 4000 classes")
def softmax_statistics(batch: int) -> Program:
    def run(w, logits):
        logits = logits / (0.5 + jax.nn.sigmoid(w["temperature"]))
        log_p = jax.nn.log_softmax(logits)
        p = jnp.exp(log_p)
        kept = jnp.where(p > 0.1 * p.max(-1, keepdims=True), logits, -1e9)
        return jax.nn.softmax(kept), -(p * log_p).sum(-1), jax.nn.logsumexp(logits, axis=-1)

    return Program(run, {"temperature": f32(4000)}, (f32(batch, 4000),))


WIDTH, LENGTH, HEADS = 256, 128, 8


def qkv_shapes() -> dict:
    return {"qkv": dense_shapes(WIDTH, 3 * WIDTH), "out": dense_shapes(WIDTH, WIDTH)}


def heads_of(w, x):
    return [split_heads(part, HEADS) for part in jnp.split(dense(w["qkv"], x), 3, axis=-1)]


def rows(batch: int):
    return f32(batch, LENGTH, WIDTH)


@program("attention", (1, 4), "multi-query attention: 8 query heads, one key-value head, causal")
def multi_query(batch: int) -> Program:
    size = WIDTH // HEADS

    def run(w, x):
        q = split_heads(x @ w["query"], HEADS)
        k, v = jnp.split(x @ w["pair"], 2, axis=-1)
        scores = jnp.einsum("bhqd,bkd->bhqk", q, k) / np.sqrt(size)
        allowed = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        weights = jax.nn.softmax(jnp.where(allowed, scores, -1e9))
        return join_heads(jnp.einsum("bhqk,bkd->bhqd", weights, v)) @ w["out"]

    weights = {"query": f32(WIDTH, WIDTH), "pair": f32(WIDTH, 2 * size), "out": f32(WIDTH, WIDTH)}
    return Program(run, weights, (rows(batch),))


@program("attention", (1, 4), "linear attention with elu + 1 features and running sums")
def linear_attention(batch: int) -> Program:
    def run(w, x):
        q, k, v = heads_of(w, x)
        q, k = jax.nn.elu(q) + 1.0, jax.nn.elu(k) + 1.0
        state = jnp.cumsum(jnp.einsum("bhkd,bhke->bhkde", k, v), axis=2)
        top = jnp.einsum("bhkd,bhkde->bhke", q, state)
        bottom = jnp.einsum("bhkd,bhkd->bhk", q, jnp.cumsum(k, axis=2))
        return dense(w["out"], join_heads(top / (bottom[..., None] + 1e-6)))

    return Program(run, qkv_shapes(), (rows(batch),))


@program("attention", (1, 4), "sliding-window attention over blocks of 32 and their left neighbours")
def window_attention(batch: int) -> Program:
    block, size = 32, WIDTH // HEADS

    def run(w, x):
        q, k, v = (part.reshape(batch, HEADS, LENGTH // block, block, size) for part in heads_of(w, x))
        k, v = (
            jnp.concatenate([jnp.pad(p, ((0, 0), (0, 0), (1, 0), (0, 0), (0, 0)))[:, :, :-1], p], 3) for p in (k, v)
        )
        scores = jnp.einsum("bhnqd,bhnkd->bhnqk", q, k) / np.sqrt(size)
        distance = jnp.arange(block)[:, None] + block - jnp.arange(2 * block)[None, :]
        weights = jax.nn.softmax(jnp.where((distance >= 0) & (distance < block), scores, -1e9))
        y = jnp.einsum("bhnqk,bhnkd->bhnqd", weights, v).reshape(batch, HEADS, LENGTH, size)
        return dense(w["out"], join_heads(y))

    return Program(run, qkv_shapes(), (rows(batch),))


@program("attention", (1, 4), "attention with relative position vectors, shifted as in Transformer-XL")
def relative_attention(batch: int) -> Program:
    size = WIDTH // HEADS

    def run(w, x):
        q, k, v = heads_of(w, x)
        content = jnp.einsum("bhqd,bhkd->bhqk", q + w["content"][:, None], k)
        position = jnp.einsum("bhqd,hkd->bhqk", q + w["position"][:, None], w["distances"])
        padded = jnp.pad(position, ((0, 0), (0, 0), (0, 0), (1, 0)))
        shifted = padded.reshape(batch, HEADS, LENGTH + 1, LENGTH)[:, :, 1:]
        weights = jax.nn.softmax((content + shifted) / np.sqrt(size))
        return dense(w["out"], join_heads(weights @ v))

    biases = {"content": f32(HEADS, size), "position": f32(HEADS, size), "distances": f32(HEADS, LENGTH, size)}
    return Program(run, qkv_shapes() | biases, (rows(batch),))


@program("attention", (1, 2), "blockwise attention with running maximum and sum (flash), 512 positions")
def blockwise_attention(batch: int) -> Program:
    length, block, size = 512, 64, 32

    def run(_, q, k, v):
        blocks = (part.reshape(batch, HEADS, length // block, block, size).transpose(2, 0, 1, 3, 4) for part in (k, v))

        def step(carry, pair):
            top, total, y = carry
            scores = jnp.einsum("bhqd,bhkd->bhqk", q, pair[0]) / np.sqrt(size)
            new_top = jnp.maximum(top, scores.max(-1, keepdims=True))
            p, fade = jnp.exp(scores - new_top), jnp.exp(top - new_top)
            return (new_top, total * fade + p.sum(-1, keepdims=True), y * fade + p @ pair[1]), None

        start = (jnp.full((batch, HEADS, length, 1), -1e30), jnp.zeros((batch, HEADS, length, 1)), jnp.zeros_like(q))
        (_, total, y), _ = jax.lax.scan(step, start, tuple(blocks))
        return y / total

    return Program(run, {}, (f32(batch, HEADS, length, size),) * 3, constant=False)


@program("attention", (1, 4), "cross-attention of 64 latents to 512 inputs, then a feed-forward (Perceiver)")
def perceiver(batch: int) -> Program:
    def run(w, inputs):
        x = jnp.broadcast_to(w["latents"], (batch, 64, WIDTH))
        h = scaled(w["norm"], standardised(inputs, -1))
        k, v = (split_heads(part, HEADS) for part in jnp.split(dense(w["pair"], h), 2, axis=-1))
        x = x + dense(w["out"], join_heads(attend(split_heads(x @ w["query"], HEADS), k, v, 0.0)))
        return x + dense(w["down"], jax.nn.gelu(dense(w["up"], standardised(x, -1))))

    weights = {
        "latents": f32(64, WIDTH),
        "norm": norm_shapes(64),
        "pair": dense_shapes(64, 2 * WIDTH),
        "query": f32(WIDTH, WIDTH),
        "out": dense_shapes(WIDTH, WIDTH),
        "up": dense_shapes(WIDTH, 4 * WIDTH),
        "down": dense_shapes(4 * WIDTH, WIDTH),
    }
    return Program(run, weights, (f32(batch, 512, 64),))


@program("attention", (1, 4), "axial attention over rows and columns of 24x24 feature maps")
def axial_attention(batch: int) -> Program:
    side, size = 24, 16

    def run(w, x):
        for axis, layer in enumerate(w):
            parts = dense(layer["qkv"], x).reshape(batch, side, side, 3, 4, size)
            q, k, v = (parts[..., n, :, :] for n in range(3))
            pattern = (
                ("byxhd,bzxhd->bhxyz", "bhxyz,bzxhd->byxhd")
                if axis == 0
                else ("byxhd,byzhd->bhyxz", "bhyxz,byzhd->byxhd")
            )
            weights = jax.nn.softmax(jnp.einsum(pattern[0], q, k) / np.sqrt(size))
            x = x + dense(layer["out"], jnp.einsum(pattern[1], weights, v).reshape(batch, side, side, 64))
        return x

    return Program(
        run, [{"qkv": dense_shapes(64, 192), "out": dense_shapes(64, 64)}] * 2, (f32(batch, side, side, 64),)
    )


@program("attention", (1, 4), "gated attention unit: squared ReLU scores, one head of 64, gate of 512")
def gated_attention(batch: int) -> Program:
    def run(w, x):
        h = standardised(x, -1)
        u, v = jnp.split(jax.nn.silu(dense(w["up"], h)), 2, axis=-1)
        z = jax.nn.silu(dense(w["shared"], h))
        q, k = z * w["gamma"][0] + w["beta"][0], z * w["gamma"][1] + w["beta"][1]
        kernel = jnp.square(jax.nn.relu(q @ k.transpose(0, 2, 1) / LENGTH + w["bias"]))
        return x + dense(w["down"], u * (kernel @ v))

    weights = {
        "up": dense_shapes(WIDTH, 1024),
        "shared": dense_shapes(WIDTH, 64),
        "gamma": f32(2, 64),
        "beta": f32(2, 64),
        "bias": f32(LENGTH, LENGTH),
        "down": dense_shapes(512, WIDTH),
    }
    return Program(run, weights, (rows(batch),))


@program("attention", (1, 8), "paged decode: one query over 32 pages of 16 cached positions, gathered by a page table")
def paged_attention(batch: int) -> Program:
    size, pages, page = 32, 32, 16

    def run(_, q, keys, values, table, lengths):
        k = keys[table].reshape(batch, pages * page, HEADS, size)
        v = values[table].reshape(batch, pages * page, HEADS, size)
        scores = jnp.einsum("bhd,bkhd->bhk", q, k) / np.sqrt(size)
        within = jnp.arange(pages * page)[None, None] <= lengths[:, None, None]
        return jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(jnp.where(within, scores, -1e9)), v)

    cache = f32(512, page, HEADS, size)
    return Program(run, {}, (f32(batch, HEADS, size), cache, cache, i32(batch, pages), i32(batch)), constant=False)
