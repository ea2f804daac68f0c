"""What the arguments of a function are to hone.jit: static, weights, or arrays like others."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ..errors import Error

Names = int | str | Sequence[int | str] | None


class Parameters:
    """`static` and `weights` name arguments by position or name; either selects an argument however it is passed.

    `shape`: values for symbolic sizes. `exported`: the jax.export object that the function comes from, if any.
    """

    def __init__(
        self,
        function: Callable,
        static: Names,
        weights: Names,
        shape: Mapping[str, int] | None = None,
        exported: jax.export.Exported | None = None,
    ) -> None:
        self._names = _positional(function)
        self._static = self._selected(static, "static_argnums or static_argnames", function)
        self._weights = self._selected(weights, "weights", function)
        both = sorted(self._static & self._weights, key=str)
        if both:
            raise ValueError(f"weights: the argument {both[0]!r} is static too (name it in one of them)")
        self._shape, self._exported = dict(shape or {}), exported
        self.has_static = bool(self._static)

    def static_options(self, function: Callable) -> dict[str, tuple]:
        """The static arguments, for jax.jit: those with a position and a name by both."""
        keywords = {*_keywords(function)} | (
            {*self._static} - {*self._names} if _takes_any_keyword(function) else set()
        )
        numbers = {one for one in self._static if isinstance(one, int) and not -len(self._names) <= one < 0}
        return {
            "static_argnums": tuple(sorted(numbers)),
            "static_argnames": tuple(sorted(one for one in self._static if isinstance(one, str) and one in keywords)),
        }

    def split(self, args: tuple, kwargs: dict) -> tuple[tuple, tuple, dict]:
        """(the static arguments with their places and types, the other positional ones, the other keywords)."""
        n = len(args)
        at = {i % n for i in self._static if isinstance(i, int) and -n <= i < n} if n else set()
        statics = [(i, type(args[i]), args[i]) for i in sorted(at)]
        statics += [(k, type(kwargs[k]), kwargs[k]) for k in sorted(kwargs) if k in self._static]
        rest = {k: v for k, v in kwargs.items() if k not in self._static}
        return tuple(statics), tuple(arg for i, arg in enumerate(args) if i not in at), rest

    @staticmethod
    def join(statics: tuple, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The call of which `split` made these parts."""
        joined, named = list(args), dict(kwargs)
        for place, _, value in statics:
            if isinstance(place, int):
                joined.insert(place, value)
            else:
                named[place] = value
        return tuple(joined), named

    def weight_leaves(self, statics: tuple, args: tuple, kwargs: dict) -> list[int]:
        """The numbers of the leaves of (args, kwargs), which are without static arguments, that belong to weights."""
        taken = {place for place, _, _ in statics}
        places: list[int | str] = [i for i in range(len(args) + len(taken)) if i not in taken][: len(args)]
        values = [*args, *(kwargs[k] for k in sorted(kwargs))]
        numbers: list[int] = []
        start = 0
        for place, value in zip([*places, *sorted(kwargs)], values, strict=True):
            count = jax.tree_util.tree_structure(value).num_leaves
            if place in self._weights:
                numbers += range(start, start + count)
            start += count
        return numbers

    def fixed(self, leaf: Any) -> Any:
        """A leaf with numbers for symbolic sizes."""
        shape = getattr(leaf, "shape", ())
        if not any(map(jax.export.is_symbolic_dim, shape)):
            return leaf
        return jax.ShapeDtypeStruct(tuple(map(self._size, shape)), leaf.dtype)

    def exported_arguments(self) -> tuple[tuple, dict]:
        """The shapes that the function's jax.export object takes; there are none for other functions."""
        if self._exported is None:
            return (), {}
        shapes = [self.fixed(jax.ShapeDtypeStruct(aval.shape, aval.dtype)) for aval in self._exported.in_avals]
        return jax.tree_util.tree_unflatten(self._exported.in_tree, shapes)

    def _size(self, size: Any) -> int:
        if not jax.export.is_symbolic_dim(size):
            return size
        missing = sorted(size.get_vars() - self._shape.keys())
        if missing:
            raise Error(f"the size {size} is symbolic", hint=f"pass shape={{{missing[0]!r}: N}} to hone.jit")
        return int(size._evaluate(self._shape))  # has no public name

    def _selected(self, given: Names, what: str, function: Callable) -> frozenset[int | str]:
        """Positions and names of the selected arguments: both of each that has both."""
        selected: set[int | str] = set()
        for one in (given,) if isinstance(given, (int, str)) else tuple(given or ()):
            selected.add(one)
            if isinstance(one, str) and one in self._names:
                selected.add(self._names.index(one))
            elif isinstance(one, str) and not _takes_any_keyword(function) and one not in _keywords(function):
                near = difflib.get_close_matches(one, [*self._names, *_keywords(function)], 1)
                hint = f": did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{what}: the function has no argument {one!r}{hint}")
            elif isinstance(one, int) and -len(self._names) <= one < len(self._names):
                selected.update({one % len(self._names), self._names[one]})
            elif isinstance(one, int) and what == "weights" and not _takes_any_position(function):
                raise ValueError(f"{what}: the function has no argument {one} (it takes {len(self._names)})")
        return frozenset(selected)


def describe(leaf: Any) -> Any:
    """The JAX type of what is passed as an array; TypeError for what is traced, only a shape, or no array."""
    if isinstance(leaf, (jax.core.Tracer, jax.ShapeDtypeStruct)):
        raise TypeError("not concrete")
    return leaf.aval if isinstance(leaf, jax.Array) else jax.api_util.shaped_abstractify(leaf)


def describe_shape(leaf: Any) -> Any:
    """As `describe`, and of a jax.ShapeDtypeStruct the type of an array of that shape."""
    return jax.api_util.shaped_abstractify(leaf) if isinstance(leaf, jax.ShapeDtypeStruct) else describe(leaf)


def concrete() -> bool:
    """Whether JAX computes at once here, not inside a function that it traces."""
    return not isinstance(jax.numpy.add(0, 0), jax.core.Tracer)


def _signature(function: Callable) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _positional(function: Callable) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in _signature(function).items() if parameter.kind in kinds]


def _keywords(function: Callable) -> list[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in _signature(function).items() if parameter.kind in kinds]


def _takes_any_position(function: Callable) -> bool:
    parameters = _signature(function)
    return not parameters or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())


def _takes_any_keyword(function: Callable) -> bool:
    parameters = _signature(function)
    return not parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
