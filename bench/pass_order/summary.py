"""The results of run.py so far, as a table (Markdown and CSV) and figures.

A ratio is (I - R) / (I - D): instructions that an order removes, over those that XLA's own simplification removes.
Programs from which that removes nothing have no ratio and are listed separately.
"""

import csv
import json
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import machine

COLUMNS = ("set", "program", "by", "seed", "initial", "default", "pre_layout", "first", "best", "best_pre_layout")
COLUMNS += ("first_ratio", "best_ratio", "applications", "verified", "speedup_over_default", "passes", "error")


def mean(values):
    """Geometric."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def speedup(row):
    """Run time under XLA's own order over that under the order found; both ran against the untouched program."""
    own, best = row.get("default_run", {}), row.get("best_run", {})
    fine = own.get("verified") and best.get("verified") and own["speedup"] > 0
    return best["speedup"] / own["speedup"] if fine else None


def read(folder, names, searches):
    """All rows under tests/, shipped/, shipped_alone/ and bound/, `by` named as in the figures."""
    rows = []
    for kind in ("tests", "shipped", "shipped_alone", "bound"):
        for path in sorted((folder / kind).glob("*/*.json")):
            for row in json.loads(path.read_text()):
                by = row["by"]
                if kind == "tests" and by not in searches:
                    by = names.get(by.rsplit("/", 1)[-1].split(".")[0].rsplit("-", 1)[0], by)
                seed = int(path.stem.rsplit("-", 1)[1]) if kind == "tests" else 0
                by = {"shipped": "both starts", "shipped_alone": "shipped policy", "bound": "long search"}.get(kind, by)
                rows.append(row | {"set": path.parent.name, "by": by, "seed": seed})
    return rows


def write_csv(path, rows):
    with path.open("w", newline="") as out:
        table = csv.DictWriter(out, COLUMNS, extrasaction="ignore")
        table.writeheader()
        for row in rows:
            verified = row.get("best_run", {}).get("verified")
            extra = {
                "passes": " ".join(row.get("passes", [])),
                "verified": verified,
                "speedup_over_default": speedup(row),
            }
            table.writerow(row | extra)


def by_seed(rows, by, set_name):
    """Lists of rows with a ratio, one list per seed."""
    seeds = sorted({row["seed"] for row in rows if row["by"] == by and row["set"] == set_name})
    wanted = [r for r in rows if r["by"] == by and r["set"] == set_name and r.get("best_ratio") is not None]
    return [[row for row in wanted if row["seed"] == seed] for seed in seeds if any(r["seed"] == seed for r in wanted)]


def numbers(rows, by, set_name):
    """One line of the table: mean and spread over seeds of geometric means over programs, and the extremes."""
    groups = by_seed(rows, by, set_name)
    if not groups:
        return None
    flat = [row for group in groups for row in group]
    first, best = ([mean([row[key] for row in group]) for group in groups] for key in ("first_ratio", "best_ratio"))
    after = [mean([row["pre_layout"] / row["best_pre_layout"] for row in group]) for group in groups]
    return {
        "programs": len(groups[0]),
        "seeds": len(groups),
        "first": (statistics.mean(first), spread(first)),
        "best": (statistics.mean(best), spread(best)),
        "share": sum(row["best"] <= row["default"] for row in flat) / len(flat),
        "least": min(flat, key=lambda row: row["best_ratio"]),
        "most": max(flat, key=lambda row: row["best_ratio"]),
        "after": (statistics.mean(after), spread(after)),
    }


def table(rows, order, set_name):
    head = "by|programs|seeds|zero-shot|best of all walks|at least as good|worst|best|left by the whole pipeline"
    lines = ["| " + head.replace("|", " | ") + " |", "|---" * 9 + "|"]
    for by in order:
        n = numbers(rows, by, set_name)
        if n is None:
            continue
        cells = [by, n["programs"], n["seeds"]]
        cells += [f"{value:.3f} ± {deviation:.3f}" for value, deviation in (n["first"], n["best"])]
        cells += [f"{n['share']:.0%}"]
        cells += [f"{n[k]['best_ratio']:.3f} ({n[k]['program']})" for k in ("least", "most")]
        cells += [f"{n['after'][0]:.4f} ± {n['after'][1]:.4f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def training(folder, names):
    lines = [
        "| agent | seed | steps | programs | seconds | steps/s | mean return of the last 100 episodes |",
        "|---" * 7 + "|",
    ]
    for path in sorted((folder / "policies").glob("*.json")):
        said = json.loads(path.read_text())
        name = names.get(path.stem.rsplit("-", 1)[0], path.stem)
        cells = [name, said["seed"], said["steps"], said["programs"], f"{said['seconds']:.0f}"]
        cells += [f"{said['steps_per_second']:.0f}", f"{said['mean_return']:.3f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def run_times(rows):
    """Run times of the orders that were run."""
    lines = []
    for set_name in sorted({row["set"] for row in rows}):
        ran = [row for row in rows if row["set"] == set_name and "best_run" in row]
        if not ran:
            continue
        ratios = [value for row in ran if (value := speedup(row))]
        wrong = [row["program"] for row in ran if not row["best_run"]["verified"]]
        ends = f"{min(ratios):.3f} to {max(ratios):.3f}, " if ratios else ""
        lines.append(
            f"- {set_name}: {len(ran)} programs run, default / found {mean(ratios):.3f} (geometric mean), {ends}"
            f"outputs not verified: {', '.join(wrong) or 'none'}"
        )
    return lines


def without_ratio(rows):
    known = {(r["set"], r["program"]): r for r in rows if "error" not in r and r.get("best_ratio") is None}
    failed = {(r["set"], r["program"]): r["error"] for r in rows if "error" in r}
    lines = [f"- {name} ({s}): {r['initial']} instructions, D leaves {r['default']}" for (s, name), r in known.items()]
    return lines + [f"- {name} ({s}): {error}" for (s, name), error in failed.items()]


def write(folder, names, searches):
    """results.csv, summary.md and, where matplotlib is, the figures. Returns the text of summary.md."""
    rows = read(folder, names, searches)
    if not rows:
        return "nothing has been tested yet"
    write_csv(folder / "results.csv", rows)
    order = [*names.values(), *searches, "shipped policy", "both starts", "long search"]
    lines = [f"Machine: {machine()}", ""]
    for set_name in sorted({row["set"] for row in rows}):
        lines += [f"## {set_name}", "", *table(rows, order, set_name), ""]
    for title, part in (
        ("Run times of what both starts found", run_times(rows)),
        ("Without a ratio", without_ratio(rows)),
        ("Training", training(folder, names)),
    ):
        if part:
            lines += [f"## {title}", "", *part, ""]
    text = "\n".join(lines)
    (folder / "summary.md").write_text(text)
    try:
        import figures
    except ImportError:
        return text + "\n(no figures: matplotlib is missing, scripts/setup.sh --bench installs it)"
    figures.draw(folder, rows, order)
    return text
