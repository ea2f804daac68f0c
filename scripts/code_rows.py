"""Rows of kernels with their machine code, as bench_kernel_rows writes them: what trees that see it learn from."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from train_kernels import balanced, host_of, kernels_of, names_of
from work_model import counts_of, features_of, fitted_weights

LEAST_CYCLES = 50  # of code that does more than to call a library
STATIC = ("objects", "functions", "code_bytes", "instructions", "loops", "loop_depth")  # without numbers of runs


def code_folder(code, dataset):
    """Where Makefile's kernel-code keeps the machine code of a data set's kernels."""
    return Path(code) / Path(dataset).name


class CodeRows:
    """Rows of a data set of default options whose code is there; with all_rows the others, too, their code NaN."""

    def __init__(self, folder, tool, code, database, all_rows=False):
        self.names = names_of(tool, "code")
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "rows.npz"
            subprocess.run([tool, folder, file, code_folder(code, folder), database], check=True)
            rows = dict(np.load(file))
        has_code = rows["has_code"] > 0
        here = has_code | all_rows
        rows["code"][~has_code] = np.nan
        self.has_code = has_code[here]
        self.host = host_of(folder)
        self.kernels, self.programs = np.array(kernels_of(rows))[here].T
        self.hlo, self.code = rows["features"][here], rows["code"][here]
        self.ns, self.analytical = rows["runtime_ns"][here], np.log(rows["analytical_ns"][here])
        # Libraries' kernels have no code; there the analytical estimate stands for cycles.
        cycles = self.code[:, self.names.index("code_cycles")]
        known = (self.code[:, self.names.index("code_objects")] > 0) & (cycles > np.log(LEAST_CYCLES))
        self.cycles = np.where(known, cycles, self.analytical)
        self.before = self.analytical
        self.ratio = np.where(self.has_code, self.cycles - self.analytical, np.nan)[:, None].astype(np.float32)
        columns = np.concatenate([self.hlo, np.nan_to_num(self.code)], axis=1)
        self.counts = counts_of(columns, [*names_of(tool), *self.names], names_of(tool, "work"))

    def features(self, which):
        """h: HLO, c: code, s: code without numbers of runs, x: cycles over the analytical estimate, b: `before`,
        w: the sum of work over the estimate and the shares of its terms (add_work)."""
        static = [i for i, name in enumerate(self.names) if name.removeprefix("code_") in STATIC]
        parts = {"h": self.hlo, "c": self.code, "s": self.code[:, static], "x": self.ratio}
        parts["b"] = (self.before - self.analytical)[:, None]
        if "w" in which:
            parts["w"] = self.of_work
        return np.concatenate([parts[letter] for letter in which], axis=1)

    def base(self, relative):
        return self.work if relative == "work" else getattr(self, relative)

    def set_work(self, weights):
        self.work, self.of_work = features_of(self.counts, weights, self.analytical)


def add_work(train, chosen, others=()):
    """Weights of work from the chosen rows of each set, machines balanced; the features that they make of all rows."""
    weight = np.concatenate(balanced([np.ones(here.sum()) for here in chosen]))
    counts = np.concatenate([rows.counts[here] for rows, here in zip(train, chosen, strict=True)])
    ns = np.concatenate([rows.ns[here] for rows, here in zip(train, chosen, strict=True)])
    weights = fitted_weights(counts, ns, weight)
    for rows in [*train, *others]:
        rows.set_work(weights)
    return weights
