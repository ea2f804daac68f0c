"""`hone gym train` from outside: real passes on a small program, policies, resuming, Ctrl-C, bad input.

Runs build/hone (or that of $HONE_BUILD_DIR). Needs only the standard library.
"""

import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

PROGRAM = """HloModule small
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  one = f32[] constant(1)
  ones = f32[64,64] broadcast(one), dimensions={}
  same = f32[64,64] multiply(x, ones)
  a = f32[64,64] add(same, y)
  b = f32[64,64] add(same, y)
  l = f32[64,64] logistic(a)
  dead = f32[64,64] tanh(y)
  ROOT r = f32[64,64] multiply(l, b)
}
"""

SMALL = ["--layers", "16", "--environments", "2", "--rollout", "16", "--batch", "8"]
SMALL += ["--traj-limit", "6", "--workers", "1"]
PASSES = ["--passes", "algsimp,cse,dce,logistic-expander"]


def read_safetensors(path):
    """(header, data) of a file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


class GymTrain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        self.program = self.dir / "small.hlo"
        self.program.write_text(PROGRAM)
        self.out = self.dir / "policy.safetensors"

    def hone(self, *words):
        command = [str(HONE), "gym", "train", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def train(self, *words):
        done = self.hone(self.program, *PASSES, *SMALL, "--json", "-q", "-o", self.out, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_training_begins_with_a_policy(self):
        self.train("--steps", 64)
        begun = self.dir / "begun.safetensors"
        words = ["--json", "-q", "--begin", self.out, "-o", begun, "--steps", 48]
        done = self.hone(self.program, *SMALL, *words)  # with the policy's passes
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["actions"], 4)
        self.assertEqual(read_safetensors(begun)[1], read_safetensors(self.out)[1])  # so far only the values learned
        narrow = ["--layers", "8", *SMALL[2:]]
        for others, message in (
            ([*SMALL, "--passes=cse,dce"], "other passes"),
            (narrow, "do not fit"),
            ([*SMALL, "--agent=dqn"], "cannot begin with a policy"),
        ):
            with self.subTest(others=others):
                done = self.hone(self.program, *words, *others)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)

    def test_every_agent_writes_a_policy(self):
        for agent in ("ppo", "a2c", "trpo", "reinforce", "dqn"):
            with self.subTest(agent=agent):
                result = self.train("--agent", agent, "--steps", 64, "--learning-starts", 16, "--shaping")
                self.assertEqual(result["agent"], agent)
                self.assertEqual(result["steps"], 64)
                self.assertEqual(result["actions"], 4)
                self.assertGreaterEqual(result["episodes"], 10)
                self.assertGreater(result["mean_return"], 0)
                header, _ = read_safetensors(self.out)
                environment = json.loads(header["__metadata__"]["environment"])
                self.assertEqual(environment["passes"], PASSES[1].split(","))
                self.assertTrue(environment["shaping"])
                self.assertNotIn("programs", environment)

    def test_cost_features_and_graphs(self):
        self.assertEqual(self.train("--steps", 32, "--value-features")["steps"], 32)
        result = self.train("--steps", 32, "--network", "gnn", "--gnn-hidden", 8, "--log-dir", self.dir / "log")
        self.assertEqual(result["steps"], 32)
        self.assertTrue(pathlib.Path(result["log"]).exists())

    def test_resumed_run_ends_with_the_same_bits(self):
        self.train("--steps", 96, "--seed", 4)
        _, whole = read_safetensors(self.out)
        checkpoint = self.dir / "run.safetensors"
        # Rounds of 16 steps, episodes of 6: the cut is in the middle of episodes.
        self.train("--steps", 32, "--seed", 4, "--checkpoint", checkpoint)
        result = self.train("--steps", 96, "--seed", 4, "--checkpoint", checkpoint, "--resume")
        self.assertEqual(result["steps"], 96)
        _, resumed = read_safetensors(self.out)
        self.assertEqual(whole, resumed)

    def test_ctrl_c_keeps_what_was_done(self):
        checkpoint = self.dir / "run.safetensors"
        command = [str(HONE), "gym", "train", str(self.program), *PASSES, *SMALL, "--json", "-q", "-o", str(self.out)]
        command += ["--steps", "100000000", "--checkpoint", str(checkpoint), "--checkpoint-every", "16"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + 120
            while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=120)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, stderr)
        result = json.loads(stdout)
        self.assertTrue(result["interrupted"])
        self.assertGreaterEqual(result["steps"], 16)
        self.assertEqual(result["steps"] % 16, 0)
        self.assertTrue(self.out.exists())
        more = self.train("--steps", result["steps"] + 16, "--checkpoint", checkpoint, "--resume")
        self.assertEqual(more["steps"], result["steps"] + 16)

    def test_bad_input_is_one_line_and_leaves_nothing(self):
        broken = self.dir / "broken.hlo"
        broken.write_text("HloModule nothing\n")
        for words, expected in (
            ((self.program, "--agent", "sarsa"), "there is no agent 'sarsa'"),
            ((self.program, "--passes", "nonsense"), "nonsense"),
            ((self.program, "--environment", "hone/Nothing-v0"), "hone/Nothing-v0"),
            ((self.program, "--rollout", "50", "--environments", "8"), "rollout must be a multiple of environments"),
            ((self.program, "--layers", "wide"), "not a list of widths"),
            ((self.program, "--agent", "trpo", "--network", "gnn"), "gnn does not work with dqn and trpo"),
            ((self.program, "--resume"), "nothing to resume from"),
            ((self.dir / "missing.hlo",), "missing.hlo"),
            ((broken, "--layers", "8"), "broken"),
        ):
            with self.subTest(words=words):
                done = self.hone(*words, "-o", self.out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
