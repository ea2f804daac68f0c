// Lowered modules of one program, kept so that XLA's passes run again only as far as a decision needs.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decisions/lower.h"

namespace hone::xla_side {

// Whether two modules have the same instructions, and the same kernels under the same names, by which their times are found.
bool same_modules(xla::HloModule& a, xla::HloModule& b);

class Lowerings {
 public:
  // `program` outlives this.
  explicit Lowerings(const xla::HloModule& program) : program_(program) {}

  // As lower(). Decisions that code generation alone reads are set on a copy of a lowered module; for those that XLA reads
  // after layout assignment passes resume there, on a copy of a module that was kept. What resumed passes make is compared
  // with lower() for the first, second, third, fifth, ninth time and so on; once it differs or fails, all passes run from then on.
  // `inputs`: null where there are none. Nothing is kept of programs with constant weights.
  Lowered lower(const CompileTarget& target, const Decisions& decisions, const std::vector<xla::Literal>* inputs);

  int64_t resumed() const { return resumed_; }  // times that passes began after layout assignment

 private:
  struct Start {
    std::string key;
    WithLayouts state;
    std::vector<Storage> storage;
  };
  struct Kept {
    std::string key;
    Lowered lowered;
    std::unordered_map<std::string, std::string> fingerprints;  // of its kernels, by name
  };

  Lowered lower_early(const CompileTarget& target, const Decisions& decisions);
  // Nothing where a pass fails.
  std::optional<Lowered> try_resuming(const Start& start, const CompileTarget& target,
                                      const Decisions& decisions) const;
  Lowered lower_whole(const CompileTarget& target, const Decisions& decisions, const std::string& key);

  const xla::HloModule& program_;
  std::list<Start> starts_;  // most recent first
  std::list<Kept> kept_;     // the same
  bool resumes_ = true;
  int64_t resumed_ = 0;
};

// Of a target, for keys.
std::string target_key(const CompileTarget& target);

}  // namespace hone::xla_side
