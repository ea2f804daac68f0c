// Serialised xla.HloModuleProto messages, written field by field, for tests without XLA.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace hone::test {

using protozero::pbf_writer;
using Numbers = std::vector<int64_t>;

inline constexpr int kPred = 1, kS32 = 4, kF32 = 11, kTuple = 13, kBf16 = 16;

inline void add_packed(pbf_writer& out, uint32_t field, const Numbers& numbers) {
  out.add_packed_int64(field, numbers.begin(), numbers.end());
}

// A message built by `fill` and put into `field`.
inline void add_message(pbf_writer& out, uint32_t field, const std::function<void(pbf_writer&)>& fill) {
  std::string bytes;
  pbf_writer inner(bytes);
  fill(inner);
  out.add_message(field, bytes);
}

// xla.ShapeProto; row-major unless `minor_to_major` says otherwise.
inline std::string array(int type, const Numbers& dims, Numbers minor_to_major = {}) {
  if (minor_to_major.empty())
    for (size_t i = dims.size(); i-- > 0;) minor_to_major.push_back(static_cast<int64_t>(i));
  std::string bytes;
  pbf_writer out(bytes);
  out.add_enum(2, type);
  add_packed(out, 3, dims);
  add_message(out, 5, [&](pbf_writer& layout) { add_packed(layout, 1, minor_to_major); });
  return bytes;
}

inline std::string tuple(const std::vector<std::string>& shapes) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_enum(2, kTuple);
  for (const std::string& shape : shapes) out.add_message(4, shape);
  return bytes;
}

// One computation; ids count from 1 over the whole module.
class ComputationProto {
 public:
  ComputationProto(std::string name, int64_t id, int64_t& next_id)
      : name_(std::move(name)), id_(id), next_id_(next_id) {}

  using Fill = std::function<void(pbf_writer&)>;
  // Returns the instruction's id. The last one added is the root.
  int64_t add(
      const std::string& name, const std::string& opcode, const std::string& shape, const Numbers& operands = {},
      const Fill& attributes = [](pbf_writer&) {}) {
    const int64_t id = next_id_++;
    add_message(out_, 2, [&](pbf_writer& instruction) {
      instruction.add_string(1, name);
      instruction.add_string(2, opcode);
      instruction.add_message(3, shape);
      instruction.add_int64(35, id);
      if (!operands.empty()) add_packed(instruction, 36, operands);
      attributes(instruction);
    });
    root_ = id;
    return id;
  }
  int64_t parameter(int64_t number, const std::string& shape) {
    return add("p" + std::to_string(number), "parameter", shape, {}, [&](pbf_writer& out) {
      if (number != 0) out.add_int64(9, number);
    });
  }
  int64_t id() const { return id_; }
  std::string bytes() const {
    std::string all;
    pbf_writer out(all);
    out.add_string(1, name_);
    out.add_int64(5, id_);
    out.add_int64(6, root_);
    return all + instructions_;
  }

 private:
  std::string name_, instructions_;
  int64_t id_, root_ = 0;
  int64_t& next_id_;
  pbf_writer out_{instructions_};
};

// A module of the given computations; the last is the entry.
inline std::string module(const std::string& name, std::initializer_list<const ComputationProto*> computations) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, name);
  for (const ComputationProto* computation : computations) out.add_message(3, computation->bytes());
  out.add_int64(6, (*(computations.end() - 1))->id());
  return bytes;
}

// max(a + b, a) of f32[128,64], fused: fused computation p0 p1 add maximum, entry p0 p1 fusion.
inline std::string fusion_module() {
  int64_t next = 1;
  const std::string shape = array(kF32, {128, 64});
  ComputationProto fused("fused", 1, next), entry("main", 2, next);
  const int64_t a = fused.parameter(0, shape), b = fused.parameter(1, shape);
  const int64_t sum = fused.add("sum", "add", shape, {a, b});
  fused.add("top", "maximum", shape, {sum, a});
  const int64_t x = entry.parameter(0, shape), y = entry.parameter(1, shape);
  entry.add("fusion", "fusion", shape, {x, y}, [&](pbf_writer& out) {
    out.add_string(11, "kLoop");
    add_packed(out, 38, {1});
  });
  return module("fusion_module", {&fused, &entry});
}

// f32[4,8,16] x f32[4,16,32] -> f32[4,8,32], batched over dimension 0.
inline std::string dot_module() {
  int64_t next = 1;
  ComputationProto entry("main", 1, next);
  const int64_t x = entry.parameter(0, array(kF32, {4, 8, 16})),
                y = entry.parameter(1, array(kF32, {4, 16, 32}, {1, 2, 0}));
  entry.add("dot", "dot", array(kF32, {4, 8, 32}), {x, y}, [](pbf_writer& out) {
    add_message(out, 30, [](pbf_writer& numbers) {
      add_packed(numbers, 1, {2});
      add_packed(numbers, 2, {1});
      add_packed(numbers, 3, {0});
      add_packed(numbers, 4, {0});
    });
  });
  return module("dot_module", {&entry});
}

}  // namespace hone::test
