#include "graph/input_kind.h"

#include <array>

#include "base/error.h"

namespace hone {

namespace {

constexpr std::array<InputKindTraits, 7> kInputKinds = {{
    {InputKind::Ordinary, "ordinary", "those of the program, else generated ones that keep numerics finite"},
    {InputKind::Zeros, "zeros", "zero everywhere"},
    {InputKind::Ties, "ties", "floats from three values, so that comparisons meet equals"},
    {InputKind::Special, "special", "ordinary ones with NaN, infinities and negative zeros in one parameter"},
    {InputKind::Denormal, "denormal", "ordinary ones, half of the floats scaled below the smallest normal number"},
    {InputKind::Large, "large", "ordinary ones with large floats, and the extremes of integers that are no indices"},
    {InputKind::Indices, "indices", "ordinary ones with indices out of range"},
}};

}  // namespace

std::span<const InputKindTraits> input_kinds() { return kInputKinds; }

const char* input_kind_name(InputKind kind) {
  const auto row = static_cast<size_t>(kind);
  if (row >= kInputKinds.size()) throw InternalError("no kind of inputs has this number");
  return kInputKinds[row].name;
}

InputKind input_kind_from_name(const std::string& name) {
  for (const InputKindTraits& row : kInputKinds)
    if (name == row.name) return row.kind;
  throw Error("unknown kind of inputs '" + name + "'");
}

std::vector<std::string> input_kind_names() {
  std::vector<std::string> names;
  for (const InputKindTraits& row : kInputKinds) names.emplace_back(row.name);
  return names;
}

}  // namespace hone
