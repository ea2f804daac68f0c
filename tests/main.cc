#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <iostream>
#include <set>

#include "tests/skip.h"

namespace {

std::set<std::string>& skipped_cases() {
  static std::set<std::string> names;
  return names;
}

class SkippedCases : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats& stats) override {
    TestEventListenerBase::testRunEnded(stats);
    std::cout << skipped_cases().size() << " test cases skipped" << std::endl;
  }
};

CATCH_REGISTER_LISTENER(SkippedCases)

}  // namespace

void hone::skip_case(const std::string& why) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  if (skipped_cases().insert(name).second) std::cout << "SKIPPED: " << name << ": " << why << std::endl;
}
