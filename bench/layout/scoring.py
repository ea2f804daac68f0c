"""How well scores order measured configurations, and what may be said of the differences between rankers."""

import numpy as np

DRAWS = 10_000  # of the bootstrap over programs


def tau(scores, times):
    """Kendall's tau over the pairs of different run time; a pair of equal scores counts 0."""
    scores, times = np.asarray(scores, float), np.asarray(times, float)
    total = pairs = 0
    for i in range(len(times) - 1):
        slower = np.sign(times[i + 1 :] - times[i])
        total += (slower * np.sign(scores[i + 1 :] - scores[i])).sum()
        pairs += np.count_nonzero(slower)
    return total / max(pairs, 1)


def slower(scores, times, top):
    """The fastest of the `top` configurations that are predicted fastest, over the fastest of all; of equal scores each
    is taken equally often: the mean of 32 orders."""
    scores, times = np.asarray(scores, float), np.asarray(times, float)
    draw = np.random.default_rng(0)
    found = [times[np.lexsort((draw.random(len(times)), scores))[:top]].min() for _ in range(32)]
    return float(np.mean(found) / times.min())


def resampled(values, seed=0):
    """Means of the values of programs drawn again with replacement."""
    values = np.asarray(values, float)
    draws = np.random.default_rng(seed).integers(0, len(values), (DRAWS, len(values)))
    return values[draws].mean(1)


def interval(values):
    """The mean and the 95 % interval of its bootstrap over programs."""
    if len(values) < 2:
        return f"{np.mean(values):.3f}"
    low, high = np.percentile(resampled(values), [2.5, 97.5])
    return f"{np.mean(values):.3f} [{low:.3f}, {high:.3f}]"


def spread(values):
    """The mean, and the standard deviation over seeds if there are several."""
    values = list(values)
    text = f"{np.mean(values):.3f}"
    return f"{text} ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else text


def percent(ratios):
    """By how much a ratio over the best exceeds 1, in %: arithmetic mean, geometric mean, median."""
    ratios = np.asarray(ratios)
    means = (ratios.mean(), np.exp(np.log(ratios).mean()), np.median(ratios))
    return ", ".join(f"{100 * (value - 1):.1f}" for value in means)
