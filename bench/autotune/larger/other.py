"""A recurrent network and a recommender in JAX."""

from larger.sizes import DLRM, LSTM
from program_parts import Program, dense, dense_shapes, f32, i32

# isort: split
import jax
import jax.numpy as jnp


def lstm() -> Program:
    def run(w, xs):
        def step(layer, state, x):
            hidden, cell = state
            gates = x @ layer["input"] + hidden @ layer["hidden"] + layer["bias"]
            i, f, g, o = jnp.split(gates, 4, axis=-1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zeros = jnp.zeros((LSTM.batch, LSTM.width))
        for layer in w["layers"]:
            _, xs = jax.lax.scan(lambda state, x, layer=layer: step(layer, state, x), (zeros, zeros), xs)
        return dense(w["head"], xs[-1])

    def shapes(inputs):
        gates = 4 * LSTM.width
        return {"input": f32(inputs, gates), "hidden": f32(LSTM.width, gates), "bias": f32(gates)}

    layers = [shapes(LSTM.inputs)] + [shapes(LSTM.width) for _ in range(LSTM.layers - 1)]
    weights = {"layers": layers, "head": dense_shapes(LSTM.width, 64)}
    return Program(run, weights, (f32(LSTM.length, LSTM.batch, LSTM.inputs),))


def dlrm() -> Program:
    """Naumov et al. 2019: dense features through a perceptron, embeddings, products of all pairs, a perceptron."""

    def perceptron(layers, x):
        for layer in layers:
            x = jax.nn.relu(dense(layer, x))
        return x

    def run(w, features, indices):
        x = perceptron(w["bottom"], features)
        vectors = [x] + [table[indices[:, i]] for i, table in enumerate(w["tables"])]
        stacked = jnp.stack(vectors, axis=1)
        products = jnp.einsum("bid,bjd->bij", stacked, stacked)
        rows, columns = jnp.tril_indices(len(vectors), -1)
        h = perceptron(w["top"], jnp.concatenate([x, products[:, rows, columns]], axis=-1))
        return jax.nn.sigmoid(dense(w["last"], h))

    def shapes(sizes):
        return [dense_shapes(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]

    pairs = (DLRM.tables + 1) * DLRM.tables // 2
    width = DLRM.bottom[-1]
    weights = {
        "bottom": shapes(DLRM.bottom),
        "tables": [f32(DLRM.rows, width) for _ in range(DLRM.tables)],
        "top": shapes((width + pairs, *DLRM.top)),
        "last": dense_shapes(DLRM.top[-1], 1),
    }
    return Program(run, weights, (f32(DLRM.batch, DLRM.bottom[0]), i32(DLRM.batch, DLRM.tables)))
