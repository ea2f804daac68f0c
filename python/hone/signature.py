"""How a Python call maps to a program's inputs and outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import trees


@dataclass
class Signature:
    """The structure of each argument and of the result, and which arguments are weights (constant between calls)."""

    arguments: list
    results: object
    weights: tuple = ()

    @staticmethod
    def flat(inputs: int, outputs: int, weights: Sequence[int] = ()) -> "Signature":
        """One argument per input; one result by itself or a tuple of them."""
        return Signature([trees.LEAF] * inputs, trees.results(outputs), tuple(weights))

    def flatten(self, args: Sequence[Any]) -> list:
        """One leaf per input; None for the leaves of a weights argument passed as None."""
        if len(args) != len(self.arguments):
            raise TypeError(f"expected {len(self.arguments)} arguments, got {len(args)}")
        leaves = []
        for i, (structure, value) in enumerate(zip(self.arguments, args, strict=True)):
            if value is None and i in self.weights:
                leaves += [None] * structure.leaves
            else:
                leaves += structure.flatten(value, f"argument {i}")
        return leaves

    def weight_inputs(self) -> list[int]:
        """The numbers of the inputs that belong to weights arguments."""
        numbers, start = [], 0
        for i, structure in enumerate(self.arguments):
            if i in self.weights:
                numbers += range(start, start + structure.leaves)
            start += structure.leaves
        return numbers

    def to_json(self) -> dict[str, Any] | None:
        """A value for json.dump, or None if only JAX can represent a structure."""
        arguments = [trees.to_json(structure) for structure in self.arguments]
        results = trees.to_json(self.results)
        if results is None or None in arguments:
            return None
        return {"arguments": arguments, "results": results, "weights": list(self.weights)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Signature":
        arguments = [trees.from_json(structure) for structure in value["arguments"]]
        return Signature(arguments, trees.from_json(value["results"]), tuple(value["weights"]))
