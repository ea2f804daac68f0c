"""Locates the parts outside Python: the program `hone`, the runtime library, the handler for JAX."""

from pathlib import Path

from .errors import Error

PROGRAM = "hone"
RUNTIME = "libhone_runtime.so"
HANDLER = "libhone_ffi.so"

_HERE = Path(__file__).resolve().parent


def find(name: str, build: str | Path | None = None) -> Path:
    """The path of a built file: in `build` if given, else in the installed package, else in the repository's build/."""
    folders = [Path(build)] if build is not None else [_HERE / "bin", _HERE / "lib", _HERE.parent.parent / "build"]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise Error(f"{name} not found", " or ".join(map(str, folders)), "run 'make build', or pass build=FOLDER")


def shared(name: str) -> Path:
    """The folder of shipped data `name`: in the installed package, else in the repository's data/."""
    installed = _HERE / "share" / "hone" / name
    return installed if installed.is_dir() else _HERE.parent.parent / "data" / name
