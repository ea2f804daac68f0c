// How fast is each form of a convolution or dot? Measures every form that is offered for the operations of programs, each
// by itself and in its program beside default XLA, and prints a table.
//
//   bench_operation_forms MILLISECONDS WEIGHTS PROGRAM...     MILLISECONDS for each comparison; WEIGHTS parameters after
//                                                             the first are declared constant between calls
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "graph/operation_key.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

void measure(tune::Session& session, const std::string& path, double budget_ms) {
  const tune::Duel duel{.min_rounds = 5, .max_rounds = 1000, .budget_ms = budget_ms};
  session.load(read_file(path), path);
  for (const Dimension& d : session.lower({}, false).dimensions) {
    if (!tune::is_alone(d)) continue;
    const std::optional<OperationSizes> sizes = operation_sizes(d.key);
    for (size_t i = 1; i < d.options.size(); ++i) {
      const tune::Measurement m = session.measure_kernel(tune::operation_alone(d, {}), d.options[i], duel);
      const tune::Measurement in_program = session.measure_program({{d.kind, d.key, d.options[i]}}, {}, duel);
      fmt::print("| {} | {} | {:.3f} | {:.0f} | {:.2f} [{:.2f}, {:.2f}] | {:.2f} | {:.1e} | {:.1e} | {} |\n", d.key,
                 d.options[i], m.baseline_ns / 1e6, sizes && m.baseline_ns > 0 ? sizes->flops() / m.baseline_ns : 0,
                 m.ratio, m.ratio_low, m.ratio_high, in_program.ratio, m.default_error, m.error,
                 m.ok() ? "right" : m.note);
      std::fflush(stdout);
    }
  }
}

// The whole of `text` as a number.
std::optional<double> number_of(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  const double milliseconds = argc > 1 ? number_of(argv[1]).value_or(0) : 0;
  const double weights = argc > 2 ? number_of(argv[2]).value_or(-1) : -1;
  if (argc < 4 || milliseconds <= 0 || weights < 0) {
    fmt::print(stderr, "usage: bench_operation_forms MILLISECONDS WEIGHTS PROGRAM...\n");
    return 2;
  }
  try {
    tune::SessionOptions options;
    for (int weight = 1; weight <= weights; ++weight) options.target.weights.push_back(weight);
    tune::Session session(options);
    fmt::print(
        "| operation | form | default ms | GFLOP/s | over default | in the program | default's error | error | |\n");
    fmt::print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (int i = 3; i < argc; ++i) measure(session, argv[i], milliseconds);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
