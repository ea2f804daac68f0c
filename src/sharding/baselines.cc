#include "sharding/baselines.h"

#include <algorithm>
#include <numeric>

namespace hone::sharding {

namespace {

// Divides a dimension of the subject by as many of the axes as it takes, all of them first, then all but the last one.
void divide(const ShardSpace& space, size_t subject, int64_t dimension, std::vector<int> axes, Choice& choice) {
  const Subject& about = space.subjects[subject];
  std::erase_if(axes, [&](int axis) { return space.mesh.sizes[axis] == 1; });
  for (; !axes.empty(); axes.pop_back()) {
    Spec spec = space.spec(subject, choice);
    spec.at(static_cast<size_t>(dimension)) = axes;
    if (const int option = ShardSpace::option(about, spec); option > 0) {
      choice[subject] = option;
      return;
    }
  }
}

const Argument& first_argument(const ShardSpace& space, const Subject& subject) {
  return space.program.arguments[subject.members[0]];
}

void divide_batch(const ShardSpace& space, const std::vector<int>& axes, Choice& choice) {
  for (size_t s = 0; s < space.subjects.size(); ++s) {
    if (space.subjects[s].product) continue;
    const Argument& a = first_argument(space, space.subjects[s]);
    if (a.role == Role::Data && !a.dims.empty() && a.dims[0] == space.program.batch) divide(space, s, 0, axes, choice);
  }
}

// The first product of each group of weights says whether it is divided by columns (the dimensions of the result) or by rows.
void divide_weights(const ShardSpace& space, const std::vector<int>& axes, Choice& choice) {
  std::vector<bool> done(space.subjects.size());
  for (const Product& product : space.program.products) {
    if (product.weight < 0) continue;
    const int s = space.subject_of_argument(space.program.arguments[product.weight].group);
    if (s < 0 || done[s]) continue;
    done[s] = true;
    for (int64_t dimension : product.after_columns ? product.summed : product.kept) {
      divide(space, s, dimension, axes, choice);
      if (choice[s] != 0) break;
    }
  }
}

void divide_largest(const ShardSpace& space, const std::vector<int>& axes, Choice& choice) {
  for (size_t s = 0; s < space.subjects.size(); ++s) {
    if (space.subjects[s].product) continue;
    const Argument& a = first_argument(space, space.subjects[s]);
    if (a.role != Role::Weight) continue;
    std::vector<int64_t> by_size(a.dims.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(), [&](int64_t i, int64_t j) { return a.dims[i] > a.dims[j]; });
    for (int64_t dimension : by_size) {
      divide(space, s, dimension, axes, choice);
      if (choice[s] != 0) break;
    }
  }
}

}  // namespace

std::vector<Baseline> baselines(const ShardSpace& space) {
  const Choice replicated = space.space.default_choice();
  std::vector<int> all(space.mesh.axes());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Baseline> out = {{"replicated", replicated}};
  const auto add = [&](const char* name, const Choice& choice) {
    if (choice != replicated) out.push_back({name, choice});
  };
  Choice data = replicated, tensor = replicated;
  divide_batch(space, all, data);
  divide_weights(space, all, tensor);
  Choice fully = data;
  divide_largest(space, all, fully);
  add("data-parallel", data);
  add("tensor-parallel", tensor);
  add("fully-sharded", fully);
  if (space.mesh.axes() > 1) {
    Choice both = replicated;
    divide_batch(space, {0}, both);
    divide_weights(space, {all.begin() + 1, all.end()}, both);
    add("data-tensor", both);
  }
  return out;
}

}  // namespace hone::sharding
