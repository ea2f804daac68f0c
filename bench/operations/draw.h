// Operations of the sizes that networks have, drawn at random, as programs of one convolution or dot.
#pragma once

#include <span>
#include <string>

#include "base/rng.h"

namespace hone::bench {

struct Drawn {
  std::string text;  // HLO; its second parameter is what may be weights
  double flops = 0, bytes = 0;
};

// Operations that share forms.
struct DrawnFamily {
  const char* name;
  Drawn (*draw)(Rng& rng);  // `text` is empty for sizes that no such operation has
  double most_flops;
  bool weights;  // the second operand may be weights: declared, or constant
};

// The first are plain convolutions and products of few types, as they were drawn before there were others.
std::span<const DrawnFamily> drawn_families();
const DrawnFamily& drawn_family(const std::string& name);  // throws Error for other names

// One whose arithmetic and arrays are within bounds.
std::string draw(const DrawnFamily& family, Rng& rng);

}  // namespace hone::bench
