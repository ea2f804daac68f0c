"""hone.jit's functions: which program answers a call."""

import contextlib
import functools
import re
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..errors import outside
from . import background, context, program
from .flat import Flat, Unsuitable
from .parameters import Parameters, concrete, describe, describe_shape

TUNING, READY, FALLBACK = "tuning", "ready", "fallback"
_CROWDED_OUT = program.Outcome(
    reason=f"more than {background.MOST_WAITING} signatures were waiting to be tuned (clear_cache() begins anew)",
    warn=True,
)


@dataclass
class Entry:
    """One signature. `call` answers it when `state` is ready; else jax.jit does."""

    signature: str
    place: tuple = ()  # of the call that it begins with, for warnings
    state: str = TUNING
    call: Callable[[list], Any] | None = None
    outcome: program.Outcome = field(default_factory=program.Outcome)
    done: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while it is tuned


class Jitted:
    """A function as hone.jit returns it: called as the original, answered by tuned programs or by jax.jit.

    One tuned program for each signature: shapes and types of the arrays, structure of the arguments, values of static
    arguments. What else jax.jit's functions have (`lower`, `trace`, `eval_shape`) is that of jax.jit(function).
    """

    def __init__(
        self, function: Callable, parameters: Parameters, settings: program.Settings, jax_options: dict
    ) -> None:
        functools.update_wrapper(self, function, updated=())  # its own attributes stay with it
        self._function, self._parameters, self._settings = function, parameters, settings
        self._traces = 0  # of the function by jax.jit: each may be a new signature
        counted = self._counted()
        self._stock = jax.jit(counted, **jax_options)
        lasting = {k: v for k, v in jax_options.items() if not k.startswith("donate")}
        self._lasting = jax.jit(counted, **lasting) if lasting != jax_options else self._stock
        self._donates = lasting != jax_options
        self._jax_options = jax_options
        self._entries: dict[Any, Entry] = {}
        self._lock, self._warned = threading.Lock(), set()
        self._plain = False  # whether every known signature is answered by jax.jit
        self._traced_outside = False  # whether other transformations of JAX have traced the function
        self._array: type | None = None  # of JAX's arrays; set with the first call, as JAX's devices are then
        self._several, self._never = False, ""
        background.tell_of_forks(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain:
            return self._call_plain(args, kwargs)
        leaves, key = self._key(args, kwargs)
        entry = self._entries.get(key)
        if entry is None or (entry.state == TUNING and not self._settings.gently):
            return self._call_slowly(key, args, kwargs)
        if entry.call is None:
            return self._stock(*args, **kwargs)
        try:
            return entry.call(leaves)
        except program.TracedError:
            return self._stock(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._stock, name)

    def __reduce__(self) -> tuple:
        return Jitted, (self._function, self._parameters, self._settings, self._jax_options)

    def __deepcopy__(self, _: dict) -> "Jitted":
        return Jitted(self._function, self._parameters, self._settings, self._jax_options)

    def __repr__(self) -> str:
        return f"<hone.jit {self._settings.name}, {len(self._entries)} signatures>"

    def tune(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Tunes ahead of the first call, and returns what status() has about the signature.

        Arguments as in a call; arrays may be jax.ShapeDtypeStruct, then values are generated. Sizes may be symbolic
        (jax.export.symbolic_shape), with their values in the option shape={"b": 8} of hone.jit. Without arguments, a
        function that comes from jax.export is tuned at its own shapes. What the function raises passes through.
        """
        self._start()
        if not args and not kwargs:
            args, kwargs = self._parameters.exported_arguments()
        statics, args, kwargs = self._parameters.split(args, kwargs)
        fixed = jax.tree_util.tree_map(self._parameters.fixed, (args, kwargs))
        args, kwargs = self._parameters.join(statics, *fixed)
        _, key = self._key(args, kwargs, describe_shape)
        if key is None or not concrete():
            raise TypeError(f"{self._label()}.tune: an argument is traced by JAX, or no array")
        entry, _ = self._entry(key)
        self._tune(entry, lambda: self._outcome(key, self._stock.trace(*args, **kwargs), args, kwargs))
        return _status(entry)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until no signature is being tuned, at most `timeout` seconds; whether that is so."""
        end = None if timeout is None else time.monotonic() + timeout
        for entry in list(self._entries.values()):
            if not entry.done.wait(None if end is None else max(0.0, end - time.monotonic())):
                return False
        return True

    def status(self) -> list[dict[str, Any]]:
        """One object for each signature seen so far.

        signature  types and shapes of the arrays
        state      "tuning"; "ready": a tuned program answers; "fallback": jax.jit does
        speedup    of the tuned program over jax.jit in this process's duel, or None
        path       of the tuned program's folder, for hone.load and `hone report`, or None
        reason     why jax.jit answers
        """
        return [_status(entry) for entry in list(self._entries.values())]

    def clear_cache(self) -> None:
        """Forgets all signatures, as jax.jit's does: the next call traces the function anew. Files are kept."""
        with self._lock:
            self._entries, self._plain = {}, False
        for jitted in (self._stock, self._lasting):
            jitted.clear_cache()

    # Which program answers.

    def _key(self, args: tuple, kwargs: dict, describe: Callable[[Any], Any] = describe) -> tuple[list, Any]:
        """The leaves of a call and the key of its signature; None as the key where jax.jit has to answer."""
        statics = ()
        if self._parameters.has_static:
            statics, args, kwargs = self._parameters.split(args, kwargs)
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        array = self._array
        try:
            avals = tuple([leaf.aval if type(leaf) is array else describe(leaf) for leaf in leaves])
            key = (tree, avals, statics, context.current())
            if self._several:
                key += (tuple([getattr(leaf, "sharding", None) for leaf in leaves]),)
            hash(statics)
        except TypeError:
            return leaves, None  # values that JAX does not know, static ones without a hash: jax.jit says so
        return (leaves, None) if jax.config.jax_disable_jit else (leaves, key)

    def _call_plain(self, args: tuple, kwargs: dict) -> Any:
        before = self._traces
        result = self._stock(*args, **kwargs)
        if self._traces != before and not jax.config.jax_disable_jit:
            _, key = self._key(args, kwargs)
            if key is None or not concrete():
                self._traced_outside, self._plain = True, False  # what is traced there is not traced again here
            elif key not in self._entries:
                self._see(key, *self._lasting_arguments(args, kwargs))
        return result

    def _start(self) -> None:
        """Asks JAX for its devices, which the first call of a jax.jit function does too, but not its definition."""
        if self._array is None:
            self._several, self._never = jax.device_count() > 1, _why_never(self._jax_options)
            self._array = type(jax.numpy.zeros(()))

    def _call_slowly(self, key: Any, args: tuple, kwargs: dict) -> Any:
        if key is None or not concrete():
            self._traced_outside = True
            return self._stock(*args, **kwargs)
        if self._array is None:
            self._start()
            _, key = self._key(args, kwargs)
        entry = self._see(key, args, kwargs)
        return self._stock(*args, **kwargs) if entry.call is None else entry.call(self._key(args, kwargs)[0])

    def _see(self, key: Any, args: tuple, kwargs: dict) -> Entry:
        """The entry of a signature: tuned, or in the background about to be. Raises what the function raises."""
        entry, new = self._entry(key)
        if not self._settings.gently:
            self._tune(entry, lambda: self._outcome(key, self._stock.trace(*args, **kwargs), args, kwargs))
        elif new:
            with self._given_up(entry):
                traced = self._stock.trace(*args, **kwargs)  # where the call traces it: under its settings
                given = self._lasting_arguments(args, kwargs, copy=True)
            task = functools.partial(self._tune_behind, entry, context.Captured(), key, traced, *given)
            background.submit(task, functools.partial(self._tune, entry, lambda: _CROWDED_OUT, wait=False))
        return entry

    def forked(self) -> None:
        """In a forked process, which has no thread that tunes: what was not done begins anew with the next call."""
        self._lock = threading.Lock()
        unfinished = {key: entry for key, entry in self._entries.items() if not entry.done.is_set()}
        self._entries = {key: entry for key, entry in self._entries.items() if key not in unfinished}

    def _tune_behind(self, entry: Entry, settings: context.Captured, key: Any, traced: Any, *given: Any) -> None:
        with settings.entered() as same:
            other = program.Outcome(reason="it was called under settings of JAX that hold for one thread", warn=True)
            self._tune(entry, lambda: self._outcome(key, traced, *given) if same else other)

    def _entry(self, key: Any) -> tuple[Entry, bool]:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                return entry, False
            entry = self._entries[key] = Entry(", ".join(map(str, key[1])), outside())
            self._plain = False
            return entry, True

    @contextlib.contextmanager
    def _given_up(self, entry: Entry) -> Iterator[None]:
        """If it raises, the entry is no more: the next call begins anew."""
        try:
            yield
        except BaseException:
            with self._lock:
                self._entries = {key: other for key, other in self._entries.items() if other is not entry}
            entry.done.set()
            raise

    def _tune(self, entry: Entry, search: Callable[[], program.Outcome], wait: bool = True) -> None:
        """Finds the program of a signature, by one thread; others wait for it, or without `wait` leave it to that."""
        if entry.done.is_set() or not entry.lock.acquire(blocking=wait):
            return
        try:
            if entry.done.is_set():
                return
            with self._given_up(entry):
                entry.outcome = search()
            entry.call = entry.outcome.call
            entry.state = READY if entry.call else FALLBACK
            entry.done.set()
        finally:
            entry.lock.release()
        with self._lock:
            states = {other.state for other in self._entries.values()}
            self._plain = states == {FALLBACK} and not self._traced_outside
        if entry.outcome.warn and not background.ending():
            self._warn(entry)

    def _outcome(self, key: Any, traced: Any, args: tuple, kwargs: dict) -> program.Outcome:
        """The search for the function as jax.jit has traced it."""
        statics, args, kwargs = self._parameters.split(args, kwargs)
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        if self._never:
            return program.Outcome(reason=self._never, warn=True)
        if any(len(getattr(getattr(leaf, "sharding", None), "device_set", ())) > 1 for leaf in leaves):
            return program.Outcome(reason="an argument is spread over several devices", warn=True)
        if _types(traced.jaxpr.in_avals) != _types(key[1]):
            return program.Outcome(reason="JAX traced it for other types than those of the arguments", warn=True)

        def whole(args, kwargs):
            return self._parameters.join(statics, args, kwargs) if statics else (args, kwargs)

        def stock(args, kwargs):
            args, kwargs = whole(args, kwargs)
            return self._lasting(*args, **kwargs)

        def tuned(call, args, kwargs):
            args, kwargs = whole(args, kwargs)
            return call(self._key(args, kwargs)[0])

        try:
            flat = Flat(traced, tree, leaves)
        except Unsuitable as error:
            return program.Outcome(reason=str(error), warn=True)
        except Exception as error:
            return program.Outcome(reason=f"cannot be traced: {program.first_line(error)}", warn=True)
        weights = self._parameters.weight_leaves(statics, args, kwargs)
        return program.find(flat, weights, self._settings, (stock, tuned))

    def _lasting_arguments(self, args: tuple, kwargs: dict, copy: bool = False) -> tuple[tuple, dict]:
        """The arguments for later: shapes of arrays that calls donate; `copy`: copies of what may change in place."""

        def lasting(leaf):
            if self._donates and isinstance(leaf, jax.Array):
                weak = getattr(leaf.aval, "weak_type", False)
                return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding, weak_type=weak)
            return np.array(leaf) if copy and isinstance(leaf, np.ndarray) else leaf

        statics, args, kwargs = self._parameters.split(args, kwargs)
        return self._parameters.join(statics, *jax.tree_util.tree_map(lasting, (args, kwargs)))

    def _counted(self) -> Callable:
        @functools.wraps(self._function)
        def counted(*args, **kwargs):
            self._traces += 1
            return self._function(*args, **kwargs)

        return counted

    def _warn(self, entry: Entry) -> None:
        reason = entry.outcome.reason
        kind = re.sub(r"/\S+|[\d.e+]+", "", reason)  # the same with other paths and numbers is not said again
        with self._lock:
            if kind in self._warned:
                return
            self._warned.add(kind)
        what = "" if entry.call else "jax.jit answers, since "
        warnings.warn_explicit(f"{self._label()}: {what}{reason}", RuntimeWarning, *entry.place)

    def _label(self) -> str:
        return f"hone.jit({self._settings.name})"


def _types(avals: Any) -> list[tuple]:
    return [(aval.shape, aval.dtype, getattr(aval, "weak_type", False)) for aval in avals]


def _status(entry: Entry) -> dict[str, Any]:
    outcome = entry.outcome
    return {
        "signature": entry.signature,
        "state": entry.state,
        "speedup": outcome.speedup,
        "path": outcome.path,
        "reason": outcome.reason,
    }


def _why_never(jax_options: dict) -> str:
    """Why no signature can be tuned; empty if some may be."""
    if jax.default_backend() != "cpu":
        return f"JAX computes on {jax.default_backend()}, and Hone tunes for CPUs"
    given = [name for name in ("in_shardings", "out_shardings", "device", "backend") if jax_options.get(name)]
    return f"{given[0]} is given, and Hone tunes for one CPU" if given else ""
