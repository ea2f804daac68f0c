"""The Gymnasium environments: Gymnasium's own checker, vectors, clones, errors, and a learner on top."""

import importlib.util
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))

HAS_GYMNASIUM = importlib.util.find_spec("gymnasium") is not None
HAS_SB3 = HAS_GYMNASIUM and importlib.util.find_spec("stable_baselines3") is not None
BUILT = (BUILD / "libhone_gym.so").is_file() and (BUILD / "hone-xla").is_file()

if HAS_GYMNASIUM:
    import gymnasium
    import hone.gym  # noqa: F401
    from gymnasium.utils.env_checker import check_env

PROGRAMS = [str(ROOT / "examples" / f"{name}.mlir") for name in ("llama_block", "lstm_scan")]


def make(kind="", **options):
    options = {"programs": PROGRAMS, "build": BUILD, "traj_limit": 8} | options
    return gymnasium.make(f"hone/XlaPassOrder{kind}-v0", **options)


@unittest.skipUnless(HAS_GYMNASIUM and BUILT, "NOT TESTED, missing: gymnasium or the build")
class GymTest(unittest.TestCase):
    def test_checker_finds_nothing(self):
        for kind in ("", "Shaped", "Costs", "Graph", "ChangeHistory", "PredictedTime"):
            with self.subTest(kind), warnings.catch_warnings():
                warnings.simplefilter("error")
                env = make(kind)
                check_env(env.unwrapped, skip_render_check=True)
                env.close()

    def test_run_time_comes_at_the_end(self):
        env = make("RunTime", programs=PROGRAMS[1:], traj_limit=2, measure_ms=20.0)
        env.reset(seed=0)
        _, reward, terminated, _, _ = env.step(env.unwrapped.passes.index("dce"))
        self.assertEqual((reward, terminated), (0, False))
        _, reward, terminated, _, info = env.step(env.unwrapped.passes.index("cse"))
        self.assertTrue(terminated and np.isfinite(reward))
        self.assertTrue(info["run_time"]["verified"])
        env.close()

    def test_rewards_add_up_to_the_predicted_run_time(self):
        env = make("PredictedTime", programs=PROGRAMS[:1])
        _, info = env.reset(seed=0)
        self.assertEqual(info["predicted_time"]["ns"], info["predicted_time"]["initial_ns"])
        rewards = []
        for name in ("gather_expander", "dce", "dot_decomposer", "flatten-call-graph", "reshape-mover"):
            _, reward, *_, info = env.step(env.unwrapped.passes.index(name))
            rewards.append(reward)
        time = info["predicted_time"]
        self.assertGreater(time["ns"], 0)
        self.assertAlmostEqual(sum(rewards), np.log(time["initial_ns"] / time["ns"]))
        env.close()
        with self.assertRaisesRegex(ValueError, "no model of run times"):
            make("PredictedTime", models="/nonexistent")

    def test_seeds_choose_programs_and_repeat(self):
        env = make()
        chosen = {env.reset(seed=seed)[1]["program"] for seed in range(8)}
        self.assertEqual(chosen, {"llama_block", "lstm_scan"})
        totals = []
        for _ in range(2):
            env.reset(seed=5)
            actions = np.random.default_rng(1).integers(env.action_space.n, size=8)
            totals.append([env.step(int(a))[1] for a in actions])
        self.assertEqual(totals[0], totals[1])
        _, info = env.reset(options={"program": "lstm_scan"})
        self.assertEqual(info["program"], "lstm_scan")
        env.close()

    def test_observation_counts_the_programs_instructions(self):
        env = make()
        values, info = env.reset(seed=1)
        self.assertEqual(values.sum(), info["instructions"])
        self.assertEqual(sum(info["opcodes"].values()), info["instructions"])
        values, reward, _, _, after = env.step(env.unwrapped.passes.index("algsimp"))
        self.assertEqual(values.sum(), after["instructions"])
        self.assertAlmostEqual(reward, (info["instructions"] - after["instructions"]) / info["instructions"])
        env.close()

    def test_info_is_the_same_where_it_comes_with_the_step(self):
        quiet, telling = make(info=False, programs=PROGRAMS[1:]), make(programs=PROGRAMS[1:])
        quiet.reset(seed=0)
        telling.reset(seed=0)
        costs = set()
        for action in ("dce", "algsimp", "cse", "logistic-expander", "dce"):
            number = quiet.unwrapped.passes.index(action)
            first, *others, info = telling.step(number)
            second, *same, nothing = quiet.step(number)
            np.testing.assert_array_equal(first, second)
            self.assertEqual((others, nothing), (same, {}))
            asked = quiet.unwrapped.info()
            self.assertEqual(info | {"pass_ms": 0}, asked | {"pass_ms": 0})
            costs.add(asked["bytes"])
        self.assertGreater(len(costs), 1)
        quiet.close()
        telling.close()

    def test_restarts_of_the_worker_are_counted(self):
        env = make(programs=PROGRAMS[1:])
        env.reset(seed=0)
        env.step(env.unwrapped.passes.index("dce"))
        self.assertEqual(env.unwrapped.counters()["restarts"], 0)
        children = [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]
        for pid in (pid for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "hone-xla"):
            os.kill(int(pid), signal.SIGKILL)
        *_, info = env.step(env.unwrapped.passes.index("algsimp"))
        self.assertNotIn("error", info)  # the request was sent again
        self.assertEqual(env.unwrapped.counters()["restarts"], 1)
        env.close()

    def test_clone_goes_its_own_way(self):
        env = make().unwrapped
        env.reset(seed=1)
        copy = env.clone()
        copy.step(copy.passes.index("algsimp"))
        self.assertEqual(env.info()["passes"], [])
        self.assertEqual(copy.info()["passes"], ["algsimp"])
        copy.close()
        env.close()

    def test_graph_observation(self):
        env = make("Graph")
        graph, info = env.reset(seed=1)
        self.assertEqual(len(graph.nodes), info["instructions"])
        self.assertTrue((graph.edge_links < len(graph.nodes)).all() and (graph.edge_links >= 0).all())
        self.assertIn(graph, env.observation_space)
        env.close()

    def test_vector_environments(self):
        envs = gymnasium.make_vec(
            "hone/XlaPassOrder-v0", 2, "sync", programs=PROGRAMS, build=BUILD, traj_limit=4, disable_env_checker=True
        )
        values, _ = envs.reset(seed=0)
        self.assertEqual(values.shape[0], 2)
        for _ in range(6):
            values, rewards, *_ = envs.step(envs.action_space.sample())
        self.assertEqual(rewards.shape, (2,))
        envs.close()

    def test_vector_environments_in_processes(self):
        def vector(kind):
            return gymnasium.make_vec(
                "hone/XlaPassOrder-v0",
                2,
                kind,
                programs=PROGRAMS,
                build=BUILD,
                traj_limit=4,
                disable_env_checker=True,
            )

        seen = {}
        for kind in ("sync", "async"):
            envs = vector(kind)
            values, _ = envs.reset(seed=3)
            envs.action_space.seed(3)
            seen[kind] = [values.copy()]
            for _ in range(6):  # past the end of an episode
                values, rewards, _, truncated, _ = envs.step(envs.action_space.sample())
                seen[kind] += [values.copy(), rewards.copy(), truncated.copy()]
            envs.close()
        for one, other in zip(seen["sync"], seen["async"], strict=True):
            np.testing.assert_array_equal(one, other)

    def test_other_threads_run_during_a_step(self):
        env = make("RunTime", programs=PROGRAMS[:1], traj_limit=1, measure_ms=300.0)
        env.reset(seed=0)
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.005):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        env.step(0)
        end = time.monotonic()
        stop.set()
        thread.join()
        # Were the GIL held, none could fall inside the step, which compiles and measures.
        self.assertGreater(sum(begin < t < end for t in ticks), 3)
        env.close()

    def test_bad_input_is_a_value_error(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "broken.hlo"
            broken.write_text("HloModule m\nthis is no program\n")
            empty = Path(folder) / "no_entry.hlo"
            empty.write_text("HloModule m\n")
            for path in (broken, empty):
                env = make(programs=[str(path)])
                with self.assertRaises(ValueError) as caught:
                    env.reset(seed=0)
                self.assertNotIn("\n", str(caught.exception))
                env.close()
        for options in ({"programs": []}, {"passes": ["nonsense"]}, {"programs": ["/nonexistent"]}, {"nonsense": 1}):
            with self.subTest(options), self.assertRaises(ValueError):
                make(**options)
        env = make()
        env.reset(seed=0)
        with self.assertRaises(ValueError):
            env.unwrapped.step(env.action_space.n)
        with self.assertRaises(ValueError):
            env.reset(options={"program": "nonsense"})
        env.close()

    @unittest.skipUnless(HAS_SB3, "NOT TESTED, missing: stable_baselines3")
    def test_stable_baselines3_trains(self):
        from stable_baselines3 import PPO

        env = make(programs=PROGRAMS[1:], traj_limit=10, log_counts=True)
        model = PPO("MlpPolicy", env, n_steps=250, batch_size=50, seed=0, device="cpu")
        model.learn(2000)
        self.assertEqual(model.num_timesteps, 2000)
        env.close()


if __name__ == "__main__":
    unittest.main()
