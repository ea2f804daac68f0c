// Handles the worker's requests; keeps programs, kernels and executables between requests.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "wire/hone_generated.h"

namespace hone::xla_side {

struct Handlers;  // handlers.h

struct ServiceOptions {
  bool cache_code = true;    // no kernel is compiled twice by this process
  std::string cache_folder;  // nor by two that share this folder; empty = none. One that cannot be used is done without
  uint64_t cache_bytes = 0;  // limit of the folder; 0 = the store's own
};

class Service {
 public:
  explicit Service(const ServiceOptions& options);
  ~Service();
  // Never throws: failures are returned in the reply. XLA may still abort the process.
  wire::ReplyT handle(const wire::RequestT& request);
  const std::string& cache_folder() const { return cache_folder_; }  // empty if code is not kept there

 private:
  std::unique_ptr<Handlers> handlers_;
  std::string cache_folder_;
};

}  // namespace hone::xla_side
