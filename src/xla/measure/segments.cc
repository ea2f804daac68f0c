#include "measure/segments.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "decisions/lower.h"
#include "status.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/service/copy_insertion.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Instruction = xla::HloInstruction;

// A result of an instruction: the whole array, or one element of its tuple.
using Value = std::pair<const Instruction*, int64_t>;

// Only names another value; made again by every segment that reads it.
bool only_names(const Instruction& i) {
  const xla::HloOpcode opcode = i.opcode();
  return opcode == xla::HloOpcode::kBitcast || opcode == xla::HloOpcode::kTuple ||
         opcode == xla::HloOpcode::kGetTupleElement;
}
bool is_everywhere(const Instruction& i) {
  return i.opcode() == xla::HloOpcode::kParameter || i.opcode() == xla::HloOpcode::kConstant;
}

// The same bytes as an array whose layout is descending.
xla::Shape flat(const xla::Shape& shape) {
  std::vector<int64_t> dims;
  for (int64_t k = shape.dimensions_size() - 1; k >= 0; --k)
    dims.push_back(shape.dimensions(shape.layout().minor_to_major(k)));
  return xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), dims);
}

// A module while it is made.
class SegmentBuilder {
 public:
  SegmentBuilder(const xla::HloModule& whole, int number, int device)
      : device(device),
        module_(std::make_unique<xla::HloModule>("segment" + std::to_string(number), whole.config())),
        context_(module_.get(), ""),
        builder_("main") {}

  const int device;
  std::vector<SegmentValue> inputs;

  bool has(const Instruction* i) const { return made_.contains(i); }
  Instruction* made(const Instruction* i) const { return made_.at(i); }

  Instruction* parameter(const xla::Shape& shape, const SegmentValue& from, const Value& value) {
    if (!shape.IsArray()) throw Error("a value that is no array cannot be given to another segment", name_of(value));
    const xla::Shape given = flat(shape);
    Instruction* made = builder_.AddInstruction(
        Instruction::CreateParameter(static_cast<int64_t>(inputs.size()), given, "p" + std::to_string(inputs.size())));
    inputs.push_back(from);
    if (!(given == shape)) made = builder_.AddInstruction(Instruction::CreateBitcast(shape, made));
    return read_[value] = made;
  }
  Instruction* read(const Value& value) const {
    const auto found = read_.find(value);
    return found == read_.end() ? nullptr : found->second;
  }
  Instruction* clone(const Instruction* i, const std::vector<Instruction*>& operands) {
    auto copy = i->CloneWithNewOperands(i->shape(), operands, &context_);
    copy->clear_sharding();
    return made_[i] = builder_.AddInstruction(std::move(copy));
  }
  int result(const Value& value) {
    const auto [at, is_new] = result_of_.emplace(value, static_cast<int>(results_.size()));
    if (!is_new) return at->second;
    Instruction* made = made_.at(value.first);
    if (value.second >= 0)
      made = builder_.AddInstruction(Instruction::CreateGetTupleElement(
          made->shape().tuple_shapes(static_cast<int>(value.second)), made, value.second));
    if (!made->shape().IsArray()) throw Error("a value that is no array cannot leave a segment", name_of(value));
    const xla::Shape given = flat(made->shape());
    if (!(given == made->shape())) made = builder_.AddInstruction(Instruction::CreateBitcast(given, made));
    results_.push_back(made);
    return at->second;
  }
  Segment build() {
    builder_.AddInstruction(Instruction::CreateTuple(results_));
    module_->AddEntryComputationWithLayouts(builder_.Build());
    module_->mutable_config().SetDefaultComputationLayout(module_->entry_computation()->ComputeProgramShape());
    // What was written in place may now be a parameter.
    static const xla::AliasInfo alias_info;
    check(xla::CopyInsertion(&alias_info).Run(module_.get()).status(), "copies of a segment");
    return {device, std::move(module_), std::move(inputs)};
  }

 private:
  static std::string name_of(const Value& value) { return std::string(value.first->name()); }

  std::unique_ptr<xla::HloModule> module_;
  xla::HloCloneContext context_;
  xla::HloComputation::Builder builder_;
  std::unordered_map<const Instruction*, Instruction*> made_;
  std::map<Value, Instruction*> read_;
  std::map<Value, int> result_of_;
  std::vector<Instruction*> results_;
};

class Cutter {
 public:
  Cutter(const xla::HloModule& module, const Placement& placement) : module_(module), placement_(placement) {
    std::unordered_map<std::string, int> position;
    for (size_t i = 0; i < placement.device_of.size(); ++i)
      position.emplace(placement.device_of[i].first, static_cast<int>(i));
    const auto order = module.entry_computation()->MakeInstructionPostOrder();
    for (const Instruction* i : order) {
      refuse_what_cannot_be_cut(*i);
      if (!runs(*i)) continue;
      const auto found = position.find(std::string(i->name()));
      if (found == position.end()) continue;
      position_[i] = found->second;
      device_[i] = placement.device_of[found->second].second;
    }
    if (device_.empty() && !position.empty())
      throw Error("the placement is of another program: it has no operation of this one", placement.device_of[0].first);
    place_the_others(order);
    open_.assign(placement.devices, -1);
    last_.assign(placement.devices, nullptr);
  }

  Segments run() {
    const std::vector<const Instruction*> order = in_order();
    for (const Instruction* i : order) assign(i);
    for (const Instruction* i : order) make(i);
    Segments out;
    take_results(out);
    for (auto& builder : builders_) out.segments.push_back(builder->build());
    return out;
  }

 private:
  static bool runs(const Instruction& i) { return !only_names(i) && !is_everywhere(i); }

  static void refuse_what_cannot_be_cut(const Instruction& i) {
    if (i.HasSideEffectNoRecurse() && i.opcode() != xla::HloOpcode::kParameter)
      throw Error("an operation with side effects cannot be placed: " + std::string(xla::HloOpcodeString(i.opcode())),
                  std::string(i.name()));
    if (i.shape().IsToken()) throw Error("tokens cannot be given to another device", std::string(i.name()));
    if (i.opcode() == xla::HloOpcode::kParameter && !i.shape().IsArray())
      throw Error("a program with a tuple as a parameter cannot be cut", std::string(i.name()));
  }

  // What it reads that runs somewhere, through names.
  void producers(const Instruction* i, std::vector<const Instruction*>& out) const {
    for (const Instruction* operand : i->operands())
      if (runs(*operand))
        out.push_back(operand);
      else
        producers(operand, out);
  }
  const Instruction* first_reader(const Instruction* i) const {
    for (const Instruction* user : i->users()) {
      const Instruction* reader = runs(*user) ? user : first_reader(user);
      if (reader != nullptr) return reader;
    }
    return nullptr;
  }

  void place_the_others(const std::vector<Instruction*>& order) {
    for (const Instruction* i : order) {
      if (!runs(*i) || device_.contains(i)) continue;
      std::vector<const Instruction*> from;
      producers(i, from);
      if (from.empty()) continue;
      device_[i] = device_.contains(from[0]) ? device_[from[0]] : 0;
      position_[i] = position_.contains(from[0]) ? position_[from[0]] : -1;
    }
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (!runs(**at) || device_.contains(*at)) continue;
      const Instruction* reader = first_reader(*at);
      device_[*at] = reader && device_.contains(reader) ? device_[reader] : 0;
      position_[*at] = reader && position_.contains(reader) ? position_[reader] : -1;
    }
  }

  // Producers first; of what is ready, the one that begins first in the placement's order.
  std::vector<const Instruction*> in_order() {
    std::unordered_map<const Instruction*, int> waits;
    std::unordered_map<const Instruction*, std::vector<const Instruction*>> readers;
    std::priority_queue<std::pair<int, int>> ready;
    std::vector<const Instruction*> all, out;
    std::unordered_map<const Instruction*, int> number;
    for (const Instruction* i : module_.entry_computation()->MakeInstructionPostOrder()) {
      if (!runs(*i)) continue;
      number[i] = static_cast<int>(all.size());
      all.push_back(i);
      std::vector<const Instruction*> from;
      producers(i, from);
      for (const Instruction* producer : from) readers[producer].push_back(i);
      waits[i] = static_cast<int>(from.size());
      if (from.empty()) ready.emplace(-position_[i], -number[i]);
    }
    while (!ready.empty()) {
      const Instruction* i = all[-ready.top().second];
      ready.pop();
      out.push_back(i);
      for (const Instruction* reader : readers[i])
        if (--waits[reader] == 0) ready.emplace(-position_[reader], -number[reader]);
    }
    return out;
  }

  // Chooses its segment.
  void assign(const Instruction* i) {
    const int device = device_[i];
    std::vector<const Instruction*> from;
    producers(i, from);
    for (const Instruction* producer : from) {
      const int other = segment_of_.at(producer);
      if (builders_[other]->device == device) continue;
      if (!closed_[other]) end(other, from);
      const int open = open_[device];
      if (open >= 0 && *closed_[other] > opened_[open]) close(open);  // what is in it does not have to wait
    }
    const int open = open_[device];
    segment_of_[i] = open >= 0 ? open : open_segment(device);
    last_[device] = i;
  }
  // Another device now needs some of its results. Its last operation may still run: unless it is needed too, it is left to the next.
  void end(int segment, const std::vector<const Instruction*>& needed) {
    const int device = builders_[segment]->device;
    const Instruction* last = last_[device];
    close(segment);
    if (std::find(needed.begin(), needed.end(), last) == needed.end()) segment_of_[last] = open_segment(device);
  }
  void make(const Instruction* i) {
    const int segment = segment_of_.at(i);
    std::vector<Instruction*> operands;
    for (const Instruction* operand : i->operands()) operands.push_back(resolved(operand, segment));
    builders_[segment]->clone(i, operands);
  }
  int open_segment(int device) {
    const int segment = static_cast<int>(builders_.size());
    builders_.push_back(std::make_unique<SegmentBuilder>(module_, segment, device));
    closed_.emplace_back();
    opened_.push_back(clock_++);
    return open_[device] = segment;
  }
  void close(int segment) {
    closed_[segment] = clock_++;
    if (open_[builders_[segment]->device] == segment) open_[builders_[segment]->device] = -1;
  }

  // The instruction's value inside a segment.
  Instruction* resolved(const Instruction* i, int segment) {
    SegmentBuilder& here = *builders_[segment];
    if (here.has(i)) return here.made(i);
    if (Instruction* known = here.read({i, -1})) return known;
    if (i->opcode() == xla::HloOpcode::kParameter)
      return here.parameter(i->shape(), {.parameter = static_cast<int>(i->parameter_number())}, {i, -1});
    if (i->opcode() == xla::HloOpcode::kGetTupleElement && runs(*i->operand(0)) && !here.has(i->operand(0)))
      return imported({i->operand(0), i->tuple_index()}, i->shape(), segment);
    if (runs(*i)) return imported({i, -1}, i->shape(), segment);
    std::vector<Instruction*> operands;
    for (const Instruction* operand : i->operands()) operands.push_back(resolved(operand, segment));
    return here.clone(i, operands);
  }
  Instruction* imported(const Value& value, const xla::Shape& shape, int segment) {
    if (Instruction* known = builders_[segment]->read(value)) return known;
    const int from = segment_of_.at(value.first);
    return builders_[segment]->parameter(shape, {.segment = from, .result = builders_[from]->result(value)}, value);
  }

  void take_results(Segments& out) {
    const Instruction* root = module_.entry_computation()->root_instruction();
    std::vector<const Instruction*> leaves = {root};
    if (root->opcode() == xla::HloOpcode::kTuple)
      leaves.assign(root->operands().begin(), root->operands().end());
    else if (root->shape().IsTuple())
      return take_elements(root, out);
    int rest = -1;  // for results that nothing computes
    for (const Instruction* leaf : leaves) {
      std::vector<const Instruction*> from;
      if (runs(*leaf))
        from.push_back(leaf);
      else
        producers(leaf, from);
      if (from.empty() && rest < 0) rest = open_segment(0);
      const int segment = from.empty() ? rest : segment_of_.at(from[0]);
      if (runs(*leaf) && !leaf->shape().IsArray())
        throw Error("results inside a tuple of a tuple cannot be put together", std::string(leaf->name()));
      Instruction* made = resolved(leaf, segment);
      if (!(flat(made->shape()) == made->shape()))
        throw Error("a result with a layout of its own cannot be put together", std::string(leaf->name()));
      const bool is_parameter = leaf->opcode() == xla::HloOpcode::kParameter;
      if (is_parameter)
        out.results.push_back({.parameter = static_cast<int>(leaf->parameter_number())});
      else
        out.results.push_back({.segment = segment, .result = builders_[segment]->result({leaf, -1})});
    }
  }
  void take_elements(const Instruction* root, Segments& out) {
    const int segment = segment_of_.at(root);
    for (int64_t k = 0; k < root->shape().tuple_shapes_size(); ++k)
      out.results.push_back({.segment = segment, .result = builders_[segment]->result({root, k})});
  }

  const xla::HloModule& module_;
  const Placement& placement_;
  std::unordered_map<const Instruction*, int> device_, position_, segment_of_;
  std::vector<std::unique_ptr<SegmentBuilder>> builders_;
  std::vector<std::optional<int64_t>> closed_;  // [segments]: when
  std::vector<int64_t> opened_;
  std::vector<int> open_;                 // [devices]: the segment that still grows; -1 = none
  std::vector<const Instruction*> last_;  // [devices]: assigned last
  int64_t clock_ = 0;
};

}  // namespace

Segments cut(const xla::HloModule& program, const CompileTarget& target, const Placement& placement) {
  Lowered lowered;
  at_stage(Stage::Passes, [&] { lowered = lower(program, target, {}, nullptr, {.edges = true}); });
  return Cutter(*lowered.module, placement).run();
}

}  // namespace hone::xla_side
