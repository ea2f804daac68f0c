"""The example programs: layers of common networks as JAX (and Keras) functions with their weights as parameters.

Each program is a function f(weights, *inputs). Weights and inputs are given as shapes: no array is a constant. Every
integer input (token, position, label) is in range for any small non-negative value, and every floating input may be
any finite number, except where `about` says otherwise.
"""

from collections.abc import Callable

# First: it chooses the Keras backend.
from program_parts import (
    Program,
    attend,
    block_shapes,
    dense,
    dense_shapes,
    f32,
    gelu,
    i32,
    join_heads,
    layer_norm,
    norm_shapes,
    rms_norm,
    self_attention,
    split_heads,
)

# isort: split
import jax
import jax.numpy as jnp
import keras


def transformer_block() -> Program:
    def run(w, x):
        length = x.shape[1]
        causal = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)
        x = x + self_attention(w, layer_norm(w["norm1"], x), 8, causal)
        return x + dense(w["down"], gelu(dense(w["up"], layer_norm(w["norm2"], x))))

    return Program(run, block_shapes(256, 1024), (f32(1, 192, 256),))


def bert_encoder() -> Program:
    length, width, layers = 14, 512, 2

    def run(w, tokens, segments, mask):
        x = w["tokens"][tokens] + w["segments"][segments] + w["positions"]
        x = layer_norm(w["norm"], x)
        bias = jnp.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in w["layers"]:  # norms after the residual, as in BERT
            x = layer_norm(layer["norm1"], x + self_attention(layer, x, 4, bias))
            hidden = jax.nn.gelu(dense(layer["up"], x), approximate=False)
            x = layer_norm(layer["norm2"], x + dense(layer["down"], hidden))
        return x, jnp.tanh(dense(w["pooler"], x[:, 0]))

    weights = {
        "tokens": f32(2048, width),
        "segments": f32(2, width),
        "positions": f32(length, width),
        "norm": norm_shapes(width),
        "layers": [block_shapes(width, 4 * width) for _ in range(layers)],
        "pooler": dense_shapes(width, width),
    }
    return Program(run, weights, (i32(1, length), i32(1, length), i32(1, length)))


def gpt_decode() -> Program:
    capacity, width, heads, layers = 256, 512, 8, 2

    def attend_cache(w, x, cache, position):
        q, k, v = (split_heads(part, heads) for part in jnp.split(dense(w["qkv"], x), 3, axis=-1))
        start = (0, 0, position, 0)
        keys = jax.lax.dynamic_update_slice(cache["keys"], k, start)
        values = jax.lax.dynamic_update_slice(cache["values"], v, start)
        bias = jnp.where(jnp.arange(capacity) <= position, 0.0, -1e9)
        return dense(w["out"], join_heads(attend(q, keys, values, bias))), {"keys": keys, "values": values}

    def run(w, token, position, caches):
        x = w["tokens"][token][:, None, :] + w["positions"][position]
        new_caches = []
        for layer, cache in zip(w["layers"], caches, strict=True):
            attention, cache = attend_cache(layer, layer_norm(layer["norm1"], x), cache, position)
            new_caches.append(cache)
            x = x + attention
            x = x + dense(layer["down"], gelu(dense(layer["up"], layer_norm(layer["norm2"], x))))
        logits = layer_norm(w["norm"], x[:, 0]) @ w["tokens"].T
        return logits, new_caches

    weights = {
        "tokens": f32(2048, width),
        "positions": f32(capacity, width),
        "layers": [block_shapes(width, 4 * width) for _ in range(layers)],
        "norm": norm_shapes(width),
    }
    cache = {"keys": f32(1, heads, capacity, width // heads), "values": f32(1, heads, capacity, width // heads)}
    return Program(run, weights, (i32(1), i32(), [cache] * layers))


def masked_attention() -> Program:
    def run(w, x, mask):
        length = x.shape[1]
        causal = jnp.tril(jnp.ones((length, length), bool))
        allowed = causal & (mask[:, None, None, :] > 0)
        slopes = 2.0 ** -jnp.arange(1, 9, dtype=jnp.float32)
        distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
        bias = jnp.where(allowed, slopes[:, None, None] * distance, -1e9)
        return self_attention(w, x, 8, bias)

    return Program(run, {"qkv": dense_shapes(256, 768), "out": dense_shapes(256, 256)}, (f32(2, 192, 256), i32(2, 192)))


def llama_block() -> Program:
    heads, length, width, hidden = 6, 64, 384, 1024

    def rotate(x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None] * 10000.0 ** (-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def run(w, x, positions):
        h = rms_norm(w["norm1"], x)
        q, k, v = (split_heads(h @ w[name], heads) for name in ("query", "key", "value"))
        causal = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)
        position = positions.astype(jnp.float32)
        x = x + join_heads(attend(rotate(q, position), rotate(k, position), v, causal)) @ w["out"]
        h = rms_norm(w["norm2"], x)
        return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]

    square = {name: f32(width, width) for name in ("query", "key", "value", "out")}
    feed = {"gate": f32(width, hidden), "up": f32(width, hidden), "down": f32(hidden, width)}
    return Program(
        run, square | feed | {"norm1": f32(width), "norm2": f32(width)}, (f32(1, length, width), i32(length))
    )


def layer_norm_chain() -> Program:
    def run(w, x):
        for layer in w:
            x = x + gelu(layer_norm(layer["norm"], x) * layer["gate"])
        return x

    return Program(run, [{"norm": norm_shapes(1024), "gate": f32(1024)} for _ in range(3)], (f32(768, 1024),))


def softmax_gelu_chain() -> Program:
    def run(w, scores, values):
        weights = jax.nn.softmax(scores * w["temperature"][:, None, None] + w["bias"], axis=-1)
        mixed = gelu(weights * values.transpose(0, 2, 1))
        return jax.nn.softmax(mixed - mixed.max(axis=1, keepdims=True), axis=-1)

    return Program(run, {"temperature": f32(8), "bias": f32(320, 320)}, (f32(8, 320, 320), f32(8, 320, 320)))


def group_norm_block() -> Program:
    def group_norm(w, x, groups=8):
        batch, height, width, channels = x.shape
        grouped = x.reshape(batch, height * width, groups, channels // groups)
        mean = grouped.mean((1, 3), keepdims=True)
        variance = jnp.square(grouped - mean).mean((1, 3), keepdims=True)
        normal = ((grouped - mean) * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape)
        return normal * w["scale"] + w["bias"]

    def conv(w, x):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def run(w, x, time):
        h = conv(w["conv1"], jax.nn.silu(group_norm(w["norm1"], x)))
        h = h + dense(w["time"], jax.nn.silu(time))[:, None, None, :]
        return x + conv(w["conv2"], jax.nn.silu(group_norm(w["norm2"], h)))

    weights = {
        "norm1": norm_shapes(64),
        "conv1": f32(3, 3, 64, 64),
        "time": dense_shapes(128, 64),
        "norm2": norm_shapes(64),
        "conv2": f32(3, 3, 64, 64),
    }
    return Program(run, weights, (f32(1, 48, 48, 64), f32(1, 128)))


def conv_block() -> Program:
    def conv(w, x, stride=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def run(w, x):  # bottleneck of ResNet-50, batch normalisation folded into scale and bias
        h = jax.nn.relu(conv(w["reduce"], x) * w["norm1"]["scale"] + w["norm1"]["bias"])
        h = jax.nn.relu(conv(w["conv"], h) * w["norm2"]["scale"] + w["norm2"]["bias"])
        return jax.nn.relu(x + conv(w["expand"], h) * w["norm3"]["scale"] + w["norm3"]["bias"])

    weights = {
        "reduce": f32(1, 1, 512, 128),
        "conv": f32(3, 3, 128, 128),
        "expand": f32(1, 1, 128, 512),
        "norm1": norm_shapes(128),
        "norm2": norm_shapes(128),
        "norm3": norm_shapes(512),
    }
    return Program(run, weights, (f32(1, 28, 28, 512),))


def mixer_block() -> Program:
    def run(w, x):
        h = layer_norm(w["norm1"], x).transpose(0, 2, 1)
        h = dense(w["tokens_down"], gelu(dense(w["tokens_up"], h)))
        x = x + h.transpose(0, 2, 1)
        h = layer_norm(w["norm2"], x)
        return x + dense(w["channels_down"], gelu(dense(w["channels_up"], h)))

    weights = {
        "norm1": norm_shapes(512),
        "tokens_up": dense_shapes(196, 128),
        "tokens_down": dense_shapes(128, 196),
        "norm2": norm_shapes(512),
        "channels_up": dense_shapes(512, 1024),
        "channels_down": dense_shapes(1024, 512),
    }
    return Program(run, weights, (f32(1, 196, 512),))


def lstm_scan() -> Program:
    def run(w, xs, hidden, cell):
        def step(state, x):
            hidden, cell = state
            gates = x @ w["input"] + hidden @ w["hidden"] + w["bias"]
            i, f, g, o = jnp.split(gates, 4, axis=-1)
            cell = jax.nn.sigmoid(f + 1.0) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        return jax.lax.scan(step, (hidden, cell), xs)

    width = 256
    weights = {"input": f32(128, 4 * width), "hidden": f32(width, 4 * width), "bias": f32(4 * width)}
    return Program(run, weights, (f32(48, 4, 128), f32(4, width), f32(4, width)))


def lstm_step() -> Program:
    def run(w, x, states):
        new_states = []
        for layer, (hidden, cell) in zip(w, states, strict=True):
            gates = x @ layer["input"] + hidden @ layer["hidden"] + layer["bias"]
            i, f, g, o = jnp.split(gates, 4, axis=-1)
            cell = jax.nn.sigmoid(f + 1.0) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            x = jax.nn.sigmoid(o) * jnp.tanh(cell)
            new_states.append((x, cell))
        return x, new_states

    width = 768
    layer = {"input": f32(width, 4 * width), "hidden": f32(width, 4 * width), "bias": f32(4 * width)}
    return Program(run, [layer] * 2, (f32(2, width), [(f32(2, width), f32(2, width))] * 2))


def train_step() -> Program:
    def loss(w, images, labels):
        logits = dense(w[2], jax.nn.relu(dense(w[1], jax.nn.relu(dense(w[0], images)))))
        return -(jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(logits)).sum(-1).mean()

    def run(w, first, second, step, images, labels):  # Adam (Kingma and Ba 2015, algorithm 1)
        value, gradient = jax.value_and_grad(loss)(w, images, labels)
        t = (step + 1).astype(jnp.float32)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * jnp.abs(v) + 0.001 * g * g, second, gradient)

        def move(p, m, v):
            return p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)

        return jax.tree.map(move, w, first, second), first, second, step + 1, value

    weights = [dense_shapes(784, 512), dense_shapes(512, 256), dense_shapes(256, 10)]
    return Program(run, weights, (weights, weights, i32(), f32(64, 784), i32(64)), constant=False)


def rbf_kernel() -> Program:
    def run(w, x):
        points = w["points"]
        squares = jnp.square(x).sum(-1)[:, None] + jnp.square(points).sum(-1)[None, :]
        distances = jnp.maximum(squares - 2.0 * x @ points.T, 0.0)
        kernel = jnp.exp(-distances / (distances.mean() + 1e-6))
        return kernel, kernel @ w["values"]

    return Program(run, {"points": f32(1536, 64), "values": f32(1536, 16)}, (f32(512, 64),))


def heat_stencil() -> Program:
    def run(w, field, sources):
        def step(_, u):
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            return u + jax.nn.sigmoid(w["conductivity"]) * 0.2 * (around - 4.0 * u) + 0.01 * sources.T

        return jax.lax.fori_loop(0, 8, step, field)

    return Program(run, {"conductivity": f32(384, 384)}, (f32(384, 384), f32(384, 384)))


def from_keras(model: keras.Model, *inputs) -> Program:
    """Inference of a built Keras model; its variables become the weights, in the model's order."""

    def run(variables, *values):
        trainable, rest = variables
        outputs, _ = model.stateless_call(trainable, rest, *values, training=False)
        return outputs

    def shapes(variables):
        return [jax.ShapeDtypeStruct(v.shape, v.value.dtype) for v in variables]

    return Program(run, (shapes(model.trainable_variables), shapes(model.non_trainable_variables)), inputs)


def keras_resnet_block() -> Program:
    inputs = x = keras.Input((32, 32, 64), batch_size=1)
    for _ in range(2):
        h = keras.layers.Conv2D(64, 3, padding="same", use_bias=False)(x)
        h = keras.layers.ReLU()(keras.layers.BatchNormalization()(h))
        h = keras.layers.Conv2D(64, 3, padding="same", use_bias=False)(h)
        x = keras.layers.ReLU()(x + keras.layers.BatchNormalization()(h))
    return from_keras(keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(x)), f32(1, 32, 32, 64))


def keras_separable_block() -> Program:
    inputs = keras.Input((28, 28, 32), batch_size=1)
    x = keras.layers.Conv2D(128, 1, activation="relu6")(inputs)
    x = keras.layers.DepthwiseConv2D(3, padding="same", activation="relu6")(x)
    squeeze = keras.layers.Dense(32, activation="silu")(keras.layers.GlobalAveragePooling2D()(x))
    x = x * keras.layers.Reshape((1, 1, 128))(keras.layers.Dense(128, activation="sigmoid")(squeeze))
    return from_keras(keras.Model(inputs, inputs + keras.layers.Conv2D(32, 1)(x)), f32(1, 28, 28, 32))


def keras_gru_classifier() -> Program:
    inputs = keras.Input((48, 96), batch_size=2)
    x = keras.layers.Bidirectional(keras.layers.GRU(192, return_sequences=True))(inputs)
    x = keras.layers.LayerNormalization()(x)
    x = keras.layers.Dense(16, activation="softmax")(keras.layers.GlobalMaxPooling1D()(x))
    return from_keras(keras.Model(inputs, x), f32(2, 48, 96))


# name of the file -> (maker, about)
EXAMPLES: dict[str, tuple[Callable[[], Program], str]] = {
    "transformer_block": (transformer_block, "pre-norm transformer block, causal, 192 tokens, width 256"),
    "bert_encoder": (bert_encoder, "BERT-like encoder, 2 layers, batch 1, 14 tokens, width 512, exact GELU"),
    "gpt_decode": (gpt_decode, "one decode step of a 2-layer GPT with a 256-entry key-value cache"),
    "masked_attention": (masked_attention, "attention with causal and padding masks and ALiBi slopes, 2x192 tokens"),
    "llama_block": (llama_block, "RMSNorm, rotary attention and SwiGLU, 64 tokens, width 384"),
    "layer_norm_chain": (layer_norm_chain, "three gated LayerNorm + GELU residuals on [768, 1024]"),
    "softmax_gelu_chain": (softmax_gelu_chain, "softmax, transposed product, GELU, softmax on [8, 320, 320]"),
    "group_norm_block": (group_norm_block, "diffusion U-Net residual block: GroupNorm, SiLU, 3x3 convolutions"),
    "conv_block": (conv_block, "ResNet-50 bottleneck on 28x28x512"),
    "mixer_block": (mixer_block, "MLP-Mixer block, 196 patches, width 512"),
    "lstm_scan": (lstm_scan, "LSTM over 48 steps (scan), batch 4, width 256"),
    "lstm_step": (lstm_step, "one step of a 2-layer LSTM, batch 2, width 768"),
    "train_step": (train_step, "training step: 3-layer perceptron, cross-entropy, Adam, batch 64"),
    "rbf_kernel": (rbf_kernel, "Gaussian kernel matrix of 512 x 1536 points and its product with values"),
    "heat_stencil": (heat_stencil, "eight explicit steps of the heat equation on a 384x384 torus"),
    "keras_resnet_block": (keras_resnet_block, "Keras: two ResNet-18 blocks; BatchNormalization variances are >= 0"),
    "keras_separable_block": (keras_separable_block, "Keras: MobileNetV3-like depthwise block, squeeze-and-excite"),
    "keras_gru_classifier": (keras_gru_classifier, "Keras: bidirectional GRU over 48 steps with a softmax head"),
}
