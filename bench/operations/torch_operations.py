"""The operations of xla_operations.py in PyTorch: for each a function that prepares the inputs (layouts that PyTorch
prefers, weights permuted) and returns a call without arguments."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

Prepare = Callable[..., Callable[[], torch.Tensor]]


def of(function: Callable) -> Prepare:
    return lambda *arrays: lambda: function(*arrays)


def features_second(x: torch.Tensor) -> torch.Tensor:
    """Of features last: the same memory, seen as PyTorch's order of dimensions ("channels last")."""
    return x.movedim(-1, 1)


def outputs_first(kernel: torch.Tensor) -> torch.Tensor:
    """Of HWIO: OIHW of its own, in the memory format of the inputs where there is one."""
    ordered = kernel.movedim((-1, -2), (0, 1)).contiguous()
    return ordered.contiguous(memory_format=torch.channels_last) if ordered.dim() == 4 else ordered


def convolution(function: Callable, **options) -> Prepare:
    def prepare(x, kernel):
        x, kernel = features_second(x), outputs_first(kernel)
        return lambda: function(x, kernel, **options).movedim(1, -1)

    return prepare


def transposed_convolution(x, kernel):
    """JAX's transposed convolution does not reverse the window, PyTorch's does."""
    x, kernel = features_second(x), kernel.flip((0, 1)).permute(2, 3, 0, 1).contiguous()
    return lambda: F.conv_transpose2d(x, kernel, stride=2, padding=1).movedim(1, -1)


def pooling(x):
    x = features_second(x)
    return lambda: F.max_pool2d(x, 3, 2, ceil_mode=True).movedim(1, -1)


def pooling_gradient(x):
    x = features_second(x)

    def call():
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            F.max_pool2d(leaf, 3, 2, ceil_mode=True).sum().backward()
            return leaf.grad.movedim(1, -1)

    return call


def sums_of_rows(rows, indices):
    return torch.zeros(1000, 64).index_add_(0, indices, rows)


OPERATIONS = {
    "sort 1M": of(lambda x: torch.sort(x)[0]),
    "argsort 256k": of(lambda x: torch.argsort(x, stable=True)),
    "sort rows 1024x1024": of(lambda x: torch.sort(x, -1)[0]),
    "top_k 64 of 16x32000": of(lambda x: torch.topk(x, 64)[0]),
    "cumsum 1M": of(lambda x: torch.cumsum(x, 0)),
    "cumsum rows 1024x1024": of(lambda x: torch.cumsum(x, -1)),
    "scatter_add 100k rows of 64": of(sums_of_rows),
    "gather 100k rows of 64": of(lambda x, i: x[i]),
    "fft 64x4096": of(lambda x: torch.fft.rfft(x).abs()),
    "fft2 8x256x256": of(lambda x: torch.fft.rfft2(x).abs()),
    "conv_transpose 4x4 s2 28x28x128": transposed_convolution,
    "conv3d 3x3x3 16x32x32x32": convolution(F.conv3d, padding=1),
    "conv1d 9 4000x64": convolution(F.conv1d, padding=4),
    "conv grouped 32x8 28x28x256": convolution(F.conv2d, padding=1, groups=32),
    "conv dilated 2 28x28x64": convolution(F.conv2d, padding=2, dilation=2),
    "maxpool 3x3 s2 112x112x64": pooling,
    "maxpool grad": pooling_gradient,
    "normal 1M": lambda _: lambda: torch.randn(1 << 20),
    "int8 dot 512": of(torch._int_mm),
    "batched dot 4096x16x16": of(torch.matmul),
    "dot 512": of(torch.matmul),
    "transpose 4096x4096": of(lambda x: x.T.contiguous()),
    "argmax 1024x32000": of(lambda x: x.argmax(-1)),
    "erf 1M": of(torch.erf),
    "exp 1M": of(torch.exp),
    "tanh 1M": of(torch.tanh),
    "log 1M": of(torch.log),
    "sin 1M": of(torch.sin),
    "pow 1M": of(lambda x: x**2.3),
    "sum 4M": of(torch.sum),
    "sum of columns 4096x1024": of(lambda x: x.sum(0)),
    "softmax 1024x1024": of(lambda x: torch.softmax(x, -1)),
    "layernorm 1024x1024": of(lambda x: F.layer_norm(x, x.shape[-1:])),
}
