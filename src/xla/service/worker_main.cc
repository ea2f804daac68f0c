// hone-xla: the worker process. Reads framed requests from a descriptor, answers each, ends at end of file.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/sandbox.h"
#include "flatbuffers/flatbuffers.h"
#include "kernels/lapack_library.h"
#include "service/self_test.h"
#include "service/service.h"
#include "wire/client.h"

namespace {

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What follows `option` in the user's XLA_FLAGS, which may be a file's name instead.
std::string xla_option(std::string_view flags, std::string_view option) {
  const size_t at = flags.find(option);
  if (at == std::string_view::npos) return "";
  const std::string_view value = flags.substr(at + option.size());
  return std::string(value.substr(0, value.find_first_of(" \t\n")));
}

// Before anything of a program is read: the cache, a folder of passed self-tests, and where the user has XLA write, are all that is left
// of the files to write to.
// False where the user asks for more than there is.
bool give_up_rights(const std::string& cache, const std::string& self_tests) {
  const std::string_view wanted = setting("HONE_SANDBOX");
  if (wanted == "off") return true;
  const std::string_view flags = setting("XLA_FLAGS");
  const std::string dumps = xla_option(flags, "--xla_dump_to=");
  // Wheels lie in lib/pythonX.Y/site-packages, libraries that they bring for others, as oneDNN's, in lib.
  const std::filesystem::path libraries = std::filesystem::path(hone::folder_of_wheels()).parent_path().parent_path();
  std::vector<std::string> readable{libraries.string(), hone::executable_dir() / "../lib"}, writable;
  if (!flags.empty() && !flags.starts_with("-")) readable.emplace_back(flags);
  for (const std::string& folder : {cache, self_tests})
    if (!folder.empty()) writable.push_back(folder);
  if (!dumps.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(dumps, failed);
    writable.push_back(dumps);
  }
  return hone::enter_sandbox(readable, writable).whole() || wanted != "required";
}

}  // namespace

int main(int argc, char** argv) {
  int fd = -1;
  std::string self_tests;
  hone::xla_side::ServiceOptions options;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (std::strcmp(argv[i], "--fd") == 0) fd = std::atoi(value);
    if (std::strcmp(argv[i], "--cache") == 0) options.cache_folder = value;
    if (std::strcmp(argv[i], "--cache-bytes") == 0) options.cache_bytes = std::strtoull(value, nullptr, 10);
    if (std::strcmp(argv[i], "--self-tests") == 0) self_tests = value;
    if (std::strcmp(argv[i], "--no-cache") == 0) options.cache_code = false;
  }
  if (fd < 0) {
    std::cerr << "hone-xla is started by hone and takes --fd N\n";
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  hone::xla_side::Service service(options);
  if (self_tests.empty() && !service.cache_folder().empty()) self_tests = service.cache_folder() + "/self-tests";
  if (!give_up_rights(service.cache_folder(), self_tests)) {
    std::cerr << "hone-xla: HONE_SANDBOX=required, and this kernel has not both Landlock and seccomp\n";
    return 1;
  }
  std::vector<uint8_t> frame;
  while (hone::wire::read_frame(fd, frame)) {
    flatbuffers::Verifier verifier(frame.data(), frame.size(), 128, 10000000);
    const auto* message = flatbuffers::GetRoot<hone::wire::Request>(frame.data());
    if (!verifier.VerifyBuffer<hone::wire::Request>(nullptr)) {
      std::cerr << "malformed request\n";
      return 1;
    }
    hone::wire::RequestT request;
    message->UnPackTo(&request);
    if (request.body.AsHelloRequest() != nullptr) hone::xla_side::self_test(self_tests, service.cache_folder());
    flatbuffers::FlatBufferBuilder builder(1 << 16);
    builder.Finish(
        hone::wire::CreateReply(builder, std::make_unique<hone::wire::ReplyT>(service.handle(request)).get()));
    if (!hone::wire::write_frame(fd, builder.GetBufferPointer(), builder.GetSize())) break;
  }
  std::_Exit(0);  // XLA's static destructors are slow and race with its threads
}
