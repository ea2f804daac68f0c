"""Structures of classes registered with JAX (dataclasses, any pytree), stored with a tuned program as JSON.

A node is its class by name and what the class keeps beside its children, such as the values of static fields, where
that is made of numbers, text, tuples, lists and dicts.
"""

import sys
from typing import Any

_PLAIN = (type(None), bool, int, float, str)


class UnknownClass(LookupError):
    """A class that is not imported, or not registered with JAX; the argument is its name."""


def encode(treedef: Any) -> Any:
    """A value for json.dump; None for classes that cannot be found by name and for what JSON cannot represent."""
    try:
        return _encode(treedef)
    except ValueError:
        return None


def decode(node: Any) -> Any:
    """The treedef of such a value. Imports no class: UnknownClass names the first that is not there."""
    if "jax" not in sys.modules:
        raise UnknownClass("jax")
    import jax

    return _decode(node, jax.tree_util.default_registry, jax.tree.structure(0))


def _encode(treedef):
    if treedef.node_data() is None:
        return 0
    kind, static = treedef.node_data()
    if kind is not type(None) and _find(kind.__module__, kind.__qualname__) is not kind:
        raise ValueError(f"{kind} cannot be found by its name")
    return {
        "module": kind.__module__,
        "name": kind.__qualname__,
        "static": _encode_static(None if static is kind else static),
        "is_class": static is kind,  # of named tuples
        "children": [_encode(child) for child in treedef.children()],
    }


def _decode(node, registry, leaf):
    if node == 0:
        return leaf
    name = f"{node['module']}.{node['name']}"
    kind = type(None) if node["name"] == "NoneType" else _find(node["module"], node["name"])
    if not isinstance(kind, type):
        raise UnknownClass(name)
    static = kind if node["is_class"] else _decode_static(node["static"])
    children = [_decode(child, registry, leaf) for child in node["children"]]
    try:
        return type(leaf).from_node_data_and_children(registry, (kind, static), children)
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnknownClass(name) from error


def _find(module, name):
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _encode_static(value):
    if type(value) in _PLAIN and value == value:  # a NaN would differ from itself
        return value
    if type(value) in (tuple, list):
        return {type(value).__name__: [_encode_static(item) for item in value]}
    if type(value) is dict:
        return {"dict": [[_encode_static(key), _encode_static(item)] for key, item in value.items()]}
    raise ValueError(f"{value!r} has no JSON")


def _decode_static(value):
    if not isinstance(value, dict):
        return value
    ((kind, items),) = value.items()
    if kind == "dict":
        return {_decode_static(key): _decode_static(item) for key, item in items}
    return {"tuple": tuple, "list": list}[kind](_decode_static(item) for item in items)
