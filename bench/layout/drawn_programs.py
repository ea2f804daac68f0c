#!/usr/bin/env python3
"""Draws small JAX programs of linear algebra over short and long axes, for layouts to be learnt from.

    bench/layout/drawn_programs.py build/layout/drawn --count 200      # NAME.mlir of each, programs.json and split.txt

Models hold few loops over matrices with a side of 2 to 64, and what a layout does to them is what trees of models do
not know. A program has two to four axes, arrays over one to three of them, and four to twelve operations drawn among
contractions, elementwise ones that broadcast, reductions, softmax, shifts along an axis and transposes; half of the
programs repeat them in a loop. All are training programs: none resembles another one on purpose.
"""

import argparse
import math
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

MOST_ELEMENTS = 2**19
MOST_PRODUCTS = 2**25
MOST_TRIES = 200  # to add an operation: one that does not fit adds none
SIDES = ((2, 9), (2, 9), (9, 65), (65, 513), (513, 16385))  # least and less than, of axes that are drawn alike

Axes = tuple[str, ...]
Operation = Callable[[list], jnp.ndarray]  # of all arrays so far


def elements(sizes: dict[str, int], axes) -> int:
    return math.prod(sizes[axis] for axis in axes)


def some(draw: random.Random, items, least: int, most: int) -> Axes:
    items = sorted(items)
    return tuple(draw.sample(items, min(len(items), draw.randint(least, most))))


class Drawing:
    """The axes of a program, and of each of its arrays."""

    def __init__(self, draw: random.Random):
        self.draw = draw
        names = "abcd"[: draw.randint(2, 4)]
        sides = [draw.choice(SIDES) for _ in names]
        self.sizes = {
            n: round(least * ((most - 1) / least) ** draw.random())
            for n, (least, most) in zip(names, sides, strict=True)
        }
        self.arrays: list[Axes] = []
        while len(self.arrays) < draw.randint(2, 3):
            axes = some(draw, names, 1, 3)
            while elements(self.sizes, axes) > MOST_ELEMENTS:
                axes = axes[1:]
            self.arrays.append(axes)
        self.inputs = list(self.arrays)
        self.operations: list[Operation] = []

    def add(self, axes: Axes, operation: Operation) -> None:
        if elements(self.sizes, axes) <= MOST_ELEMENTS:
            self.arrays.append(axes)
            self.operations.append(operation)

    def pick(self, axes_least: int = 1) -> int | None:
        """One of the arrays, a late one rather than an early one."""
        wide = [i for i, axes in enumerate(self.arrays) if len(axes) >= axes_least]
        return self.draw.choices(wide, [1 + i for i in wide])[0] if wide else None


def contract(drawing: Drawing) -> None:
    draw, i, j = drawing.draw, drawing.pick(), drawing.pick()
    left, right = drawing.arrays[i], drawing.arrays[j]
    shared = set(left) & set(right)
    if i == j or not shared or elements(drawing.sizes, set(left) | set(right)) > MOST_PRODUCTS:
        return
    summed = some(draw, shared, 1, len(shared))
    axes = tuple(dict.fromkeys(axis for axis in left + right if axis not in summed))
    axes = axes if draw.random() < 0.6 else some(draw, axes, len(axes), len(axes))
    equation = f"{''.join(left)},{''.join(right)}->{''.join(axes)}"
    scale = elements(drawing.sizes, summed) ** -0.5
    drawing.add(axes, lambda arrays: jnp.einsum(equation, arrays[i], arrays[j]) * scale)


def spread(array: jnp.ndarray, axes: Axes, to: Axes) -> jnp.ndarray:
    """With a side of 1 for each axis that it lacks, in the order of `to`."""
    array = array.transpose([axes.index(axis) for axis in to if axis in axes])
    return array.reshape([array.shape[[a for a in to if a in axes].index(axis)] if axis in axes else 1 for axis in to])


def combine(drawing: Drawing) -> None:
    draw, i, j = drawing.draw, drawing.pick(), drawing.pick()
    left, right = drawing.arrays[i], drawing.arrays[j]
    axes = tuple(dict.fromkeys(left + right))
    binary = draw.choice((jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, lambda x, y: (x - y) ** 2))
    if i != j:
        drawing.add(axes, lambda arrays: binary(spread(arrays[i], left, axes), spread(arrays[j], right, axes)))


def reduce(drawing: Drawing) -> None:
    draw, i = drawing.draw, drawing.pick(2)
    if i is None:
        return
    axes = drawing.arrays[i]
    axis, function = draw.randrange(len(axes)), draw.choice((jnp.sum, jnp.sum, jnp.max, jnp.mean))
    scale = drawing.sizes[axes[axis]] ** -0.5 if function is jnp.sum else 1.0
    drawing.add(axes[:axis] + axes[axis + 1 :], lambda arrays: function(arrays[i], axis) * scale)


def along(drawing: Drawing) -> None:
    """Softmax, shifts and differences along one axis."""
    draw, i = drawing.draw, drawing.pick()
    axes = drawing.arrays[i]
    axis, step = draw.randrange(len(axes)), draw.choice((1, -1, 2))
    function = draw.choice(
        (
            lambda x: jax.nn.softmax(x, axis),
            lambda x: jnp.roll(x, step, axis),
            lambda x: x - jnp.roll(x, step, axis),
            lambda x: x - x.mean(axis, keepdims=True),
        )
    )
    drawing.add(axes, lambda arrays: function(arrays[i]))


def single(drawing: Drawing) -> None:
    draw, i = drawing.draw, drawing.pick()
    function = draw.choice((jnp.tanh, lambda x: jnp.exp(-jnp.abs(x)), jnp.square, lambda x: lax.rsqrt(x * x + 1)))
    drawing.add(drawing.arrays[i], lambda arrays: function(arrays[i]))


def transpose(drawing: Drawing) -> None:
    i = drawing.pick(2)
    if i is None:
        return
    axes = drawing.arrays[i]
    order = drawing.draw.sample(range(len(axes)), len(axes))
    drawing.add(tuple(axes[axis] for axis in order), lambda arrays: arrays[i].transpose(order))


def all_of(arrays: list, operations: list[Operation]) -> list:
    for operation in operations:
        arrays = [*arrays, operation(arrays)]
    return arrays


def program(draw: random.Random) -> tuple[Callable, list[tuple[int, ...]]]:
    drawing = Drawing(draw)
    count = draw.randint(4, 12)
    for _ in range(MOST_TRIES):
        if len(drawing.operations) == count:
            break
        draw.choice((contract, contract, combine, combine, reduce, along, single, transpose))(drawing)
    shapes = [tuple(drawing.sizes[axis] for axis in axes) for axes in drawing.inputs]
    steps = draw.choice((1, 1, 2, 3, 5, 8))
    state, last = drawing.inputs[0], drawing.arrays[-1]

    def step(first, *rest):
        out = all_of([first, *rest], drawing.operations)[-1]
        summed = tuple(k for k, axis in enumerate(last) if axis not in state)
        kept = tuple(axis for axis in last if axis in state)
        return first + 0.01 * spread(out.mean(summed) if summed else out, kept, state)

    def call(*arrays):
        if steps == 1:
            return all_of(list(arrays), drawing.operations)[-1]
        return lax.fori_loop(0, steps, lambda _, first: step(first, *arrays[1:]), arrays[0])

    return call, shapes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = (f"drawn_algebra_{arguments.seed}_{number:03}" for number in range(arguments.count))
    programs = ((name, "drawn algebra", *program(random.Random(name))) for name in names)
    write_programs(arguments.folder, programs, part="train")


if __name__ == "__main__":
    main()
