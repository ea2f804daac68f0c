"""How a function's arguments and results map to the flat lists of arrays that programs take and return.

A structure is nested tuples, lists, dicts and None with leaf numbers in place of leaves; it is stored with a tuned
program as JSON. Structures that JSON cannot represent (named tuples, registered classes) are kept as JAX treedefs for
the lifetime of the process.
"""


class Structure:
    """Plain containers. `skeleton` has the numbers 0..leaves-1 where the leaves go."""

    def __init__(self, skeleton, leaves):
        self.skeleton, self.leaves = skeleton, leaves

    def flatten(self, value, name):
        """The leaves of `value` in order; TypeError with the place below `name` where the structure differs."""
        out = [None] * self.leaves
        _collect(self.skeleton, value, out, name)
        return out

    def unflatten(self, leaves):
        return _fill(self.skeleton, leaves)


class JaxStructure:
    """Any JAX pytree, as its treedef."""

    def __init__(self, treedef):
        self.treedef, self.leaves = treedef, treedef.num_leaves

    def flatten(self, value, name):
        try:
            return self.treedef.flatten_up_to(value)
        except ValueError as error:
            raise TypeError(f"{name}: {error}") from error

    def unflatten(self, leaves):
        return self.treedef.unflatten(leaves)


def from_treedef(treedef):
    """The structure of a JAX treedef, plain if possible."""
    skeleton = treedef.unflatten(range(treedef.num_leaves))
    if _is_plain(skeleton):
        return Structure(skeleton, treedef.num_leaves)
    return JaxStructure(treedef)


LEAF = Structure(0, 1)


def results(leaves):
    """One leaf by itself, several as a tuple."""
    return LEAF if leaves == 1 else Structure(tuple(range(leaves)), leaves)


def to_json(structure):
    """A value for json.dump, or None for a structure that only JAX can represent."""
    if isinstance(structure, JaxStructure):
        return None
    return {"leaves": structure.leaves, "skeleton": _encode(structure.skeleton)}


def from_json(value):
    return Structure(_decode(value["skeleton"]), value["leaves"])


def _is_plain(node):
    if node is None or type(node) is int:
        return True
    if type(node) in (tuple, list):
        return all(map(_is_plain, node))
    return type(node) is dict and all(type(k) is str and _is_plain(v) for k, v in node.items())


def _encode(node):
    if type(node) in (tuple, list):
        return {type(node).__name__: [_encode(child) for child in node]}
    if type(node) is dict:
        return {"dict": {key: _encode(child) for key, child in node.items()}}
    return node


def _decode(node):
    if not isinstance(node, dict):
        return node
    ((kind, children),) = node.items()
    if kind == "dict":
        return {key: _decode(child) for key, child in children.items()}
    return {"tuple": tuple, "list": list}[kind](_decode(child) for child in children)


def _collect(node, value, out, path):
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
    else:
        if type(value) is not type(node) or len(value) != len(node):
            raise TypeError(f"{path}: expected a {type(node).__name__} of {len(node)}, got {_describe(value)}")
        for i, child in enumerate(node):
            _collect(child, value[i], out, f"{path}[{i}]")


def _describe(value):
    if isinstance(value, dict):
        return f"a dict with keys {sorted(map(str, value))}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def _fill(node, leaves):
    if type(node) is int:
        return leaves[node]
    if type(node) is dict:
        return {key: _fill(child, leaves) for key, child in node.items()}
    if node is None:
        return None
    return type(node)(_fill(child, leaves) for child in node)
