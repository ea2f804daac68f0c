#include "passorder/vector_environment.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/rng.h"

namespace hone::passorder {

struct VectorEnvironment::Slot {
  std::unique_ptr<Environment> environment;
  int64_t episode = -1;          // -1 = none has begun
  std::vector<int64_t> actions;  // of this episode
  double return_ = 0;
};

// One thread per environment; run() calls its work with each index and waits for all.
class VectorEnvironment::Threads {
 public:
  explicit Threads(int64_t count) : errors_(count) {
    for (int64_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(const std::function<void(int64_t)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    waiting_ = static_cast<int64_t>(threads_.size());
    ++round_;
    begin_.notify_all();
    end_.wait(lock, [this] { return waiting_ == 0; });
    for (std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

 private:
  void serve(int64_t index) {
    int64_t done = 0;
    for (;;) {
      const std::function<void(int64_t)>* work = nullptr;
      {
        std::unique_lock lock(mutex_);
        begin_.wait(lock, [&] { return closing_ || round_ > done; });
        if (closing_) return;
        done = round_;
        work = work_;
      }
      std::exception_ptr error;
      try {
        (*work)(index);
      } catch (...) {  // rethrown by run() in the caller's thread
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      errors_[index] = error;
      if (--waiting_ == 0) end_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int64_t)>* work_ = nullptr;
  int64_t round_ = 0, waiting_ = 0;
  bool closing_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

VectorEnvironment::VectorEnvironment(int64_t count, const EnvironmentFactory& factory, uint64_t seed, bool threads)
    : seed_(seed) {
  if (count < 1) throw Error("at least one environment is needed");
  for (int64_t i = 0; i < count; ++i) {
    slots_.emplace_back();
    slots_.back().environment = factory(i);
    if (!(slots_.back().environment->spec() == slots_.front().environment->spec()))
      throw InternalError("the environments of a run have different specs");
  }
  if (threads && count > 1) threads_ = std::make_unique<Threads>(count);
}

VectorEnvironment::~VectorEnvironment() = default;

const EnvironmentSpec& VectorEnvironment::spec() const { return slots_.front().environment->spec(); }
int64_t VectorEnvironment::count() const { return static_cast<int64_t>(slots_.size()); }

void VectorEnvironment::for_each(const std::function<void(int64_t)>& work) {
  if (threads_) return threads_->run(work);
  std::exception_ptr first;
  for (int64_t i = 0; i < count(); ++i) {
    try {
      work(i);
    } catch (...) {  // rethrown after the others, as with threads
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

Observation VectorEnvironment::begin(int64_t index, int64_t episode) {
  Slot& slot = slots_[index];
  slot.episode = episode;
  slot.actions.clear();
  slot.return_ = 0;
  Rng of_run(seed_);
  Rng of_environment(of_run() + static_cast<uint64_t>(index));
  return slot.environment->reset(Rng(of_environment() + static_cast<uint64_t>(episode))());
}

const std::vector<Observation>& VectorEnvironment::observations() {
  if (observations_.empty()) {
    std::vector<Observation> first(slots_.size());
    for_each([&](int64_t i) { first[i] = begin(i, 0); });
    observations_ = std::move(first);
  }
  return observations_;
}

const std::vector<Observation>& VectorEnvironment::restart(uint64_t seed) {
  seed_ = seed;
  observations_.clear();
  return observations();
}

const Environment& VectorEnvironment::environment(int64_t index) const { return *slots_.at(index).environment; }

void VectorEnvironment::check_actions(std::span<const int64_t> actions) const {
  if (static_cast<int64_t>(actions.size()) != count())
    throw Error(std::to_string(actions.size()) + " actions for " + std::to_string(count()) + " environments",
                "actions");
  for (const int64_t action : actions)
    if (action < 0 || action >= spec().actions)
      throw Error("action " + std::to_string(action) + " is out of range", "actions",
                  "0 to " + std::to_string(spec().actions - 1));
}

std::vector<VectorStep> VectorEnvironment::step(std::span<const int64_t> actions, bool last_info) {
  check_actions(actions);
  observations();
  std::vector<VectorStep> steps(slots_.size());
  for_each([&](int64_t i) {
    Slot& slot = slots_[i];
    VectorStep& out = steps[i];
    out.step = slot.environment->step(actions[i]);
    slot.actions.push_back(actions[i]);
    slot.return_ += out.step.reward;
    if (!out.step.done()) {
      out.next = out.step.observation;
      return;
    }
    out.return_ = slot.return_;
    out.length = static_cast<int64_t>(slot.actions.size());
    if (last_info) out.info = slot.environment->info();
    out.next = begin(i, slot.episode + 1);
  });
  for (size_t i = 0; i < steps.size(); ++i) observations_[i] = steps[i].next;
  return steps;
}

nlohmann::json VectorEnvironment::save() const {
  nlohmann::json state = nlohmann::json::array();
  for (const Slot& slot : slots_) state.push_back({{"episode", slot.episode}, {"actions", slot.actions}});
  return state;
}

void VectorEnvironment::check_state(const nlohmann::json& state) const {
  if (!state.is_array() || static_cast<int64_t>(state.size()) != count())
    throw Error("the saved state has another number of environments");
  const auto in_range = [&](const nlohmann::json& action) {
    return action.is_number_integer() && action.get<int64_t>() >= 0 && action.get<int64_t>() < spec().actions;
  };
  for (const auto& slot : state) {
    if (!slot.is_object() || !slot.contains("episode") || !slot["episode"].is_number_integer() ||
        !slot.contains("actions") || !slot["actions"].is_array())
      throw Error("the saved state has no episode or actions of an environment");
    for (const auto& action : slot["actions"])
      if (!in_range(action)) throw Error("action " + action.dump() + " of the saved state is out of range");
  }
}

void VectorEnvironment::restore(const nlohmann::json& state) { restore(state, seed_); }

void VectorEnvironment::restore(const nlohmann::json& state, uint64_t seed) {
  check_state(state);
  seed_ = seed;
  observations_.clear();
  if (state.front().at("episode").get<int64_t>() < 0) return;
  std::vector<Observation> now(slots_.size());
  for_each([&](int64_t i) {
    now[i] = begin(i, state[i].at("episode").get<int64_t>());
    for (const auto& action : state[i].at("actions")) {
      const Step step = slots_[i].environment->step(action.get<int64_t>());
      slots_[i].actions.push_back(action.get<int64_t>());
      slots_[i].return_ += step.reward;
      if (step.done()) throw Error("an episode of the saved state is longer than those here");
      now[i] = step.observation;
    }
  });
  observations_ = std::move(now);
}

}  // namespace hone::passorder
