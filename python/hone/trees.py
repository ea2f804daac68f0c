"""How a function's arguments and results map to the flat lists of arrays that programs take and return.

A structure is nested tuples, named tuples, lists, dicts and None with leaf numbers in place of leaves; it is stored
with a tuned program as JSON. Structures of classes registered with JAX are JAX treedefs, of which registered.py stores
those whose classes can be found by name; others are kept for the lifetime of the process.
"""

import collections
import keyword
import sys
from collections.abc import Sequence
from typing import Any

from . import registered


class Structure:
    """Plain containers. `skeleton` has the numbers 0..leaves-1 where the leaves go."""

    def __init__(self, skeleton: Any, leaves: int) -> None:
        self.skeleton, self.leaves = skeleton, leaves

    def flatten(self, value: Any, name: str) -> list:
        """The leaves of `value` in order; TypeError with the place below `name` where the structure differs."""
        out = [None] * self.leaves
        _collect(self.skeleton, value, out, name)
        return out

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        return _fill(self.skeleton, leaves)


class JaxStructure:
    """Any JAX pytree, as its treedef."""

    def __init__(self, treedef: Any) -> None:
        self.treedef, self.leaves = treedef, treedef.num_leaves

    def flatten(self, value: Any, name: str) -> list:
        """As Structure.flatten."""
        try:
            return self.treedef.flatten_up_to(value)
        except ValueError as error:
            raise TypeError(f"{name}: {error}") from error

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        return self.treedef.unflatten(leaves)


def from_treedef(treedef: Any) -> Structure | JaxStructure:
    """The structure of a JAX treedef, plain if possible."""
    skeleton = treedef.unflatten(range(treedef.num_leaves))
    if _is_plain(skeleton):
        return Structure(skeleton, treedef.num_leaves)
    return JaxStructure(treedef)


LEAF = Structure(0, 1)


def results(leaves: int) -> Structure:
    """One leaf by itself, several as a tuple."""
    return LEAF if leaves == 1 else Structure(tuple(range(leaves)), leaves)


def to_json(structure: Structure | JaxStructure) -> dict[str, Any] | None:
    """A value for json.dump, or None for a structure that only JAX can represent."""
    if isinstance(structure, JaxStructure):
        tree = registered.encode(structure.treedef)
        return None if tree is None else {"leaves": structure.leaves, "tree": tree}
    return {"leaves": structure.leaves, "skeleton": _encode(structure.skeleton)}


def from_json(value: dict[str, Any]) -> Structure | JaxStructure:
    """The structure of such a value. Imports nothing.

    A named tuple is of its class where the module of that is imported, else alike. Where another class is not imported:
    registered.UnknownClass.
    """
    if "tree" in value:
        return JaxStructure(registered.decode(value["tree"]))
    return Structure(_decode(value["skeleton"]), value["leaves"])


def _is_named(node: Any) -> bool:
    return isinstance(node, tuple) and isinstance(getattr(node, "_fields", None), tuple)


def _is_plain(node: Any) -> bool:
    if node is None or type(node) is int:
        return True
    if type(node) in (tuple, list) or _is_named(node):
        return all(map(_is_plain, node))
    return type(node) is dict and all(type(k) in (str, int) and _is_plain(v) for k, v in node.items())


def _encode(node: Any) -> Any:
    if _is_named(node):
        kind = type(node)
        called = {"module": kind.__module__, "name": kind.__qualname__, "fields": list(kind._fields)}
        return {"named": [called, *map(_encode, node)]}
    if type(node) in (tuple, list):
        return {type(node).__name__: [_encode(child) for child in node]}
    if type(node) is dict and any(type(key) is int for key in node):  # JSON's keys are text
        return {"pairs": [[key, _encode(child)] for key, child in node.items()]}
    if type(node) is dict:
        return {"dict": {key: _encode(child) for key, child in node.items()}}
    return node


def _decode(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    ((kind, children),) = node.items()
    if kind == "dict":
        return {key: _decode(child) for key, child in children.items()}
    if kind == "pairs":
        return {key: _decode(child) for key, child in children}
    if kind == "named":
        return _named_class(children[0])(*map(_decode, children[1:]))
    return {"tuple": tuple, "list": list}[kind](_decode(child) for child in children)


def _named_class(called: dict[str, Any]) -> type:
    """The class if it is imported and has the same fields, else one like it. Imports nothing."""
    found: Any = sys.modules.get(called["module"])
    for part in called["name"].split("."):
        found = getattr(found, part, None)
    fields = tuple(called["fields"])
    if isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", None) == fields:
        return found
    name = called["name"].rpartition(".")[2]
    usable = name.isidentifier() and not keyword.iskeyword(name)
    return collections.namedtuple(name if usable else "Structure", fields)


def _collect(node: Any, value: Any, out: list, path: str) -> None:
    if type(node) is int:
        out[node] = value
    elif node is None:
        if value is not None:
            raise TypeError(f"{path}: expected None, got {type(value).__name__}")
    elif type(node) is dict:
        if not isinstance(value, dict) or value.keys() != node.keys():
            raise TypeError(f"{path}: expected a dict with keys {sorted(node)}, got {_describe(value)}")
        for key, child in node.items():
            _collect(child, value[key], out, f"{path}[{key!r}]")
    elif _is_named(node):
        if getattr(value, "_fields", None) != node._fields:
            raise TypeError(f"{path}: expected a named tuple of {', '.join(node._fields)}, got {_describe(value)}")
        for name, child in zip(node._fields, node, strict=True):
            _collect(child, getattr(value, name), out, f"{path}.{name}")
    else:
        if type(value) is not type(node) or len(value) != len(node):
            raise TypeError(f"{path}: expected a {type(node).__name__} of {len(node)}, got {_describe(value)}")
        for i, child in enumerate(node):
            _collect(child, value[i], out, f"{path}[{i}]")


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with keys {sorted(map(str, value))}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def _fill(node: Any, leaves: Sequence[Any]) -> Any:
    if type(node) is int:
        return leaves[node]
    if type(node) is dict:
        return {key: _fill(child, leaves) for key, child in node.items()}
    if node is None:
        return None
    if _is_named(node):
        return type(node)(*(_fill(child, leaves) for child in node))
    return type(node)(_fill(child, leaves) for child in node)
