// Decisions as text, and the forms of their keys and values.
#include <algorithm>
#include <stdexcept>

#include "features/encode.h"
#include "features/operation_features.h"
#include "graph/decision_family.h"
#include "graph/kernel_option.h"
#include "graph/layout_choice.h"
#include "graph/operation_key.h"
#include "graph/winograd_form.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

void read_value(const std::string& text) {
  expect_errors([&] { layout_choice_from_text(text); });
  expect_errors([&] { tile_from_text(text); });
  expect_errors([&] { features::encode_option({.element_type = 11, .dims = {64, 64}}, text, false, "8,8"); });
  if (const auto option = KernelOption::try_parse(text); option && KernelOption::parse(to_text(*option)) != *option)
    throw std::logic_error("an option is read back as another");
  if (const auto form = WinogradForm::parse(text); form && WinogradForm::parse(to_text(*form)) != *form)
    throw std::logic_error("a form is read back as another");
}

void read_key(const std::string& key, const std::string& form) {
  const auto sizes = operation_sizes(key);
  if (!sizes) return;
  operation_family(*sizes);
  sizes->flops();
  sizes->has_gradient_window();
  features::operation_features(*sizes, {}, form, features::Cpu{});
}

}  // namespace

void decisions(Bytes input) {
  const std::string text = text_of(input);
  read_value(text);
  read_key(text.substr(0, text.find('\n')), text.substr(std::min(text.find('\n'), text.size() - 1) + 1));
  expect_errors([&] {
    const Decisions read = decisions_from_text(text);
    if (decisions_from_text(to_text(read)) != read) throw std::logic_error("decisions are read back as others");
    for (const Decision& decision : read) {
      family_of(decision);
      scope_of(decision.kind, decision.key);
      read_key(decision.key, decision.value);
      read_value(decision.value);
    }
  });
}

}  // namespace hone::fuzz
