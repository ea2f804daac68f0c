"""A kernel's run time as a sum of work (src/cost/work_model.h): learns the weights, and makes features of them.

Each term is so many nanoseconds for each instruction, access or byte of a kind, and none is negative. The weights are
reweighted least squares of the relative error, over the rows of all machines: a first guess of every kernel's time that
holds on programs unlike all others, where trees do not extrapolate.
"""

import numpy as np
import scipy.optimize

ROUNDS = 8  # of least squares, each with the weights that the one before says
MOST_OVER_ANALYTICAL = 20  # kMostOverAnalytical of src/cost/work_model.h
LEAST_SHARE = 0.05  # of the measured time: a kernel that is predicted at less does not count more


def counts_of(features, names, terms):
    """[rows, terms] from features that are logarithms of 1 + a count; the last term is a constant."""
    columns = [names.index(term) for term in terms[:-1]]
    return np.concatenate([np.expm1(features[:, columns].astype(np.float64)), np.ones((len(features), 1))], axis=1)


def fitted_weights(counts, ns, weight):
    """Nanoseconds of each term, float32.

    Least squares of p - 1 with p the predicted over the measured time, each row divided by the p of the round before:
    where they settle, the sum of p - 1 - log(p) is least (the Itakura-Saito distance), by which a time that is
    predicted at a half costs more than one at the double.
    """
    over_time = counts / ns[:, None]
    scale = np.sqrt(weight)
    for _ in range(ROUNDS):
        found, _ = scipy.optimize.nnls(over_time * scale[:, None], scale, maxiter=100 * counts.shape[1])
        scale = np.sqrt(weight / np.maximum(over_time @ found, LEAST_SHARE))
    return found.astype(np.float32)


def work_of(counts, weights):
    """ns of the sums, at least 1, and [rows, terms]: what share of it each term has."""
    terms = counts * weights.astype(np.float64)
    ns = np.maximum(1.0, terms.sum(axis=1))
    return ns, (terms / ns[:, None]).astype(np.float32)


def features_of(counts, weights, analytical, most_ratio=np.inf):
    """Logarithms of the sums in ns, and the columns of feature_names(), float32. analytical: logarithms of ns.

    most_ratio: the most that a sum counts as over the analytical estimate.
    """
    ns, shares = work_of(counts, weights)
    log_ns = np.minimum(np.log(ns), np.maximum(0, analytical + np.log(most_ratio)))
    return log_ns, np.concatenate([(log_ns - analytical)[:, None].astype(np.float32), shares], axis=1)


def with_work(features, counts, weights, analytical):
    """As the trees before compiling take them: the features and those of the sum of work, and logarithms of its ns."""
    log_ns, columns = features_of(counts, weights, analytical, MOST_OVER_ANALYTICAL)
    return np.concatenate([features, columns], axis=1), log_ns


def over_work(rows, names, terms):
    """Rows with their target over a sum of work and its features, and the weights of work.

    rows: features, targets, weights and logarithms of analytical ns, as of training_part() in train_kernels.py.
    """
    features, target, weight, analytical = rows
    counts = counts_of(features, names, terms)
    weights = fitted_weights(counts, np.exp(target + analytical), weight)
    features, log_ns = with_work(features, counts, weights, analytical)
    return (features, target - (log_ns - analytical), weight, analytical), weights


def feature_names(terms):
    return ["work_over_analytical", *(f"share_of_{term}" for term in terms)]
