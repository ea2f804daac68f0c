"""Recurrent, convolutional and state-space sequence models: Keras layers, and JAX where Keras has none."""

import jax
import jax.numpy as jnp
import keras
from keras import layers
from program_parts import Program, dense, dense_shapes, f32, i32, layer_norm, norm_shapes, rms_norm

from .keras_models import from_model
from .registry import program


@program("lstm", (1, 16), "LSTM language model, 2 layers of 256, 32 tokens", "keras")
def lstm_lm(batch: int) -> Program:
    x = inputs = keras.Input((32,), dtype="int32")
    x = layers.Embedding(4000, 192)(x)
    for _ in range(2):
        x = layers.LSTM(256, return_sequences=True)(x)
    return from_model(keras.Model(inputs, layers.Dense(2000)(x)), batch)


@program("lstm", (1, 8), "bidirectional LSTM tagger, 40 tokens", "keras")
def bilstm_tagger(batch: int) -> Program:
    inputs = keras.Input((40,), dtype="int32")
    x = layers.Embedding(4000, 128)(inputs)
    x = layers.Bidirectional(layers.LSTM(160, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(96, return_sequences=True))(x)
    return from_model(keras.Model(inputs, layers.Dense(48, activation="softmax")(x)), batch)


@program("lstm", (1, 2), "two ConvLSTM layers over 8 frames of 32x32", "keras")
def conv_lstm(batch: int) -> Program:
    inputs = keras.Input((8, 32, 32, 8))
    x = layers.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.ConvLSTM2D(24, 3, padding="same")(x)
    return from_model(keras.Model(inputs, layers.Conv2D(1, 1)(x)), batch)


@program("gru", (1, 8), "GRU encoder and decoder with dot-product attention, 24 tokens each", "keras")
def gru_translate(batch: int) -> Program:
    source = keras.Input((24,), dtype="int32")
    target = keras.Input((24,), dtype="int32")
    encoded = layers.Bidirectional(layers.GRU(128, return_sequences=True))(layers.Embedding(4000, 128)(source))
    decoded = layers.GRU(256, return_sequences=True)(layers.Embedding(4000, 128)(target))
    context = layers.Attention(use_scale=True)([decoded, encoded])
    x = layers.Dense(256, activation="tanh")(layers.Concatenate()([decoded, context]))
    return from_model(keras.Model((source, target), layers.Dense(2000)(x)), batch)


@program("gru", (4,), "GRU over convolution features of a spectrogram, as in Deep Speech", "keras")
def gru_speech(batch: int) -> Program:
    inputs = keras.Input((96, 64, 1))
    x = layers.Conv2D(24, (11, 7), strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(24, (5, 5), strides=(1, 2), padding="same", activation="relu")(x)
    x = layers.Reshape((48, 16 * 24))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(128, return_sequences=True))(x)
        x = layers.LayerNormalization()(x)
    return from_model(keras.Model(inputs, layers.Dense(32, activation="log_softmax")(x)), batch)


@program("gru", (1, 32), "Elman network with layer norm, 64 steps, width 192")
def elman_rnn(batch: int) -> Program:
    def run(w, xs):
        def step(hidden, x):
            hidden = jnp.tanh(layer_norm(w["norm"], x + hidden @ w["hidden"]))
            return hidden, hidden

        return jax.lax.scan(step, jnp.zeros((batch, 192)), dense(w["input"], xs))[1].mean(0)

    weights = {"input": dense_shapes(64, 192), "hidden": f32(192, 192), "norm": norm_shapes(192)}
    return Program(run, weights, (f32(64, batch, 64),))


@program("wavenet", (1, 4), "WaveNet: 10 dilated gated convolutions with skips, 1024 samples, 64 channels")
def wavenet(batch: int) -> Program:
    channels, dilations = 64, [2 ** (k % 5) for k in range(10)]

    def causal(x, kernel, dilation):
        pad = (kernel.shape[0] - 1) * dilation
        return jax.lax.conv_general_dilated(
            x, kernel, (1,), [(pad, 0)], rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC")
        )

    def run(w, samples):
        x = causal(jax.nn.one_hot(samples, 256), w["first"], 1)
        skips = 0.0
        for layer, dilation in zip(w["layers"], dilations, strict=True):
            signal, gate = jnp.split(causal(x, layer["conv"], dilation) + layer["bias"], 2, axis=-1)
            z = jnp.tanh(signal) * jax.nn.sigmoid(gate)
            skips = skips + dense(layer["skip"], z)
            x = x + dense(layer["residual"], z)
        return dense(w["out2"], jax.nn.relu(dense(w["out1"], jax.nn.relu(skips))))

    layer = {
        "conv": f32(2, channels, 2 * channels),
        "bias": f32(2 * channels),
        "skip": dense_shapes(channels, 128),
        "residual": dense_shapes(channels, channels),
    }
    weights = {
        "first": f32(2, 256, channels),
        "layers": [layer] * len(dilations),
        "out1": dense_shapes(128, 128),
        "out2": dense_shapes(128, 256),
    }
    return Program(run, weights, (i32(batch, 1024),))


@program("gru", (1, 8), "WaveRNN: 96 sampling steps of a 256-wide GRU with a dual softmax, given noise")
def wavernn(batch: int) -> Program:
    width, steps = 256, 96

    def run(w, conditions, noise):
        def step(state, given):
            hidden, sample = state
            condition, gumbel = given
            x = jnp.concatenate([sample[:, None] / 128.0 - 1.0, condition], axis=-1)
            r, u, n = jnp.split(dense(w["input"], x), 3, axis=-1)
            hr, hu, hn = jnp.split(dense(w["hidden"], hidden), 3, axis=-1)
            update = jax.nn.sigmoid(u + hu)
            hidden = update * hidden + (1 - update) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn)
            logits = dense(w["out2"], jax.nn.relu(dense(w["out1"], hidden)))
            sample = jnp.argmax(logits + gumbel, axis=-1).astype(jnp.float32)
            return (hidden, sample), sample

        start = (jnp.zeros((batch, width)), jnp.zeros(batch))
        return jax.lax.scan(step, start, (conditions, noise))[1]

    weights = {
        "input": dense_shapes(65, 3 * width),
        "hidden": dense_shapes(width, 3 * width),
        "out1": dense_shapes(width, 256),
        "out2": dense_shapes(256, 256),
    }
    return Program(run, weights, (f32(steps, batch, 64), f32(steps, batch, 256)))


@program("wavenet", (1, 4), "HiFi-GAN-like vocoder: transposed convolutions and dilated residual blocks", "keras")
def vocoder(batch: int) -> Program:
    x = inputs = keras.Input((24, 80))
    x = layers.Conv1D(96, 7, padding="same")(x)
    for channels, stride in ((48, 8), (24, 4), (12, 2)):
        x = layers.Conv1DTranspose(channels, 2 * stride, strides=stride, padding="same")(layers.LeakyReLU(0.1)(x))
        for dilation in (1, 3):
            h = layers.Conv1D(channels, 3, dilation_rate=dilation, padding="same")(layers.LeakyReLU(0.1)(x))
            x = x + layers.Conv1D(channels, 3, padding="same")(layers.LeakyReLU(0.1)(h))
    return from_model(keras.Model(inputs, layers.Conv1D(1, 7, padding="same", activation="tanh")(x)), batch)


@program("temporal_conv", (1, 8), "temporal convolution network, 6 dilated residual blocks, 256 steps", "keras")
def tcn(batch: int) -> Program:
    x = inputs = keras.Input((256, 32))
    x = layers.Conv1D(64, 1)(x)
    for k in range(6):
        h = layers.Conv1D(64, 3, padding="causal", dilation_rate=2**k, activation="relu")(x)
        h = layers.LayerNormalization()(h)
        x = x + layers.Conv1D(64, 3, padding="causal", dilation_rate=2**k, activation="relu")(h)
    return from_model(keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))), batch)


@program("temporal_conv", (1, 4), "Conformer block: attention, depthwise convolution, two half feed-forwards", "keras")
def conformer(batch: int) -> Program:
    x = inputs = keras.Input((96, 144))

    def feed_forward(x):
        h = layers.Dense(576, activation="silu")(layers.LayerNormalization()(x))
        return x + 0.5 * layers.Dense(144)(h)

    for _ in range(2):
        x = feed_forward(x)
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 36)(h, h)
        h = layers.Dense(288)(layers.LayerNormalization()(x))
        h = h[..., :144] * keras.ops.sigmoid(h[..., 144:])
        h = layers.DepthwiseConv1D(15, padding="same")(h)
        x = x + layers.Dense(144)(layers.Activation("silu")(layers.BatchNormalization()(h)))
        x = layers.LayerNormalization()(feed_forward(x))
    return from_model(keras.Model(inputs, layers.Dense(64)(x)), batch)


@program("state_space", (1, 4), "Mamba-like selective scan (associative), 128 tokens, width 128, state 16")
def mamba(batch: int) -> Program:
    width, inner, state = 128, 256, 16

    def run(w, x):
        for layer in w:
            h = rms_norm(layer["norm"], x)
            u, gate = jnp.split(h @ layer["in"], 2, axis=-1)
            padded = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
            u = jax.nn.silu(sum(padded[:, k : k + x.shape[1]] * layer["conv"][k] for k in range(4)))
            delta = jax.nn.softplus(dense(layer["delta"], u))
            b, c = jnp.split(u @ layer["bc"], 2, axis=-1)
            decay = jnp.exp(-delta[..., None] * jnp.exp(layer["log_a"]))  # [batch, time, inner, state]
            drive = (delta * u)[..., None] * b[:, :, None, :]
            _, states = jax.lax.associative_scan(
                lambda left, right: (left[0] * right[0], right[0] * left[1] + right[1]), (decay, drive), axis=1
            )
            y = jnp.einsum("btds,bts->btd", states, c) + u * layer["skip"]
            x = x + (y * jax.nn.silu(gate)) @ layer["out"]
        return x

    layer = {
        "norm": f32(width),
        "in": f32(width, 2 * inner),
        "conv": f32(4, inner),
        "delta": dense_shapes(inner, inner),
        "bc": f32(inner, 2 * state),
        "log_a": f32(inner, state),
        "skip": f32(inner),
        "out": f32(inner, width),
    }
    return Program(run, [layer] * 2, (f32(batch, 128, width),))


@program("state_space", (1, 8), "RetNet-like chunked retention with decays, 256 tokens, width 256, 4 heads")
def retention(batch: int) -> Program:
    width, heads, chunk, chunks = 256, 4, 64, 4
    size = width // heads

    def run(w, x):
        q, k, v, g = (
            (x @ w[name]).reshape(batch, chunks, chunk, heads, size).transpose(1, 0, 3, 2, 4) for name in "qkvg"
        )
        decay = 1.0 - 2.0 ** (-5.0 - jnp.arange(heads))
        steps = jnp.arange(chunk)
        distance = steps[:, None] - steps[None, :]
        inner = jnp.where(distance >= 0, decay[:, None, None] ** jnp.maximum(distance, 0), 0.0)
        across = (decay[:, None] ** (steps + 1))[..., None]

        def step(memory, given):
            q, k, v = given
            y = jnp.einsum("bhqd,bhkd->bhqk", q, k) * inner @ v + across * (q @ memory)
            fade = (decay[:, None] ** (chunk - 1 - steps))[..., None]
            memory = memory * (decay**chunk)[:, None, None] + jnp.einsum("bhkd,bhke->bhde", k * fade, v)
            return memory, y

        _, ys = jax.lax.scan(step, jnp.zeros((batch, heads, size, size)), (q, k, v))
        ys = ys * jax.lax.rsqrt(jnp.square(ys).mean(-1, keepdims=True) + 1e-6) * jax.nn.silu(g)
        return ys.transpose(1, 0, 3, 2, 4).reshape(batch, chunk * chunks, width) @ w["out"]

    return Program(run, {name: f32(width, width) for name in ("q", "k", "v", "g", "out")}, (f32(batch, 256, width),))
