#include "data/npz.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "data/mapped_file.h"
#include "data/zip.h"

// Layout: numpy.lib.format (NEP 1).
namespace hone {
namespace {

struct TypeRow {
  const char* type;  // XLA's name
  const char* code;  // NumPy's kind and size, without the byte order
  int size, unit;    // bytes of an element, bytes swapped together
};
constexpr TypeRow kTypes[] = {
    {"pred", "b1", 1, 1}, {"s8", "i1", 1, 1},  {"s16", "i2", 2, 2}, {"s32", "i4", 4, 4}, {"s64", "i8", 8, 8},
    {"u8", "u1", 1, 1},   {"u16", "u2", 2, 2}, {"u32", "u4", 4, 4}, {"u64", "u8", 8, 8}, {"f16", "f2", 2, 2},
    {"bf16", "V2", 2, 2}, {"f32", "f4", 4, 4}, {"f64", "f8", 8, 8}, {"c64", "c8", 8, 4}, {"c128", "c16", 16, 8},
};
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 64;  // of NumPy 2

const TypeRow& row_of_type(const std::string& type) {
  for (const TypeRow& row : kTypes)
    if (type == row.type) return row;
  throw Error("arrays of type '" + type + "' have no form in NumPy's files");
}

// Bytes of an array; nullopt if they exceed 64 bits. No dimension may be negative.
std::optional<uint64_t> array_bytes(const std::vector<int64_t>& dims, int element) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  uint64_t bytes = element;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  return bytes;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> dims;
  size_t data_at = 0;  // offset of the elements in the file
};

// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header parse() {
    Header header;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail("arrays of records cannot be read");
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.dims = shape();
      } else {
        fail("unknown key '" + key + "'");
      }
      if (!keys.insert(key).second) fail("key '" + key + "' occurs twice");
      if (!take(',') && peek() != '}') fail("',' or '}' is missing");
    }
    if (keys.size() != 3) fail("one of descr, fortran_order and shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("bad array header, character {}: {}", at_, what), where_);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}' is missing", c));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a quoted word is missing");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a quoted word does not end");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    peek();
    for (bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("True or False is missing");
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!take(')')) {
      int64_t dim = 0;
      if (peek() < '0' || peek() > '9') fail("a dimension is missing");
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, text_[at_] - '0', &dim))
          fail("a dimension is too large");
      take('L');  // Python 2 wrote long integers
      if (dims.size() == kMostDimensions) fail("more dimensions than NumPy has");
      dims.push_back(dim);
      if (!take(',') && peek() != ')') fail("',' or ')' is missing");
    }
    return dims;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

// Column-major to row-major.
std::vector<uint8_t> transpose(std::span<const uint8_t> from, const std::vector<int64_t>& dims, size_t element) {
  std::vector<uint8_t> to(from.size());
  const size_t rank = dims.size();
  std::vector<size_t> strides(rank, element);  // bytes in `from`
  for (size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * dims[d - 1];
  std::vector<int64_t> index(rank, 0);
  size_t source = 0;
  for (size_t out = 0; out < to.size(); out += element) {
    std::memcpy(to.data() + out, from.data() + source, element);
    for (size_t d = rank; d-- > 0;) {
      source += strides[d];
      if (++index[d] < dims[d]) break;
      source -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  return to;
}

const TypeRow& row_of_descr(const std::string& descr, const std::string& where) {
  if (descr.size() > 1 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos)
    for (const TypeRow& row : kTypes)
      if (std::string_view(descr).substr(1) == row.code) return row;
  throw Error("arrays of NumPy type '" + descr + "' cannot be read", where,
              "save booleans, integers, floats, complex numbers or bfloat16");
}

void need(std::span<const uint8_t> file, size_t bytes, const char* what, const std::string& where) {
  if (file.size() < bytes)
    throw Error(fmt::format("truncated {}: {} bytes are there, {} expected", what, file.size(), bytes), where);
}

constexpr size_t kStartBytes = 12;  // magic, version and length of the header; in version 1 two bytes less

// The offsets of the header and of the elements, from the file's first kStartBytes bytes (or all of them).
std::pair<size_t, size_t> header_place(std::span<const uint8_t> file, const std::string& where) {
  need(file, kMagic.size() + 4, "array file", where);
  if (!std::equal(kMagic.begin(), kMagic.end(), file.begin(), [](char a, uint8_t b) { return uint8_t(a) == b; }))
    throw Error("not a NumPy array", where);
  const int version = file[6];
  if (version < 1 || version > 3) throw Error(fmt::format("array format version {} is unknown", version), where);
  const size_t begin = version == 1 ? 10 : 12;
  need(file, begin, "array header", where);
  const size_t length =
      file[8] | file[9] << 8 | (version == 1 ? size_t{0} : size_t{file[10]} << 16 | size_t{file[11]} << 24);
  return {begin, begin + length};
}

Header read_header(std::span<const uint8_t> file, const std::string& where) {
  const auto [begin, end] = header_place(file, where);
  need(file, end, "array header", where);
  Header header = HeaderParser({reinterpret_cast<const char*>(file.data()) + begin, end - begin}, where).parse();
  header.data_at = end;
  return header;
}

// Throws Error unless the number of bytes after the header matches the shape.
void check_bytes(const Header& header, const TypeRow& row, uint64_t behind, const std::string& where) {
  const auto bytes = array_bytes(header.dims, row.size);
  if (!bytes || *bytes != behind)
    throw Error(fmt::format("the shape needs {} bytes, {} follow the header at byte {}",
                            bytes ? std::to_string(*bytes) : "too many", behind, header.data_at),
                where);
}

// Converts the elements of a row-major file to little-endian; any pred other than 0 becomes 1.
void make_native(NamedArray& array, const Header& header, const TypeRow& row) {
  if (header.descr[0] == '>')
    for (size_t at = 0; at < array.bytes.size(); at += row.unit)
      std::reverse(array.bytes.begin() + at, array.bytes.begin() + at + row.unit);
  if (array.type == "pred")
    for (uint8_t& value : array.bytes) value = value != 0;
}

NamedArray decode_npy(std::span<const uint8_t> file, std::string name, const std::string& where) {
  const Header header = read_header(file, where);
  const TypeRow& row = row_of_descr(header.descr, where);
  const std::span<const uint8_t> data = file.subspan(header.data_at);
  check_bytes(header, row, data.size(), where);
  NamedArray array{std::move(name), row.type, header.dims, {}};
  if (header.fortran_order && header.dims.size() > 1) {
    array.bytes = transpose(data, header.dims, row.size);
  } else {
    array.bytes.assign(data.begin(), data.end());
  }
  make_native(array, header, row);
  return array;
}

constexpr std::string_view kSuffix = ".npy";

bool is_array(const ZipMember& member) { return member.name.ends_with(kSuffix); }
std::string array_name(const ZipMember& member) { return member.name.substr(0, member.name.size() - kSuffix.size()); }
std::string array_place(const std::string& where, const std::string& name) { return where + ": array '" + name + "'"; }

// The first bytes of a stream, header included.
std::vector<uint8_t> header_of(ZipStream& stream, const std::string& where) {
  std::vector<uint8_t> file(std::min<uint64_t>(stream.left(), kStartBytes));
  stream.read(file);
  const size_t end = header_place(file, where).second, have = file.size();
  if (end > have) {
    if (end - have > stream.left()) throw Error("truncated array header", where);
    file.resize(end);
    stream.read(std::span(file).subspan(have));
  }
  return file;
}

}  // namespace

int64_t element_bytes(const std::string& type) { return row_of_type(type).size; }

std::vector<NamedArray> decode_npz(std::span<const uint8_t> file, const std::string& where) {
  if (!is_zip(file)) return {decode_npy(file, "", where)};
  std::vector<NamedArray> arrays;
  std::vector<uint8_t> storage;
  for (const ZipMember& member : list_zip(file, where)) {
    if (!is_array(member)) continue;
    const std::string name = array_name(member);
    arrays.push_back(decode_npy(unpack(member, storage, where), name, array_place(where, name)));
  }
  return arrays;
}

std::vector<NamedArray> read_npz(const std::string& path) {
  const std::string file = read_file(path);
  return decode_npz({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, path);
}

struct NpzFile::Archive {
  explicit Archive(const std::string& path) : file(path) {
    if (!is_zip(file.bytes())) throw Error("not an .npz file", path);
    for (ZipMember& member : list_zip(file.bytes(), path))
      if (is_array(member)) members.push_back(std::move(member));
  }
  const ZipMember* find(const std::string& name) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const ZipMember& m) { return array_name(m) == name; });
    return found == members.end() ? nullptr : &*found;
  }
  MappedFile file;
  std::vector<ZipMember> members;
};

NpzFile::NpzFile(const std::string& path) : path_(path), archive_(std::make_unique<const Archive>(path)) {}
NpzFile::~NpzFile() = default;

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : archive_->members) names.push_back(array_name(member));
  return names;
}

bool NpzFile::has(const std::string& name) const { return archive_->find(name) != nullptr; }
std::string NpzFile::place_of(const std::string& name) const { return array_place(path_, name); }

NamedArray NpzFile::read(const std::string& name) const {
  const ZipMember* member = archive_->find(name);
  if (member == nullptr) throw Error("the array is missing", place_of(name));
  std::vector<uint8_t> storage;
  return decode_npy(unpack(*member, storage, place_of(name)), name, place_of(name));
}

void NpzFile::read_pieces(const std::string& name, uint64_t most_bytes,
                          const std::function<void(const NamedArray& piece)>& take) const {
  const ZipMember* member = archive_->find(name);
  const std::string where = place_of(name);
  if (member == nullptr) throw Error("the array is missing", where);
  ZipStream stream(*member, where);
  const std::vector<uint8_t> start = header_of(stream, where);
  const Header header = read_header(start, where);
  if (header.dims.empty()) throw Error("it is a single value", where);
  if (header.fortran_order && header.dims.size() > 1) {
    const NamedArray whole = read(name);
    if (whole.dims[0] > 0) take(whole);
    return;
  }
  const TypeRow& row = row_of_descr(header.descr, where);
  check_bytes(header, row, member->size - header.data_at, where);
  NamedArray piece{name, row.type, header.dims, {}};
  piece.dims[0] = 1;
  const uint64_t row_bytes = array_bytes(piece.dims, row.size).value_or(0);
  // Rows without bytes come all at once: a header may claim more of them than anybody counts to.
  const int64_t rows_at_once =
      row_bytes == 0 ? header.dims[0] : static_cast<int64_t>(std::max<uint64_t>(1, most_bytes / row_bytes));
  for (int64_t first = 0; first < header.dims[0]; first += rows_at_once) {
    piece.dims[0] = std::min(rows_at_once, header.dims[0] - first);
    piece.bytes.resize(static_cast<uint64_t>(piece.dims[0]) * row_bytes);
    stream.read(piece.bytes);
    make_native(piece, header, row);
    take(piece);
  }
  stream.finish();
}

std::vector<uint8_t> encode_npy(const NamedArray& array) {
  const TypeRow& row = row_of_type(array.type);
  const bool negative = std::any_of(array.dims.begin(), array.dims.end(), [](int64_t dim) { return dim < 0; });
  const auto bytes = negative ? std::nullopt : array_bytes(array.dims, row.size);
  if (!bytes || *bytes != array.bytes.size())
    throw Error(fmt::format("an array's {} bytes do not fit its shape", array.bytes.size()),
                "array '" + array.name + "'");
  std::string shape;
  for (int64_t dim : array.dims) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", dim);
  if (array.dims.size() == 1) shape += ",";
  const char order = row.size == 1 || row.code[0] == 'V' ? '|' : '<';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, row.code, shape);
  const bool long_header = header.size() > 0xff00;
  const size_t prefix = long_header ? 12 : 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');  // data starts at a multiple of 64
  header += '\n';

  std::vector<uint8_t> file(kMagic.begin(), kMagic.end());
  file.reserve(prefix + header.size() + array.bytes.size());
  file.insert(file.end(), {static_cast<uint8_t>(long_header ? 2 : 1), 0});
  for (size_t i = 0; i < prefix - 8; ++i) file.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), array.bytes.begin(), array.bytes.end());
  return file;
}

std::vector<uint8_t> encode_npz(std::span<const NamedArray> arrays, bool compressed) {
  ZipWriter writer(compressed);
  std::set<std::string> names;
  for (const NamedArray& array : arrays) {
    if (array.name.empty()) throw Error("an array of an .npz file needs a name");
    if (!names.insert(array.name).second) throw Error("two arrays have the same name", "array '" + array.name + "'");
    writer.add(array.name + ".npy", encode_npy(array));
  }
  return writer.finish();
}

void write_npz(const std::string& path, std::span<const NamedArray> arrays, bool compressed) {
  const std::vector<uint8_t> file = encode_npz(arrays, compressed);
  write_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace hone
