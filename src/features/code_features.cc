#include "features/code_features.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "features/code_cycles.h"
#include "features/code_loops.h"
#include "features/elf.h"

namespace hone::features {
namespace {

constexpr double kLineBytes = 64;
constexpr int kCallPasses = 3;  // for functions that are called by functions that are called

double large(double value) { return std::log1p(std::max(0.0, value)); }

// One function with its loops, and how often it is called.
struct Body {
  const ObjectFunction* function = nullptr;
  CodeFlow flow;
  double calls = 1;

  double runs_of(size_t instruction) const { return calls * flow.runs_of[instruction]; }
  // The name that a call's target has, if it has one.
  const std::string* called(size_t instruction) const {
    const uint64_t at = flow.offsets[instruction];
    const auto name = function->names.lower_bound(at);
    if (name == function->names.end() || name->first >= at + flow.instructions[instruction].length) return nullptr;
    return &name->second;
  }
  const uint8_t* call_target(size_t instruction) const {
    return function->code.data() + flow.offsets[instruction] + flow.instructions[instruction].branch_to;
  }
};

void count_calls(std::vector<Body>& bodies) {
  for (Body& body : bodies) body.calls = body.function->exported ? 1 : 0;
  for (int pass = 0; pass < kCallPasses; ++pass) {
    std::map<const Body*, double> calls;
    for (const Body& body : bodies)
      for (size_t i = 0; i < body.flow.instructions.size(); ++i) {
        if (body.flow.instructions[i].kind != CodeKind::k_call || body.flow.instructions[i].indirect) continue;
        const std::string* name = body.called(i);
        for (const Body& other : bodies)
          if (name ? other.function->name == *name : other.function->code.data() == body.call_target(i))
            calls[&other] += body.runs_of(i);
      }
    for (Body& body : bodies) body.calls = (body.function->exported ? 1 : 0) + calls[&body];
  }
}

void count_call(const Body& body, size_t instruction, CodeSummary& s) {
  const double runs = body.runs_of(instruction);
  const std::string* name = body.called(instruction);
  const auto has = [&](const char* part) { return name != nullptr && name->find(part) != std::string::npos; };
  if (has("mem"))
    s.memory_calls += runs;
  else if (body.flow.instructions[instruction].indirect || (name != nullptr && !has("xla") && !has("hone")))
    s.math_calls += runs;
  else
    s.other_calls += runs;
}

void count_instructions(const Body& body, CodeSummary& s) {
  for (size_t n = 0; n < body.flow.instructions.size(); ++n) {
    const Instruction& i = body.flow.instructions[n];
    const double runs = body.runs_of(n);
    s.kinds[static_cast<int>(i.kind)] += runs;
    s.runs += runs;
    if (info_of(i.kind).arithmetic)
      s.arithmetic[i.vector_bits == 512 ? 3 : i.vector_bits == 256 ? 2 : i.vector_bits == 128 ? 1 : 0] += runs;
    const bool of_stack = i.memory.base == kStackRegister ||
                          (i.memory.base == kFrameRegister && body.flow.has_frame && i.memory.index < 0);
    if (i.loads) (of_stack ? s.stack_loads : s.loads) += runs;
    if (i.stores) (of_stack ? s.spills : s.stores) += runs;
    if (i.kind == CodeKind::k_call) count_call(body, n, s);
  }
}

// Accesses of a loop with the same registers.
struct Group {
  double step = 0, accesses = 0;
};

void count_accesses(const Body& body, CodeSummary& s) {
  for (const CodeLoop& loop : body.flow.loops) {
    const double runs = loop.runs_in_all * body.calls;
    std::map<int, Group> groups;
    for (const LoopAccess& access : loop.accesses) {
      if (!access.known) {
        s.unknown_accesses += body.runs_of(access.instruction);
        continue;
      }
      Group& group = groups[access.group];
      group.step = std::max(group.step, std::abs(static_cast<double>(access.stride)));
      group.accesses += body.runs_of(access.instruction);
    }
    for (const auto& [number, group] : groups) {
      const double lines = kLineBytes * group.accesses / std::max(runs, 1e-9);  // of one run, at most
      (group.step == 0 ? s.fixed_accesses : group.step <= lines ? s.near_accesses : s.far_accesses) += group.accesses;
      s.line_bytes += std::min(group.step, lines) * runs;
      if (loop.innermost) s.largest_step = std::max(s.largest_step, group.step);
    }
  }
}

void add_cycles(const BodyCycles& c, double runs, CodeSummary& s) {
  s.cycles += runs * c.in_all();
  s.pipe_cycles += runs * c.pipes;
  s.front_cycles += runs * c.front;
  s.chain_cycles += runs * c.chain;
  s.load_cycles += runs * c.loads;
  s.divide_cycles += runs * c.divides;
}

void count_cycles(const Body& body, CodeSummary& s) {
  const CodeFlow& flow = body.flow;
  std::vector<std::vector<BodyInstruction>> own(flow.loops.size() + 1);  // of each loop, and of none
  for (size_t i = 0; i < flow.instructions.size(); ++i) {
    const int loop = flow.loop_of[i];
    const double runs = loop < 0 ? 1 : flow.loops[loop].runs_in_all;
    if (runs > 0 && flow.runs_of[i] > 0)
      own[loop < 0 ? flow.loops.size() : loop].push_back({&flow.instructions[i], flow.runs_of[i] / runs});
  }
  add_cycles(body_cycles(own.back(), /*repeats=*/false), body.calls, s);
  for (size_t n = 0; n < flow.loops.size(); ++n) {
    const CodeLoop& loop = flow.loops[n];
    const double runs = loop.runs_in_all * body.calls;
    const BodyCycles c = body_cycles(own[n], /*repeats=*/true);
    add_cycles(c, runs, s);
    bool unknown = false;
    for (int outer = static_cast<int>(n); outer >= 0; outer = flow.loops[outer].parent)
      unknown = unknown || !flow.loops[outer].known;
    if (unknown) s.unknown_cycles += runs * c.in_all();
    s.loop_entries += runs / loop.runs;
    ++s.loops;
    s.unknown_loops += !loop.known;
    s.loop_depth = std::max(s.loop_depth, loop.depth);
    if (runs * c.in_all() <= s.busiest.cycles) continue;
    s.busiest = {runs * c.in_all(), c.in_all(), loop.runs, static_cast<double>(own[n].size()), 0, loop.depth};
    for (const auto& [i, share] : own[n])
      if (info_of(i->kind).arithmetic || i->kind == CodeKind::k_vector_move)
        s.busiest.vector_bits = std::max<int>(s.busiest.vector_bits, i->vector_bits);
  }
}

}  // namespace

void add_functions(std::span<const ObjectFunction> functions, CodeSummary& s) {
  std::vector<Body> bodies;
  for (const ObjectFunction& function : functions) bodies.push_back({&function, code_flow(function.code)});
  count_calls(bodies);
  ++s.objects;
  s.functions += static_cast<int>(functions.size());
  for (const Body& body : bodies) {
    s.code_bytes += static_cast<double>(body.function->code.size());
    s.instructions += static_cast<double>(body.flow.instructions.size());
    count_instructions(body, s);
    count_accesses(body, s);
    count_cycles(body, s);
  }
}

CodeSummary summary_of_code(const std::vector<std::string>& objects) {
  CodeSummary s;
  for (const std::string& object : objects) add_functions(functions_of_object(object), s);
  return s;
}

const std::vector<std::string>& code_feature_names() {
  static const std::vector<std::string> names = {
#define KIND(name, arithmetic, latency, per_cycle) "code_kind_" #name,
#include "features/x86_kinds.def"
#undef KIND
#define CODE(name, value) "code_" #name,
#include "features/code_features.def"
#undef CODE
  };
  return names;
}

std::vector<float> code_features(const CodeSummary& s) {
  std::vector<float> row;
  for (const double count : s.kinds) row.push_back(static_cast<float>(large(count)));
#define CODE(name, value) row.push_back(static_cast<float>(value));
#include "features/code_features.def"
#undef CODE
  return row;
}

}  // namespace hone::features
