"""JAX's settings that change what a function is traced to: in a signature, and taken to another thread.

Most are set for one thread by context managers (jax.enable_x64, jax.default_matmul_precision). JAX's own list of them
has no public name; where a version of JAX has none, those with a public name count.
"""

import contextlib
from collections.abc import Hashable, Iterator
from typing import Any

import jax

_PUBLIC = ("enable_x64", "default_matmul_precision", "numpy_dtype_promotion", "numpy_rank_promotion", "default_device")
_PUBLIC += ("default_prng_impl", "threefry_partitionable", "softmax_custom_jvp", "debug_nans", "debug_infs")


def _public() -> Hashable:
    return tuple([getattr(jax.config, f"jax_{name}", None) for name in _PUBLIC])


try:
    from jax._src.config import config_states, trace_context

    hash(trace_context())
except Exception:
    config_states, trace_context = {}, _public

current = trace_context  # the settings of this thread, as part of a key


class Captured:
    """The settings of the thread that makes this, to be entered in another."""

    def __init__(self) -> None:
        self._current = current()
        self._values = {name: (state, state.value) for name, state in config_states.items()}
        if not self._values:
            managers = {name: getattr(jax, name, None) for name in _PUBLIC}
            values = {name: getattr(jax.config, f"jax_{name}", None) for name in _PUBLIC}
            self._values = {name: (of, values[name]) for name, of in managers.items() if of is not None}

    @contextlib.contextmanager
    def entered(self) -> Iterator[bool]:
        """Sets them; whether that makes all of them what they were."""
        with contextlib.ExitStack() as stack:
            for name, (manager, value) in self._values.items():
                if _present(name, manager) != value:
                    stack.enter_context(manager(value))
            yield current() == self._current


def _present(name: str, manager: Any) -> Any:
    return manager.value if name in config_states else getattr(jax.config, f"jax_{name}", None)
