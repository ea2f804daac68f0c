#include "sharding/arguments.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "sharding/signatures.h"

namespace hone::sharding {

namespace {

constexpr int kScale = 2;  // of a multiplication and an addition

// A parameter seen through operations that only rearrange it or take a part: where each dimension of the node comes from, -1 =
// unknown. Of a tuple: of its elements, which tuples of tuples share.
struct Source {
  int parameter = -1;
  std::vector<int64_t> dims = {};
  std::shared_ptr<const std::vector<Source>> elements = {};
  int depth = 0;  // of tuples in tuples
};
constexpr int kDeepestTuple = 64;

bool keeps_dimensions(const std::string& opcode) {
  return opcode == "convert" || opcode == "copy" || opcode == "reverse" || opcode == "slice" ||
         opcode == "dynamic-slice" || opcode == "optimization-barrier";
}

// Dimensions of one element come and go; others are unknown.
Source reshaped(const Source& from, const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  Source out{from.parameter, std::vector<int64_t>(after.size(), -1)};
  std::vector<size_t> old_dims, new_dims;
  for (size_t d = 0; d < before.size(); ++d)
    if (before[d] != 1) old_dims.push_back(d);
  for (size_t d = 0; d < after.size(); ++d)
    if (after[d] != 1) new_dims.push_back(d);
  if (old_dims.size() != new_dims.size()) return out;
  for (size_t k = 0; k < old_dims.size(); ++k)
    if (before[old_dims[k]] != after[new_dims[k]]) return out;
  for (size_t k = 0; k < old_dims.size(); ++k) out.dims[new_dims[k]] = from.dims.at(old_dims[k]);
  return out;
}

class Reader {
 public:
  Reader(const HloGraph& graph, const std::optional<std::vector<int>>& weights)
      : graph_(graph), entry_(graph.computations[graph.entry]), declared_(weights) {}

  ProgramArguments read() {
    for (int32_t i = entry_.first; i < entry_.last; ++i) add_argument(graph_.nodes[i]);
    auto& arguments = out_.arguments;
    std::sort(arguments.begin(), arguments.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].number != static_cast<int>(i)) throw Error("the parameters are not numbered one by one");
    check_declared();
    sources_.resize(graph_.nodes.size());
    by_columns_.resize(graph_.nodes.size());
    find_sources(entry_, own_parameters());
    find_products(entry_, false);
    classes_ = same_shape_classes(graph_);
    find_users();
    assign_roles();
    assign_groups();
    return std::move(out_);
  }

 private:
  const Node& node(int32_t i) const { return graph_.nodes[i]; }

  // `given`: the parameters of the computation, by number; of the entry they are the program's.
  void find_sources(const Computation& computation, const std::vector<Source>& given) {
    for (int32_t i = computation.first; i < computation.last; ++i) {
      const Node& n = node(i);
      if (n.opcode == "parameter") {
        const auto number = static_cast<size_t>(n.parameter_number);
        if (number < given.size()) sources_[i] = given[number];
      } else if (n.opcode == "while") {
        for (int32_t called : n.called)
          if (with_sources_.insert(called).second)
            find_sources(graph_.computations[called], {sources_[n.operands.at(0)]});
        sources_[i] = sources_[n.operands.at(0)];
      } else if (!n.operands.empty()) {
        sources_[i] = source_of(n);
      }
    }
  }

  Source source_of(const Node& n) const {
    const Source& from = sources_[n.operands[0]];
    if (n.opcode == "tuple") {
      std::vector<Source> elements;
      int depth = 0;
      for (int32_t operand : n.operands) {
        elements.push_back(sources_[operand]);
        depth = std::max(depth, elements.back().depth + 1);
      }
      if (depth > kDeepestTuple) return {};
      return {.elements = std::make_shared<const std::vector<Source>>(std::move(elements)), .depth = depth};
    }
    if (n.opcode == "get-tuple-element") {
      const auto index = static_cast<size_t>(n.tuple_index);
      return from.elements && index < from.elements->size() ? (*from.elements)[index] : Source();
    }
    if (from.parameter < 0) return {};
    if (keeps_dimensions(n.opcode)) return from;
    if (n.opcode == "reshape") return reshaped(from, node(n.operands[0]).shape.dims, n.shape.dims);
    if (n.opcode == "broadcast") {
      Source out{from.parameter, std::vector<int64_t>(n.shape.dims.size(), -1)};
      for (size_t d = 0; d < from.dims.size(); ++d) out.dims.at(n.dimensions.at(d)) = from.dims[d];
      return out;
    }
    if (n.opcode != "transpose") return {};
    Source out = from;
    for (size_t d = 0; d < out.dims.size(); ++d) out.dims[d] = from.dims.at(n.dimensions.at(d));
    return out;
  }

  std::vector<Source> own_parameters() const {
    std::vector<Source> out;
    for (const Argument& a : out_.arguments) {
      Source& source = out.emplace_back(Source{a.number, std::vector<int64_t>(a.dims.size())});
      std::iota(source.dims.begin(), source.dims.end(), 0);
    }
    return out;
  }

  void add_argument(const Node& node) {
    if (node.opcode != "parameter") return;
    out_.arguments.push_back(
        {static_cast<int>(node.parameter_number), node.name, node.shape.dims, node.shape.bytes(), Role::Other, 0});
    node_of_[static_cast<int>(node.parameter_number)] = static_cast<int32_t>(&node - graph_.nodes.data());
  }

  void find_users() {
    users_.resize(graph_.nodes.size());
    for (int32_t i = entry_.first; i < entry_.last; ++i)
      for (int32_t operand : node(i).operands) users_[operand].push_back(i);
  }

  void check_declared() const {
    if (!declared_) return;
    for (int number : *declared_)
      if (number < 0 || number >= static_cast<int>(out_.arguments.size()))
        throw Error("the program has no parameter " + std::to_string(number), "--weights");
  }

  bool is_declared(int parameter) const {
    return declared_ && std::find(declared_->begin(), declared_->end(), parameter) != declared_->end();
  }

  // Which operand of a product is a weight; -1 = none. The first product that reads a parameter says what it is: data are on the
  // right side in gradients of weights.
  int weight_side(const Node& product) {
    const int left = sources_[product.operands.at(0)].parameter, right = sources_[product.operands.at(1)].parameter;
    if (declared_) return right >= 0 && is_declared(right) ? 1 : left >= 0 && is_declared(left) ? 0 : -1;
    const auto rank = [&](int side) { return node(product.operands[side]).shape.dims.size(); };
    // einsum of JAX has a weight on the left where that saves a transposition; data are not of fewer dimensions than what they meet.
    const bool weight_on_left = left >= 0 && right < 0 && product.opcode == "dot" && rank(0) < rank(1);
    if (weight_on_left && is_right_.emplace(left, true).first->second) return 0;
    if (left >= 0) is_right_.emplace(left, false);
    if (right < 0) return -1;
    return is_right_.emplace(right, true).first->second ? 1 : -1;
  }

  // In a loop, `columns`: what the loop begins with is divided by columns.
  void find_products(const Computation& computation, bool columns) {
    for (int32_t i = computation.first; i < computation.last; ++i) {
      const Node& n = node(i);
      bool any = columns && n.opcode == "parameter";
      for (int32_t operand : n.operands) any = any || by_columns_[operand];
      by_columns_[i] = any;
      if (n.opcode == "while") {
        for (int32_t called : n.called)
          if (with_products_.insert(called).second) find_products(graph_.computations[called], any);
      } else if (n.opcode == "dot" || n.opcode == "convolution") {
        Product product{n.name, n.opcode, n.shape.dims};
        product.in_loop = &computation != &entry_;
        product.after_columns = any;
        describe(n, weight_side(n), product);
        if (product.weight >= 0) by_columns_[i] = !any;
        product_nodes_.push_back(i);
        out_.products.push_back(std::move(product));
      }
    }
  }

  void describe(const Node& n, int side, Product& product) const {
    const Node& right = node(n.operands[side == 0 ? 0 : 1]);
    const bool dot = n.opcode == "dot";
    const auto& contracting = side == 0 ? n.dot.lhs_contracting : n.dot.rhs_contracting;
    const auto& batch = side == 0 ? n.dot.lhs_batch : n.dot.rhs_batch;
    product.flops = kScale * static_cast<double>(n.shape.elements());
    if (dot)
      for (int64_t d : contracting) product.flops *= static_cast<double>(right.shape.dims.at(d));
    else
      product.flops *=
          static_cast<double>(right.shape.elements()) /
          std::max<double>(1, static_cast<double>(right.shape.dims.at(n.convolution.kernel_output_feature)));
    if (side < 0) return;
    const Source& source = sources_[n.operands[side]];
    product.weight = source.parameter;
    const auto add = [&](std::vector<int64_t>& to, int64_t d) {
      if (source.dims.at(d) >= 0) to.push_back(source.dims[d]);
    };
    if (!dot) {
      add(product.summed, n.convolution.kernel_input_feature);
      add(product.kept, n.convolution.kernel_output_feature);
      return;
    }
    for (int64_t d = 0; d < static_cast<int64_t>(right.shape.dims.size()); ++d) {
      const bool is_summed = std::find(contracting.begin(), contracting.end(), d) != contracting.end();
      if (is_summed) add(product.summed, d);
      if (!is_summed && std::find(batch.begin(), batch.end(), d) == batch.end()) add(product.kept, d);
    }
  }

  // Whether a parameter is repeated along the first dimension; labels of the rows of a batch are along the others.
  bool is_repeated(const Node& n) const {
    if (n.opcode != "broadcast") return false;
    const Source& from = sources_[n.operands[0]];
    bool any = false;
    for (size_t d = 0; d < from.dims.size(); ++d) {
      if (from.dims[d] < 0) continue;
      if (n.dimensions.at(d) == 0) return false;
      any = true;
    }
    return any;
  }

  // What is a weight by how it is used, by number.
  std::set<int> used_as_weights() const {
    std::set<int> found;
    for (const Product& product : out_.products)
      if (product.weight >= 0) found.insert(product.weight);
    for (const Node& n : graph_.nodes) {
      if (n.operands.empty()) continue;
      const int parameter = sources_[n.operands[0]].parameter;
      if (parameter < 0) continue;
      if (n.opcode == "gather" || is_repeated(n)) found.insert(parameter);
    }
    for (const auto& [parameter, at] : node_of_)
      if (reads_a_part(at)) found.insert(parameter);
    for (int parameter : repeated_after_arithmetic()) found.insert(parameter);
    return found;
  }

  // A table of positions, of which a program of shorter sequences takes the first: the rows of a batch are all read.
  bool reads_a_part(int32_t parameter) const {
    const auto& dims = node(parameter).shape.dims;
    int64_t rows = 0;
    for (int32_t user : users_[parameter]) {
      const Node& n = node(user);
      if (n.opcode != "slice" && n.opcode != "dynamic-slice") return false;
      if (n.operands[0] != parameter || n.shape.dims.at(0) == 1) return false;  // one row of a sequence of steps
      rows += n.shape.dims.at(0);
    }
    return rows > 0 && rows < dims.at(0);
  }

  // Parameters whose class (reshapes of ones connect) is repeated, and never along the rows of a larger array: scales and statistics of
  // channels, which meet before they are repeated. Labels that are compared with each other are repeated both ways.
  std::vector<int> repeated_after_arithmetic() const {
    const std::vector<int32_t> classes = same_shape_classes(graph_, Reshapes::Ones);
    std::set<int32_t> by_rows, otherwise;
    for (int32_t i = entry_.first; i < entry_.last; ++i) {
      const Node& n = node(i);
      if (n.opcode != "broadcast" || n.shape.elements() == node(n.operands.at(0)).shape.elements()) continue;
      const auto& from = node(n.operands[0]).shape.dims;
      if (std::all_of(from.begin(), from.end(), [](int64_t d) { return d == 1; })) continue;
      const bool rows = n.dimensions.at(0) == 0 && from[0] > 1;
      (rows ? by_rows : otherwise).insert(classes[n.operands[0]]);
    }
    std::vector<int> found;
    for (const auto& [parameter, at] : node_of_)
      if (otherwise.contains(classes[at]) && !by_rows.contains(classes[at])) found.push_back(parameter);
    return found;
  }

  int32_t class_of(int parameter) const { return classes_[node_of_.at(parameter)]; }

  void assign_roles() {
    std::set<int32_t> classes;
    if (!declared_)
      for (int parameter : used_as_weights()) classes.insert(class_of(parameter));
    for (Argument& a : out_.arguments) {
      const int32_t at = node_of_.at(a.number);
      const bool unused = users_[at].empty() && at != entry_.root;
      const bool weight = declared_ ? is_declared(a.number) : unused || classes.contains(class_of(a.number));
      const bool one = node(at).shape.elements() == 1;
      if (!a.dims.empty() && (!one || is_declared(a.number))) a.role = weight ? Role::Weight : Role::Data;
    }
    find_batch();
  }

  // The first dimension of most shapes of data, of as many that of most bytes. Integers count twice, since weights are none. Vectors
  // count where there is nothing else: each is more often of channels than of rows.
  void find_batch() {
    static const std::set<int32_t> kIntegers = {4, 5, 8, 9};  // xla.PrimitiveType: of 32 and 64 bits
    const auto is_matrix = [](const Argument& a) { return a.role == Role::Data && a.dims.size() > 1; };
    const bool any = std::any_of(out_.arguments.begin(), out_.arguments.end(), is_matrix);
    std::set<std::vector<int64_t>> shapes;
    std::map<int64_t, std::pair<int, int64_t>> found;
    for (const Argument& a : out_.arguments)
      if ((any ? is_matrix(a) : a.role == Role::Data) && shapes.insert(a.dims).second) {
        found[a.dims[0]].first += kIntegers.contains(node(node_of_.at(a.number)).shape.element_type) ? 2 : 1;
        found[a.dims[0]].second += a.bytes;
      }
    std::pair<int, int64_t> most;
    for (const auto& [size, votes] : found)
      if (votes > most) {
        most = votes;
        out_.batch = size;
      }
  }

  void assign_groups() {
    const std::vector<uint64_t> signatures = forward_signatures(graph_);
    std::map<int32_t, std::vector<uint64_t>> of_class;
    for (const Argument& a : out_.arguments) of_class[class_of(a.number)].push_back(signatures[node_of_.at(a.number)]);
    std::map<std::string, int> groups, product_groups;
    for (Argument& a : out_.arguments) {
      std::vector<uint64_t>& members = of_class[class_of(a.number)];
      std::sort(members.begin(), members.end());
      std::string key = role_name(a.role);
      for (int64_t d : a.dims) key += "," + std::to_string(d);
      for (uint64_t signature : members) key += "/" + std::to_string(signature);
      a.group = groups.emplace(key, static_cast<int>(groups.size())).first->second;
    }
    for (size_t i = 0; i < out_.products.size(); ++i) {
      const std::string key = std::to_string(signatures[product_nodes_[i]]);
      out_.products[i].group = product_groups.emplace(key, static_cast<int>(product_groups.size())).first->second;
    }
    out_.groups = static_cast<int>(groups.size());
    out_.product_groups = static_cast<int>(product_groups.size());
  }

  const HloGraph& graph_;
  const Computation& entry_;
  const std::optional<std::vector<int>>& declared_;
  std::vector<Source> sources_;                     // [nodes]
  std::vector<std::vector<int32_t>> users_;         // [nodes], in the entry computation
  std::vector<bool> by_columns_;                    // [nodes]
  std::set<int32_t> with_sources_, with_products_;  // computations of loops that have been read
  std::map<int, int32_t> node_of_;
  std::map<int, bool> is_right_;  // of the first product that reads a parameter
  std::vector<int32_t> product_nodes_, classes_;
  ProgramArguments out_;
};

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::Data:
      return "data";
    case Role::Weight:
      return "weight";
    case Role::Other:
      break;
  }
  return "other";
}

ProgramArguments read_arguments(const HloGraph& graph, const std::optional<std::vector<int>>& weights) {
  try {
    return Reader(graph, weights).read();
  } catch (const std::out_of_range&) {
    throw Error("an instruction's operands or dimensions do not fit its operation");
  }
}

}  // namespace hone::sharding
