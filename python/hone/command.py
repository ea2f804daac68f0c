"""Calls of the program `hone`: JSON on its standard output, progress on its standard error."""

import json
import signal
import subprocess
import tempfile

from . import files
from .errors import Error


def run(arguments, build=None):
    """Runs `hone ARGUMENTS --json` and returns the object it prints; Error if it prints an error or nothing.

    Progress goes to this process's standard error. Ctrl-C is forwarded once: the program stops with its best result,
    which is returned as usual. A second Ctrl-C ends it and raises KeyboardInterrupt.
    """
    command = [str(files.find(files.PROGRAM, build)), *map(str, arguments), "--json"]
    with tempfile.TemporaryFile("w+") as answer:
        # Its own process group: it gets Ctrl-C only from us, once, with or without a terminal.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=answer, process_group=0)
        try:
            _wait(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        answer.seek(0)
        return _parse(answer.read(), process.returncode, arguments[0])


def options(values):
    """Keyword arguments as command-line options: two_words=3 is --two-words 3, True the option alone, None nothing."""
    out = []
    for key, value in values.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, (list, tuple)):
            out += [option, ",".join(map(str, value))]
        else:
            out += [option, str(value)]
    return out


def _wait(process):
    try:
        process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()


def _parse(text, code, verb):
    try:
        answer = json.loads(text)
    except ValueError:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code} without a result"
        raise Error(f"hone {verb} {how}") from None
    if "error" in answer:
        error = answer["error"]
        raise Error(error.get("message", "failed"), error.get("where", ""), error.get("hint", ""))
    return answer
