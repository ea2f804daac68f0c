"""Tuning and inspection with the program `hone`, from Python."""

import contextlib
import json
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

from . import arrays, command
from .tuned import SIGNATURE_FILE, Tuned


def tune(
    program,
    *example_args,
    budget=60,
    weights=None,
    threads=1,
    seed=0,
    db=None,
    name=None,
    output=None,
    quiet=False,
    build=None,
    **options,
):
    """Tunes a program and returns it as a function.

    program       a JAX function, jitted or not, or the path of a file in any format that `hone tune` reads
    example_args  the inputs for measuring: for a JAX function its arguments, whose shapes are then fixed; for a file
                  one array per input, or nothing, then inputs are generated. Weights among them are set in the
                  result
    budget        seconds, or text like "2m"
    weights       position(s) of the arguments that are constant between calls, so that they may be stored in another
                  layout; never assumed
    threads, seed, db   as in `hone tune`
    name          of the program in reports; by default the function's or the file's
    output        the NAME.hone folder to write; by default a temporary one, see Tuned.save
    build         the folder of `hone` and its libraries, if not the installed one or the repository's build/
    options       further options of `hone tune`: allow_fast_math=True is --allow-fast-math, max_isa="avx2" --max-isa

    Progress is shown on standard error. Ctrl-C ends the search and returns the best program so far.
    """
    positions = (weights,) if isinstance(weights, int) else tuple(weights or ())
    if any(not 0 <= position < len(example_args) for position in positions) and callable(program):
        raise TypeError(f"weights {list(positions)}: there are {len(example_args)} arguments")
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hone-"))
        path, signature, leaves = _as_file(program, example_args, positions, name, work)
        folder = None if output else tempfile.mkdtemp(prefix="hone-")
        on_failure = stack.enter_context(contextlib.ExitStack())
        if folder:
            on_failure.callback(shutil.rmtree, folder)
        package = Path(output or Path(folder) / f"{path.stem}.hone")
        numbers = signature.weight_inputs() if signature else positions
        inputs = _save_inputs(leaves, work) if leaves else None
        given = {"output": package, "budget": _duration(budget), "threads": threads, "seed": seed, "inputs": inputs}
        given |= {"weights": list(numbers) or None, "db": db, "quiet": quiet, **options}
        command.run(["tune", path, *command.options(given)], build)
        stored = signature.to_json() if signature else None
        if stored:
            (package / SIGNATURE_FILE).write_text(json.dumps(stored) + "\n")
        tuned = Tuned(package, threads, build, signature)
        if example_args and positions:
            tuned.set_weights(*[example_args[position] for position in positions])
        on_failure.pop_all()
        if folder:
            weakref.finalize(tuned, shutil.rmtree, folder, ignore_errors=True)
        return tuned


def inspect(program, *example_args, build=None):
    """The contents of a program, as `hone inspect --json` prints them. Arguments as for tune."""
    with tempfile.TemporaryDirectory(prefix="hone-") as work:
        path, _, _ = _as_file(program, example_args, (), None, work)
        return command.run(["inspect", path], build)


def _as_file(program, example_args, weights, name, work):
    """The program's file, its signature (None for files: known after loading) and the example inputs."""
    if not callable(program):
        path = Path(os.path.abspath(program))
        if name:
            alias = Path(work) / (_file_name(name) + "".join(path.suffixes))
            alias.symlink_to(path)
            path = alias
        return path, None, list(example_args)
    from . import jax_export

    module, signature, leaves = jax_export.export(program, example_args, weights)
    path = Path(work) / f"{_file_name(name or getattr(program, '__name__', 'function'))}.mlirbc"
    path.write_bytes(module)
    return path, signature, leaves


def _file_name(name):
    return re.sub(r"[^\w.-]+", "_", name).strip("_") or "function"


def _duration(budget):
    return f"{budget}s" if isinstance(budget, (int, float)) else budget


def _save_inputs(leaves, work):
    path = Path(work) / "inputs.npz"
    np.savez(path, *map(arrays.as_numpy, leaves))
    return path
