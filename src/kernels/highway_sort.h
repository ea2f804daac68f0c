// The vectorised quicksort of Google's Highway (libhwy_contrib.so.1, Debian's package libhwy1): 64-bit keys, in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone {

// Whether the library is there and sorts as it should; opened and tried at the first call.
bool has_highway_sort();

// Ascending. Throws Error without the library.
void highway_sort(uint64_t* keys, size_t count);

}  // namespace hone
