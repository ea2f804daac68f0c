#include "features/code_loops.h"

#include <algorithm>
#include <optional>

#include "features/code_graph.h"
#include "features/code_values.h"

namespace hone::features {
namespace {

void decode(std::span<const uint8_t> code, CodeFlow& flow) {
  for (uint64_t at = 0; at < code.size();) {
    const Instruction i = decode_x86(code.subspan(at));
    if (i.length == 0) {
      flow.undecoded_bytes = code.size() - at;
      return;
    }
    const bool frame = i.effect == CodeEffect::Copy && i.target == kFrameRegister && i.sources[0] == kStackRegister;
    flow.has_frame = flow.has_frame || frame;
    flow.instructions.push_back(i);
    flow.offsets.push_back(at);
    at += i.length;
  }
}

// What decides whether a loop runs again.
struct Exit {
  CodeValue sides[2];   // whose difference the flags are of
  int64_t bits = -1;    // of the left side that count
  uint8_t again = 0;    // condition under which the loop runs again
  bool at_end = false;  // after the body
};

struct OpenAccess {
  size_t instruction;
  CodeValue base, index;
};

struct OpenLoop {
  CodeValues at_entry;
  std::optional<CodeValues> at_end;
  std::vector<Exit> exits;
  std::vector<OpenAccess> accesses;
};

class Walk {
 public:
  Walk(CodeFlow& flow, const CodeGraph& graph)
      : flow_(flow),
        graph_(graph),
        after_(graph.blocks.size()),
        conditions_(graph.blocks.size()),
        open_(graph.loops.size()) {}

  void run() {
    for (const int block : graph_.order) {
      enter(block);
      const CodeBlock& b = graph_.blocks[block];
      const int loop = graph_.loop_of[block];
      for (size_t i = b.first; i <= b.last; ++i) {
        const Instruction& instruction = flow_.instructions[i];
        if (loop >= 0 && (instruction.loads || instruction.stores)) note_access(loop, i);
        values_.apply(instruction, {CodeValue::Symbol, loop, kResultPlaces + static_cast<int64_t>(i), 0});
      }
      leave(block);
    }
    for (size_t n = 0; n < open_.size(); ++n) close(static_cast<int>(n));
    count_runs();
  }

 private:
  void enter(int block) {
    std::optional<CodeValues> values;
    for (const int before : graph_.blocks[block].before)
      if (after_[before]) values = values ? meet(*values, *after_[before]) : *after_[before];
    values_ = values ? *values : CodeValues();
    const int loop = graph_.loop_of[block];
    if (loop < 0 || graph_.loops[loop].header != block) return;
    open_[loop].at_entry = values_;
    for (size_t b = 0; b < graph_.blocks.size(); ++b)
      for (size_t i = graph_.blocks[b].first; graph_.loops[loop].has[b] && i <= graph_.blocks[b].last; ++i)
        values_.begin_loop(loop, flow_.instructions[i]);
  }

  void leave(int block) {
    const CodeBlock& b = graph_.blocks[block];
    const Instruction& end = flow_.instructions[b.last];
    if (end.kind == CodeKind::k_branch && b.next.size() == 2)
      conditions_[block] = {{values_.flags(0), values_.flags(1)}, values_.flag_bits(), end.condition, false};
    for (size_t n = 0; n < open_.size(); ++n) {
      const BlockLoop& loop = graph_.loops[n];
      if (!loop.has[block]) continue;
      const bool latch = std::binary_search(loop.latches.begin(), loop.latches.end(), block);
      if (latch) open_[n].at_end = open_[n].at_end ? meet(*open_[n].at_end, values_) : values_;
      if (end.kind != CodeKind::k_branch || b.next.size() != 2 || loop.has[b.next[0]] == loop.has[b.next[1]]) continue;
      const auto again = static_cast<uint8_t>(loop.has[b.next[0]] ? end.condition : end.condition ^ 1);
      open_[n].exits.push_back({{values_.flags(0), values_.flags(1)}, values_.flag_bits(), again, latch});
    }
    after_[block] = values_;
  }

  void note_access(int loop, size_t i) {
    const MemoryOperand& m = flow_.instructions[i].memory;
    if (values_.of_stack(m)) return;
    open_[loop].accesses.push_back({i, values_.of_register(m.base), values_.of_register(m.index)});
  }

  bool is_around(int outer, int loop) const {
    while (loop >= 0 && loop != outer) loop = graph_.loops[loop].parent;
    return loop == outer;
  }
  CodeValue at_end(int loop, int64_t place) const {
    return open_[loop].at_end ? open_[loop].at_end->of_place(place) : CodeValue();
  }
  // By how much a value grows from one run of the loop to the next; nullopt if that is unknown.
  std::optional<int64_t> step_of(int loop, const CodeValue& value) const {
    if (value.kind == CodeValue::Unknown) return std::nullopt;
    if (value.kind == CodeValue::Constant) return 0;
    if (value.loop != loop) return is_around(value.loop, loop) ? std::optional<int64_t>(0) : std::nullopt;
    const CodeValue end = at_end(loop, value.place);
    if (end.kind == CodeValue::Symbol && end.loop == loop && end.place == value.place) return end.number;
    return std::nullopt;
  }
  // What it is in the first run.
  CodeValue first_of(int loop, const CodeValue& value) const {
    if (value.kind != CodeValue::Symbol || value.loop != loop) return value;
    return open_[loop].at_entry.of_place(value.place) + value.number;
  }
  // What it is in the first and in the second run, where it is then a constant.
  std::optional<int64_t> in_run(int loop, const CodeValue& value, int run) const {
    CodeValue then = first_of(loop, value);
    if (run > 0 && value.kind == CodeValue::Symbol && value.loop == loop) {
      const CodeValue end = at_end(loop, value.place);
      const auto step = step_of(loop, value);
      if (end.kind != CodeValue::Constant && !step) return std::nullopt;
      then = end.kind == CodeValue::Constant ? end + value.number : then + *step;
    }
    if (then.kind != CodeValue::Constant) return std::nullopt;
    return then.number;
  }

  // How often the condition is found to hold before it does not, of a loop that runs once or twice.
  std::optional<double> few_passes(int loop, const Exit& exit) const {
    for (int run = 0; run < 2; ++run) {
      const auto left = in_run(loop, exit.sides[0], run), right = in_run(loop, exit.sides[1], run);
      if (!left || !right) return std::nullopt;
      if (passes(wrapped_difference(*left & exit.bits, *right), 0, exit.again) == 0.0) return run;
    }
    return std::nullopt;
  }
  std::optional<double> many_passes(int loop, const Exit& exit) const {
    const auto left = step_of(loop, exit.sides[0]), right = step_of(loop, exit.sides[1]);
    const auto first = difference(first_of(loop, exit.sides[0]), first_of(loop, exit.sides[1]));
    if (!left || !right || !first || exit.bits != -1) return std::nullopt;
    return passes(*first, wrapped_difference(*left, *right), exit.again);
  }

  void close(int n) {
    CodeLoop& loop = flow_.loops[n];
    for (const Exit& exit : open_[n].exits) {
      auto passed = few_passes(n, exit);
      if (!passed) passed = many_passes(n, exit);
      if (!passed) continue;
      const double runs = exit.at_end ? *passed + 1 : std::max(1.0, *passed);
      if (!loop.known || runs < loop.runs) loop.runs = runs;
      loop.known = true;
    }
    close_accesses(n);
  }

  // In what share of a loop's runs a condition holds, where it changes with them; nullopt if it does not, or that is unknown.
  std::optional<double> share_in(int loop, const Exit& condition) const {
    const double runs = flow_.loops[loop].runs;
    const auto left = step_of(loop, condition.sides[0]), right = step_of(loop, condition.sides[1]);
    const auto first = difference(first_of(loop, condition.sides[0]), first_of(loop, condition.sides[1]));
    if (!left || !right || !first || condition.bits != -1 || *left == *right) return std::nullopt;
    const bool equality = condition.again == 4 || condition.again == 5;
    const int64_t step = wrapped_difference(*left, *right);
    const auto holds = passes(*first, step, equality ? 5 : condition.again);
    if (equality) {
      const double once = holds && *holds < runs ? 1 / runs : 0;
      return condition.again == 4 ? once : 1 - once;
    }
    if (!holds) return 1;
    if (*holds > 0) return std::min(1.0, *holds / runs);
    const auto fails = passes(*first, step, condition.again ^ 1);
    return fails ? 1 - std::min(1.0, *fails / runs) : 0;
  }

  double taken(int block) const {
    if (!conditions_[block]) return 0.5;
    for (int loop = graph_.loop_of[block]; loop >= 0; loop = graph_.loops[loop].parent)
      if (const auto share = share_in(loop, *conditions_[block])) return *share;
    const CodeValue& left = conditions_[block]->sides[0];
    const int loop = graph_.loop_of[block];
    const bool fixed = loop < 0 || step_of(loop, left) == 0;
    return fixed ? taken_if_fixed(conditions_[block]->again) : 0.5;
  }
  // A condition that the loop does not change asks whether buffers overlap, most likely, or for a number of a thread. The former are far
  // apart, and none of several comparisons held; the latter is 0.
  static double taken_if_fixed(uint8_t condition) {
    constexpr double kLikely = 0.95;
    const bool likely = condition == 0x3 || condition == 0x4 || condition == 0x7 || condition == 0xe;
    const bool unlikely = condition == 0x2 || condition == 0x5 || condition == 0x6 || condition == 0xf;
    return likely ? kLikely : unlikely ? 1 - kLikely : 0.5;
  }

  void count_runs() {
    std::vector<double> loop_runs, shares;
    for (const CodeLoop& loop : flow_.loops) loop_runs.push_back(loop.runs);
    for (size_t b = 0; b < graph_.blocks.size(); ++b) shares.push_back(taken(static_cast<int>(b)));
    const std::vector<double> runs = block_runs(graph_, loop_runs, shares);
    for (size_t b = 0; b < graph_.blocks.size(); ++b)
      for (size_t i = graph_.blocks[b].first; i <= graph_.blocks[b].last; ++i) flow_.runs_of.push_back(runs[b]);
    for (size_t n = 0; n < open_.size(); ++n) flow_.loops[n].runs_in_all = runs[graph_.loops[n].header];
  }

  void close_accesses(int n) {
    std::vector<std::pair<CodeValue, CodeValue>> groups;
    for (const OpenAccess& access : open_[n].accesses) {
      const auto base = step_of(n, access.base), index = step_of(n, access.index);
      const Instruction& i = flow_.instructions[access.instruction];
      const MemoryOperand& m = i.memory;
      LoopAccess found{.instruction = access.instruction};
      const bool many = i.kind == CodeKind::k_gather || i.kind == CodeKind::k_scatter;
      found.known = !many && (m.base < 0 || base) && (m.index < 0 || index);
      if (found.known)
        found.stride = wrapped_sum(m.base < 0 ? 0 : *base, wrapped_product(m.scale, m.index < 0 ? 0 : *index));
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return same_but_constant(group.first, access.base) && same_but_constant(group.second, access.index);
      });
      found.group = static_cast<int>(same - groups.begin());
      if (same == groups.end()) groups.emplace_back(access.base, access.index);
      flow_.loops[n].accesses.push_back(found);
    }
  }

  CodeFlow& flow_;
  const CodeGraph& graph_;
  std::vector<std::optional<CodeValues>> after_;  // of each block
  std::vector<std::optional<Exit>> conditions_;   // of the jump at a block's end
  std::vector<OpenLoop> open_;
  CodeValues values_;
};

void copy_loops(const CodeGraph& graph, CodeFlow& flow) {
  for (const BlockLoop& loop : graph.loops) {
    CodeLoop& copy = flow.loops.emplace_back();
    copy.header = graph.blocks[loop.header].first;
    copy.parent = loop.parent;
    if (loop.parent < 0) continue;
    copy.depth = flow.loops[loop.parent].depth + 1;
    flow.loops[loop.parent].innermost = false;
  }
  flow.loop_of.assign(flow.instructions.size(), -1);
  for (size_t b = 0; b < graph.blocks.size(); ++b)
    std::fill(flow.loop_of.begin() + static_cast<std::ptrdiff_t>(graph.blocks[b].first),
              flow.loop_of.begin() + static_cast<std::ptrdiff_t>(graph.blocks[b].last) + 1, graph.loop_of[b]);
}

}  // namespace

CodeFlow code_flow(std::span<const uint8_t> code) {
  CodeFlow flow;
  decode(code, flow);
  const CodeGraph graph = code_graph(flow.instructions, flow.offsets);
  copy_loops(graph, flow);
  Walk(flow, graph).run();
  return flow;
}

}  // namespace hone::features
