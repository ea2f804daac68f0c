#include "service/stablehlo_text.h"

#include <cctype>
#include <iostream>
#include <regex>
#include <set>

namespace hone::xla_side {
namespace {

const std::set<std::string>& known_dialects() {
  static const std::set<std::string> dialects = {"stablehlo", "mhlo",  "chlo", "sdy",   "func",  "tf",    "jax",
                                                 "builtin",   "arith", "vhlo", "quant", "shape", "tensor"};
  return dialects;
}

bool ident(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// dense_resource<__elided__> : tensor<4xf32>  ->  dense<0.0> : tensor<4xf32>
std::string splat_resources(const std::string& text) {
  static const std::string kStart = "dense_resource<";
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(kStart, at)) != std::string::npos;) {
    const size_t colon = text.find("> : tensor<", hit);
    const size_t end = colon == std::string::npos ? colon : text.find('>', colon + 11);
    if (end == std::string::npos) break;
    const std::string type = text.substr(colon + 4, end - colon - 3);
    const size_t last = type.find_last_of("x<");
    const std::string element = type.substr(last + 1);
    const char* zero = "0";
    if (element.rfind("i1>", 0) == 0)
      zero = "false";
    else if (type.find("complex") != std::string::npos)
      zero = "(0.0,0.0)";
    else if (element[0] == 'f' || element.rfind("bf", 0) == 0)
      zero = "0.0";
    out += text.substr(at, hit - at) + "dense<" + zero + "> : " + type;
    at = end + 1;
  }
  return out + text.substr(at);
}

// End of an attribute value that starts at i: the comma or closing bracket of the enclosing list.
size_t value_end(const std::string& s, size_t i) {
  int depth = 0;
  bool quoted = false;
  for (; i < s.size(); ++i) {
    const char c = s[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (std::string("<([{").find(c) != std::string::npos) {
      ++depth;
    } else if (c == '>' && s[i - 1] == '-') {
      continue;
    } else if (std::string(">)]}").find(c) != std::string::npos) {
      if (depth-- == 0) break;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  return i;
}

constexpr char kElided[] = " = stablehlo.constant dense_resource<__elided__> : ";

// Constants of @main without their values become its last parameters: `%0 = constant` is then the identity of one.
std::string parameters_for_elided(const std::string& text) {
  const size_t main = text.find("@main(");
  if (main == std::string::npos) return text;
  const size_t open = main + 5;
  size_t close = value_end(text, open + 1);
  while (close < text.size() && text[close] == ',') close = value_end(text, close + 1);
  const size_t next = text.find("func.func", close), end = next == std::string::npos ? text.size() : next;
  if (close == text.size()) return text;
  std::string parameters, body;
  int count = 0;
  size_t at = close;
  for (size_t hit; (hit = text.find(kElided, at)) < end; ++count) {
    const size_t type_at = hit + sizeof kElided - 1;
    const size_t after = text.find('>', type_at) + 1;
    const std::string type = text.substr(type_at, after - type_at), name = "%elided_" + std::to_string(count);
    const bool first = count == 0 && text.find_first_not_of(" \n", open + 1) == close;
    parameters += (first ? "" : ", ") + name + ": " + type;
    body += text.substr(at, hit - at) + " = stablehlo.reshape " + name + " : (" + type + ") -> " + type;
    at = after;
  }
  if (count == 0) return text;
  std::cerr << "hone-xla: " << count << " constants were left out of the file: the last " << count
            << " parameters take their place, with values from the seed\n";
  return text.substr(0, close) + parameters + body + text.substr(at);
}

// Drops `dialect.name = value` entries of dialects XLA does not register.
std::string drop_foreign_attributes(const std::string& s) {
  std::string out;
  size_t i = 0;
  while (i < s.size()) {
    const char c = s[i];
    const bool start = (std::isalpha(static_cast<unsigned char>(c)) || c == '_') &&
                       (i == 0 || (!ident(s[i - 1]) && std::string("%@#!.\"").find(s[i - 1]) == std::string::npos));
    if (!start) {
      out += c;
      ++i;
      continue;
    }
    size_t j = i;
    while (j < s.size() && ident(s[j])) ++j;
    const std::string dialect = s.substr(i, j - i);
    size_t k = j;
    if (k < s.size() && s[k] == '.') {
      ++k;
      while (k < s.size() && (ident(s[k]) || s[k] == '.')) ++k;
    }
    const bool assignment = k > j + 1 && s.compare(k, 3, " = ") == 0;
    if (!assignment || known_dialects().count(dialect)) {
      out += s.substr(i, k - i);
      i = k;
      continue;
    }
    size_t end = value_end(s, k + 3);
    if (end < s.size() && s[end] == ',') {
      ++end;
    } else {
      while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
      if (!out.empty() && out.back() == ',') out.pop_back();
    }
    i = end;
  }
  return out;
}

void name_main(std::string& text) {
  if (text.find("@main") != std::string::npos) return;
  static const std::regex function(R"(func(?:\.func)? (?!private)(?:public )?@(\w+))");
  std::smatch match;
  if (!std::regex_search(text, match, function)) return;
  const std::string name = "@" + match[1].str();
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(name, at)) != std::string::npos; at = hit + name.size()) {
    const bool whole = hit + name.size() >= text.size() || !ident(text[hit + name.size()]);
    out += text.substr(at, hit - at) + (whole ? "@main" : name);
  }
  text = out + text.substr(at);
}

}  // namespace

std::string clean_stablehlo(const std::string& text) {
  std::string s = drop_foreign_attributes(splat_resources(parameters_for_elided(text)));
  static const std::regex separator("(^|\n)-{4,}[^\n]*");
  s = std::regex_replace(s, separator, "\n");
  name_main(s);
  return s;
}

}  // namespace hone::xla_side
