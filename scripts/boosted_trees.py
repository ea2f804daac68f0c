"""Trees that XGBoost trained, as the product reads and scores them (src/cost/trees.h)."""

import json
import struct
from pathlib import Path

import numpy as np


def flat(model, digits=5):
    """{"base", "trees": [{"feature", "value", "left"}, ...]}: children side by side, behind their parent."""
    dump = json.loads(model[: model.best_iteration + 1].save_raw("json"))["learner"]
    base = np.ravel(json.loads(dump["learner_model_param"]["base_score"]))[0]
    trees = []
    for tree in dump["gradient_booster"]["model"]["trees"]:
        feature, value, left = [-1], [0.0], [0]
        waiting = [(0, 0)]  # node of XGBoost's, of ours
        while waiting:
            theirs, ours = waiting.pop()
            if tree["left_children"][theirs] < 0:
                value[ours] = round(tree["split_conditions"][theirs], digits)
                continue
            feature[ours] = tree["split_indices"][theirs]
            # The shortest number that reads back the same.
            value[ours] = float(str(np.float32(tree["split_conditions"][theirs])))
            left[ours] = len(feature)
            for side in ("left_children", "right_children"):
                waiting.append((tree[side][theirs], len(feature)))
                feature.append(-1)
                value.append(0.0)
                left.append(0)
        trees.append({"feature": feature, "value": value, "left": left})
    return {"base": float(base), "trees": trees}


def leaves_of(flat_trees, features):
    """[rows, trees]: the leaf of each tree that a row falls into, by its number in the tree."""
    return np.stack([leaf_nodes(tree, features) for tree in flat_trees["trees"]], axis=1)


def leaf_nodes(tree, features):
    value = np.array(tree["value"], dtype=np.float32)
    feature, left = np.array(tree["feature"]), np.array(tree["left"])
    node = np.zeros(len(features), dtype=int)
    for _ in range(64):
        inner = feature[node] >= 0
        if not inner.any():
            break
        below = features[np.arange(len(features)), np.maximum(feature[node], 0)] < value[node]
        node = np.where(inner, left[node] + np.where(below, 0, 1), node)
    return node


def predicted(flat_trees, features):
    """As the product scores them."""
    total = np.full(len(features), flat_trees["base"])
    for tree in flat_trees["trees"]:
        total += np.array(tree["value"], dtype=np.float32)[leaf_nodes(tree, features)]
    return total


def read_trees(path: Path):
    """What write_trees() wrote, as flat() returns it, and "work": the weights of a sum of work, None without."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    types = {"I16": "<i2", "I32": "<i4", "F32": "<f4"}
    arrays = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            arrays[name] = np.frombuffer(content[8 + size + begin : 8 + size + end], dtype=types[about["dtype"]])
    ends = [*arrays["roots"][1:], len(arrays["value"])]
    trees = [
        {name: arrays[name][begin:end] for name in ("feature", "value", "left")}
        for begin, end in zip(arrays["roots"], ends, strict=True)
    ]
    return {"base": float(header["__metadata__"]["base"]), "trees": trees, "work": arrays.get("work")}


def write_trees(path: Path, flat_trees, metadata, more=()):
    """A file of src/cost/tree_model.h, in the format of safetensors; `more`: (name, float32 array) besides."""
    trees = flat_trees["trees"]
    sizes = [len(tree["feature"]) for tree in trees]
    arrays = {
        "feature": np.concatenate([tree["feature"] for tree in trees]).astype("<i2"),
        "left": np.concatenate([tree["left"] for tree in trees]).astype("<i4"),
        "roots": np.cumsum([0, *sizes[:-1]]).astype("<i4"),
        "value": np.concatenate([tree["value"] for tree in trees]).astype("<f4"),
        **dict(more),
    }
    types = {"<i2": "I16", "<i4": "I32", "<f4": "F32"}
    header = {"__metadata__": metadata | {"format": "hone-trees-1", "base": repr(flat_trees["base"])}}
    offset = 0
    for name, array in arrays.items():
        kind = types[array.dtype.newbyteorder("<").str]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))
    partial.rename(path)
