"""The whole models of programs.py as PyTorch modules, in the usual style of PyTorch; as frameworks_models.py."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from frameworks_models import (
    MASKED,
    BertEncoder,
    Block,
    channels_first,
    channels_last,
    constant,
    dense,
    gelu,
    join_heads,
    matrix,
    norm,
    split_heads,
)
from larger.sizes import (
    BERT,
    DLRM,
    GPT2,
    INVERTED_RESIDUALS,
    LLAMA,
    LSTM,
    RESNET18,
    RESNET50,
    UNET,
    VIT,
    WHISPER,
)
from torch import Tensor, nn


def convolution(kernel: Tensor, stride: int = 1, groups: int = 1, bias: Tensor | None = None) -> nn.Conv2d:
    """Of a kernel [height, width, inputs, outputs], padded by half the window."""
    height, width, inputs, outputs = kernel.shape
    layer = nn.Conv2d(inputs * groups, outputs, (height, width), stride, height // 2, groups=groups, bias=False)
    weight = kernel.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    layer.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        layer.bias = constant(bias)
    return layer


class Normed(nn.Module):
    """A convolution and its batch normalisation."""

    def __init__(self, weights: Iterator[Tensor], stride: int = 1, depthwise: bool = False):
        super().__init__()
        beta, gamma, kernel, mean, var = (next(weights) for _ in range(5))
        self.conv = convolution(kernel, stride, kernel.shape[3] if depthwise else 1)
        self.norm = nn.BatchNorm2d(gamma.shape[0])
        self.norm.weight, self.norm.bias = constant(gamma), constant(beta)
        self.norm.running_mean, self.norm.running_var = mean, var

    def forward(self, x):
        return self.norm(self.conv(x))


class ResNetBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor], strides: tuple[int, ...], shortcut: bool):
        super().__init__()
        self.convs = nn.ModuleList([Normed(weights, stride) for stride in strides])
        self.shortcut = Normed(weights, max(strides)) if shortcut else nn.Identity()

    def forward(self, x):
        h = x
        for conv in self.convs[:-1]:
            h = F.relu(conv(h))
        return F.relu(self.convs[-1](h) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, weights: Iterator[Tensor], blocks: list[tuple[tuple[int, ...], bool]]):
        super().__init__()
        self.blocks = nn.Sequential(*[ResNetBlock(weights, strides, shortcut) for strides, shortcut in blocks])
        self.head, self.stem = dense(weights), Normed(weights, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(channels_first(x))), 3, 2, 1)
        return (self.head(self.blocks(x).mean((2, 3))),)


def resnet18(weights: Iterator[Tensor]) -> ResNet:
    return ResNet(weights, [((stride, 1), inputs != outputs) for inputs, outputs, stride in RESNET18])


def resnet50(weights: Iterator[Tensor]) -> ResNet:
    return ResNet(weights, [((1, stride, 1), inputs != outputs) for inputs, _, outputs, stride in RESNET50])


class InvertedResidual(nn.Module):
    def __init__(self, weights: Iterator[Tensor], inputs: int, outputs: int, factor: int, stride: int):
        super().__init__()
        self.depthwise = Normed(weights, stride, depthwise=True)
        self.expand = Normed(weights) if factor > 1 else None
        self.project = Normed(weights)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        h = F.relu6(self.expand(x)) if self.expand else x
        h = self.project(F.relu6(self.depthwise(h)))
        return x + h if self.residual else h


class MobileNet(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.blocks = nn.Sequential(*[InvertedResidual(weights, *sizes) for sizes in INVERTED_RESIDUALS])
        self.head, self.last, self.stem = dense(weights), Normed(weights), Normed(weights, 2)

    def forward(self, x):
        x = self.blocks(F.relu6(self.stem(channels_first(x))))
        return (self.head(F.relu6(self.last(x)).mean((2, 3))),)


def group_norm(weights: Iterator[Tensor]) -> nn.GroupNorm:
    bias, scale = next(weights), next(weights)
    layer = nn.GroupNorm(UNET.groups, scale.shape[0])
    layer.weight, layer.bias = constant(scale), constant(bias)
    return layer


class UNetBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor], shortcut: bool):
        super().__init__()
        self.conv1, self.conv2 = convolution(next(weights)), convolution(next(weights))
        self.norm1, self.norm2 = group_norm(weights), group_norm(weights)
        self.shortcut = convolution(next(weights)) if shortcut else nn.Identity()
        self.time = dense(weights)

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.conv2(F.silu(self.norm2(h))) + self.shortcut(x)


class UNet(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        levels = len(UNET.widths) - 1
        down = [(UNetBlock(weights, False), convolution(next(weights), 2)) for _ in range(levels)]
        self.first, self.last = convolution(next(weights)), convolution(next(weights))
        self.middle, self.norm = UNetBlock(weights, False), group_norm(weights)
        up = [(UNetBlock(weights, True), convolution(next(weights))) for _ in range(levels)]
        self.down = nn.ModuleList([nn.ModuleList(level) for level in down])
        self.up = nn.ModuleList([nn.ModuleList(level) for level in up])

    def forward(self, x, time):
        x, time, kept = self.first(channels_first(x)), F.silu(time), []
        for block, smaller in self.down:
            x = block(x, time)
            kept.append(x)
            x = smaller(x)
        x = self.middle(x, time)
        for block, larger in self.up:
            x = larger(F.interpolate(x, scale_factor=2, mode="nearest"))
            x = block(torch.cat([x, kept.pop()], dim=1), time)
        return (channels_last(self.last(F.silu(self.norm(x)))),)


def pre_norm(b: Block, x: Tensor, causal: bool = False) -> Tensor:
    x = x + b.attention(b.norm1(x), causal=causal)
    return x + b.down(gelu(b.up(b.norm2(x))))


def bert_base(weights: Iterator[Tensor]) -> BertEncoder:
    return BertEncoder(weights, BERT.layers, BERT.heads)


class Gpt2(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.layers = nn.ModuleList([Block(weights, GPT2.heads) for _ in range(GPT2.layers)])
        self.norm, self.positions = norm(weights), constant(next(weights))
        self.tokens = nn.Embedding.from_pretrained(next(weights))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for b in self.layers:
            x = pre_norm(b, x, causal=True)
        return (F.linear(self.norm(x), self.tokens.weight),)


class VitBase(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.token, self.head = constant(next(weights)), dense(weights)
        self.layers = nn.ModuleList([Block(weights, VIT.heads) for _ in range(VIT.layers)])
        self.norm, bias, kernel = norm(weights), next(weights), next(weights)
        self.patch = nn.Conv2d(*kernel.shape[2:], 16, 16)
        self.patch.weight, self.patch.bias = constant(kernel.permute(3, 2, 0, 1)), constant(bias)
        self.positions = constant(next(weights))

    def forward(self, x):
        patches = self.patch(channels_first(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], 1, -1), patches], dim=1) + self.positions
        for b in self.layers:
            x = pre_norm(b, x)
        return (self.head(self.norm(x)[:, 0]),)


class CrossAttention(nn.Module):
    def __init__(self, weights: Iterator[Tensor], heads: int):
        super().__init__()
        self.keys_values, self.norm = dense(weights), norm(weights)
        self.out, self.query, self.heads = dense(weights), dense(weights), heads

    def forward(self, x, sound):
        q = split_heads(self.query(self.norm(x)), self.heads)
        k, v = (split_heads(part, self.heads) for part in self.keys_values(sound).chunk(2, dim=-1))
        return self.out(join_heads(F.scaled_dot_product_attention(q, k, v)))


class WhisperTiny(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        heads, layers = WHISPER.heads, range(WHISPER.layers)
        self.conv1, self.conv2 = self.conv(weights, 1), self.conv(weights, 2)
        self.decoded = norm(weights)
        decoder = [(Block(weights, heads), CrossAttention(weights, heads)) for _ in layers]
        self.decoder = nn.ModuleList([nn.ModuleList(layer) for layer in decoder])
        self.encoded, self.encoder = norm(weights), nn.ModuleList([Block(weights, heads) for _ in layers])
        self.frames, self.positions = constant(next(weights)), constant(next(weights))
        self.tokens = nn.Embedding.from_pretrained(next(weights))

    @staticmethod
    def conv(weights: Iterator[Tensor], stride: int) -> nn.Conv1d:
        bias, kernel = next(weights), next(weights)
        layer = nn.Conv1d(kernel.shape[1], kernel.shape[2], kernel.shape[0], stride, 1)
        layer.weight, layer.bias = constant(kernel.permute(2, 1, 0)), constant(bias)
        return layer

    def forward(self, mel, tokens):
        x = gelu(self.conv2(gelu(self.conv1(mel.transpose(1, 2))))).transpose(1, 2) + self.frames
        for b in self.encoder:
            x = pre_norm(b, x)
        sound = self.encoded(x)
        y = self.tokens(tokens) + self.positions
        for b, cross in self.decoder:
            y = y + b.attention(b.norm1(y), causal=True)
            y = y + cross(y, sound)
            y = y + b.down(gelu(b.up(b.norm2(y))))
        return (F.linear(self.decoded(y), self.tokens.weight),)


class LlamaLayer(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.down, self.gate, self.key = matrix(next(weights)), matrix(next(weights)), matrix(next(weights))
        self.norm1, self.norm2 = constant(next(weights)), constant(next(weights))
        self.out, self.query = matrix(next(weights)), matrix(next(weights))
        self.up, self.value = matrix(next(weights)), matrix(next(weights))


class Llama(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.layers = nn.ModuleList([LlamaLayer(weights) for _ in range(LLAMA.layers)])
        self.norm = constant(next(weights))
        self.tokens = nn.Embedding.from_pretrained(next(weights))

    @staticmethod
    def rotate(x: Tensor, position: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        angles = position * 10000.0 ** (-torch.arange(half) / half)
        cos, sin = torch.cos(angles), torch.sin(angles)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def forward(self, token, position, *caches):
        slots, size = torch.arange(LLAMA.length), LLAMA.width // LLAMA.heads
        here = (slots == position)[:, None]
        bias = torch.where(slots <= position, 0.0, MASKED)[None, None, None, :]
        x, written = self.tokens(token)[:, None, :], []
        for i, layer in enumerate(self.layers):
            h = F.rms_norm(x, x.shape[-1:], layer.norm1, eps=1e-6)
            q = self.rotate(split_heads(layer.query(h), LLAMA.heads), position)
            k = self.rotate(split_heads(layer.key(h), LLAMA.groups), position)
            v = split_heads(layer.value(h), LLAMA.groups)
            # A select over the cache, not an update in place: the caches are inputs and must keep their values.
            keys, values = torch.where(here, k, caches[2 * i]), torch.where(here, v, caches[2 * i + 1])
            written += [keys, values]
            grouped = q.reshape(1, LLAMA.groups, -1, size)
            mixed = F.scaled_dot_product_attention(grouped, keys, values, attn_mask=bias)
            x = x + layer.out(join_heads(mixed.reshape(1, LLAMA.heads, 1, size)))
            h = F.rms_norm(x, x.shape[-1:], layer.norm2, eps=1e-6)
            x = x + layer.down(F.silu(layer.gate(h)) * layer.up(h))
        x = F.rms_norm(x[:, 0], x.shape[-1:], self.norm, eps=1e-6)
        return F.linear(x, self.tokens.weight), *written


class Lstm(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.head = dense(weights)
        self.lstm = nn.LSTM(LSTM.inputs, LSTM.width, LSTM.layers)
        for i in range(LSTM.layers):
            bias, hidden, inputs = next(weights), next(weights), next(weights)
            for name, value in (
                ("weight_ih", inputs.T),
                ("weight_hh", hidden.T),
                ("bias_ih", bias),
                ("bias_hh", torch.zeros_like(bias)),
            ):
                setattr(self.lstm, f"{name}_l{i}", constant(value))

    def forward(self, xs):
        outputs, _ = self.lstm(xs)
        return (self.head(outputs[-1]),)


class Dlrm(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.bottom = self.perceptron(weights, len(DLRM.bottom) - 1)
        self.last = dense(weights)
        self.tables = nn.ModuleList([nn.Embedding.from_pretrained(next(weights)) for _ in range(DLRM.tables)])
        self.top = self.perceptron(weights, len(DLRM.top))
        self.pairs = tuple(torch.tril_indices(DLRM.tables + 1, DLRM.tables + 1, -1))

    @staticmethod
    def perceptron(weights: Iterator[Tensor], layers: int) -> nn.Sequential:
        return nn.Sequential(*[part for _ in range(layers) for part in (dense(weights), nn.ReLU())])

    def forward(self, features, indices):
        x = self.bottom(features)
        vectors = [x] + [table(indices[:, i]) for i, table in enumerate(self.tables)]
        stacked = torch.stack(vectors, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        rows, columns = self.pairs
        h = self.top(torch.cat([x, products[:, rows, columns]], dim=-1))
        return (torch.sigmoid(self.last(h)),)


MODELS: dict[str, Callable[[Iterator[Tensor]], nn.Module]] = {
    "resnet50": resnet50,
    "bert_base": bert_base,
    "gpt2": Gpt2,
    "vit_base": VitBase,
    "whisper_tiny": WhisperTiny,
    "llama_100m": Llama,
    "lstm": Lstm,
    "dlrm": Dlrm,
    "mobilenet": MobileNet,
    "unet": UNet,
    "resnet18": resnet18,
}
