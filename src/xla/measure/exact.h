// How exact a convolution or a dot is: some of its results against sums in f64.
#pragma once

#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// About a thousand results of an operation, spread evenly, summed in f64.
struct ExactSamples {
  std::vector<std::vector<int64_t>> positions;
  std::vector<double> values;
  double largest = 0;  // of their magnitudes
};

// For a program of one convolution or dot (operation_alone()); nullopt for other programs.
std::optional<ExactSamples> exact_samples(const xla::HloModule& operation, const std::vector<xla::Literal>& inputs);

// The largest difference of the operation's output from the samples, divided by the largest of these.
double error_against(const ExactSamples& samples, const xla::Literal& output);

}  // namespace hone::xla_side
