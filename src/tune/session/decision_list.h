// Helpers of the program tuner for dimensions and lists of decisions: which dimensions decide much at once, which
// belong together, and how one option changes a list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/strategy.h"
#include "tune/session/measurer.h"

namespace hone::tune {

inline constexpr char kAll[] = "all";  // key of the decision about all weights

Decision as_decision(const Dimension& dimension, int option);
// `base` with one dimension set to one of its options.
Decisions with_option(const Decisions& base, const Dimension& dimension, int option);
// The option that the decisions choose; the default if no decision is about the dimension.
int current_option(const Decisions& decisions, const Dimension& dimension);

// `base` with the decisions of `more`, which replace its own about the same keys; sorted.
Decisions merged(const Decisions& base, const Decisions& more);
// What the decisions choose for the kernel; its default's if none is about it.
const std::string& value_of(const Decisions& decisions, const Kernel& kernel);
// "weights 3 transposed", "option prefer_vector_width 512", "kernel 1a2b3c tile=8,8".
std::string in_words(const Decision& decision);

// Sorts program dimensions into the order of trying: kinds with the largest known gains first, then by weight.
std::vector<Dimension> by_promise(std::vector<Dimension> dimensions);
// Decides much at once: something of the whole program, or everything of a kind.
bool is_broad(const Dimension& dimension);
// One of dozens of its kind (`grouped` in graph/decisions.def): a weight, or how one operation is computed.
bool is_single(const Dimension& dimension);

// The decisions that are not about single kernels; they determine which kernels exist.
Decisions without_kernels(Decisions decisions);
// Whether the dimension is an operation that is measured by itself (`alone` in graph/decision_families.def), and that operation
// with these of its weights compiled in as constants.
bool is_alone(const Dimension& dimension);
Kernel operation_alone(const Dimension& dimension, const Decisions& constants);
Decisions as_constants(const std::vector<int>& weights);

// Values of inputs become a part of the program.
bool takes_constants(const Decisions& decisions);

// The decisions about no dimension of the space.
Decisions outside(Decisions decisions, const Space& space);
// The others, which Space::choice takes if their values are options.
Decisions within(Decisions decisions, const Space& space);

// The cost for a strategy: measured run time of the candidate over that of the baseline. `base` holds the decisions
// outside the space.
class MeasuredCost : public CostModel {
 public:
  using Measure = std::function<Measurement(const Decisions& candidate)>;
  MeasuredCost(const Space& space, Decisions base, Decisions baseline, Measure measure);
  std::vector<double> costs(std::span<const Choice> choices) override;

 private:
  const Space& space_;
  Decisions base_, baseline_;
  Measure measure_;
};

}  // namespace hone::tune
