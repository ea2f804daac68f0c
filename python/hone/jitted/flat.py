"""A JAX function at one signature as a program of flat arrays, and back.

Typed PRNG keys are passed as their data (unsigned integers), so that every input and output is an array that a program
outside JAX can read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from ..jax_export import exported_for_cpu, is_key, refined


class Unsuitable(Exception):
    """Why a program cannot be tuned, in words for the user."""


class Flat:
    """A function as jax.jit has traced it (`traced`), with (args, kwargs) = treedef.unflatten(leaves).

    The function itself is not called again. `leaves` may be arrays, numbers, keys or jax.ShapeDtypeStruct. Unsuitable
    for results that a program's arrays cannot represent.
    """

    def __init__(self, traced: Any, treedef: Any, leaves: list) -> None:
        self._treedef, self._leaves = treedef, leaves
        self._computation, self._name = traced.jaxpr, traced.fun_name
        self._result_tree = jax.tree_util.tree_structure(traced.out_info)
        if any(getattr(aval, "weak_type", False) for aval in traced.jaxpr.out_avals):
            raise Unsuitable("a result has a weak type, as Python numbers have (give it a type, as jnp.float32(x))")
        if traced.jaxpr.effects:
            raise Unsuitable("it has side effects, such as jax.debug.print or callbacks")
        self._impls = [_key_implementation(leaf) for leaf in leaves]
        self._jitted = jax.jit(self._named(), keep_unused=True)
        self._examples = [data_of(leaf) for leaf in leaves]
        self._traced = self._jitted.trace(*self._examples)
        self.in_avals, self.out_avals = list(self._traced.jaxpr.in_avals), list(self._traced.jaxpr.out_avals)

    @property
    def text(self) -> str:
        """The program as StableHLO, without its name and places in source files: the same for the same computation."""
        return re.sub(r"^module @\S+", "module @main", self._lowered().as_text(), count=1)

    @property
    def module(self) -> tuple[str, bytes]:
        """The program as a file for `hone tune`: the ending of its name and its contents."""
        if "tensor<?" in self.text:  # calls a jax.export object with symbolic shapes
            return ".mlir", refined(self._lowered()).encode()
        exported = exported_for_cpu(self._jitted, self._examples)
        return ".mlirbc", exported.mlir_module_serialized

    def leaves(self) -> list:
        """The leaves as they were given, and generated arrays in place of those that are only shapes."""
        random = np.random.default_rng(0)
        triples = zip(self._leaves, self.in_avals, self._impls, strict=True)
        return [_wrapped(_made(x, generate(aval, random)), impl) if _is_shape(x) else x for x, aval, impl in triples]

    def original(self, leaves: list) -> tuple[tuple, dict]:
        """(args, kwargs) of the function with these leaves."""
        return self._treedef.unflatten(leaves)

    def arrays(self, leaves: list) -> list[np.ndarray]:
        """The program's inputs for `leaves`."""
        pairs = zip(leaves, self.in_avals, strict=True)
        return [np.asarray(data_of(leaf), aval.dtype) for leaf, aval in pairs]

    def adapter(self) -> "Adapter":
        return Adapter(self._result_impls, self._result_tree)

    def _named(self) -> Callable:
        function = jaxpr_as_fun(self._computation)

        def flat(*inputs):
            results = function(*map(_wrapped, inputs, self._impls))
            self._result_impls = [_key_implementation(result) for result in results]
            return tuple(map(data_of, results))

        flat.__name__ = self._name
        return flat

    def _lowered(self) -> Any:
        return self._traced.lower(lowering_platforms=("cpu",))


@dataclass(frozen=True)
class Adapter:
    """Makes the function's result of the program's outputs."""

    implementations: list  # of the keys among them, else None
    tree: Any

    def result(self, outputs: list) -> Any:
        pairs = zip(outputs, self.implementations, strict=True)
        return self.tree.unflatten([_wrapped(value, impl) for value, impl in pairs])


def generate(aval: Any, random: np.random.Generator) -> np.ndarray:
    """Values for an input of which only the shape is known: normal numbers, and 0 or 1 for integers (any index)."""
    if np.issubdtype(aval.dtype, np.bool_) or np.issubdtype(aval.dtype, np.integer):
        return random.integers(0, 2, aval.shape).astype(aval.dtype)
    return np.asarray(random.standard_normal(aval.shape)).astype(aval.dtype)


def _made(shape: jax.ShapeDtypeStruct, values: np.ndarray) -> Any:
    """`values` with the weak type of `shape`, if it has one."""
    if not shape.weak_type:
        return values
    from jax._src.lax.lax import _convert_element_type  # has no public name

    return _convert_element_type(values, weak_type=True)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _key_implementation(leaf: Any) -> Any:
    """What jax.random.wrap_key_data needs to make a key of data; None for what is no key."""
    if not is_key(leaf):
        return None
    found = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), leaf)
    return found[0]


def data_of(leaf: Any) -> Any:
    """A key's data, or its shape for the shape of a key; all else as it is."""
    if not is_key(leaf):
        return leaf
    return jax.eval_shape(jax.random.key_data, leaf) if _is_shape(leaf) else jax.random.key_data(leaf)


def _wrapped(value: Any, impl: Any) -> Any:
    return value if impl is None else jax.random.wrap_key_data(value, impl=impl)
