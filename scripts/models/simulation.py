"""Numerical simulation: stencils and conservation laws, particles, Monte Carlo with given noise.

`batch` is the number of independent problems or of samples.
"""

import jax
import jax.numpy as jnp
import numpy as np
from program_parts import Program, f32

from .registry import program


def repeated(count: int, step, state):
    return jax.lax.fori_loop(0, count, lambda _, s: step(s), state)


def simulated(run, *inputs) -> Program:
    """A program without weights."""
    return Program(lambda _, *given: run(*given), {}, inputs, constant=False)


def laplacian(u):
    """Five-point Laplacian on a torus; the last two dimensions are space."""
    neighbours = jnp.roll(u, 1, -1) + jnp.roll(u, -1, -1) + jnp.roll(u, 1, -2) + jnp.roll(u, -1, -2)
    return neighbours - 4.0 * u


@program("stencil", (1, 2), "heat equation on 64x64x64 with Dirichlet borders and varying conductivity, 4 steps")
def heat_3d(batch: int) -> Program:
    def run(field, conductivity):
        k = 0.1 * jax.nn.sigmoid(conductivity)

        def step(u):
            p = jnp.pad(u, ((0, 0), (1, 1), (1, 1), (1, 1)))
            c = p[:, 1:-1, 1:-1, 1:-1]
            around = p[:, 2:, 1:-1, 1:-1] + p[:, :-2, 1:-1, 1:-1] + p[:, 1:-1, 2:, 1:-1] + p[:, 1:-1, :-2, 1:-1]
            return c + k * (around + p[:, 1:-1, 1:-1, 2:] + p[:, 1:-1, 1:-1, :-2] - 6.0 * c)

        return repeated(4, step, field)

    return simulated(run, f32(batch, 64, 64, 64), f32(64, 64, 64))


@program("stencil", (1, 4), "wave equation on a 256x256 torus, leapfrog with damping layers, 10 steps")
def wave_2d(batch: int) -> Program:
    def run(now, before, damping):
        d = 0.01 * jnp.square(damping)

        def step(state):
            u, old = state
            return (2.0 - d) * u - (1.0 - d) * old + 0.2 * laplacian(u), u

        return repeated(10, step, (now, before))

    return simulated(run, f32(batch, 256, 256), f32(batch, 256, 256), f32(256, 256))


@program("stencil", (1, 4), "Gray-Scott reaction and diffusion on a 192x192 torus, 10 steps")
def gray_scott(batch: int) -> Program:
    def run(u, v):
        def step(state):
            u, v = state
            reaction = u * v * v
            u = u + 0.16 * laplacian(u) - reaction + 0.035 * (1.0 - u)
            v = v + 0.08 * laplacian(v) + reaction - 0.1 * v
            return jnp.clip(u, 0.0, 1.0), jnp.clip(v, 0.0, 1.0)

        return repeated(10, step, (jax.nn.sigmoid(u), jax.nn.sigmoid(v)))

    return simulated(run, f32(batch, 192, 192), f32(batch, 192, 192))


@program("stencil", (1,), "Maxwell's equations, 2-D Yee grid of 384x384, 16 steps")
def maxwell(batch: int) -> Program:
    def run(ez, hx, hy, permittivity):
        scale = 0.5 / (1.0 + jnp.abs(permittivity))

        def step(state):
            ez, hx, hy = state
            hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1]))
            hy = hy.at[:-1, :].add(0.5 * (ez[1:, :] - ez[:-1, :]))
            curl = (hy[1:-1, 1:-1] - hy[:-2, 1:-1]) - (hx[1:-1, 1:-1] - hx[1:-1, :-2])
            return ez.at[1:-1, 1:-1].add(scale[1:-1, 1:-1] * curl), hx, hy

        return repeated(16, step, (ez, hx, hy))

    return simulated(run, *[f32(384, 384)] * 4)


@program("fluid", (1, 2), "lattice Boltzmann D2Q9 on 128x128: collide and stream, 8 steps")
def lattice_boltzmann(batch: int) -> Program:
    directions = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
    c = np.array(directions, np.float32)

    def run(noise):
        f = weights[:, None, None] * (1.0 + 0.05 * jnp.tanh(noise))

        def step(f):
            density = f.sum(1, keepdims=True)
            velocity = jnp.einsum("bqxy,qd->bdxy", f, c) / density
            along = jnp.einsum("bdxy,qd->bqxy", velocity, c)
            square = jnp.square(velocity).sum(1, keepdims=True)
            settled = weights[:, None, None] * density * (1.0 + 3.0 * along + 4.5 * along**2 - 1.5 * square)
            f = f - (f - settled) / 0.8
            return jnp.stack([jnp.roll(f[:, q], d, (1, 2)) for q, d in enumerate(directions)], axis=1)

        return repeated(8, step, f)

    return simulated(run, f32(batch, 9, 128, 128))


@program("fluid", (1, 4), "shallow water, Lax-Friedrichs fluxes on a 192x192 torus, 6 steps")
def shallow_water(batch: int) -> Program:
    def run(noise, momentum_x, momentum_y):
        def fluxes(h, hu, hv):
            u, v = hu / h, hv / h
            pressure = 0.5 * 9.81 * h * h
            return (hu, hu * u + pressure, hu * v), (hv, hu * v, hv * v + pressure)

        def step(state):
            fx, fy = fluxes(*state)
            return tuple(
                0.25 * (laplacian(q) + 4.0 * q)
                - 0.005 * (jnp.roll(a, -1, -1) - jnp.roll(a, 1, -1) + jnp.roll(b, -1, -2) - jnp.roll(b, 1, -2))
                for q, a, b in zip(state, fx, fy, strict=True)
            )

        return repeated(6, step, (1.0 + 0.1 * jnp.tanh(noise), 0.1 * momentum_x, 0.1 * momentum_y))

    return simulated(run, *[f32(batch, 192, 192)] * 3)


@program("fluid", (1,), "incompressible flow by projection: advection, diffusion, 20 Jacobi pressure sweeps, 128x128")
def projection_flow(batch: int) -> Program:
    def dx(a):
        return 0.5 * (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1))

    def dy(a):
        return 0.5 * (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0))

    def run(u, v, force):
        def step(state):
            u, v, p = state
            new_u = u - 0.1 * (u * dx(u) + v * dy(u)) + 0.05 * laplacian(u) + 0.01 * force
            new_v = v - 0.1 * (u * dx(v) + v * dy(v)) + 0.05 * laplacian(v)
            divergence = dx(new_u) + dy(new_v)
            p = repeated(20, lambda p: 0.25 * (laplacian(p) + 4.0 * p - divergence), p)
            return new_u - dx(p), new_v - dy(p), p

        return repeated(3, step, (0.1 * u, 0.1 * v, jnp.zeros_like(u)))

    return simulated(run, *[f32(128, 128)] * 3)


@program("fluid", (16, 128), "Burgers' equation with WENO5 reconstruction, 1024 cells, three Runge-Kutta steps")
def weno_burgers(batch: int) -> Program:
    def reconstruct(a, b, c, d, e):
        """Jiang and Shu 1996: the left state at the right face of cell c."""
        s0 = 13 / 12 * (a - 2 * b + c) ** 2 + 0.25 * (a - 4 * b + 3 * c) ** 2
        s1 = 13 / 12 * (b - 2 * c + d) ** 2 + 0.25 * (b - d) ** 2
        s2 = 13 / 12 * (c - 2 * d + e) ** 2 + 0.25 * (3 * c - 4 * d + e) ** 2
        w0, w1, w2 = 0.1 / (s0 + 1e-6) ** 2, 0.6 / (s1 + 1e-6) ** 2, 0.3 / (s2 + 1e-6) ** 2
        p0, p1, p2 = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
        return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2)

    def slope(u):
        speed = jnp.abs(u).max(-1, keepdims=True)
        plus, minus = 0.25 * u * u + 0.5 * speed * u, 0.25 * u * u - 0.5 * speed * u
        left = reconstruct(*(jnp.roll(plus, k, -1) for k in (2, 1, 0, -1, -2)))
        right = reconstruct(*(jnp.roll(minus, k, -1) for k in (-3, -2, -1, 0, 1)))
        flux = left + right
        return -0.2 * (flux - jnp.roll(flux, 1, -1))

    def step(u):
        u1 = u + slope(u)
        u2 = 0.75 * u + 0.25 * (u1 + slope(u1))
        return u / 3 + 2 / 3 * (u2 + slope(u2))

    return simulated(lambda u: repeated(3, step, jnp.tanh(u)), f32(batch, 1024))


@program("particles", (1, 4), "gravitational n-body, 384 bodies, all pairs, leapfrog, 3 steps")
def n_body(batch: int) -> Program:
    def run(positions, velocities, masses):
        m = jnp.abs(masses) + 0.1

        def forces(x):
            offset = x[:, None, :, :] - x[:, :, None, :]
            square = jnp.square(offset).sum(-1) + 0.01
            return jnp.einsum("bijd,bij->bid", offset, m[:, None, :] * square * jax.lax.rsqrt(square) ** 5)

        def step(state):
            x, v = state
            v = v + 0.5e-3 * forces(x)
            x = x + 1e-3 * v
            return x, v + 0.5e-3 * forces(x)

        return repeated(3, step, (positions, velocities))

    return simulated(run, f32(batch, 384, 3), f32(batch, 384, 3), f32(batch, 384))


@program(
    "particles", (1,), "Lennard-Jones molecular dynamics by the gradient of the energy, 256 atoms, periodic, 4 steps"
)
def molecular_dynamics(batch: int) -> Program:
    def energy(x):
        offset = x[:, None] - x[None, :]
        offset = offset - 8.0 * jnp.round(offset / 8.0)
        square = jnp.maximum(jnp.square(offset).sum(-1), 0.64) + 1e3 * jnp.eye(256)
        inverse = (1.0 / square) ** 3
        return 2.0 * jnp.where(square < 9.0, inverse * inverse - inverse, 0.0).sum()

    def run(positions, velocities):
        def step(state):
            x, v = state
            v = v - 1e-3 * jax.grad(energy)(x)
            return jnp.mod(x + 1e-3 * v, 8.0), v

        x, v = repeated(4, step, (positions, velocities))
        return x, v, energy(x)

    return simulated(run, f32(256, 3), f32(256, 3))


@program("particles", (1,), "smoothed particle hydrodynamics, 512 particles in the plane, cubic spline, 2 steps")
def hydrodynamics(batch: int) -> Program:
    def spline(q):
        return jnp.where(q < 1.0, 1.0 - 1.5 * q**2 + 0.75 * q**3, 0.25 * jnp.maximum(2.0 - q, 0.0) ** 3)

    def run(positions, velocities):
        def step(state):
            x, v = state
            offset = x[:, None] - x[None, :]
            distance = jnp.sqrt(jnp.square(offset).sum(-1) + 1e-6)
            kernel = spline(distance / 0.2)
            density = kernel.sum(1) + 1e-3
            pressure = 2.0 * (density - 1.0)
            share = pressure / jnp.square(density)
            push = ((share[:, None] + share[None, :]) * kernel / distance)[..., None] * offset
            viscosity = (kernel / density[None, :])[..., None] * (v[None, :] - v[:, None])
            v = v + 1e-4 * push.sum(1) + 0.05 * viscosity.sum(1)
            return jnp.clip(x + 1e-3 * v, -5.0, 5.0), v

        return repeated(2, step, (positions, velocities))

    return simulated(run, f32(512, 2), f32(512, 2))


@program("monte_carlo", (4096, 32768), "Asian option by geometric Brownian motion, 32 steps, given normals")
def asian_option(batch: int) -> Program:
    def run(normals, volatility, rate):
        sigma, r = 0.1 + 0.1 * jax.nn.sigmoid(volatility), 0.05 * jax.nn.sigmoid(rate)
        paths = 100.0 * jnp.exp(jnp.cumsum((r - 0.5 * sigma**2) / 32 + sigma * np.sqrt(1 / 32) * normals, axis=0))
        payoff = jnp.exp(-r) * jnp.maximum(paths.mean(0) - 100.0, 0.0)
        return payoff.mean(), payoff.std() / np.sqrt(batch)

    return simulated(run, f32(32, batch), f32(), f32())


@program("monte_carlo", (8192,), "Heston paths, full truncation, 24 steps (scan), correlated given normals")
def heston(batch: int) -> Program:
    def run(first, second):
        def step(state, z):
            log_price, variance = state
            v = jnp.maximum(variance, 0.0)
            root = jnp.sqrt(v / 24)
            variance = variance + 1.5 * (0.04 - v) / 24 + 0.3 * root * (-0.7 * z[0] + 0.714 * z[1])
            return (log_price - 0.5 * v / 24 + root * z[0], variance), v.mean()

        (log_price, _), means = jax.lax.scan(step, (jnp.zeros(batch), jnp.full(batch, 0.04)), (first, second))
        strikes = jnp.linspace(0.8, 1.2, 9)
        return jnp.maximum(jnp.exp(log_price)[:, None] - strikes, 0.0).mean(0), means

    return simulated(run, f32(24, batch), f32(24, batch))


@program("monte_carlo", (1, 8), "Ising model on 192x192, checkerboard Metropolis sweeps with given noise, 4 sweeps")
def ising(batch: int) -> Program:
    def run(start, noise):
        def sweep(spins, given):
            cells = jnp.arange(192)
            even = (cells[:, None] + cells[None, :]) % 2 == 0
            for colour in (even, ~even):
                around = laplacian(spins) + 4.0 * spins
                accept = jax.nn.sigmoid(given) < jnp.exp(-0.88 * spins * around)
                spins = jnp.where(accept & colour, -spins, spins)
            return spins, jnp.abs(spins.mean((1, 2)))

        return jax.lax.scan(sweep, jnp.where(start > 0, 1.0, -1.0), noise)

    return simulated(run, f32(batch, 192, 192), f32(4, batch, 192, 192))


@program("monte_carlo", (256, 2048), "bootstrap particle filter: 16 steps of move, weigh, systematic resampling")
def particle_filter(batch: int) -> Program:
    def run(noise, observations, offsets):
        def step(x, given):
            z, seen, offset = given
            x = 0.5 * x + 25 * x / (1 + x * x) + z
            log_weight = -0.5 * jnp.square(seen - x * x / 20.0)
            weight = jax.nn.softmax(log_weight)
            places = (jnp.arange(batch) + jax.nn.sigmoid(offset)) / batch
            chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(weight), places), 0, batch - 1)
            return x[chosen], (weight * x).sum()

        return jax.lax.scan(step, jnp.zeros(batch), (noise, observations, offsets))[1]

    return simulated(run, f32(16, batch), f32(16), f32(16))
