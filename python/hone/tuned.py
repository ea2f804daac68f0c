"""Tuned programs as Python functions."""

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays, command, files, registered, runtime
from .errors import Error, outside
from .signature import Signature
from .timing import timed

# A file in the NAME.hone folder that only Python needs.
SIGNATURE_FILE = "python.json"
DECISIONS_FILE = "decisions.json"
REPORT_FILE = "report.json"

_all: weakref.WeakSet["Tuned"] = weakref.WeakSet()


def _forked() -> None:
    for one in list(_all):
        one._lock = threading.RLock()  # the thread that may have held it is not in this process


os.register_at_fork(after_in_child=_forked)


def load(path: str | Path, threads: int | None = None, build: str | Path | None = None, cache: bool = True) -> "Tuned":
    """The tuned program in a NAME.hone folder.

    `threads`: how many it may use; by default as many as it was tuned for. Programs tuned from a JAX function whose
    arguments are tuples, lists, dicts and objects of classes registered with JAX (dataclasses, any pytree) take and
    return the same structures. Import those classes before: otherwise, with a RuntimeWarning that names the first that
    is missing, and for programs tuned on the command line, there is one array per input, and the result is one array or
    a tuple of them. Classes inside functions, and those with static values other than numbers, text, tuples, lists and
    dicts of them, are not kept.

    A package records where and with what it was made. Where this CPU lacks what the program was tuned for, or XLA or a
    library that it calls is of another version, default XLA's program runs in its place (Tuned.as_tuned). One
    RuntimeWarning says what differs, and which decisions match nothing in the program.

    Compiled machine code is kept in the user's cache folder, so that later processes need not compile; not with
    cache=False, which compiles everything. None is taken from the package.
    """
    if not (Path(path) / DECISIONS_FILE).is_file():
        raise Error(f"not a tuned program: it has no {DECISIONS_FILE}", str(path))
    return Tuned(Path(path), threads, build, cache=cache)


class Tuned:
    """A tuned program. Call it with the arguments of the original.

    Arguments are NumPy arrays, torch tensors, JAX arrays or anything that supports DLPack, on the CPU; those that are
    dense and aligned to 64 bytes are read in place. Results are arrays of the first argument's library. They are the
    caller's; when the last array in a large one is gone, the next call writes into its memory.

    Weights (the arguments declared constant at tuning) are stored in the program's layout when first passed and must
    not be changed in place afterwards; other arrays replace them, None stands for those of the last call. Calls of
    several threads run side by side, those with weights one after the other, and so does compare(): each with the
    weights that it was given.
    """

    def __init__(
        self,
        package: str | Path,
        threads: int | None = None,
        build: str | Path | None = None,
        signature: Signature | None = None,
        cache: bool = True,
    ) -> None:
        self._package, self._build = Path(package), build
        self._no_cache = [] if cache else ["--no-cache"]  # of commands that compile it
        self._threads = threads or self._stored(DECISIONS_FILE)["target"]["threads"]
        library = runtime.open_library(files.find(files.RUNTIME, build))
        self._program = runtime.Program(library, package, self._threads, keep=cache)
        self._signature = signature or self._stored_signature()
        self._weight_inputs = sorted({*self._program.weights, *self._signature.weight_inputs()})
        self._weights, self._in_jax = {}, False  # input -> (the user's array, the same aligned)
        self._lock = threading.RLock()
        _all.add(self)
        self._warned = ""
        self._unseen = bool(self._program.weights)  # with weights folded in, decisions are met at the first run
        self._warn()

    def __call__(self, *args: Any) -> Any:
        leaves = self._signature.flatten(args)
        library = next((arrays.library_of(leaf) for leaf in leaves if leaf is not None), "numpy")
        given = any(leaves[i] is not None for i in self._weight_inputs)
        with self._lock if given else contextlib.nullcontext():  # so that no other thread's weights come between
            results = self._program.run(self._tuned_values(leaves))
        if self._unseen:
            self._unseen = False
            self._warn()
        return self._signature.results.unflatten([arrays.to_library(result, library) for result in results])

    def set_weights(self, *weights: Any) -> None:
        """Sets the weights arguments, in order, without running."""
        positions = self._signature.weights
        if len(weights) != len(positions):
            raise TypeError(f"expected {len(positions)} weights arguments, got {len(weights)}")
        for position, value in zip(positions, weights, strict=True):
            start = sum(structure.leaves for structure in self._signature.arguments[:position])
            leaves = self._signature.arguments[position].flatten(value, f"argument {position}")
            self._take_weights(dict(enumerate(leaves, start)))

    @property
    def jax(self) -> Callable:
        """The same function for use in JAX programs, under jax.jit or by itself.

        Weights must be known when JAX traces it: arrays that the traced function closes over, or None for those set
        before. From then on they cannot be replaced. Not differentiable; jax.vmap calls it in a loop.
        """
        return self._call_in_jax

    @property
    def report(self) -> dict[str, Any]:
        """The full report of the tuning: the output of `hone tune --json`, kernels, steps."""
        return self._stored(REPORT_FILE)

    @property
    def speedup(self) -> float:
        """Run time of default XLA divided by that of the tuned program, as measured at the end of tuning."""
        return self.report["speedup"]

    @property
    def decisions(self) -> list[dict[str, str]]:
        """How the tuned program differs from default XLA: a list of {"kind", "key", "value"}."""
        return self._stored(DECISIONS_FILE)["decisions"]

    @property
    def as_tuned(self) -> bool:
        """Whether the tuned program runs; False where default XLA does, since the package does not fit this machine."""
        return self._program.as_tuned

    @property
    def path(self) -> Path:
        """The folder of the program."""
        return self._package

    def save(self, path: str | Path) -> None:
        """Copies the program to the folder `path`, which must not exist, for hone.load or `hone run`."""
        if Path(path).exists():
            raise Error("already exists", str(path))
        shutil.copytree(self._package, path)

    def compare(self, *args: Any, repeat: int = 30, against: str | None = None) -> dict[str, Any]:
        """Measures again against default XLA, interleaved.

        On `args`, in this process, `repeat` calls of each: {"speedup", "speedup_interval", "default_ns", "tuned_ns",
        "max_difference"}. Without arguments `hone run --compare` does it in another process, on generated inputs,
        and its result is returned. With against="jaxlib" the same command compares with stock jaxlib as well, on
        `args` where there are any; `repeat` has no meaning then.
        """
        if against:
            return self._compare_against(against, args)
        if not args:
            words = ["run", self._package, "--compare", "--threads", self._threads, *self._no_cache]
            return command.run(words, self._build)
        leaves = self._signature.flatten(args)
        default = runtime.Program(self._program.library, self._package, self._threads, default=True)
        with self._lock if self._weight_inputs else contextlib.nullcontext():  # both with the weights given here
            values = self._tuned_values(leaves)
            default_values = self._original_values(values)
            for i in default.weights:
                default.set_weight(i, default_values[i])
                default_values[i] = None
            return _duel(default, default_values, self._program, values, repeat)

    def export_jax(self, path: str | Path, duel: bool = True, force: bool = False) -> dict[str, Any]:
        """Writes the folder `path` for stock JAX, which needs no Hone, by `hone export --to jax`; returns its result.

        Decisions that only Hone can carry out are left out; `duel` measures in stock jaxlib what the others gain there.
        `force`: replace an older export.
        """
        options = command.options({"output": path, "force": force, "no_duel": not duel, "threads": self._threads})
        return command.run(["export", self._package, "--to", "jax", *options], self._build)

    def __repr__(self):
        return f"<hone.Tuned {self._package.name}, speedup {self.speedup}>"

    def _compare_against(self, against, args):
        command_line = ["run", self._package, "--compare", "--against", against, "--threads", self._threads]
        command_line += self._no_cache
        with tempfile.TemporaryDirectory(prefix="hone-") as work:
            if args:
                inputs = Path(work) / "inputs.npz"
                with self._lock if self._weight_inputs else contextlib.nullcontext():
                    values = self._original_values(self._tuned_values(self._signature.flatten(args)))
                np.savez(inputs, *values)
                command_line += ["--inputs", inputs]
            return command.run(command_line, self._build)

    def _original_values(self, values):
        """The inputs of the original program, from those of the tuned one."""
        return [self._weights[i][1] if i in self._weights else value for i, value in enumerate(values)]

    def _warn(self):
        said = self._program.warning
        if said and said != self._warned:
            self._warned = said
            warnings.warn_explicit(f"{self._package.name}: {said}", RuntimeWarning, *outside())

    def _call_in_jax(self, *args):
        from . import jax_call

        leaves = self._signature.flatten(args)
        if any(jax_call.is_traced(leaves[i]) for i in self._weight_inputs):
            raise Error("weights are traced by JAX", hint="close over them, or pass None for those set before")
        with self._lock:
            values = self._tuned_values(leaves)
            self._in_jax = True
        jax_call.keep(self._program)  # functions may be compiled later
        return self._signature.results.unflatten(jax_call.call(self._program, values, self._build))

    def _tuned_values(self, leaves):
        """The inputs of the tuned program: the leaves, with None for the weights it has stored."""
        self._take_weights({i: leaves[i] for i in self._weight_inputs})
        own = {i: None if i in self._program.weights else self._weights[i][1] for i in self._weight_inputs}
        return [own.get(i, leaf) for i, leaf in enumerate(leaves)]

    def _take_weights(self, weights):
        with self._lock:
            for i, leaf in weights.items():
                known = i in self._weights
                if known and (leaf is None or leaf is self._weights[i][0]):
                    continue
                if leaf is None:
                    raise Error("weights were never set", f"input {i}", "pass them once, or call set_weights")
                if self._in_jax:
                    raise Error(
                        "weights that JAX programs use cannot be replaced",
                        f"input {i}",
                        "hone.load the program again for other weights",
                    )
                prepared = self._program.prepare(i, leaf)
                if i in self._program.weights:
                    self._program.set_weight(i, prepared)
                self._weights[i] = (leaf, prepared)

    def _stored(self, name):
        path = self._package / name
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise Error(f"cannot be read: {error}", str(path), "tune the program again") from error

    def _stored_signature(self):
        if (self._package / SIGNATURE_FILE).is_file():
            try:
                return Signature.from_json(self._stored(SIGNATURE_FILE))
            except registered.UnknownClass as unknown:
                flat = f"it takes and returns plain arrays, since {unknown} is not imported, or not registered with JAX"
                warnings.warn_explicit(f"{self._package.name}: {flat}", RuntimeWarning, *outside())
        program = self._program
        return Signature.flat(len(program.inputs), len(program.outputs), program.weights)


def _duel(default, default_values, tuned, tuned_values, repeat):
    """Runs the two programs alternately `repeat` times, each first in turn; the first round is warm-up."""
    pair = [(default, default_values), (tuned, tuned_values)]
    first = [program.run(values) for program, values in pair]
    times = np.empty((repeat, 2))
    for i in range(repeat):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            program, values = pair[side]
            times[i, side] = timed(partial(program.run, values), time.perf_counter_ns)
    ratios = np.sort(times[:, 0] / times[:, 1])
    # Order statistics that enclose the median with 95 % confidence (normal approximation of the binomial).
    margin = 0.98 * np.sqrt(repeat)
    low, high = max(0, int(repeat / 2 - margin)), min(repeat - 1, int(np.ceil(repeat / 2 + margin)))
    differences = [_max_difference(a, b) for a, b in zip(*first, strict=True)]
    return {
        "speedup": float(np.median(ratios)),
        "speedup_interval": [float(ratios[low]), float(ratios[high])],
        "default_ns": float(np.median(times[:, 0])),
        "tuned_ns": float(np.median(times[:, 1])),
        "max_difference": max(differences, default=0.0),
    }


def _max_difference(a, b):
    """The largest absolute difference of two arrays; equal infinities and NaN in the same place count as 0."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(a - b)), initial=0))
