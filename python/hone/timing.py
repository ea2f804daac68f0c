"""The time of one call."""

from collections.abc import Callable
from typing import Any

_MOST_CALLS = 1_000_000


def timed(call: Callable[[], Any], now: Callable[[], int]) -> float:
    """Nanoseconds of one call by the clock `now`, always above 0.

    A clock of processor time may move in steps longer than a call: then calls are added until it moves, and this is
    their mean.
    """
    begin = now()
    for calls in range(1, _MOST_CALLS + 1):
        call()
        passed = now() - begin
        if passed > 0:
            return passed / calls
    return 1 / _MOST_CALLS
