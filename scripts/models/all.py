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

# The imports above needed the placeholder for TensorFlow; Keras now has recorded that TensorFlow is missing. Remove it,
# since its presence makes Keras' preprocessing layers assume that they run inside a TensorFlow graph.
if module_utils.tensorflow.available:
    raise ImportError("Keras found TensorFlow")
sys.modules.pop("tensorflow", None)
