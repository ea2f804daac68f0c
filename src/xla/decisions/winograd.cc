#include "decisions/winograd.h"

#include <algorithm>
#include <numeric>

#include "decisions/winograd_arithmetic.h"
#include "decisions/winograd_kernel.h"
#include "graph/winograd_form.h"
#include "status.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;
using xla::ShapeUtil;

// Builds the arithmetic that replaces one convolution, in the convolution's computation. Values between have the dimensions
// batch, rows, columns, features; one spatial dimension counts as columns of one row.
class WinogradConvolution : WinogradArithmetic {
 public:
  WinogradConvolution(HloInstruction* conv, WinogradForm form)
      : WinogradArithmetic(conv),
        conv_(conv),
        numbers_(conv->convolution_dimension_numbers()),
        form_(form),
        batch_(size_of(conv, numbers_.output_batch_dimension())),
        features_(size_of(conv->operand(1), numbers_.kernel_input_feature_dimension())),
        results_(size_of(conv, numbers_.output_feature_dimension())) {
    const int64_t rank = conv->window().dimensions_size();
    if (rank == 2) rows_ = axis_of(*conv, 0, form.tile);
    columns_ = axis_of(*conv, rank - 1, form.tile);
    for (Axis* axis : {&rows_, &columns_})
      axis->matrices = winograd_matrices(static_cast<int>(axis->tile), static_cast<int>(axis->window));
  }

  HloInstruction* build() {
    weights_ = weights();
    if (form_.use == WinogradUse::Kernel) return by_kernel();
    HloInstruction* input = padded_input();
    std::vector<HloInstruction*> strips;
    const bool by_batch = batch_ >= form_.strips;
    const int64_t whole = by_batch ? batch_ : rows_.tiles, count = std::min<int64_t>(form_.strips, whole);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t from = n * whole / count, to = (n + 1) * whole / count;
      const Sizes& sizes = sizes_of(input);
      Sizes start(4, 0), end = sizes;
      if (by_batch) {
        start[0] = from, end[0] = to;
      } else {
        start[1] = from * rows_.tile, end[1] = to * rows_.tile + rows_.window - 1;
      }
      strips.push_back(
          strip(slice(input, start, end), by_batch ? to - from : batch_, by_batch ? rows_.tiles : to - from));
    }
    HloInstruction* result =
        slice(concatenated(strips, by_batch ? 0 : 1), {0, 0, 0, 0}, {batch_, rows_.out, columns_.out, results_});
    return as_type(ordered(result), conv_->shape().element_type());
  }

 private:
  HloInstruction* by_kernel() {
    const WinogradPlan plan{batch_, features_, results_, plan_axis(rows_), plan_axis(columns_)};
    HloInstruction* result = winograd_call(plan, ordered_input(), in_panels());
    return as_type(ordered(result), conv_->shape().element_type());
  }

  // ---- operands and result

  HloInstruction* ordered_input() {
    HloInstruction* input = as_type(conv_->mutable_operand(0), type_);
    input = transposed(input, order_of(numbers_.input_batch_dimension(), numbers_.input_spatial_dimensions(),
                                       {numbers_.input_feature_dimension()}));
    return reshaped(input, {batch_, rows_.in, columns_.in, features_});
  }

  HloInstruction* padded_input() {
    return padded_to(ordered_input(), rows_.low, rows_.tiles * rows_.tile + rows_.window - 1, columns_.low,
                     columns_.tiles * columns_.tile + columns_.window - 1);
  }

  // From batch, rows, columns, features to the convolution's order.
  HloInstruction* ordered(HloInstruction* result) {
    const int64_t rank = conv_->window().dimensions_size();
    Sizes sizes = {batch_, columns_.out, results_}, order(rank + 2);
    if (rank == 2) sizes.insert(sizes.begin() + 1, rows_.out);
    order[numbers_.output_batch_dimension()] = 0;
    for (int64_t i = 0; i < rank; ++i) order[numbers_.output_spatial_dimensions(i)] = i + 1;
    order[numbers_.output_feature_dimension()] = rank + 1;
    return transposed(reshaped(result, sizes), order);
  }

  // ---- the transforms

  // Of all tiles' inputs by each of their positions: column, row, features, results.
  HloInstruction* weights() {
    HloInstruction* kernel = conv_->mutable_operand(1);
    if (kernel->opcode() == HloOpcode::kConstant) return constant_weights(kernel->literal());
    kernel =
        transposed(as_type(kernel, type_),
                   order_of(-1, numbers_.kernel_spatial_dimensions(),
                            {numbers_.kernel_input_feature_dimension(), numbers_.kernel_output_feature_dimension()}));
    kernel = reshaped(kernel, {rows_.window, columns_.window, features_, results_});
    Sizes reversed;
    if (rows_.reversed) reversed.push_back(0);
    if (columns_.reversed) reversed.push_back(1);
    if (!reversed.empty()) kernel = add(HloInstruction::CreateReverse(kernel->shape(), kernel, reversed));
    std::vector<HloInstruction*> columns;
    HloInstruction* by_row = transformed(rows_.matrices.g, split(kernel), 0);
    for (int64_t k = 0; k < columns_.window; ++k)
      columns.push_back(reshaped(every(by_row, 1, k, 1, 1), {rows_.reach, features_, results_}));
    return reshaped(transformed(columns_.matrices.g, columns, 0), {columns_.reach * rows_.reach, features_, results_});
  }

  HloInstruction* constant_weights(const xla::Literal& given) {
    const xla::Literal weights = take(given.Convert(xla::F64), "weights");
    xla::Literal result(ShapeUtil::MakeShape(xla::F64, {columns_.reach * rows_.reach, features_, results_}));
    const bool two = conv_->window().dimensions_size() == 2;
    const Sizes widths = sizes_of(conv_->operand(1));
    Sizes at(widths.size());
    double* out = result.data<double>().data();
    std::fill(out, out + result.element_count(), 0.0);
    for (int64_t k = 0; k < rows_.window; ++k)
      for (int64_t l = 0; l < columns_.window; ++l) {
        if (two) at[numbers_.kernel_spatial_dimensions(0)] = rows_.reversed ? rows_.window - 1 - k : k;
        at[numbers_.kernel_spatial_dimensions(two ? 1 : 0)] = columns_.reversed ? columns_.window - 1 - l : l;
        add_position(weights, k, l, at, out);
      }
    return add(HloInstruction::CreateConstant(take(result.Convert(type_), "weights")));
  }

  // Adds what the weights of one window position are worth to all positions of the tile.
  void add_position(const xla::Literal& weights, int64_t k, int64_t l, Sizes at, double* out) const {
    std::vector<double> values(features_ * results_);
    for (int64_t f = 0; f < features_; ++f)
      for (int64_t r = 0; r < results_; ++r) {
        at[numbers_.kernel_input_feature_dimension()] = f;
        at[numbers_.kernel_output_feature_dimension()] = r;
        values[f * results_ + r] = weights.Get<double>(at);
      }
    for (int64_t j = 0; j < columns_.reach; ++j)
      for (int64_t i = 0; i < rows_.reach; ++i) {
        const double factor = columns_.matrices.g[j][l] * rows_.matrices.g[i][k];
        double* to = out + (j * rows_.reach + i) * static_cast<int64_t>(values.size());
        for (size_t n = 0; factor != 0 && n < values.size(); ++n) to[n] += factor * values[n];
      }
  }

  // Position, panel, features, results of the panel; those that are missing in the last panel are 0.
  HloInstruction* in_panels() {
    const int64_t reach = columns_.reach * rows_.reach, panels = (results_ + kWinogradPanel - 1) / kWinogradPanel;
    const Sizes sizes = {reach, panels, features_, kWinogradPanel};
    if (weights_->opcode() != HloOpcode::kConstant) {
      HloInstruction* whole = padded_results(weights_, panels * kWinogradPanel);
      return transposed(reshaped(whole, {reach, features_, panels, kWinogradPanel}), {0, 2, 1, 3});
    }
    xla::Literal literal = xla::Literal::CreateFromShape(ShapeUtil::MakeShape(xla::F32, sizes));  // zeros
    const float* from = weights_->literal().data<float>().data();
    float* to = literal.data<float>().data();
    for (int64_t row = 0; row < reach * features_; ++row)
      for (int64_t r = 0; r < results_; ++r) {
        const int64_t panel = row / features_ * panels + r / kWinogradPanel;
        to[(panel * features_ + row % features_) * kWinogradPanel + r % kWinogradPanel] = from[row * results_ + r];
      }
    return add(HloInstruction::CreateConstant(std::move(literal)));
  }

  HloInstruction* padded_results(HloInstruction* weights, int64_t count) {
    if (count == results_) return weights;
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(3);
    padding.mutable_dimensions(2)->set_edge_padding_high(count - results_);
    HloInstruction* zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_)));
    return add(HloInstruction::CreatePad(shape({size_of(weights, 0), features_, count}), weights, zero, padding));
  }

  // Results of some images or some rows of tiles, from the inputs that these need.
  HloInstruction* strip(HloInstruction* input, int64_t batch, int64_t tile_rows) {
    const int64_t tiles = batch * tile_rows * columns_.tiles, reach = rows_.reach * columns_.reach;
    std::vector<HloInstruction*> lines, positions;
    for (int64_t i = 0; i < rows_.reach; ++i) lines.push_back(every(input, 1, i, tile_rows, rows_.tile));
    HloInstruction* by_row = with_barrier(transformed(rows_.matrices.bt, lines, 0));
    for (int64_t j = 0; j < columns_.reach; ++j)
      positions.push_back(every(by_row, 3, j, columns_.tiles, columns_.tile));
    HloInstruction* inputs = transformed(columns_.matrices.bt, positions, 0);
    HloInstruction* products = batched_dot(reshaped(inputs, {reach, tiles, features_}));
    products = reshaped(products, {columns_.reach, rows_.reach, batch, tile_rows, columns_.tiles, results_});
    HloInstruction* by_column = transformed(columns_.matrices.at, split(products), 4);
    by_column =
        reshaped(with_barrier(by_column), {rows_.reach, batch, tile_rows, columns_.tiles * columns_.tile, results_});
    HloInstruction* results = transformed(rows_.matrices.at, split(by_column), 2);
    return reshaped(results, {batch, tile_rows * rows_.tile, columns_.tiles * columns_.tile, results_});
  }

  HloInstruction* batched_dot(HloInstruction* inputs) {
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_batch_dimensions(0);
    numbers.add_rhs_batch_dimensions(0);
    numbers.add_lhs_contracting_dimensions(2);
    numbers.add_rhs_contracting_dimensions(1);
    return add(HloInstruction::CreateDot(shape({size_of(inputs, 0), size_of(inputs, 1), results_}), inputs, weights_,
                                         numbers, conv_->precision_config()));
  }

  HloInstruction* conv_;
  const xla::ConvolutionDimensionNumbers& numbers_;
  WinogradForm form_;
  int64_t batch_, features_, results_;
  Axis rows_ = {.matrices = {}}, columns_;
  HloInstruction* weights_ = nullptr;
};

}  // namespace

HloInstruction* winograd_convolution(HloInstruction* conv, const std::string& text) {
  const std::optional<WinogradForm> form = WinogradForm::parse(text);
  const bool is_plain = form && (form->use == WinogradUse::Plain || form->use == WinogradUse::Kernel);
  if (!is_plain || !has_winograd(*conv) || !fits(*conv, form->tile) ||
      (form->use == WinogradUse::Kernel && !has_kernel(*conv, form->tile)))
    throw Error("no form '" + text + "' of this convolution", std::string(conv->name()),
                "winograd=4, winograd=4;strips=2, or kernel-winograd=4");
  return WinogradConvolution(conv, *form).build();
}

}  // namespace hone::xla_side
