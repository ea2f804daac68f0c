// Other forms of a program's operations and other options of XLA: measured, and predicted after lowering. The rows calibrate the forms
// that hone optimize chooses (scripts/calibrate_forms.py).
//
//   bench_variants measure PROGRAM [MAX_ISA [TRANSITION]]
//   bench_variants predict PROGRAM ROWS MACHINE_FOLDER MODEL
//
// `measure` prints a JSON object for each change of one operation, and of all of a family together, that leads to another program.
// `predict` reads such rows and prints those of the program with their margins (optimize/forms.h). MODEL: a folder of trees of run times; MACHINE_FOLDER: a data set of the machine.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "features/machine_record.h"
#include "optimize/forms.h"
#include "report/program_file.h"
#include "tune/program/fusion_model.h"
#include "tune/session/session.h"

using namespace hone;
using nlohmann::json;

namespace {

std::string name_of(const std::string& path) { return std::filesystem::path(path).stem().stem().string(); }

std::unique_ptr<tune::Session> opened(const std::string& path, const std::string& max_isa) {
  tune::SessionOptions options;
  options.target.max_isa = max_isa;
  auto session = std::make_unique<tune::Session>(options);
  session->load(report::read_program(path).bytes, name_of(path));
  return session;
}

// What a row is about.
struct Variant {
  std::string transition, what;  // the operation's key, or "all"
  Decisions decisions;
};

std::vector<Variant> variants_of(const std::vector<Dimension>& dimensions) {
  std::vector<Variant> variants;
  for (const FormGroup& group : optimize::candidate_forms(dimensions)) {
    const std::string transition = optimize::form_transition(group);
    if (group.decisions.size() > 1) variants.push_back({transition, "all", group.decisions});
    for (const Decision& d : group.decisions) variants.push_back({transition, d.key, {d}});
  }
  return variants;
}

void print(const json& row) {
  std::printf("%s\n", row.dump().c_str());
  std::fflush(stdout);
}

// Changes of one transition only, where it is given.
void measure(const std::string& path, const std::string& max_isa, const std::string& transition) {
  const auto session = opened(path, max_isa);
  const Lowered plain = session->lower({}, false);
  std::set<std::string> seen{plain.fingerprint};
  const std::string machine = features::this_machine_class(1, max_isa);
  const tune::Duel duel{.min_rounds = 6, .max_rounds = 40, .budget_ms = 400, .precision = 0.01, .limit_s = 60};
  for (const Variant& v : variants_of(plain.dimensions)) {
    if (!transition.empty() && v.transition != transition) continue;
    json row = {{"program", name_of(path)},
                {"transition", v.transition},
                {"what", v.what},
                {"max_isa", max_isa},
                {"machine", machine}};
    try {
      if (!seen.insert(session->lower(v.decisions, false).fingerprint).second) continue;
      const tune::Measurement m = session->measure_program(v.decisions, {}, duel);
      row["outcome"] = tune::outcome_name(m.outcome);
      if (m.ok()) row.update({{"ratio", m.ratio}, {"low", m.ratio_low}, {"high", m.ratio_high}, {"ns", m.baseline_ns}});
    } catch (const Error& e) {
      row["outcome"] = e.what();
    }
    print(row);
  }
}

using RowKey = std::tuple<std::string, std::string, std::string>;  // program, transition, what
std::map<RowKey, json> read_rows(const std::string& path) {
  std::map<RowKey, json> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    json row = json::parse(line);
    const RowKey key{row.at("program"), row.at("transition"), row.at("what")};
    rows.emplace(key, std::move(row));
  }
  return rows;
}

void predict(const std::string& path, const std::string& rows_path, const std::string& machine_folder,
             const std::string& model_path) {
  std::map<RowKey, json> rows = read_rows(rows_path);
  const auto machine = features::read_machine_file(machine_folder);
  if (!machine) throw Error("the data set does not say which machine it is of", machine_folder);
  const auto model = tune::open_fusion_model(model_path, machine->properties);
  std::string max_isa;
  for (const auto& [key, row] : rows)
    if (std::get<0>(key) == name_of(path)) max_isa = row.value("max_isa", "");
  const auto session = opened(path, max_isa);
  const Lowered plain = session->lower({}, false);
  const features::Cpu& cpu = machine->properties;
  const optimize::PredictedRun own = optimize::predicted_run(*model, plain, cpu);
  for (const Variant& v : variants_of(plain.dimensions)) {
    const auto found = rows.find({name_of(path), v.transition, v.what});
    if (found == rows.end() || found->second.value("outcome", "") != "ok") continue;
    json row = found->second;
    try {
      const Lowered changed = session->lower_to_predict(v.decisions);
      row["margin"] = optimize::form_margin(v.decisions, own, optimize::predicted_run(*model, changed, cpu));
    } catch (const Error& e) {
      std::fprintf(stderr, "%s, %s of %s: %s\n", name_of(path).c_str(), v.transition.c_str(), v.what.c_str(), e.what());
      continue;
    }
    print(row);
  }
}

int run(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "measure" && argc <= 5) {
    measure(argv[2], argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
  } else if (what == "predict" && argc == 6) {
    predict(argv[2], argv[3], argv[4], argv[5]);
  } else {
    std::fprintf(stderr,
                 "bench_variants measure PROGRAM [MAX_ISA [TRANSITION]] | predict PROGRAM ROWS MACHINE_FOLDER MODEL\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_variants: %s\n", e.what());
    return 1;
  }
}
