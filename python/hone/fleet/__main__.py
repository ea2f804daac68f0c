"""`python -m hone.fleet`: started by `hone tune --engine ray`, request in HONE_FLEET_REQUEST (src/cli/fleet.cc)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

from ..errors import Error
from . import cluster, plan
from .tune import Fleet, RunFailed, write_package

# The answer is written here. Ray's own output, for instance about nodes that die, goes to standard error.
answer = sys.stdout


def main(text: str) -> int:
    """`text`: the request, a JSON object. Returns the exit code."""
    request = json.loads(text)
    request["own_type"] = own_type(request["hone"])

    def work():
        # The answer is printed before the cluster is released: a failure of Ray then does not lose it.
        with cluster.nodes_of(request["address"], request["hone"]) as nodes:
            return answered(request, lambda: tune(request, nodes))

    return answered(request, work)


def answered(request: dict, work: Callable[[], int]) -> int:
    """The exit code that `work` returns; exceptions are printed in one line and become an exit code."""
    try:
        return work()
    except RunFailed as error:
        return fail(1, error, request["json"])
    except Error as error:
        return fail(2, error, request["json"])
    except OSError as error:
        return fail(1, RunFailed(error.strerror or str(error), error.filename or ""), request["json"])
    except KeyboardInterrupt:
        return fail(1, RunFailed("interrupted before there was a result"), request["json"])


def tune(request: dict, nodes: list) -> int:
    def say(line):
        if not request["quiet"]:
            print(f"tune: {line}", file=sys.stderr, flush=True)

    result = Fleet(nodes, request, say).run()
    write_package(request["output"], result["files"], result["package"])
    if request["json"]:
        print(json.dumps({**result["summary"], "output": request["output_name"]}), file=answer, flush=True)
    else:
        report = result["files"]["report.txt"].decode()
        print(report.replace(result["package"], request["output_name"]), end="", file=answer, flush=True)
    return 0


def own_type(hone: str) -> plan.HostType | None:
    """This machine as a HostType; None if it cannot run the worker."""
    done = subprocess.run([hone, "worker", "--json"], capture_output=True, text=True)
    try:
        hello = json.loads(done.stdout)
        return plan.HostType(f"{hello['cpu']}, {hello['cores']} cores", hello["xla_version"])
    except (ValueError, KeyError):
        return None


def fail(code: int, error: Error, as_json: bool) -> int:
    """Prints one line and returns an exit code, like hone itself."""
    message, where, hint = (" ".join(text.split()) for text in (error.message, error.where, error.hint))
    if as_json:
        print(json.dumps({"error": {"message": message, "where": where, "hint": hint}}), file=answer, flush=True)
    line = "hone: error: " + message + (f" ({where})" if where else "") + (f": {hint}" if hint else "")
    print(line, file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os._exit(main(os.environ.pop("HONE_FLEET_REQUEST")))  # Ray's threads may wait for a lost cluster
