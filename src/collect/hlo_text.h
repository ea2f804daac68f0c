// Writes HLO text instruction by instruction with correct shapes and finite values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace hone::collect {

using Dims = std::vector<int64_t>;

// The result of one instruction. `log_max` bounds log2 of the size of its elements for inputs of ordinary size.
struct Value {
  std::string name, type;
  Dims dims;
  double log_max = 0;

  bool is_float() const { return type == "f32" || type == "bf16"; }
  int rank() const { return static_cast<int>(dims.size()); }
};

double elements(const Dims& dims);

class HloText {
 public:
  Value parameter(const std::string& type, const Dims& dims);
  Value constant(const std::string& type, double value);  // a scalar
  Value iota(const std::string& type, const Dims& dims, int64_t dimension);

  // `log_max` < 0 keeps the operand's. Results that may become too large are scaled down.
  Value unary(const std::string& opcode, const Value& a, double log_max = -1);
  Value binary(const std::string& opcode, const Value& a, const Value& b);
  Value scalar_binary(const std::string& opcode, const Value& a, double scalar);  // a op broadcast(scalar)
  Value compare(const std::string& direction, const Value& a, const Value& b);
  Value select(const Value& predicate, const Value& a, const Value& b);
  Value clamp(double low, const Value& a, double high);
  Value convert(const std::string& type, const Value& a);

  // dimensions[i]: the dimension of the result that dimension i of `a` maps to.
  Value broadcast(const Value& a, const Dims& dims, const Dims& dimensions);
  Value transpose(const Value& a, const Dims& permutation);
  Value reshape(const Value& a, const Dims& dims);
  Value reverse(const Value& a, int64_t dimension);
  Value slice(const Value& a, const Dims& starts, const Dims& limits, const Dims& strides);
  Value pad(const Value& a, const Dims& low, const Dims& high);  // with zeros
  Value concatenate(const Value& a, const Value& b, int64_t dimension);
  Value reduce(const std::string& opcode, const Value& a, const Dims& dimensions);  // add, maximum, minimum
  // Contracts lhs's last dimension with rhs's `contracting`; the first `batch` dimensions of both are batch dimensions.
  Value dot(const Value& lhs, const Value& rhs, int64_t batch, int64_t contracting);
  // [N, H, W, C] with [kh, kw, C / groups, O], padded to keep H and W up to the stride.
  Value convolution(const Value& input, const Value& kernel, int64_t stride, int64_t groups);

  // The module, its entry returning the values.
  std::string module(const std::string& name, const std::vector<Value>& results) const;
  double largest() const { return largest_; }  // elements of the largest array so far

 private:
  Value add(const std::string& opcode, const std::string& operands, const Value& shape,
            const std::string& attributes = "");
  Value safe(Value value);
  std::string computation(const std::string& opcode, const std::string& type);

  std::string body_, computations_;
  std::set<std::string> known_;
  int count_ = 0, parameters_ = 0;
  double largest_ = 0;
};

}  // namespace hone::collect
