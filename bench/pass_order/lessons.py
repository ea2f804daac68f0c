"""What a policy that orders passes is taught: for a state, what each pass is worth if the walk goes on well after it.

The worth of a state is what the best of a few fixed orders makes of it, less a small cost per pass that changes the
program, so that of equal ways the shortest is taught. The worth of a pass is that of the state it leads to (one step of
policy iteration on the fixed orders).
"""

import numpy as np
import states as explored

LENGTH = 45
STEP_COST = 0.002  # of log gain, per pass that changes the program
OFTEN, FADING, LONG = 4.0, 0.8, 45.0  # as in src/passorder/pass_observation.cc

BODY = [  # XLA:CPU's simplification (src/xla/passes/passes.cc) in the actions of the environments
    "algsimp:cpu",
    "dce",
    "gather_expander:simple",
    "gather_simplifier:normal",
    "tree_reduction_rewriter",
    "zero_sized_hlo_elimination",
    "while-loop-invariant-code-motion",
    "tuple-simplifier",
    "while-loop-constant-sinking",
    "simplify-while-loops",
    "dce",
    "reshape-mover",
    "constant_folding",
    "simplify-conditional",
]


def own_order(passes, rounds=2):
    """XLA's own order as actions: its loop runs a fixed number of rounds instead of to the fixed point."""
    names = ["call-inliner:single", "batched_gather_scatter_normalizer", *BODY * rounds, "cse", "dce"]
    return [passes.index(name) for name in names]


def observation(states, state, history, taken):
    """The values of hone/XlaPassOrderChangeHistory-v0, [135 + 3 actions + 2]."""
    actions = states.width - 1
    often, recent, age = np.zeros(actions, np.float32), np.zeros(actions, np.float32), np.float32(1)
    for action in reversed(history):
        if action < actions:
            if often[action] == 0:
                recent[action] = age
            often[action] = min(1.0, often[action] + 1 / OFTEN)
        age *= np.float32(FADING)
    ends = [states.instructions[state] / states.instructions[0], len(history) / LONG]
    return np.concatenate(
        [np.log1p(states.counts[state]), taken.astype(np.float32), often, recent, np.array(ends, np.float32)]
    )


class Teacher:
    """The worth of states and passes of one program under a few fixed orders."""

    def __init__(self, states, orders):
        self.states, self.orders, self.known = states, orders, {}

    def worth(self, state):
        """Of the best of the fixed orders from a state, and of stopping here."""
        if state not in self.known:
            best = self.states.gain(self.states.instructions[state])
            for order in self.orders:
                now, changes = state, 0
                for action in order:
                    reached = self.states.after(now, action)
                    if reached == now:
                        continue
                    now, changes = reached, changes + 1
                    best = max(best, self.states.gain(self.states.instructions[now]) - STEP_COST * changes)
            self.known[state] = best
        return self.known[state]

    def lessons(self, state):
        """[actions]: worth of each pass in a state; NaN where it changes nothing."""
        values = np.full(self.states.width - 1, np.nan, np.float32)
        for action in range(self.states.width - 1):
            reached = self.states.after(state, action)
            if reached != state:
                values[action] = self.worth(reached) - STEP_COST
        return values

    def expert(self):
        """The states and passes of a walk that takes the best pass in each state, until stopping is best."""
        state, path = 0, []
        while len(path) < LENGTH:
            values = self.lessons(state)
            here = self.states.gain(self.states.instructions[state])
            if np.isnan(values).all() or np.nanmax(values) < here:
                break
            action = int(np.nanargmax(values))
            path.append((state, action, values))
            state = self.states.after(state, action)
        return path, state


def walk(states, scores, begin=0, length=LENGTH, rng=None):
    """A walk as PassWalks::walk does it: the best score (or a draw), each pass once in a state.

    Returns the fewest instructions, and (state, history, taken) of each new state on the way.
    """
    state, history, seen = begin, [], {}
    least, visited = states.instructions[begin], []
    for _ in range(length):
        if state not in seen:
            seen[state] = np.zeros(states.width - 1, bool)
            visited.append((state, list(history)))
        taken = seen[state]
        if taken.all():
            break
        values = scores(observation(states, state, history, taken), history)
        values = np.where(taken, -np.inf, values)
        if rng is not None:
            values = values + rng.gumbel(size=len(values))
        action = int(values.argmax())
        taken[action] = True
        reached = states.after(state, action)
        if reached != state:
            history.append(action)
            state = reached
            least = min(least, states.instructions[state])
    return least, visited


def save_lessons(path, rows):
    """rows: (program, observation, worth of each pass, worth of stopping)."""
    np.savez_compressed(
        path,
        program=np.array([row[0] for row in rows]),
        observation=np.array([row[1] for row in rows], np.float32),
        worth=np.array([row[2] for row in rows], np.float32),
        here=np.array([row[3] for row in rows], np.float32),
    )


__all__ = ["LENGTH", "Teacher", "explored", "observation", "own_order", "save_lessons", "walk"]
