"""What this process may use of the machine."""

import contextlib
import math
import os
from pathlib import Path


def usable_cores(root: str | Path = "/") -> int:
    """The cores given to this process: those of its affinity mask, at most its control group's quota, rounded up."""
    return min(len(os.sched_getaffinity(0)), _group_cores(Path(root) / "sys/fs/cgroup"))


def default_threads(engine: str | None, root: str | Path = "/") -> int:
    """Those of a tuned program by default: all cores of this process; one where other machines measure.

    Their cores are not known when a program is made, and need not be as many.
    """
    return usable_cores(root) if engine in (None, "local") else 1


def _group_cores(group: Path) -> float:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (group / "cpu.max").read_text().split()[:2]  # "max 100000" without a limit
        return max(1, math.ceil(int(quota) / int(period)))
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # the first version; -1 without a limit
        quota, period = (int((group / "cpu" / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return max(1, math.ceil(quota / period)) if quota > 0 else math.inf
    return math.inf
