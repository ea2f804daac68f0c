#!/usr/bin/env python3
"""At which points should Winograd's method F(m x m, r x r) evaluate its polynomials? Tries sets of multiples of 1/8 to
2, and prints those with the smallest error of a convolution in f32 against f64, the largest difference over the largest
value (src/xla/decisions/winograd_matrices.cc)."""

import argparse
import itertools

import numpy as np

GRID = (0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 1.75, 2)


def product(points):
    """Coefficients of the product of (x - point), lowest power first."""
    coefficients = np.array([1.0])
    for point in points:
        coefficients = np.convolve(coefficients, [-point, 1])
    return coefficients


def matrices(m, r, points):
    """AT, G and BT of F(m, r)."""
    n = m + r - 1
    at, g, bt = np.zeros((m, n)), np.zeros((n, r)), np.zeros((n, n))
    for j, x in enumerate(points):
        others = points[:j] + points[j + 1 :]
        at[:, j] = [x**i for i in range(m)]
        g[j] = [x**k / np.prod([x - y for y in others]) for k in range(r)]
        bt[j, : n - 1] = product(others)
    at[m - 1, n - 1] = g[n - 1, r - 1] = 1
    bt[n - 1] = product(points)
    return at, g, bt


def error(m, r, points, seed, depth=48, tiles=60, results=8):
    """Of one convolution of `depth` features: the transforms and the sum in f32, the weights transformed in f64."""
    at, g, bt = matrices(m, r, points)
    rng = np.random.default_rng(seed)
    n = m + r - 1
    inputs, weights = rng.standard_normal((tiles, depth, n, n)), rng.standard_normal((depth, results, r, r))
    single = np.float32
    u = np.einsum("ik,abkl,jl->ijab", g, weights, g).astype(single)
    v = np.einsum(
        "tcil,jl->ijtc", np.einsum("ik,tckl->tcil", bt.astype(single), inputs.astype(single)), bt.astype(single)
    )
    y = np.einsum("ai,ijtc->ajtc", at.astype(single), np.matmul(v, u))
    found = np.einsum("ajtc,bj->abtc", y, at.astype(single))
    exact = np.zeros_like(found, dtype=np.float64)
    for a, b in itertools.product(range(m), range(m)):
        exact[a, b] = np.einsum("tckl,cokl->to", inputs[:, :, a : a + r, b : b + r], weights)
    return np.abs(found - exact).max() / np.abs(exact).max()


def candidates(count):
    """Sets of `count` points: 0 and pairs of opposite ones, and one alone where that is needed."""
    pairs = (count - 1) // 2
    for sizes in itertools.combinations(GRID, pairs):
        base = (0, *(sign * size for size in sizes for sign in (1, -1)))
        if len(base) == count:
            yield base
        else:
            yield from (base + (sign * x,) for x in GRID if x not in sizes for sign in (1, -1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=3)
    parser.add_argument("--tiles", default="2,3,4,5,6", help="numbers of results (default 2,3,4,5,6)")
    parser.add_argument("--best", type=int, default=3, help="how many to print of each (default 3)")
    options = parser.parse_args()
    for m in (int(text) for text in options.tiles.split(",")):
        count = m + options.window - 2
        plain = (0, 1, -1, 2, -2, 0.5, -0.5)[:count]
        rated = sorted((np.mean([error(m, options.window, p, s) for s in range(3)]), p) for p in candidates(count))
        print(f"F({m}, {options.window}): {error(m, options.window, plain, 0):.1e} at {plain}")
        for value, points in rated[: options.best]:
            print(f"  {value:.1e} at {points}")


if __name__ == "__main__":
    main()
