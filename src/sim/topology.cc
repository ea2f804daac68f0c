#include "sim/topology.h"

// The library asserts that a key begins where one may, and says afterwards what is wrong with the file if none does: builds with
// assertions must not end there.
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/suggest.h"

namespace hone::sim {

namespace {

constexpr int64_t kMaxDevices = 64;   // the simulator keeps sets of devices as bits
constexpr size_t kMaxHops = 100'000;  // a link of many ends has one for each pair of them

// One table of the file.
class Section {
 public:
  Section(const toml::table& table, std::string file, std::string title)
      : table_(table), file_(std::move(file)), title_(std::move(title)) {}

  std::string where(const std::string& key) const {
    const toml::node* node = table_.get(key);
    const auto line = (node ? node->source() : table_.source()).begin.line;
    std::string text = file_ + (line ? " line " + std::to_string(line) : "");
    if (!title_.empty()) text += ", " + title_;
    return key.empty() ? text : text + ", " + key;
  }

  std::string text(const std::string& key, const std::string& otherwise = "") {
    const toml::node* node = find(key, otherwise.empty());
    if (!node) return otherwise;
    if (!node->is_string() || node->value<std::string>()->empty()) throw Error("not a name", where(key));
    return *node->value<std::string>();
  }
  double positive(const std::string& key, double otherwise = -1) {
    const toml::node* node = find(key, otherwise < 0);
    if (!node) return otherwise;
    const double value = node->is_number() ? *node->value<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(value > 0) || !std::isfinite(value)) throw Error("must be a number above zero", where(key));
    return value;
  }
  double not_negative(const std::string& key, double otherwise, double most) {
    const toml::node* node = find(key, false);
    if (!node) return otherwise;
    const double value = node->is_number() ? *node->value<double>() : -1;
    if (!(value >= 0) || !(value <= most)) throw Error("must be a number from 0" + upper(most), where(key));
    return value;
  }
  int64_t count(const std::string& key) {
    const toml::node* node = find(key, false);
    if (!node) return 1;
    const int64_t value = node->is_integer() ? *node->value<int64_t>() : 0;
    if (value < 1 || value > kMaxDevices) throw Error("must be a whole number from 1 to 64", where(key));
    return value;
  }
  std::vector<std::string> names(const std::string& key, bool required) {
    std::vector<std::string> out;
    const toml::node* node = find(key, required);
    if (!node) return out;
    if (!node->is_array()) throw Error("must be a list of names", where(key));
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) throw Error("must be a list of names", where(key));
      out.push_back(*item.value<std::string>());
    }
    return out;
  }
  // The tables of [[key]].
  std::vector<Section> sections(const std::string& key) {
    std::vector<Section> out;
    const toml::node* node = find(key, false);
    if (!node) return out;
    if (!node->is_array_of_tables()) throw Error("must be written as [[" + key + "]]", where(key));
    for (const toml::node& item : *node->as_array())
      out.emplace_back(*item.as_table(), file_, key + " " + std::to_string(out.size() + 1));
    return out;
  }
  // Throws Error for a key that is not among these.
  void only(std::initializer_list<const char*> known) const {
    std::string names;
    for (const char* name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    for (auto&& [key, node] : table_)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        throw Error("unknown key '" + std::string(key.str()) + "'", where(std::string(key.str())), "known: " + names);
  }

 private:
  static std::string upper(double most) {
    return std::isfinite(most) ? " to " + std::to_string(static_cast<int>(most)) : " on";
  }
  const toml::node* find(const std::string& key, bool required) const {
    const toml::node* node = table_.get(key);
    if (!node && required) throw Error("'" + key + "' is missing", where(""));
    return node;
  }

  const toml::table& table_;
  std::string file_, title_;
};

// Devices, switches and the links between them as the file is read.
struct Network {
  std::map<std::string, int32_t> vertex;  // devices first
  struct Hop {
    int32_t to = 0, link = 0;
  };
  std::vector<std::vector<Hop>> hops;
  size_t hop_count = 0;

  void add(const std::string& name, const std::string& where) {
    if (!vertex.emplace(name, static_cast<int32_t>(hops.size())).second)
      throw Error("the name '" + name + "' is given twice", where);
    hops.emplace_back();
  }
};

void read_devices(Section& file, Topology& topology, Network& network) {
  for (Section& section : file.sections("device")) {
    section.only({"name", "count", "memory_gib", "matrix_tflops", "vector_tflops", "special_tops", "memory_gb_per_s",
                  "launch_us", "overlap"});
    const std::string name = section.text("name");
    const int64_t count = section.count("count");
    Device device;
    device.memory_bytes = section.positive("memory_gib") * static_cast<double>(1 << 30);
    device.matrix_flops = section.positive("matrix_tflops") * 1e12;
    device.vector_flops = section.positive("vector_tflops") * 1e12;
    device.special_per_second = section.positive("special_tops", device.vector_flops / 8 * 1e-12) * 1e12;
    device.bytes_per_second = section.positive("memory_gb_per_s") * 1e9;
    device.launch_seconds = section.not_negative("launch_us", 0, 1e6) * 1e-6;
    device.overlap = section.not_negative("overlap", 0.95, 1);
    for (int64_t i = 0; i < count; ++i) {
      device.name = count == 1 ? name : name + std::to_string(i);
      network.add(device.name, section.where("name"));
      topology.devices.push_back(device);
    }
  }
  if (topology.devices.empty()) throw Error("the topology has no device", file.where(""), "add a [[device]] section");
  if (topology.size() > kMaxDevices) throw Error("more than 64 devices", file.where("device"));
}

void read_link(Section& section, Topology& topology, Network& network) {
  section.only({"name", "between", "kind", "gb_per_s", "latency_us"});
  const std::vector<std::string> between = section.names("between", true);
  const std::string kind = section.text("kind", "pairs");
  Link link;
  link.name = section.text("name", "link");
  link.bytes_per_second = section.positive("gb_per_s") * 1e9;
  link.latency_seconds = section.not_negative("latency_us", 0, 1e6) * 1e-6;
  if (kind != "pairs" && kind != "star" && kind != "shared")
    throw Error("unknown kind of link '" + kind + "'", section.where("kind"), "pairs, star or shared");
  std::vector<int32_t> ends;
  for (const std::string& name : between) {
    const auto found = network.vertex.find(name);
    if (found == network.vertex.end())
      throw Error("no device or switch is called '" + name + "'", section.where("between"));
    if (std::find(ends.begin(), ends.end(), found->second) != ends.end())
      throw Error("the name '" + name + "' is given twice", section.where("between"));
    ends.push_back(found->second);
  }
  if (ends.size() < 2) throw Error("a link needs two ends", section.where("between"));
  network.hop_count += ends.size() * (kind == "star" ? 2 : ends.size());
  if (network.hop_count > kMaxHops)
    throw Error("more than 100,000 pairs of devices and switches", section.where("between"));
  const std::string name = link.name;
  const auto connect = [&](size_t a, size_t b) {
    if (kind != "shared") {
      link.name = name + " " + between[a] + ">" + between[b];
      topology.links.push_back(link);
    }
    network.hops[ends[a]].push_back({ends[b], static_cast<int32_t>(topology.links.size()) - 1});
  };
  if (kind == "shared") topology.links.push_back(link);
  for (size_t a = 0; a < ends.size(); ++a)
    for (size_t b = 0; b < ends.size(); ++b)
      if (a != b && (kind != "star" || a == 0 || b == 0)) connect(a, b);
}

// The routes with fewest hops; ties by the order of the file.
void find_routes(Topology& topology, const Network& network, const std::string& where) {
  const int32_t devices = topology.size();
  topology.routes.assign(static_cast<size_t>(devices) * devices, {});
  std::vector<size_t> used_by(topology.links.size(), topology.routes.size());  // the last route that has the link
  for (int32_t from = 0; from < devices; ++from) {
    std::vector<int32_t> before(network.hops.size(), -1), by(network.hops.size(), -1);
    std::queue<int32_t> open;
    open.push(from);
    before[from] = from;
    for (; !open.empty(); open.pop())
      for (const Network::Hop& hop : network.hops[open.front()])
        if (before[hop.to] < 0) {
          before[hop.to] = open.front();
          by[hop.to] = hop.link;
          open.push(hop.to);
        }
    for (int32_t to = 0; to < devices; ++to) {
      if (to == from) continue;
      if (before[to] < 0)
        throw Error("no route from " + topology.devices[from].name + " to " + topology.devices[to].name, where,
                    "add a [[link]] between them");
      const size_t number = static_cast<size_t>(from) * devices + to;
      auto& route = topology.routes[number];
      for (int32_t at = to; at != from; at = before[at])
        if (std::exchange(used_by[by[at]], number) != number) route.push_back(by[at]);
      std::reverse(route.begin(), route.end());
    }
  }
}

// The line of the first character beyond ASCII outside of strings and comments, where TOML has none; 0 if all are fine. For some of them
// the library's search for blanks runs into what it takes for unreachable.
size_t line_beyond_ascii(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  size_t line = 1;
  std::string_view quote;  // ends the string that is being read
  bool bare = false;       // in a number, date or bare key, where a quote begins no string
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    line += c == '\n';
    if (c == '\n' && quote.size() == 1) quote = {};
    if (!quote.empty()) {
      if (c == '\\' && quote[0] == '"' && text.substr(i + 1, 1) != "\n") {
        ++i;
      } else if (text.substr(i).starts_with(quote)) {
        i += quote.size() - 1;
        quote = {};
      }
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if ((c == '"' || c == '\'') && !bare) {
      quote = text.substr(i, text.substr(i, 3) == std::string(3, c) ? 3 : 1);
      i += quote.size() - 1;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return line;
    } else if (c != '[') {
      bare = std::string_view(" \t\r\n=,{}]").find(c) == std::string_view::npos;
    }
  }
  return 0;
}

}  // namespace

double Topology::transfer_seconds(int32_t from, int32_t to, double bytes) const {
  double latency = 0, speed = std::numeric_limits<double>::infinity();
  for (int32_t link : route(from, to)) {
    latency += links[link].latency_seconds;
    speed = std::min(speed, links[link].bytes_per_second);
  }
  return latency + bytes / speed;
}

double Topology::memory_bytes() const {
  double sum = 0;
  for (const Device& device : devices) sum += device.memory_bytes;
  return sum;
}

Topology parse_topology(const std::string& text, const std::string& what) {
  if (const size_t line = line_beyond_ascii(text))
    throw Error("not a TOML file: a letter that only strings and comments may have",
                what + " line " + std::to_string(line));
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& e) {
    throw Error("not a TOML file: " + std::string(e.description()),
                what + " line " + std::to_string(e.source().begin.line));
  }
  Section file(table, what, "");
  file.only({"name", "switches", "device", "link", "segment_us", "wake_us"});
  Topology topology;
  Network network;
  topology.name = file.text("name", what);
  if (table.contains("segment_us") || table.contains("wake_us"))
    topology.threads =
        HostThreads{file.not_negative("segment_us", 0, 1e6) * 1e-6, file.not_negative("wake_us", 0, 1e6) * 1e-6};
  read_devices(file, topology, network);
  for (const std::string& name : file.names("switches", false)) network.add(name, file.where("switches"));
  for (Section& section : file.sections("link")) read_link(section, topology, network);
  find_routes(topology, network, what);
  return topology;
}

Topology load_topology(const std::string& path, const std::string& presets) {
  namespace fs = std::filesystem;
  const bool is_name = path.find('/') == std::string::npos && path.find('.') == std::string::npos;
  const fs::path preset = fs::path(presets) / (path + ".toml");
  if (is_name && !fs::exists(path)) {
    if (fs::exists(preset)) return parse_topology(read_file(preset.string()), path);
    std::set<std::string> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(presets, none))
      if (entry.path().extension() == ".toml") found.insert(entry.path().stem().string());
    throw unknown_word("topology", path, {found.begin(), found.end()}, "--devices", "name a .toml file, or");
  }
  return parse_topology(read_file(path), path);
}

}  // namespace hone::sim
