"""hone place from outside: tables, files it writes, and bad input.

Needs only the standard library. The test that decodes a trace with Perfetto's definitions needs the package perfetto
(pip install perfetto) and is skipped with a message without it.
"""

import itertools
import json
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import HONE, ROOT, interrupted, own_environment

BLOCK = ROOT / "examples" / "layer_norm_chain.mlir"

TOPOLOGY = """
name = "two"
[[device]]
name = "d"
count = 2
memory_gib = 1
matrix_tflops = 1
vector_tflops = 0.5
memory_gb_per_s = 10
launch_us = 1
[[link]]
between = ["d0", "d1"]
gb_per_s = 5
latency_us = 3
"""

# x -> a -> {b, c} -> d; b and c are independent of each other and large enough for two devices.
GRAPH = {
    "name": "diamond",
    "ops": [
        {"name": "x", "kind": "input", "output_bytes": 1000},
        {"name": "a", "opcode": "add", "flops": 1e6, "output_bytes": 1000},
        {"name": "b", "opcode": "dot", "kind": "matrix", "flops": 1e9, "output_bytes": 1000},
        {"name": "c", "opcode": "dot", "kind": "matrix", "flops": 1e9, "output_bytes": 1000},
        {"name": "d", "opcode": "add", "flops": 1e6, "output_bytes": 1000, "is_output": True},
    ],
    "edges": [["x", "a"], ["a", "b"], ["a", "c"], ["b", "d"], ["c", "d", 1]],
}


def hone(folder, *arguments):
    command = [str(HONE), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=own_environment(folder), capture_output=True, text=True, timeout=300, check=False
    )


class PlaceTest(unittest.TestCase):
    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        temporary = tempfile.TemporaryDirectory(prefix="hone-place-test-")
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)
        (self.dir / "two.toml").write_text(TOPOLOGY)
        (self.dir / "diamond.json").write_text(json.dumps(GRAPH))

    def place(self, *arguments):
        done = hone(self.dir, "place", *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class GraphTest(PlaceTest):
    def test_every_strategy_answers_and_annealing_is_no_worse(self):
        best = self.place("diamond.json", "--devices", "two.toml", "--tasks", "placement,schedule", "--steps", "500")
        self.assertTrue(best["valid"])
        self.assertEqual(set(best["placement"]) - {0, 1}, set())
        self.assertEqual(len(best["placement"]), 5)
        for name in ("single", "layerwise", "roundrobin", "metis", "heft", "random", "critical-path"):
            self.assertGreaterEqual(best["baselines"][name], best["step_seconds"])
        # Two products of 1 ms side by side, not one after the other.
        self.assertAlmostEqual(best["baselines"]["single"], 2.008e-3, delta=1e-5)
        self.assertLess(best["step_seconds"], 1.1e-3)
        self.assertNotEqual(best["placement"][2], best["placement"][3])
        for name in ("heft", "metis", "roundrobin"):
            answer = self.place("diamond.json", "--devices", "two.toml", "--strategy", name)
            self.assertNotIn(name, answer["baselines"])

    def test_the_same_seed_gives_the_same_answer(self):
        command = ("diamond.json", "--devices", "two.toml", "--tasks", "placement,fusion,schedule", "--steps", "200")
        answers = [self.place(*command, "--seed", "3") for _ in range(2)]
        for answer in answers:
            del answer["search"]["elapsed_seconds"], answer["search"]["cpu_seconds"]
            for gain in answer["gains"]:
                del gain["elapsed_seconds"], gain["cpu_seconds"]
        self.assertEqual(*answers)

    def test_a_search_says_when_it_found_what(self):
        answer = self.place("diamond.json", "--devices", "two.toml", "--strategy", "anneal", "--steps", "300")
        gains = answer["gains"]
        self.assertEqual(gains[0]["step"], 1)
        self.assertEqual(gains[-1]["step_seconds"], answer["step_seconds"])
        for before, after in itertools.pairwise(gains):
            self.assertLess(before["step"], after["step"])
            self.assertGreater(before["step_seconds"], after["step_seconds"])
            self.assertLessEqual(before["cpu_seconds"], after["cpu_seconds"])
        heft = self.place("diamond.json", "--devices", "two.toml", "--strategy", "heft")
        self.assertEqual(heft["gains"], [])

    def test_by_default_blocks_move_and_all_tasks_are_decided(self):
        answer = self.place("diamond.json", "--devices", "two.toml", "--steps", "200")
        self.assertEqual(answer["tasks"], "placement,fusion,schedule")
        self.assertEqual(answer["strategy"], "guided-moves")
        self.assertLess(answer["step_seconds"], 1.1e-3)
        self.assertEqual(answer["search"]["simulations"], 200)
        self.assertGreater(answer["search"]["elapsed_seconds"], 0)
        heft = self.place("diamond.json", "--devices", "two.toml", "--strategy", "heft")
        self.assertEqual(heft["search"]["simulations"], 0)

    def test_one_device_with_fusion_is_always_in_the_table(self):
        # Transfers take so long that several devices cannot pay off.
        (self.dir / "slow.toml").write_text(TOPOLOGY.replace("latency_us = 3", "latency_us = 9000"))
        chain = json.loads(json.dumps(GRAPH))
        chain["ops"][2:4] = [{**op, "opcode": "add", "kind": "elementwise"} for op in chain["ops"][2:4]]
        (self.dir / "chain.json").write_text(json.dumps(chain))
        answer = self.place("chain.json", "--devices", "slow.toml", "--steps", "1")
        self.assertLess(answer["baselines"]["single-fused"], answer["baselines"]["no-fusion"])
        self.assertEqual(answer["step_seconds"], answer["baselines"]["single-fused"])

    def test_a_budget_ends_a_search(self):
        answer = self.place("diamond.json", "--devices", "two.toml", "--budget", "0.3s")
        self.assertGreaterEqual(answer["search"]["elapsed_seconds"], 0.3)
        self.assertGreater(answer["search"]["simulations"], 100)
        answer = self.place("diamond.json", "--devices", "two.toml", "--budget", "60s", "--steps", "150")
        self.assertEqual(answer["search"]["simulations"], 150)
        done = hone(self.dir, "place", "diamond.json", "--devices", "two.toml", "--budget", "soon")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--budget", done.stderr)

    def test_an_interrupted_search_answers_with_its_best_plan(self):
        command = [str(HONE), "place", "diamond.json", "--devices", "two.toml", "--budget", "300s", "--json", "-o",
                   "plan.json"]  # fmt: skip
        environment = own_environment(self.dir)
        code, answer = interrupted(command, lambda line: "best" in line, timeout=60, cwd=self.dir, env=environment)
        self.assertEqual(code, 0)
        self.assertTrue(answer["interrupted"])
        self.assertLess(answer["step_seconds"], 1.1e-3)
        self.assertEqual(json.loads((self.dir / "plan.json").read_text())["step_seconds"], answer["step_seconds"])

    def test_a_search_begins_with_a_given_plan(self):
        (self.dir / "given.json").write_text(json.dumps({"device": [0, 0, 0, 1, 0], "schedule": [], "fusion": []}))
        words = ("diamond.json", "--devices", "two.toml", "--from", "given.json")
        given = self.place(*words, "--strategy", "single")["baselines"]["given"]
        self.assertLessEqual(self.place(*words, "--strategy", "anneal", "--steps", "1")["step_seconds"], given)
        for text, say in (
            ("[]", "not a plan"),
            ('{"device": [9, 9, 9, 9, 9], "schedule": [], "fusion": []}', "device 9"),
        ):
            (self.dir / "given.json").write_text(text)
            done = hone(self.dir, "place", *words, "--strategy", "single")
            self.assertEqual(done.returncode, 2)
            self.assertIn(say, done.stderr)

    def test_files_are_written(self):
        answer = self.place(
            "diamond.json", "--devices", "two.toml", "--steps", "200", "-o", "plan.json", "--trace", "step.pftrace",
            "--graph", "graph.json",
        )  # fmt: skip
        plan = json.loads((self.dir / "plan.json").read_text())
        self.assertEqual([op["name"] for op in plan["ops"]], ["a", "b", "c", "d"])
        self.assertEqual({op["device"] for op in plan["ops"]}, {"d0", "d1"})
        self.assertEqual(plan["step_seconds"], answer["step_seconds"])
        # A written graph is placed like the original.
        again = self.place("graph.json", "--devices", "two.toml", "--steps", "200")
        self.assertEqual(again["step_seconds"], answer["step_seconds"])

    def test_the_trace_decodes_with_perfettos_definitions(self):
        try:
            from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
        except ImportError:
            self.skipTest("SKIPPED: the package perfetto is not installed")
        answer = self.place("diamond.json", "--devices", "two.toml", "--steps", "300", "--trace", "step.pftrace")
        trace = Trace()
        trace.ParseFromString((self.dir / "step.pftrace").read_bytes())
        tracks = {}
        slices = []
        open_at = {}
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                tracks[packet.track_descriptor.uuid] = packet.track_descriptor
                continue
            event = packet.track_event
            name = tracks[event.track_uuid].name
            if event.type == event.TYPE_SLICE_BEGIN:
                self.assertNotIn(name, open_at, "slices of a device do not overlap")
                open_at[name] = (event.name, packet.timestamp)
            else:
                begun, start = open_at.pop(name)
                slices.append((name, begun, start, packet.timestamp))
        self.assertEqual(open_at, {})
        devices = [s for s in slices if s[0] in ("d0", "d1")]
        self.assertEqual(sorted(s[1] for s in devices), ["a", "b", "c", "d"])
        self.assertEqual(sum(s[0].startswith("link") for s in slices), 2)  # a there, b or c back
        self.assertAlmostEqual(max(s[3] for s in slices) * 1e-9, answer["step_seconds"], delta=2e-9)
        for descriptor in tracks.values():
            if descriptor.parent_uuid:
                self.assertIn(descriptor.parent_uuid, tracks)

    def test_a_plan_that_does_not_fit_is_said_to_be_invalid(self):
        graph = json.loads(json.dumps(GRAPH))
        for op in graph["ops"][1:4]:
            op["output_bytes"] = 0.4 * 2**30
        (self.dir / "big.json").write_text(json.dumps(graph))
        answer = self.place("big.json", "--devices", "two.toml", "--strategy", "single")
        self.assertFalse(answer["valid"])
        self.assertGreater(answer["peak_bytes"][0], 2**30)
        self.assertIsNone(answer["baselines"]["default"])


class BadInputTest(PlaceTest):
    def refused(self, *arguments, mentions):
        files = sorted(self.dir.iterdir())
        outputs = ("-o", "out.json", "--trace", "out.pftrace", "--graph", "out.graph")
        done = hone(self.dir, "place", *arguments, *outputs)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in mentions:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(self.dir.iterdir()), files, "something was written")
        answer = hone(self.dir, "place", *arguments, "--json")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("message", json.loads(answer.stdout)["error"])

    def topology(self, text):
        (self.dir / "bad.toml").write_text(text)
        return ("diamond.json", "--devices", "bad.toml")

    def test_unknown_keys(self):
        self.refused(
            *self.topology(TOPOLOGY.replace("memory_gib", "memory_gb")), mentions=["memory_gb", "bad.toml line"]
        )

    def test_zero_bandwidth(self):
        self.refused(
            *self.topology(TOPOLOGY.replace("= 5", "= 0")), mentions=["above zero", "gb_per_s", "bad.toml line 13"]
        )

    def test_no_device(self):
        self.refused(*self.topology('name = "empty"\n'), mentions=["no device", "bad.toml"])

    def test_no_such_topology(self):
        self.refused("diamond.json", "--devices", "gpu3-nvlink", mentions=["gpu3-nvlink", "gpu4-nvlink"])

    def test_no_toml(self):
        self.refused(*self.topology("name = ["), mentions=["TOML", "bad.toml line 1"])

    def test_a_program_larger_than_all_memory(self):
        graph = json.loads(json.dumps(GRAPH))
        graph["ops"][0]["output_bytes"] = 3 * 2**30
        (self.dir / "big.json").write_text(json.dumps(graph))
        self.refused("big.json", "--devices", "two.toml", mentions=["more memory", "big.json"])

    def test_a_cyclic_graph(self):
        graph = dict(GRAPH, edges=[*GRAPH["edges"], ["d", "a"]])
        (self.dir / "loop.json").write_text(json.dumps(graph))
        self.refused("loop.json", "--devices", "two.toml", mentions=["cycle", "diamond: "])

    def test_graphs_that_are_none(self):
        for text, mentions in [
            ("[", ["not a JSON"]),
            ('{"ops": []}', ["'ops'"]),
            ('{"ops": [{"name": "a", "flop": 1}]}', ["flop", "op 0"]),
            ('{"ops": [{"name": "a", "kind": "tensor"}]}', ["tensor"]),
            ('{"ops": [{"name": "a"}], "edges": [["a", "b"]]}', ["edge 0"]),
            ('{"ops": [{"name": "a"}, {"name": "a"}]}', ["same name"]),
        ]:
            with self.subTest(text=text):
                (self.dir / "bad.json").write_text(text)
                self.refused("bad.json", "--devices", "two.toml", mentions=mentions)

    def test_words_that_do_not_exist(self):
        self.refused("diamond.json", "--devices", "two.toml", "--tasks", "layout", mentions=["layout", "--tasks"])
        self.refused("diamond.json", "--devices", "two.toml", "--strategy", "magic", mentions=["magic", "metis"])
        self.refused("diamond.json", "--devices", "two.toml", "--costs", "measured", mentions=["--costs"])
        self.refused("missing.json", "--devices", "two.toml", mentions=["missing.json"])


class RunTest(PlaceTest):
    def test_placements_on_two_devices_have_the_outputs_of_one(self):
        for name in (
            "layer_norm_chain",
            "masked_attention",
            "rbf_kernel",
            "softmax_gelu_chain",
            "lstm_step",
            "lstm_scan",
        ):
            program = ROOT / "examples" / f"{name}.mlir"
            answer = self.place(program, "--devices", "cpu2", "--tasks", "placement", "--steps", "30", "--run")
            ran = {row["strategy"]: row["run"] for row in answer["table"]}
            self.assertEqual({row["outcome"] for row in ran.values()}, {"ok"}, f"{name}: {ran}")
            self.assertIn("1 devices", ran["single"]["note"])
            self.assertTrue(any("on 2 devices" in ran[s]["note"] for s in ("roundrobin", "random")), f"{name}: {ran}")
            self.assertGreater(ran["roundrobin"]["seconds"], 0)
            self.assertGreater(ran["roundrobin"]["to_one_thread"]["ratio"], 0)
            self.assertEqual((answer["parameters"], answer["costs"]), ("copied", "predicted"))
            # What is simulated is what runs: the same values cross. Of a loop's results only those that are read.
            for row in answer["table"] if name != "lstm_scan" else ():
                self.assertIn(f"of {row['transferred_bytes']:.0f} bytes", row["run"]["note"], row["strategy"])

    def test_what_cannot_be_run_is_refused(self):
        for words, hint in (
            ((BLOCK, "--devices", "cpu1", "--tasks", "placement"), "2 to 8"),
            ((BLOCK, "--devices", "gpu2-nvlink", "--tasks", "placement"), "host devices"),
            ((BLOCK, "--devices", "cpu2"), "--tasks placement"),
            (("diamond.json", "--devices", "cpu2", "--tasks", "placement"), "task graph"),
            ((BLOCK, "--devices", "cpu2", "--tasks", "placement", "--threads", "2"), "--threads"),
        ):
            done = hone(self.dir, "place", *words, "--run")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(hint, done.stderr)


class ProgramTest(PlaceTest):
    def test_a_program_is_placed_and_its_annotated_form_is_a_program(self):
        answer = self.place(
            BLOCK, "--devices", "gpu2-nvlink", "--tasks", "placement,fusion,schedule", "--steps", "300", "--hlo",
            "placed.hlo", "-o", "plan.json",
        )  # fmt: skip
        for name in ("default", "no-fusion", "xla-fusion", "metis", "heft", "layerwise"):
            self.assertGreater(answer["baselines"][name], 0)
        # XLA's own fusion is in the table and faster than none.
        self.assertLess(answer["baselines"]["xla-fusion"], 0.8 * answer["baselines"]["no-fusion"])
        text = (self.dir / "placed.hlo").read_text()
        self.assertIn('hone_device="', text)
        self.assertNotIn("sharding=", text)
        self.assertIn("hone_fusion=", text)
        self.assertNotIn('op_type="@', text)
        read = hone(self.dir, "inspect", "placed.hlo", "--json")
        self.assertEqual(read.returncode, 0, read.stderr)

    def test_fusion_plans_are_measured(self):
        answer = self.place(
            BLOCK, "--devices", "cpu1", "--tasks", "fusion", "--strategy", "no-fusion", "--measure",
        )  # fmt: skip
        rows = {row["strategy"]: row for row in answer["table"]}
        self.assertEqual(rows["default"]["measured"]["outcome"], "ok")
        self.assertEqual(rows["no-fusion"]["measured"]["outcome"], "ok")
        self.assertGreater(rows["no-fusion"]["measured"]["seconds"], 0)
        self.assertGreater(rows["no-fusion"]["step_seconds"], rows["default"]["step_seconds"])


if __name__ == "__main__":
    unittest.main()
