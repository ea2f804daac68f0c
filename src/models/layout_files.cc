#include "models/layout_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "data/npz.h"
#include "data/zip.h"
#include "models/safetensors.h"

namespace hone::models {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "hone-layouts-1";
constexpr const char* kPackedSuffix = ".layouts";
constexpr const char* kConfigs = "node_config_feat";

// A file as bytes, without reading it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      if (file >= 0) close(file);
      throw Error("cannot read the file", path);
    }
    size_ = static_cast<size_t>(status.st_size);
    if (size_ > 0) data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (data_ == MAP_FAILED) throw Error("cannot map the file", path);
  }
  ~MappedFile() {
    if (size_ > 0) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// Calls f with a value of the C++ type that XLA's name stands for.
template <class F>
bool with_type(const std::string& type, F&& f) {
  if (type == "f32") return f(float{}), true;
  if (type == "f64") return f(double{}), true;
  if (type == "s64") return f(int64_t{}), true;
  if (type == "s32") return f(int32_t{}), true;
  if (type == "s16") return f(int16_t{}), true;
  if (type == "s8") return f(int8_t{}), true;
  if (type == "u64") return f(uint64_t{}), true;
  if (type == "u32") return f(uint32_t{}), true;
  if (type == "u16") return f(uint16_t{}), true;
  if (type == "u8") return f(uint8_t{}), true;
  return false;
}

// `n` numbers of a type as doubles; all the data set's integers are below 2^53.
void read_numbers(const std::string& type, const uint8_t* bytes, int64_t n, double* out, const std::string& where) {
  const bool known = with_type(type, [&]<class T>(T value) {
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
      out[i] = static_cast<double>(value);
    }
  });
  if (!known) throw Error("an array of type " + type + " where numbers are expected", where);
}

using Arrays = std::map<std::string, NamedArray>;

std::vector<double> numbers_of(const Arrays& arrays, const char* name, const std::vector<int64_t>& dims,
                               const std::string& path) {
  const std::string where = path + ", " + name;
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw Error("the array is missing", where);
  const NamedArray& array = found->second;
  bool fits = array.dims.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] < 0 || dims[i] == array.dims[i];
  if (!fits) throw Error("the array has another shape than layout data have", where);
  std::vector<double> values(array.bytes.size() / element_bytes(array.type));
  read_numbers(array.type, array.bytes.data(), static_cast<int64_t>(values.size()), values.data(), where);
  return values;
}

template <class Integer>
std::vector<Integer> integers_of(const Arrays& arrays, const char* name, const std::vector<int64_t>& dims,
                                 const std::string& path) {
  const std::vector<double> values = numbers_of(arrays, name, dims, path);
  std::vector<Integer> integers;
  for (double value : values) {
    const bool fits = value >= std::numeric_limits<Integer>::min() && value <= std::numeric_limits<Integer>::max();
    if (!fits || value != std::floor(value)) throw Error("a number is no index", path + ", " + name);
    integers.push_back(static_cast<Integer>(value));
  }
  return integers;
}

// A member of an archive, unpacked piece by piece.
class MemberStream {
 public:
  MemberStream(const ZipMember& member, const std::string& where) : member_(member), where_(where) {
    if (member.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw RunError("zlib cannot start");
  }
  ~MemberStream() {
    if (member_.deflated) inflateEnd(&stream_);
  }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  // Exactly `n` bytes; throws Error when there are fewer.
  void read(uint8_t* out, size_t n) {
    if (n > member_.size - done_) throw Error("truncated array", where_);
    if (member_.deflated) {
      inflate_into(out, n);
    } else {
      std::memcpy(out, member_.packed.data() + done_, n);
    }
    crc_ = static_cast<uint32_t>(crc32(crc_, out, static_cast<uInt>(n)));
    done_ += n;
  }
  uint64_t left() const { return member_.size - done_; }
  void finish() const {
    if (crc_ != member_.crc) throw Error("damaged array: its checksum does not fit", where_);
  }

 private:
  void inflate_into(uint8_t* out, size_t n) {
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(n);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        const size_t piece = std::min<size_t>(member_.packed.size() - fed_, size_t{1} << 24);
        stream_.next_in = const_cast<uint8_t*>(member_.packed.data() + fed_);
        stream_.avail_in = static_cast<uInt>(piece);
        fed_ += piece;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_OK || (code == Z_STREAM_END && stream_.avail_out == 0)) continue;
      throw Error("damaged array: it cannot be unpacked", where_);
    }
  }

  const ZipMember& member_;
  std::string where_;
  z_stream stream_{};
  uint64_t done_ = 0;
  size_t fed_ = 0;
  uint32_t crc_ = 0;
};

struct StreamedHeader {
  std::string type;
  std::vector<int64_t> dims;
};

// The header in front of a streamed array. decode_npz reads it, given an array of the same type without elements.
StreamedHeader read_header(MemberStream& stream, const std::string& where) {
  std::vector<uint8_t> file(10);
  stream.read(file.data(), 10);
  const bool wide = file[6] >= 2;  // format versions 2 and 3 have four bytes of length
  if (wide) {
    file.resize(12);
    stream.read(file.data() + 10, 2);
  }
  uint32_t length = file[8] | file[9] << 8;
  if (wide) length |= uint32_t{file[10]} << 16 | uint32_t{file[11]} << 24;
  if (std::memcmp(file.data(), "\x93NUMPY", 6) != 0 || length > 65536) throw Error("not a NumPy array", where);
  const size_t text_at = file.size();
  file.resize(text_at + length);
  stream.read(file.data() + text_at, length);
  std::string text(file.begin() + static_cast<int64_t>(text_at), file.end());
  const size_t open = text.find('('), close = text.find(')');
  if (open == std::string::npos || close == std::string::npos || close < open) throw Error("no shape", where);
  StreamedHeader header;
  size_t zeroed = open;  // an array of no elements has the same header but for a 0 in front
  for (size_t at = open + 1; at < close;) {
    const size_t comma = std::min(text.find(',', at), close);
    const std::string word = text.substr(at, comma - at);
    if (word.find_first_of("0123456789") != std::string::npos) header.dims.push_back(std::atoll(word.c_str()));
    at = comma + 1;
  }
  text.replace(zeroed, close - open + 1, "(0,)");
  text.resize(length, ' ');
  if (text.back() != '\n') text.back() = '\n';
  std::copy(text.begin(), text.end(), file.begin() + static_cast<int64_t>(text_at));
  const std::vector<NamedArray> empty = decode_npz(file, where);
  if (empty.size() != 1 || text.find("'fortran_order': False") == std::string::npos ||
      text.find("'>") != std::string::npos)
    throw Error("the array is not row-major and little-endian", where);
  header.type = empty[0].type;
  return header;
}

// node_config_feat [c, nc, 18] -> [c, nc] packed.
std::vector<uint64_t> stream_configs(const ZipMember& member, int64_t& configurations, int64_t& configurable,
                                     const std::string& where) {
  MemberStream stream(member, where);
  const StreamedHeader header = read_header(stream, where);
  if (header.dims.size() != 3 || header.dims[2] != kConfigAxes)
    throw Error("the array has another shape than layout data have", where, "configurations, nodes, 18 axes");
  configurations = header.dims[0];
  configurable = header.dims[1];
  const int64_t row_bytes = kConfigAxes * element_bytes(header.type);
  const auto rows = static_cast<int64_t>(stream.left() / static_cast<uint64_t>(row_bytes));
  if (stream.left() % row_bytes != 0 || configurable < 0 || configurations < 0 ||
      (configurable > 0 ? rows % configurable != 0 || rows / configurable != configurations : rows != 0))
    throw Error("the array has another size than its shape says", where);
  constexpr int64_t kRowsAtOnce = 4096;
  std::vector<uint8_t> bytes(kRowsAtOnce * row_bytes);
  std::vector<double> values(kRowsAtOnce * kConfigAxes);
  std::vector<uint64_t> packed;
  packed.reserve(rows);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, rows - first);
    stream.read(bytes.data(), n * row_bytes);
    read_numbers(header.type, bytes.data(), n * kConfigAxes, values.data(), where);
    for (int64_t row = 0; row < n; ++row) {
      ConfigAxes axes;
      for (int i = 0; i < kConfigAxes; ++i) {
        const double axis = values[row * kConfigAxes + i];
        if (!(axis >= -1 && axis <= 5) || axis != std::floor(axis))
          throw Error("an axis of a layout is not -1 to 5",
                      where + ", configuration " + std::to_string((first + row) / configurable));
        axes[i] = static_cast<int8_t>(axis);
      }
      packed.push_back(pack_axes(axes));
    }
  }
  stream.finish();
  return packed;
}

Arrays read_small_arrays(const std::vector<ZipMember>& members, const std::string& path) {
  Arrays arrays;
  for (const ZipMember& member : members) {
    const std::string name = member.name.substr(0, member.name.rfind(".npy"));
    if (name == kConfigs || name == member.name) continue;
    std::vector<uint8_t> storage;
    const std::string where = path + ", " + name;
    std::vector<NamedArray> decoded = decode_npz(unpack(member, storage, where), where);
    if (decoded.size() == 1) arrays[name] = std::move(decoded[0]);
  }
  return arrays;
}

void take_run_times(LayoutGraph& graph, std::vector<double> runtimes) {
  if (std::any_of(runtimes.begin(), runtimes.end(), [](double ns) { return ns != 0; }))
    graph.runtime_ns = std::move(runtimes);
}

StoredTensor stored(const char* dtype, std::vector<int64_t> shape, const void* data, size_t bytes) {
  return {dtype, std::move(shape), std::string(static_cast<const char*>(data), bytes)};
}

// One tensor of a mapped safetensors file.
std::span<const uint8_t> mapped_tensor(const nlohmann::json& header, const char* name, const char* dtype,
                                       std::span<const uint8_t> data, const std::string& path) {
  const std::string where = path + ", " + name;
  try {
    const nlohmann::json& entry = header.at(name);
    const auto begin = entry.at("data_offsets").at(0).get<uint64_t>();
    const auto end = entry.at("data_offsets").at(1).get<uint64_t>();
    if (entry.at("dtype") != dtype) throw Error("the array has another type", where);
    if (begin > end || end > data.size()) throw Error("the array lies outside the file", where);
    return data.subspan(begin, end - begin);
  } catch (const nlohmann::json::exception&) {
    throw Error("the array is missing or described badly", where);
  }
}

template <class T>
std::vector<T> copied(std::span<const uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

bool is_layout_file(const fs::path& path) { return path.extension() == ".npz" || path.extension() == kPackedSuffix; }

LayoutGraph read_any(const fs::path& path, const std::string& name, const std::string& cache_dir) {
  LayoutGraph graph;
  if (path.extension() == kPackedSuffix) {
    graph = open_packed_layouts(path.string());
  } else if (cache_dir.empty()) {
    graph = read_layout_npz(path.string());
  } else {
    const fs::path packed = fs::path(cache_dir) / (path.stem().string() + "-" +
                                                   hash_hex(fs::absolute(path).string()).substr(0, 8) + kPackedSuffix);
    std::error_code none;
    if (!fs::exists(packed, none) || fs::last_write_time(packed, none) < fs::last_write_time(path, none)) {
      fs::create_directories(cache_dir, none);
      write_packed_layouts(packed.string(), read_layout_npz(path.string()));
    }
    graph = open_packed_layouts(packed.string());
  }
  graph.name = name;
  return graph;
}

}  // namespace

LayoutGraph read_layout_npz(const std::string& path) {
  const MappedFile file(path);
  if (!is_zip(file.bytes())) throw Error("not an .npz file", path);
  const std::vector<ZipMember> members = list_zip(file.bytes(), path);
  const auto configs = std::find_if(members.begin(), members.end(), [](const ZipMember& member) {
    return member.name == std::string(kConfigs) + ".npy";
  });
  if (configs == members.end()) throw Error("the array is missing", path + ", " + kConfigs);
  const Arrays arrays = read_small_arrays(members, path);

  LayoutGraph graph;
  graph.name = path;  // for errors
  graph.node_opcode = integers_of<uint8_t>(arrays, "node_opcode", {-1}, path);
  const std::vector<double> features = numbers_of(arrays, "node_feat", {graph.nodes(), kNodeFeatures}, path);
  graph.node_feat.assign(features.begin(), features.end());
  mark_absent_layouts(graph.node_feat);
  graph.edges = integers_of<int32_t>(arrays, "edge_index", {-1, 2}, path);
  int64_t configurations = 0, configurable = 0;
  graph.configs = PackedConfigs::hold(stream_configs(*configs, configurations, configurable, path + ", " + kConfigs));
  graph.config_nodes = integers_of<int32_t>(arrays, "node_config_ids", {configurable}, path);
  take_run_times(graph, numbers_of(arrays, "config_runtime", {configurations}, path));
  check(graph);
  graph.name = fs::path(path).stem().string();
  return graph;
}

void write_packed_layouts(const std::string& path, const LayoutGraph& graph) {
  TensorFile file;
  file.metadata = {{"format", kFormat}, {"name", graph.name}};
  const int64_t n = graph.nodes(), edges = static_cast<int64_t>(graph.edges.size()) / 2;
  const auto measured = static_cast<int64_t>(graph.runtime_ns.size());
  const auto put = [&](const char* name, const char* dtype, std::vector<int64_t> shape, const auto& values) {
    file.tensors[name] = stored(dtype, std::move(shape), values.data(), values.size() * sizeof(values[0]));
  };
  // Tensors stand in the order of their names: those of 8 bytes come first, so that they begin at multiples of 8.
  put("a_configs", "I64", {graph.configurations(), graph.configurable()}, graph.configs.values);
  put("b_config_runtime", "F64", {measured}, graph.runtime_ns);
  put("edge_index", "I32", {edges, 2}, graph.edges);
  put("node_config_ids", "I32", {graph.configurable()}, graph.config_nodes);
  put("node_feat", "F32", {n, kNodeFeatures}, graph.node_feat);
  put("node_opcode", "U8", {n}, graph.node_opcode);
  write_safetensors(path, file);
}

LayoutGraph open_packed_layouts(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const uint8_t> bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() > 8) std::memcpy(&length, bytes.data(), 8);
  if (length == 0 || length > bytes.size() - 8) throw Error("not packed layouts", path);
  const auto header =
      nlohmann::json::parse(bytes.begin() + 8, bytes.begin() + 8 + static_cast<int64_t>(length), nullptr, false);
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json& metadata =
      header.is_object() && header.contains("__metadata__") ? header["__metadata__"] : none;
  if (!metadata.is_object() || metadata.value("format", "") != kFormat) throw Error("not packed layouts", path);
  const std::span<const uint8_t> data = bytes.subspan(8 + length);
  LayoutGraph graph;
  graph.name = path;
  const auto configs = mapped_tensor(header, "a_configs", "I64", data, path);
  if (reinterpret_cast<uintptr_t>(configs.data()) % 8 != 0) throw Error("packed layouts are not aligned", path);
  graph.configs = {file, {reinterpret_cast<const uint64_t*>(configs.data()), configs.size() / 8}};
  graph.runtime_ns = copied<double>(mapped_tensor(header, "b_config_runtime", "F64", data, path));
  graph.edges = copied<int32_t>(mapped_tensor(header, "edge_index", "I32", data, path));
  graph.config_nodes = copied<int32_t>(mapped_tensor(header, "node_config_ids", "I32", data, path));
  graph.node_feat = copied<float>(mapped_tensor(header, "node_feat", "F32", data, path));
  graph.node_opcode = copied<uint8_t>(mapped_tensor(header, "node_opcode", "U8", data, path));
  check(graph);
  graph.name = metadata.value("name", fs::path(path).stem().string());
  return graph;
}

std::vector<LayoutGraph> read_layout_data(const std::string& path, const std::string& cache_dir) {
  std::error_code none;
  std::vector<LayoutGraph> graphs;
  if (!fs::is_directory(path, none)) {
    graphs.push_back(read_any(path, fs::path(path).stem().string(), cache_dir));
    return graphs;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && is_layout_file(entry.path())) files.push_back(entry.path());
  if (files.empty()) throw Error("no layout data (.npz or .layouts files)", path);
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    graphs.push_back(read_any(file, fs::relative(file, path).replace_extension().string(), cache_dir));
  return graphs;
}

}  // namespace hone::models
