"""Writes JAX functions as programs that hone reads."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import jax
import jax.numpy as jnp


def write_programs(folder: Path, programs: Iterable[tuple[str, str, Callable, list]], part: str = "") -> None:
    """NAME.mlir of each (name, family, function, shapes), whose inputs are f32, and programs.json; with `part` a
    split.txt that gives all of them to that part."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = []
    for name, family, function, shapes in programs:
        function.__name__ = name
        specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        (folder / f"{name}.mlir").write_text(jax.jit(function).lower(*specs).as_text())
        manifest.append({"name": name, "file": f"{name}.mlir", "family": family})
    (folder / "programs.json").write_text(json.dumps(manifest, indent=1) + "\n")
    if part:
        (folder / "split.txt").write_text("".join(f"{part}\t{row['name']}\n" for row in manifest))
    print(f"{len(manifest)} programs in {folder}")
