#include "decisions/quantized_weights.h"

#include <cmath>

#include "decisions/arithmetic.h"
#include "decisions/dot_roles.h"
#include "kernels/few_rows.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/service/call_inliner.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr char kFactorsAttribute[] = "hone_factors", kChannelAttribute[] = "hone_channel";  // of a weight's parameter
constexpr int64_t kLeastQuantized = 1 << 14;  // a smaller matrix stays in the first-level cache
constexpr float kLargest = 127;

bool holds_f32(const HloInstruction& value) {
  return value.shape().IsArray() && value.shape().element_type() == xla::F32;
}

// A dot that reads the matrix as its right operand, with few rows on the left.
bool is_fitting_dot(const HloInstruction& op, const HloInstruction* matrix) {
  if (op.opcode() != HloOpcode::kDot || !holds_f32(op) || !holds_f32(*op.operand(0)) || op.operand(1) != matrix ||
      op.operand(0) == matrix)
    return false;
  const DotRoles left = left_roles(op), right = right_roles(op);
  return left.batch.empty() && right.contracting.size() == 1 && right.free.size() == 1 &&
         size_product(op.operand(0)->shape(), left.free) <= kMostRows;
}

// A gather of rows of the matrix, whose elements are the last dimension of its result.
bool gathers_rows(const HloInstruction& op, const HloInstruction* matrix) {
  if (op.opcode() != HloOpcode::kGather || op.operand(0) != matrix || op.operand(1) == matrix) return false;
  const auto& numbers = op.gather_dimension_numbers();
  const auto last = static_cast<int64_t>(op.shape().dimensions().size()) - 1;
  const auto is_only = [](const auto& dimensions, int64_t d) { return dimensions.size() == 1 && dimensions[0] == d; };
  return is_only(numbers.offset_dims(), last) && is_only(numbers.collapsed_slice_dims(), 0) &&
         is_only(numbers.start_index_map(), 0) && numbers.operand_batching_dims_size() == 0 &&
         op.gather_slice_sizes()[0] == 1 && op.gather_slice_sizes()[1] == matrix->shape().dimensions(1);
}

struct Readers {
  int dots = 0;
  int channel = -1;  // of the weight
  bool fit = true;

  void have(int channel_too) {
    fit = fit && (channel < 0 || channel == channel_too);
    channel = channel_too;
  }
};

// `order`: the weight's dimensions in `value`.
void find_readers(const HloInstruction& value, const std::vector<int64_t>& order, Readers& found) {
  found.fit = found.fit && &value != value.parent()->root_instruction();
  for (const HloInstruction* user : value.users()) {
    if (user->opcode() == HloOpcode::kCopy) {
      find_readers(*user, order, found);
    } else if (user->opcode() == HloOpcode::kTranspose) {
      find_readers(*user, {order[user->dimensions(0)], order[user->dimensions(1)]}, found);
    } else if (is_fitting_dot(*user, &value)) {
      ++found.dots;
      found.have(static_cast<int>(order[right_roles(*user).free[0]]));
    } else if (gathers_rows(*user, &value)) {
      found.have(static_cast<int>(order[0]));
    } else {
      found.fit = false;
    }
  }
}

// Gives the readers of one weight what is stored now.
class Replacement : Arithmetic {
 public:
  Replacement(xla::HloComputation* entry, HloInstruction* factors) : Arithmetic(entry), factors_(factors) {}

  void replace(HloInstruction* before, HloInstruction* bytes) {
    const std::vector<HloInstruction*> users(before->users().begin(), before->users().end());
    for (HloInstruction* user : users) {
      if (user->opcode() == HloOpcode::kDot) {
        HloInstruction* dot =
            add(user->CloneWithNewOperands(user->shape(), {user->mutable_operand(0), as_type(bytes, xla::F32)}));
        const auto last = static_cast<int64_t>(user->shape().dimensions().size()) - 1;
        put(user, dot, factors_, {last});
      } else if (user->opcode() == HloOpcode::kGather) {
        gather(user, bytes);
      } else {
        const xla::Shape shape = ShapeUtil::ChangeElementType(user->shape(), xla::S8);
        replace(user, add(user->CloneWithNewOperands(shape, {bytes})));
      }
    }
  }

 private:
  // In place of `user`: its value times factors along `dimensions`.
  void put(HloInstruction* user, HloInstruction* value, HloInstruction* factors, const Sizes& dimensions) {
    HloInstruction* all = add(HloInstruction::CreateBroadcast(user->shape(), factors, dimensions));
    HloInstruction* product = add(HloInstruction::CreateBinary(user->shape(), HloOpcode::kMultiply, value, all));
    product->set_metadata(user->metadata());
    check(user->ReplaceAllUsesWith(product), "precision");
  }

  void gather(HloInstruction* user, HloInstruction* bytes) {
    const xla::Shape narrow = ShapeUtil::ChangeElementType(user->shape(), xla::S8);
    HloInstruction* rows = add(user->CloneWithNewOperands(narrow, {bytes, user->mutable_operand(1)}));
    xla::GatherDimensionNumbers numbers = user->gather_dimension_numbers();
    numbers.clear_offset_dims();
    Sizes sizes = sizes_of(user), kept;
    sizes.pop_back();
    for (size_t d = 0; d < sizes.size(); ++d) kept.push_back(static_cast<int64_t>(d));
    HloInstruction* factors =
        add(HloInstruction::CreateGather(ShapeUtil::MakeShape(xla::F32, sizes), factors_, user->mutable_operand(1),
                                         numbers, {1}, /*indices_are_sorted=*/false));
    put(user, as_type(rows, xla::F32), factors, kept);
  }

  HloInstruction* factors_;
};

void quantize_one(xla::HloComputation& entry, int number, int channel) {
  const HloInstruction* weight = entry.parameter_instruction(number);
  const int behind = static_cast<int>(entry.num_parameters());
  HloInstruction* factors = entry.AddEntryComputationParameter(
      HloInstruction::CreateParameter(behind, ShapeUtil::MakeShape(xla::F32, {weight->shape().dimensions(channel)}),
                                      std::string(weight->name()) + "_factors"));
  const auto [before, bytes] = retype_parameter(entry, number, xla::S8);
  bytes->set_frontend_attribute(kFactorsAttribute, std::to_string(behind));
  bytes->set_frontend_attribute(kChannelAttribute, std::to_string(channel));
  Replacement(&entry, factors).replace(before, bytes);
}

// The number behind an attribute, or -1.
int number_attribute(const HloInstruction& parameter, const char* name) {
  const auto& attributes = parameter.frontend_attributes().map();
  const auto found = attributes.find(name);
  return found == attributes.end() ? -1 : std::atoi(found->second.c_str());
}

}  // namespace

LoweredPrecision quantize_weights(xla::HloModule& module, const std::vector<int>& weights) {
  check(xla::CallInliner().Run(&module).status(), "precision");
  xla::HloComputation& entry = *module.entry_computation();
  LoweredPrecision lowered;
  for (const int number : weights) {
    const HloInstruction* weight = weight_parameter(entry, number);
    if (!holds_f32(*weight) || weight->shape().dimensions().size() != 2 ||
        ShapeUtil::ElementsIn(weight->shape()) < kLeastQuantized)
      continue;
    Readers readers;
    find_readers(*weight, {0, 1}, readers);
    if (!readers.fit || readers.dots == 0) continue;
    quantize_one(entry, number, readers.channel);
    lowered.weights.push_back(number);
    lowered.dots += readers.dots;
  }
  if (lowered.weights.empty())
    throw Error("no declared weight of f32 is a large matrix that dots of at most " + std::to_string(kMostRows) +
                    " rows alone read",
                "--precision", "bf16 is for dots of more rows");
  check(xla::HloDCE().Run(&module).status(), "precision");
  module.mutable_config().SetComputationLayoutIfExists(entry.ComputeProgramShape());
  *module.mutable_entry_computation_layout() = xla::ComputationLayout(entry.ComputeProgramShape());
  return lowered;
}

std::vector<QuantizedWeight> quantized_weights(const xla::HloModule& module) {
  std::vector<QuantizedWeight> found;
  const auto& parameters = module.entry_computation()->parameter_instructions();
  for (const HloInstruction* p : parameters) {
    const int factors = number_attribute(*p, kFactorsAttribute), channel = number_attribute(*p, kChannelAttribute);
    if (factors < 0) continue;
    const xla::Shape& shape = p->shape();
    const bool fits = shape.IsArray() && shape.element_type() == xla::S8 && shape.dimensions().size() == 2 &&
                      (channel == 0 || channel == 1) && factors < static_cast<int>(parameters.size()) &&
                      holds_f32(*parameters[factors]) && parameters[factors]->shape().dimensions().size() == 1 &&
                      parameters[factors]->shape().dimensions(0) == shape.dimensions(channel);
    if (!fits) throw Error("a parameter of bytes has no fitting factors", std::string(p->name()));
    found.push_back({static_cast<int>(p->parameter_number()), factors, channel});
  }
  // Their factors are the last parameters, so that the others have the numbers that they had.
  for (const QuantizedWeight& q : found)
    if (q.factors < static_cast<int>(parameters.size() - found.size()))
      throw Error("factors of a weight are not behind all other parameters");
  return found;
}

std::vector<xla::Shape> given_shapes(const xla::HloModule& module) {
  const std::vector<QuantizedWeight> all = quantized_weights(module);
  std::vector<xla::Shape> shapes;
  for (const HloInstruction* p : module.entry_computation()->parameter_instructions()) shapes.push_back(p->shape());
  for (const QuantizedWeight& q : all) shapes[q.weight] = ShapeUtil::ChangeElementType(shapes[q.weight], xla::F32);
  shapes.resize(shapes.size() - all.size());
  return shapes;
}

Quantized quantized(const xla::LiteralSlice& weight, int channel) {
  const int64_t rows = weight.shape().dimensions(0), columns = weight.shape().dimensions(1);
  const xla::Literal dense = weight.Relayout(xla::LayoutUtil::MakeDescendingLayout(2));
  const auto values = dense.data<float>();
  Quantized made{xla::Literal(ShapeUtil::MakeShape(xla::S8, {rows, columns})),
                 xla::Literal(ShapeUtil::MakeShape(xla::F32, {channel == 0 ? rows : columns}))};
  const auto bytes = made.bytes.data<int8_t>();
  const auto factors = made.factors.data<float>();
  std::fill(factors.begin(), factors.end(), 0.0f);
  for (int64_t i = 0; i < rows * columns; ++i) {
    float& largest = factors[channel == 0 ? i / columns : i % columns];
    if (const float size = std::fabs(values[i]); size > largest) largest = size;
  }
  for (float& factor : factors) factor = std::isfinite(factor) ? factor / kLargest : 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float factor = factors[channel == 0 ? i / columns : i % columns];
    const float nearest = factor > 0 ? std::nearbyint(values[i] / factor) : 0;
    bytes[i] = nearest == nearest ? static_cast<int8_t>(std::clamp(nearest, -kLargest, kLargest)) : 0;
  }
  return made;
}

std::vector<xla::Literal> with_quantized(std::vector<xla::Literal> given, const xla::HloModule& module) {
  const std::vector<QuantizedWeight> all = quantized_weights(module);
  const size_t count = given.size();
  given.resize(count + all.size());
  for (const QuantizedWeight& q : all) {
    if (count != given_shapes(module).size() || given[q.weight].shape().element_type() != xla::F32 ||
        given[q.weight].shape().dimensions() !=
            module.entry_computation()->parameter_instruction(q.weight)->shape().dimensions())
      throw Error("inputs of a program with quantized weights are those of the original");
    Quantized made = quantized(given[q.weight], q.channel);
    given[q.weight] = std::move(made.bytes);
    given[q.factors] = std::move(made.factors);
  }
  return given;
}

bool multiplies_bytes(const HloInstruction& dot) {
  if (dot.opcode() != HloOpcode::kDot || !holds_f32(dot) || !holds_f32(*dot.operand(0))) return false;
  const HloInstruction* right = dot.operand(1);
  return right->opcode() == HloOpcode::kConvert && holds_f32(*right) &&
         right->operand(0)->shape().element_type() == xla::S8;
}

}  // namespace hone::xla_side
