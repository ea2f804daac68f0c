// Scaling to [0, 1] by the smallest and largest value of the training data (Kaufman et al. 2021, section 3.1).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/columns.h"

namespace hone::features {

// Scales rows of one feature table. Log columns go through sign(x) log(1 + |x|) first; columns that were constant in
// training become 0; scaled values are clamped to [-1, 2], so that an unusual kernel cannot dominate a network.
class Scaler {
 public:
  Scaler() = default;
  explicit Scaler(std::vector<Column> columns);  // node_columns(), static_columns(), ...

  int columns() const { return static_cast<int>(columns_.size()); }
  // Widens the ranges; may be called many times. `rows` is [n, columns()]. Throws Error for values that are not finite,
  // with the column's name.
  void fit(std::span<const float> rows);
  bool fitted() const { return fitted_; }
  // Scales [n, columns()] in place. Throws InternalError when never fitted.
  void apply(std::span<float> rows) const;

  // {"feature_version":1,"columns":[{"name","scale","min","max"}]}; from_json throws Error for another feature version,
  // broken text, or columns that are not `expected` (an empty list expects nothing), naming the first that differs.
  std::string to_json() const;
  static Scaler from_json(std::string_view text, const std::vector<Column>& expected);
  bool operator==(const Scaler&) const = default;

 private:
  size_t rows_in(size_t values) const;
  std::vector<Column> columns_;
  std::vector<float> min_, max_;  // after the logarithm
  bool fitted_ = false;
};

}  // namespace hone::features
