"""Searches and lessons for orders of passes (bench/pass_order): counts, starts, observations, worth of a pass."""

import importlib.util
import os
import random
import sys
import tempfile
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
        least, visited = lessons.walk(self.states, lambda seen: scores, length=10)
        ends = [history for _, history in visited]
        self.assertEqual(ends[0], [])
        self.assertLess(least, self.states.instructions[0])
        self.assertTrue(all(a != b for history in ends for a, b in zip(history, history[1:], strict=False)))


if __name__ == "__main__":
    unittest.main()
