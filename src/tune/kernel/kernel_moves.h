// The kernel tuner's moves: which options of a kernel are neighbours, which are tried first, and how time is divided
// between kernels.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// Options one step away: one side of the tile changed to the next smaller or larger value that exists with the others
// unchanged (usually a factor of 2), or the same emitter and tile with other flags. Ascending option indices.
std::vector<int> neighbours(const Dimension& dimension, int option);

// First options to try, without the default: those with no tile (the other emitters), then `samples` tiles, three quarters
// of them up to 1,024 elements (larger ones compile for seconds and rarely win). Tiles are drawn by stratified
// sampling. Distinct.
std::vector<int> first_options(const Dimension& dimension, int samples, Rng& rng);

// Share of the program's time that each kernel takes, in [0, 1]: the dimension's weight if the worker reports it, else
// estimated from bytes, flops and count.
std::vector<double> kernel_shares(const std::vector<Kernel>& kernels);

// Seconds for the first of the kernels with these shares when `total_s` is left for all of them: in proportion, at least
// `floor_s`, at most `total_s`. The caller asks again for each kernel, so unused time goes to the later ones.
double next_budget(const std::vector<double>& shares_left, double total_s, double floor_s);

}  // namespace hone::tune
