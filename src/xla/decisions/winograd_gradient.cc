#include "decisions/winograd_gradient.h"

#include <algorithm>
#include <cmath>

#include "decisions/winograd_arithmetic.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr int kTilesOfWindow[] = {4, 2};       // 6 is slower, or refused by its error
constexpr double kStripBytes[] = {16e6, 6e6};  // of what lies between the transforms, for a strip

// One spatial dimension, whose window is cut into tiles.
struct Cut {
  int64_t in = 1, out = 1, window = 1, low = 0;  // sizes, padding before the first element
  int64_t tile = 1, reach = 1, tiles = 1;        // reach: inputs that a tile of the window meets
  bool reversed = false;
};

Cut cut_of(const HloInstruction& conv, int64_t i, int tile) {
  const auto& numbers = conv.convolution_dimension_numbers();
  const xla::WindowDimension& w = conv.window().dimensions(i);
  Cut cut{.in = size_of(conv.operand(0), numbers.input_spatial_dimensions(i)),
          .out = size_of(&conv, numbers.output_spatial_dimensions(i)),
          .window = w.size(),
          .low = w.padding_low(),
          .reversed = w.window_reversal()};
  // Of one result there is nothing to save.
  cut.tile = cut.out == 1 ? 1 : tile;
  cut.reach = cut.tile + cut.out - 1;
  cut.tiles = (cut.window + cut.tile - 1) / cut.tile;
  return cut;
}

// A window that is merely larger than its result may be that of a forward convolution of a small image: 3 x 3 over 2 x 2, padded.
bool is_gradient(const HloInstruction& op) {
  if (!is_dense_convolution(op)) return false;
  const auto& windows = op.window().dimensions();
  bool several = false;
  for (int64_t i = 0; i < static_cast<int64_t>(windows.size()); ++i) {
    const auto& w = windows[i];
    const int64_t out = size_of(&op, op.convolution_dimension_numbers().output_spatial_dimensions(i));
    if (w.stride() != 1 || w.window_dilation() != 1 || w.base_dilation() != 1 || (out > 1 && w.size() < 2 * out))
      return false;
    several |= out > 1;
  }
  return several;
}

// Arrays between have the dimensions images, rows, columns, features. Images are the feature dimension of the convolution as it is
// written; features are the batch of its input and the output features of its window. One spatial dimension counts as columns of one row.
class WinogradGradient : WinogradArithmetic {
 public:
  WinogradGradient(HloInstruction* conv, const WinogradForm& form)
      : WinogradArithmetic(conv),
        conv_(conv),
        numbers_(conv->convolution_dimension_numbers()),
        strips_(form.strips),
        images_(size_of(conv->operand(1), numbers_.kernel_input_feature_dimension())),
        features_(size_of(conv, numbers_.output_batch_dimension())),
        results_(size_of(conv, numbers_.output_feature_dimension())) {
    const int64_t rank = conv->window().dimensions_size();
    if (rank == 2) rows_ = cut_of(*conv, 0, form.tile);
    columns_ = cut_of(*conv, rank - 1, form.tile);
    by_row_ = winograd_matrices(static_cast<int>(rows_.out), static_cast<int>(rows_.tile));
    by_column_ = winograd_matrices(static_cast<int>(columns_.out), static_cast<int>(columns_.tile));
  }

  HloInstruction* build() {
    HloInstruction *input = padded_input(), *window = padded_window(), *sum = nullptr;
    const bool by_image = images_ >= strips_;
    const int64_t whole = by_image ? images_ : rows_.tiles, count = std::min<int64_t>(strips_, whole);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t from = n * whole / count, to = (n + 1) * whole / count;
      HloInstruction *of_input = input, *of_window = window;
      if (by_image) {
        of_input = every(input, 0, from, to - from, 1);
        of_window = every(window, 0, from, to - from, 1);
      } else {
        of_input = every(input, 1, from * rows_.tile, (to - from) * rows_.tile + rows_.out - 1, 1);
        of_window = every(window, 1, from * rows_.tile, (to - from) * rows_.tile, 1);
      }
      HloInstruction* products = strip(of_input, of_window, by_image ? rows_.tiles : to - from);
      // Added at once: otherwise the products of all strips exist together.
      sum = sum == nullptr ? products : with_barrier(binary(HloOpcode::kAdd, sum, products));
    }
    return as_type(result(sum), conv_->shape().element_type());
  }

 private:
  HloInstruction* padded_input() {
    HloInstruction* input = transposed(as_type(conv_->mutable_operand(0), type_),
                                       order_of(numbers_.input_feature_dimension(), numbers_.input_spatial_dimensions(),
                                                {numbers_.input_batch_dimension()}));
    return padded_to(reshaped(input, {images_, rows_.in, columns_.in, features_}), rows_.low,
                     rows_.tiles * rows_.tile + rows_.out - 1, columns_.low,
                     columns_.tiles * columns_.tile + columns_.out - 1);
  }

  HloInstruction* padded_window() {
    HloInstruction* window =
        transposed(as_type(conv_->mutable_operand(1), type_),
                   order_of(numbers_.kernel_input_feature_dimension(), numbers_.kernel_spatial_dimensions(),
                            {numbers_.kernel_output_feature_dimension()}));
    window = reshaped(window, {images_, rows_.window, columns_.window, results_});
    Sizes reversed;
    if (rows_.reversed) reversed.push_back(1);
    if (columns_.reversed) reversed.push_back(2);
    if (!reversed.empty()) window = add(HloInstruction::CreateReverse(window->shape(), window, reversed));
    return padded_to(window, 0, rows_.tiles * rows_.tile, 0, columns_.tiles * columns_.tile);
  }

  // The tiles, transformed: position in a tile, tile, feature. `by_row`, `by_column`: a row for each position that is transformed to.
  HloInstruction* tiles(HloInstruction* value, int64_t tile_rows, const Matrix& by_row, const Matrix& by_column) {
    std::vector<HloInstruction*> lines, positions;
    for (size_t i = 0; i < by_row[0].size(); ++i)
      lines.push_back(every(value, 1, static_cast<int64_t>(i), tile_rows, rows_.tile));
    HloInstruction* rows = with_barrier(transformed(by_row, lines, 0));
    for (size_t j = 0; j < by_column[0].size(); ++j)
      positions.push_back(every(rows, 3, static_cast<int64_t>(j), columns_.tiles, columns_.tile));
    HloInstruction* all = transformed(by_column, positions, 0);
    const Sizes sizes = sizes_of(all);
    return reshaped(all, {sizes[0] * sizes[1], sizes[2] * sizes[3] * sizes[4], sizes[5]});
  }

  // Products of all features of the input and of the window, summed over the tiles of some images or rows.
  HloInstruction* strip(HloInstruction* input, HloInstruction* window, int64_t tile_rows) {
    HloInstruction* left = tiles(input, tile_rows, by_row_.bt, by_column_.bt);
    HloInstruction* right = tiles(window, tile_rows, by_row_.g, by_column_.g);
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_batch_dimensions(0);
    numbers.add_rhs_batch_dimensions(0);
    numbers.add_lhs_contracting_dimensions(1);
    numbers.add_rhs_contracting_dimensions(1);
    return add(HloInstruction::CreateDot(shape({size_of(left, 0), features_, results_}), left, right, numbers,
                                         conv_->precision_config()));
  }

  // From positions of tiles, features, results to the convolution's order.
  HloInstruction* result(HloInstruction* products) {
    products = reshaped(products, {columns_.reach, rows_.reach, features_, results_});
    HloInstruction* columns = with_barrier(transformed(by_column_.at, split(products), 0));
    HloInstruction* all = transformed(by_row_.at, split(columns, 1), 0);
    const int64_t rank = conv_->window().dimensions_size();
    Sizes sizes = {columns_.out, features_, results_}, order(rank + 2);
    if (rank == 2) sizes.insert(sizes.begin(), rows_.out);
    for (int64_t i = 0; i < rank; ++i) order[numbers_.output_spatial_dimensions(i)] = i;
    order[numbers_.output_batch_dimension()] = rank;
    order[numbers_.output_feature_dimension()] = rank + 1;
    return transposed(reshaped(all, sizes), order);
  }

  HloInstruction* conv_;
  const xla::ConvolutionDimensionNumbers& numbers_;
  int64_t strips_, images_, features_, results_;
  Cut rows_, columns_;
  WinogradMatrices by_row_, by_column_;
};

struct Work {
  double flops = 2, bytes = 4;  // of the products, of what they read
};

Work work_of(const HloInstruction& conv, int tile) {
  const auto& numbers = conv.convolution_dimension_numbers();
  const auto features = static_cast<double>(size_of(&conv, numbers.output_batch_dimension())),
             results = static_cast<double>(size_of(&conv, numbers.output_feature_dimension()));
  auto positions = static_cast<double>(size_of(conv.operand(1), numbers.kernel_input_feature_dimension()));
  for (int64_t i = 0; i < conv.window().dimensions_size(); ++i) {
    const Cut cut = cut_of(conv, i, tile);
    positions *= static_cast<double>(cut.tiles * cut.reach);
  }
  return {2 * positions * features * results, 4 * positions * (features + results)};
}

// Only proportions matter, as for other convolutions (winograd_forms.cc).
double estimated_seconds(const HloInstruction& conv, int tile, int64_t strips) {
  constexpr double kFlops = 90e9, kCached = 20e9, kUncached = 8e9, kCache = 16e6, kPasses = 4;
  const auto& numbers = conv.convolution_dimension_numbers();
  const Work work = work_of(conv, tile);
  double products = 4 * static_cast<double>(size_of(&conv, numbers.output_batch_dimension()) *
                                            size_of(&conv, numbers.output_feature_dimension()));
  for (int64_t i = 0; i < conv.window().dimensions_size(); ++i)
    products *= static_cast<double>(cut_of(conv, i, tile).reach);
  return work.flops / kFlops +
         kPasses * work.bytes / (work.bytes / static_cast<double>(strips) > kCache ? kUncached : kCached) +
         3 * static_cast<double>(strips) * products / kUncached;
}

}  // namespace

bool has_gradient(const HloInstruction& op, int tile) {
  if (!is_gradient(op)) return false;
  for (int64_t i = 0; i < op.window().dimensions_size(); ++i)
    if (cut_of(op, i, tile).reach > kMostWinogradInputs) return false;
  return true;
}

std::vector<std::string> gradient_forms(const HloInstruction& op) {
  if (!is_gradient(op)) return {};
  const auto& numbers = op.convolution_dimension_numbers();
  if (size_of(&op, numbers.output_batch_dimension()) < kLeastWinogradFeatures ||
      size_of(&op, numbers.output_feature_dimension()) < kLeastWinogradFeatures)
    return {};
  const int64_t images = size_of(op.operand(1), numbers.kernel_input_feature_dimension());
  std::vector<std::pair<double, std::string>> estimated;
  for (const int tile : kTilesOfWindow) {
    if (!has_gradient(op, tile)) continue;
    const int64_t most = std::max(images, op.window().dimensions_size() == 2 ? cut_of(op, 0, tile).tiles : int64_t{1});
    std::vector<int64_t> strips = {1};
    for (const double bytes : kStripBytes) {
      const auto count = std::min(static_cast<int64_t>(std::lround(work_of(op, tile).bytes / bytes)), most);
      if (count > strips.back()) strips.push_back(count);
    }
    for (const int64_t count : strips)
      estimated.emplace_back(
          estimated_seconds(op, tile, count),
          to_text(WinogradForm{.use = WinogradUse::Gradient, .tile = tile, .strips = static_cast<int>(count)}));
  }
  return best_forms(std::move(estimated));
}

HloInstruction* winograd_gradient(HloInstruction* conv, const WinogradForm& form) {
  return WinogradGradient(conv, form).build();
}

}  // namespace hone::xla_side
