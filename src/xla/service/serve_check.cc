// Answers requests to compare outputs on inputs of one kind.
#include "measure/input_kinds.h"
#include "measure/interpreter.h"
#include "service/handlers.h"
#include "service/judge.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr size_t kKeptKinds = 8;
constexpr int64_t kMostKeptBytes = int64_t{256} << 20;  // of the inputs of one kind

int64_t size_of(const InputSet& set) {
  int64_t bytes = 0;
  for (const xla::Literal& input : set.inputs) bytes += input.size_bytes();
  return bytes;
}

// The program runs on other inputs while this lives.
class OnInputs {
 public:
  OnInputs(Program& program, InputSet* inputs) : program_(program), inputs_(inputs) {
    if (inputs_ != nullptr) program_.exchange_inputs(*inputs_);
  }
  ~OnInputs() {
    if (inputs_ != nullptr) program_.exchange_inputs(*inputs_);
  }
  OnInputs(const OnInputs&) = delete;
  OnInputs& operator=(const OnInputs&) = delete;

 private:
  Program& program_;
  InputSet* inputs_;
};

std::vector<int64_t> index_of(const xla::Shape& shape, int64_t position) {
  std::vector<int64_t> index(shape.dimensions().size());
  for (const int64_t d : shape.layout().minor_to_major()) {
    index[d] = position % shape.dimensions(d);
    position /= shape.dimensions(d);
  }
  return index;
}

void describe(const Comparison& found, const std::vector<xla::Literal>& reference, wire::CheckReplyT& reply) {
  reply.elements = found.elements;
  reply.differing = found.differing;
  reply.differing_special = found.differing_special;
  reply.output = found.output;
  reply.expected = found.expected;
  reply.found = found.found;
  if (found.output < 0) return;
  const xla::Shape& shape = reference[found.output].shape();
  const bool is_complex = xla::primitive_util::IsComplexType(shape.element_type());
  reply.index = index_of(shape, is_complex ? found.position / 2 : found.position);
}

// Ordinary inputs show whether outputs depend on them; on others equal outputs pass that are constant, but for those without a
// finite value.
void judge_on(InputKind kind, const Comparison& found, wire::CheckReplyT& reply) {
  judge_outputs(found, reply);
  if (reply.verdict != wire::Verdict::Unverified) return;
  const std::string note = reply.note.empty() ? "the outputs do not vary" : reply.note;
  const bool passes = kind != InputKind::Ordinary && found.dead == 0;
  set_verdict(reply, passes ? wire::Verdict::Ok : wire::Verdict::Unverified, Stage::None, note);
}

void check_interpreter(Program& program, const CompileTarget& target, InputKind kind, wire::CheckReplyT& reply) {
  const std::vector<xla::Literal>& outputs = program.reference(target);
  const Interpreted expected = interpret(program.module(), program.inputs());
  if (!expected.why.empty()) return set_verdict(reply, wire::Verdict::Unverified, Stage::Run, expected.why);
  const Comparison found = compare(expected.outputs, outputs, kInterpreterTolerance);
  judge_on(kind, found, reply);
  describe(found, expected.outputs, reply);
}

}  // namespace

InputSet* Handlers::inputs_of(const wire::CheckRequestT& request, Program& program) {
  const CompileTarget target = target_of(request.target.get());
  const std::string key = request.program + "\n" + std::to_string(seed_of(request.target.get())) + request.inputs;
  for (auto it = kinds.begin(); it != kinds.end(); ++it)
    if (it->first == key) {
      kinds.splice(kinds.begin(), kinds, it);
      return &kinds.front().second;
    }
  auto made = inputs_of_kind(program.module(), program.inputs(), input_kind_from_name(request.inputs),
                             seed_of(request.target.get()));
  if (!made) return nullptr;
  kinds.emplace_front(key, InputSet{std::move(*made)});
  while (kinds.size() > 1 && (kinds.size() > kKeptKinds || size_of(kinds.back().second) > kMostKeptBytes))
    kinds.pop_back();
  return &kinds.front().second;
}

wire::CheckReplyT Handlers::check_outputs(const wire::CheckRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target.get());
  p.prepare_inputs(seed_of(request.target.get()), target);
  wire::CheckReplyT reply;
  InputSet* others = nullptr;
  const InputKind kind = input_kind_from_name(request.inputs);
  if (kind != InputKind::Ordinary) {
    others = inputs_of(request, p);
    if (others == nullptr) {
      reply.applies = false;
      set_verdict(reply, wire::Verdict::Unverified, Stage::None, "no input is of this kind");
      return reply;
    }
  }
  const OnInputs inputs(p, others);
  const std::vector<xla::Literal>& reference = p.reference(target);
  if (request.interpreter) {
    check_interpreter(p, target, kind, reply);
    return reply;
  }
  about_candidate(reply, [&] {
    Variant& candidate = p.variant(target, wire::from_wire(request.decisions));
    const std::vector<xla::Literal> outputs = p.run_outputs(candidate);
    const Comparison found = compare(reference, outputs);
    judge_on(kind, found, reply);
    judge_by_wide(p, target, reference, outputs, reply);
    describe(found, reference, reply);
  });
  return reply;
}

}  // namespace hone::xla_side
