#include "graph/made_with.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/isa.h"
#include "base/machine.h"

namespace hone {

namespace {

using nlohmann::json;

constexpr size_t kNamed = 3;  // decisions in a warning

// Those that code limited to `isa` may use: each came with an instruction set.
std::vector<std::string> features_of_cpu(const std::string& isa) {
  std::vector<std::string> features;
#if defined(__x86_64__)
#define HONE_FEATURE(name, with) \
  if (__builtin_cpu_supports(name) && has_isa(isa, with)) features.emplace_back(name)
  HONE_FEATURE("sse4.2", "sse4.2");
  HONE_FEATURE("popcnt", "sse4.2");
  HONE_FEATURE("avx", "avx");
  HONE_FEATURE("avx2", "avx2");
  HONE_FEATURE("fma", "avx2");
  HONE_FEATURE("bmi", "avx2");
  HONE_FEATURE("bmi2", "avx2");
  HONE_FEATURE("avx512f", "avx512");
  HONE_FEATURE("avx512bw", "avx512");
  HONE_FEATURE("avx512cd", "avx512");
  HONE_FEATURE("avx512dq", "avx512");
  HONE_FEATURE("avx512vl", "avx512");
  HONE_FEATURE("avx512vnni", "avx512");
  HONE_FEATURE("avx512bf16", "avx512");
  HONE_FEATURE("amx-tile", "avx512");
  HONE_FEATURE("amx-int8", "avx512");
  HONE_FEATURE("amx-bf16", "avx512");
#undef HONE_FEATURE
#endif
  return features;
}

bool calls(const Decisions& decisions, const std::string& library) {
  return std::any_of(decisions.begin(), decisions.end(),
                     [&](const Decision& d) { return d.value.find(library) != std::string::npos; });
}

std::string or_none(const std::string& version) { return version.empty() ? "none" : version; }

void compare_libraries(const MadeWith& made, const MadeWith& here, const Decisions& decisions, Fit& fit) {
  for (const auto& [name, version] : made.libraries) {
    const auto found = here.libraries.find(name);
    const std::string own = found == here.libraries.end() ? "" : found->second;
    if (own == version || !calls(decisions, name)) continue;
    fit.as_tuned = false;
    fit.differences.push_back(fmt::format("it calls {} {}, and here is {}", name, version, or_none(own)));
  }
}

}  // namespace

MadeWith made_here(const std::string& max_isa, const std::string& xla,
                   const std::map<std::string, std::string>& libraries) {
  const std::string isa = isa_in_effect(max_isa);
  return {.cpu = this_machine().cpu,
          .cores = this_machine().usable_cores,
          .isa = isa,
          .cpu_features = features_of_cpu(isa),
          .hone = HONE_VERSION,
          .xla = xla,
          .libraries = libraries};
}

json to_json(const MadeWith& made) {
  return {{"cpu", made.cpu},
          {"cores", made.cores},
          {"isa", made.isa},
          {"cpu_features", made.cpu_features},
          {"hone", made.hone},
          {"xla", made.xla},
          {"libraries", made.libraries}};
}

MadeWith made_with_from_json(const json& package) {
  MadeWith made;
  const char* name = "xla_version";
  try {
    made.xla = package.value(name, "");
    name = "made_with";
    if (!package.contains(name)) return made;
    const json& from = package.at(name);
    from.at("cpu").get_to(made.cpu);
    from.at("cores").get_to(made.cores);
    from.at("isa").get_to(made.isa);
    from.at("cpu_features").get_to(made.cpu_features);
    from.at("hone").get_to(made.hone);
    from.at("xla").get_to(made.xla);
    from.at("libraries").get_to(made.libraries);
  } catch (const json::exception&) {
    throw Error(fmt::format("the field '{}' is of another type", name), "decisions.json", "tune the program again");
  }
  return made;
}

Fit fit_of(const MadeWith& made, const MadeWith& here, const Decisions& decisions) {
  Fit fit;
  const auto differ = [&](bool as_tuned, std::string what) {
    fit.as_tuned &= as_tuned;
    fit.differences.push_back(std::move(what));
  };
  if (!made.xla.empty() && made.xla != here.xla)
    differ(false, fmt::format("it was tuned for XLA of {}, and this is {}", made.xla, here.xla));
  if (made.hone.empty()) {
    differ(true, "it does not say where it was made, as those of older versions do not");
    return fit;
  }
  std::vector<std::string> missing;
  for (const std::string& feature : made.cpu_features)
    if (std::find(here.cpu_features.begin(), here.cpu_features.end(), feature) == here.cpu_features.end())
      missing.push_back(feature);
  if (!missing.empty())
    differ(false, fmt::format("it was tuned for {}, and this CPU lacks {}", made.isa, fmt::join(missing, ", ")));
  compare_libraries(made, here, decisions, fit);
  if (made.hone != here.hone)
    differ(true, fmt::format("it was tuned by Hone {}, and this is {}", made.hone, here.hone));
  if (made.cpu != here.cpu || made.cores != here.cores)
    differ(true, fmt::format("it was tuned on {} with {} cores, and this is {} with {}", made.cpu, made.cores, here.cpu,
                             here.cores));
  return fit;
}

void compare_threads(int threads, const MadeWith& here, Fit& fit) {
  if (here.cores > 0 && threads > here.cores)
    fit.differences.push_back(
        fmt::format("it runs on {} threads, and this process may use {} cores", threads, here.cores));
}

std::string fit_text(const Fit& fit) {
  if (fit.differences.empty()) return "";
  return fmt::format("{}: {}", fmt::join(fit.differences, "; "),
                     fit.as_tuned ? "it runs as tuned, and may gain less" : "default XLA runs in its place");
}

std::string unmatched_text(const Decisions& unmatched) {
  if (unmatched.empty()) return "";
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(unmatched.size(), kNamed); ++i)
    named.push_back(
        fmt::format("{} {}={}", decision_kind_name(unmatched[i].kind), unmatched[i].key, unmatched[i].value));
  if (unmatched.size() > kNamed) named.push_back(fmt::format("{} more", unmatched.size() - kNamed));
  return fmt::format("{} of its decisions match{} nothing in the program: {}", unmatched.size(),
                     unmatched.size() == 1 ? "es" : "", fmt::join(named, ", "));
}

}  // namespace hone
