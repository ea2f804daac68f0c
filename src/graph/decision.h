// The types that strategies, agents, models and the database share: Space (the legal options), Choice (one option per
// dimension), and Decision, the readable form of one option.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hone {

enum class DecisionKind : int8_t {
#define DECISION(kind, ...) kind,
#include "graph/decisions.def"
#undef DECISION
};
// What one key stands for: an edge from a producer to a consumer, a kernel of the lowered program (by fingerprint), all
// operations of one form, a parameter, the whole program, or an instruction (by name).
enum class DecisionScope : int8_t { Edge, Kernel, Operation, Parameter, Program, Instruction };
// When the worker applies a decision: to the program as loaded, as an option of XLA's compiler, in layout assignment, in the
// fusion pass, or to the kernels of the lowered module.
enum class DecisionStage : int8_t { Program, Options, Layouts, Fusion, Kernels };

// A row of decisions.def.
struct DecisionTraits {
  DecisionKind kind;
  const char* name;
  const char* former;   // what versions before 0.2 wrote or took, separated by blanks
  DecisionScope scope;  // of keys outside the kind's families, as `stage`: ask scope_of() and stage_of()
  DecisionStage stage;
  bool grouped;  // there are dozens, which the search moves together
  const char* words;
};
std::span<const DecisionTraits> decision_kinds();  // in the order of the enumerators
inline constexpr int kDecisionKinds = 0
#define DECISION(...) +1
#include "graph/decisions.def"
#undef DECISION
    ;

const DecisionTraits& decision_traits(DecisionKind kind);       // throws InternalError
const char* decision_kind_name(DecisionKind kind);              // "fusion", "codegen", ...
DecisionKind decision_kind_from_name(const std::string& name);  // accepts former names; throws Error

// One decision that differs from default XLA. decisions.def lists the keys and values of each kind.
struct Decision {
  DecisionKind kind{};
  std::string key, value;
  bool operator==(const Decision&) const = default;
  auto operator<=>(const Decision&) const = default;
};
using Decisions = std::vector<Decision>;

// One thing to decide. options[default_option] is what default XLA does.
struct Dimension {
  DecisionKind kind{};
  std::string key;
  std::vector<std::string> options;
  int default_option = 0;
  double weight = 0;              // estimated share of the run time it affects, for ordering a search; 0 = unknown
  int count = 1;                  // operations that share the key
  std::vector<int> weights = {};  // declared ones that these operations have as second operands; empty = not all do
};

using Choice = std::vector<int32_t>;  // one option index per dimension

struct Space {
  std::vector<Dimension> dimensions;

  Choice default_choice() const;
  // Number of distinct choices, saturating at 1e18.
  double size() const;
  bool is_legal(const Choice& choice) const;
  // The options other than the default; sorted, so equal choices give equal lists. Throws InternalError if illegal.
  Decisions decisions(const Choice& choice) const;
  // The inverse. Throws Error for decisions without a matching dimension or option, and for two of one dimension.
  Choice choice(const Decisions& decisions) const;
};

// The decisions of one kind.
Decisions of_kind(Decisions decisions, DecisionKind kind);

// Canonical one-line text of a sorted decision list: the cache key of a candidate.
std::string to_text(const Decisions& decisions);
// The inverse, sorted. Text of versions before 0.2 is converted as by present(). Throws Error (where = text) for other text.
Decisions decisions_from_text(const std::string& text);
// The same, but nullopt for other text.
std::optional<Decisions> try_decisions_from_text(const std::string& text);
// Converts a decision of versions before 0.2: rewrites were library decisions then, and YNNPACK had a second name.
Decision present(Decision decision);
// Converts to_text() of versions before 0.2 to the present form; returns other text unchanged.
std::string present_text(const std::string& text);

}  // namespace hone
