// Stock jaxlib in a Python process of its own (python/hone/stock), asked by messages of JSON.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/npz.h"

namespace hone::request {

struct StockOptions {
  std::string program;  // for errors
  int threads = 1;    // of jaxlib's pool; with one, XLA's operations do not divide their work, and it stays on one CPU
  std::string flags;  // further XLA_FLAGS, for the whole process
};

// Ctrl-C ends a wait by Interrupted; the process never outlives this one.
class StockJax {
 public:
  // Throws RunError where Python, the package hone or jax is missing.
  explicit StockJax(const StockOptions& options);
  ~StockJax();

  const std::string& jaxlib_version() const { return jaxlib_; }
  // Sets the inputs of all programs, arr_0, arr_1, ...; an empty path: there are none.
  void set_inputs(const std::string& npz);
  // Compiles the StableHLO in the file; returns the seconds until the first result.
  double open(const std::string& name, const std::string& file, const nlohmann::json& compiler_options);
  // Times of calls in ns, as the worker takes them: of one thread what the process computed.
  std::vector<double> run(const std::string& name, int repeat);
  std::vector<NamedArray> outputs(const std::string& name);
  // Any other request of python/hone/stock/session.py. Throws RunError, with the program, for an error and when the process ends.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  struct Process;
  std::unique_ptr<Process> process_;
  std::string jaxlib_;
  bool cpu_time_;
};

}  // namespace hone::request
