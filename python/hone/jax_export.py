"""JAX functions as programs."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from . import trees
from .signature import Signature


def export(function: Callable, args: Sequence[Any], weights: Sequence[int]) -> tuple[bytes, Signature, list]:
    """`function` at the shapes of `args` as portable StableHLO bytecode, its signature, and the leaves of `args`.

    Every array leaf of the arguments is an input, in JAX's order, used or not; leaves are returned as NumPy arrays of
    JAX's types.
    """
    flattened = [jax.tree_util.tree_flatten(arg) for arg in args]
    leaves = [leaf for part, _ in flattened for leaf in part]
    traced = {}

    def flat(*inputs):
        rest = iter(inputs)
        rebuilt = [treedef.unflatten([next(rest) for _ in part]) for part, treedef in flattened]
        results, traced["results"] = jax.tree_util.tree_flatten(function(*rebuilt))
        return tuple(results)

    flat.__name__ = getattr(function, "__name__", "main")
    exported = jax.export.export(jax.jit(flat, keep_unused=True), platforms=["cpu"])(*leaves)
    arguments = [trees.from_treedef(treedef) for _, treedef in flattened]
    signature = Signature(arguments, trees.from_treedef(traced["results"]), tuple(weights))
    inputs = [np.asarray(leaf, aval.dtype) for leaf, aval in zip(leaves, exported.in_avals, strict=True)]
    return exported.mlir_module_serialized, signature, inputs
