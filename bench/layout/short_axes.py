#!/usr/bin/env python3
"""Small JAX programs of simulation, graphics and statistics whose arrays have short fastest axes.

These are x, y and z of a point, the channels of a pixel, the states of a filter: what XLA:CPU computes along them it
does not vectorise, another layout may.

    bench/layout/short_axes.py build/layout/short-axes       # NAME.mlir of each, programs.json and split.txt

They were written down before any of them was run, and no model is trained on them.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
from jax import lax
from jax_programs import write_programs


def repeated(steps, step, state):
    return lax.fori_loop(0, steps, lambda _, s: step(s), state)


def em_mixture(points, means):
    """Expectation maximisation of spherical Gaussians."""

    def step(means):
        distance = ((points[:, None] - means) ** 2).sum(-1)
        weights = jax.nn.softmax(-distance, -1)
        return weights.T @ points / (weights.sum(0)[:, None] + 1e-3)

    return repeated(6, step, means)


def mean_shift(points):
    def step(x):
        near = jnp.exp(-4 * ((x[:, None] - points) ** 2).sum(-1))
        return near @ points / near.sum(-1, keepdims=True)

    return repeated(4, step, points)


def leapfrog(position, velocity):
    """Softened gravity between all pairs."""

    def forces(x):
        between = x[None] - x[:, None]
        return (between / ((between**2).sum(-1, keepdims=True) + 0.01) ** 1.5).mean(1)

    def step(state):
        x, v = state
        v = v + 0.01 * forces(x)
        return x + 0.01 * v, v

    return repeated(5, step, (position, velocity))


def flock(position, velocity):
    def step(state):
        x, v = state
        between = x[None] - x[:, None]
        near = jnp.exp(-(between**2).sum(-1))
        v = v + 0.1 * (near[..., None] * (v[None] - v[:, None] + 0.2 * between)).mean(1)
        return x + 0.05 * v, v / (1 + jnp.linalg.norm(v, axis=-1, keepdims=True))

    return repeated(4, step, (position, velocity))


def smoothed_particles(position):
    """Density and pressure forces of smoothed particle hydrodynamics."""
    between = position[:, None] - position[None]
    distance = jnp.sqrt((between**2).sum(-1) + 1e-6)
    density = (jnp.maximum(0, 1 - distance) ** 3).sum(-1)
    pressure = density - 1
    push = (pressure[:, None] + pressure) * jnp.maximum(0, 1 - distance) ** 2 / distance
    return (push[..., None] * between).sum(1)


def kalman(means, covariances, observed):
    """A filter for each of a batch of tracks, four states, two observations."""
    move = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    see = jnp.eye(2, 4)

    def step(state, seen):
        m, p = state
        m, p = m @ move.T, move @ p @ move.T + 0.01 * jnp.eye(4)
        s = see @ p @ see.T + 0.1 * jnp.eye(2)
        a, b, c, d = s[:, 0, 0], s[:, 0, 1], s[:, 1, 0], s[:, 1, 1]
        inverse = jnp.stack([d, -b, -c, a], -1).reshape(-1, 2, 2) / (a * d - b * c)[:, None, None]
        gain = p @ see.T @ inverse
        m = m + jnp.einsum("bij,bj->bi", gain, seen - m @ see.T)
        return (m, p - gain @ see @ p), m

    return lax.scan(step, (means, covariances), observed)[1]


def eliminate(matrices):
    """Gauss elimination without pivots, a column in each step."""
    size = matrices.shape[-1]
    rows = jnp.arange(size)

    def step(k, a):
        column = lax.dynamic_index_in_dim(a, k, 2, keepdims=True)
        row = lax.dynamic_index_in_dim(a, k, 1, keepdims=True)
        pivot = lax.dynamic_index_in_dim(column, k, 1, keepdims=True)
        return a - jnp.where((rows > k)[None, :, None], column / (jnp.abs(pivot) + 1), 0) * row

    return lax.fori_loop(0, size - 1, step, matrices)


def cholesky(matrices):
    """Column by column."""
    size = matrices.shape[-1]
    rows = jnp.arange(size)
    spd = matrices @ matrices.swapaxes(1, 2) / size + 2 * jnp.eye(size)

    def step(k, lower):
        row = lax.dynamic_index_in_dim(lower, k, 1)
        column = lax.dynamic_index_in_dim(spd, k, 2, keepdims=False) - (lower * row).sum(-1)
        diagonal = lax.dynamic_index_in_dim(column, k, 1)
        column = jnp.where(rows >= k, column * lax.rsqrt(jnp.abs(diagonal) + 1e-3), 0)
        return lax.dynamic_update_index_in_dim(lower, column[..., None], k, 2)

    return lax.fori_loop(0, size, step, jnp.zeros_like(spd))


def lattice_boltzmann(density):
    """D2Q9: stream, then relax."""
    directions = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)]
    c = jnp.array(directions, jnp.float32)
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, jnp.float32)

    def step(f):
        f = jnp.stack([jnp.roll(f[..., i], d, (0, 1)) for i, d in enumerate(directions)], -1)
        rho = f.sum(-1, keepdims=True) + 1e-3
        u = (f[..., None] * c).sum(-2) / rho
        cu = (u[..., None, :] * c).sum(-1)
        return f + 0.6 * (rho * w * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u**2).sum(-1, keepdims=True)) - f)

    return repeated(4, step, jnp.abs(density) + 1)


def rigid_bodies(orientation, spin):
    """Quaternions."""

    def step(state):
        q, s = state
        w, x, y, z = (q[:, i] for i in range(4))
        a, b, c = (s[:, i] for i in range(3))
        change = jnp.stack(
            [-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a], -1
        )
        q = q + 0.005 * change
        return q / (jnp.linalg.norm(q, axis=-1, keepdims=True) + 1e-3), s - 0.01 * jnp.cross(s, q[:, 1:])

    return repeated(8, step, (orientation, spin))


def ensemble(state):
    """Runge-Kutta steps of many Lorenz systems."""

    def f(s):
        x, y, z = s[:, 0], s[:, 1], s[:, 2]
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)

    def step(s):
        k1 = f(s)
        k2 = f(s + 0.005 * k1)
        k3 = f(s + 0.005 * k2)
        k4 = f(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return repeated(10, step, state)


def tone_map(image, matrix):
    x = jnp.abs(image) @ matrix.T
    luminance = (x * jnp.array([0.2126, 0.7152, 0.0722])).sum(-1, keepdims=True)
    x = x / (1 + luminance)
    blurred = sum(jnp.roll(x, s, a) for s, a in ((1, 0), (-1, 0), (1, 1), (-1, 1))) / 4
    return jnp.clip(x + 0.5 * (x - blurred), 0, 1)


def spheres(rays, centres, radii):
    """The nearest of many spheres for each ray, and the normal there."""
    direction = rays / (jnp.linalg.norm(rays, axis=-1, keepdims=True) + 1e-3)
    along = (direction[:, None] * centres).sum(-1)
    off = (centres**2).sum(-1) - along**2
    hit = jnp.where(off < radii**2 + 1, along - jnp.sqrt(jnp.maximum(radii**2 + 1 - off, 0)), 1e6)
    nearest = hit.argmin(-1)
    point = hit.min(-1)[:, None] * direction
    normal = point - centres[nearest]
    return normal / (jnp.linalg.norm(normal, axis=-1, keepdims=True) + 1e-3)


def skinning(vertices, weights, bones):
    """Vertices that follow weighted bones."""
    weights = jax.nn.softmax(weights, -1)
    matrices = jnp.einsum("vb,bij->vij", weights, bones)
    return jnp.einsum("vij,vj->vi", matrices, jnp.concatenate([vertices, jnp.ones_like(vertices[:, :1])], -1))


def haar(signal):
    """Wavelets, eight levels."""
    details = []
    for _ in range(8):
        pairs = signal.reshape(signal.shape[0], -1, 2)
        details.append((pairs[..., 0] - pairs[..., 1]).sum(-1))
        signal = pairs.sum(-1) * 0.7071
    return signal, jnp.stack(details, -1)


def belief_propagation(unary, pairwise):
    """Messages on a grid of labels, from the left and from above."""

    def swept(u):
        def step(message, here):
            message = (message + here)[..., None] + pairwise
            message = message.max(-2)
            return message - message.max(-1, keepdims=True), message

        return lax.scan(step, jnp.zeros_like(u[0]), u)[1]

    down = swept(unary)
    right = swept(unary.swapaxes(0, 1)).swapaxes(0, 1)
    return (unary + down + right).argmax(-1)


f32 = jnp.float32
PROGRAMS = (
    (em_mixture, (8192, 3), (16, 3)),
    (mean_shift, (512, 2)),
    (leapfrog, (512, 3), (512, 3)),
    (flock, (400, 2), (400, 2)),
    (smoothed_particles, (640, 3)),
    (kalman, (512, 4), (512, 4, 4), (12, 512, 2)),
    (eliminate, (64, 48, 48)),
    (cholesky, (64, 32, 32)),
    (lattice_boltzmann, (192, 192, 9)),
    (rigid_bodies, (16384, 4), (16384, 3)),
    (ensemble, (16384, 3)),
    (tone_map, (384, 512, 3), (3, 3)),
    (spheres, (8192, 3), (48, 3), (48,)),
    (skinning, (20000, 3), (20000, 24), (24, 3, 4)),
    (haar, (64, 8192)),
    (belief_propagation, (96, 96, 16), (16, 16)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    programs = ((function.__name__, "short axes", function, shapes) for function, *shapes in PROGRAMS)
    write_programs(arguments.folder, programs, part="test")


if __name__ == "__main__":
    main()
