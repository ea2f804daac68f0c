#include "measure/wide.h"

#include <regex>

#include "status.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr double kMostRms = 1.1, kMostLargest = 1.5;  // of default XLA's: the rest is chance
constexpr double kMeaningful = 0.25;  // root mean square of default XLA's errors over that of the values

bool is_half(xla::PrimitiveType type) { return type == xla::BF16 || type == xla::F16; }

bool has_half(const xla::HloModule& program) {
  for (const auto* computation : program.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->shape().IsArray() && is_half(instruction->shape().element_type())) return true;
  return false;
}

struct Distance {
  double squares = 0, largest = 0;
};

double distance_of(const xla::Literal& wide, const xla::Literal& by_default, const xla::Literal& candidate) {
  const auto exact = wide.data<double>(), usual = by_default.data<double>(), found = candidate.data<double>();
  Distance of_default, of_candidate;
  double squares = 0;
  const auto add = [](Distance& distance, double difference) {
    distance.squares += difference * difference;
    distance.largest = std::max(distance.largest, std::fabs(difference));
  };
  for (size_t i = 0; i < exact.size(); ++i) {
    const bool finite = std::isfinite(usual[i]);
    if (finite != std::isfinite(found[i])) return INFINITY;
    if (!finite) {
      if (std::isnan(usual[i]) != std::isnan(found[i]) || (!std::isnan(usual[i]) && usual[i] != found[i]))
        return INFINITY;
      continue;
    }
    if (!std::isfinite(exact[i])) {  // beyond what f32 tells: no difference is allowed
      if (usual[i] != found[i]) return INFINITY;
      continue;
    }
    squares += exact[i] * exact[i];
    add(of_default, usual[i] - exact[i]);
    add(of_candidate, found[i] - exact[i]);
  }
  if (of_candidate.squares == 0) return 0;
  if (std::sqrt(of_default.squares) > kMeaningful * std::sqrt(squares)) return INFINITY;
  if (of_default.squares == 0) return INFINITY;
  return std::max(std::sqrt(of_candidate.squares / of_default.squares) / kMostRms,
                  of_candidate.largest / of_default.largest / kMostLargest);
}

// In the layout of `shape`, whose element type may be another.
xla::Literal in_f64(const xla::Literal& literal, const xla::Shape& shape) {
  const xla::Literal converted = take(literal.Convert(xla::F64), "f64");
  return converted.Relayout(xla::ShapeUtil::ChangeElementType(shape, xla::F64));
}

std::unique_ptr<xla::HloModule> with_types(const xla::HloModule& program, const std::regex& types, const char* type) {
  const std::string text =
      program.ToString(xla::HloPrintOptions().set_print_large_constants(true).set_print_metadata(false));
  auto module = xla::ParseAndReturnUnverifiedModule(std::regex_replace(text, types, type));
  return module.ok() ? std::move(*module) : nullptr;
}

}  // namespace

std::unique_ptr<xla::HloModule> widened(const xla::HloModule& program) {
  if (!has_half(program)) return nullptr;
  static const std::regex kHalf("\\bb?f16\\[");
  return with_types(program, kHalf, "f32[");
}

std::unique_ptr<xla::HloModule> in_double(const xla::HloModule& program) {
  static const std::regex kNarrow("\\b(bf16|f16|f32)\\[");
  return with_types(program, kNarrow, "f64[");
}

std::optional<std::vector<xla::Literal>> widened(const std::vector<xla::Literal>& inputs) {
  std::vector<xla::Literal> wide;
  for (const xla::Literal& input : inputs) {
    if (!input.shape().IsArray()) return std::nullopt;
    wide.push_back(is_half(input.shape().element_type()) ? take(input.Convert(xla::F32), "f32") : input.Clone());
  }
  return wide;
}

double distance_from_wide(const std::vector<xla::Literal>& wide, const std::vector<xla::Literal>& by_default,
                          const std::vector<xla::Literal>& candidate) {
  if (wide.size() != by_default.size() || candidate.size() != by_default.size()) return INFINITY;
  double distance = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    const xla::Shape& shape = by_default[i].shape();
    if (!xla::ShapeUtil::SameDimensions(wide[i].shape(), shape) ||
        !xla::ShapeUtil::Compatible(candidate[i].shape(), shape))
      return INFINITY;
    if (xla::primitive_util::IsFloatingPointType(shape.element_type()))
      distance = std::max(
          distance, distance_of(in_f64(wide[i], shape), in_f64(by_default[i], shape), in_f64(candidate[i], shape)));
    else if (by_default[i] != candidate[i].Relayout(shape))
      return INFINITY;
  }
  return distance;
}

}  // namespace hone::xla_side
