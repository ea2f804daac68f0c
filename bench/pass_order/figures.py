"""The figures of run.py, after Figures 2 to 4 of Ganai et al. 2022, as SVG and PNG."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import summary  # noqa: E402

ALGORITHMS = ("DQN", "REINFORCE", "A2C", "TRPO", "PPO", "random", "greedy")
ENHANCEMENTS = ("PPO", "PPO + taken", "PPO + value features", "PPO + GNN", "PPO + shaping")


def _save(figure, folder, name):
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(folder / f"{name}.{ending}", dpi=120, metadata={"Date": None} if ending == "svg" else None)
    plt.close(figure)


def _bars(folder, rows, names, sets, title, name):
    """Geometric means with the spread over seeds; the line at 1 is XLA's own order."""
    names = [by for by in names if any(summary.numbers(rows, by, s) for s in sets)]
    if not names:
        return
    figure, axis = plt.subplots(figsize=(1.5 + 1.1 * len(names), 3.4))
    width = 0.8 / len(sets)
    for i, set_name in enumerate(sets):
        found = [summary.numbers(rows, by, set_name) for by in names]
        at = [x + (i - (len(sets) - 1) / 2) * width for x in range(len(names))]
        heights = [n["best"][0] if n else 0 for n in found]
        errors = [n["best"][1] if n else 0 for n in found]
        axis.bar(at, heights, width, yerr=errors, capsize=3, label=set_name.replace("_", " "))
    axis.axhline(1, color="black", linewidth=0.8, linestyle="--")
    axis.set_xticks(range(len(names)), names, rotation=15)
    axis.set_ylabel("(I - R) / (I - D), geometric mean")
    axis.set_title(title)
    axis.legend(fontsize=8)
    _save(figure, folder, name)


def _per_program(folder, rows, by, sets):
    """Each program's gain over XLA's own order, largest first, mean over seeds."""
    gains = {}
    for row in rows:
        if row["by"] == by and row["set"] in sets and row.get("best_ratio") is not None:
            gains.setdefault(row["program"], []).append(100 * (row["best_ratio"] - 1))
    if not gains:
        return
    ordered = sorted(((sum(v) / len(v), name) for name, v in gains.items()), reverse=True)
    figure, axis = plt.subplots(figsize=(2 + 0.2 * len(ordered), 4))
    axis.bar(range(len(ordered)), [gain for gain, _ in ordered], color=["C0" if g >= 0 else "C3" for g, _ in ordered])
    axis.set_xticks(range(len(ordered)), [name for _, name in ordered], rotation=90, fontsize=7)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_ylabel("more removed than by XLA's own order, %")
    axis.set_title(f"{by}: gain of each test program")
    _save(figure, folder, "figure3")


def draw(folder, rows, order):
    sets = sorted({row["set"] for row in rows})
    _bars(folder, rows, ALGORITHMS, sets, "Algorithms, and searches with as many passes run", "figure2")
    best = next((by for by in ("PPO + shaping", "PPO", *order) if summary.numbers(rows, by, sets[0])), order[0])
    _per_program(folder, rows, best, sets)
    _bars(folder, rows, ENHANCEMENTS, sets, "Enhancements of PPO", "figure4")
