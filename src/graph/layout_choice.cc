#include "graph/layout_choice.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace hone {
namespace {

std::string axes_text(const std::vector<int64_t>& axes) {
  if (axes.empty()) return "-";
  std::string text;
  for (int64_t axis : axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
  return text;
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error("'" + text + "' is not a layout", "",
              "write output/input/kernel, each as - or axes from fastest to slowest: -/0,1/-");
}

std::vector<int64_t> parse_axes(const std::string& part, const std::string& text) {
  if (part == "-") return {};
  std::vector<int64_t> axes;
  const char* at = part.data();
  const char* const end = at + part.size();
  while (true) {
    int64_t axis = -1;
    const auto [next, failed] = std::from_chars(at, end, axis);
    if (failed != std::errc() || axis < 0) refuse(text);
    axes.push_back(axis);
    if (next == end) break;
    if (*next != ',') refuse(text);
    at = next + 1;
  }
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) refuse(text);
  return axes;
}

}  // namespace

std::string to_text(const LayoutChoice& choice) {
  if (choice.is_default()) return kDefaultLayout;
  return axes_text(choice.output) + "/" + axes_text(choice.input) + "/" + axes_text(choice.kernel);
}

LayoutChoice layout_choice_from_text(const std::string& text) {
  if (text == kDefaultLayout) return {};
  const size_t first = text.find('/'), second = first == std::string::npos ? first : text.find('/', first + 1);
  if (second == std::string::npos) refuse(text);
  return {parse_axes(text.substr(0, first), text), parse_axes(text.substr(first + 1, second - first - 1), text),
          parse_axes(text.substr(second + 1), text)};
}

bool is_in_layout_data_sets(std::string_view opcode) {
  return opcode == "dot" || opcode == "convolution" || opcode == "reshape" || opcode == "transpose";
}

}  // namespace hone
