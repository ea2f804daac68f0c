// How fast is each form of convolutions and half-precision dots? Draws operations of the sizes that networks have, and measures every
// form of each by itself, weights as parameters and as constants: what the model of operations is trained on.
//
//   bench_operation_rows collect FILE COUNT [SEED] [ISA] [THREADS] [FORM,FORM]   appends rows to FILE, after those that it has; of
//                                                                               all forms, or of these
//   bench_operation_rows encode FILE                                            rows with features to stdout
#include <fmt/core.h>

#include <algorithm>
#include <array>
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
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

constexpr tune::Duel kDuel{
    .min_rounds = 3, .max_rounds = 11, .budget_ms = 40, .precision = 0.02, .abandon_ratio = 0.5, .limit_s = 60};
constexpr double kMostFlops = 6e8, kLeastFlops = 4e5, kMostBytes = 1e8;

template <size_t N>
int one_of(Rng& rng, const std::array<int, N>& values) {
  return values[rng.below(N)];
}

struct Drawn {
  std::string text;
  double flops = 0, bytes = 0;
  bool fits() const { return flops >= kLeastFlops && flops <= kMostFlops && bytes <= kMostBytes; }
};

std::string program(const std::string& left, const std::string& right, const std::string& result,
                    const std::string& op) {
  return fmt::format(
      "HloModule one\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT c = {} {}\n}}\n", left, right,
      result, op);
}

int features_of(Rng& rng) {
  return one_of(rng, std::array{8,   16,  24,  32,  32,  48,  64,  64,  64,  80,  96,
                                128, 128, 160, 192, 256, 256, 320, 384, 512, 512, 768});
}

// Two spatial dimensions mostly; in JAX's order of dimensions or in PyTorch's.
Drawn draw_convolution(Rng& rng) {
  const bool flat = rng.below(8) == 0, jax = rng.below(4) != 0, same = rng.below(5) != 0;
  const int window = one_of(rng, std::array{1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 5, 5, 7}),
            stride = one_of(rng, std::array{1, 1, 1, 1, 2}),
            size = one_of(rng, flat ? std::array{16, 32, 50, 64, 100, 128, 200, 256, 400, 512, 1000, 1500}
                                    : std::array{4, 7, 8, 10, 14, 16, 20, 28, 32, 56, 64, 112}),
            images = one_of(rng, std::array{1, 1, 1, 2, 4, 8, 16}), in = rng.below(12) == 0 ? 3 : features_of(rng),
            out = rng.below(2) == 0 ? std::max(in, 8) : features_of(rng),
            wide = window == 1 || rng.below(12) != 0 ? window : 1, low = same ? (window - 1) / 2 : 0,
            high = same ? window / 2 : 0;
  const int rows = (size + low + high - window) / stride + 1;
  const int low2 = same ? (wide - 1) / 2 : 0, high2 = same ? wide / 2 : 0,
            columns = flat ? 1 : (size + low2 + high2 - wide) / stride + 1;
  const char* type = rng.below(12) == 0 ? "bf16" : "f32";
  Drawn drawn;
  if (rows < 1 || columns < 1) return drawn;
  drawn.flops = 2.0 * images * rows * columns * out * in * window * (flat ? 1 : wide);
  drawn.bytes = 4.0 * (1.0 * images * size * (flat ? 1 : size) * in + 1.0 * images * rows * columns * out);
  std::string left, right, result, numbers;
  if (flat) {
    left =
        jax ? fmt::format("{}[{},{},{}]", type, images, size, in) : fmt::format("{}[{},{},{}]", type, images, in, size);
    right =
        jax ? fmt::format("{}[{},{},{}]", type, window, in, out) : fmt::format("{}[{},{},{}]", type, out, in, window);
    result = jax ? fmt::format("{}[{},{},{}]", type, images, rows, out)
                 : fmt::format("{}[{},{},{}]", type, images, out, rows);
    numbers = fmt::format("window={{size={} stride={} pad={}_{}}}, dim_labels={}", window, stride, low, high,
                          jax ? "b0f_0io->b0f" : "bf0_oi0->bf0");
  } else {
    left = jax ? fmt::format("{}[{},{},{},{}]", type, images, size, size, in)
               : fmt::format("{}[{},{},{},{}]", type, images, in, size, size);
    right = jax ? fmt::format("{}[{},{},{},{}]", type, window, wide, in, out)
                : fmt::format("{}[{},{},{},{}]", type, out, in, window, wide);
    result = jax ? fmt::format("{}[{},{},{},{}]", type, images, rows, columns, out)
                 : fmt::format("{}[{},{},{},{}]", type, images, out, rows, columns);
    numbers = fmt::format("window={{size={}x{} stride={}x{} pad={}_{}x{}_{}}}, dim_labels={}", window, wide, stride,
                          stride, low, high, low2, high2, jax ? "b01f_01io->b01f" : "bf01_oi01->bf01");
  }
  drawn.text = program(left, right, result, "convolution(a, b), " + numbers);
  return drawn;
}

Drawn draw_dot(Rng& rng) {
  constexpr std::array kSizes = {64, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192};
  const int m = one_of(rng, std::array{1, 1, 1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 256, 512}), n = one_of(rng, kSizes),
            k = one_of(rng, kSizes);
  const bool transposed = rng.below(2) == 0, wide = rng.below(4) == 0;
  const char* type = rng.below(2) == 0 ? "f32" : "bf16";
  Drawn drawn{.text = {}, .flops = 2.0 * m * n * k, .bytes = 4.0 * n * k};
  drawn.text =
      program(fmt::format("{}[{},{}]", type, m, k),
              transposed ? fmt::format("{}[{},{}]", type, n, k) : fmt::format("{}[{},{}]", type, k, n),
              fmt::format("{}[{},{}]", wide ? "f32" : type, m, n),
              fmt::format("dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{}}}", transposed ? 1 : 0));
  return drawn;
}

std::string draw(Rng& rng) {
  for (;;) {
    const Drawn drawn = rng.below(3) == 0 ? draw_dot(rng) : draw_convolution(rng);
    if (drawn.fits()) return drawn.text;
  }
}

// What rows are made for, beside the operation.
struct Collection {
  nlohmann::json machine;
  std::string forms;  // between commas, all where empty
  std::ofstream out;

  bool has(const std::string& form) const {
    return forms.empty() || ("," + forms + ",").find("," + form + ",") != std::string::npos;
  }
};

void measure(tune::Session& session, int number, const Kernel& op, bool declared, Collection& rows) {
  for (size_t i = 1; i < op.dimension.options.size(); ++i) {
    // Only oneDNN keeps weights that are declared: of the other forms once is enough.
    if (!rows.has(op.dimension.options[i]) || (!declared && op.dimension.options[i] != kOneDnn)) continue;
    const tune::Measurement m = session.measure_kernel(op, op.dimension.options[i], kDuel);
    nlohmann::json row = rows.machine;
    row.update({{"number", number},
                {"operation", op.dimension.key},
                {"form", op.dimension.options[i]},
                {"constant", !op.under.empty()},
                {"declared", declared},
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
  std::string forms;
};

tune::Session session_of(const Request& request, std::vector<int> weights) {
  tune::SessionOptions options;
  options.target.weights = std::move(weights);
  options.target.max_isa = request.isa;
  options.target.threads = request.threads;
  return tune::Session(std::move(options));
}

void measure_one(tune::Session& session, const Request& request, int number, bool declared, Collection& rows) {
  Rng rng(request.seed * 1000003 + static_cast<uint64_t>(number));
  const std::string text = draw(rng);
  try {
    session.load(text, "generated");
    for (const Dimension& d : session.lower({}, false).dimensions) {
      if (!tune::is_alone(d)) continue;
      // Code that transforms weights takes most of the time to compile: of two convolutions one has it.
      const bool constant = belongs_to(FamilyId::DenseConvolution, d.kind, d.key) && declared && rows.has("winograd=4");
      if (!constant || number % 2 == 0) measure(session, number, tune::operation_alone(d, {}), declared, rows);
      if (constant) measure(session, number, tune::operation_alone(d, tune::as_constants({1})), declared, rows);
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
    if (i % 3 == 0) measure_one(undeclared, request, i, false, rows);
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
                            .l1_bytes = row.at("l1"),
                            .l2_bytes = row.at("l2"),
                            .l3_bytes = row.at("l3"),
                            .threads = row.at("threads")};
    const auto features = features::operation_features(
        *sizes, {.constant = row.at("constant"), .declared = row.value("declared", true)}, row.at("form"), cpu);
    if (!features) throw Error("no form of this operation", row.at("form"));
    row["features"] = *features;
    row["flops"] = sizes->flops();
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
                      .forms = argc > 7 ? argv[7] : ""});
    if (what == "encode" && argc > 2) return encode(argv[2]);
    if (what == "names") return fmt::print("{}\n", nlohmann::json(features::operation_feature_names()).dump()), 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  fmt::print(stderr,
             "usage: bench_operation_rows collect FILE COUNT [SEED] [ISA] [THREADS] [FORMS] | encode FILE | names\n");
  return 2;
}
