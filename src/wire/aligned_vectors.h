// Vectors of numbers in a message lie at addresses that are multiples of their elements' size. FlatBuffers 2.0.8 verifies this of the length
// in front of them alone, so that a worker's message could have numbers where they must not be read.
// Included by the code that flatc writes, before anything is instantiated.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>

namespace flatbuffers {

template <class T>
bool is_aligned(const Vector<T>* vector) {
  return vector == nullptr || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(T) == 0;
}

#define HONE_VERIFY_ALIGNED(T)                                                                                     \
  template <>                                                                                                      \
  inline bool Verifier::VerifyVector(const Vector<T>* const vec) const {                                           \
    return !vec || (VerifyVectorOrString(reinterpret_cast<const uint8_t*>(vec), sizeof(T)) && is_aligned<T>(vec)); \
  }
HONE_VERIFY_ALIGNED(double)
HONE_VERIFY_ALIGNED(int64_t)
HONE_VERIFY_ALIGNED(uint64_t)
#undef HONE_VERIFY_ALIGNED

}  // namespace flatbuffers
