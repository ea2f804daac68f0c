#include "wire/client.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"

using namespace hone::wire;
using Catch::Contains;
using Kind = WorkerFailure::Kind;

namespace {

constexpr double kShort_s = 0.3;

WorkerOptions fake() {
  WorkerOptions options;
  options.program = HONE_BUILD_DIR "/fake_worker";
  options.timeout_s = 60;
  return options;
}

LoadReplyT load(Worker& worker, const std::string& name, double timeout_s = 0, size_t bytes = 0) {
  LoadRequestT request;
  request.name = name;
  request.bytes.assign(bytes, 7);
  return worker.call<LoadReplyT>(std::move(request), timeout_s);
}

void give_inputs(Worker& worker, const std::string& program, size_t bytes) {
  InputsRequestT request;
  request.program = program;
  request.inputs.push_back(std::make_unique<ArrayT>());
  request.inputs.back()->type = "u8";
  request.inputs.back()->data.assign(bytes, 1);
  worker.call<InputsReplyT>(std::move(request));
}

// {bytes of the worker's inputs for the program, number of loads in the process}
std::vector<double> run(Worker& worker, const std::string& program) {
  RunRequestT request;
  request.program = program;
  return worker.call<RunReplyT>(std::move(request)).times_ns;
}

struct Death {
  Kind kind;
  std::string message;
};

Death failure_of(Worker& worker, const std::string& name, double timeout_s = 0) {
  try {
    load(worker, name, timeout_s);
  } catch (const WorkerFailure& failure) {
    return {failure.kind(), failure.what()};
  }
  FAIL("loading '" << name << "' did not fail");
  return {};
}

}  // namespace

TEST_CASE("a worker starts at the first call and answers many") {
  Worker worker(fake());
  CHECK(worker.pid() == -1);
  for (int i = 1; i <= 200; ++i) REQUIRE(load(worker, "a").instructions == i);
  CHECK(worker.pid() > 0);
  CHECK(worker.restarts() == 0);
}

TEST_CASE("each kind of failure of a worker fails one request and is reported as its kind") {
  struct Case {
    const char* name;
    Kind kind;
    const char* message;
  };
  const Case cases[] = {
      {"crash", Kind::Crashed, "(SIGABRT): xla/layout.cc:42] Check failed: shape.has_layout() f32[2]"},
      {"segfault", Kind::Crashed, "SIGSEGV"},
      {"killed", Kind::Killed, "SIGKILL"},
      {"exit", Kind::Crashed, "exit code 3"},
      {"garbage", Kind::Crashed, "malformed"},
      {"huge", Kind::Crashed, "malformed"},
  };
  Worker worker(fake());
  int restarts = 0;
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(load(worker, "a").program == "p:a");
    const Death failure = failure_of(worker, c.name);
    CHECK(failure.kind == c.kind);
    CHECK_THAT(failure.message, Contains(c.message));
    CHECK(worker.pid() == -1);
    CHECK(load(worker, "b").instructions == 1);
    CHECK(worker.restarts() == ++restarts);
  }
}

TEST_CASE("a worker program that does not start is not a candidate's failure") {
  const std::string program = HONE_BUILD_DIR "/no_worker.sh";
  hone::write_file(program, "#!/bin/sh\necho 'error while loading shared libraries: libgone.so' >&2\nexit 127\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  WorkerOptions options;
  options.program = program;
  Worker worker(options);
  for (int i = 0; i < 2; ++i) {
    try {
      load(worker, "a");
      FAIL("it started");
    } catch (const NoWorker& e) {
      CHECK_THAT(e.what(), Contains("libgone.so"));
      CHECK(e.where() == program);
    }
  }
}

TEST_CASE("a worker that hangs is ended at the time limit") {
  Worker worker(fake());
  load(worker, "a");
  const auto start = std::chrono::steady_clock::now();
  const Death failure = failure_of(worker, "hang", kShort_s);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(failure.kind == Kind::TimedOut);
  CHECK_THAT(failure.message, Contains("0.3 s"));
  CHECK(took.count() >= kShort_s);
  CHECK(worker.pid() == -1);
  CHECK(load(worker, "b").instructions == 1);
}

TEST_CASE("a memory limit turns into OutOfMemory") {
  WorkerOptions options = fake();
  options.memory_limit_bytes = int64_t{1} << 30;
  Worker worker(options);
  const Death failure = failure_of(worker, "oom");
  CHECK(failure.kind == Kind::OutOfMemory);
  CHECK_THAT(failure.message, Contains("bad_alloc"));
  CHECK(load(worker, "b").instructions == 1);
}

TEST_CASE("failures of a healthy worker keep their code, place and hint, and the worker") {
  Worker worker(fake());
  load(worker, "a");
  const int pid = worker.pid();
  try {
    load(worker, "bad");
    FAIL("no error");
  } catch (const hone::RunError&) {
    FAIL("bad input was reported as a failed run");
  } catch (const hone::Error& error) {
    CHECK(std::string(error.what()) == "this is no program");
    CHECK(error.where() == "line 7");
    CHECK(error.hint() == "write better");
  }
  CHECK_THROWS_AS(load(worker, "fail"), hone::RunError);
  try {
    load(worker, "fail loading");
    FAIL("no error");
  } catch (const hone::StageError& error) {
    CHECK(error.stage() == hone::Stage::Load);
    CHECK(error.where() == "line 7");
  }
  CHECK(worker.pid() == pid);
}

TEST_CASE("a new worker receives the requests of the old one again, but only those it needs") {
  Worker worker(fake());
  load(worker, "a");
  load(worker, "b");
  give_inputs(worker, "p:a", 10);
  give_inputs(worker, "p:a", 1000);
  CHECK_THROWS_AS(load(worker, "bad"), hone::Error);
  CHECK(failure_of(worker, "crash").kind == Kind::Crashed);
  CHECK(run(worker, "p:a") == std::vector<double>{1000, 1});
  CHECK(run(worker, "p:b") == std::vector<double>{0, 2});
  CHECK(run(worker, "p:a") == std::vector<double>{1000, 2});  // replayed once
  worker.kill();
  give_inputs(worker, "p:b", 5);
  CHECK(run(worker, "p:b") == std::vector<double>{5, 1});
  CHECK_THROWS_AS(run(worker, "p:unknown"), hone::Error);
}

TEST_CASE("kernels and layouts are listed, also by a new worker without the program") {
  Worker worker(fake());
  load(worker, "a");
  const auto kernels = [&](std::vector<uint64_t> known) {
    ListKernelsRequestT request;
    request.program = "p:a";
    request.known = std::move(known);
    return worker.call<ListKernelsReplyT>(std::move(request));
  };
  const auto layouts = [&](const hone::Decisions& decisions) {
    ListLayoutsRequestT request;
    request.program = "p:a";
    request.decisions = to_wire(decisions);
    return worker.call<ListLayoutsReplyT>(std::move(request));
  };
  const ListKernelsReplyT all = kernels({});
  CHECK(all.fingerprint == "a*1,b*2,");
  REQUIRE(all.kernels.size() == 2);
  CHECK(all.kernels[0]->dimension);
  CHECK(all.kernels[1]->dimension);
  const ListKernelsReplyT some = kernels({hone::hash64("a")});
  REQUIRE(some.kernels.size() == 2);
  CHECK_FALSE(some.kernels[0]->dimension);
  CHECK(some.kernels[0]->count == 1);
  CHECK(some.kernels[1]->dimension);
  CHECK(layouts({}).dimensions.empty());
  worker.kill();
  CHECK(kernels({}).instructions == 1);  // loaded again, once
  worker.kill();
  const ListLayoutsReplyT listed = layouts({{hone::DecisionKind::Passes, "order", "dce"}});
  CHECK(listed.module_proto == std::vector<uint8_t>{1, 2, 3});
  REQUIRE(listed.dimensions.size() == 1);
  CHECK(from_wire(*listed.dimensions[0]).key == "order");
}

TEST_CASE("verdicts and stages come back from a measurement") {
  Worker worker(fake());
  load(worker, "a");
  const auto measure = [&](const hone::Decisions& decisions) {
    MeasureRequestT request;
    request.program = "p:a";
    request.decisions = to_wire(decisions);
    return worker.call<MeasureReplyT>(std::move(request));
  };
  for (int verdict = 0; verdict <= static_cast<int>(Verdict::MAX); ++verdict)
    for (int stage = 0; stage <= static_cast<int>(Stage::MAX); ++stage) {
      const MeasureReplyT reply = measure({{hone::DecisionKind::Option, "verdict", std::to_string(verdict)},
                                           {hone::DecisionKind::Option, "stage", std::to_string(stage)}});
      CHECK(static_cast<int>(reply.verdict) == verdict);
      CHECK(static_cast<int>(from_wire(reply.stage)) == stage);
    }
  CHECK(measure({}).verdict == Verdict::RunFailed);  // an empty reply is not a success
}

TEST_CASE("a worker that died while idle fails no request") {
  Worker worker(fake());
  load(worker, "a");
  const int pid = worker.pid();
  REQUIRE(::kill(pid, SIGKILL) == 0);
  siginfo_t info;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);  // until it is dead
  CHECK(run(worker, "p:a") == std::vector<double>{0, 1});
  CHECK(worker.pid() != pid);
  CHECK(worker.restarts() == 1);
}

TEST_CASE("a worker with much output does not block") {
  Worker worker(fake());
  CHECK(load(worker, "talk").instructions == 1);
}

TEST_CASE("messages far larger than a socket's buffer arrive completely") {
  Worker worker(fake());
  constexpr size_t kBytes = size_t{64} << 20;
  CHECK(load(worker, "a", 0, kBytes).bytes_accessed == static_cast<double>(kBytes));
  give_inputs(worker, "p:a", kBytes);
  CHECK(run(worker, "p:a") == std::vector<double>{static_cast<double>(kBytes), 1});
}

TEST_CASE("the waiting function is called while the worker works and can stop the call") {
  Worker worker(fake());
  load(worker, "a");
  int asked = 0;
  worker.on_wait([&] {
    if (++asked == 3) throw hone::Interrupted();
  });
  CHECK_THROWS_AS(load(worker, "hang"), hone::Interrupted);
  CHECK(asked == 3);
  CHECK(worker.pid() == -1);
  worker.on_wait(nullptr);
  CHECK(run(worker, "p:a") == std::vector<double>{0, 1});
}

TEST_CASE("a worker gets its environment, its CPUs and its own process group") {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  WorkerOptions options = fake();
  options.cpus = {cpu};
  options.environment = {"FAKE_SETTING=on"};
  Worker worker(options);
  CHECK(load(worker, "a").format == "on");
  CHECK(load(worker, "malloc").format == "8589934592");
  cpu_set_t used;
  REQUIRE(::sched_getaffinity(worker.pid(), sizeof used, &used) == 0);
  CHECK(CPU_COUNT(&used) == 1);
  CHECK(CPU_ISSET(cpu, &used));
  CHECK(::getpgid(worker.pid()) == worker.pid());
  options.cpus = {100000};
  Worker impossible(options);
  CHECK_THROWS_AS(load(impossible, "a"), hone::Error);
}

TEST_CASE("a worker dies with the thread that started it") {
  Worker worker(fake());
  std::thread([&] { load(worker, "a"); }).join();
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(worker.pid()), &info, WEXITED | WNOWAIT) == 0);
  CHECK(info.si_status == SIGKILL);
}

TEST_CASE("a missing worker program is an error with a hint") {
  WorkerOptions options;
  options.program = "/nonexistent/hone-xla";
  try {
    Worker worker(options);
    FAIL("no error");
  } catch (const hone::Error& error) {
    CHECK(error.where() == options.program);
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("a program that cannot be run is an error at the first call") {
  WorkerOptions options;
  options.program = "/";
  Worker worker(options);
  CHECK_THROWS_AS(load(worker, "a"), hone::RunError);
  CHECK(worker.pid() == -1);
}

TEST_CASE("killing, moving and destroying leave no process behind") {
  int pid = 0;
  {
    Worker worker(fake());
    load(worker, "a");
    pid = worker.pid();
    Worker other = std::move(worker);
    CHECK(other.pid() == pid);
    CHECK(load(other, "a").instructions == 2);
  }
  CHECK(::kill(pid, 0) == -1);
}
