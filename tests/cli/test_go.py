"""hone go train, hone go place and hone place --strategy go from outside, on small task graphs."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"
SMALL = ["--hidden", 8, "--heads", 2, "--steps", 2, "--train-samples", 8, "--samples", 4]


def run(*arguments, code=0):
    """The output of a call that must end with `code`."""
    done = subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def run_json(*arguments, code=0):
    return json.loads(run(*arguments, "--json", "-q", code=code).stdout)


def branches(count: int, length: int) -> dict:
    """A source, chains of matrix products, a join."""
    ops = [{"name": "source", "opcode": "dot", "kind": "matrix", "flops": 1e9, "output_bytes": 4096.0, "dims": [1024]}]
    edges, ends = [], []
    for branch in range(count):
        last = 0
        for step in range(length):
            name = f"b{branch}_{step}"
            ops.append({**ops[0], "name": name, "flops": 1e10 * (1 + (branch + step) % 3)})
            edges.append([last, len(ops) - 1, 1.0])
            last = len(ops) - 1
        ends.append(last)
    ops.append({**ops[0], "name": "join", "is_output": True})
    edges += [[end, len(ops) - 1, 1.0] for end in ends]
    return {"name": "branches", "ops": ops, "edges": edges}


class GoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        cls.graph = cls.tmp / "branches.json"
        cls.graph.write_text(json.dumps(branches(5, 4)))
        cls.policy = cls.tmp / "policy.safetensors"
        cls.trained = run_json(
            "go", "train", cls.graph, "--devices", "gpu2-nvlink", "--iterations", 6, "--start", "single", "-o",
            cls.policy, *SMALL,
        )  # fmt: skip

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_training_finds_more_than_the_start(self):
        row = self.trained["problems"][0]
        self.assertEqual(row["start"], "single")
        self.assertLess(row["best_seconds"], 0.95 * row["start_seconds"])
        self.assertEqual(self.trained["iterations"], 6)
        self.assertTrue(self.policy.exists())
        found = [gain["step_seconds"] for gain in self.trained["gains"]]
        self.assertEqual(found, sorted(found, reverse=True))

    def test_equal_seeds_give_equal_policies(self):
        files = [self.tmp / f"same{i}.safetensors" for i in range(3)]
        for i, path in enumerate(files):
            run("go", "train", self.graph, "--devices", "gpu2-nvlink", "--iterations", 3, "--seed", i // 2, "-o", path,
                "-q", *SMALL)  # fmt: skip
        weights = [path.read_bytes()[8 + int.from_bytes(path.read_bytes()[:8], "little") :] for path in files]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(weights[0], weights[2])

    def test_resumed_training_ends_where_a_whole_run_does(self):
        checkpoint, whole, parts = (self.tmp / f"{n}.safetensors" for n in ("checkpoint", "whole", "parts"))
        base = ["go", "train", self.graph, "--devices", "gpu2-nvlink", "-q", *SMALL]
        run(*base, "--iterations", 5, "-o", whole)
        run(*base, "--iterations", 2, "--checkpoint", checkpoint, "-o", parts)
        run(*base, "--iterations", 5, "--checkpoint", checkpoint, "--resume", "-o", parts)
        weights = [path.read_bytes()[8 + int.from_bytes(path.read_bytes()[:8], "little") :] for path in (whole, parts)]
        self.assertEqual(*weights)

    def test_placing_is_never_worse_than_the_start_and_online_never_worse_than_before(self):
        online, last = self.tmp / "online.safetensors", float("inf")
        for seed in range(2):
            use = ["--policy-file", self.policy, "--online", online, "--iterations", 2, "--seed", seed]
            answer = run_json("go", "place", self.graph, "--devices", "gpu2-nvlink", *use)
            self.assertLessEqual(answer["seconds"], answer["start_seconds"])
            self.assertLessEqual(answer["seconds"], last)
            last = answer["seconds"]

    def test_the_policy_is_a_strategy_of_hone_place(self):
        answer = run_json("place", self.graph, "--devices", "gpu2-nvlink", "--tasks", "placement,schedule,fusion",
                          "--strategy", "go", "--policy-file", self.policy)  # fmt: skip
        self.assertTrue(answer["valid"])
        known = [seconds for seconds in answer["baselines"].values() if seconds]
        self.assertLessEqual(answer["step_seconds"], min(known) * 1.0001)

    def test_parameters_live_where_they_are_said_to(self):
        graph = branches(5, 4)
        graph["ops"].append({"name": "w", "opcode": "parameter", "kind": "input", "output_bytes": 1e8, "dims": [1024]})
        graph["edges"] += [["w", op["name"]] for op in graph["ops"][1:-2]]
        path, plan = self.tmp / "read.json", self.tmp / "read-plan.json"
        path.write_text(json.dumps(graph))
        words = ["--devices", "gpu2-nvlink", "--policy-file", self.policy, *SMALL[-2:]]
        seconds = {}
        for where in ("home", "copied"):
            answer = run_json("go", "place", path, *words, "--parameters", where, "-o", plan)
            for simulated in ("home", "copied"):
                again = run_json(
                    "place", path, "--devices", "gpu2-nvlink", "--strategy", "single", "--from", plan, "--parameters",
                    simulated,
                )  # fmt: skip
                seconds[where, simulated] = again["baselines"]["given"]
            self.assertAlmostEqual(answer["seconds"], seconds[where, where], delta=1e-9 * answer["seconds"])
        # The plan for copies pays for the parameter as soon as it has a home.
        self.assertGreater(seconds["copied", "home"], seconds["copied", "copied"])
        self.assertIn("--parameters", run("go", "place", path, *words, "--parameters", "lost", code=2).stderr)

    def test_a_policy_decides_the_tasks_that_are_asked_for(self):
        answer = run_json("go", "place", self.graph, "--devices", "gpu2-nvlink", "--policy-file", self.policy,
                          "--tasks", "placement", "-o", self.tmp / "plan.json")  # fmt: skip
        self.assertLessEqual(answer["seconds"], answer["start_seconds"])
        plan = json.loads((self.tmp / "plan.json").read_text())
        self.assertEqual(plan["fusion"], [])
        self.assertEqual(len(plan["device"]), 22)

    def test_training_also_on_fewer_tasks(self):
        answer = run_json("go", "train", self.graph, "--devices", "gpu2-nvlink", "--iterations", 2, "--also",
                          "placement", *SMALL)  # fmt: skip
        self.assertEqual([row["name"] for row in answer["problems"]], ["branches", "branches (placement)"])

    def test_the_policy_s_fusion_runs_on_the_real_compiler(self):
        program, package = self.tmp / "two_kernels.hlo", self.tmp / "fused.hone"
        program.write_text(programs.TWO_KERNELS)
        answer = run_json("go", "fuse", program, "--policy-file", self.policy, "--samples", 8, "--budget", "5s", "-o",
                          package, "--db", self.tmp / "fuse.db", "--candidates", 3)  # fmt: skip
        self.assertTrue(answer["verified"])
        self.assertGreaterEqual(answer["speedup"], 1)
        self.assertTrue((package / "decisions.json").exists())
        plans = answer["fusion"]["plans"]
        self.assertGreaterEqual(len(plans), 1)
        for plan in plans:
            self.assertEqual(plan["measured"]["outcome"], "ok")
            self.assertGreater(plan["measured"]["ratio"], 0)
        self.assertEqual(sorted(plans, key=lambda plan: plan["simulated_seconds"]), plans)

    def test_fusing_refuses_what_it_cannot_measure(self):
        program = self.tmp / "again.hlo"
        program.write_text(programs.TWO_KERNELS)
        for arguments, word in (
            ([program, "--devices", "gpu2-nvlink", "--policy-file", self.policy], "--devices"),
            ([program, "--policy-file", self.tmp / "missing.safetensors"], "missing.safetensors"),
            ([self.tmp / "missing.hlo", "--policy-file", self.policy], "missing.hlo"),
        ):
            with self.subTest(word=word):
                done = run("go", "fuse", *arguments, "-o", self.tmp / "never.hone", "--db", self.tmp / "f.db", code=2)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertFalse((self.tmp / "never.hone").exists())

    def test_bad_input_is_one_line_and_writes_nothing(self):
        out = self.tmp / "none.safetensors"
        broken = self.tmp / "broken.safetensors"
        broken.write_text("not a policy")
        cases = [
            (["train", self.graph, "--devices", "no-such-topology", "-o", out], "no-such-topology"),
            (
                ["train", self.graph, self.graph, self.graph, "--devices", "gpu2-nvlink,gpu2-nvlink", "-o", out],
                "topolog",
            ),
            (["train", self.tmp / "missing.json", "--devices", "gpu2-nvlink", "-o", out], "missing.json"),
            (["train", self.graph, "--devices", "gpu2-nvlink", "--tasks", "magic", "-o", out], "magic"),
            (["train", self.graph, "--devices", "gpu2-nvlink", "--start", "magic", "-o", out], "magic"),
            (["train", self.graph, "--devices", "gpu2-nvlink", "--resume", "-o", out], "--checkpoint"),
            (["place", self.graph, "--devices", "gpu2-nvlink", "--policy-file", broken, "-o", out], "broken"),
        ]
        for arguments, word in cases:
            with self.subTest(arguments=arguments):
                done = run("go", *arguments, code=2)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertFalse(out.exists())

    def test_help(self):
        for arguments in (
            ["go", "--help"],
            ["go", "train", "--help"],
            ["go", "place", "--help"],
            ["go", "fuse", "--help"],
        ):
            self.assertIn("Usage", run(*arguments).stdout)


if __name__ == "__main__":
    unittest.main()
