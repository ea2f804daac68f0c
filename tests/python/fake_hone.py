"""Stands in for the program `hone` in the tests of the Python side; writes packages for fake_runtime.c.

--fail ends with an error answer, --crash without one; --wait sends Ctrl-C to the caller and answers once it comes back.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np


def value_of(option, default=None):
    return sys.argv[sys.argv.index(option) + 1] if option in sys.argv else default


def main():
    if "--crash" in sys.argv:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "--fail" in sys.argv:
        print(json.dumps({"error": {"message": "cannot parse", "where": "line 3", "hint": "look there"}}))
        return 2
    if "--wait" in sys.argv:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getppid(), signal.SIGINT)
        signal.sigwait([signal.SIGINT])
    answer = {"arguments": sys.argv[1:], "speedup": 1.5}
    inputs = value_of("--inputs")
    if inputs:
        with np.load(inputs) as arrays:
            answer["inputs"] = {name: [array.dtype.str, *array.shape] for name, array in arrays.items()}
    if sys.argv[1] == "tune":
        package = Path(value_of("--output"))
        package.mkdir()
        (package / "decisions.json").write_text('{"decisions": [], "target": {"threads": 1}}')
        weight = int("--weights" in sys.argv)
        (package / "fake.txt").write_text(f"8 2.0 {weight}")
        answer["output"] = str(package)
        (package / "report.json").write_text(json.dumps(answer))
    print(json.dumps(answer))
    return 0


sys.exit(main())
