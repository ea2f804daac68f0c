// What a convolution by Winograd's method is, as the configuration of a custom call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

// One spatial dimension; `low`: zeros before the first input. A dimension that is not transformed has tile and reach 1.
struct WinogradPlanAxis {
  int64_t in = 1, out = 1, low = 0, tile = 1, reach = 1;  // reach: tile + window - 1
  int64_t tiles() const { return (out + tile - 1) / tile; }
  bool operator==(const WinogradPlanAxis&) const = default;
};

inline constexpr int64_t kWinogradPanel = 16;  // results whose weights lie side by side

// As text it is the configuration of a custom call.
struct WinogradPlan {
  int64_t batch = 1, features = 1, results = 1;
  WinogradPlanAxis rows, columns;

  std::string text() const;
  // Throws Error for what text() does not write, and for sizes whose products overflow.
  static WinogradPlan from_text(std::string_view text);
  // In elements: [batch, rows.in, columns.in, features]; [reach of columns, of rows, panels, features, kWinogradPanel], the weights
  // transformed by G, results that are missing in the last panel 0; [batch, rows.out, columns.out, results].
  int64_t input_size() const, weights_size() const, output_size() const;
  int64_t panels() const { return (results + kWinogradPanel - 1) / kWinogradPanel; }
  bool operator==(const WinogradPlan&) const = default;
};

// Whether there is a kernel for such tiles and reaches.
bool has_winograd_kernel(const WinogradPlanAxis& rows, const WinogradPlanAxis& columns);

}  // namespace hone
