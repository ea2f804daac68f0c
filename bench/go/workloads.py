#!/usr/bin/env python3
"""Writes the workloads of the graph policy as StableHLO text: FOLDER/NAME.mlir, one file each.

The recurrent, attention and WaveNet networks are written here in JAX as one training step each (loss and gradients),
loops over time unrolled so that a placement can cut through them; weights are parameters, known by shape only. Sizes
are our own: the paper's are not public. The convolutional networks and BERT are the project's own programs
(data/programs), forward only. Larger ones are whole training steps from the corpus, if it exists. The largest of all is
available only as a graph of the TpuGraphs data set (tpu_graph.py).
"""

import argparse
import gzip
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
os.environ["JAX_PLATFORMS"] = "cpu"

# Name -> program of data/programs: an Inception-like network, ResNet, an AmoebaNet-like one, BERT.
PROGRAMS = {
    "inception_v3": "inception_v3_b4",
    "inception_resnet": "inception_resnet_v2_b1",
    "resnet50": "resnet50_b4",
    "nasnet": "nasnet_mobile_b1",
    "bert": "bert_small_b4",
}

# Name -> file of the corpus: training steps as JAX passes them to XLA, thousands of operations each.
CORPUS = Path(os.environ.get("HONE_CORPUS", ROOT.parent / "shared" / "corpus"))
ZOO = "ROCm+xla/perf_tools/hlo_eval_tools/vision_diffusion"
CORPUS_PROGRAMS = {
    "corpus_vit": f"{ZOO}/vit/training/module_2323.jit_train_step.before_optimizations.txt",
    "corpus_dit": f"{ZOO}/dit/training/module_0268.jit_train_step.before_optimizations.txt",
    "corpus_efficientnet": f"{ZOO}/efficientnet/training/module_1055.jit_train_step.before_optimizations.txt",
}
# Programs for which XLA:CPU searches tiles for longer than a worker's limit are lowered without tiles. This changes
# XLA's code, and some copies in the task graph.
WITHOUT_TILES = {"corpus_efficientnet"}
NO_TILES_FLAGS = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter=true"
# Name -> .npz of TpuGraphs' layout collection: a pre-training step of BERT-large, by its shapes (24 layers of width
# 1024, 30,522 words, 32 x 128 of them, two moments a weight), as TPUs had it at layout assignment.
CORPUS_GRAPHS = {
    "corpus_bert": "timxor+predict_ai_model_runtime_kaggle/data/npz/layout/nlp/default/test/"
    "3a0c5517a87df8d82fd637b83298a3ba.npz",
}


def f32(*dims):
    import jax
    import jax.numpy as jnp

    return jax.ShapeDtypeStruct(dims, jnp.float32)


def lstm_weights(inputs: int, width: int) -> dict:
    return {"kernel": f32(inputs + width, 4 * width), "bias": f32(4 * width)}


def lstm_cell(w, x, hidden, cell):
    import jax
    import jax.numpy as jnp

    z = jnp.concatenate([x, hidden], axis=-1) @ w["kernel"] + w["bias"]
    i, f, g, o = jnp.split(z, 4, axis=-1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def run_lstm(layers, xs):
    """Outputs of the last layer for a list of inputs, all steps unrolled."""
    import jax.numpy as jnp

    for w in layers:
        width = w["bias"].shape[0] // 4
        hidden = cell = jnp.zeros((xs[0].shape[0], width))
        out = []
        for x in xs:
            hidden, cell = lstm_cell(w, x, hidden, cell)
            out.append(hidden)
        xs = out
    return xs


def rnnlm(layers: int, steps: int = 8, batch: int = 64, width: int = 1024, vocabulary: int = 8192):
    import jax
    import jax.numpy as jnp

    def loss(w, xs, targets):
        hidden = run_lstm(w["layers"], [xs[t] for t in range(steps)])
        total = 0.0
        for t in range(steps):
            total += -(jax.nn.log_softmax(hidden[t] @ w["out"]) * targets[t]).sum(-1).mean()
        return total / jnp.float32(steps)

    weights = {"layers": [lstm_weights(width, width)] * layers, "out": f32(width, vocabulary)}
    return loss, weights, (f32(steps, batch, width), f32(steps, batch, vocabulary))


def gnmt(layers: int, steps: int = 6, batch: int = 64, width: int = 1024, vocabulary: int = 8192):
    """Encoder with a bidirectional first layer, decoder with attention over the encoder's last layer, residuals."""
    import jax
    import jax.numpy as jnp

    def stack(layers_w, xs):
        for w in layers_w:
            ys = run_lstm([w], xs)
            xs = [x + y for x, y in zip(xs, ys, strict=True)]
        return xs

    def loss(w, source, target, labels):
        xs = [source[t] for t in range(steps)]
        both = [
            jnp.concatenate(pair, -1)
            for pair in zip(run_lstm([w["forward"]], xs), run_lstm([w["backward"]], xs[::-1])[::-1], strict=True)
        ]
        encoded = stack(w["encoder"], [b @ w["join"] for b in both])
        keys = jnp.stack(encoded, 1)
        hidden = run_lstm([w["first"]], [target[t] for t in range(steps)])
        seen = []
        for h in hidden:
            share = jax.nn.softmax(jnp.einsum("bw,btw->bt", h @ w["query"], keys))
            seen.append(h + jnp.einsum("bt,btw->bw", share, keys))
        decoded = stack(w["decoder"], seen)
        total = 0.0
        for t in range(steps):
            total += -(jax.nn.log_softmax(decoded[t] @ w["out"]) * labels[t]).sum(-1).mean()
        return total

    lstm = lstm_weights(width, width)
    weights = {
        "forward": lstm,
        "backward": lstm,
        "join": f32(2 * width, width),
        "encoder": [lstm] * (layers - 1),
        "first": lstm,
        "query": f32(width, width),
        "decoder": [lstm] * (layers - 1),
        "out": f32(width, vocabulary),
    }
    inputs = (f32(steps, batch, width), f32(steps, batch, width), f32(steps, batch, vocabulary))
    return loss, weights, inputs


def transformer_xl(
    layers: int, segments: int = 3, batch: int = 16, length: int = 128, width: int = 512, heads: int = 8
):
    """Segments in sequence; a layer attends to the previous segment, without gradient, and to its own."""
    import jax
    import jax.numpy as jnp

    def norm(x):
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def split(x):
        return x.reshape(batch, -1, heads, width // heads).transpose(0, 2, 1, 3)

    def layer(w, x, memory):
        seen = x if memory is None else jnp.concatenate([memory, x], 1)
        q, k, v = split(x @ w["query"]), split(seen @ w["key"]), split(seen @ w["value"])
        distance = split(w["distance"][None, : seen.shape[1]] * jnp.ones((batch, 1, 1)))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) + jnp.einsum("bhqd,bhkd->bhqk", q, distance)
        y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores / 8.0), v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(x + y @ w["out"])
        return norm(x + jax.nn.relu(x @ w["wide"]) @ w["narrow"])

    def loss(w, inputs, targets):
        memory, total = [None] * layers, 0.0
        for s in range(segments):
            x = inputs[s]
            for i in range(layers):
                before, memory[i] = memory[i], jax.lax.stop_gradient(x)
                x = layer(w["layers"][i], x, before)
            total += jnp.square(x @ w["head"] - targets[s]).mean()
        return total

    square = f32(width, width)
    one = {
        "query": square,
        "key": square,
        "value": square,
        "out": square,
        "distance": f32(2 * length, width),
        "wide": f32(width, 4 * width),
        "narrow": f32(4 * width, width),
    }
    inputs = (f32(segments, batch, length, width), f32(segments, batch, length, width))
    return loss, {"layers": [one] * layers, "head": square}, inputs


def wavenet(stacks: int, layers: int, batch: int = 8, samples: int = 2048, channels: int = 128):
    """Stacks of dilated causal convolutions with gates, residuals and skips (van den Oord et al. 2016)."""
    import jax
    import jax.numpy as jnp

    dilations = [2 ** (k % 9) for k in range(layers)] * stacks

    def causal(x, kernel, dilation):
        pad = (kernel.shape[0] - 1) * dilation
        return jax.lax.conv_general_dilated(
            x, kernel, (1,), [(pad, 0)], rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC")
        )

    def loss(w, x, targets):
        x, skips = causal(x, w["first"], 1), 0.0
        for one, dilation in zip(w["layers"], dilations, strict=True):
            z = jnp.tanh(causal(x, one["signal"], dilation)) * jax.nn.sigmoid(causal(x, one["gate"], dilation))
            skips = skips + z @ one["skip"]
            x = x + z @ one["residual"]
        return jnp.square(jax.nn.relu(jax.nn.relu(skips) @ w["out1"]) @ w["out2"] - targets).mean()

    conv = f32(2, channels, channels)
    square = f32(channels, channels)
    one = {"signal": conv, "gate": conv, "skip": square, "residual": square}
    weights = {
        "first": f32(2, 64, channels),
        "layers": [one] * len(dilations),
        "out1": square,
        "out2": f32(channels, 256),
    }
    return loss, weights, (f32(batch, samples, 64), f32(batch, samples, 256))


# Name -> (maker of loss, weights, inputs). The number of devices the paper uses stands in tables.py.
NETWORKS = {
    "rnnlm2": lambda: rnnlm(2),
    "rnnlm4": lambda: rnnlm(4),
    "rnnlm8": lambda: rnnlm(8),
    "gnmt2": lambda: gnmt(2),
    "gnmt4": lambda: gnmt(4),
    "gnmt8": lambda: gnmt(8),
    "transformer_xl2": lambda: transformer_xl(2),
    "transformer_xl4": lambda: transformer_xl(4),
    "transformer_xl8": lambda: transformer_xl(8),
    "wavenet2x18": lambda: wavenet(2, 18),
    "wavenet4x36": lambda: wavenet(4, 36),
}


def text_of(name: str) -> str:
    """StableHLO text of one training step of a network."""
    import jax

    loss, weights, inputs = NETWORKS[name]()
    step = jax.value_and_grad(loss)
    return jax.jit(lambda w, *x: step(w, *x), keep_unused=True).lower(weights, *inputs).as_text()


def export(name: str, folder: Path) -> Path:
    """Writes one workload if its file does not exist; returns the file. Files of the corpus are not copied."""
    if name in CORPUS_PROGRAMS:
        return CORPUS / CORPUS_PROGRAMS[name]
    path = folder / f"{name}.mlir"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if name in PROGRAMS:
        source = ROOT / "data" / "programs" / f"{PROGRAMS[name]}.mlir.gz"
        text = gzip.decompress(source.read_bytes()).decode()
    else:
        text = text_of(name)
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.rename(path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "go" / "workloads")
    parser.add_argument("names", nargs="*", help="workloads to write (default: all)")
    options = parser.parse_args()
    for name in options.names or [*NETWORKS, *PROGRAMS]:
        if name not in NETWORKS and name not in PROGRAMS and name not in CORPUS_PROGRAMS:
            print(f"error: no such workload: {name}", file=sys.stderr)
            return 2
        path = export(name, options.out)
        print(f"{name}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
