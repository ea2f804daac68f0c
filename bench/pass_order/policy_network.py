"""Policy networks in the file format of src/passorder/policy_file.h: one trained by imitation, and one that says which
passes would change a program, for a policy that follows an order."""

import json
import math
import struct

import numpy as np
import torch

OPCODES = 135
TEMPERATURE = 0.01  # of the targets, in log gain: passes 1 % worse than the best get 1/e of its weight
IDLE_REGRET, MOST_REGRET, REGRET_WEIGHT = 0.02, 0.3, 30.0
STEP = 2.0  # between the scores of one pass of an order and the next
LEAST_VARIANCE, CUT = 0.01, 10.0  # as src/passorder/input_scale.cc
DECAY = 1e-2  # of weights in training
TENSOR_TYPES = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64"}


def logs(values):
    return np.copysign(np.log1p(np.abs(values)), values)


class Scale:
    """Symmetric logarithms brought to mean 0 and deviation 1, and cut (src/passorder/input_scale.h)."""

    def __init__(self, observations, actions):
        rows = logs(observations.astype(np.float64))
        self.mean, self.variance = rows.mean(0), rows.var(0)
        taken = slice(OPCODES, OPCODES + actions)  # drawn in training, see tried()
        self.mean[taken], self.variance[taken] = 0.1, 0.09

    def __call__(self, values):
        return np.clip((logs(values) - self.mean) / np.sqrt(self.variance + LEAST_VARIANCE), -CUT, CUT)


class Presence(Scale):
    """The same scale, but counts of operations are cut where there are about five: which passes change a program
    depends on what is there, and a larger program has more of it. They become 0 to CUT."""

    def __init__(self, observations, actions):
        super().__init__(observations, actions)
        self.mean[:OPCODES], self.variance[:OPCODES] = 0.0, 0.0


class Network:
    """The forward pass in numpy: an observation to log-probabilities of the passes."""

    def __init__(self, scale, layers):
        self.scale, self.layers = scale, layers  # (weights [outputs, inputs], bias [outputs])

    def outputs(self, observation):
        x = self.scale(observation)
        for weights, bias in self.layers[:-1]:
            x = np.tanh(weights @ x + bias)
        weights, bias = self.layers[-1]
        return weights @ x + bias

    def __call__(self, observation, history):
        x = self.outputs(observation)
        return x - x.max() - np.log(np.exp(x - x.max()).sum())


class Likeliest:
    """Several networks of which the likeliest counts: a pass is left out only if all agree. There is no file for it."""

    def __init__(self, networks):
        self.networks = networks

    def outputs(self, observation):
        return np.max([network.outputs(observation) for network in self.networks], axis=0)


class Follower:
    """Follows an order: next is the first pass behind the last one that changed the program that was not tried in this
    state and is among the likeliest to change it: as many as a walk of `walk` passes has time for, if it goes through
    the order evenly. Then come the others whose chance is at least `least`, from the order's beginning on. As `follow`
    of src/passorder/order_follower.h."""

    def __init__(self, network, order, least, walk):
        self.network, self.order, self.least, self.walk = network, list(order), least, walk

    def place(self, history):
        """Behind the last change, each pass of the history being the first such one behind the one before."""
        at = 0
        for action in history:
            ahead = self.order[at:] + self.order[:at]
            if action in ahead:
                at = (at + ahead.index(action) + 1) % len(self.order)
        return at

    def __call__(self, observation, history):
        logits = self.network.outputs(observation)
        taken = observation[OPCODES : OPCODES + len(logits)] > 0
        at, bound = self.place(history), math.log(self.least / (1 - self.least))
        rest = [a for a in self.order[at:] if not taken[a]]
        time = -(-self.walk * (len(self.order) - at) // len(self.order))  # rounded up
        ranked = sorted((logits[a] for a in rest), reverse=True)
        likely = max(bound, ranked[time - 1]) if len(rest) > time else bound
        ahead = [a for a in rest if logits[a] >= likely]
        ahead += [a for a in self.order if not taken[a] and logits[a] >= bound]
        scores = np.minimum(logits, 0) - STEP * (len(logits) + 1)
        for rank, action in enumerate(dict.fromkeys(ahead)):
            scores[action] = -STEP * rank
        return scores


def tried(idle, rng):
    """Some of the passes that change nothing in a state, as if a walk had tried them there: [rows, actions]."""
    share = rng.random((len(idle), 1)) ** 2 * (rng.random((len(idle), 1)) < 0.6)
    return idle & (rng.random(idle.shape) < share)


class Targets:
    """What is asked for in each state: a distribution over the best passes, and what each pass costs against them."""

    def __init__(self, worth, here):
        self.idle = np.isnan(worth)
        values = np.where(self.idle, -9.0, worth)
        best = values.max(1, keepdims=True)
        share = np.where(self.idle, 0, np.exp((values - best) / TEMPERATURE))
        self.share = (share / share.sum(1, keepdims=True)).astype(np.float32)
        self.regret = np.where(self.idle, IDLE_REGRET, np.clip(best - values, 0, MOST_REGRET)).astype(np.float32)
        self.useful = best[:, 0] > here + 1e-6  # else the walk may stop here


HIDDEN, RATE = (256, 256), 1e-3  # of the network of `fit` and its training


def fit(lessons, weight, seed=0, epochs=60):
    """Trains one network by cross-entropy with the targets plus the expected regret.

    lessons: observations [rows, width], worth of each pass [rows, actions], worth of stopping [rows]; weight [rows].
    """
    observations, worth, here = lessons
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    actions, batch = worth.shape[1], 256
    scale, targets = Scale(observations, actions), Targets(worth, here)
    weight = weight * np.where(targets.useful, 1, 0.1)
    weight = (weight / weight.mean()).astype(np.float32)
    widths = [observations.shape[1], *HIDDEN, actions]
    layers = [torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:], strict=False)]
    network = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.Tanh())][:-1])
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    batches = [(epoch, at) for epoch in range(epochs) for at in range(0, len(observations), batch)]
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=len(batches) + 1, pct_start=0.1)
    taken = slice(OPCODES, OPCODES + actions)
    for _, at in batches:
        if at == 0:
            order = rng.permutation(len(observations))
        rows = order[at : at + batch]
        seen = observations[rows].copy()
        seen[:, taken] = tried(targets.idle[rows], rng)
        logits = network(torch.tensor(scale(seen), dtype=torch.float32))
        logits = logits.masked_fill(torch.tensor(seen[:, taken] > 0), -1e9)
        chances = torch.log_softmax(logits, 1)
        surprise = -(torch.tensor(targets.share[rows]) * chances).sum(1)
        regret = (chances.exp() * torch.tensor(targets.regret[rows])).sum(1)
        loss = ((surprise + REGRET_WEIGHT * regret) * torch.tensor(weight[rows])).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return Network(scale, [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers])


CHANGES_HIDDEN, CHANGES_RATE, DROPOUT = 64, 4e-3, 0.2  # of the network of fit_changes and its training


def fit_changes(lessons, seed=0, epochs=60, made=Scale):
    """Trains a network that says which passes change the program, by cross-entropy.

    lessons: observations [rows, width], changes [rows, actions] and weight [rows]; made: the class of the scale.
    """
    observations, changes, weight = lessons
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    actions, batch = changes.shape[1], 256
    scale = made(observations, actions)
    values, wanted = torch.tensor(scale(observations), dtype=torch.float32), torch.tensor(changes)
    values[:, OPCODES : OPCODES + actions] = 0  # a pass that was tried is not asked for
    weight = torch.tensor(weight / weight.mean(), dtype=torch.float32)
    layers = [torch.nn.Linear(observations.shape[1], CHANGES_HIDDEN), torch.nn.Linear(CHANGES_HIDDEN, actions)]
    network = torch.nn.Sequential(layers[0], torch.nn.Tanh(), torch.nn.Dropout(DROPOUT), layers[1])
    optimizer = torch.optim.AdamW(network.parameters(), lr=CHANGES_RATE, weight_decay=DECAY)
    starts = [(epoch, at) for epoch in range(epochs) for at in range(0, len(values), batch)]
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, CHANGES_RATE, total_steps=len(starts) + 1)
    for _, at in starts:
        if at == 0:
            order = torch.tensor(rng.permutation(len(values)))
        rows = order[at : at + batch]
        surprise = torch.nn.functional.binary_cross_entropy_with_logits(
            network(values[rows]), wanted[rows], reduction="none"
        )
        loss = (surprise.mean(1) * weight[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    layers[0].weight.data[:, OPCODES : OPCODES + actions] = 0
    return Network(scale, [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers])


def mean_of(networks):
    """One network with one hidden layer whose outputs are the means of those of several with the same scale."""
    first, last = zip(*(network.layers for network in networks), strict=True)
    hidden = tuple(np.concatenate([layer[part] for layer in first]) for part in range(2))
    weights = np.concatenate([weights for weights, _ in last], axis=1) / len(networks)
    return Network(networks[0].scale, [hidden, (weights, np.mean([bias for _, bias in last], axis=0))])


def write_tensors(path, tensors, metadata):
    """A safetensors file; tensors by name."""
    header, data = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": TENSOR_TYPES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save(path, policy, passes, environment, command):
    """The policy as `hone order` and `hone gym eval` read it."""
    follows = isinstance(policy, Follower)
    network = policy.network if follows else policy
    hidden = [len(bias) for _, bias in network.layers[:-1]]
    width = network.layers[0][0].shape[1]
    spec = {"id": environment, "actions": len(passes), "observation_width": width, "cost_width": 0, "node_width": 0}
    metadata = {
        "format": "hone-policy-1",
        "options": json.dumps({"agent": "ppo", "layers": hidden, "activation": "tanh", "normalize": True}),
        "spec": json.dumps(spec),
        "environment": json.dumps({"id": environment, "passes": list(passes)}),
        "command": command,
        "steps": "0",
    }
    if follows:
        order = {
            "passes": [passes[action] for action in policy.order],
            "least_chance": policy.least,
            "walk": policy.walk,
        }
        metadata |= {"format": "hone-policy-order-1", "order": json.dumps(order)}
    tensors = {f"policy.layer{i}.weight": weights.astype(np.float32) for i, (weights, _) in enumerate(network.layers)}
    tensors |= {f"policy.layer{i}.bias": bias.astype(np.float32) for i, (_, bias) in enumerate(network.layers)}
    for part in ("values", "costs", "nodes"):  # the last two are empty; hone gym train --begin asks for them
        tensors[f"scale.{part}.count"] = np.ones(1)
        tensors[f"scale.{part}.mean"] = tensors[f"scale.{part}.square"] = np.zeros(0)
    tensors["scale.values.mean"], tensors["scale.values.square"] = network.scale.mean, network.scale.variance
    write_tensors(path, tensors, metadata)


def load(path):
    """A network that `save` wrote."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
    types = {name: kind for kind, name in TENSOR_TYPES.items()}

    def tensor(name):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(data[begin:end], types[header[name]["dtype"]]).reshape(header[name]["shape"])

    levels = range(1 + len(json.loads(header["__metadata__"]["options"])["layers"]))
    scale = Scale.__new__(Scale)
    scale.mean, scale.variance = tensor("scale.values.mean"), tensor("scale.values.square")
    network = Network(scale, [(tensor(f"policy.layer{i}.weight"), tensor(f"policy.layer{i}.bias")) for i in levels])
    metadata = header["__metadata__"]
    if "order" not in metadata:
        return network
    order, passes = json.loads(metadata["order"]), json.loads(metadata["environment"])["passes"]
    return Follower(network, [passes.index(name) for name in order["passes"]], order["least_chance"], order["walk"])
