// Session: conversion to lower precision, and what it costs.
#include "base/scoped_flag.h"
#include "tune/session/session.h"
#include "wire/despite_kills.h"

namespace hone::tune {
namespace {

constexpr double kDuelMs = 2000;
constexpr double kJudgeLimitSeconds = 3600;  // f64 takes several times as long

}  // namespace

std::string Session::converted(const std::string& precision, PrecisionReport& report) {
  const auto reply = wire::despite_kills([&] {
    wire::ConvertRequestT request;
    request.program = program_.program;
    request.weights = options_.target.weights;
    request.precision = precision;
    return worker_.call<wire::ConvertReplyT>(std::move(request));
  });
  original_ = program_.program;
  report.kind = precision;
  report.weights = static_cast<int>(reply.weights.size());
  report.dots = reply.dots;
  return {reply.module_proto.begin(), reply.module_proto.end()};
}

void Session::judge_precision(const std::string& original, const Decisions& decisions, PrecisionReport& report) {
  const ScopedFlag no_limit(beyond_budget_, true);
  const auto reply = wire::despite_kills([&] {
    wire::RunRequestT first;  // a new worker process gets the original and its inputs with the first request about it
    first.program = original_;
    first.target = wire_target();
    worker_.call<wire::RunReplyT>(std::move(first), kJudgeLimitSeconds);
    wire::JudgeRequestT request;
    request.program = program_.program;
    request.original.assign(original.begin(), original.end());
    request.name = name_;
    request.target = wire_target();
    request.decisions = wire::to_wire(decisions);
    request.budget_ms = kDuelMs;
    request.cpu = measuring_cpu_;
    return worker_.call<wire::JudgeReplyT>(std::move(request), kJudgeLimitSeconds);
  });
  report.against_f64 = reply.against_f64;
  report.original_ns = reply.original_ns;
  report.tuned_ns = reply.tuned_ns;
  report.ratio = reply.ratio;
  report.ratio_low = reply.ratio_low;
  report.ratio_high = reply.ratio_high;
  for (const auto& row : reply.outputs)
    report.outputs.push_back(
        {row->shape, row->largest, row->mean, row->same_argmax, row->default_largest, row->default_mean});
}

}  // namespace hone::tune
