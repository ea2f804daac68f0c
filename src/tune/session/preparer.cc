#include "tune/session/preparer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tune/session/measurer.h"

namespace hone::tune {

namespace {

constexpr double kLimitSeconds = 120;  // of one compilation
constexpr int kMostFailures = 3;       // of the worker, after which nothing is prepared any more

}  // namespace

Preparer::Preparer(wire::WorkerOptions worker, wire::TargetT target, std::string program, std::string name)
    : worker_options_(std::move(worker)),
      target_(std::move(target)),
      program_(std::move(program)),
      name_(std::move(name)) {}

Preparer::~Preparer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Preparer::want(const std::vector<Decisions>& candidates) {
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    for (const Decisions& d : candidates)
      if (!takes_constants(d) && !taken_.contains(to_text(d))) queue_.push_back(d);
    if (queue_.empty()) return;
  }
  wanted_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
}

int Preparer::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

// Waits for a candidate. Throws Stopped at the end.
Decisions Preparer::next() {
  std::unique_lock lock(mutex_);
  wanted_.wait(lock, [&] { return stop_ || !queue_.empty(); });
  if (stop_) throw Stopped();
  Decisions candidate = std::move(queue_.front());
  queue_.pop_front();
  taken_.insert(to_text(candidate));
  return candidate;
}

void Preparer::work() {
  try {
    compile_all();
  } catch (const Stopped&) {  // the end
  } catch (const std::exception& failed) {
    spdlog::debug("nothing more is prepared: {}", failed.what());
  }
}

// The worker is killed when the thread that started it ends, so this thread starts it.
void Preparer::compile_all() {
  wire::Worker worker(worker_options_);
  worker.on_wait([this] {
    const std::lock_guard lock(mutex_);
    if (stop_) throw Stopped();
  });
  std::string key;
  int loaded_in = -1;  // process of the worker that has the program
  for (int failures = 0; failures < kMostFailures;) {
    try {
      const Decisions candidate = next();
      if (loaded_in != worker.pid() || loaded_in < 0) {
        wire::LoadRequestT load;
        load.bytes.assign(program_.begin(), program_.end());
        load.name = name_;
        key = worker.call<wire::LoadReplyT>(std::move(load)).program;
        loaded_in = worker.pid();
      }
      wire::CompileRequestT request;
      request.program = key;
      request.target = std::make_unique<wire::TargetT>(target_);
      request.decisions = wire::to_wire(candidate);
      const auto reply = worker.call<wire::CompileReplyT>(std::move(request), kLimitSeconds);
      spdlog::debug("prepared {} in {:.0f} ms", to_text(candidate), reply.compile_ms);
      const std::lock_guard lock(mutex_);
      ++compiled_;
    } catch (const wire::WorkerFailure& died) {
      ++failures;
      spdlog::debug("the preparing worker: {}", died.what());
    } catch (const wire::NoWorker&) {
      throw;
    } catch (const Error& failed) {  // the measuring worker will say the same
      spdlog::debug("not prepared: {}", failed.what());
    }
  }
}

}  // namespace hone::tune
