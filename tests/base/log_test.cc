#include "base/log.h"

#include <catch2/catch.hpp>

using namespace hone;

TEST_CASE("verbosity sets what is logged") {
  set_up_log(Verbosity::Verbose);
  CHECK(spdlog::should_log(spdlog::level::debug));
  set_up_log(Verbosity::Normal);
  CHECK(spdlog::should_log(spdlog::level::info));
  CHECK_FALSE(spdlog::should_log(spdlog::level::debug));
  set_up_log(Verbosity::Quiet);
  CHECK(spdlog::should_log(spdlog::level::err));
  CHECK_FALSE(spdlog::should_log(spdlog::level::warn));
}
