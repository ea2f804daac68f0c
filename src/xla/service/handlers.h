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
#include "measure/exact.h"
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

// An operation of a program, as a program of its own.
struct OperationAlone {
  std::string key;
  std::unique_ptr<Program> program;
  std::vector<int> weights;  // its declared parameters
  // Once it was measured; nothing for other operations than convolutions and dots.
  std::optional<ExactSamples> exact = {};
  double default_error = 0;
  bool sampled = false;
};

struct Handlers {
  std::unique_ptr<CodeCache> code;  // null: everything is compiled
  std::map<std::string, std::unique_ptr<Program>> programs;
  std::list<MeasuredKernel> kernels;                  // most recent first, at most 3
  std::list<OperationAlone> operations;               // the same
  std::map<std::string, PassStates> states;           // of programs that passes are run on
  std::list<std::pair<std::string, InputSet>> kinds;  // inputs of programs by kind, most recent first
  // Kernels by threads, instruction set, most tiles, with protos or not.
  std::map<std::tuple<int, std::string, int, bool>, KernelMemory> described;

  Program& program(const std::string& key);  // throws Error when it is not loaded

  // Each throws Error for invalid requests, StageError or RunError for failures.
  wire::HelloReplyT hello();
  wire::LoadReplyT load(const wire::LoadRequestT& request);
  wire::InputsReplyT inputs(const wire::InputsRequestT& request);
  wire::LowerReplyT lower(const wire::LowerRequestT& request);
  wire::ListKernelsReplyT list_kernels(const wire::ListKernelsRequestT& request);
  wire::ListLayoutsReplyT list_layouts(const wire::ListLayoutsRequestT& request);
  wire::MeasureReplyT measure(const wire::MeasureRequestT& request);
  wire::CompileReplyT compile(const wire::CompileRequestT& request);
  wire::ConvertReplyT convert(const wire::ConvertRequestT& request);
  wire::JudgeReplyT judge(const wire::JudgeRequestT& request);
  wire::RunReplyT run(const wire::RunRequestT& request);
  wire::ExportReplyT export_program(const wire::ExportRequestT& request);
  wire::VerifyReplyT verify_outputs(const wire::VerifyRequestT& request);
  wire::CheckReplyT check_outputs(const wire::CheckRequestT& request);
  wire::PartitionReplyT partition_program(const wire::PartitionRequestT& request);
  wire::RunShardedReplyT run_sharded(const wire::RunShardedRequestT& request);
  wire::ApplyReplyT apply(const wire::ApplyRequestT& request);

 private:
  // Null where the kind changes none of the program's inputs.
  InputSet* inputs_of(const wire::CheckRequestT& request, Program& program);
  // The program to lower under these decisions, with inputs if they are folded into it.
  Program& to_lower(const std::string& key, const wire::TargetT* target, const Decisions& decisions);
  MeasuredKernel& kernel(const wire::MeasureRequestT& request, const CompileTarget& target);
  OperationAlone& operation(const wire::MeasureRequestT& request, const CompileTarget& target);
  wire::MeasureReplyT measure_program(const wire::MeasureRequestT& request);
  wire::MeasureReplyT measure_operation(const wire::MeasureRequestT& request);
  wire::CompileReplyT compile_alone(const wire::CompileRequestT& request);
  wire::MeasureReplyT measure_kernel(const wire::MeasureRequestT& request);
};

}  // namespace hone::xla_side
