#include "data/npz.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "data/zip.h"

namespace hone {
namespace {

// Made by NumPy 2.3 in Python:
//   numpy.savez_compressed(f, a=numpy.asfortranarray(numpy.arange(6, dtype="<i4").reshape(2, 3)),
//     flag=numpy.array([True, False, True]), be=numpy.array([1.5, -2.0], dtype=">f4"), s=numpy.float64(3.25),
//     bf=numpy.array([1, 2.5], dtype=ml_dtypes.bfloat16), z=numpy.array([1 + 2j], dtype="c8"))
//   numpy.savez(f, m=numpy.asfortranarray(numpy.arange(4, dtype="<u2").reshape(2, 2)))
// and encoded here in base 64.
constexpr const char* kDeflatedFile =
    "UEsDBC0AAAAIAAAAIQDKZHTi//////////8FABQAYS5ucHkBABAAmAAAAAAAAABUAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TaaKuo6Ce"
    "ll9UUpSYF59flJIKEg8pKk0FChdnJBakArkaRjoKxpo6CrUK5AMuBiBgBmJGIGYBYiYgZgViAFBLAwQtAAAACAAAACEAFpOMu///////////CAAU"
    "AGZsYWcubnB5AQAQAIMAAAAAAAAARwAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBek2SorqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC"
    "+RrGOpo6CrUKFAAuRgZGAFBLAwQtAAAACAAAACEAW1wkzP//////////BgAUAGJlLm5weQEAEACIAAAAAAAAAEsAAAAAAAAAm+wX6hsQychQxlCt"
    "npJanFykbqWgbpdmoq6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaRjqaOgq1ChQALvsDDAxAxAAAUEsDBC0AAAAIAAAAIQC7mbkN////"
    "//////8FABQAcy5ucHkBABAAiAAAAAAAAABHAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqGuo6Cell9UUpSYF59flJIKEndLzClOBYoX"
    "ZyQWpAL5Gpo6CrUKFAEuBjDgcgAAUEsDBC0AAAAIAAAAIQDN07O3//////////8GABQAYmYubnB5AQAQAIQAAAAAAAAASAAAAAAAAACb7BfqGxDJ"
    "yFDGUK2eklqcXKRupaBuE2akrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFACuBnsFBwBQSwMELQAAAAgAAAAhAK3hdmP/"
    "/////////wUAFAB6Lm5weQEAEACIAAAAAAAAAEwAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNsoa6joJ6WX1RSlJgXn1+UkgoSd0vMKU4F"
    "ihdnJBakAvkahjqaOgq1ChQALgaGBnsGBgYHAFBLAQItAy0AAAAIAAAAIQDKZHTiVAAAAJgAAAAFAAAAAAAAAAAAAACAAQAAAABhLm5weVBLAQIt"
    "Ay0AAAAIAAAAIQAWk4y7RwAAAIMAAAAIAAAAAAAAAAAAAACAAYsAAABmbGFnLm5weVBLAQItAy0AAAAIAAAAIQBbXCTMSwAAAIgAAAAGAAAAAAAA"
    "AAAAAACAAQwBAABiZS5ucHlQSwECLQMtAAAACAAAACEAu5m5DUcAAACIAAAABQAAAAAAAAAAAAAAgAGPAQAAcy5ucHlQSwECLQMtAAAACAAAACEA"
    "zdOzt0gAAACEAAAABgAAAAAAAAAAAAAAgAENAgAAYmYubnB5UEsBAi0DLQAAAAgAAAAhAK3hdmNMAAAAiAAAAAUAAAAAAAAAAAAAAIABjQIAAHou"
    "bnB5UEsFBgAAAAAGAAYANwEAABADAAAAAA==";

constexpr const char* kStoredFile =
    "UEsDBC0AAAAAAAAAIQBMzqT+//////////8FABQAbS5ucHkBABAAiAAAAAAAAACIAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzx1MicsICdm"
    "b3J0cmFuX29yZGVyJzogVHJ1ZSwgJ3NoYXBlJzogKDIsIDIpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
    "ICAgICAgICAgICAgICAKAAACAAEAAwBQSwECLQMtAAAAAAAAACEATM6k/ogAAACIAAAABQAAAAAAAAAAAAAAgAEAAAAAbS5ucHlQSwUGAAAAAAEA"
    "AQAzAAAAvwAAAAAA";

std::vector<uint8_t> from_base64(const std::string& text) {
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    const int value = c >= 'a' ? c - 'a' + 26 : c >= 'A' ? c - 'A' : c >= '0' ? c - '0' + 52 : c == '+' ? 62 : 63;
    bits = bits << 6 | value;
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<uint8_t>(bits >> (count -= 8)));
  }
  return bytes;
}

template <class T>
std::vector<T> values(const NamedArray& array) {
  std::vector<T> result(array.bytes.size() / sizeof(T));
  std::memcpy(result.data(), array.bytes.data(), array.bytes.size());
  return result;
}

// An .npy file with this header text and data.
std::vector<uint8_t> npy(const std::string& header, size_t data_bytes, int version = 1) {
  std::vector<uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<uint8_t>(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  for (size_t i = 0; i < data_bytes; ++i) file.push_back(static_cast<uint8_t>(i));
  return file;
}

std::vector<NamedArray> one_of_each() {
  Rng rng(1);
  std::vector<NamedArray> arrays;
  for (const char* type :
       {"pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128"}) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {5}, {2, 3, 4}, {3, 0}}) {
      NamedArray array{std::string(type) + "." + std::to_string(dims.size()), type, dims, {}};
      size_t bytes = element_bytes(type);
      for (int64_t dim : dims) bytes *= dim;
      const int64_t values = array.type == "pred" ? 2 : 256;
      for (size_t i = 0; i < bytes; ++i) array.bytes.push_back(static_cast<uint8_t>(rng.below(values)));
      arrays.push_back(array);
    }
  }
  return arrays;
}

}  // namespace

TEST_CASE("reads what NumPy wrote", "[data]") {
  const auto arrays = decode_npz(from_base64(kDeflatedFile), "deflated.npz");
  REQUIRE(arrays.size() == 6);
  CHECK(arrays[0].name == "a");  // saved column-major
  CHECK(arrays[0].type == "s32");
  CHECK(arrays[0].dims == std::vector<int64_t>{2, 3});
  CHECK(values<int32_t>(arrays[0]) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  CHECK(arrays[1].type == "pred");
  CHECK(arrays[1].bytes == std::vector<uint8_t>{1, 0, 1});
  CHECK(arrays[2].type == "f32");  // saved big-endian
  CHECK(values<float>(arrays[2]) == std::vector<float>{1.5f, -2.0f});
  CHECK(arrays[3].type == "f64");
  CHECK(arrays[3].dims.empty());
  CHECK(values<double>(arrays[3]) == std::vector<double>{3.25});
  CHECK(arrays[4].type == "bf16");
  CHECK(values<uint16_t>(arrays[4]) == std::vector<uint16_t>{0x3f80, 0x4020});
  CHECK(arrays[5].type == "c64");
  CHECK(values<float>(arrays[5]) == std::vector<float>{1, 2});

  const auto stored = decode_npz(from_base64(kStoredFile), "stored.npz");
  REQUIRE(stored.size() == 1);
  CHECK(stored[0].name == "m");
  CHECK(values<uint16_t>(stored[0]) == std::vector<uint16_t>{0, 1, 2, 3});
}

TEST_CASE("arrays come back as they were written", "[data]") {
  const std::vector<NamedArray> arrays = one_of_each();
  for (bool compressed : {false, true}) {
    const std::vector<uint8_t> file = encode_npz(arrays, compressed);
    CHECK(file == encode_npz(arrays, compressed));
    CHECK(decode_npz(file, "file") == arrays);
  }
  for (NamedArray array : arrays) {
    const std::vector<uint8_t> file = encode_npy(array);
    CHECK((file.size() - array.bytes.size()) % 64 == 0);
    array.name.clear();
    CHECK(decode_npz(file, "file") == std::vector<NamedArray>{array});
  }
  CHECK(decode_npz(encode_npz({}), "file").empty());
}

TEST_CASE("arrays go through files", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "x.npz";
  const NamedArray big{"big", "f32", {1000, 1000}, std::vector<uint8_t>(4'000'000, 0)};
  write_npz(path, {&big, 1}, true);
  CHECK(std::filesystem::file_size(path) < 10'000);
  CHECK(read_npz(path) == std::vector<NamedArray>{big});
  CHECK_THROWS_AS(read_npz(folder.path() / "missing.npz"), Error);
  CHECK_THROWS_AS(read_npz(folder.path()), Error);
  CHECK_THROWS_AS(write_npz(folder.path() / "no" / "x.npz", {&big, 1}), RunError);
}

TEST_CASE("single arrays of an archive are read completely and in pieces", "[data]") {
  const TempDir folder;
  const std::string path = (folder.path() / "in.npz").string();
  std::vector<uint8_t> bytes(7 * 3 * 4);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  const NamedArray x{"x", "f32", {7, 3}, bytes}, scalar{"scalar", "u8", {}, {5}}, none{"none", "u8", {0, 3}, {}};
  for (bool compressed : {false, true}) {
    write_npz(path, std::vector<NamedArray>{x, scalar, none}, compressed);
    const NpzFile file(path);
    CHECK(file.names() == std::vector<std::string>{"x", "scalar", "none"});
    CHECK(file.has("x"));
    CHECK_FALSE(file.has("y"));
    CHECK(file.read("x") == x);
    CHECK_THROWS_WITH(file.read("y"), Catch::Contains("missing"));
    for (uint64_t most : {uint64_t{1}, uint64_t{12}, uint64_t{30}, uint64_t{1000}}) {
      std::vector<uint8_t> all;
      std::vector<int64_t> rows;
      file.read_pieces("x", most, [&](const NamedArray& piece) {
        CHECK(piece.type == "f32");
        rows.push_back(piece.dims.at(0));
        all.insert(all.end(), piece.bytes.begin(), piece.bytes.end());
      });
      CHECK(all == bytes);
      CHECK(rows[0] == (most < 24 ? 1 : most < 84 ? 2 : 7));
    }
    CHECK_THROWS_AS(file.read_pieces("scalar", 8, [](const NamedArray&) {}), Error);
    file.read_pieces("none", 8, [](const NamedArray&) { FAIL("a piece of nothing"); });
  }
  const int64_t rows = 9'000'000'000'000'000'000;  // without bytes: nobody counts them
  const std::string other = (folder.path() / "hollow.npz").string();
  write_npz(other, std::vector<NamedArray>{{"hollow", "u8", {rows, 0}, {}}});
  int pieces = 0;
  NpzFile(other).read_pieces("hollow", 8, [&](const NamedArray& piece) {
    CHECK(piece.dims == std::vector<int64_t>{rows, 0});
    ++pieces;
  });
  CHECK(pieces == 1);
  // Damage in the packed elements is found at the latest after the last piece.
  std::string whole = read_file(path);
  int noticed = 0;
  for (size_t at = 40; at < whole.size() / 2; at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_file(path, damaged);
    std::vector<uint8_t> all;
    try {
      const NpzFile file(path);
      file.read_pieces("x", 12,
                       [&](const NamedArray& piece) { all.insert(all.end(), piece.bytes.begin(), piece.bytes.end()); });
      CHECK(all == bytes);
    } catch (const Error&) {
      ++noticed;
    }
  }
  CHECK(noticed > 0);
  write_file(path, "nothing of the kind");
  CHECK_THROWS_WITH(NpzFile(path), Catch::Contains("not an .npz"));
}

TEST_CASE("column-major arrays of rank 3 are transposed", "[data]") {
  const auto array = decode_npz(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }\n", 12), "f")[0];
  CHECK(array.bytes == std::vector<uint8_t>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
}

TEST_CASE("headers of other writers are read", "[data]") {
  for (int version : {1, 2, 3}) {
    const auto file = npy("{\"shape\":(2L,2L),\"fortran_order\":False,\"descr\":\"<u2\"}", 8, version);
    const auto array = decode_npz(file, "f")[0];
    CHECK(array.dims == std::vector<int64_t>{2, 2});
    CHECK(array.type == "u16");
  }
  const auto pred = decode_npz(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3), "f")[0];
  CHECK(pred.bytes == std::vector<uint8_t>{0, 1, 1});  // any value but 0 is true
}

TEST_CASE("unreadable files are refused with the position", "[data]") {
  const auto refused = [](const std::vector<uint8_t>& file, const std::string& why) {
    try {
      decode_npz(file, "in.npy");
      FAIL_CHECK("accepted, expected: " << why);
    } catch (const Error& error) {
      CHECK(error.where() == "in.npy");
      CHECK_THAT(error.what(), Catch::Contains(why));
    }
  };
  const std::string tail = ", 'fortran_order': False, 'shape': (2,), }";
  refused({}, "truncated");
  refused({'h', 'e', 'l', 'l', 'o', ' ', 'w', 'o', 'r', 'l', 'd', '!'}, "not a NumPy array");
  refused(npy("{'descr': '<f4'" + tail, 8, 9), "version 9");
  refused(npy("{'descr': '|O'" + tail, 16), "'|O'");
  refused(npy("{'descr': '<U3'" + tail, 24), "'<U3'");
  refused(npy("{'descr': [('x', '<f4')]" + tail, 8), "records");
  refused(npy("{'descr': '<f4'" + tail, 7), "needs 8 bytes, 7 follow");
  refused(npy("{'descr': '<f4'" + tail, 9), "needs 8 bytes, 9 follow");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8), "dimension is missing");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8), "too large");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }", 8), "too many");
  refused(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", 8), "True or False");
  refused(npy("{'descr': '<f4', 'fortran_order': False}", 8), "is missing");
  refused(npy("{'descr': '<f4', 'descr': '<f4'" + tail, 8), "twice");
  refused(npy("{'descr': '<f4', 'color': 'red'" + tail, 8), "unknown key");
  refused(npy("{'descr': '<f4", 8), "does not end");
}

TEST_CASE("every truncation and most damage of an archive is noticed", "[data]") {
  const NamedArray array{"x", "f32", {8}, std::vector<uint8_t>(32, 7)};
  for (bool compressed : {false, true}) {
    const std::vector<uint8_t> file = encode_npz({&array, 1}, compressed);
    for (size_t size = 0; size < file.size(); ++size) CHECK_THROWS_AS(decode_npz({file.data(), size}, "cut"), Error);
    // Damage either causes an Error or does not change the array's content (dates, versions, its name).
    int noticed = 0;
    for (size_t at = 0; at < file.size(); ++at) {
      std::vector<uint8_t> damaged = file;
      damaged[at] ^= 0xff;
      try {
        for (const NamedArray& read : decode_npz(damaged, "damaged")) CHECK(read.bytes == array.bytes);
      } catch (const Error&) {
        ++noticed;
      }
    }
    CHECK(noticed > static_cast<int>(file.size()) / 2);
  }
  const std::vector<uint8_t> numpy = from_base64(kDeflatedFile);
  for (size_t size = 0; size < numpy.size(); ++size) CHECK_THROWS_AS(decode_npz({numpy.data(), size}, "cut"), Error);
}

TEST_CASE("random bytes after a zip's or an array's first bytes never cause a crash", "[data]") {
  Rng rng(9);
  const std::vector<uint8_t> numpy = from_base64(kDeflatedFile), array = npy("{'descr': '<f4'}", 8);
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> file = i % 2 == 0 ? numpy : array;
    for (int changes = 0; changes < 4; ++changes)
      file[4 + rng.below(static_cast<int64_t>(file.size()) - 4)] = static_cast<uint8_t>(rng());
    try {
      decode_npz(file, "random");
    } catch (const Error& error) {
      CHECK_FALSE(error.where().empty());
    }
  }
}

TEST_CASE("members with impossible sizes are refused before memory is allocated", "[data]") {
  const NamedArray array{"x", "f32", {8}, std::vector<uint8_t>(32, 7)};
  std::vector<uint8_t> file = encode_npz({&array, 1}, true);
  // The unpacked size is first in the central header's zip64 field, 46 bytes and the name after its signature.
  const std::vector<uint8_t> signature = {'P', 'K', 1, 2};
  const auto central = std::search(file.begin(), file.end(), signature.begin(), signature.end()) - file.begin();
  const uint64_t huge = uint64_t{1} << 50;
  std::memcpy(file.data() + central + 46 + 5 + 4, &huge, sizeof huge);
  CHECK_THROWS_WITH(decode_npz(file, "bomb"), Catch::Contains("cannot hold 1125899906842624 bytes"));
}

TEST_CASE("errors name the unsupported content of archives", "[data]") {
  const std::vector<uint8_t> text = {'h', 'i'};
  const NamedArray array{"x", "u8", {2}, {1, 2}};
  ZipWriter writer(false);
  writer.add("readme.txt", text);
  writer.add("x.npy", encode_npy(array));
  const std::vector<uint8_t> file = writer.finish();
  CHECK(list_zip(file, "f").size() == 2);
  CHECK(decode_npz(file, "f") == std::vector<NamedArray>{array});
}

TEST_CASE("invalid arrays are not written", "[data]") {
  const NamedArray good{"x", "u8", {2}, {1, 2}};
  CHECK_THROWS_AS(encode_npy({"x", "u8", {3}, {1, 2}}), Error);
  CHECK_THROWS_AS(encode_npy({"x", "u8", {-1, -2}, {1, 2}}), Error);
  CHECK_THROWS_AS(encode_npy({"x", "f8e4m3fn", {2}, {1, 2}}), Error);
  CHECK_THROWS_AS(encode_npz(std::vector<NamedArray>{good, good}), Error);
  CHECK_THROWS_AS(encode_npz(std::vector<NamedArray>{{"", "u8", {2}, {1, 2}}}), Error);
}

}  // namespace hone
