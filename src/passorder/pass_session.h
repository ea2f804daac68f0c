// Programs under XLA's passes: a worker that runs the passes, and a cache of the result of each pass in each state, so that a
// known step needs no message. A pass that aborts or hangs ends the worker, never this process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/npz.h"
#include "features/opcodes.h"
#include "graph/kernel.h"
#include "passorder/environment.h"
#include "wire/client.h"

namespace hone::passorder {

struct PassInfo {
  std::string name, group, meaning;
  bool default_action = false;
  bool changes_numerics = false;
  std::string note;  // why it is not a default action; empty if it is one
};

// The result of a list of passes on a program.
struct PassState {
  std::string fingerprint;                             // equal for states that differ only in names
  int64_t instructions = 0;                            // of all computations
  std::array<float, features::kOpcodeCount> counts{};  // by features::opcode_number
  // XLA's HloCostAnalysis; 0 unless `costed`, see PassSession::with_costs.
  double flops = 0, transcendentals = 0, bytes = 0;
  bool costed = false;
  double cost() const { return flops + 2 * transcendentals; }
};
using PassStatePtr = std::shared_ptr<const PassState>;

// The passes that changed something, oldest first. Together with the program it determines a state.
using PassHistory = std::vector<std::string>;

struct PassStep {
  PassStatePtr state;  // the old one if nothing changed
  bool changed = false;
  bool cached = false;  // known, so no pass ran
  double ms = 0;        // time of the pass if it ran
  std::string error;    // empty = none; otherwise the state is the old one
};

// Run time of a program after an order of passes against the untouched program, interleaved in one process.
struct PassDuel {
  bool verified = false;  // outputs equal within tolerance, and could have been wrong
  double baseline_ns = 0, candidate_ns = 0, ratio = 0, ratio_low = 0, ratio_high = 0;  // baseline / candidate
  std::string error;  // it did not compile, crashed or took too long, or outputs differ
};

// The effort of one duel.
struct PassDuelEffort {
  double budget_ms = 200;  // of its runs
  int max_rounds = 30;     // a round runs each side for about 1 ms or once
};

// The kernels that XLA makes of a program. The fingerprint is that of all of them with their counts: programs of equal
// fingerprints spend the same time in them.
struct OrderKernels {
  std::string fingerprint;
  std::vector<Kernel> kernels;  // distinct; of those known only fingerprint and count
};

struct PassSessionOptions {
  wire::WorkerOptions worker;
  double step_limit_s = 20;      // for one pass, replay included
  double kernels_limit_s = 120;  // for compiling a program as far as its kernels
  bool costs = true;             // of every state with the step that leads to it; untouched programs always have them
  size_t memory_states = 50000;  // states and steps in the cache, which is cleared when full
  int threads = 1;               // of a measured run
  uint64_t seed = 0;             // of generated inputs
  std::string max_isa;           // of a measured run: widest instruction set (base/isa.h); empty = the CPU's
};

struct PassCounters {
  int64_t steps = 0, cached = 0, changed = 0, failed = 0;
  double pass_ms = 0, call_ms = 0;  // time in passes; time in calls of the worker, passes included
};

// May be shared between threads; calls are serialised. Use it from a thread that outlives it, or see wire::Worker.
class PassSession {
 public:
  explicit PassSession(PassSessionOptions options);  // throws Error for a limit beyond this CPU

  const std::vector<PassInfo>& passes();      // all, in the order of the table
  std::vector<std::string> default_passes();  // names of the default action set
  void check_pass(const std::string& name);   // throws Error for an unknown one

  // Loads a program into the worker once; returns its key. Throws Error for bytes XLA cannot read.
  std::string load(const std::string& bytes, const std::string& name);
  // The same for a file, read once.
  std::string load_file(const std::string& path);
  std::string file_sha256(const std::string& path);  // of what load_file read from there
  void set_inputs(const std::string& program, const std::vector<NamedArray>& inputs);  // in the order of the parameters
  PassStatePtr initial(const std::string& program);

  // Runs one pass on the program's state after `history`. Throws Error for an unknown pass or program.
  PassStep step(const std::string& program, const PassStatePtr& state, const PassHistory& history,
                const std::string& pass);

  // The state after `history` with its costs, which are asked for where the step that led to it brought none. Throws RunError or
  // wire::WorkerFailure if the worker cannot reach the state again.
  PassStatePtr with_costs(const std::string& program, const PassStatePtr& state, const PassHistory& history);

  std::string hlo(const std::string& program, const PassHistory& history);     // text
  std::string verify(const std::string& program, const PassHistory& history);  // XLA's verifier; empty = valid
  std::shared_ptr<const GraphObservation> graph(const std::string& program, const PassState& state,
                                                const PassHistory& history);
  PassDuel measure(const std::string& program, const PassHistory& history, double budget_ms = 200) {
    return duel(program, history, {budget_ms});
  }
  PassDuel duel(const std::string& program, const PassHistory& history, const PassDuelEffort& effort);
  // The next request, a duel for example, is answered by a process of its own, with memory laid out anew.
  void fresh_process();
  // Compiles the program after the passes as far as its kernels. `known`: hash64 of fingerprints of kernels to describe briefly,
  // ascending. Throws RunError if XLA cannot compile it, wire::WorkerFailure if the worker dies or takes too long.
  OrderKernels kernels(const std::string& program, const PassHistory& history, std::vector<uint64_t> known = {});

  const PassSessionOptions& options() const { return options_; }
  const PassCounters& counters() const { return counters_; }
  int worker_pid() const { return worker_.pid(); }  // -1 when none runs; for tests
  int worker_restarts() const { return worker_.restarts(); }

 private:
  struct Known {  // the result of a pass on a state
    PassStatePtr state;
    std::string error;
    double ms = 0;
  };
  wire::ApplyReplyT apply(wire::ApplyRequestT request, double limit_s);
  std::unique_ptr<wire::TargetT> target() const;
  PassStatePtr remember(const wire::ApplyReplyT& reply, bool costed);
  Known run(const std::string& program, const PassState& state, const PassHistory& history, const std::string& pass,
            bool& lasting);

  PassSessionOptions options_;
  std::recursive_mutex mutex_;
  wire::Worker worker_;
  std::vector<PassInfo> passes_;
  std::unordered_map<std::string, PassStatePtr> states_;    // by fingerprint
  std::unordered_map<std::string, Known> steps_;            // by fingerprint and pass
  std::unordered_map<std::string, PassStatePtr> programs_;  // initial states by key
  struct File {
    std::string program, sha256;
  };
  std::unordered_map<std::string, File> files_;                                      // by path
  std::unordered_map<std::string, std::shared_ptr<const GraphObservation>> graphs_;  // by fingerprint
  PassCounters counters_;
};

}  // namespace hone::passorder
