"""Searches and lessons for orders of passes (bench/pass_order): counts, starts, observations, worth of a pass."""

import importlib.util
import os
import random
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "pass_order")]
BUILT = (BUILD / "libhone_gym.so").is_file() and (BUILD / "hone-xla").is_file()
READY = BUILT and importlib.util.find_spec("gymnasium") is not None
if READY:
    import hone.gym
    import lessons
    import numpy as np
    import policy_network
    import searches
    import states as explored

PROGRAM = ROOT / "examples" / "lstm_scan.mlir"


@unittest.skipUnless(READY, "NOT TESTED, missing: gymnasium or the build")
class PassSearchesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = explored.Worker([PROGRAM], BUILD)
        cls.states = explored.States(cls.worker, PROGRAM)

    def action(self, name):
        return self.worker.passes.index(name)

    def test_a_pass_is_run_on_a_state_once(self):
        states = explored.States(self.worker, PROGRAM)
        first = states.after(0, self.action("dce"))
        runs = self.worker.runs
        self.assertEqual(states.after(0, self.action("dce")), first)
        self.assertEqual(self.worker.runs, runs)

    def test_explored_states_survive_their_file(self):
        with tempfile.TemporaryDirectory() as folder:
            states = explored.States(self.worker, PROGRAM, folder)
            order = lessons.own_order(self.worker.passes)
            least, end = explored.walk(states, order)
            states.save()
            again = explored.States(self.worker, PROGRAM, folder)
            runs = self.worker.runs
            self.assertEqual(explored.walk(again, order), (least, end))
            self.assertEqual(self.worker.runs, runs)

    def test_enough_rounds_of_the_own_order_lead_to_the_same_program(self):
        _, end = explored.walk(self.states, lessons.own_order(self.worker.passes, rounds=12))
        self.assertEqual(end, self.states.own)

    def test_every_search_runs_as_many_passes_as_it_may(self):
        for name, search in searches.SEARCHES.items():
            for start in (0, self.states.own):
                with self.subTest(name, start=start):
                    trial = searches.Trial(self.states, start, [45, 200])
                    found = searches.run(search, trial, random.Random(0))
                    self.assertEqual(trial.applications, 200)
                    self.assertLessEqual(found[200], found[45])
                    self.assertLessEqual(found[45], self.states.instructions[start])

    def test_the_observation_is_that_of_the_environment(self):
        shown = hone.gym.XlaPassOrder("hone/XlaPassOrderChangeHistory-v0", programs=PROGRAM, build=BUILD, info=False)
        names = ["call-inliner", "algsimp", "cse", "cse", "dce", "algsimp:cpu", "reshape-mover", "algsimp"]
        values, _ = shown.reset(seed=0)
        state, history, taken = 0, [], {}
        for name in [*names, "dce"]:
            here = taken.setdefault(state, np.zeros(len(shown.passes), bool))
            expected = lessons.observation(self.states, state, history, here)
            np.testing.assert_allclose(values, expected, rtol=1e-6)
            action = shown.passes.index(name)
            values, *_ = shown.step(action)
            here[action] = True
            reached = self.states.after(state, action)
            history += [action] if reached != state else []
            state = reached

    def test_the_teacher_finds_what_its_order_finds(self):
        order = lessons.own_order(self.worker.passes, rounds=4)
        teacher = lessons.Teacher(self.states, [order])
        path, end = teacher.expert()
        least = min(self.states.instructions[state] for state in [end, *(step[0] for step in path)])
        self.assertLessEqual(least, explored.walk(self.states, order)[0])
        worth = teacher.lessons(0)
        idle = [self.states.after(0, action) == 0 for action in range(len(worth))]
        self.assertEqual(np.isnan(worth).tolist(), idle)

    def test_a_walk_takes_the_best_pass_once_in_a_state(self):
        scores = np.zeros(len(self.worker.passes))
        scores[self.action("algsimp")], scores[self.action("cse")], scores[self.action("dce")] = 3, 2, 1
        least, visited = lessons.walk(self.states, lambda seen, history: scores, length=10)
        ends = [history for _, history in visited]
        self.assertEqual(ends[0], [])
        self.assertLess(least, self.states.instructions[0])
        self.assertTrue(all(a != b for history in ends for a, b in zip(history, history[1:], strict=False)))


@unittest.skipUnless(READY, "NOT TESTED, missing: gymnasium or the build")
class FollowerTest(unittest.TestCase):
    """The numbers of tests/passorder/order_follower_test.cc."""

    def scores(self, logits, history=(), taken=(), walk=5):
        seen = np.zeros(policy_network.OPCODES + 5, np.float32)
        seen[[policy_network.OPCODES + action for action in taken]] = 1
        network = types.SimpleNamespace(outputs=lambda observation: np.array(logits, np.float32))
        return policy_network.Follower(network, [0, 1, 2, 0, 3], 0.01, walk)(seen, list(history)).tolist()

    def test_the_passes_of_an_order_follow_each_other(self):
        likely = [1] * 5
        self.assertEqual(self.scores(likely), [0, -2, -4, -6, -12])
        self.assertEqual(self.scores(likely, [1, 0]), [-2, -4, -6, 0, -12])
        self.assertEqual(self.scores(likely, [0]), [-4, 0, -2, -6, -12])
        self.assertEqual(self.scores(likely, [1, 0, 4])[3], 0)
        self.assertEqual(self.scores(likely, [3])[0], 0)

    def test_what_was_tried_and_what_is_unlikely_is_left_out(self):
        self.assertEqual(self.scores([1] * 5, taken=[0]), [-12, 0, -2, -4, -12])
        np.testing.assert_allclose(self.scores([1, -4.5, -4.7, 1, -1]), [0, -2, -16.7, -4, -13], rtol=1e-6)

    def test_what_is_likelier_comes_first_where_time_is_short(self):
        logits = [1, -1, 2, 0.5, 0]
        self.assertEqual(self.scores(logits, walk=3), [0, -4, -2, -6, -12])
        self.assertEqual(self.scores(logits, [0, 1], walk=3), [-2, -4, 0, -6, -12])
        self.assertEqual(self.scores(logits, [0, 1], [0], walk=3), [-12, -4, 0, -2, -12])

    def test_a_policy_is_the_same_after_it_was_written(self):
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 5, (40, policy_network.OPCODES + 3 * 2 + 2)).astype(np.float32)
        network = policy_network.fit_changes((rows, (rows[:, :2] > 2).astype(np.float32), np.ones(40)), epochs=200)
        right = np.array([network.outputs(row) > 0 for row in rows]) == (rows[:, :2] > 2)
        self.assertGreater(right.mean(), 0.9)
        policy = policy_network.Follower(network, [1, 0, 1], 0.1, 45)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "policy.safetensors"
            policy_network.save(file, policy, ["a", "b"], "hone/XlaPassOrderChangeHistory-v0", "")
            read = policy_network.load(file)
        self.assertEqual((read.order, read.least, read.walk), ([1, 0, 1], 0.1, 45))
        np.testing.assert_allclose(read(rows[0], [0]), policy(rows[0], [0]), rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
