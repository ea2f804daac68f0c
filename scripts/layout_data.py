"""Makes the layout data set of data/layouts: measured layouts of real programs, one TpuGraphs file each.

    scripts/layout_data.py collect --out build/data/layouts [--configurations 100] [--budget 15m]
    scripts/layout_data.py export --db build/data/layouts-epyc.db --host "AMD EPYC, 2 cores" --out FOLDER
    scripts/layout_data.py describe data/layouts [--db build/data/layouts.db]
    scripts/layout_data.py noise build/data/layouts.db second.db

collect takes the programs of data/splits/layout.txt, or of --split, and calls hone collect layout; the same command
continues a stopped run. Most of the time is spent in compiling, 0.2 to 1.3 s per configuration; run it with
`taskset -c N`.
export writes the files again from the measurements of any machine: each program is lowered, nothing is measured.
describe prints a folder's contents as Markdown. noise compares two collections of the same layouts.
"""

import argparse
import itertools
import json
import pathlib
import sqlite3
import statistics
import struct
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPLIT = ROOT / "data" / "splits" / "layout.txt"


def parts(path):
    """Program -> part of a split file."""
    lines = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {program: part for part, program in lines}


def manifest_rows(split):
    """The split's programs in the format of hone collect."""
    known = {p["name"]: p for p in json.loads((ROOT / "data" / "programs.json").read_text())}
    missing = [name for name in parts(split) if name not in known]
    if missing:
        sys.exit(f"{split}: {missing[0]} is not in data/programs.json")
    return [
        {"name": name, "family": known[name]["family"], "file": str(ROOT / "data" / known[name]["file"])}
        for name in parts(split)
    ]


def collect(options):
    out = options.out
    out.parent.mkdir(parents=True, exist_ok=True)
    manifest = out.with_suffix(".json")
    manifest.write_text(json.dumps(manifest_rows(options.split), indent=1))
    command = [options.hone, "collect", "layout", "--manifest", manifest, "--output", out]
    command += ["--db", options.db or out.with_suffix(".db"), "--budget", options.budget]
    command += ["--configurations", options.configurations, "--seed", options.seed]
    return subprocess.run([str(word) for word in command]).returncode


def export(options):
    """The split's programs with the measurements of one host, one file each, and machine.json; files that are there are
    kept."""
    options.out.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(f"file:{options.db}?mode=ro", uri=True) as connection:
        for (record,) in connection.execute("select record from machines where host = ?", (options.host,)):
            (options.out / "machine.json").write_text(record + "\n")
    for row in manifest_rows(options.split):
        out = options.out / f"{row['name']}.npz"
        if out.exists():
            continue
        command = [options.hone, "tpugraphs", "export", row["file"], "--collection", "layout", "--quiet"]
        command += ["--db", options.db, "--host", options.host, "-o", out]
        if subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL).returncode:
            return 1
    return 0


def inspected(options, path):
    words = [str(options.hone), "tpugraphs", "inspect", str(path), "--json"]
    graph = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    with zipfile.ZipFile(path) as archive:
        runtimes = archive.read("config_runtime.npy")
    header = 10 + struct.unpack_from("<H", runtimes, 8)[0]
    (graph["default_ns"],) = struct.unpack_from("<q", runtimes, header)  # XLA's own layouts come first
    return graph


def describe(options):
    split = parts(options.split)
    families = {row["name"]: row["family"] for row in manifest_rows(options.split)}
    graphs = [inspected(options, path) for path in sorted(options.folder.glob("*.npz"))]
    print("| program | family | part | nodes | configurable | layouts | default, ms | least | most |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for g in graphs:
        name, default, times = g["name"], g["default_ns"], g["runtime_ns"]
        print(
            f"| {name} | {families.get(name, '')} | {split.get(name, '')} | {g['nodes']} | {g['configurable_nodes']} | "
            f"{g['configurations'] - 1} | {default / 1e6:.2f} | {times['least'] / default:.2f} | "
            f"{times['most'] / default:.2f} |"
        )
    count = sum(g["configurations"] - 1 for g in graphs)
    full = sum(g["configurations"] > options.configurations for g in graphs)
    print(
        f"\n{len(graphs)} programs of {len({families.get(g['name']) for g in graphs})} families, {count} layouts; "
        f"{full} programs with {options.configurations} or more."
    )
    if options.db:
        rows = read_rows(options.db)
        print("\n| status | layouts |\n|---|---:|")
        for status in sorted({r["status"] for r in rows}):
            print(f"| {status} | {sum(r['status'] == status for r in rows)} |")
        ok = [r for r in rows if r["status"] == "ok"]
        print(
            f"\nSurely slower than the default: {sum(r['ratio_high'] < 1 for r in ok)}, surely faster: "
            f"{sum(r['ratio_low'] > 1 for r in ok)} of {len(ok)}."
        )


def read_rows(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return [
        row
        for row in connection.execute("select * from records where scope = 'program'")
        if row["decisions"].startswith("layout ")
    ]


def kendall_tau(a, b):
    """tau-b; None when one side is constant."""
    concordance = ties_a = ties_b = pairs = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
        concordance, ties_a, ties_b, pairs = concordance + x * y, ties_a + (x == 0), ties_b + (y == 0), pairs + 1
    below = ((pairs - ties_a) * (pairs - ties_b)) ** 0.5
    return concordance / below if below else None


def noise(options):
    """The accuracy of one collection as a predictor of another, which a perfect model would reach."""
    first, second = (
        {(r["program"], r["decisions"]): r["ratio"] for r in read_rows(db) if r["status"] == "ok" and r["ratio"] > 0}
        for db in (options.first, options.second)
    )
    both = sorted(first.keys() & second.keys())
    if not both:
        sys.exit("the two collections have no layout in common")
    errors = [abs(first[k] / second[k] - 1) for k in both]
    taus = []
    for _, keys in itertools.groupby(both, key=lambda k: k[0]):
        keys = list(keys)
        if len(keys) >= 5:
            taus.append(kendall_tau([first[k] for k in keys], [second[k] for k in keys]))
    print(
        f"{len(both)} layouts of {len({k[0] for k in both})} programs measured in both: ratios differ by "
        f"{100 * statistics.fmean(errors):.1f} % in the mean, {100 * statistics.median(errors):.1f} % in the median"
    )
    taus = [tau for tau in taus if tau is not None]
    if taus:
        print(
            f"tau of one ranking against the other, {len(taus)} programs: mean {statistics.fmean(taus):.3f}, "
            f"median {statistics.median(taus):.3f}, least {min(taus):.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--split", type=pathlib.Path, default=SPLIT, help="the programs")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("collect")
    command.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "data" / "layouts")
    command.add_argument("--db", type=pathlib.Path, help="measurements (default: OUT.db)")
    command.add_argument("--configurations", type=int, default=100)
    command.add_argument("--budget", default="3h")
    command.add_argument("--seed", type=int, default=0)
    command = commands.add_parser("export")
    command.add_argument("--out", type=pathlib.Path, required=True)
    command.add_argument("--db", type=pathlib.Path, required=True)
    command.add_argument("--host", required=True, help="as the database has it")
    command = commands.add_parser("describe")
    command.add_argument("folder", type=pathlib.Path)
    command.add_argument("--db", type=pathlib.Path, help="the database of its measurements")
    command.add_argument("--configurations", type=int, default=100)
    command = commands.add_parser("noise")
    command.add_argument("first", type=pathlib.Path)
    command.add_argument("second", type=pathlib.Path)
    options = parser.parse_args()
    run = {"collect": collect, "export": export, "describe": describe, "noise": noise}
    return run[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
