// Replies as they come from a worker, which may send anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/hone_generated.h"

namespace hone::wire {

// A reply from its bytes; nullopt for bytes that are none.
std::optional<ReplyT> decode_reply(std::span<const uint8_t> bytes);

// Bytes to make room for while `have` of a frame of `length` bytes have come: at most 64 MiB before anything has, then at most twice
// what has, so that four bytes from a broken peer allocate no gigabytes.
size_t frame_room(size_t length, size_t have);

}  // namespace hone::wire
