// SHA-256 (FIPS 180-4): names of things by their content, where a collision would be a wrong result.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

class Sha256 {
 public:
  // Content may come in parts; how it is cut does not matter.
  Sha256& add(std::string_view bytes);
  std::array<uint8_t, 32> digest();  // of all that was added; once
  std::string hex();                 // the same as 64 hexadecimal digits

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> rest_{};
  size_t rest_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace hone
