"""`python -m hone.fleet REQUEST`: what `hone tune --engine ray` becomes. REQUEST is its JSON (src/cli/fleet.cc)."""

import json
import os
import subprocess
import sys

from ..errors import Error
from . import cluster, plan
from .tune import Fleet, RunFailed, write_package


def main(arguments):
    request = json.loads(arguments[0])
    try:
        result = tune(request)
    except RunFailed as error:
        return fail(1, error, request["json"])
    except Error as error:
        return fail(2, error, request["json"])
    except OSError as error:
        return fail(1, RunFailed(error.strerror or str(error), error.filename or ""), request["json"])
    except KeyboardInterrupt:
        return fail(1, RunFailed("interrupted before there was a result"), request["json"])
    summary = {**result["summary"], "output": request["output_name"]}
    if request["json"]:
        print(json.dumps(summary))
    else:
        print(result["files"]["report.txt"].decode().replace(result["package"], request["output_name"]), end="")
    return 0


def tune(request):
    def say(line):
        if not request["quiet"]:
            print(f"tune: {line}", file=sys.stderr, flush=True)

    request["own_type"] = own_type(request["hone"])
    with cluster.nodes_of(request["address"], request["hone"]) as nodes:
        result = Fleet(nodes, request, say).run()
    write_package(request["output"], result["files"], result["package"])
    return result


def own_type(hone):
    """This machine as a HostType; None where it cannot run the worker."""
    done = subprocess.run([hone, "worker", "--json"], capture_output=True, text=True)
    try:
        hello = json.loads(done.stdout)
        return plan.HostType(f"{hello['cpu']}, {hello['cores']} cores", hello["xla_version"])
    except (ValueError, KeyError):
        return None


def fail(code, error, as_json):
    """One line and an exit code, as hone itself ends."""
    message, where, hint = (" ".join(text.split()) for text in (error.message, error.where, error.hint))
    if as_json:
        print(json.dumps({"error": {"message": message, "where": where, "hint": hint}}))
    line = "hone: error: " + message + (f" ({where})" if where else "") + (f": {hint}" if hint else "")
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of Ray may wait for a cluster that is gone
