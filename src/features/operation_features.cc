#include "features/operation_features.h"

#include <algorithm>
#include <cmath>

#include "graph/decision_family.h"
#include "graph/winograd_form.h"

namespace hone::features {
namespace {

struct Form {
  bool onednn = false, few_rows = false, two_rows = false, shifted = false, products = false;
  bool split = false, gradient = false, kernel = false;  // by Winograd's method
  double tile = 0, strips = 1, saved = 1, wasted = 0, between_bytes = 0, transformed_bytes = 0;
  double parts = 1;  // convolutions that it is split into, or images of each
  // Of the operation's window.
  double stride = 1, dilation = 1, rows = 1, columns = 1, padding = 0;
  bool reversed = false;
};

double log2_of(double value) { return std::log2(1 + std::max(0.0, value)); }

double rest(double size) {
  constexpr double kLanes = 16;
  return std::fmod(size, kLanes) / kLanes;
}

// One spatial dimension of Winograd's method: what a tile of results takes by multiplications of each window, and how many tiles.
struct WinogradAxis {
  double results = 1, tile = 1, tiles = 1;
  double window = 1, reach = 1;   // multiplications of a tile directly are tile * window, by the method `reach`
  double inputs = 1, places = 1;  // transformed inputs; values of a transformed window
};

WinogradAxis axis_of(int64_t results, int64_t window, const WinogradForm& form) {
  WinogradAxis axis{.results = static_cast<double>(results)};
  axis.window = static_cast<double>(window);
  axis.tile = window == 1 ? 1 : form.tile;
  axis.tiles = std::ceil(axis.results / axis.tile);
  axis.reach = axis.places = axis.tile + axis.window - 1;
  axis.inputs = axis.tiles * axis.reach;
  return axis;
}

WinogradAxis plain_axis(const OperationSizes::Window& w, const WinogradForm& form) {
  return axis_of(w.out, w.size, form);
}

// The window takes the place of the result, which takes that of the window.
WinogradAxis gradient_axis(const OperationSizes::Window& w, const WinogradForm& form) {
  return axis_of(w.size, w.out, form);
}

// Of each remainder of a place by the stride a convolution of its own, or of each by the dilation images of their own.
WinogradAxis split_axis(const OperationSizes::Window& w, const WinogradForm& form) {
  if (w.dilation > 1) {
    OperationSizes::Window phase = w;
    phase.out = (w.out + w.dilation - 1) / w.dilation;
    WinogradAxis axis = plain_axis(phase, form);
    axis.results = static_cast<double>(w.out) / static_cast<double>(w.dilation);
    axis.inputs *= static_cast<double>(w.dilation);
    return axis;
  }
  WinogradAxis axis{.results = static_cast<double>(w.out)};
  axis.window = static_cast<double>(w.size);
  axis.tile = w.size <= w.stride ? 1 : form.tile;
  axis.tiles = std::ceil(axis.results / axis.tile);
  axis.reach = 0;
  for (int64_t phase = 0; phase < std::min(w.stride, w.size); ++phase) {
    const auto positions = static_cast<double>((w.size - phase + w.stride - 1) / w.stride);
    axis.reach += axis.tile + positions - 1;
  }
  axis.places = axis.reach;
  axis.inputs = axis.tiles * axis.reach;
  return axis;
}

void add_winograd(const OperationSizes& o, const WinogradForm& winograd, Form& form) {
  constexpr double kBytes = 4;  // its transforms are f32
  form.tile = winograd.tile;
  form.strips = winograd.strips;
  form.split = winograd.use == WinogradUse::Split;
  form.gradient = winograd.use == WinogradUse::Gradient;
  form.kernel = winograd.use == WinogradUse::Kernel;
  // Of a gradient the images are the features that are summed over, and the features are the images.
  const double images = form.gradient ? o.features : o.images, read = form.gradient ? o.images : o.features;
  double direct = 1, transformed = 1, results = 1, of_tiles = 1, inputs = images, places = 1;
  for (const OperationSizes::Window& w : o.windows) {
    const WinogradAxis axis = form.gradient ? gradient_axis(w, winograd)
                              : form.split  ? split_axis(w, winograd)
                                            : plain_axis(w, winograd);
    direct *= axis.tile * axis.window;
    transformed *= axis.reach;
    results *= axis.results;
    of_tiles *= axis.tiles * axis.tile;
    inputs *= axis.inputs;
    places *= axis.places;
    if (form.split) form.parts *= static_cast<double>(w.dilation > 1 ? w.dilation : std::min(w.stride, w.size));
  }
  form.saved = direct / transformed;
  form.wasted = of_tiles > 0 ? 1 - results / of_tiles : 0;
  form.between_bytes = kBytes * inputs * (read + o.n) / form.strips;
  form.transformed_bytes = kBytes * places * read * o.n;  // of a gradient, of its products
}

void add_window(const OperationSizes& o, Form& form) {
  if (o.windows.empty()) return;
  form.rows = static_cast<double>(o.windows.front().out);
  form.columns = static_cast<double>(o.windows.back().out);
  for (const OperationSizes::Window& w : o.windows) {
    form.stride = std::max(form.stride, static_cast<double>(w.stride));
    form.dilation = std::max(form.dilation, static_cast<double>(w.dilation));
    form.padding += static_cast<double>(w.low + w.high);
    form.reversed |= w.reversed;
  }
}

bool is_of_dot(const OperationSizes& o, const std::string& text, Form& form) {
  form.few_rows = text == kFewRows;
  form.two_rows = text == kF32ResultOfTwoRows;
  form.products = text == kProducts;
  if (form.onednn)
    return o.left_type == o.right_type && (o.left_type == "f32" || o.left_type == "f16" || o.left_type == "s8");
  if (form.products) return o.batch > 1;
  return form.few_rows || ((form.two_rows || text == kF32Result) && o.left_type == "bf16");
}

bool is_of_convolution(const OperationSizes& o, const std::string& text, Form& form) {
  form.shifted = text == kShifted;
  if (o.batch_groups > 1 || form.shifted) return form.shifted && (o.batch_groups > 1 || o.groups > 1);
  if (form.onednn) return o.left_type == "f32";
  const std::optional<WinogradForm> winograd = WinogradForm::parse(text);
  if (!winograd || o.groups > 1 || o.windows.size() > 2) return false;
  add_winograd(o, *winograd, form);
  return true;
}

// nullopt for what is no form of such an operation.
std::optional<Form> form_of(const OperationSizes& o, const std::string& text) {
  Form form;
  add_window(o, form);
  form.onednn = text == kOneDnn;
  const bool known = o.convolution ? is_of_convolution(o, text, form) : is_of_dot(o, text, form);
  return known ? std::optional(form) : std::nullopt;
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
