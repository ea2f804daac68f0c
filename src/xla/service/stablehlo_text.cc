#include "service/stablehlo_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace hone::xla_side {
namespace {

const std::set<std::string>& known_dialects() {
  static const std::set<std::string> dialects = {"stablehlo", "mhlo",  "chlo", "sdy",   "func",  "tf",    "jax",
                                                 "builtin",   "arith", "vhlo", "quant", "shape", "tensor"};
  return dialects;
}

bool ident(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

constexpr char kResource[] = "dense_resource<";
constexpr char kSection[] = "{-#", kSectionEnd[] = "#-}";

// The values that a file keeps at its end, `name: "0x04000000..."`, as they are written: four bytes about alignment before them.
using Resources = std::map<std::string, std::string_view, std::less<>>;

Resources resources_of(std::string_view section) {
  constexpr std::string_view kStart = ": \"0x";
  constexpr size_t kAlignment = 8;
  Resources found;
  for (size_t at = section.find(kStart); at != std::string_view::npos; at = section.find(kStart, at)) {
    size_t name = at;
    while (name > 0 &&
           (ident(section[name - 1]) || std::string_view(".-$").find(section[name - 1]) != std::string::npos))
      --name;
    const size_t value = at + kStart.size(), end = section.find('"', value);
    if (end == std::string_view::npos) break;
    if (end - value >= kAlignment)
      found.emplace(section.substr(name, at - name), section.substr(value + kAlignment, end - value - kAlignment));
    at = end;
  }
  return found;
}

// Zero of the element type of "tensor<2xf32>".
const char* zero_of(const std::string& type) {
  const std::string element = type.substr(type.find_last_of("x<") + 1);
  if (element.rfind("i1>", 0) == 0) return "false";
  if (type.find("complex") != std::string::npos) return "(0.0,0.0)";
  return element[0] == 'f' || element.rfind("bf", 0) == 0 ? "0.0" : "0";
}

// dense_resource<name> : tensor<4xf32>  ->  dense<"0x..."> : tensor<4xf32>, or dense<0.0> where the file lacks the values, which is counted.
// Truths are kept in another form there than in resources, and count as lacking.
std::string with_values(const std::string& text, const Resources& resources, int64_t& lacking) {
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(kResource, at)) != std::string::npos;) {
    const size_t name = hit + sizeof kResource - 1, colon = text.find("> : tensor<", hit);
    const size_t end = colon == std::string::npos ? colon : text.find('>', colon + 11);
    if (end == std::string::npos) break;
    const std::string type = text.substr(colon + 4, end - colon - 3);
    const auto value = resources.find(std::string_view(text).substr(name, colon - name));
    const bool known = value != resources.end() && type.find("i1>") == std::string::npos;
    out.append(text, at, hit - at);
    if (known)
      out.append("dense<\"0x").append(value->second).append("\"");
    else
      out.append("dense<").append(zero_of(type));
    out.append("> : ").append(type);
    lacking += !known;
    at = end + 1;
  }
  return out.append(text, at);
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
std::string parameters_for_elided(const std::string& text, int64_t& count) {
  const size_t main = text.find("@main(");
  if (main == std::string::npos) return text;
  const size_t open = main + 5;
  size_t close = value_end(text, open + 1);
  while (close < text.size() && text[close] == ',') close = value_end(text, close + 1);
  const size_t next = text.find("func.func", close), end = next == std::string::npos ? text.size() : next;
  if (close == text.size()) return text;
  std::string parameters, body;
  size_t at = close;
  for (size_t hit; (hit = text.find(kElided, at)) < end; ++count) {
    const size_t type_at = hit + sizeof kElided - 1;
    const size_t inside = text.find('<', type_at) + 1;
    if (inside == 0) break;
    size_t after = inside;  // tensor<4xcomplex<f32>> has brackets within
    for (int depth = 1; depth > 0 && after < text.size(); ++after)
      depth += text[after] == '<' ? 1 : text[after] == '>' ? -1 : 0;
    const std::string type = text.substr(type_at, after - type_at), name = "%elided_" + std::to_string(count);
    const bool first = count == 0 && text.find_first_not_of(" \n", open + 1) == close;
    parameters += (first ? "" : ", ") + name + ": " + type;
    body += text.substr(at, hit - at) + " = stablehlo.reshape " + name + " : (" + type + ") -> " + type;
    at = after;
  }
  if (count == 0) return text;
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

// "@f" of the first function that is not private; empty if there is none. By hand, as below: a regular expression of the standard library
// takes stack for each character of a long name.
std::string public_function(std::string_view text) {
  const auto take = [](std::string_view& rest, std::string_view word) {
    const bool there = rest.starts_with(word);
    if (there) rest.remove_prefix(word.size());
    return there;
  };
  constexpr std::string_view kFunction = "func";
  for (size_t at = text.find(kFunction); at != std::string_view::npos; at = text.find(kFunction, at + 1)) {
    std::string_view rest = text.substr(at + kFunction.size());
    take(rest, ".func");
    if (!take(rest, " ") || rest.starts_with("private")) continue;
    take(rest, "public ");
    if (!rest.starts_with('@')) continue;
    const auto end = std::find_if_not(rest.begin() + 1, rest.end(), ident);
    if (end > rest.begin() + 1) return {rest.begin(), end};
  }
  return "";
}

void name_main(std::string& text) {
  if (text.find("@main") != std::string::npos) return;
  const std::string name = public_function(text);
  if (name.empty()) return;
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(name, at)) != std::string::npos; at = hit + name.size()) {
    const bool whole = hit + name.size() >= text.size() || !ident(text[hit + name.size()]);
    out += text.substr(at, hit - at) + (whole ? "@main" : name);
  }
  text = out + text.substr(at);
}

// Lines of hyphens become empty.
std::string without_separators(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, 4, "----") != 0) out.append(text, at, end - at);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace

int64_t occurrences(std::string_view text, std::string_view part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

CleanText clean_stablehlo(const std::string& text) {
  const size_t section = std::min(text.find(kSection), text.size()), end = text.find(kSectionEnd, section);
  const size_t after = end == std::string::npos ? text.size() : end + sizeof kSectionEnd - 1;
  CleanText clean;
  std::string& s = clean.text;
  s = drop_foreign_attributes(parameters_for_elided(text.substr(0, section) + text.substr(after), clean.parameters));
  s = without_separators(s);
  name_main(s);
  clean.left_out = clean.parameters;
  s = with_values(s, resources_of(std::string_view(text).substr(section, after - section)), clean.left_out);
  return clean;
}

}  // namespace hone::xla_side
