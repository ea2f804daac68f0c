"""JAX functions as programs."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxlib import lapack

from . import trees
from .errors import Error
from .signature import Signature


def export(function: Any, args: Sequence[Any], weights: Sequence[int]) -> tuple[bytes, Signature, list | None]:
    """`function` at the shapes of `args` as portable StableHLO (text where sizes were symbolic), its signature, and the
    leaves of `args`.

    `function` may be a jax.export object. Every array leaf of the arguments is an input, in JAX's order, used or not;
    leaves are returned as NumPy arrays of JAX's types, None if one is a jax.ShapeDtypeStruct.
    """
    exporting = isinstance(function, jax.export.Exported)
    called = function.call if exporting else function
    flattened = [jax.tree_util.tree_flatten(arg) for arg in args]
    leaves = [leaf for part, _ in flattened for leaf in part]
    if any(map(is_key, leaves)):
        hint = "pass jax.random.key_data(key) and wrap it in the function, or use hone.jit"
        raise Error("typed PRNG keys are no arrays of a tuned program", hint=hint)
    traced = {}

    def flat(*inputs):
        rest = iter(inputs)
        rebuilt = [treedef.unflatten([next(rest) for _ in part]) for part, treedef in flattened]
        results, traced["results"] = jax.tree_util.tree_flatten(called(*rebuilt))
        return tuple(results)

    flat.__name__ = name_of(function)
    jitted = jax.jit(flat, keep_unused=True)
    exported = exported_for_cpu(jitted, leaves)
    module = exported.mlir_module_serialized
    if exporting and any(map(jax.export.is_symbolic_dim, (size for aval in function.in_avals for size in aval.shape))):
        module = refined(jitted.trace(*leaves).lower(lowering_platforms=("cpu",))).encode()
    arguments = [trees.from_treedef(treedef) for _, treedef in flattened]
    signature = Signature(arguments, trees.from_treedef(traced["results"]), tuple(weights))
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        return module, signature, None
    inputs = [np.asarray(leaf, aval.dtype) for leaf, aval in zip(leaves, exported.in_avals, strict=True)]
    return module, signature, inputs


def exported_for_cpu(jitted: Any, examples: Sequence[Any]) -> Any:
    """jax.export of a function at the shapes of `examples`.

    JAX refuses to export some of its calls of LAPACK, since a later JAX may compute them otherwise; here they stay with
    the Hone that computes them.
    """
    targets = [target for target, *_ in lapack.registrations()["cpu"]]
    unchecked = [jax.export.DisabledSafetyCheck.custom_call(target) for target in targets]
    return jax.export.export(jitted, platforms=["cpu"], disabled_checks=unchecked)(*examples)


def name_of(function: Any) -> str:
    """What a program of this function or jax.export object is called."""
    return getattr(function, "fun_name", None) or getattr(function, "__name__", "function")


def is_key(value: Any) -> bool:
    """Whether a value, traced or not, is an array of typed PRNG keys."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def refined(lowered: Any) -> str:
    """Text of a module whose symbolic sizes follow from the sizes of its inputs."""
    from jax._src.interpreters import mlir  # has no public name

    return str(mlir.refine_polymorphic_shapes(lowered.compiler_ir("stablehlo")))
