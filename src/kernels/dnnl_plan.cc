#include "kernels/dnnl_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"

namespace hone {
namespace {

constexpr const char* kOperands[] = {"none", "channel", "full"};

nlohmann::json to_json(const DnnlArray& array) { return {{"sizes", array.sizes}, {"strides", array.strides}}; }

DnnlArray array_of(const nlohmann::json& json) {
  DnnlArray array{json.at("sizes"), json.at("strides")};
  const auto positive = [](int64_t size) { return size > 0; };
  if (array.sizes.size() != array.strides.size() || !std::all_of(array.sizes.begin(), array.sizes.end(), positive) ||
      !std::all_of(array.strides.begin(), array.strides.end(), positive))
    throw Error("sizes and strides of an array do not fit");
  return array;
}

PostOp post_op_of(const nlohmann::json& json) {
  const auto* operand = std::find(std::begin(kOperands), std::end(kOperands), json.at("operand").get<std::string>());
  if (operand == std::end(kOperands)) throw Error("no such operand of a step");
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found == json.end() ? std::numeric_limits<double>::infinity() * (key[0] == 'a' ? -1 : 1)
                               : found->get<double>();
  };
  return {json.at("name"), static_cast<PostOperand>(operand - std::begin(kOperands)), number("alpha"), number("beta")};
}

// JSON has no infinity: bounds that are none are left out.
nlohmann::json to_json(const PostOp& op) {
  nlohmann::json json = {{"name", op.name}, {"operand", kOperands[static_cast<int>(op.operand)]}};
  if (std::isfinite(op.alpha)) json["alpha"] = op.alpha;
  if (std::isfinite(op.beta)) json["beta"] = op.beta;
  return json;
}

void check(const DnnlPlan& plan) {
  const size_t spatial = plan.strides.size(), rank = plan.is_convolution() ? spatial + 2 : 2;
  const bool fits = plan.input.sizes.size() == rank && plan.output.sizes.size() == rank &&
                    plan.weights.sizes.size() == rank + (plan.groups > 1 ? 1 : 0) && plan.dilation.size() == spatial &&
                    plan.pad_low.size() == spatial && plan.pad_high.size() == spatial && plan.groups >= 1 &&
                    plan.threads >= 1 && spatial <= 3;
  const bool scales = !plan.post_ops.empty() && plan.post_ops[0].name == "mul" &&
                      plan.post_ops[0].operand == PostOperand::Channel && plan.steady;
  const bool known = plan.weights_type == "f32" || plan.weights_type == "f16";
  if (!fits || !known || (plan.scaled && !scales)) throw Error("sizes of an operation do not fit together");
}

}  // namespace

std::string DnnlPlan::text() const {
  nlohmann::json after = nlohmann::json::array();
  for (const PostOp& op : post_ops) after.push_back(to_json(op));
  const nlohmann::json json = {{"input", to_json(input)},
                               {"weights", to_json(weights)},
                               {"output", to_json(output)},
                               {"strides", strides},
                               {"dilation", dilation},
                               {"pad_low", pad_low},
                               {"pad_high", pad_high},
                               {"groups", groups},
                               {"post_ops", after},
                               {"steady", steady},
                               {"scaled", scaled},
                               {"threads", threads},
                               {"weights_type", weights_type}};
  return json.dump();
}

DnnlPlan DnnlPlan::from_text(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(shallow_json(text));
    DnnlPlan plan;
    plan.input = array_of(json.at("input"));
    plan.weights = array_of(json.at("weights"));
    plan.output = array_of(json.at("output"));
    plan.strides = json.at("strides").get<std::vector<int64_t>>();
    plan.dilation = json.at("dilation").get<std::vector<int64_t>>();
    plan.pad_low = json.at("pad_low").get<std::vector<int64_t>>();
    plan.pad_high = json.at("pad_high").get<std::vector<int64_t>>();
    plan.groups = json.at("groups");
    plan.steady = json.at("steady");
    plan.scaled = json.at("scaled");
    plan.weights_type = json.at("weights_type");
    plan.threads = json.at("threads");
    for (const auto& op : json.at("post_ops")) plan.post_ops.push_back(post_op_of(op));
    check(plan);
    return plan;
  } catch (const nlohmann::json::exception&) {
    throw Error("not the configuration of an operation for oneDNN");
  }
}

}  // namespace hone
