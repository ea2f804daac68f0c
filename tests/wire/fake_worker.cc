// A worker for the client's tests that fails on request: the name of the loaded program selects its behaviour.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/text.h"
#include "wire/client.h"

using namespace hone::wire;

namespace {

constexpr int kFd = 3;
int loads = 0;
std::map<std::string, size_t> input_bytes;  // by program

void send(ReplyT& reply) {
  flatbuffers::FlatBufferBuilder builder;
  FinishReplyBuffer(builder, CreateReply(builder, &reply));
  if (!write_frame(kFd, builder.GetBufferPointer(), builder.GetSize())) std::exit(0);
}

void fail(ReplyT& reply, int code, const std::string& message, Stage stage = Stage::None) {
  reply.failure = std::make_unique<FailureT>();
  reply.failure->code = code;
  reply.failure->stage = stage;
  reply.failure->message = message;
  reply.failure->where = "line 7";
  reply.failure->hint = "write better";
}

char* volatile kept = nullptr;

void exhaust_memory() {
  // Volatile, or the compiler may remove unused allocations.
  for (;;) kept = new char[size_t{256} << 20];
}

void misbehave(const std::string& name) {
  if (name == "crash") {
    std::fputs(
        "2026-01-01 00:00:00.000001: E xla/warning.cc:1] something odd\n"
        "2026-01-01 00:00:00.000002: F xla/layout.cc:42] Check failed: shape.has_layout() f32[2]\n"
        "*** Check failure stack trace: ***\n    @ 0x1234\n",
        stderr);
    std::abort();
  }
  if (name == "segfault") std::raise(SIGSEGV);
  if (name == "killed") std::raise(SIGKILL);
  if (name == "exit") std::exit(3);
  if (name == "hang") ::sleep(1000);
  if (name == "oom") exhaust_memory();
  if (name == "talk") {  // more than the capacity of a pipe
    for (int line = 0; line < 20000; ++line) std::fprintf(stderr, "line %d\n", line);
  }
  if (name == "garbage") {
    const std::vector<uint8_t> garbage(64, 0xee);
    write_frame(kFd, garbage.data(), garbage.size());
    ::sleep(1000);
  }
  if (name == "huge") {
    const uint32_t length = 0xfffffff0u;
    if (::write(kFd, &length, sizeof length) == sizeof length) ::sleep(1000);
  }
}

void answer_load(const LoadRequestT& request, ReplyT& reply) {
  ++loads;
  misbehave(request.name);
  if (request.name == "bad") return fail(reply, 2, "this is no program");
  if (request.name == "fail") return fail(reply, 1, "cannot read");
  if (request.name == "fail loading") return fail(reply, 1, "cannot read", Stage::Load);
  LoadReplyT load;
  load.program = "p:" + request.name;
  load.name = request.name;
  load.instructions = loads;
  load.bytes_accessed = static_cast<double>(request.bytes.size());
  if (const char* value = std::getenv("FAKE_SETTING")) load.format = value;
  if (request.name == "malloc") load.format = std::getenv("MALLOC_TRIM_THRESHOLD_");
  input_bytes[load.program] = 0;
  reply.body.Set(std::move(load));
}

// A candidate's verdict is the value of its first decision, as a number, and its stage that of the second. With one
// decision the request fails at the stage that is its value.
void answer_measure(const MeasureRequestT& request, ReplyT& reply) {
  if (request.decisions.size() == 1)
    return fail(reply, 1, "default XLA failed", static_cast<Stage>(std::stoi(request.decisions[0]->value)));
  MeasureReplyT result;
  if (request.decisions.size() == 2) {
    result.verdict = static_cast<Verdict>(std::stoi(request.decisions[0]->value));
    result.stage = static_cast<Stage>(std::stoi(request.decisions[1]->value));
  }
  reply.body.Set(std::move(result));
}

// A candidate's verdict is the value of its first decision, as a number, or the worker misbehaves as that says. Only for ordinary
// and special inputs; default XLA fails on special ones of the program "unsound", and the interpreter runs nothing.
void answer_check(const CheckRequestT& request, ReplyT& reply) {
  if (request.program == "p:unsound" && request.inputs == "special") return fail(reply, 1, "no", Stage::Run);
  CheckReplyT result;
  result.applies = request.inputs == "ordinary" || request.inputs == "special";
  result.verdict = request.interpreter || !result.applies ? Verdict::Unverified : Verdict::Ok;
  result.elements = 6;
  if (!request.decisions.empty()) {
    misbehave(request.decisions[0]->value);
    result.verdict = static_cast<Verdict>(std::stoi(request.decisions[0]->value));
    result.index = {1, 2};
    result.output = 0;
    result.expected = "nan";
    result.found = request.inputs;
  }
  reply.body.Set(std::move(result));
}

// Two kernels, "a" and "b", described unless their hashes are known.
void answer_kernels(const ListKernelsRequestT& request, ReplyT& reply) {
  if (!input_bytes.count(request.program)) return fail(reply, 2, "unknown program");
  ListKernelsReplyT result;
  result.fingerprint = "a*1,b*2,";
  result.instructions = loads;
  for (const char* fingerprint : {"a", "b"}) {
    auto kernel = std::make_unique<KernelT>();
    kernel->fingerprint = fingerprint;
    kernel->count = fingerprint[0] - 'a' + 1;
    if (!std::binary_search(request.known.begin(), request.known.end(), hone::hash64(fingerprint))) {
      kernel->dimension = std::make_unique<DimensionT>();
      kernel->dimension->options = {"default"};
    }
    result.kernels.push_back(std::move(kernel));
  }
  reply.body.Set(std::move(result));
}

// As many layouts as there are decisions.
void answer_layouts(const ListLayoutsRequestT& request, ReplyT& reply) {
  if (!input_bytes.count(request.program)) return fail(reply, 2, "unknown program");
  ListLayoutsReplyT result;
  for (const auto& decision : request.decisions) {
    result.dimensions.push_back(std::make_unique<DimensionT>());
    result.dimensions.back()->kind = DecisionKind::Layout;
    result.dimensions.back()->key = decision->key;
    result.dimensions.back()->options = {"default"};
  }
  result.module_proto = {1, 2, 3};
  reply.body.Set(std::move(result));
}

void answer(const RequestT& request, ReplyT& reply) {
  if (const auto* load = request.body.AsLoadRequest()) return answer_load(*load, reply);
  if (const auto* inputs = request.body.AsInputsRequest()) {
    if (!input_bytes.count(inputs->program)) return fail(reply, 2, "unknown program");
    input_bytes[inputs->program] = 0;
    for (const auto& input : inputs->inputs) input_bytes[inputs->program] += input->data.size();
    return reply.body.Set(InputsReplyT());
  }
  if (const auto* run = request.body.AsRunRequest()) {
    if (!input_bytes.count(run->program)) return fail(reply, 2, "unknown program");
    RunReplyT result;
    result.times_ns = {static_cast<double>(input_bytes[run->program]), static_cast<double>(loads)};
    if (run->target) result.fingerprint = run->target->max_isa;
    return reply.body.Set(std::move(result));
  }
  if (const auto* measure = request.body.AsMeasureRequest()) return answer_measure(*measure, reply);
  if (const auto* check = request.body.AsCheckRequest()) return answer_check(*check, reply);
  if (const auto* kernels = request.body.AsListKernelsRequest()) return answer_kernels(*kernels, reply);
  if (const auto* layouts = request.body.AsListLayoutsRequest()) return answer_layouts(*layouts, reply);
  if (request.body.AsHelloRequest()) return reply.body.Set(HelloReplyT());
  fail(reply, 1, "no such request");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--fd") != 0 || std::strcmp(argv[2], "3") != 0) return 64;
  std::vector<uint8_t> frame;
  while (read_frame(kFd, frame)) {
    flatbuffers::Verifier verifier(frame.data(), frame.size());
    if (!verifier.VerifyBuffer<Request>()) return 65;
    RequestT request;
    flatbuffers::GetRoot<Request>(frame.data())->UnPackTo(&request);
    ReplyT reply;
    reply.id = request.id;
    answer(request, reply);
    send(reply);
  }
}
