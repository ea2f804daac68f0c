// Framed I/O. Needs nothing but POSIX, so that the worker can use it alone.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "wire/client.h"
#include "wire/reply.h"

namespace hone::wire {
namespace {

constexpr size_t kMaxFrameBytes = size_t{3} << 30;

bool read_all(int fd, uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

bool write_frame(int fd, const uint8_t* data, size_t size) {
  if (size > kMaxFrameBytes) return false;
  auto length = static_cast<uint32_t>(size);
  iovec parts[2] = {{&length, sizeof length}, {const_cast<uint8_t*>(data), size}};
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    const ssize_t put = ::writev(fd, parts, 2);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    size_t left = static_cast<size_t>(put);
    for (iovec& part : parts) {
      const size_t taken = std::min(left, part.iov_len);
      part.iov_base = static_cast<uint8_t*>(part.iov_base) + taken;
      part.iov_len -= taken;
      left -= taken;
    }
  }
  return true;
}

size_t frame_room(size_t length, size_t have) {
  constexpr size_t kFirst = size_t{64} << 20;
  return std::min(length, std::max(kFirst, 2 * have));
}

bool read_frame(int fd, std::vector<uint8_t>& data) {
  uint32_t length = 0;
  if (!read_all(fd, reinterpret_cast<uint8_t*>(&length), sizeof length) || length > kMaxFrameBytes) return false;
  data.clear();
  for (size_t have = 0; have < length; have = data.size()) {
    data.resize(frame_room(length, have));
    if (!read_all(fd, data.data() + have, data.size() - have)) return false;
  }
  return true;
}

}  // namespace hone::wire
