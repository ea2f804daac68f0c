#include "options/layout_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "options/option_json.h"

namespace hone::options {

namespace {

void require_between(double value, double low, double high, const char* option) {
  if (!(value >= low && value <= high))
    throw Error(
        "out of range", std::string("--") + option,
        "from " + std::to_string(static_cast<int64_t>(low)) + " to " + std::to_string(static_cast<int64_t>(high)));
}

}  // namespace

void LayoutModelOptions::validate() const {
  const std::vector<std::string> names = {"tgraph", "tgraph-code", "sage", "linear", "frequent"};
  if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_word("model", name, names, "--model");
  require_between(static_cast<double>(hidden), 8, 4096, "hidden");
  if (hidden % 8 != 0) throw Error("must be a multiple of 8", "--hidden");
  require_between(static_cast<double>(blocks), 1, 16, "blocks");
  require_between(static_cast<double>(opcode_embedding), 1, 1024, "opcode-embedding");
  require_between(static_cast<double>(layout_embedding), 1, 64, "layout-embedding");
  if (!(dropout >= 0 && dropout < 1)) throw Error("must be a share from 0 to below 1", "--dropout");
  if (tiles && (name == "sage" || name == "frequent"))
    throw Error("this model ranks layouts, not tiles", "--model", "tgraph, tgraph-code or linear");
}

nlohmann::json to_json(const LayoutModelOptions& options) { return write_options(options); }

LayoutModelOptions layout_model_options_from_json(const nlohmann::json& json) {
  LayoutModelOptions options;
  read_options(json, "layout model", options);
  options.validate();
  return options;
}

}  // namespace hone::options
