#include "request/stock_jax.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/machine.h"
#include "base/python.h"
#include "wire/client.h"
#include "wire/process.h"

namespace hone::request {
namespace {

using nlohmann::json;

constexpr char kMissing[] = "stock jaxlib does not run", kFailed[] = "stock jaxlib cannot run it";
constexpr int kPollMs = 100;
constexpr uint32_t kMostAnswerBytes = 64 << 20;

wire::ProcessOptions process_options(const StockOptions& options) {
  const PythonCommand python = python_with_hone();
  wire::ProcessOptions process{.program = python.program, .before = {"-m", "hone.stock"}};
  std::string flags = options.flags;
  if (const char* inherited = std::getenv("XLA_FLAGS")) flags = std::string(inherited) + " " + flags;
  if (options.threads == 1) flags += " --xla_cpu_multi_thread_eigen=false";
  // NPROC is the size of jaxlib's pool of threads, which like the worker's is not bound to CPUs.
  process.environment = {"XLA_FLAGS=" + flags, "JAX_PLATFORMS=cpu", fmt::format("NPROC={}", options.threads)};
  if (const std::vector<int> cpus = allowed_cpus(); options.threads == 1 && !cpus.empty()) process.cpus = {cpus[0]};
  if (!python.search_path.empty()) process.environment.push_back("PYTHONPATH=" + python.search_path);
  return process;
}

}  // namespace

struct StockJax::Process {
  explicit Process(const StockOptions& options) : program(options.program), child(process_options(options)) {}

  // Reads all of the bytes; throws when the process ends before, or Ctrl-C.
  void receive(uint8_t* data, size_t size) {
    while (size > 0) {
      pollfd ready[2] = {{child.socket(), POLLIN, 0}, {child.errors(), POLLIN, 0}};
      ::poll(ready, 2, kPollMs);
      if (ready[1].revents != 0) child.drain_errors();
      if (interrupted()) throw Interrupted();
      const ssize_t got = ::recv(child.socket(), data, size, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) fail();
      data += got;
      size -= static_cast<size_t>(got);
    }
  }

  [[noreturn]] void fail() {
    constexpr double kPatience_s = 5;
    child.reap(kPatience_s);
    const std::string words = wire::last_words(child.errors_tail());
    fail(words.empty() ? "its process ended" : words, answered ? "" : "it needs Python with jax and hone");
  }

  // Until it answered, the installation is to blame; then the program.
  [[noreturn]] void fail(const std::string& why, const std::string& hint) const {
    throw RunError(fmt::format("{}: {}", answered ? kFailed : kMissing, why),
                   answered ? program : python_with_hone().program, hint);
  }

  std::string program;
  bool answered = false;
  wire::ChildProcess child;
};

StockJax::StockJax(const StockOptions& options)
    : process_(std::make_unique<Process>(options)), cpu_time_(options.threads == 1) {
  jaxlib_ = ask({{"do", "hello"}}).at("jaxlib").get<std::string>();
  process_->answered = true;
}

StockJax::~StockJax() = default;

json StockJax::ask(const json& request) {
  const std::string text = request.dump();
  if (!wire::write_frame(process_->child.socket(), reinterpret_cast<const uint8_t*>(text.data()), text.size()))
    process_->fail();
  uint32_t length = 0;
  process_->receive(reinterpret_cast<uint8_t*>(&length), sizeof length);
  if (length > kMostAnswerBytes) throw InternalError("stock jaxlib sent a malformed answer");
  std::string answer(length, '\0');
  process_->receive(reinterpret_cast<uint8_t*>(answer.data()), length);
  json object = json::parse(shallow_json(answer), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw InternalError("stock jaxlib sent a malformed answer");
  if (object.contains("error")) process_->fail(object["error"].get<std::string>(), object.value("hint", ""));
  return object;
}

void StockJax::set_inputs(const std::string& npz) {
  if (!npz.empty()) ask({{"do", "inputs"}, {"file", npz}});
}

double StockJax::open(const std::string& name, const std::string& file, const json& compiler_options) {
  return ask({{"do", "open"}, {"name", name}, {"file", file}, {"options", compiler_options}})
      .at("first_call_s")
      .get<double>();
}

std::vector<double> StockJax::run(const std::string& name, int repeat) {
  return ask({{"do", "run"}, {"name", name}, {"repeat", repeat}, {"cpu", cpu_time_}})
      .at("times_ns")
      .get<std::vector<double>>();
}

std::vector<NamedArray> StockJax::outputs(const std::string& name) {
  const TempDir folder;
  const std::string file = (folder.path() / "outputs.npz").string();
  ask({{"do", "run"}, {"name", name}, {"repeat", 0}, {"cpu", cpu_time_}, {"outputs", file}});
  return read_npz(file);
}

}  // namespace hone::request
