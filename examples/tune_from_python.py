"""Tunes a JAX function from Python and uses it three ways: on NumPy arrays, inside jax.jit, and from disk.

PYTHONPATH=python .venv/bin/python examples/tune_from_python.py --budget 30
"""

# %% A small network: two layers and a normalisation, on a batch of 8.
import argparse
import tempfile

import hone
import jax
import jax.numpy as jnp
import numpy as np

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--budget", type=float, default=30, help="seconds for the search (default 30)")
parser.add_argument("--db", help="the database file (default: the user's)")
arguments = parser.parse_args()


def network(params, x):
    hidden = jax.nn.gelu(x @ params["up"] + params["bias"])
    y = x + hidden @ params["down"]
    return (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-5)


random = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(random.standard_normal(shape) / np.sqrt(shape[0]), jnp.float32)


params = {"up": normal(768, 3072), "bias": normal(3072), "down": normal(3072, 768)}
x = normal(8, 768)

# %% Tune it. The first argument holds weights: it stays the same from call to call, so it may be stored otherwise.
tuned = hone.tune(network, params, x, budget=arguments.budget, weights=0, db=arguments.db)
print(f"speedup {tuned.speedup:.2f}, decisions:")
for decision in tuned.decisions:
    print("  {kind} {key} = {value}".format(**decision))

# %% Call it like the function it came from.
difference = jnp.max(jnp.abs(tuned(params, x) - network(params, x)))
print(f"largest difference from JAX's own result: {difference:.1e}")

# %% Use it inside a larger JAX program. None stands for the weights it already has.
step = jax.jit(lambda x: jnp.tanh(tuned.jax(None, x + 1)).sum())
expected = jnp.tanh(network(params, x + 1)).sum()
print(f"inside jax.jit: {step(x):.4f}, by JAX alone {expected:.4f}")

# %% Measure it again here, interleaved with the program as XLA compiles it by itself.
again = tuned.compare(params, x, repeat=100)
print("measured again: {:.2f} [{:.2f}, {:.2f}]".format(again["speedup"], *again["speedup_interval"]))

# %% Keep it.
with tempfile.TemporaryDirectory() as folder:
    tuned.save(f"{folder}/network.hone")
    loaded = hone.load(f"{folder}/network.hone")
    print("loaded from disk, same result:", bool(jnp.all(loaded(params, x) == tuned(params, x))))
