#include "graph/winograd_form.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("a form of Winograd's method is read as it is printed") {
  for (const WinogradForm form :
       {WinogradForm{.tile = 4}, WinogradForm{.tile = 2, .strips = 7},
        WinogradForm{.use = WinogradUse::Gradient, .tile = 2, .strips = 4}, WinogradForm{.use = WinogradUse::Split},
        WinogradForm{.use = WinogradUse::Kernel, .tile = 2}})
    CHECK(WinogradForm::parse(to_text(form)) == form);
  CHECK(to_text(WinogradForm{.tile = 6, .strips = 3}) == "winograd=6;strips=3");
  CHECK(to_text(WinogradForm{.use = WinogradUse::Gradient}) == "gradient-winograd=4");
  CHECK(to_text(WinogradForm{.use = WinogradUse::Split, .strips = 2}) == "split-winograd=4;strips=2");
  CHECK(to_text(WinogradForm{.use = WinogradUse::Kernel}) == "kernel-winograd=4");
}

TEST_CASE("other text is no form of Winograd's method") {
  for (const char* text : {"", "default", "shifted", "gradient-", "split-split-winograd=4", "gradient-split-winograd=4",
                           "winograd", "winograd=", "winograd=1", "winograd=-4", "winograd=4;", "winograd=4;strips=1",
                           "winograd=4;strips=", "winograd=4;strips=2;", "winograd=4 ", "winograd=99999999999",
                           "kernel-winograd=4;strips=2"})
    CHECK_FALSE(WinogradForm::parse(text));
}

}  // namespace hone
