#include "sharding/shard_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace hone::sharding {

namespace {

constexpr size_t kMostProducts = 8;  // groups that are decided
constexpr size_t kMostSpecs = 4096;  // of one group

// All ways to give each axis to one dimension of the array or to none; replicated first.
std::vector<Spec> all_specs(const Mesh& mesh, const std::vector<int64_t>& dims) {
  std::vector<Spec> out = {Spec(dims.size())};
  for (int axis = 0; axis < mesh.axes(); ++axis) {
    if (mesh.sizes[axis] == 1) continue;
    const size_t before = out.size();
    for (size_t i = 0; i < before; ++i)
      for (size_t d = 0; d < dims.size(); ++d) {
        Spec spec = out[i];
        spec[d].push_back(axis);
        if (out.size() < kMostSpecs && divides(mesh, spec, dims)) out.push_back(std::move(spec));
      }
  }
  return out;
}

void add_subject(ShardSpace& out, Subject subject, const std::vector<int64_t>& dims, std::string key, double weight) {
  subject.options = all_specs(out.mesh, dims);
  if (subject.options.size() < 2) return;
  Dimension dimension;
  dimension.kind = DecisionKind::Layout;  // how data lies: the searches do not read it
  dimension.key = std::move(key);
  dimension.weight = weight;
  dimension.count = static_cast<int>(subject.members.size());
  for (const Spec& spec : subject.options) dimension.options.push_back(hlo_sharding(out.mesh, spec));
  out.space.dimensions.push_back(std::move(dimension));
  out.subjects.push_back(std::move(subject));
}

void add_arguments(ShardSpace& out) {
  const auto& arguments = out.program.arguments;
  double total = 0;
  for (const Argument& a : arguments) total += static_cast<double>(a.bytes);
  for (int group = 0; group < out.program.groups; ++group) {
    Subject subject{false, group};
    double bytes = 0;
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].group == group) {
        subject.members.push_back(static_cast<int>(i));
        bytes += static_cast<double>(arguments[i].bytes);
      }
    const Argument& first = arguments[subject.members.at(0)];
    if (first.role == Role::Other || (first.role == Role::Weight && bytes < kSmallParameter * total)) continue;
    // Data first: how they are divided decides what is best for the weights.
    const double weight = bytes / std::max(1.0, total) + (first.role == Role::Data ? 2 : 1);
    add_subject(out, std::move(subject), first.dims, "parameter " + std::to_string(first.number), weight);
  }
}

void add_products(ShardSpace& out) {
  const auto& products = out.program.products;
  double total = 0;
  for (const Product& p : products) total += p.flops;
  std::vector<std::pair<double, Subject>> found;
  for (int group = 0; group < out.program.product_groups; ++group) {
    Subject subject{true, group};
    double flops = 0;
    for (size_t i = 0; i < products.size(); ++i)
      if (products[i].group == group && !products[i].in_loop) {
        subject.members.push_back(static_cast<int>(i));
        flops += products[i].flops;
      }
    if (flops > 0 && flops >= kSmallProduct * total) found.emplace_back(flops / total, std::move(subject));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMostProducts) found.resize(kMostProducts);
  for (auto& [share, subject] : found) {
    const Product& first = products[subject.members.at(0)];
    add_subject(out, std::move(subject), first.dims, "result of " + first.name, share);
  }
}

}  // namespace

int ShardSpace::option(const Subject& subject, const Spec& spec) {
  const auto found = std::find(subject.options.begin(), subject.options.end(), spec);
  return found == subject.options.end() ? -1 : static_cast<int>(found - subject.options.begin());
}

int ShardSpace::subject_of_argument(int group) const {
  for (size_t i = 0; i < subjects.size(); ++i)
    if (!subjects[i].product && subjects[i].group == group) return static_cast<int>(i);
  return -1;
}

std::vector<NamedSharding> shardings_of(const ShardSpace& space, const Choice& choice) {
  std::vector<NamedSharding> out;
  for (size_t s = 0; s < space.subjects.size(); ++s) {
    const Subject& subject = space.subjects[s];
    if (choice[s] == 0) continue;
    const std::string text = hlo_sharding(space.mesh, space.spec(s, choice));
    for (int member : subject.members)
      out.push_back(
          {subject.product ? space.program.products[member].name : space.program.arguments[member].name, text});
  }
  return out;
}

ShardSpace make_space(const Mesh& mesh, ProgramArguments program, bool products) {
  ShardSpace out{mesh, std::move(program), {}, {}};
  add_arguments(out);
  if (out.subjects.empty())
    throw Error(fmt::format("no parameter has a dimension that divides into the {} devices of an axis",
                            fmt::join(mesh.sizes, " or ")),
                "--mesh", "hone inspect PROGRAM shows its parameters");
  if (products) add_products(out);
  return out;
}

}  // namespace hone::sharding
