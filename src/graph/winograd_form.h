// How a convolution is computed by Winograd's method, as written in rewrite decisions: "winograd=4", "winograd=4;strips=7".
// The only parser and printer of this form.
#pragma once

#include <optional>
#include <string>

namespace hone {

// F(tile x tile, r x r) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).
struct WinogradForm {
  int tile = 4;  // results per tile and spatial dimension
  int strips =
      1;  // parts of the batch or of the rows, one after the other, so that what lies between fits into a cache

  // nullopt for text that is not a form, or of numbers below 1 (tile: below 2).
  static std::optional<WinogradForm> parse(const std::string& text);
  bool operator==(const WinogradForm&) const = default;
};

std::string to_text(const WinogradForm& form);  // canonical: parse(to_text(x)) == x

}  // namespace hone
