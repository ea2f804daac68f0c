"""Hand-made features of the configurations of a TpuGraphs file (.npz), for the simple rankers of table.py, and these
rankers: a ridge regression and gradient-boosted trees of the logarithm of run times."""

from pathlib import Path

import numpy as np

OPCODES = {"convolution": 26, "dot": 34, "reshape": 75, "transpose": 98}  # src/features/opcodes.def
ELEMENTS, RANKS = 28, slice(21, 27)  # columns of a node: product and list of its dimensions
TREES = {
    "max_depth": 5,
    "learning_rate": 0.05,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "min_child_weight": 5,
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "nthread": 1,
}
ROUNDS = 300  # of the trees; nothing here was chosen by looking at test programs
PENALTIES = 10.0 ** np.arange(-2, 6)


class Graph:
    """A file's arrays: configurations [c, ...], log run times [c], and features [c, f]."""

    def __init__(self, path):
        data = dict(np.load(path))
        self.name = Path(path).stem
        self.tile = "config_feat" in data
        self.configurations = data["config_feat"] if self.tile else data["node_config_feat"]
        times = data["config_runtime"].astype(float)
        if self.tile:
            times = times / data["config_runtime_normalizers"]
        self.times = times
        self.changed = None if self.tile else (self.configurations >= 0).any(2).sum(1)
        self.features = tile_features(data) if self.tile else layout_features(data)

    def choose(self, index):
        """The same graph with only these configurations."""
        other = object.__new__(Graph)
        other.name, other.tile = self.name, self.tile
        other.configurations, other.times = self.configurations[index], self.times[index]
        other.changed = None if self.changed is None else self.changed[index]
        other.features = self.features[index]
        return other

    def distinct(self):
        """The first of equal configurations, with the least of their run times."""
        flat = self.configurations.reshape(len(self.times), -1)
        _, first, which = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        least = np.full(len(first), np.inf)
        np.minimum.at(least, which.ravel(), self.times)
        order = np.argsort(first)
        graph = self.choose(first[order])
        graph.times = least[order]
        return graph

    def targets(self):
        """Logarithms of run times less their mean, of variance 1: what a ranker learns of a program."""
        logs = np.log(self.times)
        return (logs - logs.mean()) / max(logs.std(), 1e-9)


def layout_features(data):
    """[configurations, 38]: how many nodes of each kind are changed, how large they are, and what becomes of them."""
    feat, ids = data["node_feat"], data["node_config_ids"]
    axes = data["node_config_feat"]  # [c, n, 18]: output, input, kernel
    elements = np.maximum(feat[ids, ELEMENTS], 1)
    opcode = data["node_opcode"][ids]
    changed = (axes >= 0).any(2)
    columns = [changed.sum(1), changed.mean(1), np.log1p(changed.sum(1))]
    weighted = changed * elements
    columns += [np.log1p(weighted.sum(1)), np.log1p(weighted.max(1)), weighted.sum(1) / elements.sum()]
    columns += [weighted.sum(1) / max(feat[:, ELEMENTS].sum(), 1)]
    for number in OPCODES.values():
        of_kind = opcode == number
        part = changed[:, of_kind]
        columns += [part.sum(1), np.log1p((part * elements[of_kind]).sum(1))]
    for first in (0, 6, 12):
        part = axes[:, :, first : first + 6]
        given = part[:, :, 0] >= 0
        rank = (part >= 0).sum(2)
        row_major = given & (part[:, :, 0] == rank - 1)
        descending = given & ((np.diff(part, axis=2) < 0) | (part[:, :, 1:] < 0)).all(2)
        for flag in (given, given & ~row_major, given & ~descending):
            columns += [flag.sum(1), np.log1p((flag * elements).sum(1))]
    disagree = (axes[:, :, 0] >= 0) & (axes[:, :, 6] >= 0) & (axes[:, :, 0] != axes[:, :, 6])
    columns += [disagree.sum(1), np.log1p((disagree * elements).sum(1))]
    size = [np.log1p(len(feat)), np.log1p(len(ids)), np.log1p(elements.sum())]
    columns += [np.full(len(axes), value) for value in size]
    return np.stack(columns, 1).astype(np.float32)


def tile_features(data):
    """[configurations, 60]: logarithms of the bounds, how the output divides by them, and the kernel's size."""
    bounds = np.log1p(np.maximum(data["config_feat"], 0))
    feat = data["node_feat"]
    sizes = np.log1p(np.sort(feat[:, RANKS].max(0))[::-1])
    whole = np.log1p(feat[:, ELEMENTS].max())
    kernel = np.concatenate([sizes, [whole, np.log1p(len(feat)), np.log1p(feat[:, ELEMENTS].sum())]])
    counts = np.stack([whole - bounds[:, 15], whole - bounds[:, 7], bounds[:, 15] + bounds[:, 7]], 1)
    squares = bounds**2
    return np.concatenate([bounds, squares, counts, np.tile(kernel, (len(bounds), 1))], 1).astype(np.float32)


class Ridge:
    """Linear regression with a penalty on squares, of features of mean 0 and variance 1; the penalty is chosen by
    leaving out groups of programs."""

    def __init__(self, rows, targets, groups, penalties=PENALTIES):
        self.mean, self.spread = rows.mean(0), np.maximum(rows.std(0), 1e-6)
        x = self._scaled(rows)
        errors = np.zeros(len(penalties))
        for fold in range(5):
            held = groups % 5 == fold
            if not held.any() or held.all():
                continue
            for i, penalty in enumerate(penalties):
                weights = self._solve(x[~held], targets[~held], penalty)
                errors[i] += ((x[held] @ weights - targets[held]) ** 2).sum()
        self.penalty = penalties[int(errors.argmin())]
        self.weights = self._solve(x, targets, self.penalty)

    def _scaled(self, rows):
        return np.hstack([(rows - self.mean) / self.spread, np.ones((len(rows), 1))]).astype(float)

    @staticmethod
    def _solve(x, targets, penalty):
        if len(x) < x.shape[1]:  # many columns: the dual form
            return x.T @ np.linalg.solve(x @ x.T + penalty * np.eye(len(x)), targets)
        return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ targets)

    def predict(self, rows):
        return self._scaled(rows) @ self.weights


def boosted(rows, targets, seed):
    """A function from rows to predictions, by gradient-boosted trees."""
    import xgboost

    model = xgboost.train(TREES | {"seed": seed}, xgboost.DMatrix(rows, targets), ROUNDS, verbose_eval=False)
    return lambda others: model.predict(xgboost.DMatrix(others))
