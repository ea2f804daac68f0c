// How fast is each form of convolutions and dots? Draws operations of the sizes that networks have, and measures every form of each by
// itself, weights as parameters and as constants: what the model of operations is trained on.
//
//   bench_operation_rows collect FILE COUNT [SEED] [ISA] [THREADS] [FORM,FORM] [FAMILY]   appends rows to FILE, after those that it has;
//                                                    of all forms, or of these; of all families by turns, or of one of draw.cc
//   bench_operation_rows encode FILE                 rows with features to stdout
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/isa.h"
#include "base/machine.h"
#include "base/rng.h"
#include "cost/operation_ranker.h"
#include "features/machine_record.h"
#include "features/operation_features.h"
#include "graph/decision_family.h"
#include "operations/draw.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

constexpr tune::Duel kDuel{
    .min_rounds = 3, .max_rounds = 11, .budget_ms = 40, .precision = 0.02, .abandon_ratio = 0.5, .limit_s = 60};
// What rows are made for, beside the operation.
struct Collection {
  nlohmann::json machine;
  std::string forms;  // between commas, all where empty
  std::ofstream out;

  bool has(const std::string& form) const {
    return forms.empty() || ("," + forms + ",").find("," + form + ",") != std::string::npos;
  }
};

// An operation of a family, and how its second operand is given.
struct Given {
  int number = 0;
  const bench::DrawnFamily& family;
  bool declared = false, all_forms = true;
};

void measure(tune::Session& session, const Given& given, const Kernel& op, Collection& rows) {
  for (size_t i = 1; i < op.dimension.options.size(); ++i) {
    if (!rows.has(op.dimension.options[i]) || (!given.all_forms && op.dimension.options[i] != kOneDnn)) continue;
    const tune::Measurement m = session.measure_kernel(op, op.dimension.options[i], kDuel);
    nlohmann::json row = rows.machine;
    row.update({{"number", given.number},
                {"drawn", given.family.name},
                {"operation", op.dimension.key},
                {"form", op.dimension.options[i]},
                {"constant", !op.under.empty()},
                {"declared", given.declared},
                {"outcome", outcome_name(m.outcome)},
                {"ratio", m.ratio},
                {"ratio_low", m.ratio_low},
                {"ratio_high", m.ratio_high},
                {"default_ns", m.baseline_ns},
                {"compile_ms", m.compile_ms},
                {"rounds", m.rounds},
                {"error", m.error},
                {"default_error", m.default_error}});
    rows.out << row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n" << std::flush;
  }
}

// The number of the operation after the last row's.
int begin_of(const std::string& path) {
  std::ifstream in(path);
  int next = 0;
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (row.is_object()) next = std::max(next, row.value("number", -1) + 1);
  }
  return next;
}

struct Request {
  std::string path;
  int count = 0;
  uint64_t seed = 0;
  std::string isa;
  int threads = 1;
  std::string forms, family;
};

tune::Session session_of(const Request& request, std::vector<int> weights) {
  tune::SessionOptions options;
  options.target.weights = std::move(weights);
  options.target.max_isa = request.isa;
  options.target.threads = request.threads;
  return tune::Session(std::move(options));
}

// Only oneDNN keeps weights that are declared: of the other forms once is enough, and one operation in three tells the difference.
void measure_one(tune::Session& session, const Request& request, int number, bool declared, Collection& rows) {
  const auto families = bench::drawn_families();
  const auto count = request.family.empty() ? static_cast<int>(families.size()) : 1;
  const bench::DrawnFamily& family =
      request.family.empty() ? families[number % count] : bench::drawn_family(request.family);
  if (family.weights ? !declared && number / count % 3 != 0 : declared) return;
  Rng rng(request.seed * 1000003 + static_cast<uint64_t>(number));
  const std::string text = bench::draw(family, rng);
  const Given given{.number = number, .family = family, .declared = declared, .all_forms = declared || !family.weights};
  try {
    session.load(text, "generated");
    for (const Dimension& d : session.lower({}, false).dimensions) {
      if (d.kind != DecisionKind::Rewrite || !operation_sizes(d.key)) continue;
      // Code that transforms weights takes most of the time to compile: of two convolutions one has it.
      const bool constant = belongs_to(FamilyId::DenseConvolution, d.kind, d.key) && declared &&
                            (rows.has("winograd=4") || rows.has("kernel-winograd=4"));
      if (!constant || number / count % 2 == 0) measure(session, given, tune::operation_alone(d, {}), rows);
      if (constant) measure(session, given, tune::operation_alone(d, tune::as_constants({1})), rows);
    }
  } catch (const Error& e) {
    fmt::print(stderr, "{}: {}\n{}\n", number, e.what(), text);
  }
}

int collect(const Request& request) {
  const int begin = begin_of(request.path);
  const features::Cpu cpu = features::this_cpu(request.threads, request.isa);
  Collection rows{{{"cpu", this_machine().cpu},
                   {"isa", isa_in_effect(request.isa)},
                   {"cpu_isa", cpu_isa()},
                   {"max_isa", request.isa},
                   {"l1", cpu.l1_bytes},
                   {"l2", cpu.l2_bytes},
                   {"l3", cpu.l3_bytes},
                   {"threads", cpu.threads},
                   {"seed", request.seed}},
                  request.forms,
                  std::ofstream(request.path, std::ios::app)};
  tune::Session declared = session_of(request, {1}), undeclared = session_of(request, {});
  for (int i = begin; i < request.count; ++i) {
    measure_one(declared, request, i, true, rows);
    measure_one(undeclared, request, i, false, rows);
    if (i % 50 == 49) fmt::print(stderr, "{} of {} operations\n", i + 1, request.count);
  }
  return 0;
}

int encode(const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    const std::optional<OperationSizes> sizes = operation_sizes(row.at("operation"));
    if (!sizes) throw Error("not the key of a convolution or dot", row.at("operation"));
    const features::Cpu cpu{.vector_bits = isa_vector_bits(row.at("isa")),
                            .library_bits = isa_vector_bits(row.at("cpu_isa")),
                            .l1_bytes = row.at("l1"),
                            .l2_bytes = row.at("l2"),
                            .l3_bytes = row.at("l3"),
                            .threads = row.at("threads")};
    const auto features = features::operation_features(
        *sizes, {.constant = row.at("constant"), .declared = row.value("declared", true)}, row.at("form"), cpu);
    if (!features) throw Error("no form of this operation", row.at("form"));
    row["features"] = *features;
    row["flops"] = sizes->flops();
    row["family"] = cost::corrected_family(row.at("operation"), row.at("form"));
    row["class"] = features::machine_class(row.at("cpu"), row.at("isa"), row.at("cpu_isa"), row.at("threads"));
    fmt::print("{}\n", row.dump());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "collect" && argc > 3)
      return collect({.path = argv[2],
                      .count = std::atoi(argv[3]),
                      .seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0,
                      .isa = argc > 5 ? argv[5] : "",
                      .threads = argc > 6 ? std::atoi(argv[6]) : 1,
                      .forms = argc > 7 ? argv[7] : "",
                      .family = argc > 8 ? argv[8] : ""});
    if (what == "encode" && argc > 2) return encode(argv[2]);
    if (what == "similar" && argc > 2) {  // as the product asks classes of machines for what one lacks
      const std::vector<std::string> known(argv + 3, argv + argc);
      return fmt::print("{}\n", nlohmann::json(features::similar_classes(argv[2], known)).dump()), 0;
    }
    if (what == "names") return fmt::print("{}\n", nlohmann::json(features::operation_feature_names()).dump()), 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  fmt::print(stderr,
             "usage: bench_operation_rows collect FILE COUNT [SEED] [ISA] [THREADS] [FORMS] [FAMILY] | encode FILE | "
             "names | similar CLASS [CLASS...]\n");
  return 2;
}
