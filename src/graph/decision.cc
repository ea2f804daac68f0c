#include "graph/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/suggest.h"

namespace hone {
namespace {

constexpr std::array kKinds = {
#define DECISION(kind, name, former, scope, stage, grouped, words, ...) \
  DecisionTraits{DecisionKind::kind, name, former, DecisionScope::scope, DecisionStage::stage, grouped, words},
#include "graph/decisions.def"
#undef DECISION
};

// Whether `name` is one of the words, which are separated by blanks.
bool is_among(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == name) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// By its name of today or of earlier versions; null for any other.
const DecisionTraits* kind_named(std::string_view name) {
  for (const DecisionTraits& row : kKinds)
    if (name == row.name || is_among(row.former, name)) return &row;
  return nullptr;
}

constexpr double kMaxSize = 1e18;

// Escapes the separators, so that different lists never give equal text.
std::string escape(const std::string& text, const std::string& special) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string in_words(const Decision& decision) {
  return fmt::format("{} {}={}", decision_kind_name(decision.kind), decision.key, decision.value);
}

}  // namespace

std::span<const DecisionTraits> decision_kinds() { return kKinds; }

const DecisionTraits& decision_traits(DecisionKind kind) {
  const auto index = static_cast<size_t>(kind);
  if (index >= kKinds.size()) throw InternalError(fmt::format("no decision kind {}", static_cast<int>(kind)));
  return kKinds[index];
}

const char* decision_kind_name(DecisionKind kind) { return decision_traits(kind).name; }

DecisionKind decision_kind_from_name(const std::string& name) {
  if (const DecisionTraits* kind = kind_named(name)) return kind->kind;
  std::vector<std::string> names;
  for (const DecisionTraits& row : kKinds) names.emplace_back(row.name);
  throw unknown_word("kind of decision", name, names, "");
}

Choice Space::default_choice() const {
  Choice choice;
  choice.reserve(dimensions.size());
  for (const Dimension& dimension : dimensions) choice.push_back(dimension.default_option);
  return choice;
}

double Space::size() const {
  double size = 1;
  for (const Dimension& dimension : dimensions) {
    if (dimension.options.empty()) return 0;
    size = std::min(size * static_cast<double>(dimension.options.size()), kMaxSize);
  }
  return size;
}

bool Space::is_legal(const Choice& choice) const {
  if (choice.size() != dimensions.size()) return false;
  for (size_t i = 0; i < choice.size(); ++i)
    if (choice[i] < 0 || static_cast<size_t>(choice[i]) >= dimensions[i].options.size()) return false;
  return true;
}

Decisions Space::decisions(const Choice& choice) const {
  if (!is_legal(choice)) throw InternalError("the choice does not belong to the space");
  Decisions result;
  for (size_t i = 0; i < choice.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    if (choice[i] != dimension.default_option)
      result.push_back({dimension.kind, dimension.key, dimension.options[choice[i]]});
  }
  std::sort(result.begin(), result.end());
  return result;
}

Choice Space::choice(const Decisions& decisions) const {
  Choice result = default_choice();
  std::vector<bool> decided(dimensions.size());
  for (const Decision& decision : decisions) {
    const auto dimension = std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension& d) {
      return d.kind == decision.kind && d.key == decision.key;
    });
    if (dimension == dimensions.end())
      throw Error("the program has no decision of this kind and key", in_words(decision),
                  "the decisions belong to another program or another version");
    const auto option = std::find(dimension->options.begin(), dimension->options.end(), decision.value);
    if (option == dimension->options.end())
      throw Error("the value is not among the options", in_words(decision),
                  fmt::format("one of {}", fmt::join(dimension->options, " | ")));
    const auto index = static_cast<size_t>(dimension - dimensions.begin());
    if (decided[index]) throw Error("decided twice", in_words(decision), "keep one of the two");
    decided[index] = true;
    result[index] = static_cast<int32_t>(option - dimension->options.begin());
  }
  return result;
}

Decisions of_kind(Decisions decisions, DecisionKind kind) {
  std::erase_if(decisions, [&](const Decision& d) { return d.kind != kind; });
  return decisions;
}

std::string to_text(const Decisions& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    if (!text.empty()) text += '|';
    text += fmt::format("{} {}={}", decision_kind_name(decision.kind), escape(decision.key, "|="),
                        escape(decision.value, "|"));
  }
  return text;
}

namespace {

// The unescaped text up to the next character of `ends` that is not escaped; moves `at` past that character.
std::string unescaped_until(const std::string& text, std::string_view ends, size_t& at) {
  std::string part;
  for (; at < text.size(); ++at) {
    if (ends.find(text[at]) != ends.npos) return ++at, part;
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      part += text[at] == 'n' ? '\n' : text[at];
    } else {
      part += text[at];
    }
  }
  return part;
}

}  // namespace

std::optional<Decisions> try_decisions_from_text(const std::string& text) {
  Decisions decisions;
  for (size_t at = 0; at < text.size();) {
    const size_t space = text.find(' ', at);
    if (space == std::string::npos) return std::nullopt;
    const DecisionTraits* kind = kind_named(text.substr(at, space - at));
    if (!kind) return std::nullopt;
    at = space + 1;
    Decision decision{kind->kind, "", ""};
    decision.key = unescaped_until(text, "=", at);
    if (decision.key.empty() || text[at - 1] != '=') return std::nullopt;
    decision.value = unescaped_until(text, "|", at);
    decisions.push_back(present(std::move(decision)));
  }
  std::sort(decisions.begin(), decisions.end());
  return decisions;
}

Decisions decisions_from_text(const std::string& text) {
  std::optional<Decisions> decisions = try_decisions_from_text(text);
  if (!decisions) throw Error("not a list of decisions", text, "write each as \"kind key=value\", with | between them");
  return *std::move(decisions);
}

Decision present(Decision decision) {
  if (decision.kind != DecisionKind::Library) return decision;
  if (decision.key.starts_with("convolution:") || decision.key.starts_with("reduce-window:"))
    decision.kind = DecisionKind::Rewrite;
  else if (decision.key.starts_with("reduce:") && decision.value == "ynnpack")
    decision.value = "ynn";
  return decision;
}

namespace {

// Whether the text begins as a decision that present() changes, or with a name of earlier versions.
bool begins_in_former_terms(std::string_view text) {
  constexpr std::array kFormer = {"library convolution:", "library reduce-window:", "library reduce:"};
  const std::string_view name = text.substr(0, text.find(' '));
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](const DecisionTraits& row) { return is_among(row.former, name); }) ||
         std::any_of(kFormer.begin(), kFormer.end(), [&](const char* begin) { return text.starts_with(begin); });
}

}  // namespace

std::string present_text(const std::string& text) {
  bool former = false;
  for (size_t at = 0; at < text.size() && !former; at = std::min(text.find('|', at), text.size() - 1) + 1)
    former = begins_in_former_terms(std::string_view(text).substr(at));
  if (!former) return text;
  const std::optional<Decisions> decisions = try_decisions_from_text(text);
  return decisions ? to_text(*decisions) : text;  // a damaged row must not keep a database from being opened
}

}  // namespace hone
