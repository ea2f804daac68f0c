#include "decisions/layouts.h"

#include "decisions/instruction_runs.h"
#include "decisions/seam_state.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr size_t kMaxOptions = 48;  // of one instruction
constexpr double kMostRuns = 1e6;
constexpr double kLeastBytes = 4096;  // of what is in no data set of layouts
constexpr int64_t kMaxAxes = 6;       // the most that configurations of the TpuGraphs data set can describe

using Axes = std::vector<int64_t>;

Axes row_major(int64_t rank) {
  Axes axes;
  for (int64_t axis = rank - 1; axis >= 0; --axis) axes.push_back(axis);
  return axes;
}

// Layouts to try beside row-major: all for up to three axes; for more, those that move one axis to an end, swap the two
// minor-most, or reverse all.
std::vector<Axes> layouts_of_rank(int64_t rank) {
  const Axes usual = row_major(rank);
  std::vector<Axes> out;
  if (rank < 2 || rank > kMaxAxes) return out;
  if (rank <= 3) {
    Axes axes(usual.rbegin(), usual.rend());
    do
      if (axes != usual) out.push_back(axes);
    while (std::next_permutation(axes.begin(), axes.end()));
    return out;
  }
  Axes swapped = usual, slowest = usual, fastest = usual, reversed(usual.rbegin(), usual.rend());
  std::swap(swapped[0], swapped[1]);
  std::rotate(slowest.begin(), slowest.begin() + 1, slowest.end());
  std::rotate(fastest.begin(), fastest.end() - 1, fastest.end());
  for (Axes* axes : {&swapped, &slowest, &fastest, &reversed})
    if (std::find(out.begin(), out.end(), *axes) == out.end()) out.push_back(*axes);
  return out;
}

std::vector<Axes> layouts_of(const xla::Shape& shape) {
  if (!shape.IsArray()) return {};
  return layouts_of_rank(static_cast<int64_t>(shape.dimensions().size()));
}

// Keeps the batch axis of a dot major-most: its code processes one matrix after the other. With several of them XLA:CPU
// may abort on anything but row-major (dot_op_emitter.cc, "IsMonotonicWithDim0Major").
void keep_batch_slowest(std::vector<Axes>& layouts, const google::protobuf::RepeatedField<int64_t>& batch) {
  if (batch.empty()) return;
  if (batch.size() > 1 || batch[0] != 0) return layouts.clear();
  std::erase_if(layouts, [](const Axes& axes) { return axes.back() != 0; });
}

double bytes_of(const xla::HloInstruction& op) {
  double bytes = 0;
  const auto add = [&](const xla::Shape& shape) {
    if (shape.IsArray()) bytes += static_cast<double>(xla::ShapeUtil::ByteSizeOf(shape));
  };
  add(op.shape());
  for (const auto* operand : op.operands()) add(operand->shape());
  return bytes;
}

struct Candidates {
  std::vector<Axes> output, input, kernel;
};

// The lists are empty for layouts that cannot be decided.
Candidates candidates_of(const xla::HloInstruction& op) {
  using xla::HloOpcode;
  Candidates c;
  switch (op.opcode()) {
    case HloOpcode::kDot: {
      const auto& numbers = op.dot_dimension_numbers();
      c = {layouts_of(op.shape()), layouts_of(op.operand(0)->shape()), layouts_of(op.operand(1)->shape())};
      keep_batch_slowest(c.output, numbers.lhs_batch_dimensions());
      keep_batch_slowest(c.input, numbers.lhs_batch_dimensions());
      keep_batch_slowest(c.kernel, numbers.rhs_batch_dimensions());
      break;
    }
    case HloOpcode::kConvolution:
      c = {layouts_of(op.shape()), layouts_of(op.operand(0)->shape()), layouts_of(op.operand(1)->shape())};
      break;
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
      c = {layouts_of(op.shape()), layouts_of(op.operand(0)->shape()), {}};
      break;
    // What follows is not in is_in_layout_data_sets().
    case HloOpcode::kReduce:
      if (op.shape().IsArray() && bytes_of(op) >= kLeastBytes)
        c = {layouts_of(op.shape()), layouts_of(op.operand(0)->shape()), {}};
      break;
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kGather:
      if (bytes_of(op) >= kLeastBytes) c.output = layouts_of(op.shape());
      break;
    default:
      break;
  }
  // The program's result must have the layout its caller expects.
  const auto* computation = op.parent();
  if (computation->IsEntryComputation() && computation->root_instruction() == &op) c.output.clear();
  return c;
}

std::vector<std::string> options_of(const Candidates& c) {
  std::vector<LayoutChoice> choices = {{}};
  const auto widen = [&](const std::vector<Axes>& layouts, Axes LayoutChoice::* tensor) {
    const size_t before = choices.size();
    for (const Axes& axes : layouts)
      for (size_t i = 0; i < before; ++i) {
        LayoutChoice choice = choices[i];
        choice.*tensor = axes;
        choices.push_back(std::move(choice));
      }
  };
  widen(c.output, &LayoutChoice::output);
  widen(c.input, &LayoutChoice::input);
  widen(c.kernel, &LayoutChoice::kernel);
  // Options with the fewest decided layouts come first: a space that is too large loses its combinations.
  const auto decided = [](const LayoutChoice& choice) {
    return int{!choice.output.empty()} + int{!choice.input.empty()} + int{!choice.kernel.empty()};
  };
  std::stable_sort(choices.begin(), choices.end(),
                   [&](const LayoutChoice& a, const LayoutChoice& b) { return decided(a) < decided(b); });
  if (choices.size() > kMaxOptions) choices.resize(kMaxOptions);
  std::vector<std::string> options;
  for (const LayoutChoice& choice : choices) options.push_back(to_text(choice));
  return options;
}

void set_row_major(xla::ShapeProto& shape) {
  for (xla::ShapeProto& part : *shape.mutable_tuple_shapes()) set_row_major(part);
  if (shape.dimensions_size() == 0) return;
  auto* axes = shape.mutable_layout()->mutable_minor_to_major();
  axes->Clear();
  for (int axis = shape.dimensions_size() - 1; axis >= 0; --axis) axes->Add(axis);
}

}  // namespace

void require_layout_seam() {
  if (!seam_on("layout"))
    throw Error("layouts cannot be decided: the layout seam of this XLA is off", "", "hone worker shows why");
}

LayoutTable& layout_table() {
  static LayoutTable table;
  return table;
}

LayoutScope::LayoutScope(const Decisions& decisions) {
  LayoutTable& table = layout_table();
  for (const Decision& d : decisions) {
    if (d.kind != DecisionKind::Layout) continue;
    LayoutChoice choice;
    try {
      choice = layout_choice_from_text(d.value);
    } catch (const Error& e) {
      table.decided.clear();
      throw Error(e.what(), d.key, e.hint());
    }
    if (!choice.is_default()) table.decided[d.key] = std::move(choice);
  }
  if (!table.decided.empty()) require_layout_seam();
}

LayoutScope::~LayoutScope() {
  layout_table().decided.clear();
  layout_table().met.clear();
}

void LayoutScope::check_all_met() const {
  const LayoutTable& table = layout_table();
  for (const auto& [name, choice] : table.decided)
    if (!table.met.count(name))
      throw Error("the program has no instruction '" + name + "' to lay out", "layout " + name,
                  "the decisions belong to another program or another version");
}

void record_layout_listing(const xla::HloModule& module) {
  LayoutListing* space = layout_table().space;
  if (space == nullptr || !space->module_proto.empty()) return;
  xla::HloModuleProto proto = module.ToProto();
  for (auto& computation : *proto.mutable_computations())
    for (auto& instruction : *computation.mutable_instructions()) set_row_major(*instruction.mutable_shape());
  space->module_proto = proto.SerializeAsString();
  const InstructionRuns runs = runs_of(module);
  std::vector<Dimension> others;
  for (const auto* computation : module.MakeNonfusionComputations())
    for (const auto* op : computation->MakeInstructionPostOrder()) {
      std::vector<std::string> options = options_of(candidates_of(*op));
      if (options.size() < 2) continue;
      const int count = static_cast<int>(std::clamp(runs.of(*op), 1.0, kMostRuns));
      (is_in_layout_data_sets(xla::HloOpcodeString(op->opcode())) ? space->dimensions : others)
          .push_back({DecisionKind::Layout, std::string(op->name()), std::move(options), 0, bytes_of(*op), count});
    }
  space->dimensions.insert(space->dimensions.end(), others.begin(), others.end());
}

}  // namespace hone::xla_side
