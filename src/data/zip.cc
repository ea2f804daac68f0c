#include "data/zip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

// Layout: PKWARE APPNOTE 6.3.3, sections 4.3 and 4.5.3.
namespace hone {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint32_t kIn64 = 0xffffffff;  // a 32-bit field whose value is in the zip64 extra field
constexpr uint16_t kExtra64 = 1, kVersion64 = 45, kStored = 0, kDeflated = 8;
constexpr uint16_t kEncryptedFlag = 1, kUtf8Flag = 1 << 11, kFirstOf1980 = 0x21;
constexpr uint64_t kMostExpansion = 1032;  // bytes from one deflated byte
constexpr size_t kPiece = 1 << 30;         // zlib's sizes have 32 bits

// Little-endian reading with bounds checks.
class ArchiveReader {
 public:
  ArchiveReader(std::span<const uint8_t> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  template <class Integer>
  Integer at(uint64_t offset) const {
    Integer value;
    std::memcpy(&value, range(offset, sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const uint8_t> range(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      throw Error(fmt::format("truncated zip archive: {} bytes at byte {} of {}", size, offset, bytes_.size()), where_);
    return bytes_.subspan(offset, size);
  }
  uint64_t size() const { return bytes_.size(); }
  [[noreturn]] void fail(const std::string& what) const { throw Error(what, where_); }

 private:
  std::span<const uint8_t> bytes_;
  const std::string& where_;
};

struct Directory {
  uint64_t offset, size, members;
};

Directory find_directory(const ArchiveReader& reader) {
  const uint64_t last = reader.size() < kEndBytes ? 0 : reader.size() - kEndBytes;
  const uint64_t first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t end = last + 1; end-- > first;) {
    if (reader.size() < kEndBytes || reader.at<uint32_t>(end) != kEndSignature) continue;
    if (end + kEndBytes + reader.at<uint16_t>(end + 20) != reader.size()) continue;
    if (end >= kLocator64Bytes && reader.at<uint32_t>(end - kLocator64Bytes) == kLocator64Signature) {
      const auto end64 = reader.at<uint64_t>(end - kLocator64Bytes + 8);
      if (reader.at<uint32_t>(end64) != kEnd64Signature) reader.fail("damaged zip archive: no zip64 end record");
      return {reader.at<uint64_t>(end64 + 48), reader.at<uint64_t>(end64 + 40), reader.at<uint64_t>(end64 + 32)};
    }
    return {reader.at<uint32_t>(end + 16), reader.at<uint32_t>(end + 12), reader.at<uint16_t>(end + 10)};
  }
  reader.fail("truncated zip archive: it has no end record");
}

// Replaces values of kIn64 by those of the extra field, in their fixed order.
void read_extra64(const ArchiveReader& reader, uint64_t begin, uint64_t size, std::span<uint64_t* const> values) {
  for (uint64_t at = begin; at + 4 <= begin + size;) {
    const uint64_t id = reader.at<uint16_t>(at), length = reader.at<uint16_t>(at + 2);
    const uint64_t next = at + 4 + length;
    at += 4;
    if (next > begin + size) break;
    if (id == kExtra64) {
      for (uint64_t* value : values) {
        if (*value != kIn64) continue;
        if (at + 8 > next) reader.fail("damaged zip archive: zip64 field too short");
        *value = reader.at<uint64_t>(at);
        at += 8;
      }
      return;
    }
    at = next;
  }
}

// The member whose central header is at `at`; moves `at` to the next one.
ZipMember read_member(const ArchiveReader& reader, uint64_t& at) {
  if (reader.at<uint32_t>(at) != kCentralSignature)
    reader.fail(fmt::format("damaged zip archive: no member header at byte {}", at));
  const auto flags = reader.at<uint16_t>(at + 8), method = reader.at<uint16_t>(at + 10);
  uint64_t packed_size = reader.at<uint32_t>(at + 20), size = reader.at<uint32_t>(at + 24);
  uint64_t offset = reader.at<uint32_t>(at + 42);
  const uint64_t name_size = reader.at<uint16_t>(at + 28), extra_size = reader.at<uint16_t>(at + 30);
  const auto name = reader.range(at + kCentralBytes, name_size);
  uint64_t* const values[] = {&size, &packed_size, &offset};
  read_extra64(reader, at + kCentralBytes + name_size, extra_size, values);

  ZipMember member;
  member.name.assign(name.begin(), name.end());
  member.crc = reader.at<uint32_t>(at + 16);
  member.size = size;
  member.deflated = method == kDeflated;
  at += kCentralBytes + name_size + extra_size + reader.at<uint16_t>(at + 32);
  if (flags & kEncryptedFlag) reader.fail("member '" + member.name + "' is encrypted");
  if (method != kStored && method != kDeflated)
    reader.fail(
        fmt::format("member '{}' is packed by method {}; only stored and deflated can be read", member.name, method));
  if (reader.at<uint32_t>(offset) != kLocalSignature)
    reader.fail(fmt::format("damaged zip archive: member '{}' does not start at byte {}", member.name, offset));
  const uint64_t data = offset + kLocalBytes + reader.at<uint16_t>(offset + 26) + reader.at<uint16_t>(offset + 28);
  member.packed = reader.range(data, packed_size);
  const bool possible = member.deflated ? size <= (packed_size + 1) * kMostExpansion : size == packed_size;
  if (!possible) reader.fail(fmt::format("member '{}' cannot hold {} bytes", member.name, size));
  return member;
}

std::vector<uint8_t> deflate_all(std::span<const uint8_t> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw RunError("zlib cannot start");
  std::vector<uint8_t> packed(1 << 16);
  size_t in = 0, out = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (out == packed.size()) packed.resize(2 * packed.size());
    const size_t piece = std::min(bytes.size() - in, kPiece), room = std::min(packed.size() - out, kPiece);
    stream.next_in = const_cast<uint8_t*>(bytes.data() + in);
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = packed.data() + out;
    stream.avail_out = static_cast<uInt>(room);
    code = deflate(&stream, in + piece == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    in += piece - stream.avail_in;
    out += room - stream.avail_out;
  }
  deflateEnd(&stream);
  packed.resize(out);
  return packed;
}

template <class Integer>
void put(std::vector<uint8_t>& out, std::type_identity_t<Integer> value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

}  // namespace

bool is_zip(std::span<const uint8_t> archive) {
  return archive.size() >= 4 && archive[0] == 'P' && archive[1] == 'K' &&
         ((archive[2] == 3 && archive[3] == 4) || (archive[2] == 5 && archive[3] == 6) ||
          (archive[2] == 6 && archive[3] == 6));
}

std::vector<ZipMember> list_zip(std::span<const uint8_t> archive, const std::string& where) {
  const ArchiveReader reader(archive, where);
  const Directory directory = find_directory(reader);
  reader.range(directory.offset, directory.size);
  std::vector<ZipMember> members;
  uint64_t at = directory.offset, packed = 0;
  for (uint64_t i = 0; i < directory.members; ++i) {
    ZipMember member = read_member(reader, at);
    packed += member.packed.size();
    if (packed > archive.size()) reader.fail("damaged zip archive: its members overlap");
    if (member.name.empty() || member.name.back() != '/') members.push_back(std::move(member));
  }
  return members;
}

// A deflate stream that is read sequentially.
struct ZipStream::Inflater {
  explicit Inflater(std::span<const uint8_t> packed) : packed(packed) {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw RunError("zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The number of bytes read: fewer than requested at the end of the stream and if it is damaged.
  size_t read(std::span<uint8_t> out) {
    size_t have = 0;
    while (have < out.size() && !ended) {
      const size_t piece = std::min(packed.size() - in, kPiece), room = std::min(out.size() - have, kPiece);
      stream.next_in = const_cast<uint8_t*>(packed.data() + in);
      stream.avail_in = static_cast<uInt>(piece);
      stream.next_out = out.data() + have;
      stream.avail_out = static_cast<uInt>(room);
      const int code = inflate(&stream, Z_NO_FLUSH);
      in += piece - stream.avail_in;
      have += room - stream.avail_out;
      ended = code == Z_STREAM_END;
      if (code != Z_OK && !ended) break;
    }
    return have;
  }

  std::span<const uint8_t> packed;
  size_t in = 0;
  bool ended = false;
  z_stream stream{};
};

ZipStream::ZipStream(const ZipMember& member, const std::string& where) : member_(member), where_(where) {
  if (member.deflated) inflater_ = std::make_unique<Inflater>(member.packed);
}

ZipStream::~ZipStream() = default;

void ZipStream::read(std::span<uint8_t> out) {
  if (out.size() > left()) throw Error("member '" + member_.name + "' is truncated", where_);
  if (out.empty()) return;  // zlib begins a new checksum where it is given no bytes at no address
  if (inflater_ == nullptr)
    std::copy_n(member_.packed.begin() + static_cast<int64_t>(done_), out.size(), out.begin());
  else if (inflater_->read(out) < out.size())
    throw Error("member '" + member_.name + "' is damaged", where_);
  crc_ = static_cast<uint32_t>(crc32_z(crc_, out.data(), out.size()));
  done_ += out.size();
}

void ZipStream::finish() {
  uint8_t beyond;  // receives a byte if the stream is too long
  if (left() > 0 || (inflater_ != nullptr && (inflater_->read({&beyond, 1}) > 0 || !inflater_->ended)))
    throw Error("member '" + member_.name + "' is damaged", where_);
  if (crc_ != member_.crc) throw Error("member '" + member_.name + "' is damaged: its checksum differs", where_);
}

std::span<const uint8_t> unpack(const ZipMember& member, std::vector<uint8_t>& storage, const std::string& where) {
  if (member.deflated) {
    storage.resize(member.size);
    ZipStream stream(member, where);
    stream.read(storage);
    stream.finish();
    return storage;
  }
  if (crc32_z(0, member.packed.data(), member.packed.size()) != member.crc)
    throw Error("member '" + member.name + "' is damaged: its checksum differs", where);
  return member.packed;
}

void ZipWriter::add(const std::string& name, std::span<const uint8_t> bytes) {
  if (name.size() > 0xffff) throw Error("the name of an archive member is too long", name.substr(0, 40) + "...");
  std::vector<uint8_t> storage;
  std::span<const uint8_t> packed = bytes;
  if (deflated_) {
    storage = deflate_all(bytes);
    packed = storage;
  }
  const auto crc = static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
  entries_.push_back({name, bytes.size(), packed.size(), archive_.size(), crc});
  put<uint32_t>(archive_, kLocalSignature);
  put<uint16_t>(archive_, kVersion64);
  put<uint16_t>(archive_, kUtf8Flag);
  put<uint16_t>(archive_, deflated_ ? kDeflated : kStored);
  put<uint16_t>(archive_, 0);  // time
  put<uint16_t>(archive_, kFirstOf1980);
  put<uint32_t>(archive_, crc);
  put<uint32_t>(archive_, kIn64);
  put<uint32_t>(archive_, kIn64);
  put<uint16_t>(archive_, name.size());
  put<uint16_t>(archive_, 20);  // extra field: id, length, two sizes
  archive_.insert(archive_.end(), name.begin(), name.end());
  put<uint16_t>(archive_, kExtra64);
  put<uint16_t>(archive_, 16);
  put<uint64_t>(archive_, bytes.size());
  put<uint64_t>(archive_, packed.size());
  archive_.insert(archive_.end(), packed.begin(), packed.end());
}

std::vector<uint8_t> ZipWriter::finish() {
  const uint64_t directory = archive_.size();
  for (const Entry& entry : entries_) {
    put<uint32_t>(archive_, kCentralSignature);
    put<uint16_t>(archive_, kVersion64);
    put<uint16_t>(archive_, kVersion64);
    put<uint16_t>(archive_, kUtf8Flag);
    put<uint16_t>(archive_, deflated_ ? kDeflated : kStored);
    put<uint16_t>(archive_, 0);
    put<uint16_t>(archive_, kFirstOf1980);
    put<uint32_t>(archive_, entry.crc);
    put<uint32_t>(archive_, kIn64);
    put<uint32_t>(archive_, kIn64);
    put<uint16_t>(archive_, entry.name.size());
    put<uint16_t>(archive_, 28);             // extra field: id, length, two sizes, offset
    archive_.insert(archive_.end(), 10, 0);  // no comment, first disk, no attributes
    put<uint32_t>(archive_, kIn64);
    archive_.insert(archive_.end(), entry.name.begin(), entry.name.end());
    put<uint16_t>(archive_, kExtra64);
    put<uint16_t>(archive_, 24);
    put<uint64_t>(archive_, entry.size);
    put<uint64_t>(archive_, entry.packed_size);
    put<uint64_t>(archive_, entry.offset);
  }
  const uint64_t end64 = archive_.size();
  put<uint32_t>(archive_, kEnd64Signature);
  put<uint64_t>(archive_, kEnd64Bytes - 12);
  put<uint16_t>(archive_, kVersion64);
  put<uint16_t>(archive_, kVersion64);
  put<uint64_t>(archive_, 0);  // disks
  put<uint64_t>(archive_, entries_.size());
  put<uint64_t>(archive_, entries_.size());
  put<uint64_t>(archive_, end64 - directory);
  put<uint64_t>(archive_, directory);
  put<uint32_t>(archive_, kLocator64Signature);
  put<uint32_t>(archive_, 0);
  put<uint64_t>(archive_, end64);
  put<uint32_t>(archive_, 1);
  put<uint32_t>(archive_, kEndSignature);
  put<uint32_t>(archive_, 0);  // disks
  put<uint16_t>(archive_, 0xffff);
  put<uint16_t>(archive_, 0xffff);
  put<uint32_t>(archive_, kIn64);
  put<uint32_t>(archive_, kIn64);
  put<uint16_t>(archive_, 0);
  return std::move(archive_);
}

}  // namespace hone
