// Errors with a message, the place in the input, and a hint.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace hone {

// Bad input or a request that cannot be met. Ends the request with exit code 2.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string where = "", std::string hint = "")
      : std::runtime_error(message), where_(std::move(where)), hint_(std::move(hint)) {}
  const std::string& where() const { return where_; }  // file, line, option or field; may be empty
  const std::string& hint() const { return hint_; }    // what the user can do; may be empty

 private:
  std::string where_, hint_;
};

// The request was fine but could not be carried out (a worker died, a disk is full). Exit code 1.
class RunError : public Error {
 public:
  using Error::Error;
};

// A bug in Hone.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace hone
