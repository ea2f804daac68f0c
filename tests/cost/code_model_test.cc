#include "cost/code_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cost/kernel_features.h"
#include "cost/tree_model.h"
#include "features/code_features.h"
#include "tests/cost/test_kernel.h"
#include "tests/cost/tree_file.h"

using namespace hone;
using namespace hone::cost;

namespace {

const features::Cpu kSmallCpu{
    .vector_bits = 256, .l1_bytes = 32768, .l2_bytes = 1 << 20, .l3_bytes = 1 << 25, .threads = 1};

TestKernel negation() {
  return kernel_of({node("parameter", f32({64, 64})), node("negate", f32({64, 64}), {0})}, {"loop"});
}

}  // namespace

TEST_CASE("trees that see the code are told of HLO, of code and of both together", "[trees]") {
  const auto& names = code_model_feature_names();
  CHECK(names.size() == kernel_feature_names().size() + features::code_feature_names().size() + 1);
  CHECK(std::equal(kernel_feature_names().begin(), kernel_feature_names().end(), names.begin()));
  CHECK(names.back() == "code_cycles_over_analytical");
}

TEST_CASE("a compiled kernel's run time is the analytical one times what the trees say", "[trees]") {
  const TempDir folder;
  // Members that divide at the number of objects: 0.5 without code and -1 with it.
  for (const auto& [name, base] : {std::pair("a.safetensors", "1"), std::pair("b.safetensors", "3")})
    options::write_safetensors((folder.path() / name).string(),
                               split_file(code_model_feature_names(), "code_objects", 0.5F, {0.5F, -1},
                                          {{"task", "code"}, {"predicts", "run time"}, {"base", base}}));
  const CodeModel model = CodeModel::open(folder.path().string(), kSmallCpu);
  CHECK(model.members() == 2);
  const TestKernel kernel = negation();
  const KernelView view = kernel.view();
  const double analytical = kernel_rows({&view, 1}, kSmallCpu).analytical_ns.at(0);
  CHECK(model.predict_ns(view, {}) == Approx(analytical * std::exp(2 + 0.5)));
  CHECK_THROWS_AS(model.predict_ns(view, {"no object"}), Error);
  const TestKernel two = kernel_of({node("parameter", f32({8})), node("negate", f32({8}), {0})}, {"loop", "tile=8"});
  CHECK_THROWS_AS(model.predict_ns(two.view(), {}), InternalError);
}

TEST_CASE("weights that do not see code are refused with their file", "[trees]") {
  const TempDir folder;
  const auto refused = [&](const std::string& what, const std::string& where) {
    try {
      CodeModel::open(folder.path().string(), kSmallCpu);
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.what() == what);
      CHECK(e.where() == where);
    }
  };
  refused("no weights in the folder", folder.path().string());
  const std::string file = (folder.path() / "a.safetensors").string();
  const std::map<std::string, std::string> code = {{"task", "code"}, {"predicts", "run time"}, {"base", "0"}};
  options::write_safetensors(file, split_file(kernel_feature_names(), "nodes", 1, {0, 1}, code));
  refused("the trees were trained with other features", file);
  auto fusion = code;
  fusion["task"] = "fusion";
  options::write_safetensors(file, split_file(code_model_feature_names(), "nodes", 1, {0, 1}, fusion));
  refused("no trees for run times of compiled kernels", file);
  auto ratio = code;
  ratio["predicts"] = "ratio";
  options::write_safetensors(file, split_file(code_model_feature_names(), "nodes", 1, {0, 1}, ratio));
  refused("no trees for run times of compiled kernels", file);
  CHECK_THROWS_AS(CodeModel::open((folder.path() / "none").string(), kSmallCpu), Error);
}
