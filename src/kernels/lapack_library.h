// A library with LAPACK's Fortran interface, opened while the program runs: Hone works without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hone {

class LapackLibrary {
 public:
  // Throws Error for a library that cannot be opened or lacks a routine that Hone calls.
  explicit LapackLibrary(const std::string& path);

  // A routine by its Fortran name in lower case, without an underscore ("spotrf"); null where the library lacks it.
  void* find(const std::string& name) const;
  // Whether the integers of its interface have 64 bits.
  bool wide_integers() const { return wide_; }
  const std::string& path() const { return path_; }
  int threads() const { return get_threads_ == nullptr ? 0 : get_threads_(); }  // at most; 0 where it does not say
  std::string version_text() const;  // "OpenBLAS 0.3.30"; "LAPACK" where the library does not say

 private:
  friend class LapackThreads;
  void* symbol(const std::string& name) const;

  std::string path_, before_, after_;  // what stands around the names of routines
  void* handle_ = nullptr;
  bool wide_ = false;
  int (*get_threads_)() = nullptr;  // OpenBLAS'; null elsewhere
  void (*set_threads_)(int) = nullptr;
};

// NumPy's own (which is always there), that of SciPy, or the system's; null where there is none. Never closed.
const LapackLibrary* lapack_library();

// Where wheels are installed, XLA's among them, with the libraries of theirs that lapack_library() looks for; empty if XLA's is elsewhere.
std::string folder_of_wheels();

// The library computes on at most so many threads while one of these exists. How many it uses is a setting of the whole process,
// which is as before when the last of them is gone.
class LapackThreads {
 public:
  LapackThreads(const LapackLibrary& library, int threads);
  ~LapackThreads();
  LapackThreads(const LapackThreads&) = delete;
  LapackThreads& operator=(const LapackThreads&) = delete;

 private:
  const LapackLibrary& library_;
};

// One routine of the library. Arguments are addresses, as Fortran has it; integers are int64_t whatever the library's width is:
// a narrow library takes their lower half (machines are little-endian) and writes into it, so that results start as 0 and are
// read by narrowed(). Arrays of integers are LapackIntegers.
class LapackFunction {
 public:
  // Throws Error where the library lacks the routine.
  LapackFunction(const LapackLibrary& library, const std::string& name);

  template <class... A>
  void operator()(A*... arguments) const {
    // The lengths of texts follow the other arguments; none of Hone's routines has more than four texts.
    constexpr size_t one = 1;
    reinterpret_cast<void (*)(A*..., size_t, size_t, size_t, size_t)>(function_)(arguments..., one, one, one, one);
  }

 private:
  void* function_;
};

// A result that a library of either width wrote.
inline int32_t narrowed(int64_t written) { return static_cast<int32_t>(written); }

// An array of integers in the library's width.
class LapackIntegers {
 public:
  LapackIntegers(const LapackLibrary& library, size_t count) : wide_(library.wide_integers()), values_(count + 1) {}
  int64_t* data() { return values_.data(); }
  int32_t get(size_t i) const { return wide_ ? static_cast<int32_t>(values_[i]) : narrow()[i]; }
  void set(size_t i, int32_t value) {
    if (wide_)
      values_[i] = value;
    else
      reinterpret_cast<int32_t*>(values_.data())[i] = value;
  }

 private:
  const int32_t* narrow() const { return reinterpret_cast<const int32_t*>(values_.data()); }

  bool wide_;
  std::vector<int64_t> values_;
};

}  // namespace hone
