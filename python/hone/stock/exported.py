"""StableHLO text as jax.export objects."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax._src.export import _export  # what JAX stores has no public name, nor have its contexts with all dialects
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from ..errors import Error
from ..signature import Signature

_TYPES = {
    "i1": "bool",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}
_TYPES |= {f"{sign}i{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)}
_WIDE = ("int64", "uint64", "float64", "complex128")


def exported(text: str, name: str, signature: Signature | None = None) -> jax.export.Exported:
    """The function @main of a module of StableHLO, which jax.jit takes and .serialize() writes.

    It takes and returns the structures of the signature, by default one array per input and one array or a tuple of
    them. It has no gradient. Error for a module that JAX cannot call.
    """
    module, inputs, outputs = _parsed(text)
    signature = signature or Signature.flat(len(inputs), len(outputs))
    arguments = _structured(signature, inputs)
    # All that JAX wants to know besides the module comes from a function of the same types.
    made = jax.export.export(jax.jit(_stand_in(name, signature, outputs), keep_unused=True), platforms=["cpu"])(
        *arguments
    )
    fields = {"mlir_module_serialized": module, "module_kept_var_idx": tuple(range(len(inputs)))}
    # Its gradient would be that of the other function.
    fields |= {field.name: None for field in dataclasses.fields(made) if field.name == "_get_vjp"}
    return dataclasses.replace(made, **fields)


def is_wide(made: jax.export.Exported) -> bool:
    """Whether JAX must be told of 64-bit types (jax_enable_x64)."""
    return any(aval.dtype.name in _WIDE for aval in (*made.in_avals, *made.out_avals))


def plain(text: str) -> str:
    """The module without names of places, to read."""
    with mlir.make_ir_context():
        return str(ir.Module.parse(text))


def _parsed(text: str) -> tuple[bytes, list, list]:
    """The module in its portable form, and the types of what main takes and returns."""
    with mlir.make_ir_context():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise Error("jaxlib does not read this StableHLO: " + " ".join(str(error).split())[:300]) from error
        main = next(
            (op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main"), None
        )
        if main is None:
            raise Error("the module has no function main")
        types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        # Other dialects than StableHLO stay what they are: top_k is of chlo.
        portable = _export._module_to_bytecode(module)
        return portable, [_struct(type_) for type_ in types.inputs], [_struct(type_) for type_ in types.results]


def _struct(type_: ir.Type) -> jax.ShapeDtypeStruct:
    if not isinstance(type_, ir.RankedTensorType):
        raise Error(f"JAX has no arrays of type {type_}")
    name = _TYPES.get(str(type_.element_type))
    if name is None or not type_.has_static_shape:
        raise Error(f"JAX has no arrays of type {type_}")
    return jax.ShapeDtypeStruct(tuple(type_.shape), jnp.dtype(name))


def _structured(signature: Signature, leaves: list) -> list:
    """The leaves in the structures of the arguments."""
    rest = iter(leaves)
    return [structure.unflatten([next(rest) for _ in range(structure.leaves)]) for structure in signature.arguments]


def _stand_in(name: str, signature: Signature, outputs: list) -> Callable[..., Any]:
    def function(*_):
        return signature.results.unflatten([jnp.zeros(output.shape, output.dtype) for output in outputs])

    function.__name__ = function.__qualname__ = name
    return function
