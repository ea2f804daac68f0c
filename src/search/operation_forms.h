// Other forms of a program's operations and other options of XLA: what can be decided before there are kernels, but for fusion,
// layouts and passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// All operations of one family in the same other form.
struct FormGroup {
  std::string family;   // in words, as "reduction"; of an option of XLA its name
  std::string value;    // that all decisions give
  Decisions decisions;  // sorted, one at least
  bool operator==(const FormGroup&) const = default;
};

// Operations before XLA's options, else in the order in which families and values first occur.
std::vector<FormGroup> form_groups(const std::vector<Dimension>& dimensions);

// At most `count` distinct decisions: first each group alone, then random ones, in which half of the operations and a quarter of XLA's
// options have another form. The same for the same seed.
std::vector<Decisions> sample_forms(const std::vector<Dimension>& dimensions, int count, uint64_t seed);

}  // namespace hone
