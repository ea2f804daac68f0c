"""A network over the rows that trees for run times take, as the product scores it (src/cost/kernel_network.h).

Layers of a linear map, layer normalisation and ReLU, and one linear output. Inputs are standardised and cut off. Needs
torch for training, not for scoring: what lies beyond the training rows counts as their edge.
"""

import numpy as np

SHARE = 2 / 3  # kNetworkShare of src/cost/kernel_network.h
MOST_DEVIATIONS = 6  # from the mean
LEAST_DEVIATION = 1e-5  # of a feature that is not the same everywhere
EPSILON = 1e-5  # of layer normalisation
LAYERS = (256, 256, 128)
DROPOUT = 0.1
PASSES = 30
BATCH = 512
RATE = 2e-3
DECAY = 1e-2
HUBER = 0.3  # errors of a logarithm beyond count by their size, those below by their square


def scale_of(features):
    """The tensors by which features are cut off and standardised."""
    mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    deviation[deviation < LEAST_DEVIATION] = 1
    scale = {
        "least": np.maximum(features.min(axis=0), mean - MOST_DEVIATIONS * deviation),
        "most": np.minimum(features.max(axis=0), mean + MOST_DEVIATIONS * deviation),
        "mean": mean,
        "deviation": deviation,
    }
    return {f"network.{name}": values.astype(np.float32) for name, values in scale.items()}


def standardised(features, tensors):
    inside = np.clip(features, tensors["network.least"], tensors["network.most"])
    return (inside - tensors["network.mean"]) / tensors["network.deviation"]


def trained(features, target, weight, seed):
    """{name of a tensor in the model's file: float32 array}, of a network for the target; AdamW, one cycle of rates."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tensors = scale_of(features)
    rows = torch.from_numpy(standardised(features, tensors))
    targets = torch.from_numpy(target.astype(np.float32))
    weights = torch.from_numpy((weight / weight.mean()).astype(np.float32))
    sizes = [features.shape[1], *LAYERS, 1]
    linears = [torch.nn.Linear(*ends) for ends in zip(sizes[:-1], sizes[1:], strict=True)]
    norms = [torch.nn.LayerNorm(size, eps=EPSILON) for size in LAYERS]
    layers = []
    for linear, norm in zip(linears, norms, strict=False):
        layers += [linear, norm, torch.nn.ReLU(), torch.nn.Dropout(DROPOUT)]
    network = torch.nn.Sequential(*layers, linears[-1])
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    batch = min(BATCH, len(rows))
    steps = len(rows) // batch
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=PASSES * steps)
    for _ in range(PASSES):
        order = torch.randperm(len(rows))
        for step in range(steps):
            chosen = order[step * batch : (step + 1) * batch]
            error = torch.nn.functional.smooth_l1_loss(
                network(rows[chosen])[:, 0], targets[chosen], reduction="none", beta=HUBER
            )
            optimiser.zero_grad()
            (weights[chosen] * error).mean().backward()
            optimiser.step()
            rates.step()
    modules = {f"{i}": linear for i, linear in enumerate(linears)} | {f"{i}.norm": n for i, n in enumerate(norms)}
    for name, module in modules.items():
        tensors[f"network.{name}.weight"] = module.weight.detach().numpy()
        tensors[f"network.{name}.bias"] = module.bias.detach().numpy()
    return tensors


def predicted(tensors, features):
    """As the product scores it: [rows] of the target."""
    values, layer = standardised(features, tensors), 0
    while f"network.{layer + 1}.weight" in tensors:
        values = values @ tensors[f"network.{layer}.weight"].T + tensors[f"network.{layer}.bias"]
        mean, variance = values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
        values = (values - mean) / np.sqrt(variance + EPSILON)
        values = values * tensors[f"network.{layer}.norm.weight"] + tensors[f"network.{layer}.norm.bias"]
        values, layer = np.maximum(values, 0), layer + 1
    return (values @ tensors[f"network.{layer}.weight"].T + tensors[f"network.{layer}.bias"])[:, 0]
