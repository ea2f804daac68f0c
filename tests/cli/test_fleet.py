"""Tuning on a fleet: the distribution of work and the effect of a lost node, on fake nodes; and on a real Ray cluster
of two nodes on this machine, one of which is killed during the tune. The latter needs Ray (scripts/setup.sh --fleet)
and is skipped without it.
"""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"
sys.path.insert(0, str(ROOT / "python"))

from hone.errors import Error  # noqa: E402
from hone.fleet import plan, tune  # noqa: E402

# Several kernels, each large enough to matter.
PROGRAM = """HloModule many
max {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] maximum(x, y) }}
ENTRY main {{
  a = f32[256,256] parameter(0)
  b = f32[256,256] parameter(1)
  low = f32[] constant(-inf)
  t = f32[256,256] transpose(b), dimensions={{1,0}}
  s = f32[256,256] add(a, t)
  d = f32[256,256] dot(s, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  u = f32[256,256] transpose(d), dimensions={{1,0}}
  v = f32[256,256] multiply(u, a)
  m = f32[256] reduce(v, low), dimensions={{1}}, to_apply=max
  mb = f32[256,256] broadcast(m), dimensions={{0}}
  e = f32[256,256] dot(v, mb), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT r = f32[256,256] subtract(e, d)
}}
""".format()

HELLO = {"cpu": "cpu", "cores": 2, "xla_version": "2.21.0"}


def kernel(name, share=0.1, options=8):
    return {"fingerprint": name, "share": share, "options": options}


class PlanTest(unittest.TestCase):
    def test_valuable_kernels_are_spread_over_the_tasks(self):
        kernels = [kernel(f"k{i}", share=1 / (i + 2)) for i in range(20)]
        tasks = plan.share_out(kernels, nodes=2)
        self.assertEqual(len(tasks), 2 * plan.TASKS_PER_NODE)
        self.assertEqual([task.kernels[0] for task in tasks], [f"k{i}" for i in range(8)])
        self.assertEqual(sorted(k for task in tasks for k in task.kernels), sorted(k["fingerprint"] for k in kernels))

    def test_what_cannot_gain_is_left_alone(self):
        tasks = plan.share_out([kernel("a"), kernel("one", options=1), kernel("tiny", share=0.001)], nodes=3)
        self.assertEqual([task.kernels for task in tasks], [["a"]])
        self.assertEqual(plan.share_out([], nodes=3), [])

    def test_time_is_divided_by_rounds(self):
        self.assertEqual(plan.task_seconds(40, nodes=2, tasks=8), 10)
        self.assertEqual(plan.task_seconds(40, nodes=2, tasks=1), 40)
        self.assertEqual(plan.task_seconds(-5, nodes=2, tasks=8), plan.SHORTEST_TASK_S)

    def test_machines_are_never_mixed(self):
        here, other, third = (plan.HostType(name, "2.21.0") for name in ("here", "other", "third"))
        self.assertEqual(plan.choose_type([other, here, other], own=here), here)
        self.assertEqual(plan.choose_type([other, other], own=here), other)
        with self.assertRaisesRegex(Error, "other.*third"):
            plan.choose_type([third, other], own=here)
        with self.assertRaises(Error):  # measurements of another XLA are not comparable
            plan.choose_type([here, plan.HostType("here", "2.22.0")])


class MadeUpNode:
    """Answers at once. lost_in: the method, and the number of the call, in which the machine is lost."""

    def __init__(self, name, host="cpu", lost_in=(None, 0), failing=0):
        self.name, self.host, self.lost_in, self.failing = name, host, lost_in, failing
        self.calls, self.lost, self.stopped = [], False, False

    def call(self, method, *arguments):
        future = concurrent.futures.Future()
        self.calls.append((method, arguments))
        count = sum(1 for done, _ in self.calls if done == method)
        if self.lost or (method, count) == self.lost_in:
            self.lost = True
            future.set_exception(tune.NodeLost("gone"))
        else:
            future.set_result(getattr(self, method)(*arguments))
        return future

    def describe(self):
        return {**HELLO, "cpu": self.host}

    def prepare(self, files, program, options, database):
        self.files, self.options, self.shared = files, options, database

    def take_database(self, database):
        pass

    def inspect(self):
        return {"fingerprint": "p", "kernel_list": [kernel(f"k{i}") for i in range(6)]}

    def tune_kernels(self, kernels, seconds):
        if self.failing > 0:
            self.failing -= 1
            return {"answer": {"error": {"message": "the disk is full"}, "code": 1}, "database": None}
        return {"answer": {"kernels": kernels}, "database": f"{self.name}:{','.join(kernels)}".encode()}

    def tune_program(self, name, seconds):
        return {
            "answer": {"speedup": 1.5},
            "files": {"report.json": b'{"output":"/node/out"}'},
            "package": "/node/out",
            "database": None,
        }

    def rows(self):
        return None

    def stop(self):
        self.stopped = True

    def measured(self):
        return [k for method, arguments in self.calls if method == "tune_kernels" for k in arguments[0]]


class FakeFleet(tune.Fleet):
    """Records the databases instead of merging them."""

    def __init__(self, nodes, request):
        self.kept, self.said = [], []
        super().__init__(nodes, request, self.said.append)

    def keep(self, content):
        if content is not None:
            self.kept += content.decode().split(":")[1].split(",")


class FleetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hone-fleet-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "many.hlo").write_text(PROGRAM)

    def request(self, **more):
        return {
            "hone": str(HONE),
            "program": str(self.dir / "many.hlo"),
            "db": str(self.dir / "fleet.db"),
            "output": str(self.dir / "many.hone"),
            "budget_s": 60,
            "options": [],
            **more,
        }

    def run_fleet(self, nodes, **more):
        fleet = FakeFleet(nodes, self.request(**more))
        return fleet, fleet.run()

    def test_every_kernel_is_tuned_once(self):
        nodes = [MadeUpNode("a"), MadeUpNode("b")]
        fleet, result = self.run_fleet(nodes)
        self.assertEqual(sorted(fleet.kept), [f"k{i}" for i in range(6)])
        self.assertTrue(all(node.measured() for node in nodes))
        self.assertEqual(result["summary"]["speedup"], 1.5)
        self.assertEqual(nodes[0].files["many.hlo"].decode(), PROGRAM)

    def test_a_lost_node_costs_only_its_own_candidates(self):
        dies = MadeUpNode("dies", lost_in=("tune_kernels", 2))
        fleet, result = self.run_fleet([dies, MadeUpNode("lives")])
        self.assertEqual(sorted(fleet.kept), [f"k{i}" for i in range(6)])
        self.assertEqual(result["summary"]["speedup"], 1.5)
        self.assertTrue(any("dies is lost" in line for line in fleet.said))

    def test_a_node_lost_at_any_point_is_done_without(self):
        for method in ("describe", "prepare", "inspect", "tune_program"):
            with self.subTest(method):
                fleet, result = self.run_fleet([MadeUpNode("dies", lost_in=(method, 1)), MadeUpNode("lives")])
                self.assertEqual(sorted(fleet.kept), [f"k{i}" for i in range(6)])
                self.assertEqual(result["summary"]["speedup"], 1.5)

    def test_when_all_nodes_are_lost_what_was_measured_is_kept(self):
        fleet = FakeFleet([MadeUpNode("dies", lost_in=("tune_kernels", 3))], self.request())
        with self.assertRaisesRegex(tune.RunFailed, "every node"):
            fleet.run()
        self.assertEqual(len(fleet.kept), 4)  # two tasks of two kernels

    def test_other_machines_measure_nothing(self):
        other = MadeUpNode("other", host="another cpu")
        fleet, _ = self.run_fleet([MadeUpNode("a"), other], own_type=plan.HostType("cpu, 2 cores", "2.21.0"))
        self.assertEqual([method for method, _ in other.calls], ["describe"])
        self.assertTrue(any("another kind of machine" in line for line in fleet.said))

    def test_a_task_that_fails_is_tried_again_but_not_for_ever(self):
        fleet, _ = self.run_fleet([MadeUpNode("a", failing=2)])
        self.assertEqual(sorted(fleet.kept), [f"k{i}" for i in range(6)])
        fleet, result = self.run_fleet([MadeUpNode("a", failing=1000)])
        self.assertEqual(fleet.kept, [])
        self.assertEqual(result["summary"]["speedup"], 1.5)  # the program is tuned anyway

    def test_files_travel_and_a_shared_database_is_named_to_the_nodes(self):
        (self.dir / "x.npz").write_bytes(b"arrays")
        node = MadeUpNode("a")
        url = "postgresql://h/d"
        options = [["--threads", "2"], ["--inputs", str(self.dir / "x.npz")], ["--tile-model", "analytical"]]
        self.run_fleet([node], db=url, options=options)
        self.assertEqual(node.files["inputs.npz"], b"arrays")
        self.assertEqual(node.options[1], ["--inputs", "{folder}/inputs.npz"])
        self.assertEqual([node.options[0], node.options[2]], [options[0], options[2]])
        self.assertEqual(node.shared, url)
        self.assertNotIn("take_database", [method for method, _ in node.calls])

    def test_a_shared_database_cannot_be_fresh(self):
        with self.assertRaisesRegex(Error, "fresh"):
            tune.Fleet([], self.request(db="postgresql://h/d", options=[["--fresh"]]))

    def test_packages_name_their_own_place(self):
        output = self.dir / "many.hone"
        for content in (b"old", b'{"output":"/node/out"}'):
            tune.write_package(output, {"report.json": content, "sub/x": b"y"}, "/node/out")
        self.assertEqual(json.loads((output / "report.json").read_text())["output"], str(output))
        self.assertEqual(sorted(os.listdir(self.dir)), ["many.hlo", "many.hone"])


class CommandTest(unittest.TestCase):
    """Errors before a cluster is used."""

    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        folder = tempfile.TemporaryDirectory(prefix="hone-fleet-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "many.hlo").write_text(PROGRAM)

    def hone(self, *arguments):
        return subprocess.run(
            [str(HONE), *map(str, arguments)], cwd=self.dir, capture_output=True, text=True, timeout=300
        )

    def test_bad_input_is_one_line_and_code_2(self):
        for words, arguments in (
            ("none of local, ray", ["many.hlo", "--engine", "spark"]),
            ("there is no such file", ["missing.hlo", "--engine", "ray"]),
            ("a file", ["-", "--engine", "ray"]),
            ("exhaustive", ["many.hlo", "--engine", "ray", "--exhaustive"]),
            ("one node", ["many.hlo", "--engine", "ray", "--kernels", "k1"]),
            ("budget", ["many.hlo", "--engine", "ray", "--budget", "0"]),
            ("cannot be reached", ["many.hlo", "--engine", "ray", "--address", "127.0.0.1:1"]),
            ("none of these kernels", ["many.hlo", "--kernels", "k1,k2", "--db", "x.db"]),
        ):
            with self.subTest(words):
                done = self.hone("tune", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(words, done.stderr)
        self.assertFalse((self.dir / "many.hone").exists())

    def test_named_kernels_are_tuned_into_the_database_and_known_from_it(self):
        inspected = json.loads(self.hone("inspect", "many.hlo", "--json").stdout)
        names = [k["fingerprint"] for k in inspected["kernel_list"] if k["options"] > 1][:2]
        self.assertEqual(len(names), 2)
        arguments = ["tune", "many.hlo", "--kernels", ",".join(names), "--db", "k.db", "--budget", "60s",
                     "--top-k", "2", "--tile-model", "analytical", "--json", "--quiet"]  # fmt: skip
        first = json.loads(self.hone(*arguments).stdout)
        self.assertEqual({k["fingerprint"] for k in first["kernels"]}, set(names))
        self.assertTrue(all(k["complete"] and not k["known"] for k in first["kernels"]), first)
        again = json.loads(self.hone(*arguments).stdout)
        self.assertTrue(all(k["known"] for k in again["kernels"]), again)
        self.assertFalse((self.dir / "many.hone").exists())
        # Only rows about these kernels are merged.
        merged = json.loads(self.hone("db", "merge", "k.db", "--db", "one.db", "--only", names[0], "--json").stdout)
        self.assertGreater(merged["records_added"], 0)
        lines = [json.loads(line) for line in self.hone("db", "export", "--db", "one.db").stdout.splitlines()]
        self.assertEqual({line["kernel"] for line in lines}, {names[0]})


@unittest.skipUnless(importlib.util.find_spec("ray"), "SKIPPED: Ray is not installed (scripts/setup.sh --fleet)")
class RayTest(unittest.TestCase):
    """Two nodes on this machine, each with one CPU."""

    def setUp(self):
        if not HONE.exists():
            self.skipTest(f"SKIPPED: {HONE} is missing, build it first")
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112  A busy machine is too slow for Ray's 30.
        from ray.cluster_utils import Cluster

        folder = tempfile.TemporaryDirectory(prefix="hone-ray-test-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "many.hlo").write_text(PROGRAM)
        arguments = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=arguments)
        self.addCleanup(self.cluster.shutdown)
        self.second = self.cluster.add_node(num_cpus=1, object_store_memory=80 << 20)

    def start(self, *more):
        """hone tune on the cluster; returns when its first task is done, with what it has said. The search ends by
        itself long before its budget, however busy the machine is."""
        process = subprocess.Popen(
            [str(HONE), "tune", "many.hlo", "--engine", "ray", "--address", self.cluster.address, "--budget", "300s",
             "--no-fusion", "--tile-model", "analytical", "--top-k", "3", "--db", "fleet.db", "-o", "many.hone",
             "--json", *more],
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        said = []
        for line in process.stderr:
            said.append(line)
            if "kernels: 1/" in line:
                break
        return process, said

    def finish(self, process, said):
        """(standard output, exit code); appends the rest of standard error to `said`."""
        reader = threading.Thread(target=lambda: said.extend(process.stderr))
        reader.start()
        out = process.stdout.read()
        reader.join()
        process.stdout.close()
        process.stderr.close()
        return out, process.wait()

    def hone(self, *arguments):
        done = subprocess.run(
            [str(HONE), *arguments, "--json"], cwd=self.dir, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_interrupt_resume_a_node_killed_and_a_cluster_that_ends(self):
        process, said = self.start()
        process.send_signal(signal.SIGINT)
        out, code = self.finish(process, said)
        self.assertEqual(code, 1, "".join(said))
        self.assertTrue(any("2 nodes of type" in line for line in said), said)
        self.assertIn("interrupted", json.loads(out)["error"]["message"])
        before = self.hone("db", "info", "--db", "fleet.db")
        self.assertGreater(before["kernel_records"], 0)

        process, said = self.start()
        self.cluster.remove_node(self.second, allow_graceful=False)
        out, code = self.finish(process, said)
        self.assertEqual(code, 0, "".join(said))
        self.assertTrue(any("is lost" in line for line in said), said)
        self.assertEqual(out[:1], "{", out)  # nothing but the answer
        summary = json.loads(out)
        self.assertTrue(summary["verified"])
        self.assertGreaterEqual(summary["speedup_interval"][1], 0.99)
        self.assertEqual(summary["output"], "many.hone")
        self.assertTrue(self.hone("db", "check", "--db", "fleet.db")["ok"])
        after = self.hone("db", "info", "--db", "fleet.db")
        self.assertEqual(len(after["by_host"]), 1)
        self.assertEqual(after["tuned"], 1)
        self.assertGreater(after["records"], before["records"])
        self.hone("run", "many.hone")  # the package is complete

        process, said = self.start("--force")
        self.cluster.shutdown()
        out, code = self.finish(process, said)
        self.assertEqual(code, 1, "".join(said))
        self.assertIn("every node of the fleet is lost", json.loads(out)["error"]["message"])
        self.assertTrue(self.hone("db", "check", "--db", "fleet.db")["ok"])


if __name__ == "__main__":
    unittest.main()
