"""Imports every module that adds programs, in the order of the list."""

import sys

from . import (  # noqa: F401
    algorithms,
    applications,
    generative,
    graphs,
    language,
    sequences,
    simulation,
    training,
    variants,
    vision,
)

# Its stand-in has kept TensorFlow out of the imports above; Keras' preprocessing layers take its presence for a graph.
sys.modules.pop("tensorflow", None)
