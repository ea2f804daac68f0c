"""Keras models (JAX backend) in hone.jit: functions of the model's variables, which are weights."""

from collections.abc import Callable, Mapping
from typing import Any

from .function import Jitted

_NAMING = ("weights", "donate_argnums", "donate_argnames", "static_argnums", "static_argnames")


def is_model(f: Any) -> bool:
    """Whether `f` is a Keras 3 model or layer; Keras is not imported for this."""
    keras = any(of.__module__.partition(".")[0] == "keras" for of in type(f).__mro__)
    return keras and hasattr(f, "stateless_call") and hasattr(f, "trainable_variables")


def function_of(model: Any) -> Callable:
    """predict(variables, *inputs): the model's outputs; ValueError if JAX does not compute them."""
    import keras

    if keras.backend.backend() != "jax":
        raise ValueError(
            f"hone.jit: Keras computes with {keras.backend.backend()} (set KERAS_BACKEND=jax before importing keras)"
        )

    def predict(variables, *inputs, **options):
        return model.stateless_call(*variables, *inputs, training=False, **options)[0]

    predict.__name__ = model.name
    return predict


def refuse(given: Mapping[str, Any]) -> None:
    """ValueError for options that name arguments: a model's variables come first, and are weights as they are."""
    named = [name for name in _NAMING if given.get(name) is not None]
    if named:
        raise ValueError(
            f"hone.jit: {named[0]} cannot be given with a Keras model (leave it out, or pass a function: "
            "docs/howto/use-with-keras.md)"
        )


class KerasJitted:
    """A Keras model's outputs in inference, by tuned programs or jax.jit; see Jitted for its methods.

    The model's variables are weights: each call takes their present values, so that training goes on as before.
    """

    def __init__(self, model: Any, jitted: Jitted) -> None:
        self._model, self._jitted = model, jitted

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self._jitted(self._variables(), *inputs, **options)

    def tune(self, *inputs: Any, **options: Any) -> dict[str, Any]:
        """As Jitted.tune, without the variables."""
        return self._jitted.tune(self._variables(), *inputs, **options)

    def wait(self, timeout: float | None = None) -> bool:
        """As Jitted.wait."""
        return self._jitted.wait(timeout)

    def status(self) -> list[dict[str, Any]]:
        """As Jitted.status."""
        return self._jitted.status()

    def __repr__(self) -> str:
        return f"<hone.jit of the Keras model {self._model.name}>"

    def _variables(self) -> tuple[list, list]:
        model = self._model
        return [v.value for v in model.trainable_variables], [v.value for v in model.non_trainable_variables]
