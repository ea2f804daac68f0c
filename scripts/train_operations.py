#!/usr/bin/env python3
"""Trains the model of operations (src/cost/operation_ranker.h) on rows of bench_operation_rows, and says how good it is
on operations that it was not trained on.

    scripts/train_operations.py ROWS.jsonl [ROWS.jsonl ...] --out data/models/operations.json

Each operation is in one of three parts by a hash of its key: training (70 %), the check that ends the training (15 %),
test (15 %). The models are then trained on the first two, and their lower bounds corrected by the errors that models of
four fifths of these operations make on the last fifth. The tables compare on the test part what the choices of the
model gain with those of rules, for all operations, for each instruction set and for each family."""

import argparse
import collections
import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import xgboost
from boosted_trees import flat, predicted

QUANTILES = {"low": 0.1, "middle": 0.5, "high": 0.9}
SLOWEST, FASTEST = math.log(1 / 8), math.log(128)  # ratios beyond are as these
UNKNOWN = {"crashed", "timed_out"}  # says nothing of the form
LEAST_GAIN = math.log(1.03)  # of a choice without measuring
LEAST_CALIBRATED = 40  # operations of a family, a form and a machine class
# Nothing is sure of operations with less arithmetic than all but this share of those that calibrated the bound: some
# programs have operations far smaller than those that are drawn.
SMALLEST = 0.02
FOLDS = 5
MOST_TREES = 700
# Families with thousands of rows have trees of their own, trained on their rows alone, which may be less deep; those of
# all others are trained on all rows.
MANY_ROWS = {"bf16-dot", "convolution", "convolution-of-other-types", "strided-convolution"}
OF_MANY_ROWS = {"max_depth": 8, "learning_rate": 0.06, "min_child_weight": 4, "colsample_bytree": 0.6}
OF_ALL_ROWS = {"max_depth": 8, "learning_rate": 0.08, "min_child_weight": 2, "colsample_bytree": 0.8}
SETTINGS = {
    "subsample": 0.8,
    "objective": "reg:quantileerror",
    "nthread": 1,
}


def place_of(key, many):
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % many


def part_of(key):
    """Of a row's operation, whatever the machine and the form of its weights."""
    place = place_of(key, 100)
    return "train" if place < 70 else "calibration" if place < 85 else "test"


def operation_family(row):
    return row["family"].split(" ")[0]


def read_rows(tool, paths):
    rows = []
    for path in paths:
        encoded = subprocess.run([tool, "encode", path], check=True, capture_output=True, text=True).stdout
        rows += [json.loads(line) for line in encoded.splitlines()]
    kept = [row for row in rows if row["outcome"] not in UNKNOWN]
    right = [row for row in kept if row["outcome"] == "ok" and row["ratio"] > 0]
    print(f"{len(rows)} rows, {len(right)} of them measured and right", file=sys.stderr)
    for row in kept:
        row["gain"] = SLOWEST  # a form that is refused is as good as a slow one
    for row in right:
        row["gain"] = min(FASTEST, max(SLOWEST, math.log(row["ratio"])))
    for row in kept:
        row["part"] = part_of(row["operation"])
    return kept


def matrix(rows):
    return np.array([row["features"] for row in rows], dtype=np.float32)


def gains(rows):
    return np.array([row["gain"] for row in rows])


def weights(rows):
    """Every operation counts the same, however many forms it has."""
    count = collections.Counter((row["operation"], row["constant"], row["class"]) for row in rows)
    return np.array([1 / count[row["operation"], row["constant"], row["class"]] for row in rows])


def matrix_of(rows):
    """Features that are the same in all rows are not drawn for trees."""
    values = matrix(rows)
    drawn = (values != values[0]).any(axis=0).astype(float)
    return xgboost.DMatrix(values, gains(rows), weight=weights(rows), feature_weights=drawn)


def boost(rows, settings, quantile, trees, **options):
    settings = SETTINGS | settings | {"quantile_alpha": quantile}
    return xgboost.train(settings, matrix_of(rows), trees, verbose_eval=False, **options)


def train(parts, settings, quantile):
    """A model of the first two parts, with as many trees as are best for one of the first on the second."""
    checked = {"evals": [(matrix_of(parts["calibration"]), "calibration")], "early_stopping_rounds": 60}
    first = boost(parts["train"], settings, quantile, MOST_TREES, **checked)
    model = boost(parts["train"] + parts["calibration"], settings, quantile, first.best_iteration + 1)
    model.best_iteration = first.best_iteration
    return model


class Groups:
    """Of the families of MANY_ROWS and of all others: models by quantile, XGBoost's and as the product scores them."""

    def __init__(self, parts, seed):
        own = {name: [row for row in rows if operation_family(row) in MANY_ROWS] for name, rows in parts.items()}
        self.parts = (own, parts)
        self.settings = [settings | {"seed": seed} for settings in (OF_MANY_ROWS, OF_ALL_ROWS)]
        self.models = [
            {name: train(p, settings, q) for name, q in QUANTILES.items()}
            for p, settings in zip(self.parts, self.settings, strict=True)
        ]
        self.trees = [{name: flat(model) for name, model in models.items()} for models in self.models]

    def scored(self, quantile):
        return scored_by([(MANY_ROWS, self.trees[0][quantile]), (set(), self.trees[1][quantile])])

    def without(self, fold):
        """Lower bounds of rows by models that did not see the operations of this fold."""
        models = []
        for parts, settings, trained in zip(self.parts, self.settings, self.models, strict=True):
            rows = [row for row in parts["train"] + parts["calibration"] if fold_of(row) != fold]
            models.append(boost(rows, settings, QUANTILES["low"], trained["low"].best_iteration + 1))
        return lambda rows: by_family(
            rows, [(MANY_ROWS, models[0]), (set(), models[1])], lambda m, some: m.predict(xgboost.DMatrix(matrix(some)))
        )

    def check(self, rows):
        for models, trees in zip(self.models, self.trees, strict=True):
            for name, model in models.items():
                theirs = model.predict(xgboost.DMatrix(matrix(rows)))
                difference = np.abs(theirs - predicted(trees[name], matrix(rows))).max()
                assert difference < 0.01, "the trees differ from XGBoost's"

    def json(self):
        families = (sorted(MANY_ROWS), [])
        return [{"families": f, **trees} for f, trees in zip(families, self.trees, strict=True)]


def fold_of(row):
    return place_of("fold " + row["operation"], FOLDS)


def by_family(rows, groups, predict):
    """`groups`: pairs of families (all where empty) and a model; the first that has the family of a row predicts it."""
    found = np.full(len(rows), np.nan)
    for families, model in groups:
        at = [
            i
            for i, row in enumerate(rows)
            if np.isnan(found[i]) and (not families or operation_family(row) in families)
        ]
        if at:
            found[at] = predict(model, [rows[i] for i in at])
    return found


def scored_by(groups, columns=None):
    """As the product scores them. `columns`: of the features, those that the trees were trained with; all if None."""
    select = slice(None) if columns is None else columns
    return lambda rows: by_family(rows, groups, lambda trees, some: predicted(trees, matrix(some)[:, select]))


def by_operation(rows):
    """The forms of each operation and storage of its weights, in the order of the list. Of weights that are not
    declared only those forms were measured for which it makes a difference: the others are as with declared ones."""
    groups, same = collections.defaultdict(list), collections.defaultdict(dict)
    for i, row in enumerate(rows):
        key = row["operation"], row["constant"], row["class"]
        groups[(*key, row.get("declared", True))].append(i)
        if row.get("declared", True):
            same[key][row["form"]] = i
    for key, group in groups.items():
        if not key[-1] and key[:-1] in same:
            own = {rows[i]["form"]: i for i in group}
            group[:] = [own.get(form, i) for form, i in same[key[:-1]].items()]
    return groups


def geometric(values):
    return math.exp(np.mean(values)) if len(values) else float("nan")


def choices(rows, low, middle):
    """What each rule gains on these rows, XLA's own form where the rule has none: a logarithm for each operation."""
    found = collections.defaultdict(list)
    for group in by_operation(rows).values():
        gain = [rows[i]["gain"] for i in group]
        order = sorted(range(len(group)), key=lambda j: -middle[group[j]])
        found["best of all forms"].append(max(0, *gain))
        found["model, without measuring"].append(gain[order[0]] if middle[group[order[0]]] > 0 else 0)
        sure = [j for j in order if low[group[j]] > LEAST_GAIN]
        found["model, lower bound above 1.03"].append(gain[sure[0]] if sure else 0)
        for n in (1, 2):
            found[f"model, {n} measured"].append(max(0, *[gain[j] for j in order[:n]]))
            found[f"order of the list, {n} measured"].append(max(0, *gain[:n]))
        found["always the first of the list"].append(gain[0])
    return found


RULES = (
    "best of all forms",
    "model, 1 measured",
    "order of the list, 1 measured",
    "model, 2 measured",
    "order of the list, 2 measured",
    "model, without measuring",
    "model, lower bound above 1.03",
    "always the first of the list",
)


def bounds_of(rows, low, bounds):
    """`bounds`: corrections and least arithmetic. Models of before this file had families of operations have
    corrections by form alone, and those of before there was a least arithmetic have none."""
    corrections, least = bounds
    added = []
    for row in rows:
        known, name = corrections.get(row["class"], {}), row["family"]
        small = row["log_flops"] < least.get(row["class"], {}).get(name, -math.inf)
        added.append(-math.inf if small else known.get(name, known.get(name.split(" ")[1], -math.inf)))
    return low + np.array(added)


def line(name, rows, models, bounds):
    """One line of a table: of each rule the geometric mean, and the share of operations that are slower than 0.97."""
    low, middle = bounds_of(rows, models["low"], bounds), models["middle"]
    found = choices(rows, low, middle)
    known = low > -math.inf
    covered = f"{np.mean((gains(rows) >= low)[known]):.3f}" if known.any() else "-"
    cells = []
    for rule in RULES:
        slower = np.mean(np.array(found[rule]) < math.log(0.97))
        cells.append(f"{geometric(found[rule]):.3f}" + (f" ({slower:.3f})" if slower else ""))
    error = np.median(np.abs(np.expm1(middle - gains(rows))))
    print(f"| {name} | {len(by_operation(rows))} | {' | '.join(cells)} | {covered} | {error:.3f} |")


def tables(rows, models, bounds):
    """`models`: functions of the rows."""
    print(f"| operations | | {' | '.join(RULES)} | above the bound | error |")
    print(f"| --- | ---: | {' ---: |' * (len(RULES) + 2)}")
    families = sorted({operation_family(row) for row in rows})
    groups = [("all", rows)]
    for machine in sorted({row["class"] for row in rows}):
        groups.append((machine, [row for row in rows if row["class"] == machine]))
    for name in families:
        groups.append((name, [row for row in rows if operation_family(row) == name]))
    for name, some in groups:
        line(name, some, {quantile: model(some) for quantile, model in models.items()}, bounds)


def tables_of_unseen_classes(rows, models, bounds, tool):
    """Each class has bounds of others: of each family those of the most similar class that has some, of the
    same instruction set alone and of all. The trees have seen the class."""
    print("| bounds of other classes | | " + " | ".join(RULES) + " | above the bound | error |")
    isa_of = {row["class"]: row["isa"] for row in rows}
    for machine in sorted(isa_of):
        some = [row for row in rows if row["class"] == machine]
        scored = {quantile: model(some) for quantile, model in models.items()}
        command = [tool, "similar", machine, *(known for known in bounds[0] if known != machine)]
        others = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        same = [other for other in others if isa_of[other] == isa_of[machine]]
        for what, known in (("of the same set", same), ("of all", others)):
            merged = [{machine: {}}, {machine: {}}]
            for other in reversed(known):
                for into, values in zip(merged, bounds, strict=True):
                    into[machine].update(values[other])
            line(f"{machine}: {what}", some, scored, merged)


def lower_quantile(values, share):
    """The value that at most this share of them is below (of few values the least), rounded down."""
    return math.floor(1e4 * sorted(values)[max(0, int(share * (len(values) + 1)) - 1)]) / 1e4


def bounds_by_family(rows, groups):
    """Corrections, by machine class, then family and form. Conformal: what must be added to the lower bound so that
    nine in ten gains of a family and form are above it, by the errors of models that were trained without the
    operations. With them the least log2 of arithmetic that they hold for."""
    errors = collections.defaultdict(lambda: collections.defaultdict(list))
    operations = collections.defaultdict(lambda: collections.defaultdict(dict))
    for n in range(FOLDS):
        held = [row for row in rows if fold_of(row) == n]
        for row, bound in zip(held, groups.without(n)(held), strict=True):
            errors[row["class"]][row["family"]].append(row["gain"] - float(bound))
            operations[row["class"]][row["family"]][row["operation"]] = row["log_flops"]
    corrections, least = collections.defaultdict(dict), collections.defaultdict(dict)
    for machine, families in errors.items():
        for family, found in sorted(families.items()):
            sizes = operations[machine][family]
            if len(sizes) < LEAST_CALIBRATED:
                continue
            corrections[machine][family] = lower_quantile(found, QUANTILES["low"])
            least[machine][family] = lower_quantile(sizes.values(), SMALLEST)
    return corrections, least


def of_model(model, names):
    """The functions of a model's file; of one of before there were groups, too."""
    columns = [names.index(name) for name in model["features"]]
    groups = model.get("groups", [{"families": [], **{name: model.get(name) for name in QUANTILES}}])
    return {name: scored_by([(set(g["families"]), g[name]) for g in groups], columns) for name in QUANTILES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", metavar="ROWS.jsonl")
    parser.add_argument("--out", type=Path, help="the model; without it, only the table is printed")
    parser.add_argument("--tool", default="build/bench_operation_rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", type=Path, metavar="MODEL.json", help="print the same of another model")
    parser.add_argument("--without-isa", help="hold this instruction set out of training, and test on it alone")
    arguments = parser.parse_args()
    names = json.loads(subprocess.run([arguments.tool, "names"], check=True, capture_output=True, text=True).stdout)
    rows = read_rows(arguments.tool, arguments.rows)
    for row in rows:
        row["log_flops"] = row["features"][names.index("log_flops")]
    held = [row for row in rows if row["isa"] == arguments.without_isa]
    seen = [row for row in rows if row["isa"] != arguments.without_isa]
    parts = {name: [row for row in seen if row["part"] == name] for name in ("train", "calibration", "test")}
    if arguments.without_isa:
        parts["test"] = [row for row in held if row["part"] == "test"]
    groups = Groups(parts, arguments.seed)
    test, known = parts["test"], parts["train"] + parts["calibration"]
    groups.check(test)
    corrections, least = bounds_by_family(known, groups)
    models = {name: groups.scored(name) for name in QUANTILES}
    tables(test, models, (corrections, least))
    tables_of_unseen_classes(test, models, (corrections, least), arguments.tool)
    if arguments.compare:
        other = json.loads(arguments.compare.read_text())
        print(f"\n{arguments.compare}:")
        tables(test, of_model(other, names), (other["corrections"], other.get("least_log_flops", {})))
    if arguments.out:
        counts = collections.Counter((row["cpu"], row["isa"]) for row in known)
        trained = [{"cpu": cpu, "isa": isa, "rows": n} for (cpu, isa), n in sorted(counts.items())]
        model = {"features": names, "trained_on": trained, "corrections": corrections, "least_log_flops": least}
        model["groups"] = groups.json()
        arguments.out.write_text(json.dumps(model, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
