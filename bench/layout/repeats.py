"""What measuring layouts once more says, or would say by the intervals of the measurements that there are."""

import sqlite3

import numpy as np

WIDTH = 2 * 1.96  # of a 95 % interval, in standard deviations


class Repeats:
    """The measured ratios behind the files of a folder, by configuration, and their errors.

    `database`: that of `hone collect layout`, unpacked; `graphs`: by name. A program of the database is recognised by
    the run time of the default, and a configuration by its own run time."""

    def __init__(self, database, graphs):
        self.errors, self.measured = {}, {}
        of_default = {}
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            query = (
                "select program, decisions, baseline_ns, ratio, ratio_low, ratio_high from records where status = 'ok'"
            )
            for program, decisions, baseline, ratio, low, high in connection.execute(query):
                rows = of_default.setdefault(program, {"program": program, "baselines": [], "ratios": {}})
                rows["baselines"].append(baseline)
                rows["ratios"].setdefault(decisions, []).append((ratio, np.log(high / low) / WIDTH))
        programs = {round(float(np.median(rows["baselines"]))): rows for rows in of_default.values()}
        for name, graph in graphs.items():
            rows = programs.get(round(graph.times[0]))
            if rows is not None:
                self.errors[name] = self._errors(graph, rows)
                self.measured[name] = rows["program"], self._decisions(graph, rows)

    @staticmethod
    def _errors(graph, rows):
        """Standard deviations of the logarithms of the ratios, by configuration; 0 for the default."""
        default = float(np.median(rows["baselines"]))
        known = {}
        for measured in rows["ratios"].values():
            ratio = float(np.median([value for value, _ in measured]))
            known[int(default / ratio + 0.5)] = np.mean([error for _, error in measured])
        return np.array([0.0] + [known.get(int(time), np.nan) for time in graph.times[1:]])

    @staticmethod
    def _decisions(graph, rows):
        """The decisions of each configuration but the default's, by its number."""
        default = float(np.median(rows["baselines"]))
        of_time = {}
        for decisions, measured in rows["ratios"].items():
            of_time[int(default / float(np.median([value for value, _ in measured])) + 0.5)] = decisions
        times = enumerate(graph.times)
        return {number: of_time[int(time)] for number, time in times if number and int(time) in of_time}

    def once_more(self, graphs, database):
        """For each graph the numbers of the configurations that `database`, a second collection, has measured as well,
        and their run times there in those of the default; None for a graph with fewer than three."""
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            query = "select program, decisions, ratio from records where status = 'ok'"
            ratios = {(program, decisions): ratio for program, decisions, ratio in connection.execute(query)}
        found = []
        for graph in graphs:
            program, decisions = self.measured.get(graph.name, ("", {}))
            both = [(n, 1 / ratios[program, what]) for n, what in decisions.items() if (program, what) in ratios]
            both = [(0, 1.0), *both]
            found.append(tuple(map(np.array, zip(*both, strict=True))) if len(both) > 2 else None)
        return found

    def simulated(self, graphs, draws):
        """For each draw, run times of each graph, each ratio disturbed by an error of its own interval: what a ranker
        that knows the true run times could say, if what was measured were these. None for a graph that is not in the
        database."""
        found = []
        for seed in range(draws):
            draw = np.random.default_rng(seed)
            scores = []
            for graph in graphs:
                error = self.errors.get(graph.name)
                if error is None or np.isnan(error).any():
                    scores.append(None)
                else:
                    scores.append(np.log(graph.times) + draw.normal(size=len(error)) * error)
            found.append(scores)
        return found
