// How the kernel tuner walks through the options of one kernel: which options are next to each other, which are worth
// trying first, and how time is divided between kernels.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// Options one step away: one tile coordinate moved to the next smaller or larger value that exists with the others
// unchanged (usually a factor of 2), or the same emitter and tile with other flags. Ascending option indices.
std::vector<int> neighbours(const Dimension& dimension, int option);

// First options to try, without the default: those with no tile (the other emitters), then `samples` tiles, three quarters
// of them up to 1,024 elements (larger ones compile for seconds and seldom win), each a random one out of an equal
// stratum of its kind. Distinct.
std::vector<int> first_options(const Dimension& dimension, int samples, Rng& rng);

// Share of the program's time each kernel takes, in [0, 1]: the dimension's weight where the worker knows it, else
// estimated from bytes, flops and count.
std::vector<double> kernel_shares(const std::vector<Kernel>& kernels);

// Seconds for the first of the kernels with these shares when `total_s` is left for all of them: in proportion, at least
// `floor_s`, at most all. What it leaves unused flows to the later ones, since the caller asks again.
double next_budget(const std::vector<double>& shares_left, double total_s, double floor_s);

}  // namespace hone::tune
