#include "features/elf.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace hone::features {
namespace {

constexpr uint32_t kProgramBits = 1, kSymbolTable = 2, kRelocations = 4;
constexpr uint64_t kExecutable = 4;
constexpr uint8_t kFunction = 2;
constexpr uint16_t kX86_64 = 62;
constexpr size_t kLongestName = 256;

struct FileHeader {
  uint8_t magic[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, programs, sections;
  uint32_t flags;
  uint16_t header_bytes, program_bytes, program_count, section_bytes, section_count, name_section;
};
struct Section {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entry_bytes;
};
struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
struct Relocation {
  uint64_t offset, info;
  int64_t addend;
};

class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {
    const auto header = read<FileHeader>(0);
    if (std::memcmp(header.magic,
                    "\x7f"
                    "ELF\x02\x01",
                    6) != 0 ||
        header.machine != kX86_64 || header.section_bytes != sizeof(Section))
      fail();
    for (int i = 0; i < header.section_count; ++i)
      sections_.push_back(read<Section>(header.sections + i * sizeof(Section)));
    for (const Section& section : sections_)
      if (section.type == kSymbolTable) read_symbols(section);
  }

  std::vector<ObjectFunction> functions() const {
    std::vector<ObjectFunction> found;
    for (size_t s = 0; s < sections_.size(); ++s) {
      const Section& section = sections_[s];
      if (section.type != kProgramBits || (section.flags & kExecutable) == 0) continue;
      const size_t first = found.size();
      for (const Symbol& symbol : symbols_)
        if (symbol.section == s && (symbol.info & 0xf) == kFunction && symbol.size > 0)
          found.push_back({name_of(symbol), (symbol.info >> 4) != 0, bytes_of(section, symbol.value, symbol.size), {}});
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
                [](const auto& a, const auto& b) { return a.code.data() < b.code.data(); });
      add_names(s, {found.begin() + static_cast<std::ptrdiff_t>(first), found.end()});
    }
    return found;
  }

 private:
  [[noreturn]] static void fail() { throw Error("this is no object file for x86-64"); }

  template <class T>
  T read(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) fail();
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::span<const uint8_t> bytes_of(const Section& section, uint64_t from, uint64_t size) const {
    if (from > section.size || section.size - from < size || section.offset > bytes_.size() ||
        bytes_.size() - section.offset < section.size)
      fail();
    return {reinterpret_cast<const uint8_t*>(bytes_.data()) + section.offset + from, size};
  }

  // Tables and functions may lie over each other in a file that nobody compiled: all of a kind together are no larger than the file, or
  // the functions twice as large, so that the work is bounded by its size.
  void count(uint64_t bytes, uint64_t& all, int times = 1) const {
    if (bytes > bytes_.size() * times - all) fail();
    all += bytes;
  }

  void read_symbols(const Section& section) {
    if (section.link >= sections_.size()) fail();
    count(section.size, symbol_bytes_);
    names_ = sections_[section.link];
    for (uint64_t at = 0; at + sizeof(Symbol) <= section.size; at += sizeof(Symbol))
      symbols_.push_back(read<Symbol>(section.offset + at));
  }

  std::string name_of(const Symbol& symbol) const {
    if (!names_ || symbol.name >= names_->size) return "";
    const auto rest = bytes_of(*names_, symbol.name, names_->size - symbol.name);
    const auto* text = reinterpret_cast<const char*>(rest.data());
    return {text, strnlen(text, std::min(rest.size(), kLongestName))};
  }

  void add_names(size_t section, std::span<ObjectFunction> functions) const {
    uint64_t code_bytes = 0, relocation_bytes = 0;
    for (const ObjectFunction& function : functions) count(function.code.size(), code_bytes, 2);
    for (const Section& table : sections_) {
      if (table.type != kRelocations || table.info != section) continue;
      count(table.size, relocation_bytes);
      for (uint64_t at = 0; at + sizeof(Relocation) <= table.size; at += sizeof(Relocation)) {
        const auto relocation = read<Relocation>(table.offset + at);
        const uint64_t symbol = relocation.info >> 32;
        if (symbol >= symbols_.size()) fail();
        const uint8_t* place = bytes_of(sections_[section], relocation.offset, 0).data();
        for (ObjectFunction& function : functions)
          if (place >= function.code.data() && place < function.code.data() + function.code.size())
            function.names[static_cast<uint64_t>(place - function.code.data())] = name_of(symbols_[symbol]);
      }
    }
  }

  std::string_view bytes_;
  uint64_t symbol_bytes_ = 0;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::optional<Section> names_;
};

}  // namespace

std::vector<ObjectFunction> functions_of_object(std::string_view object) { return Object(object).functions(); }

}  // namespace hone::features
