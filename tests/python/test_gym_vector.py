"""Vectors of environments, masks of actions, sets of programs, results, and the tutorial's agent."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
CORPUS = ROOT / "../shared/corpus"
sys.path.insert(0, str(ROOT / "python"))

HAS_GYMNASIUM = importlib.util.find_spec("gymnasium") is not None
HAS_SB3 = HAS_GYMNASIUM and importlib.util.find_spec("stable_baselines3") is not None
BUILT = (BUILD / "libhone_gym.so").is_file() and (BUILD / "hone-xla").is_file()
MISSING = "NOT TESTED, missing: gymnasium or the build"

if HAS_GYMNASIUM:
    import gymnasium
    import hone.gym
    from gymnasium.vector import AutoresetMode
    from hone.gym import XlaPassOrder, XlaPassOrderVector

PROGRAMS = [str(ROOT / "examples" / f"{name}.mlir") for name in ("llama_block", "lstm_scan")]


def vector(count=3, **options):
    return XlaPassOrderVector(count, **({"programs": PROGRAMS, "build": BUILD, "traj_limit": 4} | options))


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, MISSING)
class VectorTest(unittest.TestCase):
    def test_it_is_a_vector_environment_of_gymnasium(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            envs = gymnasium.make_vec(
                "hone/XlaPassOrder-v0", 3, "vector_entry_point", programs=PROGRAMS, build=BUILD, traj_limit=4
            )
        self.assertIsInstance(envs.unwrapped, XlaPassOrderVector)
        self.assertEqual(envs.metadata["autoreset_mode"], AutoresetMode.SAME_STEP)
        values, infos = envs.reset(seed=1)
        self.assertIn(values, envs.observation_space)
        self.assertEqual(infos, {})
        envs.action_space.seed(0)
        for _ in range(6):
            values, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
            self.assertIn(values, envs.observation_space)
            for array, kind in ((rewards, np.float64), (terminated, np.bool_), (truncated, np.bool_)):
                self.assertEqual((array.shape, array.dtype), ((3,), kind))
        envs.close()

    def test_rows_are_single_environments(self):
        envs, single = vector(info=True), XlaPassOrder(programs=PROGRAMS, build=BUILD, traj_limit=4)
        _, infos = envs.reset(seed=5)
        programs = list(infos["program"])
        self.assertEqual(set(programs), {"llama_block", "lstm_scan"})
        rng = np.random.default_rng(0)
        actions = rng.integers(len(envs.passes), size=(4, 3))
        seen = [envs.step(row) for row in actions]
        for i, program in enumerate(programs):
            single.reset(options={"program": program})
            for step, (values, rewards, _, truncated, infos) in enumerate(seen):
                own, reward, _, end, about = single.step(int(actions[step, i]))
                self.assertEqual((rewards[i], truncated[i]), (reward, end))
                last = infos["final_obs"][i] if end else values[i]
                np.testing.assert_array_equal(last, own)
            self.assertTrue(end)
            self.assertEqual(infos["final_info"]["passes"][i], about["passes"])
            self.assertEqual(infos["passes"][i], [])  # of the episode that has begun
        envs.close()
        single.close()

    def test_the_seed_and_the_actions_determine_a_run_whatever_the_workers(self):
        rng = np.random.default_rng(2)
        runs = []
        actions = rng.integers(8, size=(9, 3))  # past the ends of two episodes
        for workers, seed in ((1, 7), (2, 7), (1, 8)):
            envs = vector(workers=workers)
            first, _ = envs.reset(seed=seed)
            steps = [envs.step(row) for row in actions]
            runs.append([first, *(values for values, *_ in steps), *(rewards for _, rewards, *_ in steps)])
            again, _ = envs.reset(seed=seed)
            np.testing.assert_array_equal(again, first)
            envs.close()
        self.assertTrue(all(np.array_equal(a, b) for a, b in zip(runs[0], runs[1], strict=True)))
        self.assertFalse(all(np.array_equal(a, b) for a, b in zip(runs[0], runs[2], strict=True)))

    def test_costs_are_a_second_array(self):
        envs = vector(kind="hone/XlaPassOrderCosts-v0")
        values, _ = envs.reset(seed=0)
        self.assertEqual(values["costs"].shape, (3, 6))
        self.assertIn(values, envs.observation_space)
        for _ in range(4):
            _, _, _, truncated, infos = envs.step(np.zeros(3, np.int64))
        self.assertTrue(truncated.all())
        self.assertEqual(infos["final_obs"][0]["costs"].shape, (6,))
        envs.close()

    def test_bad_input_is_a_value_error(self):
        for options in ({"kind": "hone/XlaPassOrderGraph-v0"}, {"workers": 4}, {"workers": 0}, {"nonsense": 1}):
            with self.subTest(options), self.assertRaises(ValueError):
                vector(**options)
        with self.assertRaises(ValueError):
            vector(0)
        envs = vector()
        envs.reset(seed=0)
        for actions in ([0, 0], [[0, 0, 0]], [0, 0, len(envs.passes)]):
            with self.subTest(actions), self.assertRaises(ValueError):
                envs.step(np.array(actions))
        before = envs.save()
        for actions in ([0.0, 0.0, 1.5], [True, True, True], [0, 0, -1], [0, 0, len(envs.passes)]):
            with self.subTest(actions), self.assertRaisesRegex(ValueError, "action"):
                envs.step(np.array(actions))
            self.assertEqual(envs.save(), before)  # no environment has stepped
        with self.assertRaises(ValueError):
            envs.reset(options={"program": "lstm_scan"})
        envs.close()
        with self.assertRaises(RuntimeError):
            envs.reset()


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, MISSING)
class MasksTest(unittest.TestCase):
    def test_passes_that_changed_nothing_are_masked_in_that_state(self):
        env = XlaPassOrder(programs=PROGRAMS[1:], build=BUILD, traj_limit=100)
        env.reset(seed=0)
        self.assertTrue(env.action_masks().all())
        idle = changing = None
        for action in range(len(env.passes)):
            before = env.info()["fingerprint"]
            *_, info = env.step(action)
            if not info["changed"]:
                self.assertFalse(env.action_masks()[action])
                idle = action
            else:
                changing = action
                if info["fingerprint"] != before and not info["revisited"]:
                    self.assertTrue(env.action_masks().all())  # nothing is known of a new state
        self.assertIsNotNone(idle)
        self.assertIsNotNone(changing)
        env.reset(seed=0)
        self.assertTrue(env.action_masks().all())  # a function of the episode
        env.close()

    def test_probed_masks_have_the_effect_of_every_pass(self):
        env = XlaPassOrder(programs=PROGRAMS[1:], build=BUILD, probe_masks=True)
        env.reset(seed=0)
        masks = env.action_masks()
        self.assertEqual((masks.shape, masks.dtype), ((len(env.passes),), np.bool_))
        self.assertEqual(env.info()["passes"], [])  # the state is as it was
        for action, allowed in enumerate(masks):
            copy = env.clone()
            self.assertEqual(copy.step(action)[4]["changed"], allowed, env.passes[action])
            copy.close()
        self.assertTrue(0 < masks.sum() < len(masks))
        env.close()

    def test_where_nothing_helps_everything_is_allowed(self):
        env = XlaPassOrder(programs=PROGRAMS[1:], passes=["dce", "cse"], build=BUILD, traj_limit=20)
        env.reset(seed=0)
        for _ in range(4):
            for action in (0, 1):
                env.step(action)
        self.assertTrue(env.action_masks().all())
        env.close()

    def test_vectors_have_a_row_for_each(self):
        envs = vector(2, passes=["dce", "cse", "algsimp"], probe_masks=True)
        _, infos = envs.reset(seed=3)
        masks = envs.action_masks()
        self.assertEqual((masks.shape, masks.dtype), ((2, 3), np.bool_))
        single = XlaPassOrder(programs=PROGRAMS, passes=["dce", "cse", "algsimp"], build=BUILD, probe_masks=True)
        rows = []
        for program in single.programs:
            single.reset(options={"program": program})
            rows.append(single.action_masks().tolist())
        for row in masks.tolist():
            self.assertIn(row, rows)
        envs.close()
        single.close()


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, MISSING)
class BenchmarksTest(unittest.TestCase):
    def test_sets_are_what_they_were(self):
        self.assertEqual(hone.gym.benchmarks(), ["corpus-v1", "examples-v1", "generated-v1"])
        examples = hone.gym.benchmark("examples-v1")
        self.assertEqual({p.name for p in examples}, {p.name for p in (ROOT / "examples").glob("*.mlir")})
        for name in ("examples-v1", "generated-v1"):
            files = hone.gym.benchmark(name)
            rows = json.loads((ROOT / "data" / "benchmarks" / f"{name}.json").read_text())["programs"]
            env = XlaPassOrder(programs=files, build=BUILD)
            for file, row in zip(files, rows, strict=True):
                _, info = env.reset(options={"program": str(file)})
                self.assertEqual((info["program"], info["instructions"]), (row["name"], row["instructions"]))
            env.close()

    def test_programs_that_are_missing_or_changed_are_refused(self):
        with self.assertRaisesRegex(ValueError, "examples-v1"):
            hone.gym.benchmark("nonsense")
        with self.assertRaisesRegex(ValueError, "root"):
            hone.gym.benchmark("corpus-v1")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "missing"):
                hone.gym.benchmark("generated-v1", root=folder)
            for file in hone.gym.benchmark("generated-v1"):
                (Path(folder) / file.name).write_bytes(file.read_bytes() + b"\n")
            with self.assertRaisesRegex(ValueError, "other bytes"):
                hone.gym.benchmark("generated-v1", root=folder)

    @unittest.skipUnless(CORPUS.is_dir(), "NOT TESTED, missing: ../shared/corpus")
    def test_the_corpus_has_the_programs_of_its_set(self):
        self.assertEqual(len(hone.gym.benchmark("corpus-v1", root=CORPUS)), 12)


def blocks(page):
    """The Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, MISSING)
class TutorialTest(unittest.TestCase):
    """The page's own code, and the leaderboard of what it writes."""

    def run_blocks(self, folder, count):
        code = "\n".join(blocks(ROOT / "docs" / "tutorial" / "your-own-agent.md")[:count])
        (Path(folder) / "agent.py").write_text(code)
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
        # The package finds what is built in its repository; another build folder is linked there by those who have one.
        done = subprocess.run(
            [sys.executable, "agent.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def leaderboard(self, folder, *arguments, code=0):
        done = subprocess.run(
            [BUILD / "hone", "gym", "leaderboard", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_the_plain_agent_and_its_place_in_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("passes to choose from", self.run_blocks(folder, 3))
            rows = json.loads(self.leaderboard(folder, "greedy.json", "--json").stdout)["standings"]
            self.assertEqual((rows[0]["agent"], rows[0]["confirmed"], rows[0]["problems"]), ("greedy", 12, []))
            self.assertGreater(rows[0]["reduction"], 1)
            text = self.leaderboard(folder, "greedy.json", "--markdown").stdout
            self.assertIn(f"| generated-v1 | greedy | {rows[0]['reduction']:.3f} |", text)
            self.check_claims(Path(folder), rows[0]["reduction"])

    def check_claims(self, folder, reduction):
        """Every kind of wrong claim is named and does not count."""
        result = json.loads((folder / "greedy.json").read_text())

        def claim(name, change):
            copy = json.loads(json.dumps(result))
            change(copy)
            (folder / name).write_text(json.dumps(copy))
            done = self.leaderboard(folder, name, "--json", code=1)
            return json.loads(done.stdout)["standings"][0], done.stderr

        best = max(range(12), key=lambda i: len(result["entries"][i]["passes"]))
        wrong, said = claim("wrong.json", lambda r: r["entries"][best].update(instructions=1))
        self.assertEqual(wrong["confirmed"], 11)
        self.assertLess(wrong["reduction"], reduction)
        self.assertIn("instructions are left, not 1", said)
        faults = {
            "is named twice": lambda r: r["entries"].append(r["entries"][0]),
            "no entry for it": lambda r: r["entries"].pop(),
            "no such program": lambda r: r["entries"][0].update(program="x"),
            "default action set": lambda r: r["entries"][0].update(passes=["nonsense"]),
            "at most 45": lambda r: r["entries"][0].update(passes=["dce"] * 46),
        }
        for message, change in faults.items():
            with self.subTest(message):
                self.assertIn(message, claim("fault.json", change)[1])
        (folder / "bad.json").write_text('{"format": "hone-gym-result-1", "agent": 3}')
        self.leaderboard(folder, "bad.json", code=2)
        (folder / "greedy.json").write_text("{}")
        self.assertIn("docs/reference/gym.md", self.leaderboard(folder, "greedy.json", code=2).stderr)

    @unittest.skipUnless(HAS_SB3, "NOT TESTED, missing: stable_baselines3")
    def test_stable_baselines3_trains_and_is_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_blocks(folder, 4)
            rows = json.loads(self.leaderboard(folder, "greedy.json", "ppo.json", "--json").stdout)["standings"]
            self.assertEqual({row["agent"] for row in rows}, {"greedy", "ppo, 1200 steps"})
            self.assertEqual([row["confirmed"] for row in rows], [12, 12])


if __name__ == "__main__":
    unittest.main()
