"""A tuned program against jax.jit in this process: which is faster, and whether their results agree."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..timing import timed

SECONDS = 0.3  # one duel; a single round of a slow program may take longer
MOST_SECONDS = 1.0
FEWEST_ROUNDS, MOST_ROUNDS = 5, 500
LEAST_GAIN = 1.01  # what counts as faster: below this lies the noise of such a duel

# In units of the root mean square plus the value itself, as hone measures (src/xla/measure/measure.cc).
_TOLERANCES = {"bfloat16": 16 * 2.0**-8, "float16": 16 * 2.0**-11, "float32": 1024 * 2.0**-23}
_TOLERANCES |= {"complex64": 1024 * 2.0**-23, "float64": 1024 * 2.0**-52, "complex128": 1024 * 2.0**-52}


def race(stock: Callable[[], Any], tuned: Callable[[], Any], alone: bool) -> dict[str, float]:
    """Calls both in turns until SECONDS have passed: {"stock_ns", "tuned_ns", "speedup"}, from each one's least time.

    `alone`: programs with one thread, in a process that does nothing else. Then what counts is the time that the
    process computed, in which other processes have no part; else the time by the clock. Both are called once before,
    which compiles them. Where a round takes long, at least one and at most FEWEST_ROUNDS rounds run, until MOST_SECONDS
    have passed.
    """
    now = time.process_time_ns if alone else time.perf_counter_ns
    sides = (stock, tuned)
    for side in sides:
        jax.block_until_ready(side())
    least = [float("inf")] * 2
    begin = time.perf_counter()
    for round_ in range(MOST_ROUNDS):
        for i in (0, 1) if round_ % 2 == 0 else (1, 0):
            least[i] = min(least[i], timed(lambda side=sides[i]: jax.block_until_ready(side()), now))
        passed = time.perf_counter() - begin
        if passed > MOST_SECONDS or (passed > SECONDS and round_ + 1 >= FEWEST_ROUNDS):
            break
    return {"stock_ns": least[0], "tuned_ns": least[1], "speedup": least[0] / least[1]}


def error(expected: Any, result: Any, precision: str | None = None) -> float:
    """The largest difference of two results in units of the tolerance of their types: at most 1 is equal.

    Infinite where structures, shapes or types differ, or integers do. `precision`: the type of lower precision that
    the user asked for, whose tolerance then holds for all floating-point results.
    """
    expected, tree = jax.tree_util.tree_flatten(expected)
    result, other = jax.tree_util.tree_flatten(result)
    if tree != other or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(expected, result, strict=True)):
        return float("inf")
    return max((_error(a, b, precision) for a, b in zip(expected, result, strict=True)), default=0.0)


def _error(expected: Any, result: Any, precision: str | None) -> float:
    if jax.dtypes.issubdtype(expected.dtype, jax.dtypes.prng_key):
        expected, result = jax.random.key_data(expected), jax.random.key_data(result)
    expected, result = np.asarray(expected), np.asarray(result)
    if not jax.dtypes.issubdtype(expected.dtype, np.inexact):  # large integers are not to be had in floating point
        return 0.0 if np.array_equal(expected, result) else float("inf")
    tolerance = _TOLERANCES.get(expected.dtype.name, 0.0)
    if tolerance and precision:
        tolerance = max(tolerance, _TOLERANCES["bfloat16"])
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(wide), result.astype(wide)
    finite = a[np.isfinite(a)]
    scale = float(np.sqrt(np.mean(np.abs(finite) ** 2))) if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        errors = np.where(same, 0.0, np.abs(a - b) / (tolerance * (scale + np.abs(a)) + 1e-300))
    errors = np.where(np.isnan(errors), np.inf, errors)
    return float(np.max(errors, initial=0.0))
