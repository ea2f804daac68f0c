#include "wire/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "wire/process.h"
#include "wire/reply.h"

namespace hone::wire {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = WorkerFailure::Kind;

// FlatBuffers offsets have 31 bits. The difference is for names and shapes.
constexpr size_t kMaxMessageBytes = (size_t{1} << 31) - 1, kMaxPayloadBytes = kMaxMessageBytes - (size_t{16} << 20);
constexpr double kStartAllowance_s = 10;  // for loading XLA, on top of the first call's time limit
constexpr int kNotStarted = 127;          // exit code of the dynamic loader and of shells
constexpr double kDeathPatience_s = 5;    // between the end of the connection and the end of the process
constexpr auto kPollPeriod = std::chrono::milliseconds(100);

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

// A serialised request, which can be sent more than once.
struct Packed {
  uint64_t id = 0;
  flatbuffers::DetachedBuffer bytes;
};

size_t array_bytes(const std::vector<std::unique_ptr<ArrayT>>& arrays) {
  size_t bytes = 0;
  for (const auto& array : arrays) bytes += array->data.size();
  return bytes;
}

Packed pack(RequestT request) {
  size_t payload = 0;
  if (const auto* load = request.body.AsLoadRequest()) payload = load->bytes.size();
  if (const auto* inputs = request.body.AsInputsRequest()) payload = array_bytes(inputs->inputs);
  if (const auto* verify = request.body.AsVerifyRequest()) payload = array_bytes(verify->outputs);
  if (payload > kMaxPayloadBytes)
    throw Error("the program or its inputs are larger than 2 GiB", "", "give smaller inputs, or let them be generated");
  // Reserves all the memory at once: a builder that grows holds a large payload twice.
  flatbuffers::FlatBufferBuilder builder(payload + (64 << 10));
  builder.Finish(CreateRequest(builder, &request));
  return {request.id, builder.Release()};
}

// The program that a request names; empty if none.
std::string program_of(const RequestBodyUnion& body) {
  if (const auto* request = body.AsInputsRequest()) return request->program;
  if (const auto* request = body.AsLowerRequest()) return request->program;
  if (const auto* request = body.AsMeasureRequest()) return request->program;
  if (const auto* request = body.AsRunRequest()) return request->program;
  if (const auto* request = body.AsApplyRequest()) return request->program;
  if (const auto* request = body.AsExportRequest()) return request->program;
  if (const auto* request = body.AsVerifyRequest()) return request->program;
  if (const auto* request = body.AsCheckRequest()) return request->program;
  if (const auto* request = body.AsListKernelsRequest()) return request->program;
  if (const auto* request = body.AsListLayoutsRequest()) return request->program;
  return "";
}

bool says_out_of_memory(const std::string& text) {
  return std::ranges::any_of(std::initializer_list<const char*>{"bad_alloc", "ut of memory", "Cannot allocate memory"},
                             [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

}  // namespace

struct Worker::Process {
  // A request that a new process must receive before it can serve other requests for a program. `in`: the number of the
  // process that has received it.
  struct Told {
    Packed request;
    int in = 0;
  };
  struct Program {
    Told load;
    std::optional<Told> inputs;
  };

  explicit Process(WorkerOptions worker_options) : options(std::move(worker_options)) {}

  void ensure_running();
  void replay(const std::string& program, bool with_inputs);
  ReplyT round_trip(const Packed& request, double timeout_s);
  void send(const Packed& request);
  std::vector<uint8_t> receive();
  void receive_all(uint8_t* data, size_t size);
  void wait(short events);
  void keep(Packed request, RequestBody type, const std::string& program, const ReplyT& reply);
  [[noreturn]] void fail(Kind kind, const std::string& message);
  [[noreturn]] void fail_dead();

  WorkerOptions options;
  std::optional<ChildProcess> child;
  int started = 0;
  bool fresh = false;  // has not answered yet
  uint64_t next_id = 1;
  std::map<std::string, Program> programs;
  std::function<void()> poll;
  Clock::time_point next_poll{};
  std::optional<Clock::time_point> deadline;  // of the running call
  double limit_s = 0;
};

void Worker::Process::ensure_running() {
  if (child && child->has_exited()) child.reset();
  if (child) return;
  std::vector<std::string> arguments;
  if (!options.cache_code) arguments = {"--no-cache"};
  if (options.cache_code && !options.cache_folder.empty()) arguments = {"--cache", options.cache_folder};
  if (!options.self_test_folder.empty()) arguments.insert(arguments.end(), {"--self-tests", options.self_test_folder});
  if (options.cache_limit_bytes > 0)
    arguments.insert(arguments.end(), {"--cache-bytes", std::to_string(options.cache_limit_bytes)});
  child.emplace(
      ProcessOptions{options.program, options.memory_limit_bytes, options.cpus, arguments, options.environment});
  ++started;
  fresh = true;
}

// Programs are replayed one by one, when a request first needs them, so one that crashes the worker affects no other.
void Worker::Process::replay(const std::string& program, bool with_inputs) {
  const auto found = programs.find(program);
  if (found == programs.end()) return;
  const auto tell = [&](Told& told) {
    if (told.in == started) return;
    const ReplyT reply = round_trip(told.request, options.timeout_s);
    if (reply.failure && reply.failure->code != 0)
      fail(Kind::Crashed, "a new worker refused a request that an earlier one accepted: " + reply.failure->message);
    told.in = started;
  };
  tell(found->second.load);
  if (with_inputs && found->second.inputs) tell(*found->second.inputs);
}

ReplyT Worker::Process::round_trip(const Packed& request, double timeout_s) {
  limit_s = timeout_s;
  deadline.reset();
  if (timeout_s > 0) deadline = Clock::now() + seconds(std::min(timeout_s, 1e8) + (fresh ? kStartAllowance_s : 0));
  if (!fresh) child->forget_errors();  // a new process's output may explain why it does not start
  send(request);
  const std::vector<uint8_t> bytes = receive();

  std::optional<ReplyT> decoded = decode_reply(bytes);
  if (!decoded) fail(Kind::Crashed, "the worker sent a malformed reply");
  ReplyT& reply = *decoded;
  const bool failed = reply.failure && reply.failure->code != 0;
  if (reply.id != request.id || (!failed && reply.body.value == nullptr))
    fail(Kind::Crashed, "the worker sent a reply to another request");
  fresh = false;
  return std::move(reply);
}

void Worker::Process::send(const Packed& request) {
  auto length = static_cast<uint32_t>(request.bytes.size());
  iovec parts[2] = {{&length, sizeof length}, {const_cast<uint8_t*>(request.bytes.data()), request.bytes.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    ssize_t put = ::sendmsg(child->socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) fail_dead();
    if (put < 0) {
      wait(POLLOUT);
      continue;
    }
    for (iovec& part : parts) {
      const size_t taken = std::min<size_t>(static_cast<size_t>(put), part.iov_len);
      part.iov_base = static_cast<uint8_t*>(part.iov_base) + taken;
      part.iov_len -= taken;
      put -= static_cast<ssize_t>(taken);
    }
  }
}

std::vector<uint8_t> Worker::Process::receive() {
  uint32_t length = 0;
  receive_all(reinterpret_cast<uint8_t*>(&length), sizeof length);
  if (length >= kMaxMessageBytes) fail(Kind::Crashed, "the worker sent a malformed reply");
  std::vector<uint8_t> bytes;
  for (size_t have = 0; have < length; have = bytes.size()) {
    bytes.resize(frame_room(length, have));
    receive_all(bytes.data() + have, bytes.size() - have);
  }
  return bytes;
}

void Worker::Process::receive_all(uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(child->socket(), data, size, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      wait(POLLIN);
      continue;
    }
    if (got <= 0) fail_dead();
    data += got;
    size -= static_cast<size_t>(got);
  }
}

// Waits until the socket is ready or closed; meanwhile reads the worker's standard error and calls poll.
void Worker::Process::wait(short events) {
  for (;;) {
    const auto now = Clock::now();
    if (poll && now >= next_poll) {
      next_poll = now + kPollPeriod;
      try {
        poll();
      } catch (...) {
        child.reset();
        throw;
      }
    }
    Clock::duration pause = std::chrono::hours(1);
    if (poll) pause = std::min(pause, next_poll - now);
    if (deadline) pause = std::clamp(*deadline - now, Clock::duration(0), pause);
    pollfd descriptors[2] = {{child->socket(), events, 0}, {child->errors(), POLLIN, 0}};
    ::poll(descriptors, 2, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(pause).count()));
    if (descriptors[1].revents != 0) child->drain_errors();
    if (descriptors[0].revents != 0) return;  // also when it is late, since this process may have stood still
    if (deadline && now >= *deadline)
      fail(Kind::TimedOut, fmt::format("the worker did not answer within {:g} s and was killed", limit_s));
  }
}

void Worker::Process::keep(Packed request, RequestBody type, const std::string& program, const ReplyT& reply) {
  if (const auto* load = reply.body.AsLoadReply(); type == RequestBody::LoadRequest && load)
    programs[load->program].load = {std::move(request), started};
  const auto found = programs.find(program);
  if (type == RequestBody::InputsRequest && found != programs.end())
    found->second.inputs = Told{std::move(request), started};
}

void Worker::Process::fail(Kind kind, const std::string& message) {
  child.reset();
  throw WorkerFailure(kind, message);
}

void Worker::Process::fail_dead() {
  const int status = child->reap(kDeathPatience_s);
  const int signal = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::string words = last_words(child->errors_tail());
  if (fresh && status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted) {
    child.reset();
    throw NoWorker("the worker program does not start" + (words.empty() ? "" : ": " + words), options.program,
                   "run 'make build'");
  }
  Kind kind = Kind::Crashed;
  std::string message;
  if (signal == SIGKILL) {
    kind = Kind::Killed;
    message = "the worker was killed (SIGKILL): the system was short of memory, or a user killed it";
  } else if (says_out_of_memory(child->errors_tail())) {
    kind = Kind::OutOfMemory;
    message = "the worker ran out of memory";
  } else if (signal != 0) {
    const char* name = ::sigabbrev_np(signal);
    message = fmt::format("the worker crashed (SIG{})", name ? name : std::to_string(signal));
  } else if (status >= 0) {
    message = fmt::format("the worker ended with exit code {}", WEXITSTATUS(status));
  } else {
    message = "the worker closed its connection";
  }
  fail(kind, words.empty() ? message : message + ": " + words);
}

Worker::Worker(WorkerOptions options) {
  if (options.program.empty()) options.program = (executable_dir() / "hone-xla").string();
  if (::access(options.program.c_str(), X_OK) != 0)
    throw Error("the worker program is missing", options.program,
                "run 'make build'; hone-xla must be in the folder of the hone program");
  process_ = std::make_unique<Process>(std::move(options));
}

Worker::~Worker() = default;
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;

ReplyT Worker::exchange(RequestT request, double timeout_s) {
  Process& process = *process_;
  const RequestBody type = request.body.type;
  const std::string program = program_of(request.body);
  request.id = process.next_id++;
  Packed packed = pack(std::move(request));

  process.ensure_running();
  process.replay(program, /*with_inputs=*/type != RequestBody::InputsRequest);
  ReplyT reply = process.round_trip(packed, timeout_s > 0 ? timeout_s : process.options.timeout_s);
  if (reply.failure && reply.failure->code != 0) {
    const FailureT& failure = *reply.failure;
    if (failure.code == 2) throw Error(failure.message, failure.where, failure.hint);
    if (failure.stage == Stage::None) throw RunError(failure.message, failure.where, failure.hint);
    throw StageError(from_wire(failure.stage), failure.message, failure.where, failure.hint);
  }
  process.keep(std::move(packed), type, program, reply);
  return reply;
}

void Worker::kill() { process_->child.reset(); }
int Worker::pid() const { return process_->child ? process_->child->pid() : -1; }
int Worker::restarts() const { return std::max(0, process_->started - 1); }
void Worker::on_wait(std::function<void()> poll) { process_->poll = std::move(poll); }

}  // namespace hone::wire
