"""Imports every module that adds programs, in the order of the list."""

import sys

from keras.src.utils import module_utils

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

# The stand-in for TensorFlow served the imports above, and Keras now remembers that there is none. It must go: Keras'
# preprocessing layers take its mere presence for running inside a TensorFlow graph.
if module_utils.tensorflow.available:
    raise ImportError("Keras found TensorFlow")
sys.modules.pop("tensorflow", None)
