// Other forms of a program's operations and other options of XLA: measured, and predicted after lowering. The rows calibrate the forms
// that hone optimize chooses (scripts/calibrate_forms.py).
//
//   bench_variants measure PROGRAM [MAX_ISA [TRANSITION]]
//   bench_variants layouts PROGRAM [MAX_ISA [MOST]]
//   bench_variants predict ROWS MACHINE_FOLDER MODEL PROGRAM...
//
// `measure` prints a JSON object for each change of one operation, and of all of a family together, that leads to another program; `layouts`
// for each layout of one instruction, those that move most bytes first, until MOST programs have run.
// `predict` reads such rows and prints those of the programs with their margins (optimize/forms.h). MODEL: a folder of trees of run times; MACHINE_FOLDER: a data set of the machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/isa.h"
#include "data/layout_space.h"
#include "features/machine_record.h"
#include "graph/decision_family.h"
#include "optimize/forms.h"
#include "report/program_file.h"
#include "tune/program/fusion_model.h"
#include "tune/program/predicted_layouts.h"
#include "tune/session/session.h"

using namespace hone;
using nlohmann::json;

namespace {

std::string name_of(const std::string& path) { return std::filesystem::path(path).stem().stem().string(); }

tune::SessionOptions limited_to(const std::string& max_isa) {
  tune::SessionOptions options;
  options.target.max_isa = max_isa;
  return options;
}

void load(tune::Session& session, const std::string& path) {
  session.load(report::read_program(path).bytes, name_of(path));
}

std::unique_ptr<tune::Session> opened(const std::string& path, const std::string& max_isa) {
  auto session = std::make_unique<tune::Session>(limited_to(max_isa));
  load(*session, path);
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

// Round by round over the instructions, as they are predicted (tune/program/predicted_layouts.h).
std::vector<Variant> layouts_of(tune::Session& session) {
  const LayoutSpace layouts = layout_space_from(session.list_layouts(), LayoutsOf::All);
  std::map<std::string, std::string> opcodes;
  for (size_t i = 0; i < layouts.nodes.size(); ++i)
    opcodes[layouts.space.dimensions[i].key] = layouts.graph.nodes[layouts.nodes[i]].opcode;
  std::vector<Variant> variants;
  for (const Decision& d : tune::single_layouts(layouts.space.dimensions))
    variants.push_back({"layout " + opcodes.at(d.key), to_text(Decisions{d}), {d}});
  return variants;
}

// Which libraries all dots take is decided when they are compiled: the lowered program is the same.
bool changes_dots(const Decision& d, const Lowered& plain) {
  const auto is_dot = [](const Kernel& kernel) { return kernel.kind == "dot"; };
  return belongs_to(FamilyId::ProgramLibrary, d.kind, d.key) &&
         std::any_of(plain.kernels.begin(), plain.kernels.end(), is_dot);
}

// What leads to another program, until `most` have run.
void measure(tune::Session& session, const std::string& path, const std::vector<Variant>& variants, int most) {
  const Lowered plain = session.lower({}, false);
  std::set<std::string> seen{plain.fingerprint};
  const std::string& max_isa = session.target().max_isa;
  const std::string machine = features::this_machine_class(1, max_isa);
  const tune::Duel duel{.min_rounds = 6, .max_rounds = 40, .budget_ms = 400, .precision = 0.01, .limit_s = 60};
  for (const Variant& v : variants) {
    if (most == 0) break;
    json row = {{"program", name_of(path)},
                {"transition", v.transition},
                {"what", v.what},
                {"max_isa", max_isa},
                {"machine", machine}};
    try {
      const bool fresh = seen.insert(session.lower(v.decisions, false).fingerprint).second;
      if (!fresh && !changes_dots(v.decisions.front(), plain)) continue;
      const tune::Measurement m = session.measure_program(v.decisions, {}, duel);
      row["outcome"] = tune::outcome_name(m.outcome);
      if (m.ok()) row.update({{"ratio", m.ratio}, {"low", m.ratio_low}, {"high", m.ratio_high}, {"ns", m.baseline_ns}});
    } catch (const Error& e) {
      row["outcome"] = e.what();
    }
    print(row);
    --most;
  }
}

// Changes of one transition only, where it is given.
void measure(const std::string& path, const std::string& max_isa, const std::string& transition) {
  const auto session = opened(path, max_isa);
  std::vector<Variant> variants = variants_of(session->lower({}, false).dimensions);
  if (!transition.empty()) std::erase_if(variants, [&](const Variant& v) { return v.transition != transition; });
  measure(*session, path, variants, std::numeric_limits<int>::max());
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

void predict(tune::Session& session, const std::string& name, const std::map<RowKey, json>& rows,
             tune::FusionModel& model, const features::Cpu& cpu) {
  const Lowered plain = session.lower({}, false);
  const optimize::PredictedRun own = optimize::predicted_run(model, plain, cpu);
  std::vector<Variant> variants = variants_of(plain.dimensions);
  // Of a layout the row says the decision itself.
  for (const auto& [key, row] : rows)
    if (auto decisions = try_decisions_from_text(std::get<2>(key));
        decisions && !decisions->empty() && decisions->front().kind == DecisionKind::Layout)
      variants.push_back({std::get<1>(key), std::get<2>(key), *decisions});
  for (const Variant& v : variants) {
    const auto found = rows.find({name, v.transition, v.what});
    if (found == rows.end() || found->second.value("outcome", "") != "ok") continue;
    json row = found->second;
    try {
      const Lowered changed = session.lower_to_predict(v.decisions);
      row["margin"] = optimize::form_margin(v.decisions, own, optimize::predicted_run(model, changed, cpu));
    } catch (const Error& e) {
      std::fprintf(stderr, "%s, %s of %s: %s\n", name.c_str(), v.transition.c_str(), v.what.c_str(), e.what());
      continue;
    }
    print(row);
  }
}

// By one worker, which takes as long to start as most programs.
void predict(const std::string& rows_path, const std::string& machine_folder, const std::string& model_path,
             std::span<char*> programs) {
  const std::map<RowKey, json> rows = read_rows(rows_path);
  const auto machine = features::read_machine_file(machine_folder);
  if (!machine) throw Error("the data set does not say which machine it is of", machine_folder);
  const auto model = tune::open_fusion_model(model_path, machine->properties);
  tune::Session session(limited_to(machine->isa == cpu_isa() ? "" : machine->isa));
  for (const std::string path : programs) try {
      load(session, path);
      predict(session, name_of(path), rows, *model, machine->properties);
    } catch (const Error& e) {
      std::fprintf(stderr, "%s is left out: %s\n", name_of(path).c_str(), e.what());
    }
}

int run(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "measure" && argc <= 5) {
    measure(argv[2], argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
  } else if (what == "layouts" && argc <= 5) {
    const auto session = opened(argv[2], argc > 3 ? argv[3] : "");
    measure(*session, argv[2], layouts_of(*session), argc > 4 ? std::atoi(argv[4]) : 60);
  } else if (what == "predict" && argc >= 6) {
    predict(argv[2], argv[3], argv[4], std::span(argv, argc).subspan(5));
  } else {
    std::fprintf(stderr,
                 "bench_variants measure PROGRAM [MAX_ISA [TRANSITION]] | layouts PROGRAM [MAX_ISA [MOST]] | predict "
                 "ROWS MACHINE_FOLDER MODEL PROGRAM...\n");
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
