"""Numerical algorithms: linear solvers, ordinary differential equations, image processing, data mining.

`batch` is the number of independent problems or of samples.
"""

import jax
import jax.numpy as jnp
import numpy as np
from program_parts import Program, f32, i32

from .registry import program
from .simulation import repeated, simulated


@program("linear_solver", (1, 8), "conjugate gradients, matrix-free five-point Poisson on 96x96, 20 iterations")
def conjugate_gradient(batch: int) -> Program:
    def apply(u):
        p = jnp.pad(u, ((0, 0), (1, 1), (1, 1)))
        return 4.0 * u - p[:, 2:, 1:-1] - p[:, :-2, 1:-1] - p[:, 1:-1, 2:] - p[:, 1:-1, :-2]

    def inner(a, b):
        return (a * b).sum((1, 2), keepdims=True)

    def run(b):
        def step(state):
            x, r, p, square = state
            q = apply(p)
            alpha = square / (inner(p, q) + 1e-20)
            x, r = x + alpha * p, r - alpha * q
            new = inner(r, r)
            return x, r, r + new / (square + 1e-20) * p, new

        x, _, _, square = repeated(20, step, (jnp.zeros_like(b), b, b, inner(b, b)))
        return x, square

    return simulated(run, f32(batch, 96, 96))


@program("linear_solver", (1, 4), "two multigrid V-cycles of the Poisson equation on 128x128, weighted Jacobi")
def multigrid(batch: int) -> Program:
    def smooth(u, f, count):
        for _ in range(count):
            p = jnp.pad(u, ((0, 0), (1, 1), (1, 1)))
            around = p[:, 2:, 1:-1] + p[:, :-2, 1:-1] + p[:, 1:-1, 2:] + p[:, 1:-1, :-2]
            u = u + 0.8 * (0.25 * (around + f) - u)
        return u

    def cycle(u, f):
        size = u.shape[1]
        if size <= 8:
            return smooth(u, f, 8)
        u = smooth(u, f, 2)
        p = jnp.pad(u, ((0, 0), (1, 1), (1, 1)))
        residual = f + p[:, 2:, 1:-1] + p[:, :-2, 1:-1] + p[:, 1:-1, 2:] + p[:, 1:-1, :-2] - 4.0 * u
        coarse = residual.reshape(batch, size // 2, 2, size // 2, 2).sum((2, 4))
        correction = cycle(jnp.zeros_like(coarse), coarse)
        u = u + jnp.repeat(jnp.repeat(correction, 2, axis=1), 2, axis=2)
        return smooth(u, f, 2)

    return simulated(lambda f: repeated(2, lambda u: cycle(u, f), jnp.zeros_like(f)), f32(batch, 128, 128))


@program("linear_solver", (8, 64), "Gauss-Jordan elimination with a shifted diagonal, 96x96 with 8 right sides")
def gauss_jordan(batch: int) -> Program:
    def run(matrix, right):
        a = jnp.concatenate([matrix + 96.0 * jnp.eye(96), right], axis=-1)

        def step(k, a):
            row = jax.lax.dynamic_slice_in_dim(a, k, 1, axis=1)
            row = row / jax.lax.dynamic_slice_in_dim(row, k, 1, axis=2)
            column = jax.lax.dynamic_slice_in_dim(a, k, 1, axis=2)
            return jax.lax.dynamic_update_slice_in_dim(a - column * row, row, k, axis=1)

        return jax.lax.fori_loop(0, 96, step, a)[:, :, 96:]

    return simulated(run, f32(batch, 96, 96), f32(batch, 96, 8))


@program("linear_solver", (1,), "blocked power iteration with Gram-Schmidt: 8 vectors of a 512x512 matrix, 10 turns")
def power_iteration(batch: int) -> Program:
    def run(matrix, start):
        a = matrix @ matrix.T / 512.0

        def orthonormal(v):
            columns = []
            for k in range(8):
                u = v[:, k]
                for other in columns:
                    u = u - (other @ u) * other
                columns.append(u * jax.lax.rsqrt((u * u).sum() + 1e-20))
            return jnp.stack(columns, axis=1)

        v = repeated(10, lambda v: orthonormal(a @ v), orthonormal(start))
        return v, (v * (a @ v)).sum(0)

    return simulated(run, f32(512, 512), f32(512, 8))


@program("linear_solver", (1, 8), "Sinkhorn iterations of optimal transport between 256 and 192 points, in logarithms")
def sinkhorn(batch: int) -> Program:
    def run(x, y):
        cost = jnp.square(x).sum(-1)[..., None] + jnp.square(y).sum(-1)[:, None] - 2.0 * x @ y.transpose(0, 2, 1)
        k = -cost / 0.5

        def step(state):
            f, g = state
            f = -jax.nn.logsumexp(k + g[:, None], axis=2) - np.log(256.0)
            return f, -jax.nn.logsumexp(k + f[:, :, None], axis=1) - np.log(192.0)

        f, g = repeated(6, step, (jnp.zeros((batch, 256)), jnp.zeros((batch, 192))))
        return (jnp.exp(k + f[:, :, None] + g[:, None]) * cost).sum((1, 2))

    return simulated(run, f32(batch, 256, 16), f32(batch, 192, 16))


@program("ode", (1024, 16384), "Lorenz ensembles by fourth-order Runge-Kutta, 20 steps")
def lorenz(batch: int) -> Program:
    def slope(s):
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        return s + 0.01 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(s + 0.01 * k3))

    return simulated(lambda s: repeated(20, step, s), f32(3, batch))


@program(
    "ode", (256,), "stiff kinetics (Robertson), implicit Euler with 3 Newton turns and explicit 3x3 inverses, 8 steps"
)
def stiff_kinetics(batch: int) -> Program:
    def slope(s):
        a, b, c = s[..., 0], s[..., 1], s[..., 2]
        first, second, third = 0.04 * a, 3e3 * b * b, 1e2 * b * c
        return jnp.stack([-first + third, first - third - second, second], axis=-1)

    def newton(s, old):
        jacobian = jnp.eye(3) - 0.01 * jax.vmap(jax.jacfwd(slope))(s)
        error = s - old - 0.01 * slope(s)
        a, b, c = (jacobian[..., k] for k in range(3))
        cross = jnp.stack([jnp.cross(b, c), jnp.cross(c, a), jnp.cross(a, b)], axis=-2)
        determinant = (a * cross[..., 0, :]).sum(-1)[..., None]
        return s - jnp.einsum("bij,bj->bi", cross, error) / determinant

    def step(s):
        return repeated(3, lambda new: newton(new, s), s)

    return simulated(lambda s: repeated(8, step, jax.nn.softmax(s)), f32(batch, 3))


@program("image_processing", (1, 4), "bilateral filter, 7x7 window by shifts, 160x160 images")
def bilateral_filter(batch: int) -> Program:
    def run(image):
        p = jnp.pad(image, ((0, 0), (3, 3), (3, 3)), mode="edge")
        total, weight = 0.0, 0.0
        for dy in range(7):
            for dx in range(7):
                shifted = p[:, dy : dy + 160, dx : dx + 160]
                near = np.exp(-((dy - 3) ** 2 + (dx - 3) ** 2) / 8.0)
                w = near * jnp.exp(-jnp.square(shifted - image) / 0.5)
                total, weight = total + w * shifted, weight + w
        return total / weight

    return simulated(run, f32(batch, 160, 160))


@program("image_processing", (1, 4), "Canny edges without tracing: blur, Sobel, direction, suppression, 256x256")
def canny(batch: int) -> Program:
    def window(u, dy, dx):
        p = jnp.pad(u, ((0, 0), (1, 1), (1, 1)))
        return p[:, 1 + dy : 257 + dy, 1 + dx : 257 + dx]

    def run(image):
        for axis in (1, 2):
            taps = np.exp(-np.square(np.arange(-3, 4)) / 2.0)
            taps = (taps / taps.sum()).astype(np.float32)
            image = sum(float(t) * jnp.roll(image, k - 3, axis) for k, t in enumerate(taps))
        gx = sum(s * (window(image, d, 1) - window(image, d, -1)) for d, s in ((-1, 1.0), (0, 2.0), (1, 1.0)))
        gy = sum(s * (window(image, 1, d) - window(image, -1, d)) for d, s in ((-1, 1.0), (0, 2.0), (1, 1.0)))
        size = jnp.sqrt(gx * gx + gy * gy + 1e-12)
        sector = jnp.round(jnp.arctan2(gy, gx) / (np.pi / 4)).astype(jnp.int32) % 4
        best = jnp.zeros_like(size)
        for k, (dy, dx) in enumerate(((0, 1), (1, 1), (1, 0), (1, -1))):
            peak = (size >= window(size, dy, dx)) & (size >= window(size, -dy, -dx))
            best = jnp.where((sector == k) & peak, size, best)
        return (best > 0.5).astype(jnp.float32) + (best > 1.5).astype(jnp.float32)

    return simulated(run, f32(batch, 256, 256))


@program("image_processing", (4096, 16384), "ray marching of a signed distance field with soft shading, 24 steps")
def ray_marching(batch: int) -> Program:
    def distance(p):
        sphere = jnp.sqrt(jnp.square(p).sum(-1) + 1e-9) - 1.0
        q = jnp.abs(p - jnp.array([0.8, 0.2, 0.0])) - 0.5
        box = jnp.sqrt(jnp.square(jnp.maximum(q, 0.0)).sum(-1) + 1e-9) + jnp.minimum(q.max(-1), 0.0)
        h = jnp.clip(0.5 + 0.5 * (box - sphere) / 0.3, 0.0, 1.0)
        return box * (1 - h) + sphere * h - 0.3 * h * (1 - h)

    def run(directions):
        d = directions * jax.lax.rsqrt(jnp.square(directions).sum(-1, keepdims=True) + 1e-9)
        origin = jnp.array([0.0, 0.0, -4.0])
        t = repeated(24, lambda t: jnp.clip(t + distance(origin + t[:, None] * d), 0.0, 20.0), jnp.zeros(batch))
        normal = jax.vmap(jax.grad(distance))(origin + t[:, None] * d)
        return jnp.where(t < 19.0, jnp.maximum(normal @ jnp.array([0.5, 0.7, -0.5]), 0.1), 0.0)

    return simulated(run, f32(batch, 3))


@program("data_mining", (2048,), "k-means: 5 turns of 32 centres in 16 dimensions, segment sums")
def k_means(batch: int) -> Program:
    def run(points, centres):
        def step(c):
            distances = jnp.square(c).sum(-1) - 2.0 * points @ c.T
            nearest = jnp.argmin(distances, axis=-1)
            count = jax.ops.segment_sum(jnp.ones(batch), nearest, 32)
            return jax.ops.segment_sum(points, nearest, 32) / jnp.maximum(count, 1.0)[:, None]

        return repeated(5, step, centres)

    return simulated(run, f32(batch, 16), f32(32, 16))


@program("data_mining", (1024,), "expectation maximisation of 24 diagonal Gaussians in 32 dimensions, 4 turns")
def gaussian_mixture(batch: int) -> Program:
    def run(x, means):
        def step(state):
            mu, log_sigma, log_pi = state
            z = (x[:, None] - mu) * jnp.exp(-log_sigma)
            log_r = log_pi - log_sigma.sum(-1) - 0.5 * jnp.square(z).sum(-1)
            r = jax.nn.softmax(log_r, axis=-1)
            n = r.sum(0) + 1e-3
            mu = r.T @ x / n[:, None]
            variance = r.T @ jnp.square(x) / n[:, None] - jnp.square(mu)
            return mu, 0.5 * jnp.log(jnp.maximum(variance, 1e-4)), jnp.log(n / n.sum())

        return repeated(4, step, (means, jnp.zeros((24, 32)), jnp.zeros(24)))

    return simulated(run, f32(batch, 32), f32(24, 32))


@program("data_mining", (1, 16), "Viterbi decoding: 64 states, 96 steps, with back-pointers")
def viterbi(batch: int) -> Program:
    def run(transitions, emissions):
        log_a = jax.nn.log_softmax(transitions)

        def forward(score, emission):
            paths = score[:, :, None] + log_a
            return paths.max(1) + emission, paths.argmax(1)

        last, pointers = jax.lax.scan(forward, emissions[0], emissions[1:])

        def backward(state, pointer):
            return jnp.take_along_axis(pointer, state[:, None], axis=1)[:, 0], state

        _, states = jax.lax.scan(backward, last.argmax(-1), pointers, reverse=True)
        return states, last.max(-1)

    return simulated(run, f32(64, 64), f32(96, batch, 64))


@program("data_mining", (8, 64), "local alignment scores (Smith-Waterman) by anti-diagonals, sequences of 96")
def alignment(batch: int) -> Program:
    length = 96

    def run(scores, first, second):
        def step(state, k):
            older, old, best = state  # the two diagonals before, indexed by position in `first`
            i = jnp.arange(length)
            j = jnp.clip(k - i, 0, length - 1)
            inside = (k - i >= 0) & (k - i < length)
            match = scores[first, second[:, j]]

            def shift(d):
                return jnp.pad(d, ((0, 0), (1, 0)))[:, :-1]

            h = jnp.maximum(jnp.maximum(shift(older) + match, jnp.maximum(old, shift(old)) - 1.0), 0.0)
            h = jnp.where(inside, h, 0.0)
            return (old, h, jnp.maximum(best, h.max(-1))), None

        zeros = jnp.zeros((batch, length))
        return jax.lax.scan(step, (zeros, zeros, jnp.zeros(batch)), jnp.arange(2 * length - 1))[0][2]

    return simulated(run, f32(24, 24), i32(batch, length), i32(batch, length))
