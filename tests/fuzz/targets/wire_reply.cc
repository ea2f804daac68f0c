// Replies of a worker that may send anything: frames from a pipe, and what the tuners take of each kind of reply.
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/fuzz/targets/target.h"
#include "tune/session/replies.h"
#include "wire/client.h"
#include "wire/kernel.h"
#include "wire/reply.h"

namespace hone::fuzz {

namespace {

// InternalError is declared for values outside the enums.
void take(const wire::ReplyT& reply) {
  try {
    if (const auto* lowered = reply.body.AsLowerReply()) tune::lowered_of(*lowered);
    if (const auto* measured = reply.body.AsMeasureReply()) tune::measurement_of(*measured);
    if (const auto* listed = reply.body.AsListKernelsReply())
      for (const auto& kernel : listed->kernels) wire::from_wire(*kernel);
    if (const auto* layouts = reply.body.AsListLayoutsReply())
      for (const auto& dimension : layouts->dimensions) wire::from_wire(*dimension);
    if (const auto* verified = reply.body.AsVerifyReply()) tune::outcome_of(verified->verdict);
    if (reply.failure) wire::from_wire(reply.failure->stage);
  } catch (const InternalError&) {
  }
}

}  // namespace

void wire_reply(Bytes input) {
  if (take_choice(input, 2) == 0) {
    const std::vector<uint8_t> frame(input.begin(), input.end());  // aligned, as one that was received
    if (const auto reply = wire::decode_reply(frame)) take(*reply);
    return;
  }
  constexpr size_t kPipe = 65536;  // what a pipe holds
  int ends[2];
  if (input.size() > kPipe || ::pipe2(ends, O_CLOEXEC) != 0) return;
  const ssize_t put = ::write(ends[1], input.data(), input.size());
  ::close(ends[1]);
  std::vector<uint8_t> frame;
  while (put >= 0 && wire::read_frame(ends[0], frame))
    if (const auto reply = wire::decode_reply(frame)) take(*reply);
  ::close(ends[0]);
}

}  // namespace hone::fuzz
