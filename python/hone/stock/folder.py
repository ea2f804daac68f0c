"""The folder that `hone export --to jax` writes, as far as it is Python's."""

from collections.abc import Mapping

TEXT = "program.mlir"
PROGRAM = "program.jax_export"
LOADER = "load.py"

_LOADER = '''"""{name}, rewritten by Hone for stock JAX. Needs nothing but jax.

    import load

    function = load.load()
    result = function(*arguments)

`python load.py` shows what it takes and returns. Gradients are those of the original function, which this is not.
"""

import os
from pathlib import Path

# Settings of XLA that jax.jit takes.
OPTIONS = {options}

# Settings of XLA that only the whole process has; JAX reads them once, before it compiles anything.
FLAGS = "{flags}"
if FLAGS and FLAGS not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " " + FLAGS).strip()

import jax  # noqa: E402
import jax.export  # noqa: E402

if {wide}:  # the program has 64-bit types
    jax.config.update("jax_enable_x64", True)


def exported():
    """The program as a jax.export object; its types are in .in_avals and .out_avals."""
    return jax.export.deserialize(bytearray((Path(__file__).parent / "{program}").read_bytes()))


def load():
    """The program as a jitted function."""
    return jax.jit(exported().call, compiler_options=OPTIONS)


if __name__ == "__main__":
    print("takes", *exported().in_avals)
    print("returns", *exported().out_avals)
'''


def typed(options: Mapping[str, str]) -> dict[str, bool | int | str]:
    """The settings as compiler_options takes them."""
    words = {"true": True, "false": False}
    return {key: int(value) if value.isdigit() else words.get(value, value) for key, value in options.items()}


def loader(name: str, options: Mapping[str, object], flags: str, wide: bool) -> str:
    """The text of load.py."""
    return _LOADER.format(name=name, options=dict(options), flags=flags, wide=wide, program=PROGRAM)
