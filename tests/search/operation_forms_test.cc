#include "search/operation_forms.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace hone;

namespace {

const Decision kFirst{DecisionKind::Library, "reduce:add:f32[8,4]->f32[8]:1", "ynn"};
const Decision kSecond{DecisionKind::Library, "reduce:add:f32[8]->f32[]:0", "ynn"};
const Decision kSine{DecisionKind::Rewrite, "sine:sine:f32[8]", "polynomial"};
const Decision kOption{DecisionKind::Option, "loop_unrolling", "off"};

std::vector<Dimension> some_dimensions() {
  return {{kFirst.kind, kFirst.key, {"compiled", "ynn"}, 0},
          {kOption.kind, kOption.key, {"on", "off"}, 0},
          {kSine.kind, kSine.key, {"default", "polynomial"}, 0},
          {kSecond.kind, kSecond.key, {"compiled", "ynn"}, 0},
          {DecisionKind::Library, "0123456789abcdef0123456789abcdef", {"default", "eigen"}, 0},  // of a kernel
          {DecisionKind::Fusion, "a>b", {"fuse", "keep"}, 0},
          {DecisionKind::Weights, "all", {"as-is", "packed"}, 0},
          {DecisionKind::Rewrite, "sort:f32[8]", {"default"}, 0}};
}

}  // namespace

TEST_CASE("operations of a family change their form together", "[search]") {
  const std::vector<FormGroup> groups = form_groups(some_dimensions());
  REQUIRE(groups.size() == 3);
  CHECK(groups[0] == FormGroup{"reduction", "ynn", {kFirst, kSecond}});
  CHECK(groups[1] == FormGroup{"sine or cosine", "polynomial", {kSine}});
  CHECK(groups[2] == FormGroup{"loop_unrolling", "off", {kOption}});
}

TEST_CASE("samples of forms are distinct, begin with whole families, and follow from the seed", "[search]") {
  const std::vector<Dimension> dimensions = some_dimensions();
  const std::vector<Decisions> samples = sample_forms(dimensions, 9, 3);
  REQUIRE(samples.size() == 9);
  CHECK(samples[0] == Decisions{kFirst, kSecond});
  CHECK(samples[1] == Decisions{kSine});
  CHECK(samples[2] == Decisions{kOption});
  CHECK(std::set<Decisions>(samples.begin(), samples.end()).size() == 9);
  CHECK(samples == sample_forms(dimensions, 9, 3));
  CHECK(samples != sample_forms(dimensions, 9, 4));
  CHECK(sample_forms(dimensions, 1, 3).size() == 1);
  // Four dimensions of two options have fifteen other choices.
  CHECK(sample_forms(dimensions, 100, 3).size() <= 15);
  CHECK(sample_forms({}, 5, 3).empty());
}
