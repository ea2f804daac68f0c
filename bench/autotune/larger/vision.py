"""Convolutional models in JAX."""

from larger.parts import EPSILON, convolve
from larger.sizes import INVERTED_RESIDUALS, RESNET18, RESNET50, UNET
from program_parts import Program, dense, dense_shapes, f32, norm_shapes

# isort: split
import jax
import jax.numpy as jnp


def normed_shapes(size: int, inputs: int, outputs: int) -> dict:
    """A convolution and its batch normalisation."""
    vector = f32(outputs)
    return {"kernel": f32(size, size, inputs, outputs), "gamma": vector, "beta": vector, "mean": vector, "var": vector}


def normed(w, x, stride: int = 1, groups: int = 1):
    scale = w["gamma"] * jax.lax.rsqrt(w["var"] + EPSILON)
    return (convolve(w["kernel"], x, stride, groups) - w["mean"]) * scale + w["beta"]


def stem(w, x):
    x = jax.nn.relu(normed(w["stem"], x, 2))
    around = [(0, 0), (1, 1), (1, 1), (0, 0)]
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), around)


def resnet18() -> Program:
    def run(w, x):
        x = stem(w, x)
        for block, (_, _, stride) in zip(w["blocks"], RESNET18, strict=True):
            h = normed(block["conv2"], jax.nn.relu(normed(block["conv1"], x, stride)))
            x = jax.nn.relu(h + (normed(block["shortcut"], x, stride) if "shortcut" in block else x))
        return dense(w["head"], x.mean((1, 2)))

    blocks = []
    for inputs, outputs, _ in RESNET18:
        block = {"conv1": normed_shapes(3, inputs, outputs), "conv2": normed_shapes(3, outputs, outputs)}
        blocks.append(block | ({"shortcut": normed_shapes(1, inputs, outputs)} if inputs != outputs else {}))
    weights = {"stem": normed_shapes(7, 3, 64), "blocks": blocks, "head": dense_shapes(512, 1000)}
    return Program(run, weights, (f32(1, 224, 224, 3),))


def resnet50() -> Program:
    def run(w, x):
        x = stem(w, x)
        for block, (_, _, _, stride) in zip(w["blocks"], RESNET50, strict=True):
            h = jax.nn.relu(normed(block["conv2"], jax.nn.relu(normed(block["conv1"], x)), stride))
            shortcut = normed(block["shortcut"], x, stride) if "shortcut" in block else x
            x = jax.nn.relu(normed(block["conv3"], h) + shortcut)
        return dense(w["head"], x.mean((1, 2)))

    blocks = []
    for inputs, inner, outputs, _ in RESNET50:
        block = {
            "conv1": normed_shapes(1, inputs, inner),
            "conv2": normed_shapes(3, inner, inner),
            "conv3": normed_shapes(1, inner, outputs),
        }
        blocks.append(block | ({"shortcut": normed_shapes(1, inputs, outputs)} if inputs != outputs else {}))
    weights = {"stem": normed_shapes(7, 3, 64), "blocks": blocks, "head": dense_shapes(2048, 1000)}
    return Program(run, weights, (f32(1, 224, 224, 3),))


def mobilenet() -> Program:
    def run(w, x):
        x = jax.nn.relu6(normed(w["stem"], x, 2))
        for block, (inputs, outputs, factor, stride) in zip(w["blocks"], INVERTED_RESIDUALS, strict=True):
            h = jax.nn.relu6(normed(block["expand"], x)) if factor > 1 else x
            h = jax.nn.relu6(normed(block["depthwise"], h, stride, h.shape[-1]))
            h = normed(block["project"], h)
            x = x + h if stride == 1 and inputs == outputs else h
        x = jax.nn.relu6(normed(w["last"], x))
        return dense(w["head"], x.mean((1, 2)))

    blocks = []
    for inputs, outputs, factor, _ in INVERTED_RESIDUALS:
        inner = inputs * factor
        block = {"depthwise": normed_shapes(3, 1, inner), "project": normed_shapes(1, inner, outputs)}
        blocks.append(block | ({"expand": normed_shapes(1, inputs, inner)} if factor > 1 else {}))
    weights = {
        "stem": normed_shapes(3, 3, 32),
        "blocks": blocks,
        "last": normed_shapes(1, 320, 1280),
        "head": dense_shapes(1280, 1000),
    }
    return Program(run, weights, (f32(1, 224, 224, 3),))


def unet() -> Program:
    """A small U-Net of diffusion: two levels down and up, group normalisation, the time added in every block."""
    widths, groups = UNET.widths, UNET.groups

    def group_norm(w, x):
        grouped = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
        mean = grouped.mean((1, 3), keepdims=True)
        variance = jnp.square(grouped - mean).mean((1, 3), keepdims=True)
        return ((grouped - mean) * jax.lax.rsqrt(variance + EPSILON)).reshape(x.shape) * w["scale"] + w["bias"]

    def block(w, x, time):
        h = convolve(w["conv1"], jax.nn.silu(group_norm(w["norm1"], x))) + dense(w["time"], time)[:, None, None, :]
        h = convolve(w["conv2"], jax.nn.silu(group_norm(w["norm2"], h)))
        return h + (convolve(w["shortcut"], x) if "shortcut" in w else x)

    def run(w, x, time):
        time = jax.nn.silu(time)
        x = convolve(w["first"], x)
        kept = []
        for level in w["down"]:
            x = block(level["block"], x, time)
            kept.append(x)
            x = convolve(level["smaller"], x, 2)
        x = block(w["middle"], x, time)
        for level in w["up"]:
            x = convolve(level["larger"], x.repeat(2, axis=1).repeat(2, axis=2))
            x = block(level["block"], jnp.concatenate([x, kept.pop()], axis=-1), time)
        return convolve(w["last"], jax.nn.silu(group_norm(w["norm"], x)))

    def shapes(inputs, outputs):
        found = {
            "norm1": norm_shapes(inputs),
            "conv1": f32(3, 3, inputs, outputs),
            "time": dense_shapes(UNET.time, outputs),
            "norm2": norm_shapes(outputs),
            "conv2": f32(3, 3, outputs, outputs),
        }
        return found | ({"shortcut": f32(1, 1, inputs, outputs)} if inputs != outputs else {})

    pairs = list(zip(widths, widths[1:], strict=False))
    weights = {
        "first": f32(3, 3, UNET.features, widths[0]),
        "down": [{"block": shapes(a, a), "smaller": f32(3, 3, a, b)} for a, b in pairs],
        "middle": shapes(widths[-1], widths[-1]),
        "up": [{"larger": f32(3, 3, b, a), "block": shapes(2 * a, a)} for a, b in reversed(pairs)],
        "norm": norm_shapes(widths[0]),
        "last": f32(3, 3, widths[0], UNET.features),
    }
    return Program(run, weights, (f32(1, UNET.size, UNET.size, UNET.features), f32(1, UNET.time)))
