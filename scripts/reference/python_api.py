"""The Python package as a page: signatures and docstrings, read without importing anything."""

import ast
import re

# Modules that users import, in the order of the page, and the names shown of each; None: all public names, or those of
# __all__ where there is one.
MODULES = {"hone": None, "hone.jitted.function": ("Jitted",), "hone.gym": None, "hone.arrays": ("empty",)}
MODULES |= {"hone.torch_model": None, "hone.tensorflow_model": None, "hone.model_files": ("ModelFile", "TunedModel")}
# What an object of a class is called; by default the class's name in lower case.
INSTANCES = {
    "XlaPassOrder": "env",
    "XlaPassOrderVector": "envs",
    "Jitted": "f",
    "TunedModel": "fast",
    "ModelFile": "file",
}
NOT_CONSTRUCTED = {"Jitted", "TunedModel"}  # by users
CONSTANTS = {
    "__version__": "The version of this package and of the program `hone`, as text.\n",
    "IDS": "The names of the environments, a tuple of text.\n",
}
PARAMETER = re.compile(r"^(\w[\w, *]*?) {2,}(\S.*)$")


def page(package):
    """docs/reference/python.md of the package in the folder `package`."""
    parts = [
        "# Python API\n",
        "Made from the docstrings of `python/hone`. How to use it: "
        "[howto/use-from-python.md](../howto/use-from-python.md).\n",
    ]
    for module, shown in MODULES.items():
        name = module.partition(".")[2]
        path = package / f"{(name or '__init__').replace('.', '/')}.py"
        tree = ast.parse(path.read_text())
        parts.append(f"## {module}\n")
        parts += _documentation(tree)
        public = list(_exported(package, tree)) or _public(tree.body)
        parts += [part for what, node in public if not shown or what in shown for part in _item(module, what, node)]
    return "\n".join(parts)


def _exported(package, tree):
    """(name, definition) of the names in __all__; the definition is None if it is not a function or class."""
    origin, names = {}, []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            origin |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            names = ast.literal_eval(node.value)
    for name in names:
        module, original = origin.get(name, (None, name))
        body = ast.parse((package / f"{module}.py").read_text()).body if module else tree.body
        yield name, next((node for what, node in _definitions(body) if what == original), None)


def _definitions(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node


def _public(body):
    return [(name, node) for name, node in _definitions(body) if not name.startswith("_")]


def _item(module, name, node):
    """Markdown of one function or class."""
    if node is None:
        return [f"### {module}.{name}\n", *([CONSTANTS[name]] if name in CONSTANTS else [])]
    if isinstance(node, ast.FunctionDef):
        return [f"### {module}.{name}\n", _code(f"{module}.{name}{_signature(node)}"), *_documentation(node)]
    made = next((f for what, f in _definitions(node.body) if what == "__init__" and name not in NOT_CONSTRUCTED), None)
    parts = [f"### {module}.{name}\n"]
    if made:
        parts.append(_code(f"{module}.{name}{_signature(made, method=True)}"))
    parts += _documentation(node)
    for what, method in _public(node.body):
        is_property = any(getattr(d, "id", "") == "property" for d in method.decorator_list)
        call = what if is_property else what + _signature(method, method=True)
        example = _code(f"{INSTANCES.get(name, name.lower())}.{call}")
        parts += [f"#### {name}.{what}\n", example, *_documentation(method)]
    return parts


def _signature(function, method=False):
    """(arguments) -> result, as written, without self and without arguments that begin with an underscore."""
    arguments = ast.parse(ast.unparse(function)).body[0].args
    if method:
        (arguments.posonlyargs or arguments.args).pop(0)
    while arguments.args and arguments.args[-1].arg.startswith("_"):
        arguments.args.pop()
        arguments.defaults = arguments.defaults[:-1]
    for index in reversed(range(len(arguments.kwonlyargs))):
        if arguments.kwonlyargs[index].arg.startswith("_"):
            del arguments.kwonlyargs[index], arguments.kw_defaults[index]
    if not function.returns or function.name == "__init__":
        return f"({ast.unparse(arguments)})"
    named = isinstance(function.returns, ast.Constant) and isinstance(
        function.returns.value, str
    )  # before its definition
    return f"({ast.unparse(arguments)}) -> {function.returns.value if named else ast.unparse(function.returns)}"


def _code(text):
    return f"```python\n{text}\n```\n"


def _documentation(node):
    """Markdown of a docstring: examples as code, lists of parameters as lists, the rest as it is."""
    text = ast.get_docstring(node)
    return [_paragraph(paragraph) + "\n" for paragraph in text.split("\n\n")] if text else []


def _paragraph(text):
    if _is_code(text):
        return f"```python\n{text}\n```"
    if not PARAMETER.match(text.splitlines()[0]):
        return text
    items = []
    for line in text.splitlines():
        match = PARAMETER.match(line)
        if match:
            items.append(f"- `{match.group(1)}`: {match.group(2)}")
        else:
            items[-1] += " " + line.strip()
    return "\n".join(items)


def _is_code(text):
    """Whether a paragraph is an example: valid Python that imports or assigns."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)) for node in tree.body)
