#include "data/sql.h"

#include <charconv>
#include <type_traits>

namespace hone {

namespace {

template <class Number>
Number number_of(const SqlValue& value) {
  return std::visit(
      [](const auto& v) -> Number {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, double> && std::is_integral_v<Number>) {
          constexpr double kEnd = 9223372036854775808.0;  // 2^63
          return v >= -kEnd && v < kEnd ? static_cast<Number>(v) : 0;
        } else if constexpr (std::is_arithmetic_v<V>) {
          return static_cast<Number>(v);
        } else if constexpr (std::is_same_v<V, std::string>) {
          Number number = 0;
          std::from_chars(v.data(), v.data() + v.size(), number);
          return number;
        } else {
          return 0;
        }
      },
      value);
}

}  // namespace

int64_t Sql::integer(const std::string& sql) {
  Statement statement(*this, sql);
  int64_t value = 0;
  if (statement.step()) statement.column(0, value);
  return value;
}

std::string Sql::text(const std::string& sql) {
  Statement statement(*this, sql);
  std::string value;
  if (statement.step()) statement.column(0, value);
  return value;
}

void Statement::column(int index, std::string& value) const {
  SqlValue found = statement_->value(index);
  value.clear();
  if (auto* text = std::get_if<std::string>(&found)) value = std::move(*text);
  if (auto* blob = std::get_if<SqlBlob>(&found)) value = std::move(blob->bytes);
  if (auto* integer = std::get_if<int64_t>(&found)) value = std::to_string(*integer);
  if (auto* real = std::get_if<double>(&found)) value = std::to_string(*real);
}
void Statement::column(int index, double& value) const { value = number_of<double>(statement_->value(index)); }
void Statement::column(int index, int64_t& value) const { value = number_of<int64_t>(statement_->value(index)); }
void Statement::column(int index, uint64_t& value) const {
  value = static_cast<uint64_t>(number_of<int64_t>(statement_->value(index)));
}
void Statement::column(int index, int& value) const {
  value = static_cast<int>(number_of<int64_t>(statement_->value(index)));
}
void Statement::column(int index, bool& value) const { value = number_of<int64_t>(statement_->value(index)) != 0; }

}  // namespace hone
