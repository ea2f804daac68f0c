"""Searches without learning for an order of passes, on the explored states of one program (states.py).

Each is a function (trial, rng) that runs passes until the trial's applications are spent. An application counts
whether or not its result was known and whether or not it changed anything, as in src/passorder.
"""

import contextlib
import math

LENGTH = 45  # passes of a walk, places of an order
NONE = -1  # no pass at this place


class Spent(Exception):
    """All applications of a trial are used."""


class Trial:
    """A start and a number of pass applications; keeps the fewest instructions at each checkpoint."""

    def __init__(self, states, start, checkpoints):
        self.states, self.start, self.checkpoints = states, start, sorted(checkpoints)
        self.actions = states.width - 1  # without XLA's own order
        self.applications, self.least, self.at = 0, states.instructions[start], {}

    def apply(self, state, action):
        if self.applications >= self.checkpoints[-1]:
            raise Spent
        state = self.states.after(state, action)
        self.applications += 1
        self.least = min(self.least, self.states.instructions[state])
        if self.applications in self.checkpoints:
            self.at[self.applications] = self.least
        return state

    def cost(self, order):
        """The fewest instructions on the way of an order of places; later passes are dropped."""
        state, least = self.start, self.states.instructions[self.start]
        for action in order:
            if action != NONE:
                state = self.apply(state, action)
                least = min(least, self.states.instructions[state])
        return least


def run(search, trial, rng):
    """Fewest instructions by number of applications. A search that ends early keeps its result."""
    with contextlib.suppress(Spent):
        search(trial, rng)
    return {count: trial.at.get(count, trial.least) for count in trial.checkpoints}


def random(trial, rng):
    """Walks of passes drawn evenly, each once in a state."""
    while True:
        state, taken = trial.start, {}
        for _ in range(LENGTH):
            here = taken.setdefault(state, set())
            open_ = [action for action in range(trial.actions) if action not in here]
            if not open_:
                break
            action = rng.choice(open_)
            here.add(action)
            state = trial.apply(state, action)


def greedy(trial, rng):
    """Tries every pass and moves to the state with the fewest instructions that is new on this walk."""
    while True:
        state, seen = trial.start, {trial.start}
        for _ in range(LENGTH):
            reached = {trial.apply(state, action) for action in range(trial.actions)} - seen
            if not reached:
                break
            fewest = min(trial.states.instructions[other] for other in reached)
            state = rng.choice(sorted(other for other in reached if trial.states.instructions[other] == fewest))
            seen.add(state)
        if len(seen) == 1:
            return  # no pass changes anything


def _changed(order, actions, rng, places):
    order = list(order)
    for _ in range(places):
        kind, at = rng.random(), rng.randrange(LENGTH)
        if kind < 0.6:
            order[at] = rng.randrange(actions)
        elif kind < 0.8:
            order[at] = NONE
        else:
            order.insert(rng.randrange(LENGTH), order.pop(at))
    return order


def anneal(trial, rng):
    """From no passes, one to three places changed at a time; the temperature falls from 3 % of D's removal to 0.1 %."""
    instructions = trial.states.instructions
    unit = max(1, instructions[0] - instructions[trial.states.own])
    now = [NONE] * LENGTH
    value = trial.cost(now)
    while True:
        share = trial.applications / trial.checkpoints[-1]
        temperature = unit * 0.03 * (0.001 / 0.03) ** share
        other = _changed(now, trial.actions, rng, rng.randint(1, 3))
        cost = trial.cost(other)
        if cost <= value or rng.random() < math.exp((value - cost) / temperature):
            now, value = other, cost


def genetic(trial, rng, size=16):
    """Two parents by tournaments of three, one or two cuts, one to three places changed; the better half stays."""

    def drawn():
        return [rng.randrange(trial.actions) if rng.random() < 0.5 else NONE for _ in range(LENGTH)]

    population = [(trial.cost(order), order) for order in (drawn() for _ in range(size))]
    while True:
        population.sort(key=lambda member: member[0])
        population = population[: size // 2]
        while len(population) < size:
            mother, father = (min(rng.sample(population[: size // 2], 3), key=lambda member: member[0]) for _ in "ab")
            first, last = sorted((rng.randrange(LENGTH + 1), rng.randrange(LENGTH + 1)))
            child = mother[1][:first] + father[1][first:last] + mother[1][last:]
            child = _changed(child, trial.actions, rng, rng.randint(1, 3))
            population.append((trial.cost(child), child))


SEARCHES = {"random": random, "greedy": greedy, "annealing": anneal, "genetic": genetic}
