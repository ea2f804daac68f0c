#include "decisions/operation_rewrites.h"

#include "absl/strings/str_cat.h"
#include "decisions/arg_reduction.h"
#include "decisions/conv_pool_expander.h"
#include "decisions/half_dot.h"
#include "decisions/onednn_convolution.h"
#include "decisions/pooling_gradient.h"
#include "decisions/shifted_convolution.h"
#include "decisions/sine.h"
#include "decisions/window_slices.h"
#include "decisions/winograd.h"
#include "decisions/winograd_forms.h"
#include "graph/decision_family.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

// What one family of operations may become.
struct RewriteRow {
  FamilyId family;
  std::vector<std::string> (*values)(const HloInstruction&);  // empty where the operation is none of this family
  std::string (*key)(const HloInstruction&);                  // behind the family's prefix
  double (*operations)(const HloInstruction&);
  HloInstruction* (*rewritten)(HloInstruction*, const std::string& value);  // throws Error for other values
};

std::vector<std::string> shifted_if(bool can) {
  return can ? std::vector<std::string>{kShifted} : std::vector<std::string>();
}

std::string shapes_of(const HloInstruction& op) {
  std::string shapes = ShapeUtil::HumanString(op.operand(0)->shape());
  if (op.opcode() != HloOpcode::kReduceWindow)
    absl::StrAppend(&shapes, "*", ShapeUtil::HumanString(op.operand(1)->shape()));
  return absl::StrCat(shapes, "->", ShapeUtil::HumanString(op.shape()));
}

std::string convolution_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::ConvolutionDimensionNumbersToString(op.convolution_dimension_numbers()),
                      ":", xla::window_util::ToString(op.window()));
}

std::string grouped_key(const HloInstruction& op) {
  return absl::StrCat(convolution_key(op), family(FamilyId::GroupedConvolution).infix, op.feature_group_count());
}

std::string gradient_key(const HloInstruction& op) {
  return absl::StrCat(convolution_key(op), family(FamilyId::WeightsGradient).infix, op.batch_group_count());
}

std::string pooling_key(const HloInstruction& op) {
  return absl::StrCat(xla::HloOpcodeString(op.to_apply()->root_instruction()->opcode()), ":", shapes_of(op), ":",
                      xla::window_util::ToString(op.window()));
}

std::string scatter_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::window_util::ToString(op.window()), ":",
                      xla::ComparisonDirectionToString(op.select()->root_instruction()->comparison_direction()));
}

std::string arg_key(const HloInstruction& op) {
  return absl::StrCat(op.operand(2)->literal().ToStringWithoutShape(), ":",
                      ShapeUtil::HumanString(op.operand(0)->shape()), ":", op.dimensions(0));
}

double elements_read(const HloInstruction& op) {
  return static_cast<double>(ShapeUtil::ElementsIn(op.operand(0)->shape()));
}

std::string dot_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::DotDimensionNumbersToString(op.dot_dimension_numbers()));
}

HloInstruction* shifted(HloInstruction* op, const std::string& value) {
  if (value != kShifted) throw Error("no rewrite '" + value + "' of this operation", std::string(op->name()), kShifted);
  return op->opcode() == HloOpcode::kConvolution ? shifted_convolution(op) : shifted_pooling(op);
}

std::vector<std::string> forms_of_dense(const HloInstruction& op) {
  std::vector<std::string> forms = winograd_forms(op);
  if (op.opcode() == HloOpcode::kConvolution && op.feature_group_count() == 1)
    for (std::string& form : onednn_forms(op)) forms.insert(forms.begin(), std::move(form));
  return forms;
}

std::vector<std::string> forms_of_grouped(const HloInstruction& op) {
  std::vector<std::string> forms = shifted_if(is_expandable_convolution(op));
  if (op.opcode() == HloOpcode::kConvolution && op.feature_group_count() > 1)
    for (std::string& form : onednn_forms(op)) forms.push_back(std::move(form));
  return forms;
}

HloInstruction* dense_convolution(HloInstruction* op, const std::string& value) {
  return value == kOneDnn ? onednn_convolution(op) : winograd_convolution(op, value);
}

HloInstruction* grouped_convolution(HloInstruction* op, const std::string& value) {
  return value == kOneDnn ? onednn_convolution(op) : shifted(op, value);
}

constexpr RewriteRow kRewrites[] = {
    {FamilyId::WeightsGradient, [](const HloInstruction& op) { return shifted_if(is_expandable_gradient(op)); },
     gradient_key, expanded_operations, shifted},
    {FamilyId::GroupedConvolution, forms_of_grouped, grouped_key, expanded_operations, grouped_convolution},
    {FamilyId::DenseConvolution, forms_of_dense, convolution_key, convolution_flops, dense_convolution},
    {FamilyId::Pooling, [](const HloInstruction& op) { return shifted_if(is_expandable_pooling(op)); }, pooling_key,
     expanded_operations, shifted},
    {FamilyId::PoolingGradient, [](const HloInstruction& op) { return shifted_if(is_expandable_scatter(op)); },
     scatter_key, [](const HloInstruction& op) { return elements_read(op) * window_positions(op.window()); },
     [](HloInstruction* op, const std::string&) { return shifted_scatter(op); }},
    {FamilyId::ArgReduction,
     [](const HloInstruction& op) {
       return is_arg_reduction(op) ? std::vector<std::string>{kTwoReductions} : std::vector<std::string>();
     },
     arg_key, elements_read, [](HloInstruction* op, const std::string&) { return two_reductions(op); }},
    {FamilyId::Sine,
     [](const HloInstruction& op) {
       return is_large_sine(op) ? std::vector<std::string>{kPolynomial} : std::vector<std::string>();
     },
     [](const HloInstruction& op) {
       return absl::StrCat(xla::HloOpcodeString(op.opcode()), ":", ShapeUtil::HumanString(op.shape()));
     },
     elements_read, [](HloInstruction* op, const std::string&) { return polynomial_sine(op); }},
    {FamilyId::HalfDot, half_dot_forms, dot_key, half_dot_flops, half_dot},
};

struct Found {
  const RewriteRow* row = nullptr;
  std::vector<std::string> values;
  std::string key;
};

Found rewrite_of(const HloInstruction& op) {
  for (const RewriteRow& row : kRewrites)
    if (std::vector<std::string> values = row.values(op); !values.empty())
      return {&row, std::move(values), family(row.family).prefix + row.key(op)};
  return {};
}

// The parameter of the program that a value is another order of, or -1.
int parameter_behind(const HloInstruction* value) {
  for (;; value = value->operand(0)) switch (value->opcode()) {
      case HloOpcode::kTranspose:
      case HloOpcode::kReshape:
      case HloOpcode::kReverse:
      case HloOpcode::kConvert:
      case HloOpcode::kCopy:
        break;
      case HloOpcode::kParameter:
        return value->parent()->IsEntryComputation() ? static_cast<int>(value->parameter_number()) : -1;
      default:
        return -1;
    }
}

}  // namespace

std::map<std::string, RewritableOperation> rewritable_operations(const xla::HloModule& module) {
  std::map<std::string, RewritableOperation> all;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) {
      Found found = rewrite_of(*instruction);
      if (found.row == nullptr) continue;
      RewritableOperation& operation = all[found.key];
      operation.values = std::move(found.values);
      operation.operations += found.row->operations(*instruction);
      ++operation.count;
      const int behind = instruction->operand_count() > 1 ? parameter_behind(instruction->operand(1)) : -1;
      operation.of_parameters &= behind >= 0;
      operation.parameters.insert(behind);
    }
  return all;
}

void apply_rewrites(xla::HloModule& module, const Decisions& decisions) {
  struct Decided {
    std::string value;
    bool met = false;
  };
  std::map<std::string, Decided> decided;
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Rewrite && d.value != kNotRewritten) decided.emplace(d.key, Decided{d.value});
  if (decided.empty()) return;
  for (auto* computation : module.MakeComputationPostOrder())
    for (auto* instruction : computation->MakeInstructionPostOrder()) {
      const Found found = rewrite_of(*instruction);
      const auto decision = found.row ? decided.find(found.key) : decided.end();
      if (decision == decided.end()) continue;
      decision->second.met = true;
      HloInstruction* result = found.row->rewritten(instruction, decision->second.value);
      result->set_metadata(instruction->metadata());
      check(computation->ReplaceInstruction(instruction, result), "rewrite");
    }
  for (const auto& [key, decision] : decided)
    if (!decision.met) throw Error("the program has no such operation to rewrite", key);
}

namespace {

// Copies an operation and what brings its operands into shape: libraries read weights that are transposed as they are stored.
class AloneBuilder {
 public:
  AloneBuilder() : entry_("main") {}

  HloInstruction* operand(const HloInstruction& value) {
    const HloOpcode opcode = value.opcode();
    if (opcode == HloOpcode::kTranspose || opcode == HloOpcode::kReshape) return copy(value);
    if (opcode == HloOpcode::kConstant) return entry_.AddInstruction(value.Clone(""));
    return entry_.AddInstruction(
        HloInstruction::CreateParameter(parameters_++, plain(value.shape()), std::string(value.name())));
  }
  HloInstruction* copy(const HloInstruction& op) {
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* value : op.operands()) operands.push_back(operand(*value));
    return entry_.AddInstruction(op.CloneWithNewOperands(plain(op.shape()), operands));
  }
  std::unique_ptr<xla::HloComputation> build() { return entry_.Build(); }

 private:
  // Importers set layouts that hold nowhere in a program of its own.
  static xla::Shape plain(const xla::Shape& shape) {
    return ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions());
  }

  xla::HloComputation::Builder entry_;
  int64_t parameters_ = 0;
};

}  // namespace

std::unique_ptr<xla::HloModule> operation_alone(const xla::HloModule& module, const std::string& key) {
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) {
      if (rewrite_of(*instruction).key != key) continue;
      AloneBuilder builder;
      builder.copy(*instruction);
      auto alone = std::make_unique<xla::HloModule>("operation", module.config());
      const xla::HloComputation* entry = alone->AddEntryComputation(builder.build());
      alone->mutable_config().SetComputationLayoutIfExists(entry->ComputeProgramShape());
      *alone->mutable_entry_computation_layout() = xla::ComputationLayout(entry->ComputeProgramShape());
      return alone;
    }
  throw Error("the program has no such operation to rewrite", key);
}

}  // namespace hone::xla_side
