#include "report/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <protozero/pbf_writer.hpp>

namespace hone::report {

namespace {

using protozero::pbf_writer;

constexpr uint32_t kSequence = 1;       // all packets come from one writer
constexpr uint32_t kBootTimeClock = 6;  // BUILTIN_CLOCK_BOOTTIME, nanoseconds
enum EventType : int32_t { kSliceBegin = 1, kSliceEnd = 2, kCounter = 4 };

uint64_t ns_of(double seconds) { return static_cast<uint64_t>(std::llround(std::max(0.0, seconds) * 1e9)); }

}  // namespace

void TraceWriter::track(uint64_t id, const std::string& name, uint64_t parent, bool counter) {
  std::string descriptor, empty;
  pbf_writer d(descriptor);
  d.add_uint64(1, id);
  d.add_string(2, name);
  if (parent) d.add_uint64(5, parent);
  if (counter) d.add_message(8, empty);
  if (!parent) {
    std::string process;
    pbf_writer p(process);
    p.add_int32(1, static_cast<int32_t>(id));  // pid
    p.add_string(6, name);
    d.add_message(3, process);
  }
  std::string packet;
  pbf_writer(packet).add_message(60, descriptor);
  add(packet);
}

void TraceWriter::begin(uint64_t track, double at_s, const std::string& name, const std::string& arguments) {
  std::string event;
  pbf_writer e(event);
  e.add_enum(9, kSliceBegin);
  e.add_uint64(11, track);
  e.add_string(23, name);
  event += arguments;
  put(at_s, event);
}
void TraceWriter::end(uint64_t track, double at_s) {
  std::string event;
  pbf_writer e(event);
  e.add_enum(9, kSliceEnd);
  e.add_uint64(11, track);
  put(at_s, event);
}
void TraceWriter::count(uint64_t track, double at_s, double value) {
  std::string event;
  pbf_writer e(event);
  e.add_enum(9, kCounter);
  e.add_uint64(11, track);
  e.add_double(44, value);
  put(at_s, event);
}

void TraceWriter::argument(std::string& event, const std::string& name, const std::string& text) {
  std::string annotation;
  pbf_writer a(annotation);
  a.add_string(10, name);
  a.add_string(6, text);
  pbf_writer(event).add_message(4, annotation);
}
void TraceWriter::argument(std::string& event, const std::string& name, double number) {
  std::string annotation;
  pbf_writer a(annotation);
  a.add_string(10, name);
  a.add_double(5, number);
  pbf_writer(event).add_message(4, annotation);
}

void TraceWriter::put(double at_s, const std::string& event) {
  std::string packet;
  pbf_writer p(packet);
  p.add_uint64(8, ns_of(at_s));
  p.add_uint32(58, kBootTimeClock);
  p.add_message(11, event);
  add(packet);
}
void TraceWriter::add(std::string& packet) {
  pbf_writer p(packet);
  p.add_uint32(10, kSequence);
  pbf_writer(bytes_).add_message(1, packet);
}

}  // namespace hone::report
