"""Makes the layout data set: measured layouts of programs of the corpus, one TpuGraphs file each.

    python3 scripts/layout_data.py --out build/data/layouts [--programs 40] [--configurations 100] [--budget 3h]

Takes the programs of data/programs.json that compile fastest, at most two of a family and one of a model, and calls
hone collect layout. A run that was cut off goes on with the same command. Most of the time goes into
compiling, 0.4 s to some seconds per configuration; run it with `taskset -c N`.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def choose(programs, count):
    """The fastest to compile that do not take long to run, spread over families and models."""
    usable = [p for p in programs if p["finite"] and p["run_ms"] < 30]
    usable.sort(key=lambda p: p["first_run_s"] or 1e9)
    chosen, families, models = [], {}, set()
    for limit in (2, 4, len(usable)):
        for program in usable:
            if len(chosen) == count:
                return chosen
            family = program["family"]
            if program["model"] in models or families.get(family, 0) >= limit:
                continue
            models.add(program["model"])
            families[family] = families.get(family, 0) + 1
            chosen.append(program)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--out", default=str(ROOT / "build" / "data" / "layouts"))
    parser.add_argument("--db", help="measurements (default: OUT.db)")
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--configurations", type=int, default=100)
    parser.add_argument("--budget", default="3h")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the programs and measure nothing")
    options = parser.parse_args()
    chosen = choose(json.loads((ROOT / "data" / "programs.json").read_text()), options.programs)
    if options.list:
        print("\n".join(p["name"] for p in chosen))
        return 0
    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    manifest = out.with_suffix(".json")
    rows = [{"name": p["name"], "family": p["family"], "file": str(ROOT / "data" / p["file"])} for p in chosen]
    manifest.write_text(json.dumps(rows, indent=1))
    command = [options.hone, "collect", "layout", "--manifest", manifest, "--out", out]
    command += ["--db", options.db or out.with_suffix(".db"), "--budget", options.budget]
    command += ["--configurations", options.configurations, "--seed", options.seed]
    return subprocess.run([str(word) for word in command]).returncode


if __name__ == "__main__":
    sys.exit(main())
