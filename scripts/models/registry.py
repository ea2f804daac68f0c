"""The table of corpus programs: every other module of this package adds rows to it with `program` or `add`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from program_parts import Program


class Entry(NamedTuple):
    name: str  # unique: MODEL_bBATCH
    model: str
    family: str  # programs of one family are relatives: a manual split keeps them together
    batch: int
    library: str
    about: str
    make: Callable[[int], Program]  # batch -> the program


ENTRIES: dict[str, Entry] = {}


def add(model: str, family: str, batches: Iterable[int], library: str, about: str, make: Callable[[int], Program]):
    """Adds one row per batch size."""
    for batch in batches:
        name = f"{model}_b{batch}"
        if name in ENTRIES:
            raise ValueError(f"{name}: defined twice")
        ENTRIES[name] = Entry(name, model, family, batch, library, about, make)


def program(family: str, batches: Iterable[int], about: str, library: str = "jax"):
    """Decorates a function batch -> Program; its name is the model's."""

    def register(make: Callable[[int], Program]):
        add(make.__name__, family, batches, library, about, make)
        return make

    return register
