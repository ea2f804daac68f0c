#include "report/decision_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "graph/library_keys.h"
#include "tune/program/decision_list.h"

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

struct Word {
  const char* value;
  const char* words;
};
constexpr std::array<Word, 11> kWords = {{{"loop", "plain loops"},
                                          {"eigen", "Eigen"},
                                          {"ynn", "YNNPACK"},
                                          {"ynnpack", "YNNPACK"},
                                          {"llvm", "compiled matrix code"},
                                          {"naive", "compiled plain loops"},
                                          {"compiled", "compiled code"},
                                          {"shifted", "shifted slices"},
                                          {"unroll=0", "not unrolled"},
                                          {"slp=0", "without SLP vectorisation"},
                                          {"size=1", "optimised for size"}}};

std::string part_in_words(const std::string& part) {
  for (const Word& word : kWords)
    if (part == word.value) return word.words;
  if (begins(part, "tile=")) return "tile " + sizes(part.substr(5));
  if (begins(part, "partitions=")) return part.substr(11) + (part == "partitions=1" ? " partition" : " partitions");
  return part;
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

std::string program_decision(const Decision& d) {
  const std::string value = value_in_words(d.value);
  std::string name = d.key;
  std::replace(name.begin(), name.end(), '_', ' ');
  switch (d.kind) {
    case DecisionKind::Weights: {
      const std::string which = d.key == "all" ? "all weights" : "weight " + d.key;
      return which + (d.value == "constant" ? " compiled in as constants" : " stored " + value);
    }
    case DecisionKind::Fusion: {
      const size_t arrow = d.key.find('>');
      if (arrow == std::string::npos) return fmt::format("fusion {}: {}", d.key, value);
      const std::string producer = d.key.substr(0, arrow), consumer = d.key.substr(arrow + 1);
      return d.value == "fuse" ? producer + " fused into " + consumer : producer + " kept apart from " + consumer;
    }
    case DecisionKind::Library:
      if (begins(d.key, "reduce:")) return fmt::format("reduction {} by {}", d.key.substr(7), value);
      if (begins(d.key, kConvolutionKeyPrefix))
        return fmt::format("{} {} by {}",
                           is_weights_gradient(d.kind, d.key) ? "gradient of the weights" : "grouped convolution",
                           split(d.key, ':').at(1), value);
      if (begins(d.key, kPoolingKeyPrefix))
        return fmt::format("{} pooling {} by {}", split(d.key, ':').at(1), split(d.key + ":", ':').at(2), value);
      if (d.key == "program") return "library of the whole program: " + value;
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
  std::vector<std::string> words;
  for (const std::string& part : split(value, ';')) words.push_back(part_in_words(part));
  return joined(words, " ");
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
      words.text = capital(kernel_in_words(k.name, transposing.contains(k.fingerprint))) + ": " + instead_of(k);
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
  // The part of the program's time a decision saved: all of it for a step, the kernel's share for a kernel.
  const auto saved = [](const DecisionWords& w) {
    if (w.gain <= 0) return 0.0;
    return (w.kernel.empty() ? 1 : w.share) * (1 - 1 / w.gain);
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return saved(a) > saved(b); });
  return list;
}

}  // namespace hone::report
