"""Locates the parts outside Python: the program `hone`, the runtime library, the handler for JAX."""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from .errors import Error

PROGRAM = "hone"
RUNTIME = "libhone_runtime.so"
HANDLER = "libhone_ffi.so"

_HERE = Path(__file__).resolve().parent


def find(name: str, build: str | Path | None = None) -> Path:
    """The path of a built file: in `build` if given, else in the installed package, else in the repository's build/."""
    folders = [Path(build)] if build is not None else [_HERE / "bin", _HERE.parent.parent / "build"]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise Error(f"{name} not found", " or ".join(map(str, folders)), "run 'make build', or pass build=FOLDER")


def find_handler(build: str | Path | None = None) -> Path:
    """The path of the handler for JAX; compiled with g++ into the user's cache if there is no built one."""
    try:
        return find(HANDLER, build)
    except Error:
        return _compile_handler()


def _compile_handler():
    import jax
    import jaxlib

    sources = [_HERE / "ffi" / "hone_ffi.cc", _HERE.parent / "ffi" / "hone_ffi.cc"]
    source = next((path for path in sources if path.is_file()), None)
    if source is None:
        raise Error(f"neither {HANDLER} nor its source is installed", str(sources[0]))
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    target = cache / "hone" / f"jaxlib-{jaxlib.__version__}-{digest}" / HANDLER
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Built in a temporary folder and renamed, so that two processes may do this at once.
    with tempfile.TemporaryDirectory(dir=target.parent) as aside:
        built = Path(aside) / HANDLER
        command = [
            "g++",
            "-std=c++17",
            "-O2",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-isystem",
            jax.ffi.include_dir(),
            str(source),
            "-o",
            str(built),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise Error(f"{HANDLER} must be compiled, and there is no g++", hint="install g++") from error
        if done.returncode != 0:
            raise Error(f"{HANDLER} does not compile: {done.stderr.strip()[-500:]}", str(source))
        built.replace(target)
    return target
