"""Which nodes may measure for one result, and how the kernels of a program are shared out. Pure functions."""

from dataclasses import dataclass, field

from ..errors import Error

KERNEL_SHARE = 0.45  # of the budget, for kernels: as `hone tune` gives them on one machine
FINAL_SHARE = 0.25  # of the budget, at least, for the program as a whole
SMALLEST_SHARE = 0.003  # of the program's time: a kernel below cannot be seen in a duel of the program
TASKS_PER_NODE = 4  # so that a lost node costs little, and slow ones are waited for little
SHORTEST_TASK_S = 1.0


@dataclass(frozen=True)
class HostType:
    """What must agree for measurements to be comparable: rows of the database say the same."""

    host: str
    xla_version: str

    def __str__(self):
        return f"{self.host}, XLA {self.xla_version}"


@dataclass
class Task:
    """Kernels that one node tunes in one go."""

    kernels: list
    tries: int = 0
    lost_on: list = field(default_factory=list)


def choose_type(types, own=None):
    """The type of host to tune for.

    types: one HostType per node. own: this machine's, taken when a node has it. Otherwise all nodes must agree: a
    result for a machine nobody asked for would be a surprise.
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


def share_out(kernels, nodes):
    """Tasks for the kernels that are worth it, most valuable first.

    kernels: rows of `hone inspect --json`'s kernel_list. Neighbours in value go to different tasks, so that every
    task has its share of the valuable ones.
    """
    worthy = [k for k in kernels if k["options"] > 1 and k["share"] >= SMALLEST_SHARE]
    worthy.sort(key=lambda k: (-k["share"], k["fingerprint"]))
    count = min(len(worthy), nodes * TASKS_PER_NODE)
    return [Task([k["fingerprint"] for k in worthy[i::count]]) for i in range(count)]


def task_seconds(left_s, nodes, tasks):
    """What one task may take when so many are left for so many nodes in so much time."""
    rounds = -(-tasks // max(1, nodes))
    return max(SHORTEST_TASK_S, left_s / max(1, rounds))
