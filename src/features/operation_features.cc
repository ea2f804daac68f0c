#include "features/operation_features.h"

#include <algorithm>
#include <cmath>

#include "graph/decision_family.h"
#include "graph/winograd_form.h"

namespace hone::features {
namespace {

struct Form {
  bool onednn = false, few_rows = false, two_rows = false;
  double tile = 0, strips = 1, saved = 1, wasted = 0, between_bytes = 0, transformed_bytes = 0;
  // Of the operation's window.
  double stride = 1, dilation = 1, rows = 1, columns = 1, padding = 0;
};

double log2_of(double value) { return std::log2(1 + std::max(0.0, value)); }

double rest(double size) {
  constexpr double kLanes = 16;
  return std::fmod(size, kLanes) / kLanes;
}

void add_winograd(const OperationSizes& o, const WinogradForm& winograd, Form& form) {
  constexpr double kBytes = 4;  // its transforms are f32
  form.tile = winograd.tile;
  form.strips = winograd.strips;
  double direct = 1, transformed = 1, results = 1, of_tiles = 1, inputs = o.images;
  for (const OperationSizes::Window& w : o.windows) {
    const double tile = w.size == 1 ? 1 : winograd.tile, reach = tile + static_cast<double>(w.size) - 1,
                 tiles = std::ceil(static_cast<double>(w.out) / tile);
    direct *= tile * static_cast<double>(w.size);
    transformed *= reach;
    results *= static_cast<double>(w.out);
    of_tiles *= tiles * tile;
    inputs *= tiles * reach;
  }
  form.saved = direct / transformed;
  form.wasted = of_tiles > 0 ? 1 - results / of_tiles : 0;
  form.between_bytes = kBytes * inputs * (o.features + o.n) / form.strips;
  form.transformed_bytes = kBytes * transformed * o.features * o.n;
}

void add_window(const OperationSizes& o, Form& form) {
  if (o.windows.empty()) return;
  form.rows = static_cast<double>(o.windows.front().out);
  form.columns = static_cast<double>(o.windows.back().out);
  for (const OperationSizes::Window& w : o.windows) {
    form.stride = std::max(form.stride, static_cast<double>(w.stride));
    form.dilation = std::max(form.dilation, static_cast<double>(w.dilation));
    form.padding += static_cast<double>(w.low + w.high);
  }
}

std::optional<Form> form_of(const OperationSizes& o, const std::string& text) {
  Form form;
  add_window(o, form);
  form.onednn = text == kOneDnn;
  // The model was trained on f32 and bf16 only, not on weights of bytes or f16. Of dots of two bytes only those of f16 are computed by
  // oneDNN; those of few rows look like bf16's.
  if (!o.convolution && (o.right_bytes == 1 || (form.onednn && o.right_bytes != 4))) return std::nullopt;
  if (form.onednn) return form;
  if (!o.convolution) {
    form.few_rows = text == kFewRows;
    form.two_rows = text == kF32ResultOfTwoRows;
    return form.few_rows || form.two_rows || text == kF32Result ? std::optional(form) : std::nullopt;
  }
  const std::optional<WinogradForm> winograd = WinogradForm::parse(text);
  if (!winograd || winograd->use != WinogradUse::Plain) return std::nullopt;  // the model was not trained on other uses
  add_winograd(o, *winograd, form);
  return form;
}

}  // namespace

const std::vector<std::string>& operation_feature_names() {
  static const std::vector<std::string> names = {
#define NUMBER(name, value) #name,
#include "features/operation_features.def"
#undef NUMBER
  };
  return names;
}

std::optional<std::vector<float>> operation_features(const OperationSizes& o, const WeightsUse& use,
                                                     const std::string& text, const Cpu& c) {
  const std::optional<Form> form = form_of(o, text);
  if (!form) return std::nullopt;
  const Form& f = *form;
  return std::vector<float>{
#define NUMBER(name, value) static_cast<float>(value),
#include "features/operation_features.def"
#undef NUMBER
  };
}

}  // namespace hone::features
