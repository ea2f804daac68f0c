"""Saved states of environments and of vectors: what continues, and what is refused."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))

HAS_GYMNASIUM = importlib.util.find_spec("gymnasium") is not None
BUILT = (BUILD / "libhone_gym.so").is_file() and (BUILD / "hone-xla").is_file()
MISSING = "NOT TESTED, missing: gymnasium or the build"

if HAS_GYMNASIUM:
    from hone.gym import XlaPassOrder, XlaPassOrderVector

PROGRAMS = [str(ROOT / "examples" / f"{name}.mlir") for name in ("llama_block", "lstm_scan")]


def vector(count=3, **options):
    return XlaPassOrderVector(count, **({"programs": PROGRAMS, "build": BUILD, "traj_limit": 4} | options))


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, MISSING)
class SavedStatesTest(unittest.TestCase):
    def test_a_restored_environment_continues_as_the_saved_one(self):
        env = XlaPassOrder(programs=PROGRAMS, build=BUILD, traj_limit=6)
        env.reset(seed=4)
        for action in (3, 1, 4):
            env.step(action)
        state = json.loads(json.dumps(env.save()))
        other = XlaPassOrder(programs=PROGRAMS, build=BUILD, traj_limit=6)
        observation, info = other.restore(state)
        self.assertEqual(info["passes"], env.info()["passes"])
        for action in (5, 9, 2):
            mine, theirs = env.step(action), other.step(action)
            np.testing.assert_array_equal(mine[0], theirs[0])
            self.assertEqual(mine[1:4], theirs[1:4])
        self.assertTrue(theirs[3])  # the restored episode is as long
        self.assertEqual(env.reset()[1]["program"], other.reset()[1]["program"])  # the next ones follow alike
        env.close()
        other.close()

    def test_states_are_files_and_bytes_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            for make in (lambda: XlaPassOrder(programs=PROGRAMS, build=BUILD), vector):
                file = Path(folder) / "state.json"
                env, other = make(), make()
                env.reset(seed=4)
                env.step(np.array([3, 1, 4]) if make is vector else 3)
                state = env.save(file)
                for given in (file, str(file), file.read_bytes()):
                    other.reset(seed=1)
                    observation, _ = other.restore(given)
                    self.assertEqual(other.save(), state)
                    np.testing.assert_array_equal(observation, env.restore(state)[0])
                for given in (b"{", b"[]", Path(folder) / "missing.json"):
                    with self.subTest(given), self.assertRaises((ValueError, FileNotFoundError)):
                        other.restore(given)
                env.close()
                other.close()

    def test_a_state_continues_in_another_process(self):
        code = (
            "import sys\nfrom hone.gym import XlaPassOrder\n"
            "env = XlaPassOrder(programs=sys.argv[2:4], build=sys.argv[4], traj_limit=6)\n"
            "env.restore(sys.argv[1])\nenv.step(5)\nprint(env.info()['fingerprint'])\nenv.close()\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "state.json"
            env = XlaPassOrder(programs=PROGRAMS, build=BUILD, traj_limit=6)
            env.reset(seed=4)
            env.step(3)
            env.save(file)
            env.step(5)
            done = subprocess.run(
                [sys.executable, "-c", code, file, *PROGRAMS, BUILD],
                env=dict(os.environ, PYTHONPATH=str(ROOT / "python")),
                capture_output=True,
                text=True,
                timeout=300,
            )
            self.assertEqual(done.stdout.strip(), env.info()["fingerprint"], done.stderr)
            env.close()

    def test_an_episode_is_replayed_by_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "episode.json"
            env = XlaPassOrder(programs=PROGRAMS, build=BUILD, traj_limit=6)
            with self.assertRaises(ValueError):
                env.write_episode(file)
            env.reset(seed=4)
            for name in ("dce", "call-inliner", "algsimp"):
                env.step(env.passes.index(name))
            env.write_episode(file)
            replayed = self.replay(file)
            self.assertEqual(replayed["equal_steps"], 3)
            self.assertEqual(replayed["instructions"], env.info()["instructions"])
            episode = json.loads(file.read_text())
            episode["steps"][2]["instructions"] -= 1
            file.write_text(json.dumps(episode))
            self.assertIn("step 3, algsimp", self.replay(file, code=1)["problem"])
            file.write_text("{}")
            self.replay(file, code=2)
            env.close()

    def test_a_bad_episode_leaves_the_rows_of_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            bad, good = Path(folder) / "bad.json", Path(folder) / "good.json"
            bad.write_text("{}")
            env = XlaPassOrder(programs=PROGRAMS, build=BUILD)
            env.reset(seed=4)
            env.step(0)
            env.write_episode(good)
            env.close()
            rows = self.rows(bad, good, Path(folder) / "missing.json", code=2)
            self.assertEqual([row["steps"] for row in rows], [None, 1, None])
            self.assertIsNone(rows[1]["problem"])
            self.assertIn("is not of format", rows[0]["problem"])

    def test_an_episode_keeps_the_limit_of_its_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "episode.json"
            env = XlaPassOrder(programs=PROGRAMS, build=BUILD, step_limit_s=7)
            env.reset(seed=4)
            env.step(env.passes.index("algsimp"))
            env.write_episode(file)
            env.close()
            episode = json.loads(file.read_text())
            self.assertEqual(episode["step_limit_s"], 7)
            self.assertIsNone(self.rows(file)[0]["problem"])
            file.write_text(json.dumps(episode | {"step_limit_s": -1}))
            self.assertIn("limit of a step", self.rows(file, code=2)[0]["problem"])
            del episode["step_limit_s"]  # as in older files
            file.write_text(json.dumps(episode))
            self.assertIsNone(self.rows(file)[0]["problem"])

    def test_states_of_another_model_are_refused(self):
        for make in (lambda **options: XlaPassOrder(programs=PROGRAMS[:1], build=BUILD, **options), vector):
            env = make(kind="hone/XlaPassOrderPredictedTime-v0")
            env.reset(seed=4)
            state = json.loads(json.dumps(env.save()))
            env.restore(state)
            part = state["environments"][1] if make is vector else state
            part["predicted_time"]["initial_ns"] *= 1.01
            with self.assertRaisesRegex(ValueError, "another model"):
                env.restore(state)
            env.close()

    def rows(self, *files, code=0):
        """The rows of hone gym replay, which must end with `code`."""
        done = subprocess.run(
            [BUILD / "hone", "gym", "replay", *files, "--json", "-q"], capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(
            done.stderr.count("\n"), sum(row["problem"] is not None for row in json.loads(done.stdout)["episodes"])
        )
        return json.loads(done.stdout)["episodes"]

    def replay(self, file, code=0):
        return self.rows(file, code=code)[0]

    def test_states_that_do_not_fit_are_refused(self):
        env = XlaPassOrder(programs=PROGRAMS[1:], build=BUILD)
        with self.assertRaises(ValueError):
            env.save()
        env.reset(seed=0)
        env.step(env.passes.index("algsimp"))
        state = env.save()
        for change in ({"format": "x"}, {"program": "bert"}, {"passes": ["nonsense"]}, {"fingerprint": "0" * 32}):
            with self.subTest(change), self.assertRaises(ValueError):
                env.restore(state | change)
        env.close()

    def test_vectors_continue_as_well(self):
        envs, other = vector(), vector()
        envs.reset(seed=9)
        actions = np.random.default_rng(1).integers(len(envs.passes), size=(12, 3))
        for row in actions[:6]:
            envs.step(row)
        other.reset(seed=1)
        other.restore(json.loads(json.dumps(envs.save())))
        for row in actions[6:]:
            mine, theirs = envs.step(row), other.step(row)
            for a, b in zip(mine[:4], theirs[:4], strict=True):
                np.testing.assert_array_equal(a, b)
        with self.assertRaises(ValueError):
            other.restore({"seed": 1, "environments": []})
        envs.close()
        other.close()

    def test_a_later_reset_of_a_vector_continues_as_well(self):
        envs, other = vector(), vector()
        envs.reset(seed=9)
        state = json.loads(json.dumps(envs.save()))
        other.reset(seed=1)
        other.restore(state)
        for each in (envs, other):
            each.reset()
        self.assertEqual(envs.save(), other.save())
        envs.close()
        other.close()

    def test_states_of_other_vectors_are_refused_and_leave_this_one(self):
        envs = vector(2)
        envs.reset(seed=9)
        envs.step(np.array([3, 1]))
        state, short = envs.save(), json.loads(json.dumps(envs.save()))
        envs.reset(seed=4)
        before = envs.save()
        short["environments"].pop()
        faults = {
            "not a saved state": {"format": "x"},
            "other passes": {"passes": state["passes"][1:]},
            "other programs": {"programs": ["bert"]},
            "number of environments": {"environments": short["environments"]},
            "out of range": {"environments": [state["environments"][0] | {"actions": [9999]}] * 2},
        }
        for message, change in faults.items():
            with self.subTest(message):
                with self.assertRaisesRegex(ValueError, message):
                    envs.restore(state | change)
                self.assertEqual(envs.save(), before)
        with self.assertRaisesRegex(ValueError, "not a saved state"):
            envs.restore({name: value for name, value in state.items() if name != "random"})
        elsewhere = [row | {"fingerprint": "0" * 32} for row in state["environments"]]
        with self.assertRaisesRegex(ValueError, "another program"):
            envs.restore(state | {"environments": elsewhere})
        envs.close()

    def test_programs_of_equal_file_names_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for program in PROGRAMS:
                copy = Path(folder) / Path(program).stem / "model.mlir"
                copy.parent.mkdir()
                copy.write_bytes(Path(program).read_bytes())
                paths.append(str(copy))
            env = XlaPassOrder(programs=paths, build=BUILD)
            for path in paths:
                _, before = env.reset(options={"program": path})
                state = env.save()
                env.reset(options={"program": paths[1 - paths.index(path)]})
                self.assertEqual(env.restore(state)[1]["instructions"], before["instructions"])
            env.close()


if __name__ == "__main__":
    unittest.main()
