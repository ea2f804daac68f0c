"""The time of one call, under clocks that move in steps."""

import unittest

from hone.timing import timed


class Steps:
    """A clock of `step` ns that a call moves by `call` ns."""

    def __init__(self, call: int, step: int) -> None:
        self.call, self.step, self.ns, self.calls = call, step, 0, 0

    def run(self) -> None:
        self.ns += self.call
        self.calls += 1

    def now(self) -> int:
        return self.ns // self.step * self.step


class Timed(unittest.TestCase):
    def test_a_fine_clock_times_one_call(self):
        clock = Steps(call=1500, step=1)
        self.assertEqual(timed(clock.run, clock.now), 1500)
        self.assertEqual(clock.calls, 1)

    def test_a_coarse_clock_times_the_calls_of_a_step(self):
        clock = Steps(call=2_000, step=10_000_000)
        self.assertEqual(timed(clock.run, clock.now), 2_000)
        self.assertEqual(clock.calls, 5_000)

    def test_a_clock_that_stands(self):
        clock = Steps(call=0, step=1)
        self.assertGreater(timed(clock.run, clock.now), 0)

    def test_a_clock_set_back(self):
        times = iter((100, 90, 110))
        self.assertEqual(timed(lambda: None, lambda: next(times)), 5)


if __name__ == "__main__":
    unittest.main()
