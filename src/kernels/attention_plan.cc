#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "kernels/attention.h"

namespace hone {
namespace {

using nlohmann::json;

// As bits: JSON has neither infinities nor exact fractions.
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
float number(const json& value) { return std::bit_cast<float>(value.get<uint32_t>()); }

json to_json(const AttentionArray& array) { return {array.batch, array.row, array.column}; }

AttentionArray array_of(const json& value) {
  return {value.at(0).get<std::vector<int64_t>>(), value.at(1).get<int64_t>(), value.at(2).get<int64_t>()};
}

json to_json(const AttentionStep& step) {
  json value = {{"kind", static_cast<int>(step.kind)},
                {"inverse", step.inverse},
                {"number", bits(step.number)},
                {"other", bits(step.other)}};
  if (step.has_values) value["values"] = to_json(step.values);
  if (step.has_which) value["which"] = to_json(step.which);
  return value;
}

// `text`: the whole configuration, the place of errors.
AttentionStep step_of(const json& value, std::string_view text) {
  const int kind = value.at("kind");
  if (kind < ScoreStep::Multiply || kind > ScoreStep::Keep) throw Error("no such step of attention", std::string(text));
  AttentionStep step{.kind = static_cast<ScoreStep::Kind>(kind),
                     .inverse = value.at("inverse"),
                     .has_values = value.contains("values"),
                     .has_which = value.contains("which"),
                     .number = number(value.at("number")),
                     .other = number(value.at("other"))};
  if (step.has_values) step.values = array_of(value["values"]);
  if (step.has_which) step.which = array_of(value["which"]);
  return step;
}

constexpr int64_t kMostSize = int64_t{1} << 24,
                  kMostStride = int64_t{1} << 32;  // so that no sum of their products overflows
constexpr size_t kMostBatches = 16;

void check(const AttentionPlan& plan, std::string_view text) {
  const auto is_size = [](int64_t size) { return size > 0 && size <= kMostSize; };
  const auto is_stride = [](int64_t stride) { return stride >= 0 && stride <= kMostStride; };
  const auto fits = [&](const AttentionArray& array) {
    return array.batch.size() == plan.batch.size() && is_stride(array.row) && is_stride(array.column) &&
           std::all_of(array.batch.begin(), array.batch.end(), is_stride);
  };
  bool all = is_size(plan.queries) && is_size(plan.keys) && is_size(plan.depth) && is_size(plan.features) &&
             plan.batch.size() <= kMostBatches && std::all_of(plan.batch.begin(), plan.batch.end(), is_size) &&
             fits(plan.query) && fits(plan.key) && fits(plan.value) && fits(plan.output);
  for (const AttentionStep& step : plan.steps)
    all &= (!step.has_values || (fits(step.values) && step.values.column <= 1)) &&
           (!step.has_which || (fits(step.which) && step.which.column <= 1));
  if (!all) throw Error("sizes and strides of attention do not fit together", std::string(text));
}

}  // namespace

std::string AttentionPlan::text() const {
  json after = json::array();
  for (const AttentionStep& step : steps) after.push_back(to_json(step));
  return json{{"batch", batch},          {"sizes", {queries, keys, depth, features}},
              {"query", to_json(query)}, {"key", to_json(key)},
              {"value", to_json(value)}, {"output", to_json(output)},
              {"scale", bits(scale)},    {"steps", after}}
      .dump();
}

AttentionPlan AttentionPlan::from_text(std::string_view text) {
  try {
    const json value = json::parse(shallow_json(text));
    const auto sizes = value.at("sizes").get<std::vector<int64_t>>();
    if (sizes.size() != 4) throw Error("sizes and strides of attention do not fit together", std::string(text));
    AttentionPlan plan{value.at("batch").get<std::vector<int64_t>>(),
                       sizes[0],
                       sizes[1],
                       sizes[2],
                       sizes[3],
                       array_of(value.at("query")),
                       array_of(value.at("key")),
                       array_of(value.at("value")),
                       array_of(value.at("output")),
                       number(value.at("scale")),
                       {}};
    for (const json& step : value.at("steps")) plan.steps.push_back(step_of(step, text));
    check(plan, text);
    return plan;
  } catch (const json::exception&) {
    throw Error("not the configuration of attention", std::string(text));
  }
}

std::vector<int64_t> AttentionPlan::extents() const {
  const auto extent = [&](const AttentionArray& array, int64_t rows, int64_t columns) {
    int64_t last = (rows - 1) * array.row + (columns - 1) * array.column;
    for (size_t d = 0; d < batch.size(); ++d) last += (batch[d] - 1) * array.batch[d];
    return last + 1;
  };
  std::vector<int64_t> all = {extent(query, queries, depth), extent(key, keys, depth), extent(value, keys, features)};
  for (const AttentionStep& step : steps) {
    if (step.has_values) all.push_back(extent(step.values, queries, keys));
    if (step.has_which) all.push_back(extent(step.which, queries, keys));
  }
  all.push_back(extent(output, queries, features));
  return all;
}

}  // namespace hone
