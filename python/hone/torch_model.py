"""PyTorch models as tuned programs: torch.export, and torch-mlir's StableHLO."""

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Error
from .model_files import ModelFile, TunedModel, tune_file
from .tuner import file_name

if TYPE_CHECKING:
    import torch


def tune(model: "torch.nn.Module", *inputs: "torch.Tensor", name: str | None = None, **options: Any) -> TunedModel:
    """Tunes a model and returns it as a function of tensors on the CPU.

    model    in evaluation mode: outputs are those of model(*inputs) without gradients
    inputs   tensors, whose shapes and types are then fixed; they are also what is measured on
    name     of the program in reports; by default that of the model's class
    options  those of hone.tune, apart from `weights`: the model's parameters and buffers are the weights

    The result keeps the weights that the model has now: after a change, result.set_weights(torch_model.weights(model)).
    Raises hone.Error where torch-mlir is missing or cannot convert the model.
    """
    with tempfile.TemporaryDirectory(prefix="hone-") as work:
        file = export(model, *inputs, path=Path(work) / f"{file_name(name or type(model).__name__)}.mlir")
        return tune_file(file, inputs, **options)


def export(model: "torch.nn.Module", *inputs: "torch.Tensor", path: str | Path) -> ModelFile:
    """Writes the model as StableHLO, for `hone tune PATH --weights 0-N`: inputs 0 to N are its parameters and buffers,
    then come `inputs`. Arguments and errors as for tune.
    """
    import torch

    try:
        from torch_mlir import fx
    except ImportError as error:
        raise Error(f"torch-mlir cannot be imported: {error}", hint="pip install -r requirements-torch.txt") from None
    if model.training:
        raise Error("the model is in training mode", type(model).__name__, "call model.eval() first")
    values = weights(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=FutureWarning)
        try:
            exported = torch.export.export(_of_weights(model), (values, *inputs))
            module = fx.export_and_import(exported, output_type="stablehlo")
        except Exception as error:  # torch and torch-mlir have no common class of errors
            raise Error(f"cannot be exported: {str(error).strip().splitlines()[0]}", type(model).__name__) from error
    Path(path).write_text(str(module))
    return ModelFile(Path(path), values, 0)


def weights(model: "torch.nn.Module") -> list["torch.Tensor"]:
    """The model's parameters and buffers, each once, in the order in which programs take them."""
    return [value.detach() for _, value in _named(model)]


def _named(model):
    return [*model.named_parameters(), *model.named_buffers()]


def _of_weights(model):
    """The model as a module without weights, which takes them as its first argument."""
    import torch

    names, hidden = [name for name, _ in _named(model)], [model]  # a list: no part of the module

    class OfWeights(torch.nn.Module):
        def forward(self, values, *inputs):
            return torch.func.functional_call(hidden[0], dict(zip(names, values, strict=True)), inputs)

    return OfWeights().eval()
