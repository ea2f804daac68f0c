#include "measure/program.h"

#include "base/clock.h"
#include "decisions/fingerprints.h"
#include "decisions/seam_state.h"
#include "graph/decision_family.h"
#include "kernels/kept_weights.h"
#include "measure/inputs.h"
#include "measure/wide.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {
constexpr size_t kKeptVariants = 4;
constexpr size_t kLargeBytes = size_t{256} << 20;  // that a variant owns
constexpr int64_t kInputLimit = int64_t{3} << 30;
constexpr int64_t kWideLimit = int64_t{3} << 30;  // of the inputs, which take up to twice as much in f32
constexpr size_t kKeptSnapshots = 4;

bool is_for_kernels(const Decision& d) { return stage_of(d.kind, d.key) == DecisionStage::Kernels; }

// False for what the snapshot does not cover: kernel decisions and the partitioning for several threads are applied
// after all passes, and weights before fusion.
bool fits_snapshot(const CompileTarget& target, const Decisions& decisions) {
  return target.threads == 1 && seam_on("fusion") && seam_on("fusion-start") &&
         std::none_of(decisions.begin(), decisions.end(), [](const Decision& d) {
           return is_for_kernels(d) || d.kind == DecisionKind::Weights ||
                  (d.kind == DecisionKind::Option && d.key == "multi_output_fusion" && d.value == "on");
         });
}

// NumPy's large arrays, which programs are given, lie in 2 MiB pages; without them a row times a matrix takes a tenth longer, and constants
// would seem to gain.
void in_huge_pages(std::vector<xla::Literal>& inputs) {
  constexpr int64_t kLeastBytes = int64_t{4} << 20;
  for (xla::Literal& input : inputs) {
    if (!input.shape().IsArray() || input.size_bytes() < kLeastBytes) continue;
    xla::Literal copy(input.shape());
    ask_huge_pages(copy.untyped_data(), copy.size_bytes());
    memcpy(copy.untyped_data(), input.untyped_data(), copy.size_bytes());
    input = std::move(copy);
  }
}

FusedKernels fully_lowered(Lowered lowered) {
  FusedKernels fused;
  fused.module = std::move(lowered.module);
  fused.kernels = count_kernels(*fused.module);
  fused.instructions = fused.module->instruction_count();
  return fused;
}
}  // namespace

Program::Program(std::unique_ptr<xla::HloModule> module, CodeCache* code)
    : module_(std::move(module)), code_(code), lowerings_(*module_) {}

void Program::set_inputs(std::vector<xla::Literal> inputs) {
  const auto* entry = module_->entry_computation();
  if (static_cast<int64_t>(inputs.size()) != entry->num_parameters())
    throw Error("the program takes " + std::to_string(entry->num_parameters()) + " inputs, " +
                    std::to_string(inputs.size()) + " were given",
                "--inputs");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!xla::ShapeUtil::Compatible(inputs[i].shape(), entry->parameter_instruction(i)->shape()))
      throw Error("input " + std::to_string(i) + " is " + xla::ShapeUtil::HumanString(inputs[i].shape()) +
                      ", the program takes " + xla::ShapeUtil::HumanString(entry->parameter_instruction(i)->shape()),
                  "--inputs");
  current_.inputs = std::move(inputs);
  weights_changed();
  in_huge_pages(current_.inputs);
  given_ = drawn_ = true;
  variants_.clear();
  current_.references.clear();
  current_.wide_reference.reset();
  transposed_.clear();
}

void Program::draw(uint64_t seed) {
  current_.inputs = generate_inputs(*module_, seed, kInputLimit);
  in_huge_pages(current_.inputs);
  drawn_ = true;
  current_.references.clear();
  current_.wide_reference.reset();
  inputs_changed();
}

void Program::exchange_inputs(InputSet& others) {
  std::swap(current_, others);
  inputs_changed();
}

// Variants that hold values of the old inputs are compiled again when they are needed.
void Program::inputs_changed() {
  weights_changed();
  transposed_.clear();
  variants_.remove_if([](const auto& entry) {
    const auto& storage = entry.second.storage;
    return std::any_of(storage.begin(), storage.end(),
                       [](Storage s) { return s == Storage::Constant || s == Storage::Packed; });
  });
  for (auto& [key, variant] : variants_) bind(variant);
}

void Program::prepare_inputs(uint64_t seed, const CompileTarget& target) {
  if (given_ || (drawn_ && seed == seed_)) return;
  seed_ = seed;
  for (uint64_t attempt = 0; attempt < 4; ++attempt) {
    draw(seed + attempt * 7919);
    const auto& outputs = reference(target);
    if (compare(outputs, outputs).informative) return;
  }
}

Lowered Program::lower_with(const CompileTarget& target, const Decisions& decisions, bool record_edges) const {
  return at_stage(Stage::Passes, [&] {
    return lower(*module_, target, decisions, current_.inputs.empty() ? nullptr : &current_.inputs,
                 {.edges = record_edges});
  });
}

FusedKernels Program::kernels_under(const CompileTarget& target, const Decisions& decisions, bool recall) {
  return at_stage(Stage::Passes, [&] { return fused_kernels(target, decisions, recall); });
}

FusedKernels Program::fused_kernels(const CompileTarget& target, const Decisions& decisions, bool recall) {
  if (!fits_snapshot(target, decisions)) return fully_lowered(lower_with(target, decisions, false));
  Decisions others = decisions;
  std::erase_if(others, decided_by_fusion);
  const std::string key = target_key(target) + "|" + to_text(others);
  // A program without decisions of fusion is mostly asked for once, with others: a snapshot would not be worth its making.
  if (others.size() == decisions.size() && !snapshots_.contains(key))
    return fully_lowered(lower_with(target, decisions, false));
  if (snapshots_.size() >= kKeptSnapshots && !snapshots_.contains(key)) snapshots_.clear();
  KeptSnapshot& kept = snapshots_[key];
  if (!kept.trusted) return fully_lowered(lower_with(target, decisions, false));
  const bool audit = (kept.asked & (kept.asked - 1)) == 0;  // 0, 1, 2, 4, 8, ...
  ++kept.asked;
  FusedKernels whole;
  if (audit) {
    std::unique_ptr<xla::HloModule> snapshot;
    whole = fully_lowered(
        lower(*module_, target, decisions, nullptr, {.before_fusion = kept.snapshot ? nullptr : &snapshot}));
    if (!kept.snapshot && snapshot) kept.snapshot = std::make_unique<FusionSnapshot>(std::move(snapshot));
    kept.trusted = kept.snapshot != nullptr;
    if (!kept.trusted) return whole;
  }
  FusedKernels fused;
  if (const RememberedKernels* known = recall ? kept.snapshot->recall(decisions) : nullptr) {
    fused.kernels = known->kernels;
    fused.instructions = known->instructions;
  } else {
    fused.module = kept.snapshot->fuse(decisions);
    fused.kernels = kept.snapshot->count(*fused.module);
    fused.instructions = fused.module->instruction_count();
    kept.snapshot->remember(decisions, fused.kernels, fused.instructions);
  }
  fused.from_snapshot = true;
  if (!audit || same_kernels(whole.kernels, fused.kernels)) return fused;
  kept.trusted = false;
  kept.snapshot.reset();
  return whole;
}

Lowered Program::lower_again(const CompileTarget& target, const Decisions& decisions) {
  const int64_t before = lowerings_.resumed();
  Lowered lowered = at_stage(Stage::Passes, [&] {
    return lowerings_.lower(target, decisions, current_.inputs.empty() ? nullptr : &current_.inputs);
  });
  if (code_ != nullptr) code_->count({.resumed = lowerings_.resumed() - before});
  return lowered;
}

// Before another variant is made, so that it gets the memory of one of these: all large ones but default XLA and the last.
void Program::drop_large_variants(const CompileTarget& target) {
  const std::string default_key = target_key(target) + "|" + to_text(Decisions{});
  for (auto it = variants_.begin(); it != variants_.end();) {
    const bool keep =
        it == variants_.begin() || it->first == default_key || it->second.executable->owned_bytes() < kLargeBytes;
    it = keep ? std::next(it) : variants_.erase(it);
  }
}

Variant& Program::variant(const CompileTarget& target, const Decisions& decisions) {
  const std::string key = target_key(target) + "|" + to_text(decisions);
  for (auto it = variants_.begin(); it != variants_.end(); ++it)
    if (it->first == key) {
      variants_.splice(variants_.begin(), variants_, it);
      return variants_.front().second;
    }
  const double start_s = steady_s();
  drop_large_variants(target);
  Lowered lowered = lower_again(target, decisions);
  Variant variant;
  variant.fingerprint = module_fingerprint(*lowered.module);
  variant.storage = lowered.storage;
  auto compiled =
      at_stage(Stage::Codegen, [&] { return generate(std::move(lowered.module), lowered.run.threads, code_); });
  variant.executable = std::make_unique<Executable>(std::move(compiled), lowered.run);
  variant.compile_ms = ms_since(start_s);
  bind(variant);
  variants_.emplace_front(key, std::move(variant));
  // The default is never evicted: it takes part in every duel.
  const std::string default_key = target_key(target) + "|" + to_text(Decisions{});
  for (auto it = std::prev(variants_.end()); variants_.size() > kKeptVariants; it = std::prev(it)) {
    if (it->first == default_key) continue;
    variants_.erase(it);
    break;
  }
  return variants_.front().second;
}

double Program::compile(const CompileTarget& target, const Decisions& decisions) {
  const double start_s = steady_s();
  Lowered lowered = lower_again(target, decisions);
  at_stage(Stage::Codegen, [&] { return generate(std::move(lowered.module), lowered.run.threads, code_); });
  return ms_since(start_s);
}

void Program::bind(Variant& variant) {
  const auto& leaves = variant.executable->inputs();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const int number = leaves[i].parameter;
    const Storage storage = variant.storage[number];
    if (storage == Storage::Constant) continue;
    if (storage == Storage::Transposed) {
      auto it = transposed_.find(number);
      if (it == transposed_.end())
        it = transposed_
                 .emplace(number,
                          current_.inputs[number].Transpose({1, 0}).Relayout(xla::LayoutUtil::MakeDescendingLayout(2)))
                 .first;
      variant.executable->set_input(i, it->second.untyped_data());
    } else {
      variant.executable->set_input(i, current_.inputs[number].untyped_data(leaves[i].index));
    }
  }
}

std::vector<xla::Literal> Program::run_outputs(Variant& variant) {
  variant.executable->refresh_donated();
  const double start_s = steady_s();
  variant.executable->run();
  variant.run_ms = ms_since(start_s);
  std::vector<xla::Literal> outputs;
  for (size_t i = 0; i < variant.executable->outputs().size(); ++i)
    outputs.push_back(variant.executable->output_literal(i));
  return outputs;
}

const std::vector<xla::Literal>& Program::reference(const CompileTarget& target) {
  const std::string key = std::to_string(target.threads) + target.max_isa;
  auto it = current_.references.find(key);
  if (it == current_.references.end()) it = current_.references.emplace(key, run_outputs(variant(target, {}))).first;
  return it->second;
}

const std::vector<xla::Literal>* Program::wide_reference(const CompileTarget& target) {
  if (!current_.wide_reference) {
    current_.wide_reference.emplace();
    int64_t bytes = 0;
    for (const xla::Literal& input : current_.inputs) bytes += input.size_bytes();
    try {
      auto module = bytes < kWideLimit ? widened(*module_) : nullptr;
      auto inputs = module ? widened(current_.inputs) : std::nullopt;
      if (inputs) {
        Program wide(std::move(module), code_);
        wide.set_inputs(std::move(*inputs));
        *current_.wide_reference = wide.run_outputs(wide.variant(target, {}));
      }
    } catch (const std::exception&) {  // XLA refuses it: a program that means its bits
    }
  }
  return current_.wide_reference->empty() ? nullptr : &*current_.wide_reference;
}

}  // namespace hone::xla_side
