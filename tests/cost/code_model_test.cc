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

// Trees that divide at a feature, and of a kernel's work so many ns each.
options::TensorFile code_file(const std::string& feature, float value, std::array<float, 2> leaves,
                              const std::map<std::string, std::string>& metadata, float constant_ns = 250) {
  options::TensorFile file = split_file(code_model_feature_names(), feature, value, leaves, metadata);
  std::vector<float> weights(work_term_names().size(), 0);
  weights.back() = constant_ns;
  file.tensors["work"] = tensor<float>("F32", weights);
  return file;
}

}  // namespace

TEST_CASE("trees that see the code are told of HLO, of code and of both together", "[trees]") {
  const auto& names = code_model_feature_names();
  const std::vector<std::string>&hlo = kernel_feature_names(), &code = features::code_feature_names(),
        work = work_feature_names(work_term_names());
  REQUIRE(names.size() == hlo.size() + code.size() + 1 + work.size());
  CHECK(std::equal(hlo.begin(), hlo.end(), names.begin()));
  CHECK(std::equal(code.begin(), code.end(), names.begin() + static_cast<std::ptrdiff_t>(hlo.size())));
  CHECK(names.at(hlo.size() + code.size()) == "code_cycles_over_analytical");
  CHECK(std::equal(work.rbegin(), work.rend(), names.rbegin()));
}

TEST_CASE("a compiled kernel's run time is the sum of its work times what the trees say", "[trees]") {
  const TempDir folder;
  // Members that divide at the number of objects: 0.5 without code and -1 with it.
  for (const auto& [name, base] : {std::pair("a.safetensors", "1"), std::pair("b.safetensors", "3")})
    options::write_safetensors((folder.path() / name).string(),
                               code_file("code_objects", 0.5F, {0.5F, -1},
                                         {{"task", "code"}, {"predicts", "run time over work"}, {"base", base}}));
  const CodeModel model = CodeModel::open(folder.path().string(), kSmallCpu);
  CHECK(model.members() == 2);
  const TestKernel kernel = negation();
  const KernelView view = kernel.view();
  CHECK(model.predict_ns(view, {}) == Approx(250 * std::exp(2 + 0.5)));
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
  const std::map<std::string, std::string> code = {{"task", "code"}, {"predicts", "run time over work"}, {"base", "0"}};
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
  options::TensorFile file_without = code_file("nodes", 1, {0, 1}, code);
  file_without.tensors.erase("work");
  options::write_safetensors(file, file_without);
  refused("no trees: work", file);
  options::write_safetensors(file, code_file("nodes", 1, {0, 1}, code, /*constant_ns=*/-1));
  refused("the weights of a kernel's work are damaged", file);
  options::write_safetensors(file, code_file("nodes", 1, {0, 1}, code));
  const std::string other = (folder.path() / "b.safetensors").string();
  options::write_safetensors(other, code_file("nodes", 1, {0, 1}, code, /*constant_ns=*/251));
  refused("its weights of work differ from those of the folder's other files", other);
  CHECK_THROWS_AS(CodeModel::open((folder.path() / "none").string(), kSmallCpu), Error);
}
