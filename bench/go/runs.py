"""Runs of hone place and hone go on workloads, each run once and stored in a file of results."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import tpu_graph
import workloads

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import markdown_table

# Workload -> number of GPUs in the placement table of GO (Zhou et al. 2020, arXiv 2010.12438); workloads that are
# not in it have two.
DEVICES = {
    "rnnlm2": 2,
    "rnnlm4": 4,
    "rnnlm8": 8,
    "gnmt2": 2,
    "gnmt4": 4,
    "gnmt8": 8,
    "transformer_xl2": 2,
    "transformer_xl4": 4,
    "transformer_xl8": 8,
    "inception_v3": 2,
    "inception_resnet": 2,
    "resnet50": 2,
    "nasnet": 4,
    "bert": 2,
    "wavenet2x18": 2,
    "wavenet4x36": 4,
    "corpus_vit": 4,
    "corpus_dit": 8,
    "corpus_efficientnet": 4,
    "corpus_bert": 8,
}
# The transferred policy is trained on these workloads and machines, as by `make go-policy`, and evaluated on the
# others.
TRAINING = [
    ("bert", "gpu2-nvlink"),
    ("transformer_xl2", "gpu2-nvlink"),
    ("rnnlm2", "gpu2-nvlink"),
    ("resnet50", "gpu4-nvlink"),
    ("inception_v3", "gpu2-nvlink"),
    ("transformer_xl2", "gpu4-nvlink"),
    ("bert", "cpu1"),
]
TRAINED_ON = {name for name, _ in TRAINING}


def children_seconds() -> float:
    """Processor time of the processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def print_table(head: list, rows: list) -> None:
    print(markdown_table(head, [[str(cell) for cell in row] for row in rows]))


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = options.out
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "results.json"
        self.results = json.loads(self.path.read_text()) if self.path.exists() else {}

    def hone(self, *words, xla_flags: str = "") -> dict:
        command = ["nice", "-n", str(self.options.nice), str(self.options.hone), *map(str, words), "--json", "-q"]
        begin, begin_cpu = time.monotonic(), children_seconds()
        environment = {**os.environ, "XLA_FLAGS": xla_flags} if xla_flags else None
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words[:3]))}: {done.stderr.strip()[-300:]}")
        answer = json.loads(done.stdout)
        answer["wall_seconds"] = time.monotonic() - begin
        answer["cpu_seconds"] = children_seconds() - begin_cpu
        return answer

    def keep(self, key: str, make) -> dict | None:
        """The result under a key, computed once; None when it fails (the error is stored, and the next run retries)."""
        found = self.results.get(key)
        if found is None or "error" in found:
            try:
                found = make()
            except RuntimeError as error:
                found = {"error": str(error)}
                print(f"{key}: {error}", file=sys.stderr)
            self.results[key] = found
            partial = self.path.with_suffix(".partial")
            partial.write_text(json.dumps(self.results))
            partial.rename(self.path)
        return None if "error" in found else found

    def graph(self, name: str) -> Path:
        """The task graph of a workload, made of its program once."""
        path = self.folder / "graphs" / f"{name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in workloads.CORPUS_GRAPHS:
                tpu_graph.write(workloads.CORPUS / workloads.CORPUS_GRAPHS[name], path, name)
                return path
            program = workloads.export(name, self.folder / "workloads")
            flags = workloads.NO_TILES_FLAGS if name in workloads.WITHOUT_TILES else ""
            self.hone("place", program, "--devices", "gpu2-nvlink", "--strategy", "single", "--graph", path,
                      xla_flags=flags)  # fmt: skip
        return path

    def where(self, name: str) -> list:
        return [self.graph(name), "--devices", f"gpu{DEVICES[name]}-nvlink"]

    def policy_options(self) -> list:
        return ["--tasks", self.options.tasks, "--hidden", self.options.hidden, "--steps", self.options.refinements]

    def baselines(self, name: str, tasks: str) -> dict | None:
        def make():
            found = self.hone(
                "place", *self.where(name), "--tasks", tasks, "--strategy", "single", "--parameters", "copied"
            )
            single = found["step_seconds"] if found["valid"] else None
            return {"seconds": {**found["baselines"], "single": single}, "nodes": found["operations"]}

        return self.keep(f"unseen baselines {tasks} {name}", make)

    def start(self, name: str) -> Path:
        """The plan that policies refine, as hone place --from reads it."""
        path = self.folder / "starts" / f"{name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.with_suffix(".partial")
            self.hone("go", "train", *self.where(name), "--iterations", 0, "--samples", 0, "--plans", whole,
                      *self.policy_options())  # fmt: skip
            path.write_text(json.dumps(json.loads(whole.read_text())["problems"][0]["plan"]))
            whole.unlink()
        return path

    def anneal(self, name: str, steps: int) -> dict | None:
        """Annealing from the start of the policies, with its improvements over time."""

        def make():
            words = ["--tasks", self.options.tasks, "--strategy", "anneal", "--steps", steps]
            answer = self.hone("place", *self.where(name), *words, "--parameters", "copied", "--from", self.start(name))
            return {
                "start": answer["baselines"]["given"],
                "best": answer["step_seconds"] if answer["valid"] else None,
                "gains": answer["gains"],
                "cpu_seconds": answer["cpu_seconds"],
            }

        return self.keep(f"anneal {steps} {name}", make)

    def policy(self) -> Path | None:
        """The transferred policy: a given one, or one trained here."""
        if self.options.policy:
            return self.options.policy
        iterations = self.options.iterations * len(TRAINING)
        trained = self.train("transfer policy", TRAINING, iterations)
        return self.folder / "transfer_policy.safetensors" if trained else None

    def unseen(self, tasks: str) -> list:
        """(workload, baselines, the policy's own decisions, its variants) of those it was not trained on."""
        rows, policy = [], self.policy()
        for name in self.options.workloads if policy else []:
            if name in TRAINED_ON:
                continue

            def place(samples, name=name):
                words = ["--tasks", tasks, "--policy-file", policy, "--samples", samples, "--seed", self.options.seed]
                answer = self.hone("go", "place", *self.where(name), *words)
                return {k: answer[k] for k in ("start", "start_seconds", "simulations")} | answer["evaluation"]

            row = [
                self.baselines(name, tasks),
                self.keep(f"unseen own {tasks} {name}", lambda: place(0)),  # noqa: B023
                self.keep(f"unseen sampled {tasks} {name}", lambda: place(self.options.samples)),  # noqa: B023
            ]
            if all(row):
                rows.append([name, *row])
        return rows

    def train(self, key: str, pairs: list, iterations: int, *words) -> dict | None:
        def make():
            where = [self.graph(name) for name, _ in pairs]
            devices = ",".join(topology for _, topology in pairs)
            words_ = words if words[:1] == ("--from",) else [*self.policy_options(), *words]
            answer = self.hone(
                "go", "train", *where, "--devices", devices, "--iterations", iterations, "--seed", self.options.seed,
                "--samples", 0, "-o", self.folder / f"{key.replace(' ', '_')}.safetensors", *words_,
            )  # fmt: skip
            return {k: answer[k] for k in ("problems", "gains", "seconds", "cpu_seconds", "iterations", "interrupted")}

        return self.keep(key, make)
