// What the worker keeps between requests, and its answer to each kind of request (serve_*.cc).
#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "decisions/code_cache.h"
#include "decisions/kernels.h"
#include "measure/program.h"
#include "passes/pass_states.h"
#include "wire/hone_generated.h"

namespace hone::xla_side {

// A kernel on its own: default executable, its inputs and outputs.
struct MeasuredKernel {
  std::string key;
  std::vector<xla::Literal> inputs, reference;
  std::unique_ptr<Executable> baseline;
  double compile_ms = 0;
};

struct Handlers {
  std::unique_ptr<CodeCache> code;  // null: everything is compiled
  std::map<std::string, std::unique_ptr<Program>> programs;
  std::list<MeasuredKernel> kernels;                             // most recent first, at most 3
  std::map<std::string, PassStates> states;                      // of programs passes are run on
  std::map<std::tuple<int, int, bool>, KernelMemory> described;  // kernels by threads, most tiles, with protos or not

  Program& program(const std::string& key);  // throws Error when it is not loaded

  // Each throws Error for what is wrong with the request, StageError or RunError for what failed.
  wire::HelloReplyT hello();
  wire::LoadReplyT load(const wire::LoadRequestT& request);
  wire::InputsReplyT inputs(const wire::InputsRequestT& request);
  wire::LowerReplyT lower(const wire::LowerRequestT& request);
  wire::ListKernelsReplyT list_kernels(const wire::ListKernelsRequestT& request);
  wire::ListLayoutsReplyT list_layouts(const wire::ListLayoutsRequestT& request);
  wire::MeasureReplyT measure(const wire::MeasureRequestT& request);
  wire::RunReplyT run(const wire::RunRequestT& request);
  wire::ApplyReplyT apply(const wire::ApplyRequestT& request);

 private:
  // The program a lowering under these decisions is about, with inputs where they are folded into it.
  Program& to_lower(const std::string& key, const wire::TargetT* target, const Decisions& decisions);
  MeasuredKernel& kernel(const wire::MeasureRequestT& request, const CompileTarget& target);
  wire::MeasureReplyT measure_program(const wire::MeasureRequestT& request);
  wire::MeasureReplyT measure_kernel(const wire::MeasureRequestT& request);
};

}  // namespace hone::xla_side
