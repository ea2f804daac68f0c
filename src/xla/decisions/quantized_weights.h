// Weights of f32 as signed bytes, with a factor of f32 for each output: how a program is converted, and its inputs.
//
// The parameter of a weight becomes one of s8, and a parameter for its factors is added behind all others. Dots multiply the bytes as f32
// and their results by the factors, in plain HLO. Whoever runs such a program gives the inputs of the original.
#pragma once

#include <optional>
#include <vector>

#include "decisions/precision.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// Changes the module: of the declared weights those matrices that dots of a few rows alone read (kMostRows of kernels/few_rows.h), and
// gathers of whole rows, in any order of their dimensions. Dots of more rows would convert the bytes on every run for more time than they
// save. Throws Error where there is no such weight.
LoweredPrecision quantize_weights(xla::HloModule& module, const std::vector<int>& weights);

struct QuantizedWeight {
  int weight, factors;  // parameters
  int channel;          // the weight's dimension that has a factor for each index
};

// Those of a module that quantize_weights() made. Throws Error for what it does not make.
std::vector<QuantizedWeight> quantized_weights(const xla::HloModule& module);
// The parameters' shapes in the original program.
std::vector<xla::Shape> given_shapes(const xla::HloModule& module);

struct Quantized {
  xla::Literal bytes, factors;
};

// The nearest multiples of a factor that makes the largest number of a channel 127. What is not finite, or in one channel with an
// infinity, is 0.
Quantized quantized(const xla::LiteralSlice& weight, int channel);
// Inputs of the module for those of the original.
std::vector<xla::Literal> with_quantized(std::vector<xla::Literal> given, const xla::HloModule& module);

// A dot of f32 whose right operand is made of bytes, as they are.
bool multiplies_bytes(const xla::HloInstruction& dot);

}  // namespace hone::xla_side
