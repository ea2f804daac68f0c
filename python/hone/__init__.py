"""Hone: a learned optimiser for XLA programs.

import hone
f = hone.jit(function)  # in place of jax.jit
tuned = hone.tune(function, *example_args, budget=60)
tuned = hone.optimize(function, *example_args)  # in seconds, without a search
result = tuned(*args)
"""

from .errors import Error
from .jitting import jit
from .tuned import Tuned, load
from .tuner import inspect, optimize, tune
from .version import __version__

__all__ = ["Error", "Tuned", "__version__", "inspect", "jit", "load", "optimize", "tune"]
