// Random programs made of layers, and the elementwise operations that generated kernels use, too.
#pragma once

#include <string>

#include "base/rng.h"
#include "collect/hlo_text.h"

namespace hone::collect {

// An elementwise operation whose result is finite for any finite operand.
Value random_unary(HloText& text, const Value& a, Rng& rng);
Value random_binary(HloText& text, const Value& a, const Value& b, Rng& rng);

// A module of 2 to 8 random layers on one activation: dense, attention, convolution, normalisation and so on.
std::string generate_layers(const std::string& name, double max_elements, Rng& rng);

}  // namespace hone::collect
