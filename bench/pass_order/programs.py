#!/usr/bin/env python3
"""The programs on which agents that order passes are trained and tested.

Prints the files of one set, a line each: training, gpt_training or diverse. The test families are fixed here, before
any result: language models in training (the paper's first benchmark), and the paper's diverse one (GPT, BERT, ResNet)
with the families that data/splits/manual.txt tests on. One program per model (its smallest batch) is enough: other
batch sizes have the same operations.
"""

import argparse
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GPT_TRAINING = ("train_language",)
DIVERSE = ("gpt", "bert", "resnet", "graph", "particles", "recommendation", "wavenet")
RELATIVES = ("train_recommendation",)  # of a test family: used nowhere
SETS = ("training", "gpt_training", "diverse")


def table():
    return json.loads((ROOT / "data" / "programs.json").read_text())


def sizes():
    """Instructions by name."""
    return {row["name"]: row["instructions"] for row in table()}


def _one_per_model(rows):
    smallest = {}
    for row in sorted(rows, key=lambda row: row["batch"]):
        smallest.setdefault(row["model"], row)
    return sorted(smallest.values(), key=lambda row: row["name"])


def _files(rows, limit):
    return [ROOT / "data" / row["file"] for row in rows if row["instructions"] <= limit]


def _examples(limit):
    """The examples, which are small programs of their own; about one instruction a line."""
    return [path for path in sorted((ROOT / "examples").glob("*.mlir")) if len(path.read_text().splitlines()) <= limit]


def corpus(folder, most=2500):
    """Programs of the shared corpus that its list marks as runnable, as (family, file)."""
    listed = Path(folder) / "RUNNABLE.tsv"
    if not listed.is_file():
        return []
    head, *lines = (line.split("\t") for line in listed.read_text().splitlines())
    rows = [dict(zip(head, line, strict=False)) for line in lines]
    return [
        Path(folder) / row["file"]
        for row in rows
        if row["parse_ok"] == "1" and row["compile_ok"] == "1" and 30 <= int(row["instructions"]) <= most
    ]


def chosen(name, limit=1000):
    """Files of one set. The limit of instructions is for training only, where a small program gives more steps."""
    rows = table()
    if name == "training":
        tested = GPT_TRAINING + DIVERSE + RELATIVES
        rows = [row for row in rows if row["family"] not in tested]
        return _files(_one_per_model(rows), limit) + _examples(limit)
    families = {"gpt_training": GPT_TRAINING, "diverse": DIVERSE}[name]
    # Of language models in training there are few: all batch sizes are taken.
    rows = [row for row in rows if row["family"] in families]
    return _files(rows if name == "gpt_training" else _one_per_model(rows), 10**9)


def family_of(path):
    """Of a program of data/programs.json or steps.py; empty for others."""
    name = Path(path).name.split(".")[0]
    if name.startswith("steps_"):
        return name.rpartition("_")[0]
    return next((row["family"] for row in table() if row["name"] == name), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--max-instructions", type=int, default=1000, help="of training programs")
    options = parser.parse_args()
    for path in chosen(options.set, options.max_instructions):
        print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


if __name__ == "__main__":
    main()
