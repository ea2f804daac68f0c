"""Named sets of programs, and files of results on them, for `hone gym leaderboard`."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .files import shared

RESULT_FORMAT = "hone-gym-result-1"


def benchmarks() -> list[str]:
    """The names of the sets that come with hone. A set never changes; another version has another name."""
    return sorted(path.stem for path in shared("benchmarks").glob("*.json"))


def _read(name):
    path = shared("benchmarks") / f"{name}.json"
    if name not in benchmarks():
        raise ValueError(f"there is no benchmark {name!r}: one of {', '.join(benchmarks())}")
    return path, json.loads(path.read_text())


def benchmark(name: str, root: str | os.PathLike | None = None) -> list[Path]:
    """The files of the set's programs, for the argument `programs` of the environments.

    root: the folder of the programs, for sets whose programs do not come with hone. Raises ValueError for an unknown
    set, and for a program that is missing or whose bytes are not those of the set.
    """
    path, content = _read(name)
    if root is None and "root" not in content:
        raise ValueError(f"the programs of {name} do not come with hone: give their folder as root")
    folder = Path(root) if root is not None else (path.parent / content["root"]).resolve()
    found = []
    for program in content["programs"]:
        file = folder / program["file"]
        if not file.is_file():
            raise ValueError(f"{file}: a program of {name} is missing")
        if hashlib.sha256(file.read_bytes()).hexdigest() != program["sha256"]:
            raise ValueError(f"{file}: a program of {name} has other bytes than its version")
        found.append(file)
    return found


class Results:
    """Collects orders of passes for the programs of a set and writes them as a file of results.

    agent: the name in the table. benchmark: the name of the set.
    """

    def __init__(self, agent: str, benchmark: str) -> None:
        _, content = _read(benchmark)
        self.agent, self.benchmark = agent, benchmark
        self._limit = content["max_passes"]
        # By the name that environments have for a program: its file without folder and endings.
        self._names = {Path(p["file"]).name.partition(".")[0]: p["name"] for p in content["programs"]}
        self._entries = {}

    def add(self, program: str, passes: Iterable[str], instructions: int) -> None:
        """Adds an order for a program, by its name in info["program"]; the best of several is kept.

        instructions: how many are left after the passes, of all computations. Raises ValueError for a program that is
        not in the set, and for more passes than the set allows.
        """
        if program not in self._names:
            raise ValueError(f"{self.benchmark} has no program {program!r}")
        entry = {"program": self._names[program], "passes": list(passes), "instructions": int(instructions)}
        if len(entry["passes"]) > self._limit:
            raise ValueError(f"{len(entry['passes'])} passes, at most {self._limit} are allowed")
        known = self._entries.get(program)
        if known is None or entry["instructions"] < known["instructions"]:
            self._entries[program] = entry

    def add_info(self, info: dict[str, Any]) -> None:
        """Adds the state that the info of an environment describes: only passes that changed something are kept."""
        self.add(info["program"], info["changing_passes"], info["instructions"])

    def write(self, file: str | os.PathLike) -> None:
        """Writes the file of results."""
        entries = [self._entries[name] for name in self._names if name in self._entries]
        content = {
            "format": RESULT_FORMAT,
            "agent": self.agent,
            "benchmark": self.benchmark,
            "entries": entries,
        }
        Path(file).write_text(json.dumps(content, indent=1) + "\n")
