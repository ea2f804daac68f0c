"""Which nodes may measure for one result, and how the kernels of a program are distributed. Pure functions."""

from dataclasses import dataclass, field

from ..errors import Error

KERNEL_SHARE = 0.45  # of the budget, for kernels: as in `hone tune` on one machine
FINAL_SHARE = 0.25  # of the budget, at least, for the program as a whole
SMALLEST_SHARE = 0.003  # of the program's time: kernels below are not visible in a duel of the program
TASKS_PER_NODE = 4  # so that a lost node costs little, and slow ones cause little waiting
SHORTEST_TASK_S = 1.0


@dataclass(frozen=True)
class HostType:
    """What must agree for measurements to be comparable: the same as in rows of the database."""

    host: str
    xla_version: str

    def __str__(self):
        return f"{self.host}, XLA {self.xla_version}"


@dataclass
class Task:
    """Kernels that one node tunes in one call."""

    kernels: list
    tries: int = 0
    lost_on: list = field(default_factory=list)


def choose_type(types: list[HostType], own: HostType | None = None) -> HostType:
    """The type of host to tune for.

    types: one HostType per node. own: this machine's, chosen if a node has it. Otherwise all nodes must agree, so that
    the machine tuned for is never a surprise.
    """
    if own in types:
        return own
    distinct = sorted(set(types), key=str)
    if len(distinct) != 1:
        raise Error(
            "the cluster has several kinds of machine and none is like this one: " + "; ".join(map(str, distinct)),
            "--address",
            "start hone tune on a machine like those it should tune for",
        )
    return distinct[0]


def share_out(kernels: list[dict], nodes: int) -> list[Task]:
    """Tasks for the kernels worth tuning, most valuable first.

    kernels: rows of `hone inspect --json`'s kernel_list. Kernels of similar value go to different tasks, so that
    every task has its share of the valuable ones.
    """
    worthy = [k for k in kernels if k["options"] > 1 and k["share"] >= SMALLEST_SHARE]
    worthy.sort(key=lambda k: (-k["share"], k["fingerprint"]))
    count = min(len(worthy), nodes * TASKS_PER_NODE)
    return [Task([k["fingerprint"] for k in worthy[i::count]]) for i in range(count)]


def task_seconds(left_s: float, nodes: int, tasks: int) -> float:
    """The time for one task, with `tasks` tasks left for `nodes` nodes in `left_s` seconds."""
    rounds = -(-tasks // max(1, nodes))
    return max(SHORTEST_TASK_S, left_s / max(1, rounds))
