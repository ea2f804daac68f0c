#include "measure/lowerings.h"

#include "decisions/fingerprints.h"
#include "decisions/seam_state.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr size_t kKeptModules = 3;

// The first element with this key, moved to the front; null when there is none.
template <class List>
typename List::value_type* find_recent(List& list, const std::string& key) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& element) { return element.key == key; });
  if (found == list.end()) return nullptr;
  list.splice(list.begin(), list, found);
  return &list.front();
}

template <class List>
void keep(List& list, typename List::value_type element) {
  list.push_front(std::move(element));
  if (list.size() > kKeptModules) list.pop_back();
}

std::string key_of(const CompileTarget& target, const Decisions& decisions) {
  return target_key(target) + "|" + to_text(decisions);
}

// The first, second, third, fifth, ninth, ... of the lowerings that resumed.
bool is_audited(int64_t before) { return (before & (before - 1)) == 0; }

}  // namespace

bool same_modules(xla::HloModule& a, xla::HloModule& b) {
  const auto print = xla::HloPrintOptions::Canonical().set_include_layout_in_shapes(true).set_print_metadata(false);
  const auto kernels = [](xla::HloModule& module) {
    std::map<std::string, std::string> contents;
    for (const auto* kernel : kernels_of(module)) contents[std::string(kernel->name())] = content_fingerprint(*kernel);
    return contents;
  };
  return kernels(a) == kernels(b) && a.ToString(print) == b.ToString(print);
}

std::string target_key(const CompileTarget& target) {
  std::string key = std::to_string(target.threads) + (target.allow_fast_math ? "f" : "-") + target.max_isa;
  for (int weight : target.weights) key += "," + std::to_string(weight);
  return key;
}

Lowered Lowerings::lower_whole(const CompileTarget& target, const Decisions& decisions, const std::string& key) {
  WithLayouts with_layouts;
  Lowered lowered =
      xla_side::lower(program_, target, decisions, nullptr, {.with_layouts = resumes_ ? &with_layouts : nullptr});
  if (with_layouts.module) keep(starts_, {key, std::move(with_layouts), lowered.storage});
  return lowered;
}

std::optional<Lowered> Lowerings::try_resuming(const Start& start, const CompileTarget& target,
                                               const Decisions& decisions) const {
  try {
    return lower_from_layouts(start.state, start.storage, target, decisions);
  } catch (const std::exception&) {  // of the decisions or of resuming: all passes will tell
    return std::nullopt;
  }
}

// `decisions`: none that code generation alone reads.
Lowered Lowerings::lower_early(const CompileTarget& target, const Decisions& decisions) {
  Decisions before_layouts = decisions;
  std::erase_if(before_layouts, read_after_layouts);
  const std::string key = key_of(target, before_layouts);
  const Start* start = resumes_ && seam_on("layout-passes") ? find_recent(starts_, key) : nullptr;
  if (start == nullptr) return lower_whole(target, decisions, key);
  std::optional<Lowered> resumed = try_resuming(*start, target, decisions);
  if (resumed && !is_audited(resumed_++)) return std::move(*resumed);
  Lowered whole = xla_side::lower(program_, target, decisions);  // throws where the decisions are at fault
  if (resumed && same_modules(*whole.module, *resumed->module)) return std::move(*resumed);
  resumes_ = false;
  starts_.clear();
  kept_.clear();  // what was resumed before without a comparison
  return whole;
}

Lowered Lowerings::lower(const CompileTarget& target, const Decisions& decisions,
                         const std::vector<xla::Literal>* inputs) {
  const bool constants = std::any_of(decisions.begin(), decisions.end(), [](const Decision& d) {
    return d.kind == DecisionKind::Weights && d.value == "constant";
  });
  if (constants)  // inputs are part of the module
    return xla_side::lower(program_, target, decisions, inputs);
  Decisions by_passes = decisions;
  std::erase_if(by_passes, read_by_codegen);
  const std::string key = key_of(target, by_passes);
  Kept* kept = find_recent(kept_, key);
  if (kept == nullptr) {
    keep(kept_, {key, lower_early(target, by_passes), {}});
    kept = &kept_.front();
  }
  Lowered lowered;
  lowered.module = copy_with_names(*kept->lowered.module);
  lowered.reductions = kept->lowered.reductions;
  lowered.storage = kept->lowered.storage;
  lowered.run.threads = kept->lowered.run.threads;
  lowered.pass_ms = kept->lowered.pass_ms;
  set_code_options(lowered, target, decisions);
  lowered.unmatched = mark_kernels(*lowered.module, decisions, &kept->fingerprints);
  lowered.unmatched.insert(lowered.unmatched.end(), kept->lowered.unmatched.begin(), kept->lowered.unmatched.end());
  return lowered;
}

}  // namespace hone::xla_side
