#include "data/event_file.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace hone {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);  // the reflected polynomial
    table[i] = c;
  }
  return table;
}

template <class T>
std::string raw(T value) {  // little-endian, as the machines XLA runs on
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// Protocol buffer fields by wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
std::string number_field(int field, int64_t value) { return varint(field << 3) + varint(static_cast<uint64_t>(value)); }
std::string double_field(int field, double value) { return varint(field << 3 | 1) + raw(value); }
std::string float_field(int field, float value) { return varint(field << 3 | 5) + raw(value); }
std::string bytes_field(int field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t c = ~0u;
  for (const char byte : bytes) c = kTable[(c ^ static_cast<uint8_t>(byte)) & 0xff] ^ (c >> 8);
  return ~c;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t c = crc32c(bytes);
  return ((c >> 15) | (c << 17)) + 0xa282ead8u;
}

std::string tf_record(std::string_view bytes) {
  const std::string length = raw(static_cast<uint64_t>(bytes.size()));
  return length + raw(masked_crc32c(length)) + std::string(bytes) + raw(masked_crc32c(bytes));
}

std::string version_event(double wall_time_s) { return double_field(1, wall_time_s) + bytes_field(3, "brain.Event:2"); }

std::string scalar_event(double wall_time_s, int64_t step, std::string_view tag, float value) {
  const std::string entry = bytes_field(1, tag) + float_field(2, value);  // Summary.Value
  return double_field(1, wall_time_s) + number_field(2, step) + bytes_field(5, bytes_field(1, entry));
}

EventFile::EventFile(const std::string& folder, double wall_time_s) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RunError("cannot make the folder of the training log", folder, error.message());
  char host[256] = "host";
  gethostname(host, sizeof(host) - 1);
  const std::string name = "events.out.tfevents." + std::to_string(static_cast<int64_t>(wall_time_s)) + "." + host;
  path_ = (std::filesystem::path(folder) / name).string();
  for (int i = 1; std::filesystem::exists(path_); ++i)
    path_ = (std::filesystem::path(folder) / (name + "." + std::to_string(i))).string();
  out_.open(path_, std::ios::binary);
  write(version_event(wall_time_s));
}

void EventFile::scalar(double wall_time_s, int64_t step, std::string_view tag, double value) {
  write(scalar_event(wall_time_s, step, tag, static_cast<float>(value)));
}

void EventFile::write(const std::string& event) {
  const std::string record = tf_record(event);
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  out_.flush();  // TensorBoard reads the file during training
  if (!out_) throw RunError("cannot write the training log", path_);
}

}  // namespace hone
