"""`python -m hone.stock --fd N`: answers the requests of hone (src/request/stock_jax.h) on a socket until it is closed.

A frame is its length, 4 bytes little-endian, and JSON. A request has `do`, the name of a function of Stock, and its
arguments; the answer is what it returns, or {"error", "hint"}.
"""

import argparse
import inspect
import json
import os
import struct
import sys
from collections.abc import Callable


def read(fd: int, size: int) -> bytes:
    """Exactly `size` bytes; fewer at the end of the connection."""
    data = b""
    while len(data) < size and (part := os.read(fd, size - len(data))):
        data += part
    return data


def write(fd: int, answer: dict) -> None:
    text = json.dumps(answer).encode()
    data = struct.pack("<I", len(text)) + text
    while data:
        data = data[os.write(fd, data) :]


def answer(functions: dict[str, Callable], request: dict) -> dict:
    """What one request returns. Any exception belongs to the request: hone decides what it means."""
    try:
        return functions[request.pop("do")](**request)
    except Exception as error:
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500], "hint": getattr(error, "hint", "")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fd", type=int, required=True)
    fd = parser.parse_args().fd
    try:
        from .session import Stock
    except ImportError as error:
        functions = {}
        missing = {"error": f"{error}", "hint": f"pip install jax, for {sys.executable}"}
    else:
        functions, missing = dict(inspect.getmembers(Stock(), inspect.ismethod)), None
    while len(head := read(fd, 4)) == 4:
        request = json.loads(read(fd, struct.unpack("<I", head)[0]))
        write(fd, missing or answer(functions, request))
    return 0


if __name__ == "__main__":
    sys.exit(main())
