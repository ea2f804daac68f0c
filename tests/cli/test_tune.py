"""hone tune from outside: its summary, its database, and interrupts.

Runs build/hone (or that of $HONE_BUILD_DIR) on small programs. Needs only the standard library.
"""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from cli_case import WithWorker, own_environment
from programs import ENDLESS

SUMMARY_FIELDS = {
    "program",
    "fingerprint",
    "default_ns",
    "tuned_ns",
    "speedup",
    "speedup_interval",
    "verified",
    "candidates",
    "rejected",
    "failed",
    "seconds",
    "seed",
    "isa",
    "decisions",
    "output",
}


def children(pid):
    """Process ids of the direct children of `pid`."""
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


class Tune(WithWorker):
    def check_summary(self, summary):
        self.assertLessEqual(SUMMARY_FIELDS, set(summary))
        self.assertTrue(summary["verified"])
        low, high = summary["speedup_interval"]
        self.assertLessEqual(low, summary["speedup"])
        self.assertLessEqual(summary["speedup"], high)
        # Never slower than default XLA. A known result is only checked again, by a duel too short to prove small gains.
        self.assertGreaterEqual(high if summary["known"] else low, 1)
        self.assertGreater(summary["default_ns"], 0)
        self.assertGreater(summary["tuned_ns"], 0)

    def check_database(self):
        self.assertEqual(self.json("db", "check", "--db", self.db), {"ok": True, "problems": []})

    def test_precision(self):
        """The report has the original beside the converted program, and the package remembers what it holds."""
        summary = self.tune("dot", "--weights", "1", "--precision", "bf16", "--budget", "2s")
        precision = summary["precision"]
        self.assertEqual((precision["kind"], precision["weights"], precision["dots"]), ("bf16", 1, 1))
        self.assertGreater(precision["original_ns"], 0)
        self.assertTrue(precision["against_f64"])
        [output] = precision["outputs"]
        self.assertGreater(output["mean_error"], output["default_mean_error"])
        self.assertLess(output["largest_error"], 0.05)
        self.assertIn("precision    bf16 in 1 weights", (self.dir / "dot.hone" / "report.txt").read_text())
        target = json.loads((self.dir / "dot.hone" / "decisions.json").read_text())["target"]
        self.assertEqual(target["precision"], "bf16")
        self.hone("tune", "dot.hone", "--precision", "bf16", "--budget", "1s", code=2)
        self.hone("tune", "elementwise.hlo", "--precision", "bf16", "--budget", "1s", code=2)
        self.hone("tune", "dot.hlo", "--weights", "1", "--precision", "fp4", code=2)

    def test_tune_run_and_database(self):
        first = self.tune("elementwise", "--budget", "25s")
        self.check_summary(first)
        self.assertFalse(first["known"])
        self.assertGreater(first["candidates"], 5)
        if first["decisions"]:  # small enough for XLA's interpreter to check the winner as well
            self.assertTrue(json.loads((self.dir / "elementwise.hone/report.json").read_text())["interpreted"])
        package = self.dir / "elementwise.hone"
        for name in ("program.pb", "tuned.hlo", "decisions.json", "report.json", "report.txt"):
            self.assertGreater((package / name).stat().st_size, 0, name)
        self.assertEqual(json.loads((package / "report.json").read_text())["fingerprint"], first["fingerprint"])

        compared = self.json("run", "elementwise.hone", "--compare", "--budget", "2s")
        self.assertEqual(
            {
                "program",
                "speedup",
                "speedup_interval",
                "verified",
                "default_ns",
                "tuned_ns",
                "rounds",
                "seed",
                "threads",
            }
            - set(compared),
            set(),
        )
        self.assertTrue(compared["verified"])
        if first["decisions"]:
            self.assertGreater(compared["speedup"], 0.9)
        tuned = self.json("run", "elementwise.hone", "--repeat", "3", "--outputs", "tuned.npz")
        self.assertGreater(tuned["median_ns"], 0)

        second = self.tune("elementwise", "--budget", "25s")
        self.check_summary(second)
        self.assertTrue(second["known"])
        self.assertEqual(second["decisions"], first["decisions"])
        self.assertLess(second["candidates"], first["candidates"])

        info = self.json("db", "info", "--db", self.db)
        self.assertGreater(info["records"], 5)
        self.assertEqual(info["tuned"], 1)
        rows = [json.loads(line) for line in self.hone("db", "export", "--db", self.db).stdout.splitlines()]
        self.assertEqual(len(rows), info["records"] + info["tuned"])
        merged = self.json("db", "merge", self.db, "--db", self.dir / "other.db")
        self.assertEqual(merged["records_added"], info["records"])
        self.check_database()

        # The kernels are in the database but not the search: it is faster, and no kernel is measured again.
        fresh = self.tune("elementwise", "--budget", "25s", "--seed", "1")
        self.check_summary(fresh)
        self.assertFalse(fresh["known"])

    def test_what_is_tuned_under_a_limit_is_of_another_host(self):
        limit = ("--budget", "8s", "--max-isa", "sse4.2")
        summary = self.tune("elementwise", *limit)
        self.check_summary(summary)
        self.assertEqual(summary["isa"], "sse4.2")
        package = self.dir / "elementwise.hone"
        decisions, report = (json.loads((package / f"{name}.json").read_text()) for name in ("decisions", "report"))
        self.assertEqual(decisions["target"]["max_isa"], "sse4.2")
        self.assertTrue(decisions["host"].endswith(" cores, at most sse4.2"), decisions["host"])
        self.assertEqual((report["isa"], report["host"]), ("sse4.2", decisions["host"]))
        self.assertEqual(list(self.json("db", "info", "--db", self.db)["by_host"]), [decisions["host"]])

        # A package runs under its limit, and without a warning about another machine.
        for words in (("run", "elementwise.hone", "--repeat", "2"), ("inspect", "elementwise.hone")):
            self.assertEqual(self.json(*words)["isa"], "sse4.2")
        compared = self.hone("run", "elementwise.hone", "--compare", "--budget", "1s", "--json")
        self.assertEqual(json.loads(compared.stdout)["isa"], "sse4.2")
        self.assertNotIn(b"tuned on", compared.stderr)
        self.assertIn(b"compiled for at most sse4.2", self.hone("inspect", "elementwise.hone").stdout)

        # The whole machine knows nothing of it, and the limited one all.
        whole = self.tune("elementwise", "--budget", "8s", "-o", self.dir / "whole.hone")
        self.assertFalse(whole["known"])
        self.assertEqual(whole["isa"], self.json("worker")["isa"])
        hosts = self.json("db", "info", "--db", self.db)["by_host"]
        self.assertEqual(set(hosts), {decisions["host"], decisions["host"].removesuffix(", at most sse4.2")})
        self.assertTrue(self.tune("elementwise", *limit)["known"])

    def test_other_programs(self):
        for name in ("softmax", "dot"):
            self.check_summary(self.tune(name, "--budget", "12s", "-o", self.dir / f"out/{name}.hone"))
            self.assertTrue((self.dir / f"out/{name}.hone/decisions.json").exists())
        self.check_database()

    def test_declared_weights_and_strategy(self):
        summary = self.tune("dot", "--budget", "12s", "--weights", "1", "--strategy", "greedy")
        self.check_summary(summary)
        decisions = json.loads((self.dir / "dot.hone/decisions.json").read_text())
        self.assertEqual(decisions["target"]["weights"], [1])
        self.assertTrue(self.json("run", "dot.hone", "--compare", "--budget", "1s")["verified"])

    def start_tune(self, name, budget):
        return subprocess.Popen(
            self.arguments("tune", self.dir / f"{name}.hlo", "--db", self.db, "--budget", budget, "--json"),
            cwd=self.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=own_environment(self.dir),
        )

    def wait_for_rows(self, process, count):
        """Waits until the database has `count` rows, so that the search has begun."""
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if self.db.exists():
                done = subprocess.run(
                    self.arguments("db", "info", "--json", "--db", self.db), capture_output=True, check=False
                )
                if done.returncode == 0 and json.loads(done.stdout)["records"] >= count:
                    return
            time.sleep(0.05)
        self.fail("the tune ended before it measured anything")

    def test_interrupt_returns_the_best_so_far(self):
        process = self.start_tune("elementwise", "300s")
        self.wait_for_rows(process, 10)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
        self.assertEqual(process.returncode, 0, err.decode())
        summary = json.loads(out)
        self.check_summary(summary)
        self.assertTrue(summary["stopped"])
        self.assertLess(summary["seconds"], 200)
        self.assertTrue((self.dir / "elementwise.hone/decisions.json").exists())
        self.check_database()
        self.assertEqual(self.json("db", "info", "--db", self.db)["tuned"], 0)  # a search cut short is no final result

    def test_interrupt_of_a_program_that_runs_for_minutes(self):
        """Default XLA has not run once: there is no result, and the tune ends without waiting for minutes."""
        (self.dir / "endless.hlo").write_text(ENDLESS)
        process = self.start_tune("endless", "2s")  # the budget does not end default XLA's measurement
        time.sleep(6)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err.decode())
        self.assertIn("before there was a result", json.loads(out)["error"]["message"])
        self.assertFalse((self.dir / "endless.hone").exists())

    def test_killed_workers_cost_one_candidate_each(self):
        process = self.start_tune("softmax", "20s")
        killed = set()

        def kill_now_and_then():
            for pause in (0.1, 0.3, 0.7, 1.1, 1.9, 2.3, 3.1):
                time.sleep(pause)
                for child in children(process.pid):
                    try:
                        os.kill(child, signal.SIGKILL)
                        killed.add(child)
                    except ProcessLookupError:
                        pass

        self.wait_for_rows(process, 2)
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        out, err = process.communicate(timeout=180)
        killer.join()
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertGreater(len(killed), 2)
        self.check_summary(json.loads(out))
        self.check_database()

    def test_a_killed_tune_leaves_a_sound_database(self):
        process = self.start_tune("elementwise", "60s")
        self.wait_for_rows(process, 5)
        process.kill()
        process.communicate(timeout=30)
        self.check_database()
        self.assertEqual([p.name for p in self.dir.glob("*.hone")] + [p.name for p in self.dir.glob(".*.hone.*")], [])
        self.assertGreaterEqual(self.json("db", "info", "--db", self.db)["records"], 5)


if __name__ == "__main__":
    unittest.main()
