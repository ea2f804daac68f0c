// Small conversions between values and text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// 128-bit MurmurHash3 (x64 variant, Appleby 2011, seed 0) as 32 hexadecimal digits: a fingerprint that is the same on
// every machine. Not for secrets.
std::string hash_hex(std::string_view bytes);
// The first 64 bits of the same hash.
uint64_t hash64(std::string_view bytes);

std::string human_bytes(double bytes);  // "512 B", "1.50 KiB", "3.20 GiB"
std::string human_ns(double ns);        // "85 ns", "1.23 ms", "2.00 s", "3 min 20 s"

// A duration in seconds: "60s", "2m", "500ms", "1.5h"; a bare number is seconds. Throws Error (where = `where`).
double parse_duration_s(const std::string& text, const std::string& where = "");

// Indices and ranges, "0,3-9", as ascending indices without repeats, at most a million. Throws Error (where = `where`).
std::vector<int> parse_index_list(const std::string& text, const std::string& where = "");

}  // namespace hone
