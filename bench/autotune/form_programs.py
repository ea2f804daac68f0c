#!/usr/bin/env python3
"""Draws small JAX programs around operations that have other forms (see scripts/calibrate_forms.py).

Programs of models hold few sorts, cumulative sums or powers: of each family of decision_families.def that predicted run
times decide, --count programs are drawn, with elementwise work before and after, sizes uniform in the logarithm. They
are never used for training or testing.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
from jax import lax
from jax_programs import write_programs

BEFORE = (lambda x: x, lambda x: x * 2 + 1, jnp.tanh, lambda x: x * x, jnp.abs)
AFTER = (lambda x: x, lambda x: x * 0.5 - 1, jnp.abs, lambda x: jnp.exp(-jnp.abs(x)))

Drawn = tuple[Callable, list[tuple[int, ...]]]


def elements(draw: random.Random, least: float, most: float) -> int:
    """Uniform in the logarithm."""
    return round(least * (most / least) ** draw.random())


def shape(draw: random.Random, least: float = 2**12, most: float = 2**21) -> tuple[int, ...]:
    total, rank = elements(draw, least, most), draw.choice((1, 2, 2, 3))
    sizes = []
    for left in range(rank, 1, -1):
        sizes.append(max(2, elements(draw, 2, max(3, total ** (1.5 / left)))))
        total = max(2, total // sizes[-1])
    return (*sizes, total)


def around(draw: random.Random, operation: Callable) -> Callable:
    before, after = draw.choice(BEFORE), draw.choice(AFTER)
    return lambda *arrays: after(operation(before(arrays[0]), *arrays[1:]))


def cumulative_sum(draw: random.Random) -> Drawn:
    size = shape(draw)
    axis = draw.randrange(len(size))
    return around(draw, lambda x: jnp.cumsum(x, axis)), [size]


def arg_reduction(draw: random.Random) -> Drawn:
    size, find = shape(draw), draw.choice((jnp.argmax, jnp.argmin))
    axis, before = draw.randrange(len(size)), draw.choice(BEFORE)
    return lambda x: find(before(x), axis), [size]


def power(draw: random.Random) -> Drawn:
    exponent = draw.choice((0.75, 1.7, 2.3, -0.4))
    if draw.random() < 0.5:
        return around(draw, lambda x: jnp.power(jnp.abs(x) + 0.1, exponent)), [shape(draw)]
    size = shape(draw)
    return lambda x, y: jnp.power(jnp.abs(x) + 0.1, y), [size, size]


def sine(draw: random.Random) -> Drawn:
    waves = draw.choice((jnp.sin, jnp.cos, lambda x: jnp.sin(x) + jnp.cos(x)))
    return around(draw, waves), [shape(draw)]


def sort(draw: random.Random) -> Drawn:
    size = shape(draw, most=2**19)
    axis, ordered = draw.randrange(len(size)), draw.choice((jnp.sort, jnp.argsort))
    return lambda x: ordered(x, axis), [size]


def whole_sum(draw: random.Random) -> Drawn:
    def mean_square(x, y):
        return jnp.mean((x - y) ** 2)

    size, before = shape(draw), draw.choice(BEFORE)
    return draw.choice(((lambda x: jnp.sum(before(x)), [size]), (mean_square, [size, size])))


def reduction(draw: random.Random) -> Drawn:
    size, axis = shape(draw), draw.choice((0, -1, -1))
    reduce = draw.choice((jnp.sum, jnp.max, jnp.mean, jnp.min))
    kind = draw.randrange(4)
    if kind == 0:
        return around(draw, lambda x: reduce(x, axis)), [size]
    if kind == 1:
        return lambda x: jax.nn.softmax(x, axis), [size]
    if kind == 2:
        return lambda x: (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + 1e-5), [size]
    rows, columns, depth = elements(draw, 16, 512), elements(draw, 8, 64), elements(draw, 8, 64)
    distance = lambda x, y: reduce((x[:, None, :] - y[None, :, :]) ** 2, -1)  # noqa: E731
    return distance, [(rows, depth), (columns, depth)]


def attention(draw: random.Random) -> Drawn:
    heads, length, depth = draw.choice((2, 4, 8)), elements(draw, 32, 512), draw.choice((16, 32, 64))
    masked, scale = draw.random() < 0.5, depth**-0.5

    def call(q, k, v):
        scores = jnp.einsum("hqd,hkd->hqk", q, k) * scale
        if masked:
            scores = jnp.where(jnp.tri(length, dtype=bool), scores, -1e9)
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)

    return call, [(heads, length, depth)] * 3


def small_dots(draw: random.Random) -> Drawn:
    batch = elements(draw, 256, 8192)
    m, k, n = (draw.choice((2, 3, 4, 6, 8, 12, 16)) for _ in range(3))
    return around(draw, jnp.matmul), [(batch, m, k), (batch, k, n)]


def short_loop(draw: random.Random) -> Drawn:
    steps, size = draw.choice((2, 3, 4, 6, 8)), shape(draw, most=2**18)
    step = draw.choice(
        (lambda x: x * 0.9 + jnp.sin(x), lambda x: x - 0.1 * x**3, lambda x: jnp.roll(x, 1, -1) * 0.5 + x)
    )
    return lambda x: lax.fori_loop(0, steps, lambda _, y: step(y), x), [size]


def random_numbers(draw: random.Random) -> Drawn:
    size = shape(draw, most=2**19)
    sample = draw.choice((jax.random.normal, jax.random.uniform))
    return lambda x: x + sample(jax.random.PRNGKey(0), size), [size]


def recurrence(draw: random.Random) -> Drawn:
    steps, batch = elements(draw, 8, 64), draw.choice((1, 2, 4, 8))
    inner, outer = draw.choice((32, 64, 128, 256)), draw.choice((32, 64, 128))

    def call(x, w, u, b):
        def step(h, now):
            h = jnp.tanh(now @ w + h @ u + b)
            return h, h

        return lax.scan(step, jnp.zeros((batch, inner)), x)[1]

    return call, [(steps, batch, outer), (outer, inner), (inner, inner), (inner,)]


def pooling_gradient(draw: random.Random) -> Drawn:
    side, channels = elements(draw, 16, 96), elements(draw, 4, 64)
    window, stride = draw.choice(((2, 2), (3, 2), (3, 1)))

    def pooled(x):
        windows, strides = (1, window, window, 1), (1, stride, stride, 1)
        return (lax.reduce_window(x, -jnp.inf, lax.max, windows, strides, "SAME") ** 2).sum()

    return jax.grad(pooled), [(draw.choice((1, 2, 4)), side, side, channels)]


FAMILIES = (
    cumulative_sum,
    arg_reduction,
    power,
    sine,
    sort,
    whole_sum,
    reduction,
    attention,
    small_dots,
    short_loop,
    random_numbers,
    recurrence,
    pooling_gradient,
)

# Families of which --count programs hold too few operations with another form: so many more.
MORE = {power: 36, whole_sum: 150}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=24, help="programs of each family")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    programs = []
    for family in FAMILIES:
        for number in range(arguments.count + MORE.get(family, 0)):
            name = f"drawn_{family.__name__}_{number:02}"
            programs.append((name, family.__name__, *family(random.Random(f"{arguments.seed} {name}"))))
    write_programs(arguments.folder, programs)


if __name__ == "__main__":
    main()
