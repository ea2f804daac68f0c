// A package's decisions.json, and what is said of where it was made.
#include "report/package.h"

#include <fstream>

#include "base/files.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void package(Bytes input) {
  static const TempDir folder("fuzz");
  const auto put = [](const char* name, Bytes bytes) {
    std::ofstream(folder.path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  put("program.pb", {});
  put("decisions.json", input);
  expect_errors([&] {
    const report::LoadedPackage package = report::read_package(folder.path().string());
    const MadeWith here = made_here("", "2.21.0", {});
    Fit fit = fit_of(package.made_with, here, package.decisions);
    compare_threads(package.target.threads, here, fit);
    fit_text(fit);
    decisions_from_text(to_text(package.decisions));
    package.target.validate();
  });
}

}  // namespace hone::fuzz
