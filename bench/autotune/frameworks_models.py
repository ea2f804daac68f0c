"""The example programs as PyTorch modules, in the usual style of PyTorch.

Each takes its weights in the order of the exported program's first parameters (JAX's: keys of a dict sorted) and
converts them once to PyTorch's layout; `forward` takes the program's other parameters in its layout and returns its
results as one flat tuple. The definitions are in scripts/example_programs.py.
"""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MASKED = -1e9  # added to masked attention scores


def constant(value: Tensor) -> nn.Parameter:
    return nn.Parameter(value.contiguous(), requires_grad=False)


def dense(weights: Iterator[Tensor]) -> nn.Linear:
    bias, kernel = next(weights), next(weights)
    layer = nn.Linear(*kernel.shape)
    layer.weight, layer.bias = constant(kernel.T), constant(bias)
    return layer


def matrix(kernel: Tensor) -> nn.Linear:
    layer = nn.Linear(*kernel.shape, bias=False)
    layer.weight = constant(kernel.T)
    return layer


def norm(weights: Iterator[Tensor]) -> nn.LayerNorm:
    bias, scale = next(weights), next(weights)
    layer = nn.LayerNorm(scale.shape[0], eps=1e-5)
    layer.weight, layer.bias = constant(scale), constant(bias)
    return layer


def convolution(kernel: Tensor, bias: Tensor | None = None, groups: int = 1) -> nn.Conv2d:
    """Of a kernel [height, width, inputs, outputs], "same" padding, stride 1."""
    height, width, inputs, outputs = kernel.shape
    layer = nn.Conv2d(inputs * groups, outputs, (height, width), padding="same", groups=groups, bias=bias is not None)
    weight = kernel.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    layer.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        layer.bias = constant(bias)
    return layer


def channels_first(x: Tensor) -> Tensor:
    """NHWC to NCHW, as a view: PyTorch's channels_last memory format."""
    return x.permute(0, 3, 1, 2)


def channels_last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)


def gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def split_heads(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # [batch, heads, length, size]


def join_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)  # [batch, length, heads * size]


class Attention(nn.Module):
    def __init__(self, out: nn.Linear, qkv: nn.Linear, heads: int):
        super().__init__()
        self.out, self.qkv, self.heads = out, qkv, heads

    def forward(self, x: Tensor, bias: Tensor | None = None, causal: bool = False) -> Tensor:
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(join_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=causal)))


class Block(nn.Module):
    """The weights of a Transformer block; each program orders its norms in its own way."""

    def __init__(self, weights: Iterator[Tensor], heads: int):
        super().__init__()
        self.down, self.norm1, self.norm2 = dense(weights), norm(weights), norm(weights)
        self.attention = Attention(dense(weights), dense(weights), heads)
        self.up = dense(weights)


class TransformerBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.block = Block(weights, 8)

    def forward(self, x):
        b = self.block
        x = x + b.attention(b.norm1(x), causal=True)
        return (x + b.down(gelu(b.up(b.norm2(x)))),)


class BertEncoder(nn.Module):
    def __init__(self, weights: Iterator[Tensor], layers: int = 2, heads: int = 4):
        super().__init__()
        self.layers = nn.ModuleList([Block(weights, heads) for _ in range(layers)])
        self.norm, self.pooler = norm(weights), dense(weights)
        self.positions = constant(next(weights))
        self.segments = nn.Embedding.from_pretrained(next(weights))
        self.tokens = nn.Embedding.from_pretrained(next(weights))

    def forward(self, tokens, segments, mask):
        x = self.norm(self.tokens(tokens) + self.segments(segments) + self.positions)
        bias = torch.where(mask[:, None, None, :] > 0, 0.0, MASKED)
        for b in self.layers:
            x = b.norm1(x + b.attention(x, bias))
            x = b.norm2(x + b.down(F.gelu(b.up(x))))
        return x, torch.tanh(self.pooler(x[:, 0]))


class GptDecode(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.layers = nn.ModuleList([Block(weights, 8) for _ in range(2)])
        self.norm, self.positions = norm(weights), constant(next(weights))
        self.tokens = nn.Embedding.from_pretrained(next(weights))

    def forward(self, token, position, *caches):
        capacity = self.positions.shape[0]
        slots = torch.arange(capacity)
        here = (slots == position)[:, None]
        bias = torch.where(slots <= position, 0.0, MASKED)[None, None, None, :]
        x = self.tokens(token)[:, None, :] + F.embedding(position, self.positions)
        written = []
        for i, b in enumerate(self.layers):
            q, k, v = (split_heads(part, 8) for part in b.attention.qkv(b.norm1(x)).chunk(3, dim=-1))
            # A select over the cache, not an update in place: the caches are inputs and must keep their values.
            keys, values = torch.where(here, k, caches[2 * i]), torch.where(here, v, caches[2 * i + 1])
            written += [keys, values]
            x = x + b.attention.out(join_heads(F.scaled_dot_product_attention(q, keys, values, attn_mask=bias)))
            x = x + b.down(gelu(b.up(b.norm2(x))))
        return F.linear(self.norm(x[:, 0]), self.tokens.weight), *written


class MaskedAttention(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.attention = Attention(dense(weights), dense(weights), 8)

    def forward(self, x, mask):
        position = torch.arange(x.shape[1])
        distance = position[None, :] - position[:, None]
        slopes = 2.0 ** -torch.arange(1, 9, dtype=torch.float32)
        allowed = (distance <= 0) & (mask[:, None, None, :] > 0)
        return (self.attention(x, torch.where(allowed, slopes[:, None, None] * distance, MASKED)),)


class LlamaBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.down, self.gate, self.key = matrix(next(weights)), matrix(next(weights)), matrix(next(weights))
        self.norm1, self.norm2 = constant(next(weights)), constant(next(weights))
        self.out, self.query = matrix(next(weights)), matrix(next(weights))
        self.up, self.value = matrix(next(weights)), matrix(next(weights))

    def forward(self, x, positions):
        half = x.shape[-1] // 6 // 2
        angles = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
        cos, sin = torch.cos(angles), torch.sin(angles)

        def rotate(x):
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

        h = F.rms_norm(x, x.shape[-1:], self.norm1, eps=1e-6)
        q, k, v = (split_heads(layer(h), 6) for layer in (self.query, self.key, self.value))
        x = x + self.out(join_heads(F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)))
        h = F.rms_norm(x, x.shape[-1:], self.norm2, eps=1e-6)
        return (x + self.down(F.silu(self.gate(h)) * self.up(h)),)


class LayerNormChain(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        layers = [(constant(next(weights)), norm(weights)) for _ in range(3)]
        self.gates = nn.ParameterList([gate for gate, _ in layers])
        self.norms = nn.ModuleList([layer for _, layer in layers])

    def forward(self, x):
        for gate, layer in zip(self.gates, self.norms, strict=True):
            x = x + gelu(layer(x) * gate)
        return (x,)


class SoftmaxGeluChain(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.bias, self.temperature = constant(next(weights)), constant(next(weights))

    def forward(self, scores, values):
        weights = torch.softmax(scores * self.temperature[:, None, None] + self.bias, dim=-1)
        mixed = gelu(weights * values.transpose(1, 2))
        return (torch.softmax(mixed - mixed.amax(dim=1, keepdim=True), dim=-1),)


class GroupNormBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.conv1, self.conv2 = convolution(next(weights)), convolution(next(weights))
        self.norm1, self.norm2 = self.group_norm(weights), self.group_norm(weights)
        self.time = dense(weights)

    @staticmethod
    def group_norm(weights: Iterator[Tensor]) -> nn.GroupNorm:
        bias, scale = next(weights), next(weights)
        layer = nn.GroupNorm(8, scale.shape[0], eps=1e-5)
        layer.weight, layer.bias = constant(scale), constant(bias)
        return layer

    def forward(self, x, time):
        x = channels_first(x)
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return (channels_last(x + self.conv2(F.silu(self.norm2(h)))),)


class ConvBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        conv, expand = next(weights), next(weights)
        norms = [(next(weights), next(weights)) for _ in range(3)]  # bias, scale
        self.norms = nn.ParameterList([constant(value[:, None, None]) for pair in norms for value in pair])
        self.convs = nn.ModuleList([convolution(kernel) for kernel in (next(weights), conv, expand)])

    def forward(self, x):
        x = h = channels_first(x)
        for i, conv in enumerate(self.convs):
            h = conv(h) * self.norms[2 * i + 1] + self.norms[2 * i]
            h = F.relu(h if i < 2 else x + h)
        return (channels_last(h),)


class MixerBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.channels_down, self.channels_up = dense(weights), dense(weights)
        self.norm1, self.norm2 = norm(weights), norm(weights)
        self.tokens_down, self.tokens_up = dense(weights), dense(weights)

    def forward(self, x):
        h = self.tokens_down(gelu(self.tokens_up(self.norm1(x).transpose(1, 2))))
        x = x + h.transpose(1, 2)
        return (x + self.channels_down(gelu(self.channels_up(self.norm2(x)))),)


class LstmScan(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        bias, hidden, inputs = next(weights).clone(), next(weights), next(weights)
        width = hidden.shape[0]
        bias[width : 2 * width] += 1.0  # the program adds it to its forget gate
        self.lstm = nn.LSTM(inputs.shape[0], width)
        self.lstm.weight_ih_l0, self.lstm.weight_hh_l0 = constant(inputs.T), constant(hidden.T)
        self.lstm.bias_ih_l0, self.lstm.bias_hh_l0 = constant(bias), constant(torch.zeros_like(bias))

    def forward(self, xs, hidden, cell):
        outputs, (hidden, cell) = self.lstm(xs, (hidden[None], cell[None]))
        return hidden[0], cell[0], outputs


class LstmStep(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        layers = [(next(weights), next(weights), next(weights)) for _ in range(2)]  # bias, hidden, input
        self.hidden = nn.ModuleList([matrix(hidden) for _, hidden, _ in layers])
        self.inputs = nn.ModuleList([dense(iter((bias, kernel))) for bias, _, kernel in layers])

    def forward(self, x, *states):
        written = []
        for i, (inputs, recurrent) in enumerate(zip(self.inputs, self.hidden, strict=True)):
            i_gate, f_gate, g, o_gate = (inputs(x) + recurrent(states[2 * i])).chunk(4, dim=-1)
            cell = torch.sigmoid(f_gate + 1.0) * states[2 * i + 1] + torch.sigmoid(i_gate) * torch.tanh(g)
            x = torch.sigmoid(o_gate) * torch.tanh(cell)
            written += [x, cell]
        return x, *written


class RbfKernel(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.points, self.values = constant(next(weights)), constant(next(weights))

    def forward(self, x):
        squares = x.square().sum(-1)[:, None] + self.points.square().sum(-1)[None, :]
        distances = torch.clamp_min(squares - 2.0 * x @ self.points.T, 0.0)
        kernel = torch.exp(-distances / (distances.mean() + 1e-6))
        return kernel, kernel @ self.values


class HeatStencil(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.conductivity = constant(next(weights))

    def forward(self, field, sources):
        for _ in range(8):
            around = field.roll(1, 0) + field.roll(-1, 0) + field.roll(1, 1) + field.roll(-1, 1)
            change = torch.sigmoid(self.conductivity) * 0.2 * (around - 4.0 * field)
            field = field + change + 0.01 * sources.T
        return (field,)


class ResnetBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        layers = [(next(weights), next(weights), next(weights)) for _ in range(4)]  # kernel, gamma, beta
        self.convs = nn.ModuleList([convolution(kernel) for kernel, _, _ in layers])
        self.norms = nn.ModuleList()
        for _, gamma, beta in layers:
            layer = nn.BatchNorm2d(gamma.shape[0], eps=1e-3)
            layer.weight, layer.bias = constant(gamma), constant(beta)
            layer.running_mean, layer.running_var = next(weights), next(weights)
            self.norms.append(layer)

    def forward(self, x):
        x = channels_first(x)
        for i in (0, 2):
            h = F.relu(self.norms[i](self.convs[i](x)))
            x = F.relu(x + self.norms[i + 1](self.convs[i + 1](h)))
        return (x.mean((2, 3)),)


class SeparableBlock(nn.Module):
    def __init__(self, weights: Iterator[Tensor]):
        super().__init__()
        self.widen = convolution(next(weights), next(weights))
        self.depthwise = convolution(next(weights).transpose(2, 3), next(weights), groups=128)
        self.squeeze, self.excite = (dense(self.bias_first(weights)) for _ in range(2))
        self.narrow = convolution(next(weights), next(weights))

    @staticmethod
    def bias_first(weights: Iterator[Tensor]) -> Iterator[Tensor]:
        kernel, bias = next(weights), next(weights)
        return iter((bias, kernel))

    def forward(self, x):
        x = channels_first(x)
        h = F.relu6(self.depthwise(F.relu6(self.widen(x))))
        gate = torch.sigmoid(self.excite(F.silu(self.squeeze(h.mean((2, 3))))))
        return (channels_last(x + self.narrow(h * gate[:, :, None, None])),)


# name of the example -> its module
MODELS: dict[str, Callable[[Iterator[Tensor]], nn.Module]] = {
    "transformer_block": TransformerBlock,
    "bert_encoder": BertEncoder,
    "gpt_decode": GptDecode,
    "masked_attention": MaskedAttention,
    "llama_block": LlamaBlock,
    "layer_norm_chain": LayerNormChain,
    "softmax_gelu_chain": SoftmaxGeluChain,
    "group_norm_block": GroupNormBlock,
    "conv_block": ConvBlock,
    "mixer_block": MixerBlock,
    "lstm_scan": LstmScan,
    "lstm_step": LstmStep,
    "rbf_kernel": RbfKernel,
    "heat_stencil": HeatStencil,
    "keras_resnet_block": ResnetBlock,
    "keras_separable_block": SeparableBlock,
}
