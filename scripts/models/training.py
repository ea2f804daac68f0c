"""Training steps: loss, gradient and an Optax optimiser; parameters, state and batch in, the new ones out."""

import jax
import jax.numpy as jnp
import keras
import optax
from keras import layers
from program_parts import Program, dense, dense_shapes, f32, gelu, i32, layer_norm, norm_shapes, self_attention

from .graphs import perceptron, perceptron_shapes
from .keras_models import input_shapes, is_seed, shape_of
from .registry import add, program


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


SECOND_MOMENTS = {"nu", "v", "v_row", "v_col", "sum_of_squares"}


def plausible(state):
    """The optimiser's state with non-negative second moments for any generated inputs."""

    def fix(path, leaf):
        names = {getattr(key, "name", None) for key in path}
        return jnp.abs(leaf) if names & SECOND_MOMENTS else leaf

    return jax.tree_util.tree_map_with_path(fix, state)


def step_of(loss, weights, optimiser, batch: tuple) -> Program:
    """One step on loss(weights, *batch). The optimiser's state is known by shape only, like the weights."""

    def run(w, state, *batch):
        value, gradient = jax.value_and_grad(loss)(w, *batch)
        updates, state = optimiser.update(gradient, plausible(state), w)
        return optax.apply_updates(w, updates), state, value

    return Program(run, weights, (jax.eval_shape(optimiser.init, weights), *batch), constant=False)


def keras_step(model, optimiser, loss, batch: int, target) -> Program:
    """One step of a Keras model in training mode; batch statistics are updated too. loss(outputs, target)."""
    seeds = [v.path for v in model.non_trainable_variables if is_seed(v)]
    if seeds:
        raise ValueError(f"{seeds[0]}: random layers need given noise")
    trainable = [shape_of(v) for v in model.trainable_variables]
    statistics = [shape_of(v) for v in model.non_trainable_variables]

    def loss_of(w, s, inputs, wanted):
        outputs, s = model.stateless_call(w, s, inputs, training=True)
        return loss(outputs, wanted), s

    def run(w, s, state, inputs, wanted):
        (value, s), gradient = jax.value_and_grad(loss_of, has_aux=True)(w, s, inputs, wanted)
        updates, state = optimiser.update(gradient, plausible(state), w)
        return optax.apply_updates(w, updates), s, state, value

    state = jax.eval_shape(optimiser.init, trainable)
    return Program(run, trainable, (statistics, state, input_shapes(model, batch), target), constant=False)


def classifier(body, size: int):
    inputs = keras.Input((size, size, 3))
    x = layers.GlobalAveragePooling2D()(body(inputs))
    return keras.Model(inputs, layers.Dense(10)(x))


def small_resnet(inputs):
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        h = layers.ReLU()(layers.BatchNormalization()(x))
        short = layers.Conv2D(channels, 1, strides=stride, use_bias=False)(h)
        h = layers.Conv2D(channels, 3, strides=stride, padding="same", use_bias=False)(h)
        h = layers.ReLU()(layers.BatchNormalization()(h))
        x = short + layers.Conv2D(channels, 3, padding="same", use_bias=False)(h)
    return layers.ReLU()(layers.BatchNormalization()(x))


def small_mobilenet(inputs):
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu6")(inputs)
    for channels, stride in ((24, 1), (32, 2), (48, 2)):
        h = layers.Conv2D(4 * x.shape[-1], 1, use_bias=False)(x)
        h = layers.Activation("relu6")(layers.BatchNormalization()(h))
        h = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(h)
        h = layers.Activation("relu6")(layers.BatchNormalization()(h))
        x = layers.BatchNormalization()(layers.Conv2D(channels, 1, use_bias=False)(h))
    return x


def small_densenet(inputs):
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(2):
        for _ in range(3):
            h = layers.Conv2D(12, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
            x = layers.Concatenate()([x, h])
        x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1)(x))
    return x


# model, body, image size, optimiser, batch sizes
CLASSIFIERS = [
    ("train_resnet", small_resnet, 32, lambda: optax.sgd(0.1, momentum=0.9, nesterov=True), (4, 16)),
    ("train_mobilenet", small_mobilenet, 32, lambda: optax.rmsprop(0.01), (4, 16)),
    ("train_densenet", small_densenet, 24, lambda: optax.adam(1e-3), (8,)),
]
for _model, _body, _size, _optimiser, _batches in CLASSIFIERS:
    add(
        _model,
        "train_vision",
        _batches,
        "keras+optax",
        f"training step of a small {_model[6:]} with batch statistics, {_size}x{_size} images",
        lambda batch, b=_body, s=_size, o=_optimiser: keras_step(
            classifier(b, s), o(), cross_entropy, batch, i32(batch)
        ),
    )


def block_shapes(width: int) -> dict:
    return {
        "norm1": norm_shapes(width),
        "qkv": dense_shapes(width, 3 * width),
        "out": dense_shapes(width, width),
        "norm2": norm_shapes(width),
        "up": dense_shapes(width, 4 * width),
        "down": dense_shapes(4 * width, width),
    }


def blocks(w, x, heads: int, bias):
    for layer in w:
        x = x + self_attention(layer, layer_norm(layer["norm1"], x), heads, bias)
        x = x + dense(layer["down"], gelu(dense(layer["up"], layer_norm(layer["norm2"], x))))
    return x


def causal(length: int):
    return jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)


def clipped_adamw():
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.1))


@program("train_language", (2, 8), "GPT training step: 2 layers of 192, 64 tokens, AdamW, clipping", "optax")
def train_gpt(batch: int) -> Program:
    length, width = 64, 192

    def loss(w, tokens):
        x = blocks(w["blocks"], w["tokens"][tokens] + w["positions"], 6, causal(length))
        logits = layer_norm(w["norm"], x) @ w["tokens"].T
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    weights = {
        "tokens": f32(2000, width),
        "positions": f32(length, width),
        "blocks": [block_shapes(width)] * 2,
        "norm": norm_shapes(width),
    }
    return step_of(loss, weights, clipped_adamw(), (i32(batch, length),))


@program("train_language", (4,), "the same with recomputed activations (checkpointed blocks), LAMB", "optax")
def train_gpt_checkpointed(batch: int) -> Program:
    length, width = 48, 256

    def loss(w, tokens):
        x = w["tokens"][tokens]
        for layer in w["blocks"]:
            x = jax.checkpoint(lambda layer, x: blocks([layer], x, 4, causal(length)))(layer, x)
        return cross_entropy((x @ w["tokens"].T)[:, :-1], tokens[:, 1:])

    weights = {"tokens": f32(1000, width), "blocks": [block_shapes(width)] * 2}
    return step_of(loss, weights, optax.lamb(1e-3), (i32(batch, length),))


@program("train_language", (4,), "masked language model step: 2 layers of 128, 96 tokens, Adafactor", "optax")
def train_bert(batch: int) -> Program:
    length, width = 96, 128

    def loss(w, tokens, mask, labels):
        x = blocks(w["blocks"], w["tokens"][tokens] + w["positions"], 4, 0.0)
        losses = optax.softmax_cross_entropy_with_integer_labels(dense(w["head"], x), labels)
        hidden = (mask > 0).astype(jnp.float32)
        return (losses * hidden).sum() / (hidden.sum() + 1.0)

    weights = {
        "tokens": f32(2000, width),
        "positions": f32(length, width),
        "blocks": [block_shapes(width)] * 2,
        "head": dense_shapes(width, 2000),
    }
    given = (i32(batch, length), i32(batch, length), i32(batch, length))
    return step_of(loss, weights, optax.adafactor(1e-3), given)


@program("train_vision", (4,), "ViT training step: 36 patches, 2 layers of 192, label smoothing, Lion", "optax")
def train_vit(batch: int) -> Program:
    width = 192

    def loss(w, patches, labels):
        x = blocks(w["blocks"], dense(w["patches"], patches) + w["positions"], 3, 0.0)
        wanted = optax.smooth_labels(jax.nn.one_hot(labels, 100), 0.1)
        return optax.softmax_cross_entropy(dense(w["head"], layer_norm(w["norm"], x.mean(1))), wanted).mean()

    weights = {
        "patches": dense_shapes(192, width),
        "positions": f32(36, width),
        "blocks": [block_shapes(width)] * 2,
        "norm": norm_shapes(width),
        "head": dense_shapes(width, 100),
    }
    return step_of(loss, weights, optax.lion(1e-4), (f32(batch, 36, 192), i32(batch)))


@program("train_recurrent", (8,), "LSTM training step through 24 steps, Adagrad", "optax")
def train_lstm(batch: int) -> Program:
    width, length = 128, 24

    def loss(w, tokens):
        def step(state, x):
            hidden, cell = state
            i, f, g, o = jnp.split(dense(w["gates"], jnp.concatenate([x, hidden], -1)), 4, axis=-1)
            cell = jax.nn.sigmoid(f + 1.0) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zeros = jnp.zeros((batch, width))
        _, ys = jax.lax.scan(step, (zeros, zeros), w["tokens"][tokens].transpose(1, 0, 2))
        logits = dense(w["head"], ys.transpose(1, 0, 2))
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    weights = {"tokens": f32(500, width), "gates": dense_shapes(2 * width, 4 * width), "head": dense_shapes(width, 500)}
    return step_of(loss, weights, optax.adagrad(0.1), (i32(batch, length),))


@program("train_dense", (64, 256), "perceptron training step: 784-512-256-10, Nadam", "optax")
def train_mlp(batch: int) -> Program:
    def loss(w, images, labels):
        return cross_entropy(perceptron(w, images), labels)

    return step_of(loss, perceptron_shapes(784, 512, 256, 10), optax.nadam(1e-3), (f32(batch, 784), i32(batch)))


@program("train_dense", (128,), "PPO update of a policy and value network, clipped ratio, Adam", "optax")
def train_ppo(batch: int) -> Program:
    def loss(w, observations, actions, old, advantages, returns):
        h = jnp.tanh(dense(w["body2"], jnp.tanh(dense(w["body1"], observations))))
        log_policy = jax.nn.log_softmax(dense(w["policy"], h))
        chosen = jnp.take_along_axis(log_policy, actions[:, None], axis=-1)[:, 0]
        ratio = jnp.exp(jnp.clip(chosen - old, -5.0, 5.0))
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages).mean()
        value = jnp.square(dense(w["value"], h)[:, 0] - returns).mean()
        entropy = -(jnp.exp(log_policy) * log_policy).sum(-1).mean()
        return -gain + 0.5 * value - 0.01 * entropy

    weights = {
        "body1": dense_shapes(64, 256),
        "body2": dense_shapes(256, 256),
        "policy": dense_shapes(256, 18),
        "value": dense_shapes(256, 1),
    }
    given = (f32(batch, 64), i32(batch), f32(batch), f32(batch), f32(batch))
    return step_of(loss, weights, optax.adam(3e-4), given)


@program("train_dense", (64,), "contrastive step: two views, temperature, all pairs of the batch, LARS", "optax")
def train_contrastive(batch: int) -> Program:
    def loss(w, first, second):
        z = perceptron(w, jnp.concatenate([first, second]))
        z = z * jax.lax.rsqrt(jnp.square(z).sum(-1, keepdims=True) + 1e-6)
        scores = z @ z.T / 0.2 - 1e9 * jnp.eye(2 * batch)
        return cross_entropy(scores, (jnp.arange(2 * batch) + batch) % (2 * batch))

    return step_of(loss, perceptron_shapes(512, 512, 128), optax.lars(0.1), (f32(batch, 512), f32(batch, 512)))


@program(
    "train_recommendation",
    (256,),
    "factorisation machine training step with embedding gradients, FTRL-like Adagrad",
    "optax",
)
def train_factorisation(batch: int) -> Program:
    def loss(w, categories, clicks):
        v = w["factors"][categories]
        pairs = 0.5 * (jnp.square(v.sum(1)) - jnp.square(v).sum(1)).sum(-1)
        logits = w["weights"][categories].sum(1) + pairs + w["bias"]
        return optax.sigmoid_binary_cross_entropy(logits, (clicks > 0).astype(jnp.float32)).mean()

    weights = {"factors": f32(10000, 16), "weights": f32(10000), "bias": f32()}
    return step_of(loss, weights, optax.adagrad(0.05), (i32(batch, 24), i32(batch)))
