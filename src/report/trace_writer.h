// Writes Perfetto traces (perfetto.protos.Trace), packet by packet. Field numbers are those of Perfetto's
// protos/perfetto/trace: trace.proto, trace_packet.proto, track_event.proto, track_descriptor.proto, debug_annotation.proto.
#pragma once

#include <cstdint>
#include <string>

namespace hone::report {

class TraceWriter {
 public:
  std::string take() { return std::move(bytes_); }

  // A track without a parent (0) is a separate process; `counter` tracks have numbers instead of slices. Ids are chosen
  // by the caller and must be above 0.
  void track(uint64_t id, const std::string& name, uint64_t parent, bool counter);

  // Slices of one track nest: begin and end must be called in the order of time. `arguments`: text from argument().
  void begin(uint64_t track, double at_s, const std::string& name, const std::string& arguments);
  void end(uint64_t track, double at_s);
  void count(uint64_t track, double at_s, double value);

  static void argument(std::string& event, const std::string& name, const std::string& text);
  static void argument(std::string& event, const std::string& name, double number);

 private:
  void put(double at_s, const std::string& event);
  void add(std::string& packet);

  std::string bytes_;
};

}  // namespace hone::report
