"""Tuning, optimising and inspection with the program `hone`, from Python."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays, command
from . import options as known
from .machine import default_threads
from .signature import Signature
from .tuned import SIGNATURE_FILE, Tuned

_PARAMETERS = ("weights", "threads", "seed", "name", "output", "quiet", "build")


def tune(
    program: Callable | str | Path,
    *example_args: Any,
    budget: float | str = 60,
    weights: int | Sequence[int] | None = None,
    threads: int | None = None,
    seed: int = 0,
    db: str | Path | None = None,
    name: str | None = None,
    output: str | Path | None = None,
    quiet: bool = False,
    build: str | Path | None = None,
    **options: Any,
) -> Tuned:
    """Tunes a program and returns it as a function.

    program       a JAX function, jitted or not, a jax.export object, or the path of a file in any format that
                  `hone tune` reads
    example_args  the inputs for measuring: for a JAX function its arguments, whose shapes are then fixed; for a file
                  one array per input, or nothing, then inputs are generated. Weights among them are set in the
                  result. With a jax.ShapeDtypeStruct among a function's arguments inputs are generated too
    budget        seconds, or text like "2m"
    weights       position(s) of the arguments that are constant between calls, so that they may be stored in another
                  layout; never assumed
    threads       how many the result may use; by default as many as the process has cores (its affinity mask, at most
                  its control group's quota), as in JAX; with an engine on other machines (engine="ray") one
    seed, db      as in `hone tune`
    name          of the program in reports; by default the function's or the file's
    output        the NAME.hone folder to write; by default a temporary one, see Tuned.save
    build         the folder of `hone` and its libraries, if not the installed one or the repository's build/
    options       further options of `hone tune`: max_isa="avx2" is --max-isa avx2, no_cache=True keeps no machine code

    Progress is shown on standard error. Ctrl-C ends the search and returns the best program so far.
    """
    known.check(options, known.TUNE, "hone.tune", [*_PARAMETERS, "budget", "db"])
    given = {"budget": duration(budget), "seed": seed, "db": db, "quiet": quiet, **options}
    threads = threads or default_threads(options.get("engine"))
    return _made("tune", _Program(program, example_args, weights, name), given, _Result(output, threads, build))


def optimize(
    program: Callable | str | Path,
    *example_args: Any,
    guard: float | str = 1,
    weights: int | Sequence[int] | None = None,
    threads: int | None = None,
    seed: int = 0,
    name: str | None = None,
    output: str | Path | None = None,
    quiet: bool = False,
    build: str | Path | None = None,
    **options: Any,
) -> Tuned:
    """Makes a program faster in seconds, without a search, and returns it as a function: models choose, and a duel with
    default XLA decides whether the choices stay (`hone optimize`). Where nothing gains it is default XLA's program.

    program, example_args, weights, threads, seed, name, output, quiet, build
                  as for tune
    guard         the longest duel, seconds or text like "2s"; 0: nothing is timed, and choices are only made on
                  machines whose gains are known
    options       further options of `hone optimize`: max_isa="avx2" is --max-isa avx2, no_layouts=True leaves layouts

    With several threads, how they work is decided, too, which takes some seconds more. Ctrl-C ends it with an error.
    """
    known.check(options, known.OPTIMIZE, "hone.optimize", [*_PARAMETERS, "guard"])
    given = {"guard": duration(guard) if guard else "0", "seed": seed, "quiet": quiet, **options}
    what = _Program(program, example_args, weights, name)
    return _made("optimize", what, given, _Result(output, threads or default_threads(None), build))


@dataclasses.dataclass
class _Program:
    program: Callable | str | Path
    example_args: tuple
    weights: int | Sequence[int] | None
    name: str | None


@dataclasses.dataclass
class _Result:
    output: str | Path | None
    threads: int
    build: str | Path | None


def _made(subcommand: str, what: _Program, given: dict[str, Any], result: _Result) -> Tuned:
    """What a command of `hone` makes of a program, as a function. `given`: its options, by their names in Python."""
    is_file = isinstance(what.program, (str, os.PathLike))
    positions = _positions(what.weights, None if is_file else len(what.example_args))
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hone-"))
        path, signature, leaves = _as_file(what.program, what.example_args, positions, what.name, work)
        folder = None if result.output else tempfile.mkdtemp(prefix="hone-")
        on_failure = stack.enter_context(contextlib.ExitStack())
        if folder:
            on_failure.callback(shutil.rmtree, folder)
        package = Path(result.output or Path(folder) / f"{path.stem}.hone")
        numbers = signature.weight_inputs() if signature else positions
        inputs = save_inputs(leaves, work) if leaves else None
        own = {"output": package, "threads": result.threads, "inputs": inputs, "weights": list(numbers) or None}
        command.run([subcommand, path, *command.options(own | given)], result.build)
        stored = signature.to_json() if signature else None
        if stored:
            (package / SIGNATURE_FILE).write_text(json.dumps(stored) + "\n")
        tuned = Tuned(package, result.threads, result.build, signature, cache=not given.get("no_cache"))
        if what.example_args and positions and (signature is None or leaves):
            tuned.set_weights(*[what.example_args[position] for position in positions])
        on_failure.pop_all()
        if folder:
            weakref.finalize(tuned, shutil.rmtree, folder, ignore_errors=True)
        return tuned


def _positions(weights: int | Sequence[int] | None, arguments: int | None) -> tuple[int, ...]:
    """The positions of weights; TypeError for those that are none of `arguments`, if that is known."""
    positions = (weights,) if isinstance(weights, int) else tuple(weights or ())
    if not all(isinstance(position, int) for position in positions):
        raise TypeError(f"weights {weights!r}: hone.tune takes positions, hone.jit names too")
    if arguments is not None and any(not 0 <= position < arguments for position in positions):
        raise TypeError(f"weights {list(positions)}: there are {arguments} arguments")
    return positions


def inspect(program: Callable | str | Path, *example_args: Any, build: str | Path | None = None) -> dict[str, Any]:
    """The contents of a program, as `hone inspect --json` prints them. Arguments as for tune."""
    with tempfile.TemporaryDirectory(prefix="hone-") as work:
        path, _, _ = _as_file(program, example_args, (), None, work)
        return command.run(["inspect", path], build)


def _as_file(
    program: Any, example_args: tuple, weights: tuple, name: str | None, work: str
) -> tuple[Path, Signature | None, list]:
    """The program's file, its signature (None for files: known after loading) and the example inputs."""
    if isinstance(program, (str, os.PathLike)):
        path = Path(os.path.abspath(program))
        if name:
            alias = Path(work) / (file_name(name) + "".join(path.suffixes))
            alias.symlink_to(path)
            path = alias
        return path, None, list(example_args)
    from . import jax_export

    module, signature, leaves = jax_export.export(program, example_args, weights)
    ending = ".mlirbc" if module.startswith(b"ML") else ".mlir"
    path = Path(work) / f"{file_name(name or jax_export.name_of(program))}{ending}"
    path.write_bytes(module)
    return path, signature, leaves


def file_name(name: str) -> str:
    """`name` without what file names may not have."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_") or "function"


def duration(budget: float | str) -> str:
    """A budget in seconds or as text, as the command line takes it."""
    return f"{budget}s" if isinstance(budget, (int, float)) else budget


def seconds(budget: float | str) -> float:
    """The same as a number; 0 for text that the command line does not take."""
    found = re.fullmatch(r"([\d.]+(?:e[-+]?\d+)?)(|us|ms|s|m|min|h)", duration(budget))
    units = {"us": 1e-6, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}
    return float(found[1]) * units.get(found[2], 1.0) if found else 0.0


def save_inputs(leaves: Sequence[Any], work: str | Path) -> Path:
    """The file of these inputs for `hone --inputs`, in the folder `work`."""
    path = Path(work) / "inputs.npz"
    np.savez(path, *map(arrays.as_numpy, leaves))
    return path
