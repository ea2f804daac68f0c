"""Hone: a learned optimiser for XLA programs.

import hone
tuned = hone.tune(function, *example_args, budget=60)
result = tuned(*args)
"""

from .errors import Error
from .tuned import Tuned, load
from .tuner import inspect, tune

__all__ = ["Error", "Tuned", "inspect", "load", "tune"]
