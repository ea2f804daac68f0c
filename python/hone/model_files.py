"""Models of other frameworks, exported to files in which the weights are inputs of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .tuned import Tuned
from .tuner import tune


class ModelFile(NamedTuple):
    """A program in a file. Its inputs are those of `weights`, `first_weight` being the first of them, and the model's.

    `weights`: the values, which hone.tune(weights=...) may store in another layout.
    """

    path: Path
    weights: list[Any]
    first_weight: int

    def positions(self) -> range:
        """The program's inputs that are weights, as hone.tune(weights=...) takes them."""
        return range(self.first_weight, self.first_weight + len(self.weights))


class TunedModel:
    """A tuned model. Call it with the model's inputs, of the shapes and types it was tuned for; it returns one array or
    a tuple of them, in the library of the first input.
    """

    def __init__(self, tuned: Tuned, first_weight: int, weights: int) -> None:
        self.tuned = tuned
        self._first_weight, self._weights = first_weight, weights

    def __call__(self, *inputs: Any) -> Any:
        return self.tuned(*_in_order(inputs, [None] * self._weights, self._first_weight))

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Other weights, in the order of ModelFile.weights: needed after the model has changed."""
        self.tuned.set_weights(*weights)


def tune_file(file: ModelFile, inputs: Sequence[Any], **options: Any) -> TunedModel:
    """Tunes the file on these inputs of the model; `options`: those of hone.tune."""
    arguments = _in_order(inputs, file.weights, file.first_weight)
    tuned = tune(file.path, *arguments, weights=list(file.positions()), **options)
    return TunedModel(tuned, file.first_weight, len(file.weights))


def _in_order(inputs: Sequence[Any], weights: Sequence[Any], first_weight: int) -> list[Any]:
    """All inputs of the program."""
    return [*inputs[:first_weight], *weights, *inputs[first_weight:]]
