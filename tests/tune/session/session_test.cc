// A session on a worker with scripted replies (tests/wire/fake_worker.cc).
#include "tune/session/session.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/machine.h"
#include "tests/tune/fake_measurer.h"
#include "tune/session/replies.h"

namespace hone::tune {
namespace {

SessionOptions fake() {
  SessionOptions options;
  options.worker.program = HONE_BUILD_DIR "/fake_worker";
  return options;
}

Decisions answers(wire::Verdict verdict, Stage stage) {
  return {{DecisionKind::Option, "verdict", std::to_string(static_cast<int>(verdict))},
          {DecisionKind::Option, "stage", std::to_string(static_cast<int>(stage))}};
}

Decisions fails_at(Stage stage) { return {{DecisionKind::Option, "fail", std::to_string(static_cast<int>(stage))}}; }

}  // namespace

TEST_CASE("outcomes are the wire's verdicts", "[tune]") {
  for (int i = 0; i <= static_cast<int>(wire::Verdict::MAX); ++i)
    CHECK(static_cast<int>(outcome_of(static_cast<wire::Verdict>(i))) == i);
  CHECK_THROWS_AS(outcome_of(static_cast<wire::Verdict>(99)), InternalError);
}

TEST_CASE("a candidate's outcome and stage are those of the worker's reply", "[tune]") {
  struct Case {
    Decisions candidate;
    Outcome outcome;
    Stage stage;
    std::string status;  // in the database
  };
  const Case cases[] = {
      {answers(wire::Verdict::Mismatch, Stage::Compare), Outcome::Mismatch, Stage::Compare, "mismatch"},
      {answers(wire::Verdict::Unverified, Stage::Compare), Outcome::Unverified, Stage::Compare, "run_failed"},
      {answers(wire::Verdict::CompileFailed, Stage::Codegen), Outcome::CompileFailed, Stage::Codegen, "compile_failed"},
      {answers(wire::Verdict::RunFailed, Stage::Run), Outcome::RunFailed, Stage::Run, "run_failed"},
      {answers(wire::Verdict::Ok, Stage::None), Outcome::RunFailed, Stage::Run, "run_failed"},  // without a time
      {fails_at(Stage::Passes), Outcome::CompileFailed, Stage::Passes, "compile_failed"},
      {fails_at(Stage::Run), Outcome::RunFailed, Stage::Run, "run_failed"},
      {fails_at(Stage::None), Outcome::RunFailed, Stage::None, "run_failed"},
  };
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  Session session(fake());
  session.use_database(database, /*reuse_kernels=*/true);
  session.load("", "a");
  size_t rows = 0;
  for (const Case& c : cases) {
    INFO(to_text(c.candidate));
    const Measurement m = session.measure_program(c.candidate, {}, {});
    CHECK(m.outcome == c.outcome);
    CHECK(m.stage == c.stage);
    const auto found = database.find_program("p:a", session.host(), 1, "");
    REQUIRE(found.size() == ++rows);
    CHECK(found.back().status == c.status);
    CHECK(found.back().stage == stage_name(c.stage));
  }
}

TEST_CASE("a finished search is known by its column", "[tune]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  Session session(fake());
  session.use_database(database, /*reuse_kernels=*/true);
  session.load("", "a");
  const Kernel kernel = a_kernel("k", {"default", "loop"});
  CHECK_FALSE(session.known(kernel).best);
  Record deceiving;  // a note has no meaning for the search
  deceiving.scope = "kernel";
  deceiving.kernel = "k";
  deceiving.decisions = "default";
  deceiving.status = "compile_failed";
  deceiving.stage = "codegen";
  deceiving.note = "best of a finished search";
  deceiving.host = session.host();
  CHECK(database.add(deceiving));
  CHECK_FALSE(session.known(kernel).best);
  CHECK(session.known(kernel).measured.at("default").stage == Stage::Codegen);
  session.remember(kernel, {"loop", measured(1.5)});
  const KnownKernel known = session.known(kernel);
  REQUIRE(known.best);
  CHECK(known.best->value == "loop");
  CHECK(known.best->measurement.ratio == 1.5);
  CHECK(known.measured.size() == 1);  // the best is no measurement of its own
}

TEST_CASE("a limit of the instruction set reaches the worker, and makes another host", "[tune]") {
  CHECK(hone::host_text("a CPU", 2, "") == "a CPU, 2 cores");  // as in all databases
  CHECK(hone::host_text("a CPU", 2, "avx2") == "a CPU, 2 cores, at most avx2");

  SessionOptions options = fake();
  Session whole(options);
  whole.load("", "a");
  CHECK(whole.run({}, 1, false).fingerprint.empty());
  options.target.max_isa = "sse4.2";
  Session limited(options);
  limited.load("", "a");
  CHECK(limited.run({}, 1, false).fingerprint == "sse4.2");
  CHECK(limited.host() == whole.host() + ", at most sse4.2");

  options.target.max_isa = "sse9";
  CHECK_THROWS_AS(Session(options), Error);
}

TEST_CASE("what was measured under a limit of the instruction set is known under it alone", "[tune]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  const Kernel kernel = a_kernel("k", {"default", "loop"});
  for (const char* max_isa : {"", "sse4.2"}) {
    SessionOptions options = fake();
    options.target.max_isa = max_isa;
    Session session(options);
    session.use_database(database, /*reuse_kernels=*/true);
    session.load("", "a");
    CHECK_FALSE(session.known(kernel).best);
    session.remember(kernel, {"loop", measured(1.5)});
    CHECK(session.known(kernel).best);
  }
  CHECK(database.info().by_host.size() == 2);
}

TEST_CASE("kernels are described once and listed alike", "[tune]") {
  Session session(fake());
  session.load("", "a");
  const auto check_listed = [&] {
    const Lowered lowered = session.lower_kernels({});
    CHECK(lowered.fingerprint == "a*1,b*2,");
    REQUIRE(lowered.kernels.size() == 2);
    CHECK(lowered.kernels[0].fingerprint == "a");
    CHECK(lowered.kernels[1].count == 2);
    CHECK(lowered.kernels[1].dimension.options == std::vector<std::string>{"default"});
  };
  check_listed();
  check_listed();
  session.fresh_process();  // it has not described any kernel yet
  check_listed();
}

}  // namespace hone::tune
