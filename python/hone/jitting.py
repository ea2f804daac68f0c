"""hone.jit: what it is given."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import options as known
from .machine import default_threads
from .tuner import file_name

if TYPE_CHECKING:
    from .jitted.function import Jitted
    from .jitted.keras_model import KerasJitted

# Of jax.jit, beside those that are parameters of hone.jit.
_STATIC = ("static_argnums", "static_argnames")
_JAX = frozenset(
    ["in_shardings", "out_shardings", "donate_argnums", "donate_argnames", "keep_unused", "device", "backend"]
    + ["inline", "compiler_options"]
)


def jit(
    f: Callable | None = None,
    *,
    weights: int | str | Sequence[int | str] | None = None,
    budget: float | str = 60,
    mode: Literal["foreground", "background"] = "foreground",
    threads: int | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    shape: Mapping[str, int] | None = None,
    cache: str | Path | bool | None = None,
    build: str | Path | None = None,
    **options: Any,
) -> "Jitted | KerasJitted | Callable[[Callable], Jitted]":
    """jax.jit, with each signature tuned; also a decorator, with options or without.

    f          a function as jax.jit takes it, a Keras model (JAX backend), or an object of jax.export
    weights    position(s) or name(s) of arguments that stay the same from call to call, so that they may be stored in
               another layout. Other arrays there replace them, at a cost; changes in place have no effect
    budget     of the search for each signature: seconds, or text like "2m"
    mode       "foreground": the first call with a signature tunes it, then answers. "background": jax.jit answers
               until a thread has tuned it
    threads    how many a tuned program may use; by default as many as the process has cores, as in JAX; with an engine
               on other machines (engine="ray") one
    static_argnums, static_argnames   as in jax.jit
    donate_argnums   as in jax.jit where that answers; a tuned program does not reuse the memory
    shape      sizes for symbolic dimensions, as {"b": 8}; see Jitted.tune
    cache      the folder of tuned programs, which other processes load; by default $HONE_CACHE_DIR, else hone/jit in
               the user's cache folder. False keeps nothing, nor does the search (db: in a temporary folder)
    build      the folder of `hone` and its libraries, if not the installed one or the repository's build/
    options    further options of jax.jit (keep_unused, compiler_options) or of `hone tune` (fresh=True tunes again)

    A tuned program is used where it gave the results of jax.jit on the first arguments and was faster in an interleaved
    duel with it in this process. Else, and under transformations of JAX (grad, vmap, jit), jax.jit(f) answers; what
    failed is said in one RuntimeWarning. Jitted.status says what answers and why.
    """
    given = {"threads": threads, "budget": budget, "cache": cache, "build": build, "shape": shape, "weights": weights}
    pairs = zip(_STATIC, (static_argnums, static_argnames), strict=True)
    static = {name: value for name, value in pairs if value is not None}
    if donate_argnums is not None:
        options["donate_argnums"] = donate_argnums
    known.check(options, known.TUNE | {"db", "seed"} | _JAX, "hone.jit", [*given, *_STATIC, "mode"])
    if mode not in ("foreground", "background"):
        raise ValueError(f"hone.jit: mode is {mode!r}: expected 'foreground' or 'background'")
    make = functools.partial(_jitted, given=given, static=static, gently=mode == "background", options=options)
    return make if f is None else make(f)


def _jitted(f: Any, given: dict, static: dict, gently: bool, options: dict) -> "Jitted | KerasJitted":
    import jax

    from .jitted import keras_model, store
    from .jitted.function import Jitted
    from .jitted.parameters import Parameters
    from .jitted.program import Settings

    is_model = keras_model.is_model(f)
    exported = f if isinstance(f, jax.export.Exported) else None
    if is_model:
        keras_model.refuse({**given, **static, **options})
    function = keras_model.function_of(f) if is_model else f.call if exported else f
    if not callable(function):
        raise TypeError(f"hone.jit: expected a function, a Keras model or a jax.export object, got {type(f).__name__}")
    places = [place for one in static.values() for place in ((one,) if isinstance(one, (int, str)) else one)]
    weights = 0 if is_model else given["weights"]
    parameters = Parameters(function, places, weights, given["shape"], exported)
    if len(static) > 1:  # then jax.jit does not complete one by the other
        static = parameters.static_options(function)
    name = exported.fun_name if exported else f.name if is_model else getattr(f, "__name__", "function")
    cache = given["cache"]
    settings = Settings(
        name=file_name(name),
        budget=given["budget"],
        threads=given["threads"] or default_threads(options.get("engine")),
        build=given["build"],
        cache=None if cache is False else store.default_folder() if cache in (None, True) else Path(cache),
        options={key: value for key, value in options.items() if key not in _JAX},
        gently=gently,
        jax_options={key: value for key, value in options.items() if key in _JAX},
    )
    jitted = Jitted(function, parameters, settings, static | settings.jax_options)
    return keras_model.KerasJitted(f, jitted) if is_model else jitted
