#!/usr/bin/env python3
"""Writes the pages of docs/reference/ that are generated from the code, and the table of commands in README.md.

    scripts/make_reference.py --hone build/hone           writes what has changed
    scripts/make_reference.py --hone build/hone --check   writes nothing; exit code 1 and the names of pages out of date

commands.md comes from the help texts, python.md from the docstrings of python/hone, passes.md from `hone passes` and
the measured effects in passes.csv, features.md from the tables in src/features, decisions.md from those in src/graph.
json.md is written by hand; it is only checked to have a section for every command with --json.
"""

import argparse
import csv
import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

from reference import commands, decisions, python_api

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = Path("docs/reference")
MADE = "<!-- Made by scripts/make_reference.py: do not edit. -->\n"
BEGIN, END = "<!-- commands -->", "<!-- /commands -->"

FEATURE_TABLES = (  # file, heading
    ("node_features.def", "Of an instruction (a node)"),
    ("static_features.def", "Of a kernel"),
    ("tile_features.def", "Of an option of a kernel"),
    ("cpu_features.def", "Of the machine"),
    ("../cost/kernel_features.def", "Of a kernel with an option, for trees"),
)


def passes_page(table, effects):
    """The page of XLA's passes. `table`: rows of `hone passes --json`; `effects`: name -> its row of passes.csv."""
    lines = [
        "# XLA's passes by name\n",
        "The rows of `src/xla/passes/passes.def`, as `hone passes` lists them. A name is XLA's own `name()` of the "
        "pass; what stands after a colon is a set of options.\n",
        "How the default actions were chosen and measured: "
        "[explanation/default-passes.md](../explanation/default-passes.md).\n",
        "## Default actions\n",
        "These are the actions of the environments and of `hone order` where none are named. *Changes* counts the "
        "programs (of 318) that the pass changes while they are untouched, *in sequences* the programs that it changed "
        "somewhere in a random sequence of passes. The last column is the median of the instructions it adds, over the "
        "programs counted under *changes*. A cell is empty where nothing was counted or measured.\n",
        "| pass | group | what it does | changes | in sequences | instructions added, median |",
        "|---|---|---|---:|---:|---:|",
    ]
    for row in (row for row in table if row["default"]):
        effect = effects.get(row["name"], {"changes": "", "in_sequences": "", "median_added": ""})
        cells = (effect["changes"], effect["in_sequences"], effect["median_added"])
        lines.append(f"| `{row['name']}` | {row['group']} | {row['meaning']} | " + " | ".join(cells) + " |")
    lines += [
        "\n## On request only\n",
        "Named with `--passes`. *Numerics* marks passes that change how numbers are rounded or represented.\n",
        "| pass | group | what it does | why it is no default action |",
        "|---|---|---|---|",
    ]
    for row in (row for row in table if not row["default"]):
        mark = " (numerics)" if row["changes_numerics"] else ""
        lines.append(f"| `{row['name']}`{mark} | {row['group']} | {row['meaning']} | {row['note']} |")
    return "\n".join(lines) + "\n"


def feature_width(kind, arguments):
    """The number of columns of one row of a feature table (the rules are at the top of each table)."""
    if kind == "GROUP":
        return 3
    width = int(arguments[0]) if kind in ("LIST", "AXES", "FLAGS") else 1
    return width + 2 if kind in ("LIST", "FLAGS") else width


def feature_rows(text):
    """(name, kind, width, scale) of every row of a .def table, in order."""
    for line in text.splitlines():
        row = re.match(r"(NUMBER|TYPE|LIST|AXES|FLAGS|STATIC|CPU|GROUP|KERNEL|OPTION)\((\w+), *(.*)\)", line)
        if row:
            arguments = [part.strip() for part in row.group(3).split(",")]
            log = "Log" in arguments or row.group(1) == "GROUP" or "large(" in row.group(3)
            scale = "log" if log else "linear"
            yield row.group(2), row.group(1), feature_width(row.group(1), arguments), scale


def features_page(folder):
    """The page of feature columns, from the tables in `folder`."""
    lines = [
        "# Columns of the feature tables\n",
        "Made from the tables in `src/features`; the expression that computes a column stands there beside its name. "
        "Columns of scale *log* go through sign(x) log(1 + |x|) before they are scaled to [0, 1] by the smallest and "
        "the largest value of the training data. A list of width *n* has *n* columns, then the sum and the product of "
        "the list; flags have *n* columns, then how many are true and how many are false.\n",
        "Trees see logarithms and numbers as they are. Of a group of operations they see how many there are, how often "
        "the loops run them as the sum over their users, and as the largest of these.\n",
        "The first 140 columns of an instruction are those of the TpuGraphs data set, in its order.\n",
    ]
    for name, heading in FEATURE_TABLES:
        lines += [f"## {heading}\n", "| columns | name | kind | scale |", "|---|---|---|---|"]
        first = 0
        for feature, kind, width, scale in feature_rows((folder / name).read_text()):
            columns = f"{first}" if width == 1 else f"{first}-{first + width - 1}"
            lines.append(f"| {columns} | `{feature}` | {kind.lower()} | {scale} |")
            first += width
        rest = ", then those of an option of a kernel" if "kernel_features" in name else ""
        lines.append(f"\n{first} columns{rest}.\n")
    return "\n".join(lines)


def with_table(readme, table):
    """README.md with `table` between its markers."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md: no {BEGIN} ... {END}")
    return f"{head}{BEGIN}\n{table}{END}{tail}"


def pages(hone, root):
    """Path -> text of everything this script writes."""
    program = commands.read(hone)
    done = subprocess.run([hone, "passes", "--json"], check=True, capture_output=True, text=True)
    with (root / REFERENCE / "passes.csv").open(newline="") as file:
        effects = {row["pass"]: row for row in csv.DictReader(file)}
    made = {
        REFERENCE / "commands.md": commands.page(program),
        REFERENCE / "python.md": python_api.page(root / "python" / "hone"),
        REFERENCE / "passes.md": passes_page(json.loads(done.stdout)["passes"], effects),
        REFERENCE / "features.md": features_page(root / "src" / "features"),
        REFERENCE / "decisions.md": decisions.page(root / "src" / "graph"),
    }
    made = {path: MADE + "\n" + text.rstrip("\n") + "\n" for path, text in made.items()}
    readme = Path("README.md")
    made[readme] = with_table((root / readme).read_text(), commands.table(program))
    return made


def faults_of_json_page(hone, root):
    """The sections missing in json.md, which is written by hand, one line each."""
    path = REFERENCE / "json.md"
    headings = re.findall(r"^#+ (.*)$", (root / path).read_text(), re.MULTILINE)
    named = {name for heading in headings for name in re.findall(r"`(hone [^`]*)`", heading)}
    wanted = [c.name for c in commands.read(hone).leaves() if any("--json" in option.name for option in c.options)]
    return [f"{path}: no section about `{name}`" for name in wanted if name not in named]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", type=Path, default=ROOT / "build" / "hone", help="the program (default build/hone)")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a page is out of date")
    options = parser.parse_args()
    hone, root = str(options.hone.resolve()), options.root.resolve()
    faults = faults_of_json_page(hone, root)
    for path, text in pages(hone, root).items():
        present = (root / path).read_text() if (root / path).is_file() else ""
        if present == text:
            continue
        if options.check:
            faults.append(f"{path}: out of date, run scripts/make_reference.py")
            faults += list(difflib.unified_diff(present.splitlines(), text.splitlines(), "present", "made", n=0))[2:8]
        else:
            (root / path).write_text(text)
            print(path)
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
