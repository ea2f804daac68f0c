// How a convolution is computed by Winograd's method, as written in rewrite decisions: "winograd=4", "winograd=4;strips=7",
// "gradient-winograd=4", "split-winograd=4", "kernel-winograd=4". The only parser and printer of this form.
#pragma once

#include <optional>
#include <string>

namespace hone {

// What the method is applied to: the convolution itself; one whose window is as large as its image and whose result is
// small, as gradients of weights are; or the convolutions without strides and dilation that one with them is split into. Kernel: to
// the convolution itself, by compiled code (kernels/winograd.h) in place of XLA's operations.
enum class WinogradUse { Plain, Gradient, Split, Kernel };

// F(tile x tile, r x r) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015); of a gradient F(r x r, tile x tile).
struct WinogradForm {
  WinogradUse use = WinogradUse::Plain;
  int tile = 4;  // results per tile and spatial dimension; of a gradient, elements of the window
  int strips =
      1;  // parts of the batch or of the rows, one after the other, so that what lies between fits into a cache

  // nullopt for text that is not a form, or of numbers below 1 (tile: below 2).
  static std::optional<WinogradForm> parse(const std::string& text);
  bool operator==(const WinogradForm&) const = default;
};

std::string to_text(const WinogradForm& form);  // canonical: parse(to_text(x)) == x

}  // namespace hone
