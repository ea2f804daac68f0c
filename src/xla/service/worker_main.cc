// hone-xla: the worker process. Reads framed requests from a descriptor, answers each, ends at end of file.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "flatbuffers/flatbuffers.h"
#include "service/self_test.h"
#include "service/service.h"
#include "wire/client.h"

int main(int argc, char** argv) {
  int fd = -1;
  hone::xla_side::ServiceOptions options;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (std::strcmp(argv[i], "--fd") == 0) fd = std::atoi(value);
    if (std::strcmp(argv[i], "--cache") == 0) options.cache_folder = value;
    if (std::strcmp(argv[i], "--cache-bytes") == 0) options.cache_bytes = std::strtoull(value, nullptr, 10);
    if (std::strcmp(argv[i], "--no-cache") == 0) options.cache_code = false;
  }
  if (fd < 0) {
    std::cerr << "hone-xla is started by hone and takes --fd N\n";
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  hone::xla_side::Service service(options);
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
    if (request.body.AsHelloRequest() != nullptr) hone::xla_side::self_test();
    flatbuffers::FlatBufferBuilder builder(1 << 16);
    builder.Finish(
        hone::wire::CreateReply(builder, std::make_unique<hone::wire::ReplyT>(service.handle(request)).get()));
    if (!hone::wire::write_frame(fd, builder.GetBufferPointer(), builder.GetSize())) break;
  }
  std::_Exit(0);  // XLA's static destructors are slow and race with its threads
}
