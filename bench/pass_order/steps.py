#!/usr/bin/env python3
"""Training steps of small models, drawn by a seed, for agents that order passes to be trained on.

    bench/pass_order/steps.py build/pass_order/steps       # steps_KIND_NN.mlir of each

The training programs at hand are inference, but for nine. These have what training brings: gradients, optimisers,
recomputation behind barriers, loops over layers and over parts of a batch, random numbers, conditionals, mixed
precision. None has attention or belongs to a test family (programs.py).
"""

import argparse
import os
import random
from functools import partial
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("dense", "convolution", "recurrent", "mixer", "experts", "autoencoder")
EACH = 8  # programs of a kind
ACTIVATIONS = (jax.nn.relu, jax.nn.gelu, jax.nn.silu, jnp.tanh, jax.nn.elu)
f32, bf16 = jnp.float32, jnp.bfloat16
Shape = jax.ShapeDtypeStruct


def normalised(x, scale, axes=(-1,)):
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale


def convolved(x, weights, stride=1, groups=1):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, weights, (stride, stride), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )


def pooled(x, most):
    window = (1, 2, 2, 1)
    if most:
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
    return lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / 4


class Drawn:
    """What the seed decides for one program."""

    def __init__(self, kind, number):
        rng = random.Random(f"{kind} {number}")
        self.kind = kind
        self.batch, self.width, self.depth = rng.choice((4, 8, 16)), rng.choice((16, 32, 64)), rng.randint(2, 4)
        self.activation = rng.choice(ACTIVATIONS)
        self.optimiser = rng.choice(("sgd", "momentum", "adam", "adamw", "rmsprop", "lion"))
        self.loss = rng.choice(("gathered", "one-hot", "squared"))
        # By turns, so that every kind has each.
        self.checkpointed, self.scanned, self.accumulated = number % 2 == 0, number % 4 == 1, number % 4 == 3
        self.dropout, self.half, self.scaled = number % 3 == 0, number % 4 == 2, number % 5 == 2
        self.clipped, self.averaged = rng.random() < 0.4, rng.random() < 0.3
        self.most, self.stacked = rng.random() < 0.5, self.scanned or rng.random() < 0.3


def dense_layer(draw, p, x):
    x = draw.activation(normalised(x, p["scale"]) @ p["in"] + p["bias"])
    return x @ p["out"]


def dense_shapes(draw):
    w = draw.width
    return {"scale": (w,), "in": (w, 2 * w), "bias": (2 * w,), "out": (2 * w, w)}


def convolution_layer(draw, p, x):
    h = normalised(convolved(x, p["first"]), p["scale"], (0, 1, 2))
    h = convolved(draw.activation(h), p["depthwise"], groups=h.shape[-1])
    gate = jax.nn.sigmoid(h.mean((1, 2)) @ p["gate"])
    return h * gate[:, None, None]


def convolution_shapes(draw):
    w = draw.width
    return {"first": (3, 3, w, w), "scale": (w,), "depthwise": (3, 3, 1, w), "gate": (w, w)}


def recurrent_layer(draw, p, x):
    """x: [batch, time, width]; a gated recurrent unit."""

    def step(h, now):
        gates = jax.nn.sigmoid(now @ p["in"] + h @ p["state"] + p["bias"])
        reset, update = jnp.split(gates, 2, -1)
        h = update * h + (1 - update) * jnp.tanh(now @ p["new"] + (reset * h) @ p["old"])
        return h, h

    return lax.scan(step, x[:, 0] * 0, x.swapaxes(0, 1))[1].swapaxes(0, 1)


def recurrent_shapes(draw):
    w = draw.width
    return {"in": (w, 2 * w), "state": (w, 2 * w), "bias": (2 * w,), "new": (w, w), "old": (w, w)}


def mixer_layer(draw, p, x):
    """x: [batch, patches, width]."""
    x = x + (draw.activation(normalised(x, p["scale"]).swapaxes(1, 2) @ p["patches"]) @ p["back"]).swapaxes(1, 2)
    return draw.activation(normalised(x, p["scale"]) @ p["in"]) @ p["out"]


def mixer_shapes(draw):
    w = draw.width
    return {"scale": (w,), "patches": (16, 32), "back": (32, 16), "in": (w, 2 * w), "out": (2 * w, w)}


def experts_layer(draw, p, x):
    """The two likeliest of four experts for each row."""
    chance, chosen = lax.top_k(jax.nn.softmax(x @ p["gate"]), 2)
    weight = (jax.nn.one_hot(chosen, 4) * chance[..., None]).sum(-2)
    each = jnp.einsum("eio,bei->beo", p["out"], draw.activation(jnp.einsum("bi,eio->beo", x, p["in"])))
    return jnp.einsum("be,beo->bo", weight, each)


def experts_shapes(draw):
    w = draw.width
    return {"gate": (w, 4), "in": (4, w, w), "out": (4, w, w)}


def autoencoder_layer(draw, p, x):
    """x: [batch, height, height, width], down and up again."""
    h = pooled(draw.activation(convolved(x, p["down"])), draw.most)
    h = draw.activation(convolved(h, p["middle"], stride=2))
    h = lax.conv_transpose(h, p["up"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.repeat(jnp.repeat(h, 2, 1), 2, 2)


def autoencoder_shapes(draw):
    w = draw.width
    return {"down": (3, 3, w, w), "middle": (3, 3, w, w), "up": (3, 3, w, w)}


LAYERS = {
    "dense": (dense_layer, dense_shapes, ()),
    "convolution": (convolution_layer, convolution_shapes, (8, 8)),
    "recurrent": (recurrent_layer, recurrent_shapes, (6,)),
    "mixer": (mixer_layer, mixer_shapes, (16,)),
    "experts": (experts_layer, experts_shapes, ()),
    "autoencoder": (autoencoder_layer, autoencoder_shapes, (8, 8)),
}
CLASSES, WORDS = 10, 100


def layer_of(draw, params, number):
    return jax.tree.map(lambda x: x[number], params["layers"]) if draw.stacked else params["layers"][number]


def loss_of(draw, params, data, labels, key):
    layer = partial(LAYERS[draw.kind][0], draw)
    if draw.checkpointed:
        layer = jax.checkpoint(layer)
    if draw.half:
        params = jax.tree.map(lambda x: x.astype(bf16), params)
    x = params["words"][data] if draw.kind == "recurrent" else data.astype(params["first"].dtype) @ params["first"]

    def block(x, given):
        p, key = given
        h = layer(p, x)
        if draw.dropout:
            h = jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0).astype(h.dtype)
        return (x + h).astype(x.dtype), None

    keys = jax.random.split(key, draw.depth)
    if draw.scanned:
        x, _ = lax.scan(block, x, (params["layers"], keys))
    else:
        for number in range(draw.depth):
            x, _ = block(x, (layer_of(draw, params, number), keys[number]))
    x = x.reshape(x.shape[0], -1, x.shape[-1]).mean(1).astype(f32)
    logits = x @ params["last"].astype(f32)
    if draw.loss == "squared":
        return ((logits - jax.nn.one_hot(labels, CLASSES)) ** 2).mean()
    chances = jax.nn.log_softmax(logits)
    if draw.loss == "one-hot":
        smooth = jax.nn.one_hot(labels, CLASSES) * 0.9 + 0.1 / CLASSES
        return -(chances * smooth).sum(-1).mean()
    return -jnp.take_along_axis(chances, labels[:, None], 1).mean()


def updated(draw, params, gradients, first, second, step):
    """Parameters and moments after one step of the optimiser."""
    rate = 1e-3 * jnp.minimum(1.0, step / 100)
    if draw.optimiser == "sgd":
        return jax.tree.map(lambda p, g: p - rate * g, params, gradients), first, second
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    if draw.optimiser == "momentum":
        return jax.tree.map(lambda p, m: p - rate * m, params, first), first, second
    if draw.optimiser == "lion":
        return jax.tree.map(lambda p, m: p - rate * jnp.sign(m), params, first), first, second
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    if draw.optimiser == "rmsprop":
        moved = jax.tree.map(lambda p, g, v: p - rate * g * lax.rsqrt(v + 1e-8), params, gradients, second)
        return moved, first, second
    decay = 0.01 if draw.optimiser == "adamw" else 0.0
    m, v = 1 / (1 - 0.9**step), 1 / (1 - 0.99**step)
    moved = jax.tree.map(
        lambda p, a, b: p - rate * (a * m / (jnp.sqrt(b * v) + 1e-8) + decay * p), params, first, second
    )
    return moved, first, second


def step_of(draw, params, first, second, step, data, labels, seed):
    key = jax.random.PRNGKey(seed)
    gradient = jax.value_and_grad(lambda p, d, t, k: loss_of(draw, p, d, t, k))
    if draw.accumulated:
        parts = jax.tree.map(lambda x: x.reshape(2, -1, *x.shape[1:]), (data, labels))

        def part(total, given):
            loss, gradients = gradient(params, *given, key)
            return jax.tree.map(jnp.add, total, gradients), loss

        gradients, loss = lax.scan(part, jax.tree.map(jnp.zeros_like, params), parts)
        gradients, loss = jax.tree.map(lambda g: g / 2, gradients), loss.mean()
    else:
        loss, gradients = gradient(params, data, labels, key)
    if draw.clipped:
        norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1 / (norm + 1e-6)), gradients)
    moved = partial(updated, draw, params, gradients, first, second, step)
    if draw.scaled:
        finite = jnp.isfinite(loss)
        params, first, second = lax.cond(finite, moved, lambda: (params, first, second))
    else:
        params, first, second = moved()
    if draw.averaged:
        second = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b, second, params)
    return params, first, second, step + 1, loss


def text_of(kind, number):
    """StableHLO of one program."""
    draw = Drawn(kind, number)
    w, (_, shapes, inner) = draw.width, LAYERS[kind]
    each = {name: Shape((draw.depth, *s) if draw.stacked else s, f32) for name, s in shapes(draw).items()}
    params = {"layers": each if draw.stacked else [each] * draw.depth, "last": Shape((w, CLASSES), f32)}
    if kind == "recurrent":
        params["words"], data = Shape((WORDS, w), f32), Shape((draw.batch, *inner), jnp.int32)
    else:
        params["first"], data = Shape((8, w), f32), Shape((draw.batch, *inner, 8), f32)
    step = jax.jit(partial(step_of, draw), keep_unused=True)
    scalar = Shape((), jnp.int32)
    labels = Shape((draw.batch,), jnp.int32)
    return step.lower(params, params, params, Shape((), f32), data, labels, scalar).as_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "pass_order" / "steps")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for number in range(EACH):
            text = text_of(kind, number)
            (arguments.folder / f"steps_{kind}_{number:02}.mlir").write_text(text)
            print(f"steps_{kind}_{number:02}: {len(text.splitlines())} lines", flush=True)


if __name__ == "__main__":
    main()
