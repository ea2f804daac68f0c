// TensorBoard event files (tensorflow/core/util/event.proto in TFRecord framing): scalars only.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace hone {

// CRC-32C (Castagnoli), and TensorFlow's masked form of it.
uint32_t crc32c(std::string_view bytes);
uint32_t masked_crc32c(std::string_view bytes);

// One TFRecord: the length and its checksum, then the bytes and their checksum.
std::string tf_record(std::string_view bytes);

// Serialised Event messages.
std::string version_event(double wall_time_s);
std::string scalar_event(double wall_time_s, int64_t step, std::string_view tag, float value);

// Writes events.out.tfevents.<time>.<host> into a folder, created if necessary. Throws RunError (where = path).
class EventFile {
 public:
  EventFile(const std::string& folder, double wall_time_s);
  void scalar(double wall_time_s, int64_t step, std::string_view tag, double value);
  const std::string& path() const { return path_; }

 private:
  void write(const std::string& event);
  std::string path_;
  std::ofstream out_;
};

}  // namespace hone
