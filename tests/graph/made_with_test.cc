#include "graph/made_with.h"

#include <sched.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/isa.h"
#include "base/machine.h"

namespace hone {

using Catch::Contains;

namespace {

MadeWith here() {
  return {.cpu = "a CPU",
          .cores = 2,
          .isa = "avx512",
          .cpu_features = {"avx", "avx2", "avx512f"},
          .hone = "1.2.0",
          .xla = "wheel 7",
          .libraries = {{"onednn", "3.9.0"}, {"ynnpack", "wheel 7"}}};
}

const Decisions kPlain = {{DecisionKind::Codegen, "k1", "tile=8,8"}};
const Decisions kLibrary = {{DecisionKind::Rewrite, "convolution:x", "onednn"}};

}  // namespace

TEST_CASE("a package of this machine and build has no differences", "[graph]") {
  const Fit fit = fit_of(here(), here(), kLibrary);
  CHECK(fit.as_tuned);
  CHECK(fit.differences.empty());
  CHECK(fit_text(fit).empty());
}

TEST_CASE("a package for features that this CPU lacks does not run as tuned", "[graph]") {
  MadeWith made = here();
  made.cpu_features = {"avx2", "avx512f", "amx-int8", "avx512bf16"};
  const Fit fit = fit_of(made, here(), kPlain);
  CHECK_FALSE(fit.as_tuned);
  CHECK(fit_text(fit) ==
        "it was tuned for avx512, and this CPU lacks amx-int8, avx512bf16: default XLA runs in its place");
  made.cpu_features = {"avx2"};  // fewer are fine
  CHECK(fit_of(made, here(), kPlain).as_tuned);
}

TEST_CASE("a package of another version of XLA does not run as tuned", "[graph]") {
  MadeWith made = here();
  made.xla = "wheel 6";
  const Fit fit = fit_of(made, here(), kPlain);
  CHECK_FALSE(fit.as_tuned);
  CHECK_THAT(fit_text(fit), Contains("tuned for XLA of wheel 6, and this is wheel 7"));
  MadeWith older;  // which had only that
  older.xla = "wheel 6";
  CHECK_FALSE(fit_of(older, here(), kPlain).as_tuned);
}

TEST_CASE("libraries matter where decisions call them", "[graph]") {
  MadeWith made = here();
  made.libraries["onednn"] = "3.8.1";
  CHECK(fit_of(made, here(), kPlain).differences.empty());
  const Fit fit = fit_of(made, here(), kLibrary);
  CHECK_FALSE(fit.as_tuned);
  CHECK_THAT(fit_text(fit), Contains("it calls onednn 3.8.1, and here is 3.9.0"));
  MadeWith without = here();
  without.libraries.erase("onednn");
  CHECK_THAT(fit_text(fit_of(here(), without, kLibrary)), Contains("here is none: default XLA runs"));
}

TEST_CASE("other differences are named and run as tuned", "[graph]") {
  MadeWith made = here();
  made.hone = "1.1.0";
  made.cpu = "another CPU";
  const Fit fit = fit_of(made, here(), kPlain);
  CHECK(fit.as_tuned);
  CHECK(fit.differences.size() == 2);
  CHECK_THAT(fit_text(fit), Contains("tuned by Hone 1.1.0, and this is 1.2.0") &&
                                Contains("tuned on another CPU with 2 cores") && Contains("runs as tuned"));
}

TEST_CASE("more threads than usable cores are named and run as tuned", "[graph]") {
  Fit fit = fit_of(here(), here(), kPlain);
  compare_threads(2, here(), fit);
  CHECK(fit.differences.empty());
  compare_threads(3, here(), fit);
  CHECK(fit.as_tuned);
  CHECK_THAT(fit_text(fit), Contains("it runs on 3 threads, and this process may use 2 cores"));
}

TEST_CASE("the record counts the cores that this process may use", "[graph]") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(allowed_cpus().front(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int cores = made_here("", "x", {}).cores;
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(cores == 1);
}

TEST_CASE("packages of older versions say that they do not say", "[graph]") {
  const MadeWith made = made_with_from_json({{"format", 1}, {"xla_version", "wheel 7"}});
  const Fit fit = fit_of(made, here(), kLibrary);
  CHECK(fit.as_tuned);
  CHECK_THAT(fit_text(fit), Contains("does not say where it was made"));
}

TEST_CASE("the record is read back as it was written", "[graph]") {
  CHECK(made_with_from_json({{"xla_version", "old"}, {"made_with", to_json(here())}}) == here());
  CHECK_THROWS_WITH(made_with_from_json({{"made_with", {{"cpu", 3}}}}), Contains("'made_with'"));
  CHECK_THROWS_WITH(made_with_from_json({{"xla_version", 3}}), Contains("'xla_version'"));
}

TEST_CASE("the record of a limited tune has no features beyond the limit", "[graph]") {
  const MadeWith all = made_here("", "x", {}), limited = made_here("sse4.2", "x", {});
  CHECK(all.isa == cpu_isa());
  CHECK(limited.isa == "sse4.2");
  CHECK(limited.cpu_features.size() <= all.cpu_features.size());
  for (const std::string& feature : limited.cpu_features) CHECK(feature.find("avx") == std::string::npos);
  CHECK(fit_of(limited, all, {}).as_tuned);
  CHECK_FALSE(all.hone.empty());
}

TEST_CASE("decisions that match nothing are named, the first three of them", "[graph]") {
  CHECK(unmatched_text({}).empty());
  CHECK(unmatched_text(kPlain) == "1 of its decisions matches nothing in the program: codegen k1=tile=8,8");
  Decisions many;
  for (const char* key : {"a>b", "c>d", "e>f", "g>h", "i>j"}) many.push_back({DecisionKind::Fusion, key, "fuse"});
  CHECK_THAT(unmatched_text(many), Contains("5 of its decisions match nothing") && Contains("fusion e>f=fuse, 2 more"));
}

}  // namespace hone
