"""Rankers of measured configurations side by side, by program."""

import numpy as np
import scoring
from harness import markdown_table

# The best of these is what every other row is compared with.
TRIVIAL = (
    "random",
    "XLA's own first",
    "number of changed nodes",
    "size of the tile",
    "ridge on hand features",
    "trees on hand features",
    "ridge on one-hot layouts",
    "trees on one-hot layouts",
)


class Table:
    """Rows of a table; each has, for every seed, the scores of every graph. `programs` names the program of each graph,
    if several belong to one: then a program counts by the mean over its graphs."""

    def __init__(self, graphs, programs=None):
        self.graphs, self.rows = graphs, {}
        self.programs = programs or [graph.name for graph in graphs]

    def add(self, label, scores, ceiling=False):
        """`scores`: a list over seeds of lists over graphs of arrays; None for a graph that has none."""
        kept = [i for i in range(len(self.graphs)) if all(seed[i] is not None for seed in scores)]
        names = list(dict.fromkeys(self.programs[i] for i in kept))
        members = [[n for n, i in enumerate(kept) if self.programs[i] == name] for name in names]

        def each(measure):  # [seeds, programs]
            values = [[measure(seed[i], self.graphs[i].times) for i in kept] for seed in scores]
            return np.array([[np.mean([row[n] for n in of]) for of in members] for row in values])

        tops = {top: each(lambda s, t, top=top: scoring.slower(s, t, top)) for top in (1, 10)}
        self.rows[label] = {"names": names, "taus": each(scoring.tau), "tops": tops, "ceiling": ceiling}
        self.rows[label]["scores"] = scores

    def of_some(self, numbers):
        """The same rows where each graph has only those configurations whose numbers are at its place in `numbers`;
        graphs without numbers are left out."""
        kept = [i for i, some in enumerate(numbers) if some is not None]
        table = Table([self.graphs[i].choose(numbers[i]) for i in kept], [self.programs[i] for i in kept])
        for label, row in self.rows.items():
            if row["ceiling"]:
                continue
            chosen = [[None if s[i] is None else np.asarray(s[i])[numbers[i]] for i in kept] for s in row["scores"]]
            table.add(label, chosen)
        return table

    def by_program(self, label):
        row = self.rows[label]
        return dict(zip(row["names"], row["taus"].mean(0), strict=True))

    def best_trivial(self):
        names = [name for name in TRIVIAL if name in self.rows]
        return max(names, key=lambda name: self.rows[name]["taus"].mean())

    def difference(self, label, best):
        ours, theirs = self.by_program(label), self.by_program(best)
        both = sorted(set(ours) & set(theirs))
        return scoring.interval([ours[i] - theirs[i] for i in both])

    def markdown(self):
        best = self.best_trivial()
        body = []
        order = sorted(self.rows, key=lambda name: (self.rows[name]["ceiling"], -self.rows[name]["taus"].mean()))
        for label in order:
            row = self.rows[label]
            cells = [f"*{label}*" if row["ceiling"] else label, str(len(row["names"]))]
            cells += [scoring.spread(row["taus"].mean(1)), scoring.interval(row["taus"].mean(0))]
            against = "" if label == best or row["ceiling"] else self.difference(label, best)
            cells += ["(best trivial)" if label == best else against]
            for top in (1, 10):
                cells.append(scoring.percent(row["tops"][top].mean(0)))
            body.append(cells)
        header = ["ranker", "programs", "tau ± seeds", "tau [programs]", "over the best trivial"]
        header += [f"top {top} slower %: mean, geometric, median" for top in (1, 10)]
        return markdown_table(header, body)

    def by_name(self):
        """Tau of each program and row."""
        labels = list(self.rows)
        body = []
        for name in dict.fromkeys(self.programs):
            count = sum(len(g.times) for g, of in zip(self.graphs, self.programs, strict=True) if of == name)
            found = [self.by_program(label).get(name) for label in labels]
            body.append([name, str(count), *("" if t is None else f"{t:.3f}" for t in found)])
        return markdown_table(["tau", "configurations", *labels], body)
