// Sets a flag until the end of a scope.
#pragma once

#include <utility>

namespace hone {

class ScopedFlag {
 public:
  ScopedFlag(bool& flag, bool value) : flag_(flag), before_(std::exchange(flag, value)) {}
  ScopedFlag(const ScopedFlag&) = delete;
  ~ScopedFlag() { flag_ = before_; }

 private:
  bool& flag_;
  bool before_;
};

}  // namespace hone
