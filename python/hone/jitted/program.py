"""The tuned program of one signature: from the cache or from a tune, judged against jax.jit."""

import contextlib
import hashlib
import operator
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jaxlib
import numpy as np

from .. import command, files, jax_call, runtime, tuner
from ..errors import Error
from ..version import __version__
from . import background, duel, store, turns
from .flat import Adapter, Flat, data_of

_MOST_PAUSED = 0.2  # of its budget: a search that stood still longer found little, which says nothing about the program


@dataclass(frozen=True)
class Settings:
    """How to tune. `cache`: the folder of tuned programs, or None to keep nothing. `gently`: behind other work."""

    name: str
    budget: float | str
    threads: int
    build: str | Path | None
    cache: Path | None
    options: dict = field(default_factory=dict)
    gently: bool = False
    jax_options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a signature is answered by: `call`, or jax.jit where that is None; then `reason` says why.

    `speedup`: over jax.jit; None where that was not measured. `warn`: whether the user has to know.
    """

    call: Callable[[list], Any] | None = None
    speedup: float | None = None
    path: str | None = None
    reason: str = ""
    warn: bool = False


class TracedError(Exception):
    """The call became part of a function that JAX traces: weights that are set later would change its results."""


class Call:
    """The function at one signature, by a tuned program.

    Weights are set when their leaves are other objects than in the last call. Calls with weights wait for their result,
    so that no run meets the weights of a later call. TracedError for such a call where JAX traces another function.
    """

    def __init__(self, program: runtime.Program, adapter: Adapter, build: str | Path | None) -> None:
        self._program, self._weights = program, program.weights
        self._rest = [i for i in range(len(program.inputs)) if i not in set(program.weights)]
        self._held: list = [object()] * len(self._weights)
        self._lock = threading.Lock()
        background.tell_of_forks(self)

        def run(*rest):
            values: list = [None] * len(program.inputs)
            for i, leaf in zip(self._rest, rest, strict=True):
                values[i] = data_of(leaf)
            return adapter.result(jax_call.call(program, values, build))

        self._run = jax.jit(run)

    def __call__(self, leaves: list) -> Any:
        if not self._weights:
            result = self._run(*leaves)
            if any(isinstance(output, jax.core.Tracer) for output in jax.tree_util.tree_leaves(result)[-1:]):
                jax_call.keep(self._program)  # part of a function that JAX compiles later
            return result
        with self._lock:
            given = [leaves[i] for i in self._weights]
            if not all(map(operator.is_, given, self._held)):
                self._set(given)
            result = self._run(*[leaves[i] for i in self._rest])
            for output in jax.tree_util.tree_leaves(result)[-1:]:  # all are ready at once
                if isinstance(output, jax.core.Tracer):
                    raise TracedError
                output.block_until_ready()
            return result

    def forked(self) -> None:
        """The thread that may have held the lock is not in this process."""
        self._lock = threading.Lock()

    def _set(self, given: list) -> None:
        for at, (i, leaf) in enumerate(zip(self._weights, given, strict=True)):
            if leaf is not self._held[at]:
                self._held[at] = None  # if what follows fails, this weight is set anew
                self._program.set_weight(i, np.asarray(data_of(leaf)))
                self._held[at] = leaf


def find(flat: Flat, weights: list[int], settings: Settings, sides: tuple[Callable, Callable]) -> Outcome:
    """The outcome for a program whose inputs `weights` are constant between calls; never raises but for interrupts.

    sides  (stock, tuned): stock(args, kwargs) is jax.jit's answer, tuned(call, args, kwargs) that of a Call with all
           that a call through hone.jit costs
    """
    try:
        return _find(flat, weights, settings, sides)
    except Error as error:
        hint = "" if error.hint else " (try a longer budget, or keep jax.jit for it)"
        return Outcome(reason=f"{error}{hint}", warn=True)
    except Exception as error:  # of JAX's exporter, a library that does not load, a full disk: jax.jit still answers
        return Outcome(reason=first_line(error), warn=True)


def _find(flat: Flat, weights: list[int], settings: Settings, sides: tuple[Callable, Callable]) -> Outcome:
    parts = _identity(weights, settings)
    key = store.key_of(parts, flat.text)
    with contextlib.ExitStack() as stack:
        kept = store.Store(settings.cache) if settings.cache else None
        found = _kept(kept, key, flat, settings)  # also where nothing can be written
        unkept = kept.problem() if kept and not found else ""
        if kept and not found and not unkept:
            stack.enter_context(kept.lock(key))
            found = _kept(kept, key, flat, settings)  # of the process that held the lock
        if found:
            return found
        entry, package, call = _tuned(flat, weights, settings, sides)
        entry |= {"name": settings.name, "built_for": parts}
        if kept and not unkept and not entry.pop("hindered", False):
            try:
                entry = kept.save(key, entry, package)
                shutil.rmtree(package.parent, ignore_errors=True)
                return _outcome(entry, call)
            except OSError as error:  # such as a full disk
                unkept = store.unkept(error)
        weakref.finalize(call, _remove, package.parent, os.getpid())
        return _outcome(entry | {"path": str(package)}, call, unkept)


def _kept(kept: store.Store | None, key: str, flat: Flat, settings: Settings) -> Outcome | None:
    entry = kept.load(key) if kept and not settings.options.get("fresh") else None
    if entry:
        with contextlib.suppress(Error):  # a package that does not load is damaged: tuned again
            return _outcome(entry, _load(entry["path"], flat, settings) if entry["state"] == "ready" else None)
    return None


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not at the end of a fork
        shutil.rmtree(folder, ignore_errors=True)


def _identity(weights: list[int], settings: Settings) -> dict:
    """All that a tuned program and the verdict about it depend on, beside the program's text."""
    library = files.find(files.RUNTIME, settings.build)
    options = {name: value for name, value in settings.options.items() if name not in ("db", "fresh", "verbose")}
    return {
        "hone": __version__,
        "runtime": hashlib.sha256(library.read_bytes()).hexdigest(),  # names the XLA that it is made for
        "jaxlib": jaxlib.__version__,
        "machine": store.machine(),
        "threads": settings.threads,
        "weights": weights,
        "options": options,
        "jax": {name: str(value) for name, value in sorted(settings.jax_options.items()) if "donate" not in name},
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _tuned(
    flat: Flat, weights: list[int], settings: Settings, sides: tuple[Callable, Callable]
) -> tuple[dict, Path, Call]:
    """Tunes, compares and measures: the entry for the cache, the package in a folder of its own, and its program."""
    leaves = flat.leaves()
    ending, module = flat.module
    folder = tempfile.mkdtemp(prefix="hone-")
    with contextlib.ExitStack() as on_failure, store.temporary(prefix="hone-") as work:
        on_failure.callback(shutil.rmtree, folder)
        package = Path(folder) / f"{settings.name}.hone"
        path = Path(work) / f"{settings.name}{ending}"
        path.write_bytes(module)
        given = {
            "output": package,
            "budget": tuner.duration(settings.budget),
            "threads": settings.threads,
            "weights": weights or None,
            "inputs": tuner.save_inputs(flat.arrays(leaves), work) if leaves else None,
            "quiet": settings.gently,
            "db": None if settings.cache else Path(work) / "tune.db",
            "no_cache": settings.cache is None,
        }
        with turns.take(settings.gently):
            report = command.run(
                ["tune", path, *command.options(given | settings.options)], settings.build, settings.gently
            )
        call = _load(package, flat, settings)
        entry = _judged(flat, leaves, call, settings, sides)
        most_s = _MOST_PAUSED * tuner.seconds(settings.budget)
        if entry["state"] == "slower" and 0 < most_s < report.get("paused_s", 0.0):
            entry |= {"hindered": True, "reason": f"{entry['reason']} (its search stood still for others: not kept)"}
        on_failure.pop_all()
    return entry | {"speedup_over_default_xla": report.get("speedup")}, package, call


def _judged(
    flat: Flat, leaves: list, call: Call, settings: Settings, sides: tuple[Callable, Callable]
) -> dict[str, Any]:
    """The verdict about a tuned program: whether it gives the results of jax.jit, and is faster."""
    args, kwargs = flat.original(leaves)
    stock, tuned = sides
    off = duel.error(stock(args, kwargs), tuned(call, args, kwargs), settings.options.get("precision"))
    if not off <= 1:
        reason = f"its results differ from jax.jit's by {off:.3g} times the tolerance of their types"
        return {"state": "differs", "reason": f"{reason} (fresh=True tunes again)", "error": str(off)}
    with turns.take(settings.gently):
        alone = settings.threads == 1 and not settings.gently
        measured = duel.race(lambda: stock(args, kwargs), lambda: tuned(call, args, kwargs), alone)
    if measured["speedup"] < duel.LEAST_GAIN:
        slow = f"not faster than jax.jit: {measured['speedup']:.2f} times its speed"
        return {"state": "slower", "reason": slow, "error": off, **measured}
    return {"state": "ready", "reason": "", "error": off, **measured}


def _outcome(entry: dict, call: Call | None, unkept: str = "") -> Outcome:
    path, speedup = entry.get("path"), entry.get("speedup")
    if entry["state"] != "ready":
        return Outcome(None, speedup, path, entry["reason"], warn=entry["state"] == "differs")
    return Outcome(call, speedup, path, unkept, warn=bool(unkept))


def _load(package: str | Path, flat: Flat, settings: Settings) -> Call:
    library = runtime.open_library(files.find(files.RUNTIME, settings.build))
    program = runtime.Program(library, package, settings.threads, keep=settings.cache is not None)
    if not program.as_tuned:
        raise Error(program.warning, str(package))
    for what, specs, avals in (("inputs", program.inputs, flat.in_avals), ("results", program.outputs, flat.out_avals)):
        if [(spec.shape, spec.dtype) for spec in specs] != [(aval.shape, aval.dtype) for aval in avals]:
            raise Error(f"the tuned program has other {what} than the function", str(package), "report this")
    return Call(program, flat.adapter(), settings.build)


def first_line(error: Exception) -> str:
    """The type of an exception and the first line of its message."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '').strip()[:300]}"
