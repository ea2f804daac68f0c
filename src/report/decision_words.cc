#include "report/decision_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "graph/decision_family.h"
#include "graph/kernel_option.h"
#include "graph/packed_weights.h"
#include "graph/winograd_form.h"
#include "tune/session/decision_list.h"

namespace hone::report {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string sizes(const std::string& tile) { return joined(split(tile, ','), "×"); }

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// "name.12" -> "name".
std::string without_number(const std::string& name) {
  const size_t dot = name.rfind('.');
  const bool number = dot != std::string::npos && dot + 1 < name.size() &&
                      name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return number ? name.substr(0, dot) : name;
}

constexpr std::array kEmitterWords = {
    "", "plain loops", "tile", "Eigen", "YNNPACK", "compiled matrix code", "compiled plain loops"};
static_assert(kEmitterWords.size() == static_cast<size_t>(KernelOption::Emitter::Naive) + 1);

std::string in_words(const KernelOption& option) {
  std::vector<std::string> words;
  std::string emitter = kEmitterWords.at(static_cast<size_t>(option.emitter));
  if (option.emitter == KernelOption::Emitter::Tiled) emitter += " " + sizes(tile_text(option.tile));
  if (!emitter.empty()) words.push_back(emitter);
  if (!option.unroll) words.emplace_back("not unrolled");
  if (!option.slp) words.emplace_back("without SLP vectorisation");
  if (option.optimize_size) words.emplace_back("optimised for size");
  if (option.partitions > 0)
    words.push_back(fmt::format("{} partition{}", option.partitions, option.partitions == 1 ? "" : "s"));
  return joined(words, " ");
}

std::string in_words(const WinogradForm& form) {
  const std::string strips = form.strips == 1 ? "" : fmt::format(", in {} strips", form.strips);
  const char* use = form.use == WinogradUse::Split    ? ", after splitting"
                    : form.use == WinogradUse::Kernel ? ", as one kernel"
                                                      : "";
  return fmt::format("Winograd’s method with tiles of {}{}{}", form.tile, strips, use);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// "tile 8×8 instead of 1×128": the word "tile" once.
std::string instead_of(const tune::KernelReport& kernel) {
  const std::string chosen = value_in_words(kernel.chosen),
                    usual = value_in_words(kernel.default_value, kernel.default_tile);
  if (begins(chosen, "tile ") && begins(usual, "tile ")) return chosen + " instead of " + usual.substr(5);
  return chosen + " instead of " + usual;
}

// Of an operation's chosen form, where it was measured by this search.
std::string error_in_words(const tune::KernelReport& operation) {
  if (operation.top.empty() || operation.top[0].value != operation.chosen) return "";
  const tune::Measurement& m = operation.top[0].measurement;
  if (m.error < 0 || m.default_error < 0) return "";
  return fmt::format(" (error {:.1e} of the largest value, XLA’s own {:.1e})", m.error, m.default_error);
}

// "reduction add by YNNPACK", "grouped convolution f32[...] by shifted slices": the family's sentence, filled in.
std::string family_decision(const Decision& d, const DecisionFamily& family) {
  const std::string rest = d.key.substr(std::strlen(family.prefix));
  const std::vector<std::string> parts = split(rest + ":", ':');
  const std::string value = d.value == kShifted              ? "shifted slices"
                            : d.value == kCompiledReduction  ? "compiled code"
                            : d.value == kF32Result          ? "a result of f32"
                            : d.value == kFewRows            ? "a kernel for few rows"
                            : d.value == kF32ResultOfTwoRows ? "a result of f32 and a second row"
                                                             : value_in_words(d.value);
  return fmt::format(fmt::runtime(family.sentence), fmt::arg("words", family.words), fmt::arg("value", value),
                     fmt::arg("rest", rest), fmt::arg("first", parts[0]), fmt::arg("second", parts[1]));
}

std::string program_decision(const Decision& d) {
  if (const DecisionFamily* family = family_of(d)) return family_decision(d, *family);
  const std::string value = value_in_words(d.value);
  std::string name = d.key;
  std::replace(name.begin(), name.end(), '_', ' ');
  switch (d.kind) {
    case DecisionKind::Weights: {
      const std::string which = d.key == "all" ? "all weights" : "weight " + d.key;
      return which + (d.value == "constant" ? " compiled in as constants"
                      : packs_weights(d)    ? " packed once for YNNPACK's dots"
                                            : " stored " + value);
    }
    case DecisionKind::Fusion: {
      const size_t arrow = d.key.find('>');
      if (arrow == std::string::npos) return fmt::format("fusion {}: {}", d.key, value);
      const std::string producer = d.key.substr(0, arrow), consumer = d.key.substr(arrow + 1);
      return d.value == "fuse" ? producer + " fused into " + consumer : producer + " kept apart from " + consumer;
    }
    case DecisionKind::Library:
      return fmt::format("library of {}: {}", d.key.substr(0, 12), value);
    case DecisionKind::Option:
      return fmt::format("{} {}", name, value);
    default:
      return fmt::format("{} {}: {}", decision_kind_name(d.kind), name, value);
  }
}

}  // namespace

std::string kernel_in_words(const std::string& name, bool transposes) {
  std::vector<std::string> kept;
  bool transposed = transposes;
  for (const std::string& part : split(without_number(name), '_')) {
    const bool filler =
        part.empty() || part == "fusion" || part == "wrapped" || part == "computation" || part == "bitcast";
    if (part == "transpose" || part == "copy")
      transposed = true;
    else if (!filler && std::find(kept.begin(), kept.end(), part) == kept.end())
      kept.push_back(part);
  }
  if (kept.empty()) return transposed ? "transpose" : without_number(name);
  return (transposed ? "transposed " : "") + joined(kept, "–");
}

std::string value_in_words(const std::string& value, const std::string& default_tile) {
  if (value == "default") return default_tile.empty() ? "XLA’s own choice" : "tile " + sizes(default_tile);
  if (const std::optional<KernelOption> option = KernelOption::try_parse(value)) return in_words(*option);
  if (const std::optional<WinogradForm> form = WinogradForm::parse(value)) return in_words(*form);
  return value;
}

std::vector<DecisionWords> decisions_in_words(const TuneReport& report, const std::set<std::string>& transposing) {
  std::map<std::string, const tune::KernelReport*> kernels;
  for (const tune::KernelReport& k : report.kernels)
    if (k.improved()) kernels[std::string(decision_kind_name(k.decision)) + k.key] = &k;
  std::vector<DecisionWords> list;
  for (const Decision& d : report.decisions) {
    DecisionWords words;
    words.kind = d.kind;
    const auto kernel = kernels.find(std::string(decision_kind_name(d.kind)) + d.key);
    if (kernel != kernels.end() && kernel->second->chosen == d.value) {
      const tune::KernelReport& k = *kernel->second;
      words.text = d.kind == DecisionKind::Rewrite
                       ? capital(program_decision(d)) + error_in_words(k)
                       : capital(kernel_in_words(k.name, transposing.contains(k.fingerprint))) + ": " + instead_of(k);
      if (k.count > 1) words.text += fmt::format(", {} times in the program", k.count);
      words.kernel = k.name;
      words.gain = k.gain;
      words.share = k.share;
    } else {
      words.text = program_decision(d);
      if (d.kind != DecisionKind::Fusion) words.text = capital(words.text);  // an instruction keeps its name
      for (const tune::Step& step : report.steps)
        if (step.kept && step.what == tune::in_words(d)) words.gain = step.measurement.ratio;
    }
    list.push_back(std::move(words));
  }
  // The share of the program's time that a decision saved. A kernel's gain counts for its share only.
  const auto saved = [](const DecisionWords& w) {
    if (w.gain <= 0) return 0.0;
    return (w.kernel.empty() ? 1 : w.share) * (1 - 1 / w.gain);
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return saved(a) > saved(b); });
  return list;
}

}  // namespace hone::report
