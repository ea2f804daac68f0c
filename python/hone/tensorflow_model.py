"""TensorFlow functions as programs, by TensorFlow's own bridge to XLA."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import Error
from .model_files import ModelFile

if TYPE_CHECKING:
    import tensorflow as tf


def export(function: Callable, *specs: "tf.TensorSpec", path: str | Path) -> ModelFile:
    """Writes a function of tensors as an HloModuleProto, for `hone tune PATH --weights N-M`.

    function  a Python function, a tf.function, a Keras model or a signature of a SavedModel
    specs     its arguments; every size must be known

    The program's inputs are the arguments, then the variables that the function reads: ModelFile.weights has their
    values (NumPy), ModelFile.positions() their numbers. Raises hone.Error for what XLA cannot compile.
    """
    import tensorflow as tf

    compiled = tf.function(lambda *arguments: function(*arguments), jit_compile=True)
    name = getattr(function, "__name__", type(function).__name__)
    try:
        captured = [outer for outer, _ in compiled.get_concrete_function(*specs).graph.captures]
        proto = compiled.experimental_get_compiler_ir(*specs)(stage="hlo_serialized")
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise Error(f"XLA cannot compile it: {str(error).strip().splitlines()[0]}", name) from error
    variables = {id(v.handle): v for v in compiled.get_concrete_function(*specs).variables}
    missing = [value for value in captured if value.dtype == tf.resource and id(value) not in variables]
    if missing:
        raise Error("it reads a table or another resource that is no variable", name)
    values = [variables[id(v)].numpy() if v.dtype == tf.resource else v.numpy() for v in captured]
    Path(path).write_bytes(proto)
    return ModelFile(Path(path), values, len(specs))
