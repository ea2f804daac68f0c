"""The programs of one process, compiled and timed by stock JAX."""

import time
from pathlib import Path
from typing import Any

import jax
import jaxlib
import numpy as np

from ..errors import Error
from ..signature import Signature
from ..timing import timed
from . import folder
from .exported import exported, is_wide, plain


class Stock:
    """Each method answers one kind of request with an object for JSON."""

    def __init__(self) -> None:
        jax.config.update("jax_enable_x64", True)  # programs say their types themselves
        self._calls: dict[str, Any] = {}
        self._inputs: list[jax.Array] = []

    def hello(self) -> dict[str, Any]:
        return {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "device": jax.devices()[0].platform}

    def inputs(self, file: str) -> dict[str, Any]:
        """Sets the inputs of all programs: the arrays arr_0, arr_1, ... of an .npz file."""
        with np.load(file) as arrays:
            self._inputs = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        return {"inputs": len(self._inputs)}

    def open(self, name: str, file: str, options: dict[str, str]) -> dict[str, Any]:
        """Compiles the StableHLO of a file under `options` and keeps it as `name`."""
        made = exported(Path(file).read_text(), name)
        if len(made.in_avals) != len(self._inputs):
            raise Error(f"the program has {len(made.in_avals)} inputs, not {len(self._inputs)}")
        values = [
            jax.device_put(value.view(aval.dtype) if value.dtype.kind == "V" else value)
            for value, aval in zip(self._inputs, made.in_avals, strict=True)
        ]
        call = jax.jit(made.call, compiler_options=folder.typed(options))
        begin = time.perf_counter()
        jax.block_until_ready(call(*values))
        self._calls[name] = lambda: jax.block_until_ready(call(*values))
        return {"first_call_s": time.perf_counter() - begin}

    def run(self, name: str, repeat: int, cpu: bool, outputs: str | None = None) -> dict[str, Any]:
        """Times of `repeat` calls, in ns, after one call more: what the process computed (`cpu`), or by the clock."""
        call = self._calls[name]
        now = time.process_time_ns if cpu else time.perf_counter_ns
        results = call()
        times = [timed(call, now) for _ in range(repeat)]
        if outputs:
            np.savez(outputs, *map(np.asarray, jax.tree_util.tree_leaves(results)))
        return {"times_ns": times}

    def export(
        self, name: str, file: str, to: str, signature: dict | None, options: dict[str, str], flags: str
    ) -> dict[str, Any]:
        """Writes the program, for jax.export.deserialize and as text, and what shows its use, to the folder `to`."""
        text = Path(file).read_text()
        made = exported(text, name, Signature.from_json(signature) if signature else None)
        structured = True
        try:
            serialized = made.serialize()
        except ValueError:  # containers that only a running process knows
            structured = False
            made = exported(text, name)
            serialized = made.serialize()
        (Path(to) / folder.TEXT).write_text(plain(text))
        (Path(to) / folder.PROGRAM).write_bytes(serialized)
        (Path(to) / folder.LOADER).write_text(folder.loader(name, folder.typed(options), flags, is_wide(made)))
        shapes = {
            key: [f"{aval.dtype.name}[{','.join(map(str, aval.shape))}]" for aval in avals]
            for key, avals in (("inputs", made.in_avals), ("outputs", made.out_avals))
        }
        return {**shapes, "wide": is_wide(made), "structured": structured, **self.hello()}
