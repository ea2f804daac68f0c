"""Graph networks on given edge lists, and recommendation models with embedding tables."""

import jax
import jax.numpy as jnp
import keras
from keras import layers
from program_parts import Program, dense, dense_shapes, f32, i32

from .keras_models import from_model
from .registry import program

NODES, EDGES = 1024, 6144


def segment_softmax(scores, segments, count: int):
    top = jax.ops.segment_max(scores, segments, count)
    shifted = jnp.exp(scores - jnp.where(jnp.isfinite(top), top, 0.0)[segments])
    return shifted / (jax.ops.segment_sum(shifted, segments, count)[segments] + 1e-9)


@program("graph", (1,), "graph convolution network, 3 layers, 1024 nodes, 6144 edges, segment sums")
def gcn(batch: int) -> Program:
    def run(w, x, sources, targets):
        degree = jax.ops.segment_sum(jnp.ones(EDGES), targets, NODES) + 1.0
        norm = jax.lax.rsqrt(degree)
        for layer in w:
            h = (x @ layer["kernel"]) * norm[:, None]
            h = (jax.ops.segment_sum(h[sources], targets, NODES) + h) * norm[:, None]
            x = jax.nn.relu(h + layer["bias"])
        return x

    weights = [dense_shapes(64, 128), dense_shapes(128, 128), dense_shapes(128, 40)]
    return Program(run, weights, (f32(NODES, 64), i32(EDGES), i32(EDGES)))


@program("graph", (1,), "GraphSAGE with mean and max aggregation and normalised rows, 3 layers")
def graph_sage(batch: int) -> Program:
    def run(w, x, sources, targets):
        degree = jnp.maximum(jax.ops.segment_sum(jnp.ones(EDGES), targets, NODES), 1.0)
        for layer in w:
            messages = jax.nn.relu(dense(layer["message"], x))[sources]
            mean = jax.ops.segment_sum(messages, targets, NODES) / degree[:, None]
            largest = jnp.maximum(jax.ops.segment_max(messages, targets, NODES), 0.0)
            x = jax.nn.relu(dense(layer["out"], jnp.concatenate([x, mean, largest], axis=-1)))
            x = x * jax.lax.rsqrt(jnp.square(x).sum(-1, keepdims=True) + 1e-12)
        return x

    layer = {"message": dense_shapes(96, 96), "out": dense_shapes(3 * 96, 96)}
    return Program(run, [layer] * 3, (f32(NODES, 96), i32(EDGES), i32(EDGES)))


@program("graph", (1,), "graph attention network, 2 layers of 4 heads, segment softmax")
def gat(batch: int) -> Program:
    heads, size = 4, 32

    def run(w, x, sources, targets):
        for layer in w:
            h = (x @ layer["kernel"]).reshape(NODES, heads, size)
            scores = (h * layer["from"]).sum(-1)[sources] + (h * layer["to"]).sum(-1)[targets]
            weights = segment_softmax(jax.nn.leaky_relu(scores, 0.2), targets, NODES)
            x = jax.ops.segment_sum(weights[..., None] * h[sources], targets, NODES).reshape(NODES, heads * size)
            x = jax.nn.elu(x)
        return x

    layer = {"kernel": f32(128, heads * size), "from": f32(heads, size), "to": f32(heads, size)}
    return Program(run, [layer] * 2, (f32(NODES, 128), i32(EDGES), i32(EDGES)))


@program("graph", (8, 32), "SchNet: continuous filter convolutions over all pairs of 24 atoms, 3 interactions")
def schnet(batch: int) -> Program:
    width, centres = 64, 32

    def run(w, atoms, positions):
        x = w["atoms"][atoms]
        offsets = positions[:, :, None] - positions[:, None, :]
        distances = jnp.sqrt(jnp.square(offsets).sum(-1) + 1e-6)  # [batch, atoms, atoms]
        basis = jnp.exp(-10.0 * jnp.square(distances[..., None] - jnp.linspace(0.0, 5.0, centres)))
        cutoff = 0.5 * (jnp.cos(jnp.pi * jnp.minimum(distances / 5.0, 1.0)) + 1.0)
        for layer in w["layers"]:
            filters = dense(layer["filter2"], jax.nn.softplus(dense(layer["filter1"], basis))) * cutoff[..., None]
            h = jnp.einsum("bijf,bjf->bif", filters, x @ layer["in"])
            x = x + dense(layer["out2"], jax.nn.softplus(dense(layer["out1"], h)))
        return dense(w["energy"], jax.nn.softplus(x)).sum((1, 2))

    layer = {
        "filter1": dense_shapes(centres, width),
        "filter2": dense_shapes(width, width),
        "in": f32(width, width),
        "out1": dense_shapes(width, width),
        "out2": dense_shapes(width, width),
    }
    weights = {"atoms": f32(100, width), "layers": [layer] * 3, "energy": dense_shapes(width, 1)}
    return Program(run, weights, (i32(batch, 24), f32(batch, 24, 3)))


@program("graph", (1,), "E(n)-equivariant network: messages move features and positions, 3 layers")
def egnn(batch: int) -> Program:
    nodes, edges, width = 512, 4096, 64

    def run(w, x, positions, sources, targets):
        for layer in w:
            offset = positions[targets] - positions[sources]
            distance = jnp.square(offset).sum(-1, keepdims=True)
            m = jnp.concatenate([x[targets], x[sources], distance], axis=-1)
            m = jax.nn.silu(dense(layer["edge2"], jax.nn.silu(dense(layer["edge1"], m))))
            shift = offset / (1.0 + jnp.sqrt(distance + 1e-8)) * dense(layer["position"], m)
            positions = positions + jax.ops.segment_sum(shift, targets, nodes) / (edges / nodes)
            gathered = jnp.concatenate([x, jax.ops.segment_sum(m, targets, nodes)], axis=-1)
            x = x + dense(layer["node2"], jax.nn.silu(dense(layer["node1"], gathered)))
        return x, positions

    layer = {
        "edge1": dense_shapes(2 * width + 1, width),
        "edge2": dense_shapes(width, width),
        "position": dense_shapes(width, 1),
        "node1": dense_shapes(2 * width, width),
        "node2": dense_shapes(width, width),
    }
    return Program(run, [layer] * 3, (f32(nodes, width), f32(nodes, 3), i32(edges), i32(edges)))


@program("graph", (4, 16), "gated graph network on dense 64x64 adjacency, 4 GRU steps")
def gated_graph(batch: int) -> Program:
    width = 96

    def run(w, x, adjacency):
        adjacency = jax.nn.sigmoid(adjacency)
        adjacency = adjacency / adjacency.sum(-1, keepdims=True)
        for _ in range(4):
            m = jnp.einsum("bij,bjf->bif", adjacency, dense(w["message"], x))
            r, u = jnp.split(jax.nn.sigmoid(dense(w["gates"], jnp.concatenate([x, m], -1))), 2, axis=-1)
            candidate = jnp.tanh(dense(w["candidate"], jnp.concatenate([r * x, m], -1)))
            x = u * x + (1 - u) * candidate
        return jax.nn.softmax(dense(w["out"], x.max(1)))

    weights = {
        "message": dense_shapes(width, width),
        "gates": dense_shapes(2 * width, 2 * width),
        "candidate": dense_shapes(2 * width, width),
        "out": dense_shapes(width, 10),
    }
    return Program(run, weights, (f32(batch, 64, width), f32(batch, 64, 64)))


def perceptron_shapes(*widths: int) -> list:
    return [dense_shapes(a, b) for a, b in zip(widths[:-1], widths[1:], strict=True)]


def perceptron(w, x, last=None):
    for layer in w[:-1]:
        x = jax.nn.relu(dense(layer, x))
    x = dense(w[-1], x)
    return last(x) if last else x


@program("recommendation", (64, 512), "DLRM: 12 tables of 5000 x 32 with bags of 4, pairwise interactions")
def dlrm(batch: int) -> Program:
    tables, size = 12, 32

    def run(w, numbers, bags):
        bottom = perceptron(w["bottom"], numbers, jax.nn.relu)
        gathered = [table[bags[:, k]].sum(1) for k, table in enumerate(w["tables"])]
        features = jnp.stack([bottom, *gathered], axis=1)  # [batch, tables + 1, size]
        products = jnp.einsum("bif,bjf->bij", features, features)
        rows, columns = jnp.tril_indices(tables + 1, -1)
        x = jnp.concatenate([bottom, products[:, rows, columns]], axis=-1)
        return perceptron(w["top"], x, jax.nn.sigmoid)

    weights = {
        "bottom": perceptron_shapes(13, 128, 64, size),
        "tables": [f32(5000, size)] * tables,
        "top": perceptron_shapes(size + tables * (tables + 1) // 2, 256, 128, 1),
    }
    return Program(run, weights, (f32(batch, 13), i32(batch, tables, 4)))


@program("recommendation", (128, 1024), "deep and cross network v2: 3 low-rank crosses beside a perceptron")
def deep_cross(batch: int) -> Program:
    width = 13 + 16 * 16

    def run(w, numbers, categories):
        embedded = w["table"][categories].reshape(batch, -1)
        x0 = x = jnp.concatenate([jnp.log1p(jnp.abs(numbers)), embedded], axis=-1)
        for layer in w["cross"]:
            x = x0 * (x @ layer["down"] @ layer["up"] + layer["bias"]) + x
        deep = perceptron(w["deep"], x0, jax.nn.relu)
        return jax.nn.sigmoid(dense(w["out"], jnp.concatenate([x, deep], axis=-1)))

    cross = {"down": f32(width, 32), "up": f32(32, width), "bias": f32(width)}
    weights = {
        "table": f32(20000, 16),
        "cross": [cross] * 3,
        "deep": perceptron_shapes(width, 256, 128),
        "out": dense_shapes(width + 128, 1),
    }
    return Program(run, weights, (f32(batch, 13), i32(batch, 16)))


@program("recommendation", (32, 256), "deep interest network: attention of a candidate over 32 past items")
def interest_network(batch: int) -> Program:
    size = 32

    def run(w, candidate, history, mask):
        item, past = w["items"][candidate], w["items"][history]
        item = jnp.broadcast_to(item[:, None], past.shape)
        pair = jnp.concatenate([item, past, item - past, item * past], axis=-1)
        scores = perceptron(w["attention"], pair)[..., 0]
        weights = jax.nn.softmax(jnp.where(mask > 0, scores, -1e9), axis=-1)
        interest = jnp.einsum("bh,bhf->bf", weights, past)
        return perceptron(w["top"], jnp.concatenate([interest, item[:, 0]], axis=-1), jax.nn.sigmoid)

    weights = {
        "items": f32(20000, size),
        "attention": perceptron_shapes(4 * size, 64, 1),
        "top": perceptron_shapes(2 * size, 128, 64, 1),
    }
    return Program(run, weights, (i32(batch), i32(batch, 32), i32(batch, 32)))


@program("recommendation", (64,), "two-tower retrieval: user and item towers, in-batch softmax scores", "keras")
def two_tower(batch: int) -> Program:
    def tower(inputs):
        x = layers.Flatten()(layers.Embedding(10000, 32)(inputs))
        x = layers.Dense(64)(layers.Dense(256, activation="relu")(x))
        return layers.UnitNormalization()(x)

    users, items = keras.Input((8,), dtype="int32"), keras.Input((6,), dtype="int32")
    scores = keras.ops.matmul(tower(users), keras.ops.transpose(tower(items))) * 20.0
    return from_model(keras.Model((users, items), keras.ops.log_softmax(scores)), batch)


@program("recommendation", (64, 256), "autoencoding recommender over 4000 items, SELU layers")
def auto_rec(batch: int) -> Program:
    def run(w, ratings):
        x = ratings * jax.lax.rsqrt(jnp.square(ratings).sum(-1, keepdims=True) + 1e-6)
        for layer in w[:-1]:
            x = jax.nn.selu(dense(layer, x))
        return jax.nn.log_softmax(dense(w[-1], x))

    return Program(run, perceptron_shapes(4000, 256, 64, 256, 4000), (f32(batch, 4000),))
