#include "graph/operation_key.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include "graph/decision_family.h"

namespace hone {
namespace {

constexpr std::string_view kArrow = "->";

// The parts between separators; "" has one.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Array {
  std::string type = "f32";
  int bytes = 4;
  std::vector<int64_t> sizes;
  double elements() const {
    return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                           [](double all, int64_t size) { return all * static_cast<double>(size); });
  }
  bool has(int64_t dimension) const { return dimension >= 0 && dimension < std::ssize(sizes); }
};

// "f32[1,56,56,64]"
std::optional<Array> array_of(std::string_view text) {
  static const std::map<std::string_view, int> kBytes = {{"s8", 1},  {"u8", 1},  {"bf16", 2}, {"f16", 2},
                                                         {"f32", 4}, {"s32", 4}, {"f64", 8}};
  const size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') return std::nullopt;
  const auto type = kBytes.find(text.substr(0, open));
  if (type == kBytes.end()) return std::nullopt;
  Array array{.type = std::string(type->first), .bytes = type->second, .sizes = {}};
  const std::string_view sizes = text.substr(open + 1, text.size() - open - 2);
  if (sizes.empty()) return array;
  for (const std::string_view part : parts_of(sizes, ",")) {
    const std::optional<int64_t> size = number(part);
    if (!size || *size < 0) return std::nullopt;
    array.sizes.push_back(*size);
  }
  return array;
}

struct Arrays {
  Array left, right, result;
};

// "LEFT*RIGHT->RESULT"
std::optional<Arrays> arrays_of(std::string_view text) {
  const size_t star = text.find('*'), arrow = text.find(kArrow);
  if (star == std::string_view::npos || arrow == std::string_view::npos || star > arrow) return std::nullopt;
  const std::optional<Array> left = array_of(text.substr(0, star)),
                             right = array_of(text.substr(star + 1, arrow - star - 1)),
                             result = array_of(text.substr(arrow + kArrow.size()));
  if (!left || !right || !result) return std::nullopt;
  return Arrays{*left, *right, *result};
}

void set_elements(const Arrays& arrays, OperationSizes& sizes) {
  sizes.left_type = arrays.left.type;
  sizes.right_type = arrays.right.type;
  sizes.left_bytes = arrays.left.bytes;
  sizes.right_bytes = arrays.right.bytes;
  sizes.result_bytes = arrays.result.bytes;
  sizes.left_elements = arrays.left.elements();
  sizes.right_elements = arrays.right.elements();
  sizes.result_elements = arrays.result.elements();
}

// ---- convolutions

// The place of a label, -1 if it is missing.
int64_t place(std::string_view labels, char label) {
  const size_t at = labels.find(label);
  return at == std::string_view::npos ? -1 : static_cast<int64_t>(at);
}

using Windows = std::vector<OperationSizes::Window>;

// "pad=1_1x0_2": `set` gets the number of the dimension and its part of the value.
bool each_dimension(std::string_view value, Windows& windows,
                    const std::function<bool(OperationSizes::Window&, std::string_view)>& set) {
  const std::vector<std::string_view> parts = parts_of(value, "x");
  if (parts.size() != windows.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!set(windows[i], parts[i])) return false;
  return true;
}

bool set_number(std::string_view part, int64_t& to) {
  const std::optional<int64_t> value = number(part);
  if (value) to = *value;
  return value.has_value();
}

bool set_padding(OperationSizes::Window& window, std::string_view part) {
  const std::vector<std::string_view> sides = parts_of(part, "_");
  return sides.size() == 2 && set_number(sides[0], window.low) && set_number(sides[1], window.high);
}

// "size=3x3 stride=2x2 pad=1_1x1_1 rhs_dilate=1x1", each part but the size may be missing.
bool read_window(std::string_view text, Windows& windows) {
  using Window = OperationSizes::Window;
  for (const std::string_view part : parts_of(text, " ")) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return part.empty();
    const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
    bool read = true;
    if (name == "size")
      read = each_dimension(value, windows, [](Window& w, std::string_view p) { return set_number(p, w.size); });
    else if (name == "stride")
      read = each_dimension(value, windows, [](Window& w, std::string_view p) { return set_number(p, w.stride); });
    else if (name == "rhs_dilate")
      read = each_dimension(value, windows, [](Window& w, std::string_view p) { return set_number(p, w.dilation); });
    else if (name == "pad")
      read = each_dimension(value, windows, set_padding);
    else if (name == "rhs_reversal")
      read = each_dimension(value, windows, [](Window& w, std::string_view p) { return w.reversed = p == "1", true; });
    if (!read) return false;
  }
  return true;
}

// "groups 4" or "batch groups 4".
bool read_groups(std::string_view text, OperationSizes& sizes) {
  constexpr std::string_view kOfBatch = "batch ", kGroups = "groups ";
  double& groups = text.starts_with(kOfBatch) ? sizes.batch_groups : sizes.groups;
  if (text.starts_with(kOfBatch)) text.remove_prefix(kOfBatch.size());
  if (!text.starts_with(kGroups)) return false;
  const std::optional<int64_t> count = number(text.substr(kGroups.size()));
  if (count) groups = static_cast<double>(*count);
  return count && *count > 0;
}

// SHAPES:b01f_01io->b01f:WINDOW, and for some :groups N
std::optional<OperationSizes> convolution_sizes(std::string_view key) {
  const std::vector<std::string_view> parts = parts_of(key, ":");
  if (parts.size() < 3) return std::nullopt;
  const std::optional<Arrays> arrays = arrays_of(parts[0]);
  const size_t under = parts[1].find('_'), arrow = parts[1].find(kArrow);
  if (!arrays || under == std::string_view::npos || arrow == std::string_view::npos) return std::nullopt;
  const std::string_view left = parts[1].substr(0, under), right = parts[1].substr(under + 1, arrow - under - 1),
                         result = parts[1].substr(arrow + kArrow.size());
  OperationSizes sizes;
  sizes.convolution = true;
  set_elements(*arrays, sizes);
  const int64_t images = place(left, 'b'), features = place(left, 'f'), from = place(right, 'i'),
                to = place(right, 'o');
  if (!arrays->left.has(images) || !arrays->left.has(features) || !arrays->right.has(from) || !arrays->right.has(to))
    return std::nullopt;
  sizes.images = static_cast<double>(arrays->left.sizes[images]);
  sizes.features = static_cast<double>(arrays->right.sizes[from]);
  sizes.n = static_cast<double>(arrays->right.sizes[to]);
  sizes.features_minor = features + 1 == std::ssize(arrays->left.sizes);
  sizes.results_minor = to + 1 == std::ssize(arrays->right.sizes);
  for (char digit = '0'; place(left, digit) >= 0; ++digit) {
    const int64_t in = place(left, digit), out = place(result, digit);
    if (!arrays->left.has(in) || !arrays->result.has(out)) return std::nullopt;
    sizes.windows.push_back({.in = arrays->left.sizes[in], .out = arrays->result.sizes[out]});
  }
  if (!read_window(parts[2], sizes.windows)) return std::nullopt;
  if (parts.size() > 3 && !read_groups(parts[3], sizes)) return std::nullopt;
  sizes.k = sizes.features * sizes.positions();
  sizes.m = sizes.n > 0 ? sizes.result_elements / sizes.n : 0;
  return sizes;
}

// ---- dots

// "{0,1}" behind `name` and "=".
std::optional<std::vector<int64_t>> dimensions_of(std::string_view text, const std::string& name) {
  const size_t at = text.find(name + "={");
  if (at == std::string_view::npos) return std::vector<int64_t>();
  const size_t open = at + name.size() + 2, close = text.find('}', open);
  if (close == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> dimensions;
  if (open == close) return dimensions;
  for (const std::string_view part : parts_of(text.substr(open, close - open), ",")) {
    const std::optional<int64_t> dimension = number(part);
    if (!dimension) return std::nullopt;
    dimensions.push_back(*dimension);
  }
  return dimensions;
}

std::optional<double> product_of(const Array& array, const std::optional<std::vector<int64_t>>& dimensions) {
  if (!dimensions) return std::nullopt;
  double product = 1;
  for (const int64_t d : *dimensions) {
    if (!array.has(d)) return std::nullopt;
    product *= static_cast<double>(array.sizes[d]);
  }
  return product;
}

// SHAPES:lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
std::optional<OperationSizes> dot_sizes(std::string_view key) {
  const size_t colon = key.find(':');
  const std::optional<Arrays> arrays = arrays_of(key.substr(0, colon));
  if (!arrays || colon == std::string_view::npos) return std::nullopt;
  const std::string_view numbers = key.substr(colon + 1);
  const auto contracted = dimensions_of(numbers, "rhs_contracting_dims"),
             of_left = dimensions_of(numbers, "lhs_contracting_dims");
  const std::optional<double> batch = product_of(arrays->left, dimensions_of(numbers, "lhs_batch_dims")),
                              depth = product_of(arrays->right, contracted);
  if (!batch || !depth || !of_left) return std::nullopt;
  OperationSizes sizes;
  set_elements(*arrays, sizes);
  sizes.batch = *batch;
  sizes.k = sizes.features = *depth;
  const double each = *batch * *depth;
  sizes.m = each > 0 ? sizes.left_elements / each : 0;
  sizes.n = each > 0 ? sizes.right_elements / each : 0;
  const auto is_last = [](const std::vector<int64_t>& dimensions, const Array& of) {
    return std::find(dimensions.begin(), dimensions.end(), std::ssize(of.sizes) - 1) != dimensions.end();
  };
  sizes.depth_minor = is_last(*contracted, arrays->right);
  sizes.rows_minor = !is_last(*of_left, arrays->left);
  return sizes;
}

}  // namespace

double OperationSizes::positions() const {
  return std::accumulate(windows.begin(), windows.end(), 1.0,
                         [](double all, const Window& w) { return all * static_cast<double>(w.size); });
}

bool OperationSizes::has_gradient_window() const {
  if (!convolution || groups > 1 || batch_groups > 1 || windows.size() > 2) return false;
  const auto is_large = [](const Window& w) {
    return w.stride == 1 && w.dilation == 1 && (w.out <= 1 || w.size / 2 >= w.out);
  };
  return std::all_of(windows.begin(), windows.end(), is_large) &&
         std::any_of(windows.begin(), windows.end(), [](const Window& w) { return w.out > 1; });
}

const char* operation_family(const OperationSizes& o) {
  const auto any = [&](auto&& has) { return std::any_of(o.windows.begin(), o.windows.end(), has); };
  if (!o.convolution) {
    if (o.right_type == "s8") return o.left_type == "s8" ? "s8-dot" : "byte-weights-dot";
    return o.left_type == "f16"    ? "f16-dot"
           : o.left_type == "bf16" ? "bf16-dot"
           : o.batch > 1           ? "small-dot"
                                   : "f32-dot";
  }
  if (o.batch_groups > 1) return "depthwise-gradient";
  if (o.groups > 1) return o.features > 1 ? "grouped-convolution" : "depthwise-convolution";
  if (o.windows.size() > 2) return "volume-convolution";
  if (o.has_gradient_window()) return "weights-gradient";
  if (o.left_type != "f32") return "convolution-of-other-types";
  if (any([](const auto& w) { return w.stride > 1; })) return "strided-convolution";
  if (any([](const auto& w) { return w.dilation > 1; })) return "dilated-convolution";
  return any([](const auto& w) { return w.reversed; }) ? "inputs-gradient" : "convolution";
}

std::optional<OperationSizes> operation_sizes(const std::string& key) {
  const DecisionFamily& convolution = family(FamilyId::DenseConvolution);
  const DecisionFamily &dot = family(FamilyId::HalfDot), &small_dot = family(FamilyId::SmallDot);
  if (key.starts_with(convolution.prefix))
    return convolution_sizes(std::string_view(key).substr(std::string_view(convolution.prefix).size()));
  if (key.starts_with(dot.prefix)) return dot_sizes(std::string_view(key).substr(std::string_view(dot.prefix).size()));
  if (key.starts_with(small_dot.prefix))
    return dot_sizes(std::string_view(key).substr(std::string_view(small_dot.prefix).size()));
  return std::nullopt;
}

}  // namespace hone
