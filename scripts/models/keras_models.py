"""Keras models as programs: variables become the first parameters, by shape only, without values."""

import jax
import keras
import numpy as np
from keras.src.backend.jax.core import JaxVariable
from program_parts import Program


def _initialize_without_values(variable, _initializer):
    # One broadcast zero for any shape: initialisers would compile and run a program per shape.
    variable._initialize(np.broadcast_to(np.zeros((), variable._dtype), variable._shape))


JaxVariable._initialize_with_initializer = _initialize_without_values


def is_seed(variable) -> bool:
    return "seed_generator_state" in variable.path


def shape_of(variable) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(variable.shape, variable.dtype)


def from_call(owner, call, inputs: tuple) -> Program:
    """The program call(*inputs), where `call` uses the variables of `owner` (a built Keras model or layer)."""
    variables = [v for v in owner.variables if not is_seed(v)]

    def run(weights, *values):
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return call(*values)

    return Program(run, [shape_of(v) for v in variables], inputs)


def input_shapes(model, batch: int, length: int = 0):
    """Shapes of the model's inputs; dimensions it leaves open become `length`."""

    def shape(tensor):
        dims = [length if size is None else size for size in tensor.shape[1:]]
        return jax.ShapeDtypeStruct((batch, *dims), tensor.dtype)

    return jax.tree.map(shape, model.input)


def from_model(model, batch: int, length: int = 0) -> Program:
    """Inference of a functional model."""
    return from_call(model, lambda x: model(x, training=False), (input_shapes(model, batch, length),))
