#include "decisions/winograd_forms.h"

#include <algorithm>

#include "decisions/window_slices.h"
#include "graph/winograd_form.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int kWinogradTiles[] = {4, 2, 6};
constexpr double kCacheBytes[] = {2e6, 0.6e6};  // of what lies between the transforms, for a strip
// Each is compiled and measured: a search has more use for the next convolution than for the last of nine forms. Beside kernels, which
// are faster in most convolutions, a few are for weights that are transformed on every run, and for programs without Hone.
constexpr size_t kMostWinogradForms = 4, kMostBesideKernels = 2;

bool is_plain(const xla::WindowDimension& d) {
  return d.stride() == 1 && d.window_dilation() == 1 && d.base_dilation() == 1;
}

}  // namespace

bool is_dense_convolution(const HloInstruction& op) {
  const auto floats = [](const HloInstruction* value) { return is_float(value->shape()); };
  return op.opcode() == HloOpcode::kConvolution && op.feature_group_count() == 1 && op.batch_group_count() == 1 &&
         floats(&op) && floats(op.operand(0)) && floats(op.operand(1)) && has_elements(op) &&
         (op.window().dimensions().size() == 1 || op.window().dimensions().size() == 2);
}

bool has_winograd(const HloInstruction& op) {
  if (!is_dense_convolution(op)) return false;
  const auto& windows = op.window().dimensions();
  if (!std::all_of(windows.begin(), windows.end(), is_plain)) return false;
  int64_t most = 1;
  for (const auto& w : windows) most = std::max(most, w.size());
  // Among them 1 x n, but neither 1 x 1 nor windows for which a tile of two is too large.
  return most > 1 && most < kMostWinogradInputs;
}

Axis axis_of(const HloInstruction& conv, int64_t i, int tile) {
  const auto& numbers = conv.convolution_dimension_numbers();
  const xla::WindowDimension& w = conv.window().dimensions(i);
  Axis axis{.in = size_of(conv.operand(0), numbers.input_spatial_dimensions(i)),
            .out = size_of(&conv, numbers.output_spatial_dimensions(i)),
            .window = w.size(),
            .low = w.padding_low(),
            .tile = w.size() == 1 ? 1 : tile,
            .reversed = w.window_reversal()};
  axis.reach = axis.tile + axis.window - 1;
  axis.tiles = (axis.out + axis.tile - 1) / axis.tile;
  return axis;
}

WinogradPlanAxis plan_axis(const Axis& axis) {
  return {.in = axis.in, .out = axis.out, .low = axis.low, .tile = axis.tile, .reach = axis.reach};
}

bool has_kernel(const HloInstruction& conv, int tile) {
  if (conv.shape().element_type() == xla::F64) return false;
  const int64_t rank = conv.window().dimensions_size();
  const Axis rows = rank == 2 ? axis_of(conv, 0, tile) : Axis{.matrices = {}}, columns = axis_of(conv, rank - 1, tile);
  return rows.low >= 0 && columns.low >= 0 && has_winograd_kernel(plan_axis(rows), plan_axis(columns));
}

bool fits(const HloInstruction& conv, int tile) {
  for (int64_t i = 0; i < conv.window().dimensions_size(); ++i)
    if (axis_of(conv, i, tile).reach > kMostWinogradInputs) return false;
  return true;
}

namespace {

// Of the transformed input and of the products.
double bytes_between(const HloInstruction& conv, int tile) {
  const auto& numbers = conv.convolution_dimension_numbers();
  double positions = static_cast<double>(size_of(&conv, numbers.output_batch_dimension()));
  for (int64_t i = 0; i < conv.window().dimensions_size(); ++i) {
    const Axis axis = axis_of(conv, i, tile);
    positions *= static_cast<double>(axis.tiles * axis.reach);
  }
  return 4 * positions *
         static_cast<double>(size_of(conv.operand(1), numbers.kernel_input_feature_dimension()) +
                             size_of(&conv, numbers.output_feature_dimension()));
}

// Seconds that a form takes on one core, for its place among the others: rates are those of one machine with AVX-512, only their
// proportions matter. Weights that are no constant are transformed on every run and read from memory.
double estimated_seconds(const HloInstruction& conv, const WinogradForm& form) {
  constexpr double kFlops = 110e9, kCached = 30e9, kUncached = 8e9, kWeights = 10e9, kCacheBytes = 3e6, kPasses = 4;
  const auto& numbers = conv.convolution_dimension_numbers();
  const double features = static_cast<double>(size_of(conv.operand(1), numbers.kernel_input_feature_dimension())),
               results = static_cast<double>(size_of(&conv, numbers.output_feature_dimension()));
  double reach = 1, window = 1;
  for (int64_t i = 0; i < conv.window().dimensions_size(); ++i) {
    const Axis axis = axis_of(conv, i, form.tile);
    reach *= static_cast<double>(axis.reach);
    window *= static_cast<double>(axis.window);
  }
  const double bytes = bytes_between(conv, form.tile), positions = bytes / (4 * (features + results));
  const bool transforms = conv.operand(1)->opcode() != HloOpcode::kConstant;
  return 2 * positions * features * results / kFlops +
         kPasses * bytes / (bytes / form.strips > kCacheBytes ? kUncached : kCached) +
         (transforms ? 4 * (window + 2 * reach) * features * results / kWeights : 0);
}

// By batch, or by rows of tiles.
int64_t most_strips(const HloInstruction& conv, int tile) {
  const int64_t batch = size_of(&conv, conv.convolution_dimension_numbers().output_batch_dimension());
  return std::max(batch, conv.window().dimensions_size() == 2 ? axis_of(conv, 0, tile).tiles : 1);
}

}  // namespace

std::vector<std::string> best_forms(std::vector<std::pair<double, std::string>> estimated) {
  std::stable_sort(estimated.begin(), estimated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (estimated.size() > kMostWinogradForms) estimated.resize(kMostWinogradForms);
  std::vector<std::string> forms;
  for (auto& [seconds, form] : estimated) forms.push_back(std::move(form));
  return forms;
}

std::vector<std::string> winograd_forms(const HloInstruction& op) {
  if (!has_winograd(op)) return {};
  const auto& numbers = op.convolution_dimension_numbers();
  if (size_of(op.operand(1), numbers.kernel_input_feature_dimension()) < kLeastWinogradFeatures ||
      size_of(&op, numbers.output_feature_dimension()) < kLeastWinogradFeatures)
    return {};
  std::vector<std::pair<double, std::string>> estimated;
  std::vector<std::string> kernels;
  for (int tile : kWinogradTiles) {
    if (!fits(op, tile)) continue;
    if (has_kernel(op, tile)) kernels.push_back(to_text(WinogradForm{.use = WinogradUse::Kernel, .tile = tile}));
    std::vector<int64_t> strips = {1};
    for (double bytes : kCacheBytes) {
      const auto count = static_cast<int64_t>(std::lround(bytes_between(op, tile) / bytes));
      if (count > strips.back()) strips.push_back(std::min(count, most_strips(op, tile)));
    }
    std::sort(strips.begin(), strips.end());
    strips.erase(std::unique(strips.begin(), strips.end()), strips.end());
    for (int64_t count : strips) {
      const WinogradForm form{.tile = tile, .strips = static_cast<int>(count)};
      estimated.emplace_back(estimated_seconds(op, form), to_text(form));
    }
  }
  std::vector<std::string> forms = best_forms(std::move(estimated));
  if (!kernels.empty() && forms.size() > kMostBesideKernels) forms.resize(kMostBesideKernels);
  forms.insert(forms.begin(), kernels.begin(), kernels.end());
  return forms;
}

double convolution_flops(const HloInstruction& conv) {
  const auto& numbers = conv.convolution_dimension_numbers();
  return 2.0 * static_cast<double>(ShapeUtil::ElementsIn(conv.shape())) *
         static_cast<double>(window_positions(conv.window())) *
         static_cast<double>(size_of(conv.operand(1), numbers.kernel_input_feature_dimension()));
}

}  // namespace hone::xla_side
