// The two types every strategy, agent, model and the database speak: Space (what is legal) and Choice (one pick per
// dimension), with Decision as the readable form of one pick.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

enum class DecisionKind : int8_t { Fusion = 0, Kernel, Library, Weights, Option, Layout, Pass };

const char* decision_kind_name(DecisionKind kind);              // "fusion", "kernel", ...
DecisionKind decision_kind_from_name(const std::string& name);  // throws Error

// One decision that departs from default XLA, in words:
//   fusion  key "producer>consumer"      value "fuse" | "keep"
//   kernel  key kernel fingerprint       value "loop" | "tile=8,8" [";unroll=0" ";slp=0" ";size=1" ";partitions=4"]
//   library key dot/convolution kernel   value "eigen" | "ynn" | "llvm" | "naive"
//           key reduction, grouped convolution, pooling, whole program (graph/library_keys.h)
//   weights key parameter number         value "transposed" | "constant"
//   option  key option name              value option value
//   layout  key instruction              value "output/input/kernel", axes from the fastest, - = XLA's own: "0,1/-/-"
//   pass    key "order"                  value pass names, "cse,dce": run before XLA's own pipeline
struct Decision {
  DecisionKind kind{};
  std::string key, value;
  bool operator==(const Decision&) const = default;
  auto operator<=>(const Decision&) const = default;
};
using Decisions = std::vector<Decision>;

// One thing to decide. options[default_option] is what XLA does by itself.
struct Dimension {
  DecisionKind kind{};
  std::string key;
  std::vector<std::string> options;
  int default_option = 0;
  double weight = 0;  // estimated share of run time it can move, for ordering a search; 0 = unknown
};

using Choice = std::vector<int32_t>;  // one option index per dimension

struct Space {
  std::vector<Dimension> dimensions;

  Choice default_choice() const;
  // Number of distinct choices, saturating at 1e18.
  double size() const;
  bool is_legal(const Choice& choice) const;
  // Only picks that differ from the default; sorted, so equal choices give equal lists. Throws InternalError if illegal.
  Decisions decisions(const Choice& choice) const;
  // The inverse; decisions with no matching dimension or option throw Error.
  Choice choice(const Decisions& decisions) const;
};

// Canonical one-line text of a sorted decision list: the cache key of a candidate.
std::string to_text(const Decisions& decisions);

}  // namespace hone
