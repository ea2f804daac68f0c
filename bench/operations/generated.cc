// Are the forms offered for convolutions and dots right? Draws operations over types and shapes (odd sizes, strides, dilation, groups,
// one to three spatial dimensions, any order of dimensions, sizes of zero), and measures every form of each by itself.
//
//   bench_operations COUNT [SEED] > rows.jsonl     one line for each form; a summary to stderr
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/rng.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

constexpr tune::Duel kOnce{.min_rounds = 1, .max_rounds = 3, .budget_ms = 5, .limit_s = 60};

// A number of `values`, each as often as it stands there.
template <size_t N>
int one_of(Rng& rng, const std::array<int, N>& values) {
  return values[rng.below(N)];
}

std::string type_of(Rng& rng) {
  constexpr std::array kTypes = {"f32", "f32", "f32", "bf16", "f16", "f64"};
  return kTypes[rng.below(kTypes.size())];
}

std::string array_of(const std::string& type, const std::vector<int>& sizes) {
  return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
}

// The sizes in the order that the labels name them in, from those by label.
std::vector<int> in_order(const std::string& labels, const std::map<char, int>& sizes) {
  std::vector<int> ordered;
  for (const char label : labels) ordered.push_back(sizes.at(label));
  return ordered;
}

std::string shuffled(Rng& rng, std::string labels) {
  if (rng.below(2) == 0) return labels;
  for (size_t i = labels.size() - 1; i > 0; --i) std::swap(labels[i], labels[rng.below(static_cast<int64_t>(i) + 1)]);
  return labels;
}

std::string program(const std::string& left, const std::string& right, const std::string& result,
                    const std::string& op) {
  return fmt::format(
      "HloModule one\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT c = {} {}\n}}\n", left, right,
      result, op);
}

std::string draw_convolution(Rng& rng) {
  const int spatial = one_of(rng, std::array{1, 2, 2, 2, 2, 3});
  const int groups = rng.below(8) == 0 ? one_of(rng, std::array{2, 4}) : 1;
  const int features = one_of(rng, std::array{0, 1, 3, 8, 8, 9, 16, 16, 24, 33}),
            results = groups * one_of(rng, std::array{0, 1, 4, 8, 8, 11, 16, 32});
  // A window nearly as large as the image and a batch of features, as gradients of weights have.
  const bool gradient = spatial < 3 && rng.below(5) == 0;
  const int batch = gradient ? one_of(rng, std::array{4, 8, 9}) : one_of(rng, std::array{1, 1, 1, 2, 3, 5});
  std::map<char, int> in = {{'b', batch}, {'f', features * groups}}, kernel = {{'i', features}, {'o', results}},
                      out = {{'b', batch}, {'f', results}};
  std::string sizes, strides, pads, dilations, reversals, digits;
  for (int i = 0; i < spatial; ++i) {
    const int size =
                  gradient ? 5 + static_cast<int>(rng.below(14)) : one_of(rng, std::array{1, 2, 3, 3, 3, 3, 5, 7, 9}),
              stride = gradient ? 1 : one_of(rng, std::array{1, 1, 1, 2, 2, 3}),
              dilation = gradient ? 1 : one_of(rng, std::array{1, 1, 1, 1, 1, 2, 3}),
              low = static_cast<int>(rng.below(5)) - 1, high = static_cast<int>(rng.below(5)) - 1,
              reach = (size - 1) * dilation + 1,
              length = reach +
                       static_cast<int>(rng.below(gradient       ? 4
                                                  : spatial == 3 ? 8
                                                                 : 24)) +
                       2;
    const char digit = static_cast<char>('0' + i);
    digits += digit;
    in[digit] = length;
    kernel[digit] = size;
    out[digit] = std::max(0, (length + low + high - reach) / stride + 1);
    const char* x = i > 0 ? "x" : "";
    sizes += fmt::format("{}{}", x, size);
    strides += fmt::format("{}{}", x, stride);
    pads += fmt::format("{}{}_{}", x, low, high);
    dilations += fmt::format("{}{}", x, dilation);
    reversals += fmt::format("{}{}", x, rng.below(4) == 0 ? 1 : 0);
  }
  const std::string il = shuffled(rng, "b" + digits + "f"), kl = shuffled(rng, digits + "io"),
                    ol = shuffled(rng, "b" + digits + "f"), type = type_of(rng);
  return program(array_of(type, in_order(il, in)), array_of(type, in_order(kl, kernel)),
                 array_of(type, in_order(ol, out)),
                 fmt::format("convolution(a, b), window={{size={} stride={} pad={} rhs_dilate={} rhs_reversal={}}}, "
                             "dim_labels={}_{}->{}, feature_group_count={}",
                             sizes, strides, pads, dilations, reversals, il, kl, ol, groups));
}

// b batch, m and n free, k contracted; each may be missing or, but for the batch, come twice.
std::string draw_dot(Rng& rng) {
  std::map<char, int> sizes;
  std::string batch, left, right, depth;
  const auto add = [&](std::string& to, char label, int most) {
    for (int i = 0; i < most; ++i, ++label) {
      sizes[label] = one_of(rng, std::array{0, 1, 1, 2, 3, 5, 8, 16, 17, 40, 64});
      to += label;
    }
  };
  add(batch, 'a', static_cast<int>(rng.below(3)));
  add(left, 'm', static_cast<int>(rng.below(3)));
  add(right, 's', static_cast<int>(rng.below(3)));
  add(depth, 'w', 1 + static_cast<int>(rng.below(2)));
  const std::string l = shuffled(rng, batch + left + depth), r = shuffled(rng, batch + depth + right), o = batch;
  std::string free_left, free_right;
  for (const char c : l)
    if (left.find(c) != std::string::npos) free_left += c;
  for (const char c : r)
    if (right.find(c) != std::string::npos) free_right += c;
  const auto places = [](const std::string& labels, const std::string& among) {
    std::vector<size_t> found;
    for (const char c : labels) found.push_back(among.find(c));
    return fmt::format("{}", fmt::join(found, ","));
  };
  const std::string type = rng.below(4) == 0 ? type_of(rng) : "bf16";
  return program(array_of(type, in_order(l, sizes)), array_of(type, in_order(r, sizes)),
                 array_of(type, in_order(o + free_left + free_right, sizes)),
                 fmt::format("dot(a, b), lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, "
                             "rhs_contracting_dims={{{}}}",
                             places(batch, l), places(batch, r), places(depth, l), places(depth, r)));
}

struct Totals {
  int operations = 0, refused = 0, without = 0, forms = 0;
  std::map<std::string, int> by_outcome;
};

void measure(tune::Session& session, const std::string& text, Totals& totals) {
  ++totals.operations;
  std::vector<Dimension> found;
  try {
    session.load(text, "generated");
    found = session.lower({}, false).dimensions;
  } catch (const Error&) {
    ++totals.refused;  // XLA itself does not take it
    return;
  }
  std::erase_if(found, [](const Dimension& d) { return d.kind != DecisionKind::Rewrite; });
  if (found.empty()) ++totals.without;
  for (const Dimension& d : found)
    for (size_t i = 1; i < d.options.size(); ++i) {
      const tune::Measurement m = tune::is_alone(d)
                                      ? session.measure_kernel(tune::operation_alone(d, {}), d.options[i], kOnce)
                                      : session.measure_program({{d.kind, d.key, d.options[i]}}, {}, kOnce);
      ++totals.forms;
      ++totals.by_outcome[outcome_name(m.outcome)];
      const nlohmann::json row = {
          {"operation", d.key},       {"form", d.options[i]}, {"outcome", outcome_name(m.outcome)},
          {"note", m.note},           {"error", m.error},     {"default_error", m.default_error},
          {"max_error", m.max_error}, {"ratio", m.ratio}};
      fmt::print("{}\n", row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 0;
  if (count < 1) {
    fmt::print(stderr, "usage: bench_operations COUNT [SEED]\n");
    return 2;
  }
  Rng rng(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  Totals totals;
  tune::Session session({});
  for (int i = 0; i < count; ++i) {
    const std::string text = rng.below(2) == 0 ? draw_convolution(rng) : draw_dot(rng);
    try {
      measure(session, text, totals);
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n{}\n", e.what(), text);
      return 1;
    }
  }
  fmt::print(stderr, "{} operations: XLA refuses {}, {} have no other form; {} forms\n", totals.operations,
             totals.refused, totals.without, totals.forms);
  for (const auto& [outcome, forms] : totals.by_outcome) fmt::print(stderr, "  {:<16}{:>8}\n", outcome, forms);
  return 0;
}
