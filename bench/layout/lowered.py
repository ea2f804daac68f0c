#!/usr/bin/env python3
"""Do predicted run times after lowering order layouts better than the number of changed instructions?

    bench/layout/lowered.py data/layouts --machine build/data/fusion/HOST --model data/models/fusion [--model ...]

The folder has layouts that `hone collect layout` measured (seed 0), of programs in data/programs; --machine is a data
set of the machine that measured them, --model a folder of trees of run times. bench_layout_lowered lowers the program
under each layout and adds up its kernels' predicted run times; what it found is kept in --out, and not made again.
Kendall's tau by program of the split's parts (tied scores count 0), its mean with a bootstrap over programs (95 %),
and the slowdown of the layout that is predicted fastest against the fastest measured.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import scoring  # noqa: E402
from dataset import parts_of  # noqa: E402
from harness import Progress, markdown_table  # noqa: E402

DRAWS = 2000


def rows_of(name, layouts, model, options):
    """What bench_layout_lowered says of a program's measured layouts; from an earlier run if it is there."""
    file = options.out / f"{Path(model).parent.name}-{Path(model).name}-{name}.jsonl"
    if not file.exists():
        program = options.programs / f"{name}.mlir.gz"
        command = [options.tool, program, layouts / f"{name}.npz", options.machine, model]
        text = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout
        file.write_text(text)
    return [json.loads(line) for line in file.read_text().splitlines()]


def interval(values):
    """The mean and the 95 % interval of its bootstrap over programs."""
    draw = random.Random(0)
    means = sorted(statistics.mean(draw.choices(values, k=len(values))) for _ in range(DRAWS))
    return f"{statistics.mean(values):.3f} [{means[DRAWS // 40]:.3f}, {means[-DRAWS // 40]:.3f}]"


def slowdown(times, scores):
    return 100 * (times[min(range(len(times)), key=scores.__getitem__)] / min(times) - 1)


def table(part, names, options):
    header = ["program", "layouts", "fastest", "changed", *(f"{m}, top 1 %" for m in options.model)]
    lines, taus, tops = [], {}, {}
    for name in names:
        line = [name]
        for model in options.model:
            rows = rows_of(name, options.layouts, model, options)
            times, scores = [row["runtime_ns"] for row in rows], [row["predicted_ns"] for row in rows]
            own = next(row["runtime_ns"] for row in rows if row["default"])
            if len(line) == 1:
                changed = scoring.tau([row["changed"] for row in rows], times)
                line += [str(len(rows)), f"{min(times) / own:.2f}", f"{changed:.3f}"]
                taus.setdefault("changed", []).append(changed)
            tau = scoring.tau(scores, times)
            taus.setdefault(model, []).append(tau)
            tops.setdefault(model, []).append(slowdown(times, scores))
            line.append(f"{tau:.3f}, {tops[model][-1]:.1f}")
            differences = [a - b for a, b in zip(taus[model], taus["changed"], strict=True)]
            taus[model, "difference"] = differences
        lines.append(line)
    text = f"## {part}\n\n" + markdown_table(header, lines) + "\n"
    summary = [["number of changed instructions", interval(taus["changed"]), "", ""]]
    for model in options.model:
        top = f"{statistics.mean(tops[model]):.1f}, {statistics.median(tops[model]):.1f}"
        summary.append([model, interval(taus[model]), interval(taus[model, "difference"]), top])
    return text + "\n" + markdown_table(["", "tau", "over changed", "top 1 slower %: mean, median"], summary) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layouts", type=Path)
    parser.add_argument("--machine", type=Path, required=True)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--programs", type=Path, default=ROOT / "data" / "programs")
    parser.add_argument("--split", type=Path, default=ROOT / "data" / "splits" / "layout.txt")
    parser.add_argument("--tool", type=Path, default=ROOT / "build" / "bench_layout_lowered")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "layout-lowered")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts = parts_of(options.split)
    names = {
        part: [n for n, p in parts.items() if p == part and (options.layouts / f"{n}.npz").exists()]
        for part in ("test", "train")
    }
    progress = Progress(sum(map(len, names.values())) * len(options.model))
    for part in names:
        for name in names[part]:
            for model in options.model:
                progress.starting(f"{name} by {model}")
                rows_of(name, options.layouts, model, options)
                progress.finished("done")
    print("\n".join(table(part, names[part], options) for part in names if names[part]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
