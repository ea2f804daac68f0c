"""Nodes of a Ray cluster. The only module that uses Ray."""

import concurrent.futures
import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

from ..errors import Error
from . import node
from .tune import NodeLost, RunFailed

CONCURRENT_CALLS = 4  # per node: the running call, its snapshot, a stop
CLOSE_S = 5.0
KNOCK_S = 5.0


@contextlib.contextmanager
def nodes_of(address: str, hone: str) -> Iterator[list["RayNode"]]:
    """The cluster's nodes for tune.Fleet, one actor each; all are released at the end.

    address: as for ray.init, "auto" or "HOST:PORT"; empty starts a cluster on this machine only. An actor reserves
    all CPUs of its node, so that nothing else on the cluster runs during a measurement.
    """
    _knock(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported
    try:
        import ray
    except ImportError:
        raise Error("Ray is not installed", "--engine", "scripts/setup.sh --fleet installs it") from None
    ray.cloudpickle.register_pickle_by_value(node)  # nodes need no copy of this package
    try:
        ray.init(
            address=address or "local",
            include_dashboard=False if not address else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise _unreachable(error) from None
    found = []
    try:
        alive = [of for of in ray.nodes() if of["Alive"] and of["Resources"].get("CPU", 0) >= 1]
        alive.sort(key=lambda of: (of["NodeManagerAddress"], of["NodeID"]))
        found = [RayNode(of, hone) for of in alive]
        if not found:
            raise RunFailed("no node of the cluster has a CPU", "--address", "see 'ray status'")
        yield found
    finally:
        for one in found:
            one.close()
        # An external cluster notices the end of this process; shutdown would take a minute if its head is lost.
        if not address:
            ray.shutdown()


class RayNode:
    def __init__(self, of: dict, hone: str) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.lost = False
        self.name = f"{of['NodeManagerAddress']} ({of['NodeID'][:8]})"
        self.actor = (
            ray.remote(node.Node)
            .options(
                num_cpus=of["Resources"]["CPU"],
                max_concurrency=CONCURRENT_CALLS,
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(of["NodeID"], soft=False),
            )
            .remote(hone)
        )

    def call(self, method: str, *arguments: Any) -> concurrent.futures.Future:
        result = concurrent.futures.Future()
        if self.lost:  # another call would make Ray search for it
            result.set_exception(NodeLost("it was lost before"))
            return result
        reference = getattr(self.actor, method).remote(*arguments)
        reference.future().add_done_callback(lambda done: self._pass_on(done, result))
        return result

    def close(self) -> None:
        import ray

        with contextlib.suppress(Exception):  # it may be lost
            self.call("close").result(timeout=CLOSE_S)
        if not self.lost:
            with contextlib.suppress(Exception):
                ray.kill(self.actor)

    def _pass_on(self, done, result):
        """Converts Ray's exceptions to ours."""
        import ray.exceptions

        error = done.exception()
        if error is None:
            result.set_result(done.result())
        elif isinstance(error, ray.exceptions.RayTaskError):
            result.set_exception(RunFailed(f"{self.name}: {_first_line(error.cause)}"))
        elif isinstance(error, ray.exceptions.RayError):
            self.lost = True
            result.set_exception(NodeLost(_first_line(error)))
        else:
            result.set_exception(error)


def _knock(address):
    """Error if nothing listens at HOST:PORT: Ray would retry for a minute."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise _unreachable(error.strerror or error) from None


def _unreachable(why):
    return Error(f"the cluster cannot be reached: {_first_line(why)}", "--address", "is it running? see 'ray status'")


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]
